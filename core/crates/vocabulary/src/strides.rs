//! The layout of the blocks of a strided transfer.

use crate::operation::Operation;
use crate::{Error, Result};

/// Bytes that no side of a transfer can span: more than an address space has for a heap.
const LIMIT: usize = 1 << 48;

/// The layout of one side's blocks, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    step: i64,
    block: u64,
    count: u64,
}

impl Strides {
    /// `count` blocks of `block_elements` elements of `element_bytes` bytes, `stride` elements apart. An error, which names
    /// `argument`, if that cannot fit an address space.
    #[inline]
    pub fn new(
        argument: &'static str,
        stride: isize,
        block_elements: usize,
        element_bytes: usize,
        count: usize,
    ) -> Result<Strides> {
        if element_bytes == 0 {
            return Err(Error::invalid("element_bytes", 0, "at least 1"));
        }
        // A single block may say any stride.
        let step = if count > 1 { stride } else { 0 };
        let fit = || {
            let step = step.checked_mul(isize::try_from(element_bytes).ok()?)?;
            let block = block_elements.checked_mul(element_bytes)?;
            let last = step.checked_mul(isize::try_from(count.max(1) - 1).ok()?)?;
            let fits = last.unsigned_abs() < LIMIT && block < LIMIT;
            fits.then_some((step as i64, block as u64))
        };
        let Some((step, block)) = fit() else {
            return Err(Error::invalid(
                argument,
                stride,
                format!(
                    "a distance at which {count} blocks of {block_elements} elements of {element_bytes} bytes fit the \
                     symmetric heap"
                ),
            ));
        };
        Ok(Strides {
            step,
            block,
            count: count as u64,
        })
    }

    fn is_empty(&self) -> bool {
        self.count == 0 || self.block == 0
    }

    /// Bytes from the lowest block's start to the highest one's end.
    pub fn span(&self) -> u64 {
        match self.is_empty() {
            true => 0,
            false => self.step.unsigned_abs() * (self.count - 1) + self.block,
        }
    }

    /// Bytes from the lowest block's start to the first block's.
    pub fn first(&self) -> u64 {
        match self.step < 0 && !self.is_empty() {
            true => self.step.unsigned_abs() * (self.count - 1),
            false => 0,
        }
    }

    /// Bytes from the start of one block to the start of the next; bytes of a block; blocks.
    #[doc(hidden)]
    pub fn parts(&self) -> (i64, u64, u64) {
        (self.step, self.block, self.count)
    }

    /// Where block `index` starts, in bytes from the lowest one.
    #[doc(hidden)]
    pub fn at(&self, index: u64) -> u64 {
        self.first().wrapping_add_signed(self.step * index as i64)
    }

    /// Where the blocks start, in bytes from the lowest one, and how long they are.
    #[doc(hidden)]
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let count = if self.is_empty() { 0 } else { self.count };
        (0..count).map(|index| (self.at(index), self.block))
    }

    fn check_apart(&self, argument: &'static str, stride: isize) -> Result<()> {
        if self.is_empty() || self.count == 1 || self.step.unsigned_abs() >= self.block {
            return Ok(());
        }
        Err(Error::invalid(
            argument,
            stride,
            format!(
                "at least the block, so that blocks of {} bytes do not overlap each other",
                self.block
            ),
        ))
    }
}

/// Both sides of a strided transfer, checked.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    dest: Strides,
    source: Strides,
    /// Whether the program called an operation on elements, not on blocks.
    of_elements: bool,
}

impl Transfer {
    /// `count` elements of `element_bytes` bytes; strides in elements.
    pub fn elements(
        dest_stride: isize,
        source_stride: isize,
        element_bytes: usize,
        count: usize,
    ) -> Result<Transfer> {
        Ok(Transfer {
            of_elements: true,
            ..Transfer::new(dest_stride, source_stride, element_bytes, 1, count)?
        })
    }

    /// `block_count` blocks of `block_elements` elements of `element_bytes` bytes; strides in elements.
    pub fn new(
        dest_stride: isize,
        source_stride: isize,
        element_bytes: usize,
        block_elements: usize,
        block_count: usize,
    ) -> Result<Transfer> {
        let side = |argument, stride| {
            Strides::new(argument, stride, block_elements, element_bytes, block_count)
        };
        let dest = side("dest_stride", dest_stride)?;
        dest.check_apart("dest_stride", dest_stride)?;
        Ok(Transfer {
            dest,
            source: side("source_stride", source_stride)?,
            of_elements: false,
        })
    }

    /// The operation that the program called: on elements, or on blocks.
    #[doc(hidden)]
    pub fn called(&self, elements: Operation, blocks: Operation) -> Operation {
        match self.of_elements {
            true => elements,
            false => blocks,
        }
    }

    /// The layout of the destination's blocks.
    pub fn dest(&self) -> &Strides {
        &self.dest
    }

    /// The layout of the source's blocks.
    pub fn source(&self) -> &Strides {
        &self.source
    }

    #[doc(hidden)]
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        let starts = self.dest.ranges().zip(self.source.ranges());
        starts.map(|((to, _), (from, _))| (to, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_places() {
        let up = Strides::new("s", 3, 2, 4, 5).unwrap();
        assert_eq!((up.span(), up.first()), (3 * 4 * 4 + 8, 0));
        assert_eq!([up.at(0), up.at(4)], [0, 48]);
        let down = Strides::new("s", -3, 2, 4, 5).unwrap();
        assert_eq!((down.span(), down.first()), (56, 48));
        assert_eq!([down.at(0), down.at(4)], [48, 0]);
        let none = Strides::new("s", -3, 2, 4, 0).unwrap();
        assert_eq!((none.span(), none.first()), (0, 0));
        let one = Strides::new("s", isize::MIN >> 20, 2, 4, 1).unwrap();
        assert_eq!((one.span(), one.first()), (8, 0));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (stride, block, bytes, count) in [
            (isize::MAX, 1, 8, 2),
            (isize::MIN, 1, 8, 2),
            (1, usize::MAX, 8, 1),
            (1, 1, 0, 1),
            (1, 1, usize::MAX, 2),
            (1 << 40, 1, 8, 1 << 20),
            (1, 1, 1, usize::MAX),
        ] {
            assert!(Strides::new("s", stride, block, bytes, count).is_err());
        }
        assert!(Transfer::new(1, 1, 8, 2, 2).is_err(), "blocks overlap");
        assert!(Transfer::new(0, 1, 8, 1, 2).is_err(), "elements overlap");
        assert!(Transfer::new(-2, 0, 8, 2, 2).is_ok(), "a source may repeat");
    }
}
