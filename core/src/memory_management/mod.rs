//! Symmetric memory: allocating, freeing and registering it, all of which are collectives over WORLD.
//!
//! The allocator is deterministic, so every PE computes the same offsets by itself. [`released`] frees memory without a collective of
//! its own, [`array`] is the typed form, [`register`] makes buffers of the program symmetric, and [`static_data`] its variables.

mod array;
mod realloc;
mod register;
mod released;
mod static_data;

pub use array::SymArray;

use released::Pending;

use crate::allocator::Block;
use crate::buffer::SymRange;
use crate::collectives::{CollectiveCall, MemberCall};
use crate::debug::Level;
use crate::heap::{HeapStats, Request, State};
use crate::job::block::MAX_ALLOCATIONS;
use crate::job::layout::GRANULE;
use crate::operation::{NONE, Operation};
use crate::runtime::Inner;
use crate::team::Team;
use crate::track::Resource;
use crate::{Error, Pe, Result, Runtime};

/// The ledger's entry of a successful request: the operation, and the bytes.
fn noted(request: &Result<Request>) -> (Operation, u64) {
    match request {
        Ok(request) if request.zero => (Operation::Calloc, request.bytes),
        Ok(request) if request.alignment > GRANULE => (Operation::Align, request.bytes),
        Ok(request) => (Operation::Malloc, request.bytes),
        Err(_) => (Operation::Malloc, 0),
    }
}

/// The collective call of a request.
fn malloc_call(request: Result<Request>) -> MemberCall {
    let memory = match &request {
        Err(Error::MachineMemory {
            requested,
            available,
            ..
        }) => [*requested, *available],
        _ => [0; 2],
    };
    let (asked, error) = match request {
        Ok(request) => (request, None),
        Err(error) => (Request::bytes(0), Some(error)),
    };
    let [requested, available] = memory;
    let zero = asked.zero.into();
    let args = [asked.bytes, asked.alignment, zero, requested, available];
    MemberCall::plain(Operation::Malloc)
        .with(args)
        .failing(error)
}

impl Inner {
    /// Allocates; collective over WORLD. `None` for 0 bytes.
    #[track_caller]
    fn allocate(&self, called: Operation, request: Result<Request>) -> Result<Option<u64>> {
        let collective = self.enter_as(Team::WORLD, Operation::Malloc, called)?;
        let completed = self.complete_earlier(called);
        self.allocate_in(&collective, completed.and(request))
    }

    /// As [`allocate`](Inner::allocate), in a meeting for another operation.
    fn allocate_in(
        &self,
        collective: &CollectiveCall<'_>,
        request: Result<Request>,
    ) -> Result<Option<u64>> {
        let (request, pending) = self.agree(collective, request)?;
        let block = {
            let mut state = self.heap.lock();
            if request.bytes == 0 {
                return Ok(None);
            }
            // Every PE comes to the same result, so no PE waits for a member that returns here.
            if state.allocator.count() >= u64::from(MAX_ALLOCATIONS) {
                return Err(Error::NotSupported(format!(
                    "a PE can have {MAX_ALLOCATIONS} live allocations, and they are all in use: free some"
                )));
            }
            let block = state.allocator.allocate(request.bytes, request.alignment);
            self.end_quarantine(&mut state, collective.site());
            block.ok_or_else(|| state.full(request.bytes, pending.describe(&state)))?
        };
        let range = SymRange::new(block.offset, block.taken);
        let committed = self.transport.memory().commit(range);
        if committed.is_ok() && request.zero {
            self.transport.internal().zero(range);
        }
        let call = MemberCall::plain(Operation::Malloc).failing(committed.err());
        if let Err(error) = collective.meet(call, &[]) {
            self.drop_block(&mut self.heap.lock(), block.offset, collective.site());
            return Err(error);
        }
        self.observe_allocated(collective, block.offset, request.bytes);
        self.debug.write(Level::Trace, self.my_pe, || {
            format!("malloc {} bytes: {block:?}", request.bytes)
        });
        Ok(Some(block.offset))
    }

    /// Tells the checker of a block that all PEs have allocated.
    fn observe_allocated(&self, collective: &CollectiveCall<'_>, offset: u64, bytes: u64) {
        if let Some(observer) = self.transport.observer() {
            let range = SymRange::new(offset, bytes);
            observer.allocated(range, collective.site());
        }
    }

    /// Tells the checker that this PE frees a block.
    fn observe_freed(&self, collective: &CollectiveCall<'_>, offset: u64, bytes: u64) {
        if let Some(observer) = self.transport.observer() {
            observer.freed(SymRange::new(offset, bytes), collective.site());
        }
    }

    /// Tells the checker whether all PEs have entered the free.
    fn report_all_freed<T>(&self, met: &Result<T>) {
        match (self.transport.observer(), met) {
            (None, _) => {}
            (Some(observer), Ok(_)) => observer.all_freed(),
            (Some(observer), Err(_)) => observer.not_freed(),
        }
    }

    /// An error for a request that the memory of this PE's host cannot back; one PE of each host checks.
    fn check_machine(&self, request: Request) -> Result<Request> {
        let leads_host = self.control.local_pes().first() == Some(&self.my_pe);
        if leads_host && self.transport.properties().takes_machine_memory {
            let local_count = self.control.local_pes().len() as Pe;
            self.heap.lock().check_machine(request.bytes, local_count)?;
        }
        Ok(request)
    }

    /// Agrees on a request, and frees the allocations that all PEs have released. Also returns the allocations that only some PEs have released.
    fn agree(
        &self,
        collective: &CollectiveCall<'_>,
        request: Result<Request>,
    ) -> Result<(Request, Pending)> {
        let request = request.and_then(|request| request.fits(self.layout.heap_bytes));
        let mine = self.released_ids();
        // Memory that may be freed first counts once that has happened.
        let checked = match mine.is_empty() {
            true => request.and_then(|request| self.check_machine(request)),
            false => request,
        };
        let request = checked.as_ref().copied().unwrap_or(Request::bytes(0));
        let pending = self.meet_and_free(collective, malloc_call(checked), &mine)?;
        if pending.any {
            let checked = match mine.is_empty() {
                true => Ok(request),
                false => self.check_machine(request),
            };
            collective.meet(malloc_call(checked), &[])?;
        }
        Ok((request, pending))
    }

    /// Frees the allocation at `offset` on this PE, in a collective that is called at `site`.
    fn drop_block(&self, state: &mut State, offset: u64, site: u16) {
        if let Some(block) = state.allocator.free(offset) {
            self.note_freed(Resource::Allocation, offset);
            state.released.remove(&block.id);
            state.leaving.take_if(|id| *id == block.id);
            self.heap.lookup.forget();
            let range = SymRange::new(block.offset, block.taken);
            match self.transport.observer() {
                Some(observer) if state.allocator.is_quarantined(block.offset) => {
                    observer.quarantined(range);
                }
                _ => self.transport.memory().decommit(range),
            }
            self.end_quarantine(state, site);
        }
    }

    /// Gives back the memory of blocks that have left the quarantine, which ends at `site`.
    fn end_quarantine(&self, state: &mut State, site: u16) {
        for (offset, bytes) in state.allocator.take_left() {
            let range = SymRange::new(offset, bytes);
            if let Some(observer) = self.transport.observer() {
                observer.quarantine_ends(range, site);
            }
            self.transport.memory().decommit(range);
        }
    }

    /// The allocation that starts at an address, `None` for address 0, to be freed or moved by this PE: from here on a release
    /// of it is an error.
    fn own(&self, address: u64) -> Result<Option<Block>> {
        if address == 0 {
            return Ok(None);
        }
        let offset = self.symmetric_offset("ptr", address)?;
        let mut state = self.heap.lock();
        let block = state.owned(offset, address)?;
        state.leaving = Some(block.id);
        Ok(Some(block))
    }

    /// Reverts [`own`](Inner::own), because the other PEs did not agree.
    fn disown(&self) {
        self.heap.lock().leaving = None;
    }

    /// Frees the allocation at an address, 0 for none; collective over WORLD. `address` may be an error found before.
    #[track_caller]
    fn free(&self, address: Result<u64>) -> Result<()> {
        let collective = self.enter(Team::WORLD, Operation::Free)?;
        let found = address.and_then(|address| self.own(address));
        let block = found.as_ref().ok().copied().flatten();
        let mut call = MemberCall::plain(Operation::Free).failing(found.err());
        call.args[0] = block.map_or(NONE, |block| block.offset);
        if let Some(block) = &block {
            self.observe_freed(&collective, block.offset, block.bytes);
        }
        let completed = self.complete_earlier(Operation::Free);
        call.error = call.error.or(completed.err());
        let met = collective.meet(call, &[]);
        if let Some(block) = block {
            self.report_all_freed(&met);
            match met {
                Ok(_) => {
                    let site = collective.site();
                    self.drop_block(&mut self.heap.lock(), block.offset, site);
                }
                Err(_) => self.disown(),
            }
            self.debug.write(Level::Trace, self.my_pe, || {
                format!("free {block:?}: {met:?}")
            });
        }
        met.map(|_| ())
    }
}

impl Runtime {
    /// Allocates symmetric memory; returns this PE's address, `None` for 0 bytes. `request` may be an earlier error: the other PEs
    /// then learn of it.
    ///
    /// Collective over WORLD with equal requests; includes a barrier. OpenSHMEM 1.5 section 9.3.1.
    #[track_caller]
    pub fn malloc(&self, request: Result<Request>) -> Result<Option<u64>> {
        let (operation, bytes) = noted(&request);
        let offset = self.inner.allocate(operation, request)?;
        if let Some(offset) = offset {
            self.inner
                .note(operation, Resource::Allocation, offset, bytes);
        }
        Ok(offset.map(|offset| self.inner.layout.address(self.inner.my_pe, offset)))
    }

    /// Frees an allocation on every PE; 0 (NULL) does nothing if every PE passes it.
    ///
    /// Collective over WORLD with the same symmetric address; a barrier comes first. OpenSHMEM 1.5 section 9.3.1.
    #[track_caller]
    pub fn free(&self, address: u64) -> Result<()> {
        self.inner.free(Ok(address))
    }

    /// How full the symmetric heap is. Local.
    pub fn heap_stats(&self) -> HeapStats {
        let state = self.inner.heap.lock();
        let allocator = &state.allocator;
        HeapStats {
            heap_bytes: allocator.size(),
            used_bytes: allocator.used(),
            free_bytes: allocator.size() - allocator.used(),
            largest_free_bytes: allocator.largest(),
            allocations: allocator.count(),
            released: state.released.len() as u64,
        }
    }
}
