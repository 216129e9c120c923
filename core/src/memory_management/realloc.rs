//! Changing the size of an allocation.

use super::Request;
use crate::allocator::Block;
use crate::collectives::{CollectiveCall, MemberCall};
use crate::operation::{NONE, Operation};
use crate::runtime::Inner;
use crate::track::Resource;
use crate::{Result, Runtime, Team};

impl Inner {
    #[track_caller]
    fn reallocate(&self, address: Result<u64>, bytes: usize) -> Result<Option<u64>> {
        let collective = self.enter(Team::WORLD, Operation::Realloc)?;
        let found = address.and_then(|address| self.own(address));
        let block = found.as_ref().ok().copied().flatten();
        let mut call = MemberCall::plain(Operation::Realloc).failing(found.err());
        call.args[0] = block.map_or(NONE, |block| block.offset);
        call.args[1] = bytes as u64;
        if let Some(block) = &block {
            // The kept part is not freed.
            let kept = block.bytes.min(bytes as u64);
            self.observe_freed(&collective, block.offset + kept, block.bytes - kept);
        }
        let completed = self.complete_earlier(Operation::Realloc);
        call.error = call.error.or(completed.err());
        let met = collective.meet(call, &[]);
        if block.is_some() {
            self.report_all_freed(&met);
        }
        let result = met.and_then(|_| self.change(&collective, block, bytes));
        if result.is_err() && block.is_some() {
            self.disown();
        }
        result
    }

    /// Changes the size, after the members have met with equal arguments.
    fn change(
        &self,
        collective: &CollectiveCall<'_>,
        old: Option<Block>,
        bytes: usize,
    ) -> Result<Option<u64>> {
        let Some(old) = old else {
            return self.allocate_in(collective, Ok(Request::bytes(bytes)));
        };
        if bytes == 0 {
            self.drop_block(&mut self.heap.lock(), old.offset, collective.site());
            return Ok(None);
        }
        {
            let mut state = self.heap.lock();
            if state.allocator.resize(old.offset, bytes as u64).is_some() {
                state.leaving = None;
                self.heap.lookup.forget();
                drop(state);
                self.observe_allocated(collective, old.offset, bytes as u64);
                return Ok(Some(old.offset));
            }
        }
        let new = self.allocate_in(collective, Ok(Request::bytes(bytes)))?;
        if let Some(new) = new {
            let me = self.my_pe;
            self.transport
                .internal()
                .copy(me, new, me, old.offset, old.bytes);
            // No PE may use the new block before every PE's contents are there.
            if let Err(error) = collective.meet_again(Operation::Realloc) {
                self.drop_block(&mut self.heap.lock(), new, collective.site());
                return Err(error);
            }
        }
        self.drop_block(&mut self.heap.lock(), old.offset, collective.site());
        Ok(new)
    }
}

impl Runtime {
    /// Resizes an allocation to `bytes` bytes, and returns its address, which may change; each PE's copy keeps its contents up to the
    /// smaller size. Address 0 (NULL) allocates; 0 bytes free, and return `None`. After an error the allocation is unchanged. The
    /// alignment of a block that moves is 64.
    ///
    /// Collective over WORLD with the same symmetric address and `bytes`; includes a barrier. OpenSHMEM 1.5 section 9.3.1.
    #[track_caller]
    pub fn realloc(&self, address: Result<u64>, bytes: usize) -> Result<Option<u64>> {
        let offset = self.inner.reallocate(address, bytes)?;
        if let Some(offset) = offset {
            self.inner.note(
                Operation::Realloc,
                Resource::Allocation,
                offset,
                bytes as u64,
            );
        }
        Ok(offset.map(|offset| self.inner.layout.address(self.inner.my_pe, offset)))
    }
}
