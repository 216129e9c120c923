//! The symmetric heap: collective allocation, deferred release, and the checks of symmetric addresses.
//!
//! [`layout`](crate::job::layout) is address arithmetic, [`allocator`](crate::allocator) the deterministic allocator, [`sym`] the typed handles, [`lookup`] finds the
//! allocation an address lies in, [`register`] makes buffers of the program's symmetric.

mod lookup;
mod realloc;
pub(crate) mod register;
pub(crate) mod sym;

use crate::allocator::{Allocator, Block};
use crate::buffer::SymRange;
use crate::collectives::{Call, Turn};
use crate::debug::Level;
use crate::dtype::Element;
use crate::job::block::{MAX_ALLOCATIONS, MAX_FREED};
use crate::job::layout::{GRANULE, Layout, max_alignment};
use crate::job::tell;
use crate::operation::{NONE, Operation};
use crate::runtime::Inner;
use crate::team::Team;
use crate::track::Resource;
use crate::transport::Lane;
use crate::{Error, MemoryKind, Pe, Result, Runtime};
use bytemuck::Pod;
use lookup::Lookup;
use register::{Places, Registered};
use std::collections::HashSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Mutex, MutexGuard};
use sym::{SymArray, SymElement, SymSlice};

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

/// What a collective allocation asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    bytes: u64,
    alignment: u64,
    zero: bool,
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
                format!("a number that times {bytes} bytes fits 64 bits"),
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

    /// Refuses an alignment that no place in a heap of this size has.
    fn fits(self, heap_bytes: u64) -> Result<Request> {
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

/// What a request is noted as, if it is granted: the operation, and the bytes.
fn noted(request: &Result<Request>) -> (Operation, u64) {
    match request {
        Ok(request) if request.zero => (Operation::Calloc, request.bytes),
        Ok(request) if request.alignment > GRANULE => (Operation::Align, request.bytes),
        Ok(request) => (Operation::Malloc, request.bytes),
        Err(_) => (Operation::Malloc, 0),
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

/// A PE's view of the symmetric heap.
pub(crate) struct Heap {
    state: Mutex<State>,
    lookup: Lookup,
    places: Places,
}

struct State {
    allocator: Allocator,
    /// Ids this PE has released.
    released: HashSet<u32>,
    /// The buffers that are registered.
    registered: Registered,
    /// Bytes that may be committed before the machine's memory is looked at again.
    budget: u64,
}

impl Heap {
    pub(crate) fn new(layout: &Layout) -> Heap {
        let state = State {
            allocator: Allocator::new(layout.heap_bytes),
            released: HashSet::new(),
            registered: Registered::new(layout),
            budget: 0,
        };
        Heap {
            state: Mutex::new(state),
            lookup: Lookup::new(),
            places: Places::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }
}

impl State {
    /// The allocation, or the registered buffer, that `offset` lies in.
    fn find(&self, offset: u64) -> Option<Block> {
        match self.registered.find(offset) {
            None => self.allocator.find(offset).copied(),
            found => found,
        }
    }

    /// The error for a request that the heap has no block for.
    #[cold]
    fn full(&self, requested: u64) -> Error {
        Error::HeapFull {
            requested,
            free: self.allocator.size() - self.allocator.used(),
            largest: self.allocator.largest(),
            heap: self.allocator.size(),
        }
    }

    /// The live allocation that starts at `offset` and that this PE has not released.
    fn owned(&self, offset: u64, address: u64) -> Result<Block> {
        let bad = |why| Error::BadFree {
            argument: "ptr",
            address,
            why,
        };
        let block = *self
            .allocator
            .find(offset)
            .ok_or_else(|| bad("nothing is allocated there; it may have been freed before"))?;
        if block.offset != offset {
            Err(bad(
                "it lies inside an allocation; pass the address that malloc gave",
            ))
        } else if self.released.contains(&block.id) {
            Err(bad("this PE has released it before"))
        } else {
            Ok(block)
        }
    }

    /// Refuses what the machine could not back, before anything is committed. `released` bytes per PE come back first.
    fn check_machine(&mut self, bytes: u64, released: u64, n_pes: Pe) -> Result<()> {
        if bytes > self.allocator.size() {
            // The heap is the tighter limit; it says so itself.
            return Ok(());
        }
        if bytes <= self.budget {
            self.budget -= bytes;
            return Ok(());
        }
        let requested = bytes.saturating_mul(n_pes as u64);
        let (free, limit) = crate::job::machine::available();
        let available = free.saturating_add(released.saturating_mul(n_pes as u64));
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

impl Inner {
    /// The offset of an address of this PE's part of the heap.
    #[inline(always)]
    pub(crate) fn symmetric_offset(&self, argument: &'static str, address: u64) -> Result<u64> {
        match self.layout.own_offset(address) {
            Some(offset) => Ok(offset),
            None => self
                .registered_offset(address)
                .ok_or_else(|| self.layout.not_symmetric(argument, address)),
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
            why: "nothing is allocated there; it may have been freed".to_string(),
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

    /// Checks that a local buffer, if it lies in the heap (anybody's part), does not run past its allocation, and if not, does not run into it.
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
                            why: format!("in PE {pe}'s part of the heap, {why}"),
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

    /// Allocates; collective over WORLD. `None` for 0 bytes.
    #[track_caller]
    fn allocate(&self, called: Operation, request: Result<Request>) -> Result<Option<u64>> {
        let turn = self.enter_as(Team::WORLD, Operation::Malloc, called)?;
        let completed = self.transport.quiet_before_release(Lane::Blocking, called);
        self.allocate_in(&turn, completed.and(request))
    }

    /// As [`allocate`](Inner::allocate), by members that have met for something else.
    fn allocate_in(&self, turn: &Turn<'_>, request: Result<Request>) -> Result<Option<u64>> {
        let request = self.agree(turn, request)?;
        let block = {
            let mut state = self.heap.lock();
            if request.bytes == 0 {
                return Ok(None);
            }
            // Every PE comes to the same answer, so nobody waits for a member that returns here.
            if state.allocator.count() >= u64::from(MAX_ALLOCATIONS) {
                return Err(Error::NotSupported(format!(
                    "more than {MAX_ALLOCATIONS} live allocations; free some"
                )));
            }
            let block = state.allocator.allocate(request.bytes, request.alignment);
            block.ok_or_else(|| state.full(request.bytes))?
        };
        let range = SymRange::new(block.offset, block.taken);
        let committed = self.transport.any().commit(range);
        if committed.is_ok() && request.zero {
            self.transport.own().zero(range);
        }
        let call = Call {
            error: committed.err(),
            ..Call::plain(Operation::Malloc)
        };
        if let Err(error) = turn.meet(call, &[]) {
            self.drop_block(&mut self.heap.lock(), block.offset);
            return Err(error);
        }
        self.tell_allocated(turn, block.offset, request.bytes);
        self.debug.write(Level::Trace, self.my_pe, || {
            format!("malloc {} bytes: {block:?}", request.bytes)
        });
        Ok(Some(block.offset))
    }

    /// Tells the checker of a block that all PEs have now.
    fn tell_allocated(&self, turn: &Turn<'_>, offset: u64, bytes: u64) {
        if let Some(notes) = self.transport.notes() {
            let range = SymRange::new(offset, bytes);
            notes.allocated(range, turn.site());
        }
    }

    /// Tells the checker that this PE frees a block.
    fn tell_freed(&self, turn: &Turn<'_>, offset: u64, bytes: u64) {
        if let Some(notes) = self.transport.notes() {
            notes.freed(SymRange::new(offset, bytes), turn.site());
        }
    }

    /// Tells it whether all PEs have come to free that.
    fn tell_all_freed<T>(&self, met: &Result<T>) {
        match (self.transport.notes(), met) {
            (None, _) => {}
            (Some(notes), Ok(_)) => notes.all_freed(),
            (Some(notes), Err(_)) => notes.not_freed(),
        }
    }

    /// Agrees on a request, and frees what all PEs have released: PE 0 posts the ids with its arrival, in as many rounds as
    /// they need.
    fn agree(&self, turn: &Turn<'_>, request: Result<Request>) -> Result<Request> {
        let leader = self.my_pe == 0;
        let request = request.and_then(|request| request.fits(self.layout.heap_bytes));
        let checked = request.and_then(|request| {
            // Each GPU's own memory is asked for by its PE, in `commit`.
            if leader && self.transport.any().kind() == MemoryKind::Host {
                let mut state = self.heap.lock();
                let released = self.released_bytes(&state);
                state.check_machine(request.bytes, released, self.n_pes)?;
            }
            Ok(request)
        });
        let request = checked.as_ref().copied().unwrap_or(Request::bytes(0));
        let memory = match &checked {
            Err(Error::MachineMemory {
                requested,
                available,
                ..
            }) => [*requested, *available],
            _ => [0; 2],
        };
        let mut call = Call {
            operation: Operation::Malloc,
            args: [
                request.bytes,
                request.alignment,
                request.zero.into(),
                memory[0],
                memory[1],
            ],
            error: checked.err(),
        };
        loop {
            let epoch = turn.next_epoch();
            if leader {
                self.choose_releases(epoch);
            }
            if let Err(error) = turn.meet(call, &[]) {
                if leader {
                    self.undo_releases(epoch);
                }
                return Err(error);
            }
            if self.free_released(epoch) < MAX_FREED {
                return Ok(request);
            }
            call = Call::plain(Operation::Malloc);
        }
    }

    /// Bytes per PE in allocations that all PEs have released.
    fn released_bytes(&self, state: &State) -> u64 {
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

    /// Frees the allocation at `offset` on this PE.
    fn drop_block(&self, state: &mut State, offset: u64) {
        if let Some(block) = state.allocator.free(offset) {
            self.note_freed(Resource::Allocation, offset);
            state.released.remove(&block.id);
            self.heap.lookup.forget();
            self.transport
                .any()
                .decommit(SymRange::new(block.offset, block.taken));
        }
    }

    /// PE 0 decides which released allocations the coming allocation frees, and posts their ids.
    fn choose_releases(&self, epoch: u64) {
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
        tell::count_to_free(list, count as u32);
    }

    /// Takes the decision back, because the allocation failed before anybody freed.
    fn undo_releases(&self, epoch: u64) {
        let header = self.control.header();
        let list = &header.freed[(epoch & 1) as usize];
        let count = (tell::none_to_free(list) as usize).min(MAX_FREED);
        for id in &list.ids[..count] {
            let id = id.load(Relaxed);
            if id < MAX_ALLOCATIONS {
                tell::releases(self.control.releases(id), self.n_pes as u32);
            }
        }
        tell::released_by_all(header, count as u32);
    }

    /// Frees what PE 0 has posted for an epoch; returns how many.
    fn free_released(&self, epoch: u64) -> usize {
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

    /// The allocation that starts at an address, `None` for address 0, to be freed or moved by this PE: from here on a release
    /// of it is an error.
    fn own(&self, address: u64) -> Result<Option<Block>> {
        if address == 0 {
            return Ok(None);
        }
        let offset = self.symmetric_offset("ptr", address)?;
        let mut state = self.heap.lock();
        let block = state.owned(offset, address)?;
        state.released.insert(block.id);
        Ok(Some(block))
    }

    /// Takes back [`own`](Inner::own), because the other PEs did not agree.
    fn disown(&self, block: Block) {
        self.heap.lock().released.remove(&block.id);
    }

    /// Frees the allocation at an address, 0 for none; collective over WORLD. `address` may be an error found before.
    #[track_caller]
    fn free(&self, address: Result<u64>) -> Result<()> {
        let turn = self.enter(Team::WORLD, Operation::Free)?;
        let found = address.and_then(|address| self.own(address));
        let block = found.as_ref().ok().copied().flatten();
        let mut call = Call {
            error: found.err(),
            ..Call::plain(Operation::Free)
        };
        call.args[0] = block.map_or(NONE, |block| block.offset);
        if let Some(block) = &block {
            self.tell_freed(&turn, block.offset, block.bytes);
        }
        let completed = self
            .transport
            .quiet_before_release(Lane::Blocking, Operation::Free);
        call.error = call.error.or(completed.err());
        let met = turn.meet(call, &[]);
        if let Some(block) = block {
            self.tell_all_freed(&met);
            match met {
                Ok(_) => {
                    self.drop_block(&mut self.heap.lock(), block.offset);
                }
                Err(_) => self.disown(block),
            }
            self.debug.write(Level::Trace, self.my_pe, || {
                format!("free {block:?}: {met:?}")
            });
        }
        met.map(|_| ())
    }

    fn release(&self, offset: u64, address: u64) -> Result<()> {
        self.ready()?;
        let mut state = self.heap.lock();
        let block = state.owned(offset, address)?;
        state.released.insert(block.id);
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
    /// Allocates symmetric memory; the address is this PE's, `None` for 0 bytes. `request` may be an error found before: the
    /// other PEs then learn of it.
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

    /// Records that this PE no longer uses an allocation; the next collective allocation frees what all PEs have released.
    /// 0 (NULL) does nothing.
    ///
    /// Local; never waits.
    pub fn release(&self, address: u64) -> Result<()> {
        self.inner.ready()?;
        match address {
            0 => Ok(()),
            _ => self
                .inner
                .release(self.inner.symmetric_offset("ptr", address)?, address),
        }
    }

    /// An array of `len` elements on every PE, all zero. Dropping it records a release.
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
            std::sync::Arc::clone(&self.inner),
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
                format!("{array:?}"),
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

    /// Checks a local buffer: if it lies in the heap, it must not run past its allocation, and if not, it must not run into it. Local.
    #[inline(always)]
    pub fn check_local(&self, argument: &'static str, address: u64, bytes: usize) -> Result<()> {
        self.inner.local(argument, address, bytes as u64)
    }

    /// The address at which this PE can load and store PE `pe`'s copy of the symmetric address `address`, if it can. The address must lie in a live allocation.
    ///
    /// Local. OpenSHMEM 1.5 section 9.3.5.
    pub fn ptr(&self, address: u64, pe: Pe) -> Result<Option<u64>> {
        self.inner.ready()?;
        crate::error::check_pe("pe", pe, self.inner.n_pes)?;
        let object = self.inner.symmetric("ptr", address, 1)?;
        let transport = &self.inner.transport;
        if let Some(notes) = transport.notes()
            && pe != self.inner.my_pe
        {
            notes.pointer_given(pe);
        }
        Ok(transport.any().local_ptr(pe, object.offset()))
    }

    /// Where an address of the symmetric heap (anybody's part) lives. Local.
    pub fn memory_kind(&self, address: u64) -> Result<MemoryKind> {
        self.inner.ready()?;
        let registered = || self.inner.registered_offset(address);
        match self.inner.layout.locate(address) {
            Some(_) => Ok(self.inner.transport.any().kind()),
            None if registered().is_some() => Ok(self.inner.transport.any().kind()),
            None => Err(self.inner.layout.not_symmetric("ptr", address)),
        }
    }
}
