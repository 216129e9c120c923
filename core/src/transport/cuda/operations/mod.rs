//! The operations on GPU memory.
//!
//! | file | what it holds |
//! |---|---|
//! | [`blocking`] | the library's blocking stream, and waits for it with all that ends a wait |
//! | [`copies`] | how a copy goes, by the kind of memory of the program's |
//! | [`staging`] | many blocks of host memory through pinned memory, with one wait for all |
//!
//! An operation goes to a lane: the blocking stream, and then the call waits until it is done; or a stream of the program's, which
//! takes operations in order, and then the call returns at once. Operations of one stream follow each other, so fences have nothing
//! to do; quiet waits for what a call has left behind on the blocking stream.

pub(crate) mod blocking;
pub(crate) mod copies;
mod staging;

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::lock::lock;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::transport::cuda::kernels::{SignalWay, StridedArgs, WaitArgs};
use crate::transport::cuda::memory::mailbox::{ResultWord, Scratch};
use crate::transport::cuda::{CudaTransport, GivenUp, check};
use crate::transport::{Atomic, Call, Lane, Nbi, SignalUpdate, Transport, Width};
use crate::{Error, MemoryKind, Pe, Result};
use cudarc::driver::sys::{self, CUresult, CUstream};
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

/// What the driver knows of an address.
#[derive(Clone, Copy)]
pub(crate) enum What {
    MemoryType,
    Device,
    AddressForKernels,
}

/// `CU_DEVICE_INVALID`, in 4 bytes.
const NO_DEVICE: u64 = -2_i32 as u32 as u64;

impl What {
    /// `None` if the address is none that the driver knows. The device's context is the current one.
    pub(crate) fn of(self, address: u64) -> Option<u64> {
        use sys::CUpointer_attribute::*;
        let (attribute, nothing) = match self {
            What::MemoryType => (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0),
            What::Device => (CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, NO_DEVICE),
            What::AddressForKernels => (CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 0),
        };
        let (mut value, mut attribute) = (0_u64, attribute);
        let mut place: *mut c_void = (&raw mut value).cast();
        // Unlike cuPointerGetAttribute, it is no error that the driver does not know the address.
        // SAFETY: rules 1 and 2 of driver.rs: the driver writes 4 bytes for the first two, 8 for the last one.
        let code = unsafe { sys::cuPointerGetAttributes(1, &mut attribute, &mut place, address) };
        (code == CUresult::CUDA_SUCCESS && value != nothing).then_some(value)
    }
}

impl CudaTransport {
    /// See [`Transport::put`].
    pub(crate) fn put(&self, lane: Lane, pe: Pe, dest: u64, source: LocalSource<'_>) -> Result<()> {
        self.begin(lane, Operation::Put)?;
        self.begin_put(lane, self.layout.address(pe, dest), source)?;
        self.finish(lane, Operation::Put)
    }

    /// See [`Transport::get`].
    pub(crate) fn get(&self, lane: Lane, pe: Pe, source: u64, dest: LocalDest<'_>) -> Result<()> {
        self.begin(lane, Operation::Get)?;
        match self.begin_get(lane, dest, self.layout.address(pe, source))? {
            true => Ok(()),
            false => self.finish(lane, Operation::Get),
        }
    }

    /// See [`Transport::put_nbi`]; `lasts`: the source is there until quiet.
    pub(crate) fn put_nbi(
        &self,
        lane: Lane,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        lasts: bool,
    ) -> Result<()> {
        match (lane, lasts) {
            (_, false) => return self.put(lane, pe, dest, source),
            (Lane::Stream(_), true) => return self.put(lane, pe, dest, source.lasting()),
            (Lane::Blocking, true) => {}
        }
        self.begin(lane, Operation::Put)?;
        self.issue_put(self.layout.address(pe, dest), source)
    }

    /// See [`Transport::get_nbi`]; `lasts`: `dest` is there until quiet.
    pub(crate) fn get_nbi(
        &self,
        lane: Lane,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        lasts: bool,
    ) -> Result<()> {
        match (lane, lasts) {
            (_, false) => return self.get(lane, pe, source, dest),
            (Lane::Stream(_), true) => return self.get(lane, pe, source, dest.lasting()),
            (Lane::Blocking, true) => {}
        }
        let to = dest.address() as u64;
        if self.layout.locate(to).is_none() && !self.is_known(to)? {
            // The driver's own call would wait.
            return self.get(lane, pe, source, dest);
        }
        self.begin(lane, Operation::Get)?;
        self.begin_copy(lane, to, self.layout.address(pe, source), dest.bytes())?;
        self.issue();
        Ok(())
    }

    /// A put, then an update of a signal that is seen after the put's data.
    pub(crate) fn put_signal(
        &self,
        lane: Lane,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        signal: SignalUpdate,
    ) -> Result<()> {
        let to = self.layout.address(pe, dest);
        let (from, bytes) = (source.address() as u64, source.bytes() as u64);
        let at = self.layout.address(pe, signal.offset);
        let (stream, kernels) = (self.begin(lane, Operation::PutSignal)?, &self.kernels);
        let way = kernels.way_of_signal(stream, signal.op, bytes)?;
        let apart = to.abs_diff(from) >= bytes && self.layout.locate(from).is_some();
        let one_kernel = matches!(way, SignalWay::OneKernel) && apart && bytes > 0;
        self.apply_backpressure(lane, Operation::PutSignal, u64::from(!one_kernel))?;
        // One after the other on a stream, so there is one wait for both.
        self.in_parts(lane, || {
            match way {
                _ if one_kernel => {
                    let update = (at, signal.value, signal.op);
                    return kernels.put_signal(stream, (to, from, bytes), update);
                }
                SignalWay::TwoKernels if apart => kernels.copy(stream, to, from, bytes)?,
                _ => self.begin_put(lane, to, source)?,
            }
            match way {
                SignalWay::Written => kernels.write_signal(stream, at, signal.value),
                _ => kernels.signal(stream, at, signal.value, signal.op),
            }
        })?;
        self.finish(lane, Operation::PutSignal)
    }

    /// Where this PE's kernels reach an address outside the heap: on this PE's GPU or in pinned memory of the host. Memory of another
    /// GPU is left to the copy engine, which needs no access between the two.
    fn reached_at(&self, address: u64) -> Option<u64> {
        let host = sys::CUmemorytype::CU_MEMORYTYPE_HOST as u64;
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u64;
        let reached = match What::MemoryType.of(address)? {
            kind if kind == host => true,
            kind if kind == device => What::Device.of(address)? == self.device.raw() as u64,
            _ => false,
        };
        reached
            .then(|| What::AddressForKernels.of(address))
            .flatten()
    }

    /// Copies blocks by a kernel; `dest` and `source` are where the lowest of them are.
    fn copy_blocks(
        &self,
        (lane, operation): (Lane, Operation),
        (dest, source): (u64, u64),
        transfer: &Transfer,
    ) -> Result<()> {
        let (dest_step, block, count) = transfer.dest().parts();
        let (source_step, ..) = transfer.source().parts();
        let args = StridedArgs {
            dest: dest + transfer.dest().first(),
            source: source + transfer.source().first(),
            dest_step,
            source_step,
            block,
            count,
        };
        self.kernels.copy_strided(self.stream(lane), &args)?;
        self.finish(lane, operation)
    }

    /// Where a kernel that is put on a lane may use memory of the program's.
    fn for_kernel(
        &self,
        (lane, operation): (Lane, Operation),
        borrowed: bool,
        address: u64,
    ) -> Result<Option<u64>> {
        self.begin(lane, operation)?;
        if self.layout.locate(address).is_some() {
            return Ok(Some(address));
        }
        if borrowed {
            return Ok(None);
        }
        let current = self.device.enter()?;
        let reached = self.reached_at(address);
        drop(current);
        if reached.is_some() && lane == Lane::Blocking && !self.has_turn() {
            self.kernels.fence(self.stream(lane))?;
            self.await_blocking(operation)?;
        }
        Ok(reached)
    }

    /// Copies the blocks of a transfer to `pe`; `local` covers their span.
    pub(crate) fn put_blocks(
        &self,
        lane: Lane,
        pe: Pe,
        dest: u64,
        local: LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let dest = self.layout.address(pe, dest);
        let (from, borrowed) = (local.address() as u64, local.is_borrowed());
        let way = (lane, Operation::Put);
        if let Some(from) = self.for_kernel(way, borrowed, from)? {
            return self.copy_blocks(way, (dest, from), transfer);
        }
        // On a stream of the program's the driver copies blocks of up to 64 KiB away at once, and nobody waits.
        if lane == Lane::Blocking && self.blocks_are_staged(lane, (from, borrowed), transfer)? {
            return self.put_blocks_staged(dest, &local, transfer);
        }
        let (_, bytes, _) = transfer.dest().parts();
        self.each(way, transfer.blocks(), |(to, from)| {
            let block = local.part(from as usize, bytes as usize);
            self.begin_put(lane, dest + to, block)
        })?;
        self.finish(lane, Operation::Put)
    }

    /// Copies the blocks of a transfer from `pe` to the local ones; `local` covers their span.
    pub(crate) fn get_blocks(
        &self,
        lane: Lane,
        pe: Pe,
        source: u64,
        mut local: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let source = self.layout.address(pe, source);
        let (to, borrowed) = (local.address() as u64, local.is_borrowed());
        let way = (lane, Operation::Get);
        if let Some(to) = self.for_kernel(way, borrowed, to)? {
            return self.copy_blocks(way, (to, source), transfer);
        }
        if self.blocks_are_staged(lane, (to, borrowed), transfer)? {
            return self.get_blocks_staged(lane, &mut local, source, transfer);
        }
        let (_, bytes, _) = transfer.dest().parts();
        self.each(way, transfer.blocks(), |(to, from)| {
            let block = local.part(to as usize, bytes as usize);
            self.begin_get(lane, block, source + from).map(drop)
        })?;
        self.finish(lane, Operation::Get)
    }

    /// See [`Transport::copy`].
    pub(crate) fn copy_between(
        &self,
        lane: Lane,
        (to, dest): (Pe, u64),
        (from, source): (Pe, u64),
        bytes: u64,
    ) -> Result<()> {
        let dest = self.layout.address(to, dest);
        let source = self.layout.address(from, source);
        self.begin(lane, Operation::Put)?;
        self.begin_copy(lane, dest, source, bytes as usize)?;
        self.finish(lane, Operation::Put)
    }

    /// Sets this PE's copy of a range to 0.
    pub(crate) fn set_zero(&self, range: SymRange, operation: Operation) -> Result<()> {
        let place = self.layout.address(self.me, range.offset());
        let stream = self.begin(Lane::Blocking, operation)?;
        let current = self.device.enter()?;
        let bytes = range.bytes() as usize;
        // SAFETY: rules 1 and 3 of driver.rs; the range lies within mapped memory of this PE.
        let code = unsafe { sys::cuMemsetD8Async(place, 0, bytes, stream) };
        check("cuMemsetD8Async", code)?;
        drop(current);
        self.await_blocking(operation)
    }

    /// An aligned word of this PE's own memory, zero-extended; 0 after a look that was given up, until somebody has asked why.
    fn read_word(&self, offset: u64, bytes: usize) -> Result<u64> {
        if self.has_given_up() {
            return Ok(0);
        }
        Ok(self.get_value(Lane::Blocking, self.me, offset, bytes)?[0])
    }

    /// Begins something that writes a result to a place, waits for it and gives what is there. What it uses of `arrays` may be used
    /// again afterwards: if it has not ended, it takes them.
    pub(crate) fn fetch<'a>(
        &'a self,
        (lane, operation): (Lane, Operation),
        arrays: &mut Vec<Scratch<'a>>,
        begin: impl FnOnce(CUstream, &ResultWord<'_>) -> Result<()>,
    ) -> Result<[u64; 2]> {
        let stream = self.begin(lane, operation)?;
        if lane != Lane::Blocking {
            self.device
                .check_capture(stream, "an operation that gives something back")?;
        }
        let place = self.take(operation, || self.mailbox.result())?;
        begin(stream, &place)?;
        match self.see_done(lane, operation) {
            Ok(()) => Ok(place.value()),
            Err(GivenUp { error, end }) => {
                self.mailbox.retire(place, std::mem::take(arrays), end);
                Err(error)
            }
        }
    }

    /// See [`Transport::atomic`]; it gives the old value.
    pub(crate) fn atomic_fetch(
        &self,
        (lane, called): (Lane, Operation),
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
    ) -> Result<u64> {
        let at = self.layout.address(pe, offset);
        let begin = |stream, place: &ResultWord<'_>| {
            self.kernels
                .atomic(stream, at, width, operation, place.address())
        };
        Ok(self.fetch((lane, called), &mut Vec::new(), begin)?[0])
    }

    /// Puts a wait on a lane; only the lane waits.
    pub(crate) fn begin_wait(&self, lane: Lane, args: &WaitArgs) -> Result<()> {
        let stream = self.begin(lane, Operation::WaitUntil)?;
        self.lose_turn(lane);
        self.kernels.wait(stream, args)
    }

    /// Runs a wait, or a test, whose arguments follow from where its result goes, a place of 16 bytes; gives what is there then. As for
    /// `arrays`, see [`fetch`](CudaTransport::fetch).
    pub(crate) fn fetch_wait<'a>(
        &'a self,
        lane: Lane,
        arrays: &mut Vec<Scratch<'a>>,
        args: impl FnOnce(u64) -> WaitArgs,
    ) -> Result<[u64; 2]> {
        self.fetch((lane, Operation::WaitUntil), arrays, |stream, place| {
            self.lose_turn(lane);
            self.kernels.wait(stream, &args(place.address()))
        })
    }

    /// Stores up to 16 bytes in `pe`'s memory; 1, 2, 4 or 8 aligned ones in one access.
    pub(crate) fn put_value(&self, lane: Lane, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        let at = self.layout.address(pe, dest);
        let stream = self.begin(lane, Operation::Put)?;
        self.kernels.put_value(stream, at, value)?;
        self.finish(lane, Operation::Put)
    }

    /// Reads up to 16 bytes of `pe`'s memory.
    pub(crate) fn get_value(
        &self,
        lane: Lane,
        pe: Pe,
        source: u64,
        bytes: usize,
    ) -> Result<[u64; 2]> {
        let from = self.layout.address(pe, source);
        self.fetch((lane, Operation::Get), &mut Vec::new(), |_, place| {
            self.begin_copy(lane, place.address(), from, bytes)
        })
    }

    /// See [`Transport::atomic`], for who does not want the old value.
    pub(crate) fn atomic_update(
        &self,
        (lane, called): (Lane, Operation),
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
    ) -> Result<()> {
        let at = self.layout.address(pe, offset);
        let stream = self.begin(lane, called)?;
        self.kernels.atomic(stream, at, width, operation, 0)?;
        self.finish(lane, called)
    }

    /// See [`Transport::signal`].
    pub(crate) fn update_signal(&self, lane: Lane, pe: Pe, signal: SignalUpdate) -> Result<()> {
        let at = self.layout.address(pe, signal.offset);
        let stream = self.begin(lane, Operation::SignalOp)?;
        self.kernels.signal(stream, at, signal.value, signal.op)?;
        self.finish(lane, Operation::SignalOp)
    }

    /// Orders this PE's earlier operations before its later ones.
    pub(crate) fn order(&self, lane: Lane) -> Result<()> {
        self.failure()?;
        match lane {
            // The blocking stream does one thing after the other, and the host has waited for each.
            Lane::Blocking => Ok(()),
            Lane::Stream(_) => self.kernels.fence(self.begin(lane, Operation::Fence)?),
        }
    }

    /// Completes this PE's earlier operations, for the program; on a stream, those that come before it there.
    pub(crate) fn quiet(&self, lane: Lane) -> Result<()> {
        self.complete(lane)?;
        match lane {
            Lane::Blocking => Ok(()),
            Lane::Stream(_) => self.kernels.quiet(self.begin(lane, Operation::Quiet)?),
        }
    }

    /// Completes this PE's earlier operations before a meeting. In a stream, the meeting's kernel begins when what came before is done.
    pub(crate) fn complete(&self, lane: Lane) -> Result<()> {
        self.failure()?;
        if let Lane::Stream(_) = lane {
            return Ok(());
        }
        self.complete_blocking()
    }
}

impl Transport for CudaTransport {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Device
    }

    fn page_bytes(&self) -> u64 {
        self.device.facts().granularity
    }

    fn failure(&self) -> Result<()> {
        CudaTransport::failure(self)
    }

    fn keep(&self, error: Error) {
        self.note::<()>(Err(error));
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        let missing = self.chunks().missing(range);
        if missing.is_empty() {
            // Every PE comes to the same answer.
            return Ok(());
        }
        let own = self.make(&missing);
        self.share_out(Operation::Malloc, &missing, own, None)?;
        let mut chunks = self.chunks();
        for chunk in missing {
            chunks.add(chunk);
        }
        Ok(())
    }

    fn decommit(&self, _: SymRange) {
        // Chunks stay, for the next allocation.
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        self.set_zero(range, Operation::Malloc)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.pieces(buffer, bytes)?;
        self.reserve_preferred(preferred, bytes).map(|_| ())
    }

    fn check_give_back(&self) -> Result<()> {
        Ok(())
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.take_buffer(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, _: u64, preferred: u64) -> Result<()> {
        // What the library has begun there is done: the collective began with a quiet, finalize has settled, and of a place whose
        // registration has failed nobody knows.
        self.unmap(&self.mapped_by_me(), &[range]);
        let mut places = lock(&self.preferred);
        places.retain(|place| preferred == 0 || place.base() != preferred);
        Ok(())
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        // For this PE's GPU; the CPU can use no address of the heap.
        Some(self.layout.address(pe, offset))
    }

    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()> {
        match nbi {
            Nbi::No => CudaTransport::put(self, call.lane, pe, dest, source),
            Nbi::Yes { lasts } => self.put_nbi(call.lane, pe, dest, source, lasts),
        }
    }

    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()> {
        match nbi {
            Nbi::No => CudaTransport::get(self, call.lane, pe, source, dest),
            Nbi::Yes { lasts } => self.get_nbi(call.lane, pe, source, dest, lasts),
        }
    }

    fn put_value(&self, call: Call, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        CudaTransport::put_value(self, call.lane, pe, dest, value)
    }

    fn get_value(&self, call: Call, pe: Pe, source: u64, bytes: usize) -> Result<[u64; 2]> {
        CudaTransport::get_value(self, call.lane, pe, source, bytes)
    }

    fn put_blocks(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        CudaTransport::put_blocks(self, call.lane, pe, dest, source, transfer)
    }

    fn get_blocks(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        CudaTransport::get_blocks(self, call.lane, pe, source, dest, transfer)
    }

    fn put_signal(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        _: Nbi,
    ) -> Result<()> {
        CudaTransport::put_signal(self, call.lane, pe, dest, source, update)
    }

    fn atomic(
        &self,
        call: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64> {
        if fetches {
            return self.atomic_fetch((call.lane, call.called), pe, offset, width, operation);
        }
        self.atomic_update((call.lane, call.called), pe, offset, width, operation)?;
        Ok(0)
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        self.update_signal(call.lane, pe, update)
    }

    fn read(&self, _: Call, me: Pe, source: SymRange, dest: LocalDest<'_>) -> Result<()> {
        CudaTransport::get(self, Lane::Blocking, me, source.offset(), dest)
    }

    fn write(&self, _: Call, me: Pe, dest: SymRange, source: LocalSource<'_>) -> Result<()> {
        CudaTransport::put(self, Lane::Blocking, me, dest.offset(), source)
    }

    fn fence(&self, lane: Lane) -> Result<()> {
        self.order(lane)
    }

    fn quiet(&self, call: Call) -> Result<()> {
        CudaTransport::quiet(self, call.lane)
    }

    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.complete(call.lane)
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()> {
        self.copy_between(Lane::Blocking, (to, dest), (from, source), bytes)
    }

    fn load(&self, offset: u64, bytes: usize) -> Result<u64> {
        self.read_word(offset, bytes)
    }

    fn cuda(&self) -> Option<&CudaTransport> {
        Some(self)
    }

    fn leave(&self, gone: bool) {
        self.abort(gone);
    }

    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let segment: Arc<_> = Arc::clone(self.segment());
        Some(segment)
    }
}
