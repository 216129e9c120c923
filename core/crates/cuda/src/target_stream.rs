//! The target side of operations of other hosts on a GPU, on a stream of its own. The calling thread must not wait, so each call
//! enqueues its work and returns. The work is complete once an event behind it is reached.
//!
//! Data passes through pinned buffers ([`PinnedBuffer`]). Atomic operations and signals run the same kernels as those of this
//! host's PEs.
//!
//! The rules are those of [`driver`](super::driver).

use super::streams::CudaStream;
use super::{CudaEvent, CudaTransport, LEAVING, check};
use crate::allocator::Allocator;
use crate::buffer::SymRange;
use crate::lock::lock;
use crate::op::SignalOp;
use crate::operation::Operation;
use crate::transport::{
    Atomic, PinnedBuffer, StreamHold, Submission, TargetStream, TransportEvent, VALUE_BYTES, Width,
};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUstream};
use std::any::Any;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Bytes of pinned memory.
const BYTES: usize = 8 << 20;
/// The stream and the pinned memory.
pub(crate) struct CudaTargetStream {
    cuda: Arc<CudaTransport>,
    /// `None` once it is dropped.
    stream: Option<CudaStream>,
    pinned: *mut u8,
    /// The pinned memory's address on the GPU.
    address: u64,
    buffers: Mutex<Allocator>,
    /// Words of dropped holds, with their last values: kernels that have not run yet may still poll them.
    words: Mutex<Vec<(PinnedBuffer, u64)>>,
    /// Whether the wire may still use the pinned memory, which is then never freed.
    in_use_by_wire: AtomicBool,
}

// SAFETY: the pinned memory is divided into buffers, each of which has one owner.
unsafe impl Send for CudaTargetStream {}
// SAFETY: as above.
unsafe impl Sync for CudaTargetStream {}

impl CudaTargetStream {
    pub(crate) fn new(cuda: Arc<CudaTransport>) -> Result<CudaTargetStream> {
        let stream = CudaStream::new(&cuda.device)?;
        let _current = cuda.device.enter()?;
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let mut host = std::ptr::null_mut();
        // SAFETY: rules 1 and 2; `drop` gives it back.
        let code = unsafe { sys::cuMemHostAlloc(&mut host, BYTES, flags) };
        check("cuMemHostAlloc", code)?;
        // SAFETY: the allocation has this length and is not shared yet.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, BYTES) };
        let mut target_stream = CudaTargetStream {
            cuda: Arc::clone(&cuda),
            stream: Some(stream),
            pinned: host.cast(),
            address: 0,
            buffers: Mutex::new(Allocator::new(BYTES as u64)),
            words: Mutex::default(),
            in_use_by_wire: AtomicBool::new(false),
        };
        // SAFETY: rules 1 to 3.
        let code =
            unsafe { sys::cuMemHostGetDevicePointer_v2(&mut target_stream.address, host, 0) };
        check("cuMemHostGetDevicePointer", code)?;
        Ok(target_stream)
    }

    fn stream(&self) -> CUstream {
        let raw = self.stream.as_ref().map_or(0, CudaStream::raw);
        raw as CUstream
    }

    /// The address of `offset` in this PE's part.
    fn at(&self, offset: u64) -> u64 {
        self.cuda.layout.address(self.cuda.me, offset)
    }

    fn copy(&self, dest: u64, source: u64, bytes: usize) -> Result<()> {
        let _current = self.cuda.device.enter()?;
        // SAFETY: rules 1 and 3. One side is backed memory of this PE's part, the other a pinned buffer, which its owner keeps until the
        // copy is complete.
        let code = unsafe { sys::cuMemcpyAsync(dest, source, bytes, self.stream()) };
        check("cuMemcpyAsync", code)
    }

    /// Waits briefly until the stream is empty; returns whether it is. After an error of the driver no work runs any more.
    fn is_done_soon(&self) -> bool {
        let until = Instant::now() + LEAVING;
        let idle = || self.cuda.device.is_idle(self.stream()).unwrap_or(true);
        while !idle() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(super::LOOK);
        }
        true
    }
}

impl TargetStream for CudaTargetStream {
    fn is_backed(&self, range: SymRange) -> bool {
        self.cuda.is_backed(range)
    }

    fn buffer(&self, bytes: usize) -> Option<PinnedBuffer> {
        let block = lock(&self.buffers).allocate(bytes.max(VALUE_BYTES) as u64, 64)?;
        let offset = block.offset;
        Some(PinnedBuffer { offset, bytes })
    }

    fn give_back(&self, buffer: PinnedBuffer) {
        lock(&self.buffers).free(buffer.offset);
    }

    fn address(&self, buffer: &PinnedBuffer) -> *mut u8 {
        self.pinned.wrapping_add(buffer.offset as usize)
    }

    fn data(&self, buffer: &PinnedBuffer) -> &[u8] {
        // SAFETY: the buffer lies within the pinned memory, which is initialised, and its owner ensures that there is no writer.
        unsafe { std::slice::from_raw_parts(self.address(buffer), buffer.bytes) }
    }

    fn fill(&self, buffer: &PinnedBuffer, data: &[u8]) {
        assert!(data.len() <= buffer.bytes, "more bytes than a buffer holds");
        // SAFETY: the buffer belongs to its owner alone and is long enough (just checked).
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.address(buffer), data.len()) };
    }

    fn word(&self, buffer: &PinnedBuffer, width: Width) -> u64 {
        // SAFETY: as in `data`; a buffer begins at a multiple of 64 and has room for a word.
        let word = unsafe { &*self.address(buffer).cast::<AtomicU64>() };
        match width {
            Width::Bits32 => word.load(Acquire) & u64::from(u32::MAX),
            Width::Bits64 => word.load(Acquire),
        }
    }

    fn put_value(&self, offset: u64, value: &[u8]) -> Result<()> {
        let (stream, at) = (self.stream(), self.at(offset));
        self.cuda.kernels.put_value(stream, at, value)
    }

    fn put(&self, offset: u64, buffer: &PinnedBuffer) -> Result<()> {
        self.copy(self.at(offset), self.address + buffer.offset, buffer.bytes)
    }

    fn get(&self, buffer: &PinnedBuffer, offset: u64) -> Result<()> {
        self.copy(self.address + buffer.offset, self.at(offset), buffer.bytes)
    }

    fn atomic(
        &self,
        offset: u64,
        width: Width,
        operation: Atomic,
        buffer: Option<&PinnedBuffer>,
    ) -> Result<()> {
        let result = buffer.map_or(0, |buffer| self.address + buffer.offset);
        let (stream, at) = (self.stream(), self.at(offset));
        self.cuda
            .kernels
            .atomic(stream, at, width, operation, result)
    }

    fn signal(&self, offset: u64, value: u64, op: SignalOp) -> Result<()> {
        let (stream, at) = (self.stream(), self.at(offset));
        self.cuda.kernels.signal(stream, at, value, op)
    }

    fn mark(&self) -> Result<Box<dyn TransportEvent>> {
        Ok(Box::new(self.cuda.mark_here(self.stream())?))
    }

    fn give_mark_back(&self, mark: Box<dyn TransportEvent>) {
        let mark: Box<dyn Any> = mark;
        if let Ok(mark) = mark.downcast::<CudaEvent>() {
            self.cuda.give_mark_back(*mark);
        }
    }

    fn keep_pinned(&self) {
        self.in_use_by_wire.store(true, Release);
    }

    fn stream_hold(self: Arc<Self>, submission: Submission) -> Result<Arc<dyn StreamHold>> {
        Ok(Arc::new(CudaStreamHold::new(&self, submission)?))
    }
}

/// Holds a stream of the program by a kernel that polls a word until it reaches the number of the hold.
pub(crate) struct CudaStreamHold {
    target_stream: Arc<CudaTargetStream>,
    submission: Submission,
    /// `None` once it is dropped.
    word: Option<PinnedBuffer>,
    /// The number of holds so far.
    last: AtomicU64,
}

impl CudaStreamHold {
    pub(crate) fn new(
        target_stream: &Arc<CudaTargetStream>,
        submission: Submission,
    ) -> Result<CudaStreamHold> {
        let used = lock(&target_stream.words).pop();
        let (word, last) = match used {
            Some(used) => used,
            None => {
                let word = target_stream.buffer(size_of::<u64>()).ok_or_else(|| {
                    let why = "there is no room for one more stream in a job on several hosts: close some first";
                    Error::NotSupported(why.into())
                })?;
                target_stream.fill(&word, &[0; size_of::<u64>()]);
                (word, 0)
            }
        };
        Ok(CudaStreamHold {
            target_stream: Arc::clone(target_stream),
            submission,
            word: Some(word),
            last: AtomicU64::new(last),
        })
    }

    fn address(&self) -> u64 {
        let offset = self.word.as_ref().map_or(0, |word| word.offset);
        self.target_stream.address + offset
    }
}

impl StreamHold for CudaStreamHold {
    fn hold(&self) -> Result<(Box<dyn TransportEvent>, u64)> {
        let cuda = &self.target_stream.cuda;
        let operation = Operation::StreamSynchronize;
        // Two pieces: the event and the hold.
        cuda.apply_backpressure(self.submission, operation, 1)?;
        let stream = cuda.begin(self.submission, operation)?;
        let mark = CudaEvent::mark(&cuda.device)?;
        mark.record_on(stream)?;
        let number = self.last.fetch_add(1, AcqRel) + 1;
        let held = cuda.hold(stream, self.submission, self.address(), number);
        held.inspect_err(|_| self.release(number))?;
        Ok((Box::new(mark), number))
    }

    fn release(&self, number: u64) {
        if let Some(word) = &self.word {
            let word = self.target_stream.address(word).cast::<AtomicU64>();
            // SAFETY: the buffer is this hold's, has room for a word, and begins at a multiple of 64. The GPU only reads it.
            unsafe { &*word }.fetch_max(number, Release);
        }
    }
}

impl Drop for CudaStreamHold {
    fn drop(&mut self) {
        let last = self.last.load(Acquire);
        self.release(last);
        if let Some(word) = self.word.take() {
            lock(&self.target_stream.words).push((word, last));
        }
    }
}

impl Drop for CudaTargetStream {
    fn drop(&mut self) {
        if !self.cuda.device.is_ours() {
            return;
        }
        // Kernels on the program's streams that poll words must have ended, or the memory is never freed.
        let done = self.is_done_soon() && self.cuda.settle(LEAVING);
        if let Some(stream) = self.stream.take() {
            self.cuda.let_go_of(stream.raw(), None);
        }
        if !done || self.in_use_by_wire.load(Acquire) {
            // The GPU or the wire may still use the pinned memory and the heap.
            std::mem::forget(Arc::clone(&self.cuda));
            return;
        }
        if let Ok(_current) = self.cuda.device.enter() {
            // SAFETY: rules 1 and 3; the memory has no user any more (just checked).
            let _ = unsafe { sys::cuMemFreeHost(self.pinned.cast()) };
        }
    }
}
