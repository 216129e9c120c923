//! Symmetric addresses: each operation checks its addresses here, once.

mod slice;

use crate::buffer::SymRange;
use crate::runtime::Inner;
use crate::{Element, Error, MemoryKind, Pe, Result, Runtime};
use bytemuck::Pod;
pub use slice::{SymElement, SymSlice};

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
        format!("{bytes} bytes long, as the other side is"),
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

#[cold]
fn unaligned(argument: &'static str, address: u64, size: u64) -> Error {
    Error::invalid(
        argument,
        format!("{address:#x}"),
        format!("an address that is a multiple of {size}"),
    )
}

impl Inner {
    /// The offset of an address of this PE's part of the heap.
    #[inline(always)]
    pub(crate) fn symmetric_offset(&self, argument: &'static str, address: u64) -> Result<u64> {
        match self.layout.own_offset(address) {
            Some(offset) => Ok(offset),
            None => self
                .registered_offset(address)
                .ok_or_else(|| self.not_symmetric(argument, address)),
        }
    }

    /// The error for an address that is not symmetric.
    #[cold]
    fn not_symmetric(&self, argument: &'static str, address: u64) -> Error {
        match self.about_variable(address) {
            Some(why) => Error::NotSymmetric {
                argument,
                address,
                why,
            },
            None => self.layout.not_symmetric(argument, address),
        }
    }

    /// Bytes from an offset to the end of the allocation that it lies in; 0 if it lies in none.
    pub(crate) fn room_at(&self, offset: u64) -> u64 {
        let block = self.heap.lock().find(offset);
        block.map_or(0, |block| block.offset + block.bytes - offset)
    }

    /// Checks that `bytes` bytes at `address` lie in one live allocation of this PE.
    #[inline(always)]
    pub(crate) fn symmetric(
        &self,
        argument: &'static str,
        address: u64,
        bytes: u64,
    ) -> Result<SymRange> {
        if bytes == 0 {
            return Ok(SymRange::new(0, 0));
        }
        let offset = self.symmetric_offset(argument, address)?;
        if self.heap.lookup.contains(offset, bytes) {
            return Ok(SymRange::new(offset, bytes));
        }
        self.symmetric_slow(argument, address, offset, bytes)
    }

    #[cold]
    fn symmetric_slow(
        &self,
        argument: &'static str,
        address: u64,
        offset: u64,
        bytes: u64,
    ) -> Result<SymRange> {
        let state = self.heap.lock();
        let block = state.find(offset).ok_or_else(|| Error::NotSymmetric {
            argument,
            address,
            why: "nothing is allocated there: it may have been freed".to_string(),
        })?;
        let start = offset - block.offset;
        if start.checked_add(bytes).is_none_or(|end| end > block.bytes) {
            return Err(Error::OutOfBounds {
                argument,
                start,
                bytes,
                limit: block.bytes,
            });
        }
        // Under the lock, so that a free cannot come between.
        self.heap
            .lookup
            .remember(offset, block.offset, block.offset + block.bytes);
        Ok(SymRange::new(offset, bytes))
    }

    /// Checks that a local buffer in the heap (the part of any PE) does not exceed its allocation, and that another buffer does not overlap the
    /// heap.
    #[inline(always)]
    pub(crate) fn local(&self, argument: &'static str, address: u64, bytes: u64) -> Result<()> {
        match self.layout.locate(address) {
            Some((pe, offset)) if bytes > 0 => {
                let own = self.layout.address(self.my_pe, offset);
                if self.heap.lookup.contains(offset, bytes) {
                    return Ok(());
                }
                self.symmetric_slow(argument, own, offset, bytes)
                    .map(|_| ())
                    .map_err(|error| match error {
                        Error::NotSymmetric { argument, why, .. } => Error::NotSymmetric {
                            argument,
                            address,
                            why: format!("in PE {pe}'s part of the heap {why}"),
                        },
                        other => other,
                    })
            }
            None if self.layout.run_into(address, bytes) => Err(Error::IntoHeap {
                argument,
                address,
                bytes,
            }),
            _ => Ok(()),
        }
    }

    /// The symmetric offset of a variable, or of a registered buffer's own, or preferred, address.
    #[inline(always)]
    fn registered_offset(&self, address: u64) -> Option<u64> {
        self.heap.ranges.offset(address)
    }

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

impl Runtime {
    /// Checks that `bytes` bytes at `address` lie in one live allocation of this PE; 0 bytes always do. Local.
    #[inline(always)]
    pub fn symmetric(
        &self,
        argument: &'static str,
        address: u64,
        bytes: usize,
    ) -> Result<SymRange> {
        self.inner.symmetric(argument, address, bytes as u64)
    }

    /// Checks that an element lies at `address`, aligned to its size. Local.
    #[inline(always)]
    pub fn element<T: Element>(
        &self,
        argument: &'static str,
        address: u64,
    ) -> Result<SymElement<T>> {
        let size = size_of::<T>() as u64;
        let range = self.inner.symmetric(argument, address, size)?;
        if !range.offset().is_multiple_of(size) {
            return Err(unaligned(argument, address, size));
        }
        Ok(SymElement::new(range.offset()))
    }

    /// Checks that `count` elements lie at `address`, aligned to their size. Local.
    pub fn elements<T: Element>(
        &self,
        argument: &'static str,
        address: u64,
        count: usize,
    ) -> Result<SymSlice<'static, T>> {
        let size = size_of::<T>() as u64;
        let bytes = (count as u64).saturating_mul(size);
        let range = self.inner.symmetric(argument, address, bytes)?;
        if !range.offset().is_multiple_of(size) {
            return Err(unaligned(argument, address, size));
        }
        Ok(SymSlice::new(range.offset(), count))
    }

    /// Checks a local buffer: in the heap, it must not exceed its allocation, and elsewhere, it must not overlap the heap. Local.
    #[inline(always)]
    pub fn check_local(&self, argument: &'static str, address: u64, bytes: usize) -> Result<()> {
        self.inner.local(argument, address, bytes as u64)
    }

    /// The address at which this PE can load and store PE `pe`'s copy of the symmetric address `address`, if it can. The address must
    /// lie in a live allocation.
    ///
    /// Local. OpenSHMEM 1.5 section 9.1.8.
    pub fn ptr(&self, address: u64, pe: Pe) -> Result<Option<u64>> {
        self.inner.ready()?;
        crate::error::check_pe("pe", pe, self.inner.n_pes)?;
        let object = self.inner.symmetric("ptr", address, 1)?;
        let transport = &self.inner.transport;
        if let Some(observer) = transport.observer()
            && pe != self.inner.my_pe
        {
            observer.pointer_given(pe);
        }
        Ok(transport.any().local_ptr(pe, object.offset()))
    }

    /// The kind of memory of an address of the symmetric heap (the part of any PE). Local.
    pub fn memory_kind(&self, address: u64) -> Result<MemoryKind> {
        self.inner.ready()?;
        let registered = || self.inner.registered_offset(address);
        match self.inner.layout.locate(address) {
            Some(_) => Ok(self.inner.transport.properties().kind),
            None if registered().is_some() => Ok(self.inner.transport.properties().kind),
            None => Err(self.inner.not_symmetric("ptr", address)),
        }
    }
}
