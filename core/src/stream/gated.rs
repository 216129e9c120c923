//! A stream of the GPU in a job on several hosts, which a GPU cannot reach by itself: a queue of the host's runs what is put on it.
//!
//! When something is submitted, the GPU's stream gets a mark, and behind it a hold. The queue's thread waits until the stream has come to
//! the mark, runs the job with blocking operations, and lets the stream go on. So what is submitted runs in the order of the stream, also
//! between what the program itself has put there. While a stream is captured into a graph, nothing can be submitted.

use super::lane::{LaneEvent, LaneStream};
use super::queue::{Job, QueueStream};
use crate::lock::lock;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::{Gate, Lane, TransportEvent};
use crate::{Result, Runtime};
use std::sync::{Arc, Mutex, MutexGuard};

/// What cannot become part of a graph.
const WHAT: &str = "an operation in a job on several hosts";

pub(super) struct GatedStream {
    queue: QueueStream,
    lane: Arc<LaneStream>,
    gate: Arc<dyn Gate>,
    /// Held from the hold until the job is in the queue, so that both have one order.
    order: Mutex<()>,
}

impl std::fmt::Debug for GatedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {:?}", self.lane, self.queue)
    }
}

/// A hold on a stream, which goes on when this is dropped: also if the job that it was for never runs.
struct Hold {
    gate: Arc<dyn Gate>,
    mark: Box<dyn TransportEvent>,
    number: u64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.gate.open(self.number);
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

impl GatedStream {
    pub(super) fn start(
        inner: &Arc<Inner>,
        lane: Arc<LaneStream>,
        gate: Arc<dyn Gate>,
    ) -> Result<GatedStream> {
        Ok(GatedStream {
            queue: QueueStream::start(inner)?,
            lane,
            gate,
            order: Mutex::default(),
        })
    }

    fn hold(&self) -> Result<(Hold, MutexGuard<'_, ()>)> {
        self.lane.check_capture(WHAT)?;
        let order = lock(&self.order);
        let (mark, number) = self.gate.close()?;
        let gate = Arc::clone(&self.gate);
        Ok((Hold { gate, mark, number }, order))
    }

    /// Puts a job on the stream.
    pub(super) fn submit(&self, job: Job) -> Result<()> {
        let (hold, _order) = self.hold()?;
        self.queue.submit(Box::new(move |rt| hold.run(rt, job)))
    }

    /// Puts a job on the stream, and waits for its result.
    pub(super) fn run<T: Send + 'static>(&self, inner: &Inner, job: Job<T>) -> Result<T> {
        let (hold, order) = self.hold()?;
        let job = Box::new(move |rt: &Runtime| hold.run(rt, job));
        self.queue.run_and(inner, job, || drop(order))
    }

    /// Waits until everything on it has run, and returns what went wrong.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        self.lane.check_capture("waiting for a stream")?;
        self.queue.synchronize(inner)?;
        self.lane.synchronize(inner)
    }

    /// Whether everything on it has run.
    pub(super) fn is_done(&self, inner: &Inner) -> Result<bool> {
        Ok(self.lane.is_done(inner)? && self.queue.query())
    }

    pub(super) fn wait(&self, event: &LaneEvent) -> Result<()> {
        self.lane.wait(event)
    }

    /// The GPU's stream.
    pub(super) fn lane(&self) -> &LaneStream {
        &self.lane
    }

    /// Where it is, for who asks for its number.
    pub(super) fn raw(&self) -> Lane {
        self.lane.lane()
    }

    pub(super) fn close(&mut self) {
        self.queue.close();
    }

    /// Forgets what has not begun, and ends the waits of what is running.
    pub(super) fn stop(&self) {
        self.queue.stop();
    }

    /// The program drops it: what is on it runs on.
    pub(super) fn let_go(&mut self, inner: &Inner) {
        self.queue.let_go(inner);
        self.lane.let_go(inner);
    }

    /// Names it among the streams that have not been dropped.
    pub(super) fn number(&self) -> u64 {
        self.queue.number()
    }
}
