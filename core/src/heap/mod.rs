//! The symmetric heap of one PE: its allocations, and the allocations that this PE has released.
//!
//! [`layout`](crate::job::layout) is address arithmetic, [`allocator`](crate::allocator) the deterministic allocator. [`lookup`] finds
//! the allocation that an address lies in, [`registered`] has the registered buffers of the program. Allocation itself is a
//! collective: [`memory_management`](crate::memory_management).

mod lookup;
pub(crate) mod registered;

use crate::allocator::{Allocator, Block};
use crate::job::layout::{GRANULE, Layout, max_alignment};
use crate::{Error, Pe, Result};
use lookup::Lookup;
use registered::{Registered, RegisteredRanges};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

/// Bytes of freed blocks that a checked job does not use again soon.
const QUARANTINE: u64 = 64 << 20;

/// How full the symmetric heap is; the same on every PE, except for `released`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapStats {
    /// Bytes of symmetric heap per PE.
    pub heap_bytes: u64,
    /// Bytes in live allocations, rounding included.
    pub used_bytes: u64,
    /// Bytes not allocated.
    pub free_bytes: u64,
    /// The largest block that can be allocated now.
    pub largest_free_bytes: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Allocations this PE has released and that are not freed yet.
    pub released: u64,
}

/// The request of a collective allocation.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub(crate) bytes: u64,
    pub(crate) alignment: u64,
    pub(crate) zero: bool,
}

impl Request {
    /// `bytes` bytes, aligned to 64; contents undefined.
    pub fn bytes(bytes: usize) -> Request {
        Request {
            bytes: bytes as u64,
            alignment: GRANULE,
            zero: false,
        }
    }

    /// `count` elements of `bytes` bytes, set to 0.
    pub fn zeroed(count: usize, bytes: usize) -> Result<Request> {
        let product = count.checked_mul(bytes).ok_or_else(|| {
            Error::invalid(
                "count",
                count,
                format!("a number which, times {bytes} bytes, fits 64 bits"),
            )
        })?;
        Ok(Request {
            zero: true,
            ..Request::bytes(product)
        })
    }

    /// `bytes` bytes, aligned to `alignment`, which must not be above the heap's size.
    pub fn aligned(alignment: usize, bytes: usize) -> Result<Request> {
        let fits = alignment.is_power_of_two() && alignment.is_multiple_of(size_of::<usize>());
        if !fits {
            return Err(Error::invalid(
                "alignment",
                alignment,
                format!(
                    "a power of two that is a multiple of {}",
                    size_of::<usize>()
                ),
            ));
        }
        Ok(Request {
            alignment: alignment as u64,
            ..Request::bytes(bytes)
        })
    }

    /// An error for an alignment that no offset of a heap of this size has.
    pub(crate) fn fits(self, heap_bytes: u64) -> Result<Request> {
        let largest = max_alignment(heap_bytes);
        if self.alignment > largest {
            return Err(Error::invalid(
                "alignment",
                self.alignment,
                format!(
                    "at most {largest}, the largest power of two within the symmetric heap of {heap_bytes} bytes; \
                     NVSHMEM_SYMMETRIC_SIZE sets its size"
                ),
            ));
        }
        Ok(self)
    }
}

/// A PE's view of the symmetric heap.
pub(crate) struct Heap {
    state: Mutex<State>,
    pub(crate) lookup: Lookup,
    pub(crate) ranges: RegisteredRanges,
}

pub(crate) struct State {
    pub(crate) allocator: Allocator,
    /// Ids this PE has released.
    pub(crate) released: HashSet<u32>,
    /// The id that this PE frees or moves in a collective that has not ended.
    pub(crate) leaving: Option<u32>,
    /// The buffers that are registered.
    pub(crate) registered: Registered,
    /// Bytes that may be committed before the machine's memory is looked at again.
    budget: u64,
}

impl Heap {
    /// An empty heap. `checked`: freed blocks are not used again soon.
    pub(crate) fn new(layout: &Layout, checked: bool) -> Heap {
        let quarantine = match checked {
            true => QUARANTINE.min(layout.heap_bytes / 8),
            false => 0,
        };
        let state = State {
            allocator: Allocator::new(layout.heap_bytes).with_quarantine(quarantine),
            released: HashSet::new(),
            leaving: None,
            registered: Registered::new(layout),
            budget: 0,
        };
        Heap {
            state: Mutex::new(state),
            lookup: Lookup::new(),
            ranges: RegisteredRanges::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }
}

impl State {
    /// The allocation, or the registered buffer, that `offset` lies in.
    pub(crate) fn find(&self, offset: u64) -> Option<Block> {
        match self.registered.find(offset) {
            None => self.allocator.find(offset).copied(),
            found => found,
        }
    }

    /// The error for a request that does not fit the heap; `pending` describes allocations that some PEs have released.
    #[cold]
    pub(crate) fn full(&self, requested: u64, pending: String) -> Error {
        Error::HeapFull {
            requested,
            free: self.allocator.size() - self.allocator.used(),
            largest: self.allocator.largest(),
            heap: self.allocator.size(),
            pending,
        }
    }

    /// The live allocation that starts at `offset` and that this PE has not released.
    pub(crate) fn owned(&self, offset: u64, address: u64) -> Result<Block> {
        let bad = |why| Error::BadFree {
            argument: "ptr",
            address,
            why,
        };
        let block = *self
            .allocator
            .find(offset)
            .ok_or_else(|| bad("nothing is allocated there: it may have been freed before"))?;
        if block.offset != offset {
            Err(bad(
                "it lies inside of one: pass the address that `malloc()` gave",
            ))
        } else if self.released.contains(&block.id) || self.leaving == Some(block.id) {
            Err(bad("this PE has released it before"))
        } else {
            Ok(block)
        }
    }

    /// An error for a request that the machine's memory cannot back, before any memory is committed.
    pub(crate) fn check_machine(&mut self, bytes: u64, n_pes: Pe) -> Result<()> {
        if bytes > self.allocator.size() {
            // The heap is the tighter limit; it says so itself.
            return Ok(());
        }
        if bytes <= self.budget {
            self.budget -= bytes;
            return Ok(());
        }
        let requested = bytes.saturating_mul(n_pes as u64);
        let (available, limit) = crate::job::machine::available();
        if requested > available {
            return Err(Error::MachineMemory {
                requested,
                n_pes,
                available,
                limit,
            });
        }
        self.budget = (available - requested) / 16 / n_pes as u64;
        Ok(())
    }
}
