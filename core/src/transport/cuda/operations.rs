//! The operations on GPU memory.
//!
//! An operation goes to a lane: the library's own stream, and then the call waits until it is done; or a stream of the program's, which
//! takes operations in order, and then the call returns at once. Operations of one stream follow each other, so fences have nothing
//! to do; quiet waits for what a call has left behind on the library's own stream.

use super::driver::check;
use super::kernels::{StridedArgs, WaitArgs};
use super::page::ResultWord;
use super::{CudaTransport, EXCHANGE, Segment};
use crate::heap::sym::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::strided::Transfer;
use crate::transport::{Atomic, Lane, MemoryKind, SignalUpdate, Transport, Width};
use crate::{Error, Pe, Result};
use cudarc::driver::sys::{self, CUresult, CUstream};
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::time::Instant;

/// Bytes that one block of a kernel copies about as fast as the copy engine begins: one launch for data and signal is the better one.
const SMALL: u64 = 16 << 10;

/// What can be registered, for an error.
const REGISTRABLE: &str = "whole mappings of GPU memory that cuMemCreate made on this PE's GPU with requestedHandleTypes = \
                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; memory of cudaMalloc cannot be mapped by other PEs";

impl CudaTransport {
    pub(super) fn stream(&self, lane: Lane) -> CUstream {
        match lane {
            Lane::Blocking => self.device.stream(),
            Lane::Stream(stream) => stream as CUstream,
        }
    }

    /// Waits until a blocking operation is done.
    fn finish(&self, lane: Lane) -> Result<()> {
        match lane {
            Lane::Blocking => self.device.synchronize(),
            Lane::Stream(_) => Ok(()),
        }
    }

    /// Puts a copy on a lane.
    fn begin_copy(&self, lane: Lane, dest: u64, source: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if dest.abs_diff(source) < bytes as u64 {
            // Both sides are memory of the heap then; the copy engine does not take ranges that overlap.
            return self
                .kernels
                .copy(self.stream(lane), dest, source, bytes as u64);
        }
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3 of driver.rs. One side lies within mapped memory of the heap (checked above this layer); the other does,
        // too, or is memory that `LocalSource` and `LocalDest` vouch for, at least until the operation is over.
        let code = unsafe { sys::cuMemcpyAsync(dest, source, bytes, self.stream(lane)) };
        check("cuMemcpyAsync", code)
    }

    /// See [`Transport::put`].
    pub(crate) fn put(&self, lane: Lane, pe: Pe, dest: u64, source: LocalSource<'_>) -> Result<()> {
        let to = self.layout.address(pe, dest);
        self.begin_copy(lane, to, source.address() as u64, source.bytes())?;
        self.finish(lane)
    }

    /// See [`Transport::get`].
    pub(crate) fn get(&self, lane: Lane, pe: Pe, source: u64, dest: LocalDest<'_>) -> Result<()> {
        let from = self.layout.address(pe, source);
        self.begin_copy(lane, dest.address() as u64, from, dest.bytes())?;
        self.finish(lane)
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
        if lane != Lane::Blocking || !lasts {
            return self.put(lane, pe, dest, source);
        }
        self.pending.store(true, Release);
        let to = self.layout.address(pe, dest);
        self.begin_copy(lane, to, source.address() as u64, source.bytes())
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
        if lane != Lane::Blocking || !lasts {
            return self.get(lane, pe, source, dest);
        }
        self.pending.store(true, Release);
        let from = self.layout.address(pe, source);
        self.begin_copy(lane, dest.address() as u64, from, dest.bytes())
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
        let apart = to.abs_diff(from) >= bytes;
        if (1..=SMALL).contains(&bytes) && apart && self.layout.locate(from).is_some() {
            let at = self.layout.address(pe, signal.offset);
            let update = (at, signal.value, signal.op);
            self.kernels
                .put_signal(self.stream(lane), (to, from, bytes), update)?;
            return self.finish(lane);
        }
        // One after the other on a stream, so there is one wait for both.
        self.begin_copy(lane, to, source.address() as u64, source.bytes())?;
        self.update_signal(lane, pe, signal)
    }

    /// Whether kernels reach an address: memory of the heap, of a GPU of this process, or pinned memory of the host.
    fn reaches(&self, address: u64) -> bool {
        let in_heap = self.layout.locate(address).is_some();
        let kind = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let mut value = 0_u32;
        // SAFETY: rules 1 and 2 of driver.rs: for this attribute the driver writes an `unsigned int`. An address that it does not know
        // is an error of the driver's.
        in_heap
            || unsafe { sys::cuPointerGetAttribute((&raw mut value).cast(), kind, address) }
                == CUresult::CUDA_SUCCESS
    }

    /// Copies blocks; `dest` and `source` are where the lowest of them are.
    fn copy_blocks(
        &self,
        lane: Lane,
        (dest, source): (u64, u64),
        local: u64,
        transfer: &Transfer,
    ) -> Result<()> {
        let current = self.device.enter()?;
        if self.reaches(local) {
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
        } else {
            // Pageable memory, which the driver copies block by block.
            for (to, from) in transfer.blocks() {
                let (_, bytes, _) = transfer.dest().parts();
                self.begin_copy(lane, dest + to, source + from, bytes as usize)?;
            }
        }
        drop(current);
        self.finish(lane)
    }

    /// Copies the blocks of a transfer to `pe`, from the local ones that start at an address with the lowest.
    pub(crate) fn put_blocks(
        &self,
        lane: Lane,
        pe: Pe,
        dest: u64,
        local: u64,
        transfer: &Transfer,
    ) -> Result<()> {
        let dest = self.layout.address(pe, dest);
        self.copy_blocks(lane, (dest, local), local, transfer)
    }

    /// Copies the blocks of a transfer from `pe` to the local ones.
    pub(crate) fn get_blocks(
        &self,
        lane: Lane,
        pe: Pe,
        source: u64,
        local: u64,
        transfer: &Transfer,
    ) -> Result<()> {
        let source = self.layout.address(pe, source);
        self.copy_blocks(lane, (local, source), local, transfer)
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
        self.begin_copy(lane, dest, source, bytes as usize)?;
        self.finish(lane)
    }

    /// Sets this PE's copy of a range to 0.
    pub(super) fn set_zero(&self, range: SymRange) -> Result<()> {
        let place = self.layout.address(self.me, range.offset());
        let current = self.device.enter()?;
        let (bytes, stream) = (range.bytes() as usize, self.device.stream());
        // SAFETY: rules 1 and 3 of driver.rs; the range lies within mapped memory of this PE.
        let code = unsafe { sys::cuMemsetD8Async(place, 0, bytes, stream) };
        check("cuMemsetD8Async", code)?;
        drop(current);
        self.device.synchronize()
    }

    /// An aligned word of this PE's own memory, zero-extended.
    fn read_word(&self, offset: u64, bytes: usize) -> Result<u64> {
        Ok(self.get_value(Lane::Blocking, self.me, offset, bytes)?[0])
    }

    /// Waits until a stream of the program's is idle.
    pub(crate) fn await_stream(&self, stream: CUstream) -> Result<()> {
        match self.waiter.get() {
            Some(wait) => wait(&|| self.device.is_idle(stream)),
            None => Err(Error::Internal("a stream before the runtime".into())),
        }
    }

    /// Begins something that writes a result to a place, waits for it and gives what is there.
    pub(crate) fn fetch(
        &self,
        lane: Lane,
        begin: impl FnOnce(CUstream, &ResultWord<'_>) -> Result<()>,
    ) -> Result<[u64; 2]> {
        let (stream, place) = (self.stream(lane), self.page.result());
        if lane == Lane::Blocking {
            begin(stream, &place)?;
            self.device.synchronize()?;
            return Ok(place.value());
        }
        self.device
            .check_capture(stream, "an operation that gives something back")?;
        begin(stream, &place)?;
        match self.await_stream(stream) {
            Ok(()) => Ok(place.value()),
            Err(error) => {
                place.give_up();
                Err(error)
            }
        }
    }

    /// See [`Transport::atomic`]; it gives the old value.
    pub(crate) fn atomic_fetch(
        &self,
        lane: Lane,
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
        Ok(self.fetch(lane, begin)?[0])
    }

    /// Puts a wait on a lane; only the lane waits.
    pub(crate) fn begin_wait(&self, lane: Lane, args: &WaitArgs) -> Result<()> {
        self.kernels.wait(self.stream(lane), args)
    }

    /// Runs a wait, or a test, whose arguments follow from where its result goes, a place of 16 bytes; gives what is there then.
    pub(crate) fn fetch_wait(
        &self,
        lane: Lane,
        args: impl FnOnce(u64) -> WaitArgs,
    ) -> Result<[u64; 2]> {
        self.fetch(lane, |stream, place| {
            self.kernels.wait(stream, &args(place.address()))
        })
    }

    /// Stores up to 16 bytes in `pe`'s memory; 1, 2, 4 or 8 aligned ones in one access.
    pub(crate) fn put_value(&self, lane: Lane, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        let at = self.layout.address(pe, dest);
        self.kernels.put_value(self.stream(lane), at, value)?;
        self.finish(lane)
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
        self.fetch(lane, |_, place| {
            self.begin_copy(lane, place.address(), from, bytes)
        })
    }

    /// See [`Transport::atomic`], for who does not want the old value.
    pub(crate) fn atomic_update(
        &self,
        lane: Lane,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
    ) -> Result<()> {
        let at = self.layout.address(pe, offset);
        self.kernels
            .atomic(self.stream(lane), at, width, operation, 0)?;
        self.finish(lane)
    }

    /// See [`Transport::signal`].
    pub(crate) fn update_signal(&self, lane: Lane, pe: Pe, signal: SignalUpdate) -> Result<()> {
        let at = self.layout.address(pe, signal.offset);
        self.kernels
            .signal(self.stream(lane), at, signal.value, signal.op)?;
        self.finish(lane)
    }

    /// Orders this PE's earlier operations before its later ones.
    pub(crate) fn order(&self, lane: Lane) -> Result<()> {
        self.failure()?;
        match lane {
            // The library's own stream does one thing after the other, and the host has waited for each.
            Lane::Blocking => Ok(()),
            Lane::Stream(_) => self.kernels.fence(self.stream(lane)),
        }
    }

    /// Completes this PE's earlier operations, for the program; on a stream, those that come before it there.
    pub(crate) fn quiet(&self, lane: Lane) -> Result<()> {
        self.complete(lane)?;
        match lane {
            Lane::Blocking => Ok(()),
            Lane::Stream(_) => self.kernels.quiet(self.stream(lane)),
        }
    }

    /// Completes this PE's earlier operations before a meeting. In a stream, the meeting's kernel begins when what came before is done.
    pub(crate) fn complete(&self, lane: Lane) -> Result<()> {
        self.failure()?;
        match lane {
            Lane::Stream(_) => Ok(()),
            Lane::Blocking if !self.pending.swap(false, AcqRel) => Ok(()),
            Lane::Blocking => self.device.synchronize(),
        }
    }

    /// The memory that is mapped at a buffer of the program's.
    fn pieces(&self, buffer: u64, bytes: u64) -> Result<Vec<super::Memory>> {
        let refuse = |why: String| {
            Error::invalid(
                "buffer",
                format!("{bytes} bytes at {buffer:#x}"),
                format!("{REGISTRABLE} ({why})"),
            )
        };
        let _current = self.device.enter()?;
        let end = buffer
            .checked_add(bytes)
            .ok_or_else(|| refuse("the range does not end".into()))?;
        let mut at = buffer;
        let mut pieces = Vec::new();
        while at < end {
            let (start, length) =
                super::segment::mapping_of(at).map_err(|error| refuse(error.to_string()))?;
            if start != at || length == 0 {
                return Err(refuse(format!(
                    "it begins inside a mapping that starts at {start:#x}"
                )));
            }
            if length > end - at {
                return Err(refuse(format!(
                    "it ends inside a mapping of {length} bytes at {start:#x}"
                )));
            }
            let piece =
                super::Memory::mapped_at(at, length).map_err(|error| refuse(error.to_string()))?;
            if let Some(why) = piece.unfit(&self.device)? {
                return Err(refuse(why.into()));
            }
            pieces.push(piece);
            at += length;
        }
        Ok(pieces)
    }

    /// Reserves addresses for a registered buffer to appear at, too.
    fn reserve_preferred(&self, preferred: u64, bytes: u64) -> Result<Option<Segment>> {
        if preferred == 0 {
            return Ok(None);
        }
        let reserved = Segment::reserve(&self.device, bytes, preferred);
        match reserved {
            Ok(reserved) if reserved.base() == preferred => Ok(Some(reserved)),
            // The driver takes the address for a hint.
            Ok(_) | Err(Error::Cuda { .. }) => Err(Error::invalid(
                "preferred",
                format!("{preferred:#x}"),
                format!(
                    "an address at which {bytes} bytes of this process's GPU addresses are unused"
                ),
            )),
            Err(error) => Err(error),
        }
    }

    fn take_buffer(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        let mut at = range.offset();
        let prepared = self.pieces(buffer, range.bytes()).and_then(|memories| {
            let place = self.reserve_preferred(preferred, range.bytes())?;
            let mut pieces = Vec::with_capacity(memories.len());
            for memory in memories {
                if let Some(place) = &place {
                    place.map(preferred + (at - range.offset()), &memory)?;
                }
                let next = at + memory.bytes();
                pieces.push((std::mem::replace(&mut at, next), memory));
            }
            Ok((pieces, place))
        });
        let (own, place) = match prepared {
            Ok((pieces, place)) => (Ok(pieces), place),
            Err(error) => (Err(error), None),
        };
        self.share_out("buffer_register", &[range], own, Instant::now() + EXCHANGE)?;
        let mut places = self
            .preferred
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        places.extend(place);
        Ok(())
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

    fn commit(&self, range: SymRange) -> Result<()> {
        let missing = self.chunks().missing(range);
        if missing.is_empty() {
            // Every PE comes to the same answer.
            return Ok(());
        }
        let own = self.make(&missing);
        self.share_out("malloc", &missing, own, Instant::now() + EXCHANGE)?;
        let mut chunks = self.chunks();
        for chunk in missing {
            chunks.add(chunk);
        }
        Ok(())
    }

    fn decommit(&self, _: SymRange) {
        // Chunks stay, for the next allocation.
    }

    fn zero(&self, range: SymRange) {
        self.note(self.set_zero(range));
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.pieces(buffer, bytes)?;
        self.reserve_preferred(preferred, bytes).map(|_| ())
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.take_buffer(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, _: u64, preferred: u64) -> Result<()> {
        self.unmap(&self.mapped_by_me(), &[range]);
        let mut places = self
            .preferred
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        places.retain(|place| preferred == 0 || place.base() != preferred);
        Ok(())
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        // For this PE's GPU; the CPU can use no address of the heap.
        Some(self.layout.address(pe, offset))
    }

    fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        self.note(CudaTransport::put(self, Lane::Blocking, pe, dest, source));
    }

    fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        self.note(CudaTransport::get(self, Lane::Blocking, pe, source, dest));
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) {
        self.note(self.copy_between(Lane::Blocking, (to, dest), (from, source), bytes));
    }

    fn atomic(&self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64 {
        self.note(self.atomic_fetch(Lane::Blocking, pe, offset, width, operation))
    }

    fn load(&self, offset: u64, bytes: usize) -> u64 {
        self.note(self.read_word(offset, bytes))
    }

    fn signal(&self, pe: Pe, offset: u64, value: u64, op: SignalOp) {
        let signal = SignalUpdate { offset, value, op };
        self.note(self.update_signal(Lane::Blocking, pe, signal));
    }

    fn signal_fetch(&self, offset: u64) -> u64 {
        self.note(self.read_word(offset, size_of::<u64>()))
    }

    fn fence(&self) {
        // The library's own stream does one thing after the other.
    }

    fn quiet(&self) {
        self.note(self.complete(Lane::Blocking));
    }
}
