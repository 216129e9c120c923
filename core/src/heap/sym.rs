//! Typed symmetric memory, and the only doors between Rust's memory and the heap's.
//!
//! # Rules of this module
//!
//! 1. Memory that other PEs may write is never behind `&` or `&mut`. It is reached through the transport, which copies by
//!    raw address, or atomically.
//! 2. Ranges and local memory follow the rules of [`crate::buffer`].

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::Lane;
use crate::{Element, Error, MemoryKind, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A symmetric buffer as an argument: the address of this PE's copy, which is checked when it is used, or a range of an array.
#[derive(Clone, Copy, Debug)]
pub enum Symmetric {
    /// An address of this PE's part of the heap.
    Address(u64),
    /// Part of an array.
    Range(SymRange),
}

impl Symmetric {
    /// The `bytes` bytes that an operation uses.
    #[inline(always)]
    pub(crate) fn resolve(
        self,
        inner: &Inner,
        argument: &'static str,
        bytes: u64,
    ) -> Result<SymRange> {
        match self {
            Symmetric::Address(address) => inner.symmetric(argument, address, bytes),
            Symmetric::Range(range) => {
                inner.within(range)?;
                if range.bytes() == bytes {
                    Ok(range)
                } else {
                    Err(lengths_differ(argument, range, bytes))
                }
            }
        }
    }
}

#[cold]
fn lengths_differ(argument: &'static str, range: SymRange, bytes: u64) -> Error {
    Error::invalid(
        argument,
        format!("{} bytes long", range.bytes()),
        format!("{bytes} bytes, as many as the other side has"),
    )
}

impl From<u64> for Symmetric {
    #[inline]
    fn from(address: u64) -> Symmetric {
        Symmetric::Address(address)
    }
}

impl From<SymRange> for Symmetric {
    #[inline]
    fn from(range: SymRange) -> Symmetric {
        Symmetric::Range(range)
    }
}

impl<T: Pod> From<SymSlice<'_, T>> for Symmetric {
    #[inline]
    fn from(slice: SymSlice<'_, T>) -> Symmetric {
        Symmetric::Range(slice.range())
    }
}

impl<T: Pod> From<&SymSlice<'_, T>> for Symmetric {
    #[inline]
    fn from(slice: &SymSlice<'_, T>) -> Symmetric {
        Symmetric::Range(slice.range())
    }
}

/// An array of `len` elements on the symmetric heap of every PE.
///
/// Dropping it records a release, which is local and never waits; the next collective allocation frees
/// what all PEs have released. [`Runtime::free_array`](crate::Runtime::free_array) frees it at once, collectively.
pub struct SymArray<T: Pod> {
    runtime: Arc<Inner>,
    offset: u64,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl Inner {
    /// Checks that a range lies within this runtime's heap: it may come from another runtime.
    #[inline(always)]
    pub(crate) fn within(&self, range: SymRange) -> Result<()> {
        if range.offset() + range.bytes() <= self.layout.stride {
            Ok(())
        } else {
            Err(self.foreign(range))
        }
    }

    #[cold]
    fn foreign(&self, range: SymRange) -> Error {
        let limit = self.layout.stride;
        Error::invalid(
            "range",
            format!(
                "{} bytes at byte {:#x} of the heap",
                range.bytes(),
                range.offset()
            ),
            format!("symmetric memory of this runtime, whose heap has {limit} bytes"),
        )
    }
}

impl<T: Pod> std::fmt::Debug for SymArray<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SymArray<{}>(offset {:#x}, len {})",
            std::any::type_name::<T>(),
            self.offset,
            self.len
        )
    }
}

impl<T: Pod> SymArray<T> {
    pub(crate) fn new(runtime: Arc<Inner>, offset: u64, len: usize) -> SymArray<T> {
        SymArray {
            runtime,
            offset,
            len,
            element: PhantomData,
        }
    }

    /// Lets the array go without recording a release, because its memory has been freed.
    pub(crate) fn forget(mut self) {
        self.len = 0;
    }

    pub(crate) fn belongs_to(&self, runtime: &Arc<Inner>) -> bool {
        Arc::ptr_eq(&self.runtime, runtime)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole array, as an argument of operations.
    pub fn all(&self) -> SymSlice<'_, T> {
        SymSlice {
            offset: self.offset,
            len: self.len,
            array: PhantomData,
        }
    }

    /// The elements `range`, as an argument of operations. An error if it runs past the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SymSlice<'_, T>> {
        self.all().slice(range)
    }

    /// Element `index`, as an argument of operations. An error if it is past the end.
    pub fn at(&self, index: usize) -> Result<SymElement<T>> {
        let one = self.slice(index..index.saturating_add(1))?;
        Ok(SymElement {
            offset: one.offset,
            element: PhantomData,
        })
    }

    /// Reads element `index` of this PE's copy.
    #[track_caller]
    pub fn load(&self, index: usize) -> Result<T> {
        let mut value = [T::zeroed()];
        self.read(index, &mut value)?;
        Ok(value[0])
    }

    /// Writes element `index` of this PE's copy.
    #[track_caller]
    pub fn store(&self, index: usize, value: T) -> Result<()> {
        self.write(index, &[value])
    }

    /// Copies elements from `start` on of this PE's copy to `dest`.
    #[track_caller]
    pub fn read(&self, start: usize, dest: &mut [T]) -> Result<()> {
        let range = self.slice(start..start.saturating_add(dest.len()))?.range();
        self.runtime.ready()?;
        let (me, dest) = (self.runtime.my_pe, LocalDest::from(dest));
        self.runtime
            .transport
            .read(Lane::Blocking, me, range, dest, Operation::Read)
    }

    /// Copies `source` to the elements from `start` on of this PE's copy.
    #[track_caller]
    pub fn write(&self, start: usize, source: &[T]) -> Result<()> {
        let range = self
            .slice(start..start.saturating_add(source.len()))?
            .range();
        self.runtime.ready()?;
        let (me, source) = (self.runtime.my_pe, LocalSource::from(source));
        self.runtime
            .transport
            .write(Lane::Blocking, me, range, source, Operation::Write)
    }

    /// All elements of this PE's copy.
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut copy = vec![T::zeroed(); self.len];
        self.read(0, &mut copy)?;
        Ok(copy)
    }

    /// The address of this PE's copy, for foreign code.
    pub fn as_ptr(&self) -> *mut T {
        self.runtime.layout.address(self.runtime.my_pe, self.offset) as *mut T
    }

    /// This PE's copy as a slice; an error if the CPU cannot use it, because it is memory of a GPU.
    ///
    /// # Safety
    /// While the slice lives, no PE may write these elements, and this PE may write them neither through this
    /// array nor through an operation.
    pub unsafe fn as_slice(&self) -> Result<&[T]> {
        self.on_host()?;
        // SAFETY: rule 2: the mapping covers the range and lives as long as `self.runtime`; allocations are aligned
        // to 64 and T is Pod, so any contents are valid; the caller excludes writers.
        Ok(unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) })
    }

    /// This PE's copy as a mutable slice; an error if the CPU cannot use it, because it is memory of a GPU.
    ///
    /// # Safety
    /// While the slice lives, no PE may read or write these elements, and this PE may use them through nothing else.
    #[allow(clippy::mut_from_ref, reason = "the caller vouches for exclusive use")]
    pub unsafe fn as_mut_slice(&self) -> Result<&mut [T]> {
        self.on_host()?;
        // SAFETY: as in `as_slice`; the caller excludes every other use.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len) })
    }

    fn on_host(&self) -> Result<()> {
        match self.runtime.transport.any().kind() {
            MemoryKind::Host => Ok(()),
            MemoryKind::Device => Err(Error::NotSupported(
                "the array is in device memory, which the CPU cannot use as a slice; copy with `read`, `write` or `to_vec`"
                    .into(),
            )),
        }
    }
}

impl<T: Pod> Drop for SymArray<T> {
    fn drop(&mut self) {
        if self.len > 0 {
            // Nothing to do about a failure: the runtime is finalized, or this is a forked child.
            let _ = self.runtime.release_offset(self.offset);
        }
    }
}

/// Part of a [`SymArray`].
pub struct SymSlice<'a, T: Pod> {
    offset: u64,
    len: usize,
    array: PhantomData<&'a SymArray<T>>,
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

impl<T: Element> SymElement<T> {
    /// For code that has checked bounds and alignment.
    #[inline]
    pub(crate) fn new(offset: u64) -> SymElement<T> {
        SymElement {
            offset,
            element: PhantomData,
        }
    }
}

impl<T> SymElement<T> {
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
