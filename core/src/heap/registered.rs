//! The registered buffers of the program: their offsets in the window behind the heap, and their addresses.

use crate::allocator::{Allocator, Block};
use crate::job::layout::Layout;
use std::collections::BTreeMap;
use std::sync::RwLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A registered buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// Its address in the program.
    pub(crate) address: u64,
    /// A second address, if one was asked for.
    pub(crate) preferred: Option<u64>,
    pub(crate) block: Block,
}

/// The buffers of one PE that are registered.
pub(crate) struct Registered {
    /// Offsets within the window; the same on every PE.
    pub(crate) window: Allocator,
    /// Where the window begins.
    pub(crate) start: u64,
    /// By range.
    pub(crate) buffers: BTreeMap<u64, Buffer>,
}

impl Registered {
    pub(crate) fn new(layout: &Layout) -> Registered {
        Registered {
            window: Allocator::new(layout.window_bytes),
            start: layout.heap_bytes,
            buffers: BTreeMap::new(),
        }
    }

    /// The buffer that a symmetric offset lies in, as an allocation.
    pub(crate) fn find(&self, offset: u64) -> Option<Block> {
        let block = self.window.find(offset.checked_sub(self.start)?)?;
        Some(Block {
            offset: block.offset + self.start,
            ..*block
        })
    }
}

/// The addresses of registered buffers outside the window, for lookups.
#[derive(Default)]
pub(crate) struct RegisteredRanges {
    /// Whether there are any, so that a program without them has no cost.
    any: AtomicBool,
    list: RwLock<Vec<RegisteredRange>>,
    variables: VariablesRange,
}

/// The range of the executable's variables, once they are symmetric: looked up without a lock.
#[derive(Default)]
struct VariablesRange {
    start: AtomicU64,
    /// 0: they are not symmetric.
    bytes: AtomicU64,
    offset: AtomicU64,
}

impl VariablesRange {
    #[inline(always)]
    fn offset(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes.load(Acquire);
        let distance = address.wrapping_sub(self.start.load(Relaxed));
        (distance < bytes).then(|| self.offset.load(Relaxed) + distance)
    }
}

#[derive(Clone, Copy)]
struct RegisteredRange {
    start: u64,
    bytes: u64,
    offset: u64,
}

impl RegisteredRanges {
    /// The symmetric offset of an address.
    #[inline(always)]
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        match self.variables.offset(address) {
            None => self.offset_of_buffer(address),
            found => found,
        }
    }

    #[cold]
    fn offset_of_buffer(&self, address: u64) -> Option<u64> {
        if !self.any.load(Acquire) {
            return None;
        }
        let list = crate::lock::read(&self.list);
        list.iter().find_map(|range| {
            let distance = address.checked_sub(range.start)?;
            (distance < range.bytes).then_some(range.offset + distance)
        })
    }

    /// The variables start at an address and have an offset. They never move; `bytes` 0: they are not symmetric any more.
    pub(crate) fn set_variables(&self, start: u64, bytes: u64, offset: u64) {
        self.variables.start.store(start, Relaxed);
        self.variables.offset.store(offset, Relaxed);
        self.variables.bytes.store(bytes, Release);
    }

    /// The start of the variables and their offset, if they are symmetric.
    pub(crate) fn variables(&self) -> Option<(u64, u64)> {
        let there = self.variables.bytes.load(Acquire) > 0;
        let start = self.variables.start.load(Relaxed);
        there.then(|| (start, self.variables.offset.load(Relaxed)))
    }

    /// Adds, or removes, the addresses of a buffer.
    pub(crate) fn change(&self, offset: u64, buffer: &Buffer, there: bool) {
        let mut list = crate::lock::write(&self.list);
        list.retain(|range| range.offset != offset);
        if there {
            let starts = [Some(buffer.address), buffer.preferred];
            list.extend(starts.into_iter().flatten().map(|start| RegisteredRange {
                start,
                bytes: buffer.block.bytes,
                offset,
            }));
        }
        self.any.store(!list.is_empty(), Release);
    }
}
