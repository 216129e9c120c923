//! Releases: a PE says by itself, at any time, that it no longer uses an allocation. The next collective allocation frees what all PEs
//! have released.

use crate::allocator::Block;
use crate::heap::State;
use crate::job::block::{MAX_ALLOCATIONS, MAX_FREED};
use crate::job::tell;
use crate::runtime::Inner;
use crate::{Result, Runtime};
use std::collections::HashSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

impl Inner {
    /// Bytes per PE in allocations that all PEs have released.
    pub(super) fn released_bytes(&self, state: &State) -> u64 {
        if self.control.header().released.load(Acquire) == 0 {
            return 0;
        }
        let released = state
            .allocator
            .live()
            .filter(|block| self.is_released(block));
        released.map(|block| block.taken).sum()
    }

    fn is_released(&self, block: &Block) -> bool {
        self.control.releases(block.id).count.load(Acquire) == self.n_pes as u32
    }

    /// PE 0 decides which released allocations the coming allocation frees, and posts their ids. An error if another host may not know them.
    pub(super) fn choose_releases(&self, epoch: u64) -> Result<()> {
        let header = self.control.header();
        let list = &header.freed[(epoch & 1) as usize];
        let mut count = 0;
        if header.released.load(Acquire) > 0 {
            let state = self.heap.lock();
            let released = state
                .allocator
                .live()
                .filter(|block| self.is_released(block));
            for block in released.take(MAX_FREED) {
                tell::releases(self.control.releases(block.id), 0);
                tell::to_free(list, count, block.id);
                count += 1;
            }
            tell::chosen(header, count as u32);
        }
        let before = list.count.load(Relaxed);
        tell::count_to_free(list, count as u32);
        if let (Some(far), true) = (self.control.far(), count > 0 || before > 0) {
            far.freed(&self.control, list)?;
        }
        Ok(())
    }

    /// Takes the decision back, because the allocation failed before anybody freed. What is posted stays, and nobody reads it before it
    /// is posted anew: other hosts have it, too, and must then be told.
    pub(super) fn undo_releases(&self, epoch: u64) {
        let header = self.control.header();
        let list = &header.freed[(epoch & 1) as usize];
        let count = (list.count.load(Relaxed) as usize).min(MAX_FREED);
        for id in &list.ids[..count] {
            let id = id.load(Relaxed);
            if id < MAX_ALLOCATIONS {
                tell::releases(self.control.releases(id), self.n_pes as u32);
            }
        }
        tell::released_by_all(header, count as u32);
    }

    /// Frees what PE 0 has posted for an epoch; returns how many.
    pub(super) fn free_released(&self, epoch: u64) -> usize {
        let list = &self.control.header().freed[(epoch & 1) as usize];
        let count = (list.count.load(Relaxed) as usize).min(MAX_FREED);
        let mut freed = 0;
        if count > 0 {
            let ids: HashSet<u32> = list.ids[..count]
                .iter()
                .map(|id| id.load(Relaxed))
                .collect();
            let mut state = self.heap.lock();
            let released = state
                .allocator
                .live()
                .filter(|block| ids.contains(&block.id));
            let offsets: Vec<u64> = released.map(|block| block.offset).collect();
            freed = offsets.len();
            for offset in offsets {
                self.drop_block(&mut state, offset);
            }
        }
        freed
    }

    fn release(&self, offset: u64, address: u64) -> Result<()> {
        self.ready()?;
        let mut state = self.heap.lock();
        let block = state.owned(offset, address)?;
        state.released.insert(block.id);
        if self.control.far().is_some_and(|far| far.release(block.id)) {
            return Ok(());
        }
        let before = tell::release(self.control.releases(block.id));
        if before + 1 == self.n_pes as u32 {
            tell::released_by_all(self.control.header(), 1);
        }
        Ok(())
    }

    /// Where the allocations start that this PE has released and that are not freed.
    pub(crate) fn released_offsets(&self) -> HashSet<u64> {
        let state = self.heap.lock();
        let live = state.allocator.live();
        live.filter(|block| state.released.contains(&block.id))
            .map(|block| block.offset)
            .collect()
    }

    /// Records that this PE no longer uses the allocation at `offset`; for `Drop`.
    pub(crate) fn release_offset(&self, offset: u64) -> Result<()> {
        self.release(offset, self.layout.address(self.my_pe, offset))
    }
}

impl Runtime {
    /// Records that this PE no longer uses an allocation; the next collective allocation frees what all PEs have released.
    /// 0 (NULL) does nothing.
    ///
    /// Local; never waits. On several hosts, a barrier or quiet of this PE completes it, and allocations after that free it.
    pub fn release(&self, address: u64) -> Result<()> {
        self.inner.ready()?;
        match address {
            0 => Ok(()),
            _ => self
                .inner
                .release(self.inner.symmetric_offset("ptr", address)?, address),
        }
    }
}
