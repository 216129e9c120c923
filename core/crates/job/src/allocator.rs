//! The allocator of the symmetric heap: best fit, lowest address first.
//!
//! Every PE runs the same allocator over the same sequence of collective calls, so all PEs compute the same offsets without
//! communication. So it must depend on that sequence only. It handles offsets; it touches no memory.

use crate::layout::{GRANULE, round_up};
use std::collections::{BTreeMap, BTreeSet};

/// A live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first byte.
    pub offset: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Bytes used, a multiple of 64.
    pub taken: u64,
    /// A small number that identifies it among the live allocations, the same on every PE.
    pub id: u32,
}

/// A deterministic allocator of offsets.
#[derive(Debug)]
pub struct Allocator {
    size: u64,
    free_by_offset: BTreeMap<u64, u64>,
    free_by_size: BTreeSet<(u64, u64)>,
    live: BTreeMap<u64, Block>,
    free_ids: BTreeSet<u32>,
    next_id: u32,
    used: u64,
}

impl Allocator {
    /// An allocator over `size` bytes.
    pub fn new(size: u64) -> Allocator {
        let size = size / GRANULE * GRANULE;
        let mut allocator = Allocator {
            size,
            free_by_offset: BTreeMap::new(),
            free_by_size: BTreeSet::new(),
            live: BTreeMap::new(),
            free_ids: BTreeSet::new(),
            next_id: 0,
            used: 0,
        };
        allocator.add_free(0, size);
        allocator
    }

    fn add_free(&mut self, offset: u64, len: u64) {
        if len > 0 {
            self.free_by_offset.insert(offset, len);
            self.free_by_size.insert((len, offset));
        }
    }

    fn remove_free(&mut self, offset: u64, len: u64) {
        self.free_by_offset.remove(&offset);
        self.free_by_size.remove(&(len, offset));
    }

    /// Takes `bytes` bytes (at least 1) at a multiple of `alignment`, a power of two. `None` if no block fits.
    pub fn allocate(&mut self, bytes: u64, alignment: u64) -> Option<Block> {
        let taken = round_up(bytes, GRANULE)?;
        let alignment = alignment.max(GRANULE);
        let (len, start) = *self
            .free_by_size
            .range((taken, 0)..)
            .find(|&&(len, start)| {
                round_up(start, alignment)
                    .and_then(|offset| offset.checked_add(taken))
                    .is_some_and(|end| end <= start + len)
            })?;
        let offset = round_up(start, alignment)?;
        self.remove_free(start, len);
        self.add_free(start, offset - start);
        self.add_free(offset + taken, start + len - (offset + taken));
        let id = match self.free_ids.pop_first() {
            Some(id) => id,
            None => {
                self.next_id += 1;
                self.next_id - 1
            }
        };
        let block = Block {
            offset,
            bytes,
            taken,
            id,
        };
        self.live.insert(offset, block);
        self.used += taken;
        Some(block)
    }

    /// Frees the allocation that starts at `offset`. `None` if there is none.
    pub fn free(&mut self, offset: u64) -> Option<Block> {
        let block = self.live.remove(&offset)?;
        self.free_ids.insert(block.id);
        self.used -= block.taken;
        let (mut start, mut len) = (block.offset, block.taken);
        if let Some((&before, &before_len)) = self.free_by_offset.range(..start).next_back()
            && before + before_len == start
        {
            self.remove_free(before, before_len);
            start = before;
            len += before_len;
        }
        if let Some(&after_len) = self.free_by_offset.get(&(start + len)) {
            self.remove_free(start + len, after_len);
            len += after_len;
        }
        self.add_free(start, len);
        Some(block)
    }

    /// Sets the length of the allocation at `offset` to `bytes` (at least 1), in place. `None` if it uses fewer bytes.
    pub fn resize(&mut self, offset: u64, bytes: u64) -> Option<Block> {
        let block = self.live.get_mut(&offset)?;
        if bytes > block.taken {
            return None;
        }
        block.bytes = bytes;
        Some(*block)
    }

    /// The allocation that `offset` lies in.
    pub fn find(&self, offset: u64) -> Option<&Block> {
        let (_, block) = self.live.range(..=offset).next_back()?;
        (offset < block.offset + block.taken).then_some(block)
    }

    /// The live allocations, by offset.
    pub fn live(&self) -> impl Iterator<Item = &Block> {
        self.live.values()
    }

    /// Number of live allocations.
    pub fn count(&self) -> u64 {
        self.live.len() as u64
    }

    /// Bytes managed.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes used by live allocations.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The largest free block.
    pub fn largest(&self) -> u64 {
        self.free_by_size.last().map_or(0, |&(len, _)| len)
    }
}
