//! Typed symmetric memory, the only access from Rust to the heap's memory.
//!
//! # Rules of this module
//!
//! 1. Memory that other PEs may write is never behind `&` or `&mut`. It is reached through the transport, which copies by
//!    raw address, or atomically.
//! 2. Ranges and local memory follow the rules of [`crate::buffer`].

use super::noted;
use crate::buffer::{LocalDest, LocalSource};
use crate::heap::Request;
use crate::job::layout::GRANULE;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::symmetric::{SymElement, SymSlice};
use crate::track::Resource;
use crate::transport::Submission;
use crate::{Error, Result, Runtime};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// An array of `len` elements on the symmetric heap of every PE.
///
/// Dropping it marks it as released, which is local and never waits; the next collective allocation frees arrays that all
/// PEs have released. [`Runtime::free_array`] frees it at once, collectively.
pub struct SymArray<T: Pod> {
    runtime: Arc<Inner>,
    offset: u64,
    len: usize,
    element: PhantomData<fn() -> T>,
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

    /// Drops the array without a release, because its memory has been freed.
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
        SymSlice::new(self.offset, self.len)
    }

    /// The elements `range`, as an argument of operations. An error if it runs past the end.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SymSlice<'_, T>> {
        self.all().slice(range)
    }

    /// Element `index`, as an argument of operations. An error if it is past the end.
    pub fn at(&self, index: usize) -> Result<SymElement<T>> {
        let one = self.slice(index..index.saturating_add(1))?;
        Ok(SymElement::new(one.range().offset()))
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
        let issued = (self.runtime.transport).issue(Submission::Blocking, Operation::Read);
        issued.read(self.runtime.my_pe, range, LocalDest::from(dest))
    }

    /// Copies `source` to the elements from `start` on of this PE's copy.
    #[track_caller]
    pub fn write(&self, start: usize, source: &[T]) -> Result<()> {
        let range = self
            .slice(start..start.saturating_add(source.len()))?
            .range();
        self.runtime.ready()?;
        let issued = (self.runtime.transport).issue(Submission::Blocking, Operation::Write);
        issued.write(self.runtime.my_pe, range, LocalSource::from(source))
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
        let properties = self.runtime.transport.properties();
        match properties.may_load {
            true => Ok(()),
            false => Err(Error::NotSupported(format!(
                "the array is in {} memory, which the CPU cannot use as a slice; copy with `read()`, `write()` or `to_vec()`",
                properties.kind
            ))),
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

impl Runtime {
    /// An array of `len` elements on every PE, all zero. Dropping it marks it as released.
    ///
    /// Collective over WORLD with equal `len` and element size; includes a barrier.
    #[track_caller]
    pub fn array<T: Pod>(&self, len: usize) -> Result<SymArray<T>> {
        let alignment = align_of::<T>().max(GRANULE as usize);
        let request = Request::zeroed(len, size_of::<T>()).and_then(|zeroed| {
            Ok(Request {
                alignment: Request::aligned(alignment, 0)?.alignment,
                ..zeroed
            })
        });
        let (_, bytes) = noted(&request);
        let offset = self.inner.allocate(Operation::Array, request)?;
        if let Some(offset) = offset {
            self.inner
                .note(Operation::Array, Resource::Allocation, offset, bytes);
        }
        let len = if offset.is_some() { len } else { 0 };
        Ok(SymArray::new(
            Arc::clone(&self.inner),
            offset.unwrap_or(0),
            len,
        ))
    }

    /// Frees an array on every PE. If that fails, the array is released, as by dropping it.
    ///
    /// Collective over WORLD with the same array; a barrier comes first.
    #[track_caller]
    pub fn free_array<T: Pod>(&self, array: SymArray<T>) -> Result<()> {
        let address = if !array.belongs_to(&self.inner) {
            Err(Error::invalid(
                "array",
                "an array of another runtime",
                "an array of this runtime",
            ))
        } else if array.is_empty() {
            Ok(0)
        } else {
            Ok(array.as_ptr() as u64)
        };
        self.inner.free(address)?;
        array.forget();
        Ok(())
    }
}
