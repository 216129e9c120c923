//! A stream of the GPU in a job on several hosts or in a checked job, proxied by the host: a GPU cannot reach other hosts, and tells the
//! checker nothing, so a queue of the host runs the operations.
//!
//! For each operation the GPU's stream gets an event, and behind it a hold. The thread of the queue waits for the event, runs the operation
//! as a blocking one, and releases the hold. So operations run in stream order, also between the program's own work. Submitting an
//! operation while the stream is captured into a graph is an error.

use super::native::{NativeEvent, NativeStream};
use super::queue::{Job, QueueStream};
use crate::lock::lock;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::{StreamHold, Submission, TransportEvent};
use crate::{Result, Runtime};
use std::sync::{Arc, Mutex, MutexGuard};

/// The operation that cannot be captured, for errors.
const WHAT: &str = "an operation in a job that is checked or on several hosts";

pub(super) struct HostProxiedStream {
    queue: QueueStream,
    native: Arc<NativeStream>,
    hold: Arc<dyn StreamHold>,
    /// Held from the hold until the job is in the queue, so that both have one order.
    order: Mutex<()>,
}

impl std::fmt::Debug for HostProxiedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {:?}", self.native, self.queue)
    }
}

/// A hold on a stream, which is released when this is dropped, even if its job never runs.
struct Hold {
    hold: Arc<dyn StreamHold>,
    mark: Box<dyn TransportEvent>,
    number: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.hold.release(self.number);
    }
}

impl Hold {
    /// Runs a job once the stream has come to the mark.
    fn run<T>(self, runtime: &Runtime, job: Job<T>) -> Result<T> {
        let reached = || self.mark.is_reached();
        (runtime.inner).wait_until_done(Operation::StreamSynchronize, &reached)?;
        job(runtime)
    }
}

impl HostProxiedStream {
    pub(super) fn start(
        inner: &Arc<Inner>,
        native: Arc<NativeStream>,
        hold: Arc<dyn StreamHold>,
    ) -> Result<HostProxiedStream> {
        Ok(HostProxiedStream {
            queue: QueueStream::start(inner)?,
            native,
            hold,
            order: Mutex::default(),
        })
    }

    fn hold(&self) -> Result<(Hold, MutexGuard<'_, ()>)> {
        self.native.check_capture(WHAT)?;
        let order = lock(&self.order);
        let (mark, number) = self.hold.hold()?;
        let hold = Arc::clone(&self.hold);
        Ok((Hold { hold, mark, number }, order))
    }

    /// Enqueues a job on the stream.
    pub(super) fn submit(&self, job: Job) -> Result<()> {
        let (hold, _order) = self.hold()?;
        self.queue.submit(Box::new(move |rt| hold.run(rt, job)))
    }

    /// Enqueues a job on the stream, and waits for its result.
    pub(super) fn run<T: Send + 'static>(&self, inner: &Inner, job: Job<T>) -> Result<T> {
        let (hold, order) = self.hold()?;
        let job = Box::new(move |rt: &Runtime| hold.run(rt, job));
        self.queue.run_and(inner, job, || drop(order))
    }

    /// Waits until all its operations have run, and returns the first error.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        self.native.check_capture("waiting for a stream")?;
        self.queue.synchronize(inner)?;
        self.native.synchronize(inner)
    }

    /// Whether all its operations have run.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        Ok(self.native.is_done(inner)? && self.queue.query())
    }

    pub(super) fn wait(&self, event: &NativeEvent) -> Result<()> {
        self.native.wait(event)
    }

    /// The GPU's stream.
    pub(super) fn native(&self) -> &NativeStream {
        &self.native
    }

    /// Its submission, for queries of its number.
    pub(super) fn raw(&self) -> Submission {
        self.native.submission()
    }

    pub(super) fn close(&mut self) {
        self.queue.close();
    }

    /// Drops operations that have not begun, and ends the waits of the running one.
    pub(super) fn stop(&self) {
        self.queue.stop();
    }

    /// The program drops it: queued operations still run.
    pub(super) fn let_go(&mut self, inner: &Inner) {
        self.queue.let_go(inner);
        self.native.let_go(inner);
    }

    /// Identifies it among the streams that have not been dropped.
    pub(super) fn number(&self) -> u64 {
        self.queue.number()
    }
}
