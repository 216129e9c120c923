//! Registered buffers: memory of the program that becomes symmetric at its address.
//!
//! A registered buffer gets an offset in the window behind the heap, the same on every PE, and its pages become shared memory there. They
//! are also mapped at the buffer's own address, and at a preferred address if the caller gave one; all of these are symmetric addresses
//! afterwards. Operations treat the buffer as an allocation.

use crate::buffer::{Registration, SymRange};
use crate::collectives::MemberCall;
use crate::debug::Level;
use crate::heap::registered::Buffer;
use crate::operation::{ARGS, Operation};
use crate::runtime::Inner;
use crate::track::Resource;
use crate::{Error, Result, Runtime, Team};

impl Inner {
    fn check_registration(&self, registration: &Registration) -> Result<()> {
        let properties = self.transport.properties();
        let (page, makers) = (properties.page_bytes, properties.makers_of_memory);
        let aligned = |argument, value: u64| match value.is_multiple_of(page) && value > 0 {
            true => Ok(()),
            false => Err(Error::invalid(
                argument,
                format!("{value:#x}"),
                format!("a multiple of the page size {page}; {makers}"),
            )),
        };
        let (buffer, bytes, preferred) = registration.parts();
        aligned("buffer", buffer)?;
        aligned("bytes", bytes)?;
        if preferred != 0 {
            aligned("preferred", preferred)?;
        }
        if self.my_pe == 0 && properties.takes_machine_memory {
            let mut state = self.heap.lock();
            state.check_machine(bytes, self.n_pes)?;
        }
        let memory = self.transport.memory();
        memory.check_adopt(buffer, bytes, preferred)
    }

    /// Returns the symmetric address, and its offset.
    #[track_caller]
    fn register(&self, registration: Result<Registration>) -> Result<(u64, u64)> {
        let operation = Operation::BufferRegister;
        let collective = self.enter(Team::WORLD, operation)?;
        let completed = self.complete_earlier(operation);
        let checked = completed.and(registration).and_then(|registration| {
            self.check_registration(&registration)?;
            Ok(registration)
        });
        let registration = match checked {
            Ok(registration) => registration,
            Err(error) => return collective.fail(operation, [0; ARGS], error),
        };
        let (buffer, bytes, preferred) = registration.parts();
        collective.join(operation, [bytes, preferred, 0, 0, 0], &[])?;
        // Every PE comes to the same answer.
        let place = {
            let mut state = self.heap.lock();
            let page = self.transport.properties().page_bytes;
            let window = &mut state.registered.window;
            let largest = window.largest();
            window.allocate(bytes, page).ok_or_else(|| {
                Error::invalid(
                    "bytes",
                    bytes,
                    format!(
                        "at most {largest}, the largest room left for registered buffers: unregister some, or raise \
                         NVSHMEM_SYMMETRIC_SIZE"
                    ),
                )
            })?
        };
        let range = SymRange::new(self.layout.heap_bytes + place.offset, bytes);
        let adopted = self.transport.memory().adopt(range, buffer, preferred);
        let mine = adopted.is_ok();
        let args = [bytes, preferred, place.offset, 0, 0];
        let call = MemberCall::plain(operation).with(args);
        if let Err(error) = collective.meet(call.failing(adopted.err()), &[]) {
            // Some PE could not: the others take it back. A buffer that cannot be taken back stays shared, and nobody knows of which PE's
            // that is true: so no other buffer gets the place.
            if mine {
                let _ = self.transport.memory().give_back(range, buffer, preferred);
            }
            return Err(error);
        }
        let buffer = Buffer {
            address: buffer,
            preferred: Some(preferred).filter(|&address| address != 0),
            block: place,
        };
        self.heap.ranges.change(range.offset(), &buffer, true);
        self.observe_allocated(&collective, range.offset(), bytes);
        let mut state = self.heap.lock();
        state.registered.buffers.insert(place.offset, buffer);
        let address = self.layout.address(self.my_pe, range.offset());
        Ok((buffer.preferred.unwrap_or(address), range.offset()))
    }

    /// The registered buffer that starts at a symmetric address.
    fn registered(&self, address: u64) -> Result<Buffer> {
        let offset = self.symmetric_offset("symmetric", address)?;
        let state = self.heap.lock();
        let start = offset.wrapping_sub(state.registered.start);
        let found = state.registered.buffers.get(&start).copied();
        found.ok_or(Error::BadFree {
            argument: "symmetric",
            address,
            why: "no registered buffer starts there: pass the address that `buffer_register()` gave",
        })
    }

    #[track_caller]
    fn unregister(&self, address: u64) -> Result<()> {
        let operation = Operation::BufferUnregister;
        let collective = self.enter(Team::WORLD, operation)?;
        let buffer = match self.registered(address) {
            Ok(buffer) => buffer,
            Err(error) => return collective.fail(operation, [0; ARGS], error),
        };
        let args = [buffer.block.offset, 0, 0, 0, 0];
        if let Err(error) = self.transport.memory().check_give_back() {
            return collective.fail(operation, args, error);
        }
        let completed = self.complete_earlier(operation);
        let call = MemberCall::plain(operation).with(args);
        collective.meet(call.failing(completed.err()), &[])?;
        let given_back = self.forget_buffer(&buffer);
        // A place that some PE's buffer still occupies must not be another buffer's: then nobody gives it up.
        match given_back {
            Ok(()) => collective.meet_again(operation)?,
            Err(error) => return collective.fail(operation, [u64::MAX; ARGS], error),
        }
        let mut state = self.heap.lock();
        state.registered.window.free(buffer.block.offset);
        self.heap.lookup.forget();
        Ok(())
    }

    /// Makes a buffer private memory again.
    fn forget_buffer(&self, buffer: &Buffer) -> Result<()> {
        let offset = self.layout.heap_bytes + buffer.block.offset;
        self.heap.ranges.change(offset, buffer, false);
        self.note_freed(Resource::Buffer, offset);
        let mut state = self.heap.lock();
        state.registered.buffers.remove(&buffer.block.offset);
        drop(state);
        let range = SymRange::new(offset, buffer.block.bytes);
        let preferred = buffer.preferred.unwrap_or(0);
        self.transport
            .memory()
            .give_back(range, buffer.address, preferred)
    }

    /// Makes all buffers private memory again, when the runtime ends.
    pub(crate) fn forget_buffers(&self) {
        let buffers: Vec<Buffer> = {
            let state = self.heap.lock();
            state.registered.buffers.values().copied().collect()
        };
        for buffer in buffers {
            if let Err(error) = self.forget_buffer(&buffer) {
                self.debug.write(Level::Warn, self.my_pe, || {
                    let address = buffer.address;
                    format!("the registered buffer at {address:#x} stays shared memory, with its contents: {error}")
                });
            }
        }
    }
}

impl Runtime {
    /// Makes memory of the program symmetric, in place: each PE registers a buffer of the same size. Returns its symmetric address; the
    /// buffer's own address stays valid for the same memory, and is a symmetric address, too. `registration` may be an earlier error: the
    /// other PEs then learn of it.
    ///
    /// The buffer must be private anonymous memory of whole pages. The call makes it shared memory, also with a child that is forked from
    /// then on. The child's stores reach the buffer, and the child finds zeroes there once the parent has unregistered it. Finalize makes
    /// buffers that are left private again.
    ///
    /// Other threads of this process may read and write the buffer by its own address meanwhile; a thread that touches it during the move
    /// waits. That needs userfaultfd of Linux 5.14; without it both calls are errors while the process has threads besides the caller and
    /// the library's. A device or another process that writes to the pages (O_DIRECT, RDMA), a child that is forked during a call, and
    /// system calls of other threads are not covered: a store of a device may be lost, a child may see zeroes, and a system call may fail
    /// with EFAULT unless the process may use userfaultfd for kernel faults.
    ///
    /// If the heap is in device memory, the buffer must be whole mappings of memory that cuMemCreate made on this PE's GPU, with POSIX
    /// descriptors as handle type; other PEs then map them, too.
    ///
    /// Collective over WORLD with equal `bytes` and `preferred`; includes a barrier. NVSHMEM
    /// `nvshmemx_buffer_register_symmetric`.
    #[track_caller]
    pub fn buffer_register(&self, registration: Result<Registration>) -> Result<u64> {
        let bytes = registration.as_ref().map_or(0, |one| one.parts().1);
        let (address, offset) = self.inner.register(registration)?;
        self.inner
            .note(Operation::BufferRegister, Resource::Buffer, offset, bytes);
        Ok(address)
    }

    /// Makes a registered buffer private memory of the program again; it keeps its contents. Other threads may use the buffer's own
    /// address meanwhile, as with [`buffer_register`](Runtime::buffer_register); the symmetric address becomes invalid.
    ///
    /// Collective over WORLD with the same symmetric address; a barrier comes first. NVSHMEM
    /// `nvshmemx_buffer_unregister_symmetric`.
    #[track_caller]
    pub fn buffer_unregister(&self, address: u64) -> Result<()> {
        self.inner.unregister(address)
    }
}
