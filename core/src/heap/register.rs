//! Registered buffers: memory of the program's that becomes symmetric where it is.
//!
//! A registered buffer gets a place in the window behind the heap, the same on every PE, and its pages become shared memory there.
//! They appear at the buffer's own address as before, and at a preferred address if one was given; all of these are symmetric
//! addresses afterwards. To everything else it is like an allocation.

use super::alloc::{Allocator, Block};
use super::layout::Layout;
use super::sym::SymRange;
use crate::collectives::Call;
use crate::runtime::Inner;
use crate::transport::Transport as _;
use crate::wait::Operation;
use crate::{Error, Result, Runtime, Team};
use std::collections::BTreeMap;

/// A registered buffer.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Its address in the program.
    address: u64,
    /// A second address, if one was asked for.
    preferred: Option<u64>,
    block: Block,
}

/// The buffers of one PE that are registered.
pub(super) struct Registered {
    /// Places within the window; the same on every PE.
    window: Allocator,
    /// Where the window begins.
    start: u64,
    /// By place.
    buffers: BTreeMap<u64, Buffer>,
}

impl Registered {
    pub(super) fn new(layout: &Layout) -> Registered {
        Registered {
            window: Allocator::new(layout.stride - layout.heap_bytes),
            start: layout.heap_bytes,
            buffers: BTreeMap::new(),
        }
    }

    /// The buffer that a symmetric offset lies in, as an allocation.
    pub(super) fn find(&self, offset: u64) -> Option<Block> {
        let block = self.window.find(offset.checked_sub(self.start)?)?;
        Some(Block {
            offset: block.offset + self.start,
            ..*block
        })
    }

    /// The symmetric offset of an address at which a buffer appears outside the window.
    fn offset(&self, address: u64) -> Option<u64> {
        self.buffers.values().find_map(|buffer| {
            let places = [Some(buffer.address), buffer.preferred];
            let inside = |place: u64| {
                let distance = address.checked_sub(place)?;
                (distance < buffer.block.bytes)
                    .then_some(self.start + buffer.block.offset + distance)
            };
            places.into_iter().flatten().find_map(inside)
        })
    }
}

/// What one PE registers.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// The buffer's address.
    pub buffer: u64,
    /// Its length in bytes.
    pub bytes: usize,
    /// Where its symmetric address shall be; 0 for anywhere.
    pub preferred: u64,
}

impl Inner {
    /// The symmetric offset of a registered buffer's own, or preferred, address.
    #[cold]
    pub(super) fn registered_offset(&self, address: u64) -> Option<u64> {
        self.heap.lock().registered.offset(address)
    }

    fn check_registration(&self, registration: &Registration) -> Result<()> {
        let page = rustix::param::page_size() as u64;
        let aligned = |argument, value: u64| match value.is_multiple_of(page) && value > 0 {
            true => Ok(()),
            false => Err(Error::invalid(
                argument,
                format!("{value:#x}"),
                format!(
                    "a multiple of the page size {page}; mmap and posix_memalign give such memory"
                ),
            )),
        };
        aligned("buffer", registration.buffer)?;
        aligned("bytes", registration.bytes as u64)?;
        if registration.preferred != 0 {
            aligned("preferred", registration.preferred)?;
        }
        self.transport.check_adopt(
            registration.buffer,
            registration.bytes as u64,
            registration.preferred,
        )
    }

    fn register(&self, registration: Result<Registration>) -> Result<u64> {
        let turn = self.enter(Team::WORLD, Operation::BufferRegister)?;
        let checked = registration.and_then(|registration| {
            self.check_registration(&registration)?;
            Ok(registration)
        });
        let registration = checked.as_ref().ok().copied();
        let mut call = Call {
            error: checked.err(),
            ..Call::plain(Operation::BufferRegister)
        };
        if let Some(registration) = registration {
            call.args[0] = registration.bytes as u64;
            call.args[1] = registration.preferred;
        }
        turn.meet(call, &[])?;
        let Some(registration) = registration else {
            return Err(Error::Internal("a failed registration went on".into()));
        };
        let bytes = registration.bytes as u64;
        // Every PE comes to the same answer.
        let place = {
            let mut state = self.heap.lock();
            let page = rustix::param::page_size() as u64;
            let window = &mut state.registered.window;
            let largest = window.largest();
            window.allocate(bytes, page).ok_or_else(|| {
                Error::invalid(
                    "bytes",
                    bytes,
                    format!(
                        "at most {largest}, the largest room left for registered buffers; unregister some, or raise \
                         NVSHMEM_SYMMETRIC_SIZE"
                    ),
                )
            })?
        };
        let range = SymRange::new(self.layout.heap_bytes + place.offset, bytes);
        let adopted = self
            .transport
            .adopt(range, registration.buffer, registration.preferred);
        let mine = adopted.is_ok();
        let call = Call {
            error: adopted.err(),
            ..Call::plain(Operation::BufferRegister)
        };
        let met = turn.meet(call, &[]);
        let preferred = Some(registration.preferred).filter(|&address| address != 0);
        let buffer = Buffer {
            address: registration.buffer,
            preferred,
            block: place,
        };
        if let Err(error) = met {
            // Another PE could not: this one takes it back.
            if mine {
                self.transport
                    .give_back(range, buffer.address, registration.preferred)?;
            }
            self.heap.lock().registered.window.free(place.offset);
            return Err(error);
        }
        self.heap
            .lock()
            .registered
            .buffers
            .insert(place.offset, buffer);
        Ok(preferred.unwrap_or_else(|| self.layout.address(self.my_pe, range.offset())))
    }

    fn unregister(&self, address: u64) -> Result<()> {
        let turn = self.enter(Team::WORLD, Operation::BufferUnregister)?;
        let found = self
            .symmetric_offset("symmetric", address)
            .and_then(|offset| {
                let state = self.heap.lock();
                let start = offset.wrapping_sub(state.registered.start);
                let found = state.registered.buffers.get(&start).copied();
                found.ok_or(Error::BadFree {
                    argument: "symmetric",
                    address,
                    why: "no registered buffer starts there; pass what buffer_register gave",
                })
            });
        let buffer = found.as_ref().ok().copied();
        let mut call = Call {
            error: found.err(),
            ..Call::plain(Operation::BufferUnregister)
        };
        call.args[0] = buffer.map_or(0, |buffer| buffer.block.offset);
        self.transport.quiet_before_release();
        turn.meet(call, &[])?;
        let Some(buffer) = buffer else {
            return Err(Error::Internal("a failed unregistration went on".into()));
        };
        let offset = self.layout.heap_bytes + buffer.block.offset;
        let range = SymRange::new(offset, buffer.block.bytes);
        let preferred = buffer.preferred.unwrap_or(0);
        let given_back = self.transport.give_back(range, buffer.address, preferred);
        let mut state = self.heap.lock();
        state.registered.buffers.remove(&buffer.block.offset);
        state.registered.window.free(buffer.block.offset);
        self.heap.lookup.forget();
        given_back
    }
}

impl Runtime {
    /// Makes memory of the program's symmetric, in place: each PE registers a buffer of the same size. Gives its symmetric address; the
    /// buffer's own address stays valid for the same memory, and is a symmetric address, too. `registration` may be an error found
    /// before: the other PEs then learn of it.
    ///
    /// The buffer must be private anonymous memory of whole pages, which nobody uses during the call.
    ///
    /// Collective over WORLD with equal `bytes` and `preferred`; includes a barrier. NVSHMEM
    /// `nvshmemx_buffer_register_symmetric`.
    pub fn buffer_register(&self, registration: Result<Registration>) -> Result<u64> {
        self.inner.register(registration)
    }

    /// Makes a registered buffer private memory of the program's again; it keeps its contents.
    ///
    /// Collective over WORLD with the same symmetric address; a barrier comes first. NVSHMEM
    /// `nvshmemx_buffer_unregister_symmetric`.
    pub fn buffer_unregister(&self, address: u64) -> Result<()> {
        self.inner.unregister(address)
    }
}
