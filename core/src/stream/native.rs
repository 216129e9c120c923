//! A native stream: operations are enqueued at once, and run there in order.

use crate::job::signals;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::{Submission, TransportEvent, TransportStream};
use crate::{Error, Result, Runtime};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A stream of the library, or of the program.
pub(super) struct NativeStream {
    stream: Arc<dyn TransportStream>,
    /// The first error of a function of the program that ran on it.
    error: Mutex<Option<Error>>,
}

impl std::fmt::Debug for NativeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stream.fmt(f)
    }
}

impl NativeStream {
    pub(super) fn new(stream: Arc<dyn TransportStream>) -> NativeStream {
        NativeStream {
            stream,
            error: Mutex::new(None),
        }
    }

    /// An error while it is captured into a graph, when `what` is not possible.
    pub(super) fn check_capture(&self, what: &str) -> Result<()> {
        self.stream.check_capture(what)
    }

    /// The submission of operations on it.
    pub(super) fn submission(&self) -> Submission {
        self.stream.submission()
    }

    /// Whether all its operations have run; an error while it is captured, or if an operation may have ended early.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        self.stream.check_capture("a query of a stream")?;
        let done = self.stream.is_idle()?;
        inner.check_running(Operation::StreamSynchronize)?;
        Ok(done)
    }

    /// An error while it is captured, because the result would exist only when the graph runs.
    pub(super) fn check_result(&self) -> Result<()> {
        self.stream.check_capture("an operation with a result")
    }

    /// Waits until all its operations have run, and returns the first error.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        let operation = Operation::StreamSynchronize;
        let drained = self
            .stream
            .check_capture("waiting for a stream")
            .and_then(|()| inner.wait_until_done(operation, &|| self.stream.is_idle()));
        // The error of the work there is more precise than its end.
        inner.check_running(operation)?;
        drained?;
        match self.kept().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        crate::lock::lock(&self.error)
    }

    /// Runs a function of the program after the earlier operations.
    pub(super) fn call(
        self: &Arc<Self>,
        runtime: Runtime,
        work: impl FnOnce(&Runtime) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (stream, inner) = (Arc::clone(self), Arc::clone(&runtime.inner));
        self.stream.call(Box::new(move || {
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

    pub(super) fn wait(&self, event: &NativeEvent) -> Result<()> {
        event.event.hold_up(self.submission())
    }

    /// The program drops it.
    pub(super) fn let_go(&self, inner: &Inner) {
        // A forked child lets nothing go; and a runtime that has ended has let go of all streams.
        if inner.ready().is_ok()
            && let Some(streams) = inner.transport.streams()
        {
            streams.let_go(&self.stream);
        }
    }
}

/// Drops an object that was passed to a function on a stream. The last reference is dropped on a separate thread: the transport must
/// not be called where such functions run.
fn dispose<T: Send + Sync + 'static>(shared: Arc<T>) {
    let Some(last) = Arc::into_inner(shared) else {
        return;
    };
    // If no thread can be had, it is there until the process ends.
    let last = ManuallyDrop::new(Box::new(last));
    let builder = std::thread::Builder::new().name("nvshmemrs-dispose".into());
    let _ = signals::spawn(builder, move || drop(ManuallyDrop::into_inner(last)));
}

/// A mark in a native stream.
pub(super) struct NativeEvent {
    event: Box<dyn TransportEvent>,
    recorded: AtomicBool,
}

impl std::fmt::Debug for NativeEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recorded = self.recorded.load(Acquire);
        write!(f, "recorded: {recorded}")
    }
}

impl NativeEvent {
    pub(super) fn new(event: Box<dyn TransportEvent>) -> NativeEvent {
        NativeEvent {
            event,
            recorded: AtomicBool::new(false),
        }
    }

    pub(super) fn record(&self, stream: &NativeStream) -> Result<()> {
        self.event.record(stream.submission())?;
        self.recorded.store(true, Release);
        Ok(())
    }

    /// Whether the earlier operations have run; an error if an operation may have ended early.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        let done = self.event.is_reached()?;
        inner.check_running(Operation::EventSynchronize)?;
        Ok(done)
    }

    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        let operation = Operation::EventSynchronize;
        let reached = inner.wait_until_done(operation, &|| self.event.is_reached());
        inner.check_running(operation)?;
        reached
    }

    /// Whether it was recorded and the record was reached.
    pub(super) fn is_reached(&self) -> Result<bool> {
        Ok(self.recorded.load(Acquire) && self.event.is_reached()?)
    }

    pub(super) fn elapsed(&self, end: &NativeEvent) -> Result<Duration> {
        self.event.elapsed(&*end.event)
    }
}
