//! The streams that the program uses: streams of the library, and streams of the program that it has adopted.

use super::{CudaEvent, CudaStream};
use crate::CudaTransport;
use crate::Result;
use crate::lock::lock;
use crate::transport::{StreamLifetime, Streams, Submission, TransportEvent, TransportStream};
use cudarc::driver::sys::CUstream;
use std::any::Any;
use std::sync::Arc;

/// A stream that the program uses.
pub(crate) struct ProgramStream {
    cuda: CudaStream,
    lifetime: StreamLifetime,
    /// The capture that the stream was in when it was adopted: work enqueued during that capture is not on the stream.
    made_in: Option<u64>,
}

impl std::fmt::Debug for ProgramStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cudaStream_t {:#x}", self.cuda.raw())
    }
}

impl ProgramStream {
    pub(crate) fn raw(&self) -> u64 {
        self.cuda.raw()
    }

    pub(crate) fn made_in(&self) -> Option<u64> {
        self.made_in
    }

    /// Whether the program may have destroyed the stream.
    pub(crate) fn may_be_destroyed(&self) -> bool {
        self.lifetime == StreamLifetime::DuringCalls
    }

    /// Whether the stream is empty; an error while it is captured.
    pub(crate) fn has_run(&self) -> Result<bool> {
        self.cuda.check_capture("a query of a stream")?;
        self.cuda.query()
    }
}

impl TransportStream for ProgramStream {
    fn submission(&self) -> Submission {
        Submission::Stream(self.cuda.raw())
    }

    fn is_idle(&self) -> Result<bool> {
        self.cuda.query()
    }

    fn check_capture(&self, what: &str) -> Result<()> {
        self.cuda.check_capture(what)
    }

    fn call(&self, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        self.cuda.call(work)
    }
}

impl CudaTransport {
    /// The streams that finalize waits for. Streams that the program may have destroyed are not among them.
    pub(crate) fn streams_in_use(&self) -> Vec<Arc<ProgramStream>> {
        let streams = lock(&self.program_streams);
        let exists = |stream: &&Arc<ProgramStream>| !stream.may_be_destroyed();
        streams.iter().filter(exists).cloned().collect()
    }

    /// Whether the program may have destroyed the stream with this number.
    pub(crate) fn may_be_destroyed(&self, stream: u64) -> bool {
        let streams = lock(&self.program_streams);
        let mut found = streams.iter().filter(|one| one.raw() == stream);
        found.any(|one| one.may_be_destroyed())
    }

    /// Called for a stream that comes into use: an earlier stream with its number may have been destroyed.
    pub(crate) fn forget_earlier(&self, stream: u64) {
        if self.may_be_destroyed(stream) {
            self.forget_destroyed(stream, false);
        }
    }

    /// Forgets the streams that the program may have destroyed, once their work is complete.
    pub(crate) fn forget_destroyed_streams(&self) {
        let destroyed: Vec<_> = {
            let mut streams = lock(&self.program_streams);
            let destroyed = streams.extract_if(.., |stream| stream.may_be_destroyed());
            destroyed.collect()
        };
        for stream in destroyed {
            self.forget_destroyed(stream.raw(), true);
        }
        self.stream_order.destroyed.clear();
    }

    /// Removes the streams that finalize waits for, and returns them.
    pub(crate) fn forget_streams(&self) -> Vec<Arc<ProgramStream>> {
        std::mem::take(&mut *lock(&self.program_streams))
    }

    /// Adds a stream to the streams that finalize waits for. Idle streams that were dropped are removed.
    fn add_stream(
        &self,
        cuda: CudaStream,
        made_in: Option<u64>,
        lifetime: StreamLifetime,
    ) -> Arc<dyn TransportStream> {
        let stream = Arc::new(ProgramStream {
            cuda,
            lifetime,
            made_in,
        });
        let mut streams = lock(&self.program_streams);
        let is_used = |stream: &Arc<ProgramStream>| {
            // A destroyed stream must not be queried.
            let has_work = || !stream.may_be_destroyed() && !stream.has_run().unwrap_or(true);
            Arc::strong_count(stream) > 1 || has_work()
        };
        streams.retain(is_used);
        streams.push(Arc::clone(&stream));
        stream
    }
}

impl Streams for CudaTransport {
    fn make(&self) -> Result<Arc<dyn TransportStream>> {
        let stream = CudaStream::new(&self.device)?;
        self.forget_earlier(stream.raw());
        Ok(self.add_stream(stream, None, StreamLifetime::UntilDropped))
    }

    unsafe fn adopt(
        &self,
        stream: u64,
        lifetime: StreamLifetime,
    ) -> Result<Arc<dyn TransportStream>> {
        // SAFETY: the caller vouches for the stream.
        let cuda = unsafe { CudaStream::foreign(&self.device, stream)? };
        let made_in = self.capture_of(cuda.raw());
        self.forget_earlier(stream);
        if lifetime == StreamLifetime::DuringCalls {
            let streams = lock(&self.program_streams);
            let is_other = |one: &Arc<ProgramStream>| one.may_be_destroyed() && one.raw() != stream;
            self.stream_order
                .destroyed
                .add(streams.iter().any(is_other));
        }
        Ok(self.add_stream(cuda, made_in, lifetime))
    }

    unsafe fn id_of(&self, stream: u64) -> Result<Option<u64>> {
        self.device.stream_id(stream as CUstream)
    }

    fn let_go(&self, stream: &Arc<dyn TransportStream>) {
        let stream: &dyn Any = &**stream;
        let Some(stream) = stream.downcast_ref::<ProgramStream>() else {
            return;
        };
        match stream.may_be_destroyed() {
            true => self.forget_destroyed(stream.raw(), false),
            false => self.let_go_of(stream.raw(), stream.made_in()),
        }
        if stream.cuda.is_foreign() {
            lock(&self.program_streams).retain(|one| !std::ptr::eq(Arc::as_ptr(one), stream));
        }
    }

    fn event(&self) -> Result<Box<dyn TransportEvent>> {
        Ok(Box::new(CudaEvent::new(&self.device)?))
    }
}
