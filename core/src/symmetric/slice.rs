//! Parts of symmetric arrays, and elements of symmetric memory, as arguments of operations.

use crate::buffer::SymRange;
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// Part of a [`SymArray`](crate::SymArray).
pub struct SymSlice<'a, T: Pod> {
    offset: u64,
    len: usize,
    array: PhantomData<&'a ()>,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> Clone for SymSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Pod> Copy for SymSlice<'_, T> {}

impl<T: Pod> std::fmt::Debug for SymSlice<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SymSlice(offset {:#x}, len {})", self.offset, self.len)
    }
}

impl<'a, T: Pod> SymSlice<'a, T> {
    /// For code that has checked bounds and alignment.
    #[inline]
    pub(crate) fn new(offset: u64, len: usize) -> SymSlice<'a, T> {
        SymSlice {
            offset,
            len,
            array: PhantomData,
            element: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements `range` of this part. An error if it runs past the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SymSlice<'a, T>> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            let element = size_of::<T>() as u64;
            return Err(Error::OutOfBounds {
                argument: "range",
                start: (start as u64).saturating_mul(element),
                bytes: (end.saturating_sub(start) as u64).saturating_mul(element),
                limit: self.len as u64 * element,
            });
        }
        Ok(SymSlice {
            offset: self.offset + (start * size_of::<T>()) as u64,
            len: end - start,
            array: PhantomData,
            element: PhantomData,
        })
    }

    /// The bytes it covers.
    #[inline]
    pub fn range(&self) -> SymRange {
        SymRange::new(self.offset, (self.len * size_of::<T>()) as u64)
    }
}

impl<T: Pod> From<SymSlice<'_, T>> for SymRange {
    #[inline]
    fn from(slice: SymSlice<'_, T>) -> SymRange {
        slice.range()
    }
}

/// One element of symmetric memory, aligned to its size.
#[derive(Debug)]
pub struct SymElement<T> {
    offset: u64,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for SymElement<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SymElement<T> {}

impl<T> SymElement<T> {
    /// For code that has checked bounds and alignment.
    #[inline]
    pub(crate) fn new(offset: u64) -> SymElement<T> {
        SymElement {
            offset,
            element: PhantomData,
        }
    }

    /// The bytes it covers.
    #[inline]
    pub fn range(&self) -> SymRange {
        SymRange::new(self.offset, size_of::<T>() as u64)
    }

    /// Bytes from the start of a PE's part of the heap.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_stay_inside() {
        let all = SymSlice::<f64> {
            offset: 128,
            len: 10,
            array: PhantomData,
            element: PhantomData,
        };
        assert_eq!(all.slice(2..5).unwrap().range(), SymRange::new(144, 24));
        assert_eq!(all.slice(..).unwrap().len(), 10);
        assert_eq!(all.slice(10..).unwrap().len(), 0);
        assert_eq!(
            all.slice(3..=4)
                .unwrap()
                .slice(1..)
                .unwrap()
                .range()
                .offset(),
            160
        );
        #[allow(clippy::reversed_empty_ranges, reason = "wrong on purpose")]
        for wrong in [(0, 11), (11, 11), (5, 4), (usize::MAX, usize::MAX)] {
            assert!(all.slice(wrong.0..wrong.1).is_err(), "{wrong:?}");
        }
        assert!(all.slice(0..=usize::MAX).is_err());
    }
}
