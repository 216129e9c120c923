//! A stream of a GPU: operations are put on it at once, and run there in order.

use crate::job::signals;
use crate::operation::Operation;
use crate::runtime::{DeviceStream, Inner};
use crate::transport::Lane;
use crate::transport::cuda::{CudaEvent, CudaStream, CudaStreamRef, CudaTransport};
use crate::{Error, Result, Runtime};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A stream of the library's own, or one of the program's.
pub(crate) struct GpuStream {
    cuda: CudaStream,
    /// The capture that the stream was in when this was made: what was put on it in that is no work of the stream's.
    made_in: Option<u64>,
    /// The first error of a function of the program's that ran on it.
    error: Mutex<Option<Error>>,
}

impl std::fmt::Debug for GpuStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cudaStream_t {:#x}", self.cuda.raw())
    }
}

impl DeviceStream for GpuStream {
    fn raw(&self) -> u64 {
        self.cuda.raw()
    }

    fn made_in(&self) -> Option<u64> {
        self.made_in
    }

    fn is_foreign(&self) -> bool {
        self.cuda.is_foreign()
    }

    fn query(&self) -> Result<bool> {
        self.cuda.check_capture("asking whether a stream is done")?;
        self.cuda.query()
    }
}

impl GpuStream {
    pub(super) fn new(transport: &CudaTransport) -> Result<GpuStream> {
        let cuda = CudaStream::new(transport.device())?;
        Ok(GpuStream::with(cuda, None))
    }

    pub(super) fn foreign(transport: &CudaTransport, stream: CudaStreamRef) -> Result<GpuStream> {
        let cuda = CudaStream::foreign(transport.device(), stream)?;
        let made_in = transport.capture_of(cuda.raw());
        Ok(GpuStream::with(cuda, made_in))
    }

    fn with(cuda: CudaStream, made_in: Option<u64>) -> GpuStream {
        GpuStream {
            cuda,
            made_in,
            error: Mutex::new(None),
        }
    }

    /// Where operations go that are called on it.
    pub(super) fn lane(&self) -> Lane {
        Lane::Stream(self.cuda.raw())
    }

    /// As [`query`](DeviceStream::query); an error if it may have ended before it was done.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        let done = self.query()?;
        inner.check_kernels(Operation::StreamSynchronize)?;
        Ok(done)
    }

    /// An error while it is captured, because a result would be there only when the graph runs.
    pub(super) fn check_result(&self) -> Result<()> {
        self.cuda
            .check_capture("an operation that gives something back")
    }

    /// Waits until everything on it has run.
    pub(crate) fn drain(&self, inner: &Inner, operation: Operation) -> Result<()> {
        self.cuda.check_capture("waiting for a stream")?;
        inner.wait_until_done(operation, &|| self.cuda.query())
    }

    /// Waits until everything on it has run, and returns what went wrong.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        let drained = self.drain(inner, Operation::StreamSynchronize);
        // What the kernels have found says more than that they have ended.
        inner.check_kernels(Operation::StreamSynchronize)?;
        drained?;
        match self.kept().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        crate::lock::lock(&self.error)
    }

    /// Runs a function of the program's when what came before has run.
    pub(super) fn call(
        self: &Arc<Self>,
        runtime: Runtime,
        work: impl FnOnce(&Runtime) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (stream, inner) = (Arc::clone(self), Arc::clone(&runtime.inner));
        self.cuda.call(Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&runtime)));
            let result = result
                .unwrap_or_else(|_| Err(Error::Internal("a function on a stream panicked".into())));
            if let Err(error) = result {
                stream.kept().get_or_insert(error);
            }
            drop(runtime);
            dispose(stream);
            dispose(inner);
        }))
    }

    pub(super) fn wait(&self, event: &GpuEvent) -> Result<()> {
        self.cuda.wait(&event.cuda)
    }
}

/// Drops something of the GPU's that a function on a stream was given. If nobody else has it, a thread of its own does so: the driver
/// must not be called where it runs such functions.
fn dispose<T: Send + Sync + 'static>(shared: Arc<T>) {
    let Some(last) = Arc::into_inner(shared) else {
        return;
    };
    // If no thread can be had, it is there until the process ends.
    let last = ManuallyDrop::new(Box::new(last));
    let builder = std::thread::Builder::new().name("nvshmemrs-dispose".into());
    let _ = signals::blocked(|| builder.spawn(move || drop(ManuallyDrop::into_inner(last))));
}

/// A mark in a stream of a GPU.
pub(super) struct GpuEvent {
    cuda: CudaEvent,
    recorded: AtomicBool,
}

impl std::fmt::Debug for GpuEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recorded = self.recorded.load(Acquire);
        write!(f, "recorded: {recorded}")
    }
}

impl GpuEvent {
    pub(super) fn new(transport: &CudaTransport) -> Result<GpuEvent> {
        Ok(GpuEvent {
            cuda: CudaEvent::new(transport.device())?,
            recorded: AtomicBool::new(false),
        })
    }

    pub(super) fn record(&self, stream: &GpuStream) -> Result<()> {
        self.cuda.record(&stream.cuda)?;
        self.recorded.store(true, Release);
        Ok(())
    }

    pub(super) fn query(&self) -> Result<bool> {
        self.cuda.query()
    }

    /// As [`query`](GpuEvent::query); an error if what came before may have ended before it was done.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        let done = self.query()?;
        inner.check_kernels(Operation::EventSynchronize)?;
        Ok(done)
    }

    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        let reached = inner.wait_until_done(Operation::EventSynchronize, &|| self.query());
        inner.check_kernels(Operation::EventSynchronize)?;
        reached
    }

    /// Whether it was recorded and the record was reached.
    pub(super) fn is_reached(&self) -> Result<bool> {
        Ok(self.recorded.load(Acquire) && self.query()?)
    }

    pub(super) fn elapsed(&self, end: &GpuEvent) -> Result<Duration> {
        self.cuda.elapsed(&end.cuda)
    }
}
