//! The allocator of the symmetric heap: best fit, lowest address first.
//!
//! Every PE runs the same allocator over the same sequence of collective calls, so all PEs compute the same offsets without
//! communication. So it must depend on that sequence only. It handles offsets; it touches no memory.

use crate::layout::{GRANULE, round_up};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// The blocks that were freed last, which are not reused soon: offsets and lengths.
    quarantine: VecDeque<(u64, u64)>,
    quarantined: u64,
    quarantine_limit: u64,
    /// The blocks that have left the quarantine since the last query.
    left: Vec<(u64, u64)>,
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
            quarantine: VecDeque::new(),
            quarantined: 0,
            quarantine_limit: 0,
            left: Vec::new(),
        };
        allocator.add_free(0, size);
        allocator
    }

    /// The same, which does not use freed blocks again before `limit` more bytes were freed, or until nothing else fits.
    pub fn with_quarantine(mut self, limit: u64) -> Allocator {
        self.quarantine_limit = limit;
        self
    }

    /// Blocks that have left the quarantine since the last call: offsets and lengths. They may be in use again.
    pub fn take_left(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.left)
    }

    /// The block that has been in quarantine for longest leaves it; false if there is none.
    fn end_quarantine(&mut self) -> bool {
        let Some((offset, len)) = self.quarantine.pop_front() else {
            return false;
        };
        self.quarantined -= len;
        self.left.push((offset, len));
        self.give_back(offset, len);
        true
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
        let (len, start) = loop {
            let mut large = self.free_by_size.range((taken, 0)..).copied();
            let fits = large.find(|&(len, start)| {
                round_up(start, alignment)
                    .and_then(|offset| offset.checked_add(taken))
                    .is_some_and(|end| end <= start + len)
            });
            match fits {
                Some(found) => break found,
                None if self.end_quarantine() => {}
                None => return None,
            }
        };
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

    /// Frees the allocation that starts at `offset`, which may put its memory into quarantine. `None` if there is none.
    pub fn free(&mut self, offset: u64) -> Option<Block> {
        let block = self.live.remove(&offset)?;
        self.free_ids.insert(block.id);
        self.used -= block.taken;
        if block.taken <= self.quarantine_limit {
            self.quarantine.push_back((block.offset, block.taken));
            self.quarantined += block.taken;
            while self.quarantined > self.quarantine_limit && self.end_quarantine() {}
        } else {
            self.give_back(block.offset, block.taken);
        }
        Some(block)
    }

    /// Whether the block that starts at `offset` is in quarantine.
    pub fn is_quarantined(&self, offset: u64) -> bool {
        self.quarantine.iter().any(|&(start, _)| start == offset)
    }

    fn give_back(&mut self, mut start: u64, mut len: u64) {
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

    /// The largest free block; blocks in quarantine count as free.
    pub fn largest(&self) -> u64 {
        if self.quarantine.is_empty() {
            return self.free_by_size.last().map_or(0, |&(len, _)| len);
        }
        let mut free = self.free_by_offset.clone();
        free.extend(self.quarantine.iter().copied());
        let (mut largest, mut start, mut end) = (0, 0, 0);
        for (offset, len) in free {
            if offset != end {
                start = offset;
            }
            end = offset + len;
            largest = largest.max(end - start);
        }
        largest
    }
}
