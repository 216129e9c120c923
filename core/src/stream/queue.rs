//! A stream of host memory: a queue with a thread of its own.

use super::watched::{Watched, WatchedMark};
use crate::job::doorbell;
use crate::job::published::{Target, Wait};
use crate::job::signals;
use crate::operation::Operation;
use crate::runtime::{Inner, WorkQueue};
use crate::wait;
use crate::{Error, Result, Runtime, deadline};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) type Job<T = ()> = Box<dyn FnOnce(&Runtime) -> Result<T> + Send>;

/// The state that the users of a stream share with its thread.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Rung when a job comes in, or the stream closes.
    work: Condvar,
    /// Jobs that have run.
    completed: AtomicU64,
    /// Ends the waits of the job that is running.
    stop: Arc<AtomicBool>,
    watched: Watched,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    submitted: u64,
    error: Option<Error>,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    /// Takes no more jobs; queued jobs still run.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// Takes no more jobs, and drops those that have not begun. They count as run once the running job has ended.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped = std::mem::take(&mut state.jobs);
        drop(state);
        self.watched.forgets(dropped.len());
        drop(dropped);
        self.work.notify_all();
    }

    /// The next job; `None` once the stream is closed and empty.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(|poison| poison.into_inner());
        }
    }

    fn keep(&self, error: Error) {
        self.lock().error.get_or_insert(error);
    }

    /// The stream's thread.
    fn serve(&self, runtime: &Runtime) {
        wait::run_stream(Arc::clone(&self.stop));
        while let Some(job) = self.next() {
            let result = catch_unwind(AssertUnwindSafe(|| job(runtime)));
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.keep(error),
                Err(_) => self.keep(Error::Internal(
                    "an operation on a stream panicked; see nvshmemrs's report of it".into(),
                )),
            }
            self.completed.fetch_add(1, Release);
            doorbell::ring_pe(&runtime.inner.control, runtime.inner.my_pe);
        }
        // No thread shall wait for jobs that were forgotten.
        self.completed.store(self.lock().submitted, Release);
        doorbell::ring_pe(&runtime.inner.control, runtime.inner.my_pe);
    }

    /// Waits until the jobs submitted before have run.
    pub(crate) fn drain(&self, inner: &Inner, operation: Operation) -> Result<()> {
        let goal = self.lock().submitted;
        let wait = Wait {
            operation,
            target: Target::Stream { goal },
        };
        inner.wait(wait, || match self.completed.load(Acquire) {
            completed if completed >= goal => Ok(()),
            completed => Err(completed),
        })
    }
}

impl WorkQueue for Queue {
    fn close(&self) {
        Queue::close(self);
    }

    fn abandon(&self) {
        Queue::abandon(self);
    }

    fn drain(&self, inner: &Inner, operation: Operation) -> Result<()> {
        Queue::drain(self, inner, operation)
    }

    fn position(&self) -> (u64, u64, Option<String>) {
        let completed = self.completed.load(Acquire);
        let state = self.lock();
        let error = state.error.as_ref().map(Error::to_string);
        (state.submitted, completed, error)
    }
}

/// A queue and its thread.
pub(super) struct QueueStream {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for QueueStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let submitted = self.queue.lock().submitted;
        let completed = self.queue.completed.load(Relaxed);
        write!(f, "{completed} of {submitted} operations done")
    }
}

impl QueueStream {
    pub(super) fn start(inner: &Arc<Inner>) -> Result<QueueStream> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            work: Condvar::new(),
            completed: AtomicU64::new(0),
            stop: Arc::default(),
            watched: Watched::new(inner),
        });
        let (served, runtime) = (Arc::clone(&queue), Runtime::view(inner));
        let builder = std::thread::Builder::new().name("nvshmemrs-stream".into());
        let thread = signals::spawn(builder, move || served.serve(&runtime))
            .map_err(|error| Error::system("starting a stream's thread", error))?;
        inner.streams().push(Arc::<Queue>::downgrade(&queue));
        Ok(QueueStream {
            queue,
            thread: Some(thread),
        })
    }

    /// Queues an operation.
    pub(super) fn submit(&self, job: Job) -> Result<()> {
        self.submit_made(false, || job)
    }

    /// Queues a function of the program.
    pub(super) fn call(&self, work: Job) -> Result<()> {
        self.submit_made(true, || work)
    }

    /// Queues the job that `make` returns, which is called with the queue locked.
    fn submit_made(&self, function: bool, make: impl FnOnce() -> Job) -> Result<()> {
        let mut state = self.queue.lock();
        if state.closed {
            return Err(Error::NotInitialized(
                "this stream has ended, with its runtime's finalize; the call must come before that",
            ));
        }
        state.submitted += 1;
        let job = carried(make());
        state.jobs.push_back(self.queue.watched.wrap(job, function));
        drop(state);
        self.queue.work.notify_one();
        Ok(())
    }

    /// Runs an operation after all earlier submissions, and waits for its result.
    pub(super) fn run<T: Send + 'static>(&self, inner: &Inner, job: Job<T>) -> Result<T> {
        self.run_and(inner, job, || ())
    }

    /// As [`run`](QueueStream::run); `queued` is called when the operation is in the queue.
    pub(super) fn run_and<T: Send + 'static>(
        &self,
        inner: &Inner,
        job: Job<T>,
        queued: impl FnOnce(),
    ) -> Result<T> {
        self.check_caller()?;
        let call = Arc::new(Call {
            phase: Mutex::new(Phase::Waiting),
            done: AtomicBool::new(false),
        });
        let (begun, stop) = (Arc::clone(&call), Arc::clone(&self.queue.stop));
        self.submit(Box::new(move |rt| {
            if begun.begin() {
                let result = catch_unwind(AssertUnwindSafe(|| job(rt)));
                let result = result.unwrap_or_else(|_| {
                    Err(Error::Internal("an operation on a stream panicked".into()))
                });
                begun.end(result, &stop);
            }
            Ok(())
        }))?;
        queued();
        let wait = Wait {
            operation: Operation::StreamSynchronize,
            target: Target::Stream {
                goal: self.queue.lock().submitted,
            },
        };
        let done = || match call.done.load(Acquire) {
            true => Ok(()),
            false => Err(self.queue.completed.load(Relaxed)),
        };
        if let Err(error) = inner.wait(wait, done) {
            if call.cancel() {
                return Err(error);
            }
            // It has begun, so it still uses what the caller lent it: what ended this wait ends that job's, too.
            call.stop(&self.queue.stop);
        }
        let result = call.result();
        self.queue.watched.done();
        result
    }

    /// Waits until all earlier submissions have run, and returns the first error since the last call.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        self.check_caller()?;
        self.queue.drain(inner, Operation::StreamSynchronize)?;
        self.queue.watched.done();
        match self.queue.lock().error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Makes later work wait until the latest record of an event has been reached.
    pub(super) fn wait(&self, marks: &Arc<QueueMarks>) -> Result<()> {
        let (marks, ticket) = (Arc::clone(marks), marks.recorded.load(Acquire));
        self.submit(Box::new(move |rt| marks.await_ticket(&rt.inner, ticket)))
    }

    /// Whether all earlier submissions have run, for the program.
    pub(super) fn is_done(&self) -> bool {
        let done = self.query();
        if done {
            self.queue.watched.done();
        }
        done
    }

    /// Whether all earlier submissions have run.
    pub(super) fn query(&self) -> bool {
        let submitted = self.queue.lock().submitted;
        self.queue.completed.load(Acquire) >= submitted
    }

    /// Ends the queue and, if nothing is left to run, the thread.
    pub(super) fn close(&mut self) {
        self.queue.close();
        // Otherwise something of the program's is running that nobody can end: the thread is left to itself, as by dropping.
        if self.query()
            && self.check_caller().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It is about to return.
            let _ = thread.join();
        }
    }

    /// Drops operations that have not begun, and ends the waits of the running one.
    pub(super) fn stop(&self) {
        self.queue.abandon();
        self.queue.stop.store(true, Release);
    }

    /// Keeps the thread running until the queue is empty.
    pub(super) fn let_go(&mut self, inner: &Inner) {
        if inner.forked() {
            // The thread exists in the parent process only, and may hold any lock here for ever.
            std::mem::forget(self.thread.take());
        } else if let Some(thread) = self.thread.take() {
            self.queue.close();
            inner.leave_running(thread);
        }
    }

    /// Identifies it among the streams that have not been dropped.
    pub(super) fn number(&self) -> u64 {
        Arc::as_ptr(&self.queue) as u64
    }

    /// A stream's own thread cannot wait for the stream.
    fn check_caller(&self) -> Result<()> {
        if wait::runs(&self.queue.stop) {
            return Err(Error::OnStream("something that waits for a stream"));
        }
        Ok(())
    }
}

/// A call whose caller waits for the result.
struct Call<T> {
    phase: Mutex<Phase<T>>,
    done: AtomicBool,
}

enum Phase<T> {
    Waiting,
    Running,
    Done(Result<T>),
    Cancelled,
}

impl<T> Call<T> {
    fn lock(&self) -> MutexGuard<'_, Phase<T>> {
        crate::lock::lock(&self.phase)
    }

    fn begin(&self) -> bool {
        let mut phase = self.lock();
        let wanted = matches!(*phase, Phase::Waiting);
        if wanted {
            *phase = Phase::Running;
        }
        wanted
    }

    /// Ends the waits of the call, if it is running: under the lock, so that no later call is affected.
    fn stop(&self, stop: &AtomicBool) {
        let phase = self.lock();
        if matches!(*phase, Phase::Running) {
            stop.store(true, Release);
        }
    }

    fn end(&self, result: Result<T>, stop: &AtomicBool) {
        let mut phase = self.lock();
        stop.store(false, Release);
        *phase = Phase::Done(result);
        self.done.store(true, Release);
    }

    /// Whether the call has been stopped before it began.
    fn cancel(&self) -> bool {
        let mut phase = self.lock();
        let waiting = matches!(*phase, Phase::Waiting);
        if waiting {
            *phase = Phase::Cancelled;
        }
        waiting
    }

    fn result(&self) -> Result<T> {
        while !self.done.load(Acquire) {
            std::thread::sleep(Duration::from_micros(100));
        }
        match std::mem::replace(&mut *self.lock(), Phase::Cancelled) {
            Phase::Done(result) => result,
            _ => Err(Error::Internal("a stream lost the result of a call".into())),
        }
    }
}

/// An event.
pub(super) struct QueueMarks {
    /// How often the event was recorded.
    recorded: AtomicU64,
    /// The latest record that a stream has reached.
    reached: AtomicU64,
    at: Mutex<Option<Instant>>,
    watched: WatchedMark,
}

impl std::fmt::Debug for QueueMarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recorded = self.recorded.load(Relaxed);
        let reached = self.reached.load(Relaxed);
        write!(f, "recorded {recorded} times, reached {reached}")
    }
}

impl QueueMarks {
    pub(super) fn new() -> QueueMarks {
        QueueMarks {
            recorded: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            at: Mutex::new(None),
            watched: WatchedMark::default(),
        }
    }

    /// Marks the end of the operations submitted to a stream so far.
    pub(super) fn record(self: &Arc<Self>, stream: &QueueStream) -> Result<()> {
        let marks = Arc::clone(self);
        stream.submit_made(false, || {
            // Drawn here, so that a stream that has ended leaves the event as it was.
            let ticket = marks.recorded.fetch_add(1, AcqRel) + 1;
            Box::new(move |rt| {
                marks.watched.reached(&rt.inner);
                // A record that a later one has replaced no longer counts.
                let mut at = marks.at();
                if marks.reached.fetch_max(ticket, AcqRel) < ticket {
                    *at = Some(Instant::now());
                }
                drop(at);
                doorbell::ring_pe(&rt.inner.control, rt.inner.my_pe);
                Ok(())
            })
        })
    }

    /// When the latest record was reached.
    pub(super) fn at(&self) -> MutexGuard<'_, Option<Instant>> {
        crate::lock::lock(&self.at)
    }

    /// Whether the latest record has been reached.
    pub(super) fn is_reached(&self) -> bool {
        let recorded = self.recorded.load(Acquire);
        self.reached.load(Acquire) >= recorded
    }

    /// Whether the latest record has been reached, asked by the program.
    pub(super) fn query(&self, inner: &Inner) -> bool {
        let reached = self.is_reached();
        if reached {
            self.watched.seen(inner);
        }
        reached
    }

    /// Waits until the latest record has been reached.
    pub(super) fn synchronize(&self, inner: &Inner) -> Result<()> {
        self.await_ticket(inner, self.recorded.load(Acquire))
    }

    fn await_ticket(&self, inner: &Inner, ticket: u64) -> Result<()> {
        let wait = Wait {
            operation: Operation::EventSynchronize,
            target: Target::Stream { goal: ticket },
        };
        inner.wait(wait, || match self.reached.load(Acquire) {
            reached if reached >= ticket => Ok(()),
            reached => Err(reached),
        })?;
        self.watched.seen(inner);
        Ok(())
    }

    /// The time from this event to another event, both reached; zero if the other event came first.
    pub(super) fn elapsed(&self, end: &QueueMarks) -> Duration {
        // One after the other: both may be the same event.
        let from = *self.at();
        let to = *end.at();
        from.zip(to)
            .map_or(Duration::ZERO, |(from, to)| to.duration_since(from))
    }
}

/// A job with the deadline that is in force where it is submitted.
fn carried(job: Job) -> Job {
    match deadline::until() {
        None => job,
        Some(until) => Box::new(move |rt| deadline::within(until, || job(rt))),
    }
}
