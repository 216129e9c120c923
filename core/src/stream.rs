//! Streams: ordered queues of operations, and events that time them and order one stream after another.
//!
//! On host memory a stream is a queue with a thread of its own. Every operation has its on-stream form by being submitted:
//!
//! ```
//! use nvshmemrs::{Dtype, Op, Team, local};
//!
//! local::run(2, |rt| {
//!     let source = rt.array::<i64>(1)?;
//!     let dest = rt.array::<i64>(1)?;
//!     source.store(0, 1)?;
//!     let (to, from) = (dest.all().range(), source.all().range());
//!     let stream = rt.stream()?;
//!     let (dtype, op) = (Dtype::Int64 as i32, Op::Sum as i32);
//!     stream.submit(move |rt| rt.reduce(Team::WORLD, to, from, 1, dtype, op))?;
//!     stream.synchronize()?;
//!     assert_eq!(dest.load(0)?, 2);
//!     drop(stream);
//!     rt.finalize()
//! })
//! .unwrap();
//! ```
//!
//! What was submitted to one stream runs in order; streams run side by side. An error does not stop a stream, because that could
//! strand the other PEs of a collective: the first one is kept, and [`Stream::synchronize`] returns it.

use crate::runtime::Inner;
use crate::track::Resource;
use crate::transport::host::signals;
use crate::wait::{self, Operation, Target, Wait};
use crate::{Error, Result, Runtime, deadline};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) type Job = Box<dyn FnOnce(&Runtime) -> Result<()> + Send>;

/// What the users of a stream and its thread share.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Rung when a job comes in, or the stream closes.
    work: Condvar,
    /// Jobs that have run.
    completed: AtomicU64,
    /// Ends the waits of the job that is running.
    stop: Arc<AtomicBool>,
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
        self.state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    /// Takes no more jobs; what is queued still runs.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    /// Takes no more jobs, and forgets those that have not begun. They count as run once the one that is running has ended.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped = std::mem::take(&mut state.jobs);
        drop(state);
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
            wait::ring_pe(&runtime.inner.control, runtime.inner.my_pe);
        }
        // Nobody shall wait for jobs that were forgotten.
        self.completed.store(self.lock().submitted, Release);
        wait::ring_pe(&runtime.inner.control, runtime.inner.my_pe);
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

/// An ordered queue of operations with a thread of its own.
///
/// Dropping it waits for nothing, because what is queued may need other PEs: it runs on, and finalize waits for it. An error that was
/// kept is lost then; [`close`](Stream::close) waits and returns it.
pub struct Stream {
    runtime: Runtime,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let submitted = self.queue.lock().submitted;
        let completed = self.queue.completed.load(Relaxed);
        write!(f, "Stream({completed} of {submitted} operations done)")
    }
}

impl Stream {
    fn start(inner: &Arc<Inner>) -> Result<Stream> {
        inner.ready()?;
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            work: Condvar::new(),
            completed: AtomicU64::new(0),
            stop: Arc::default(),
        });
        let (served, runtime) = (Arc::clone(&queue), Runtime::view(inner));
        let builder = std::thread::Builder::new().name("nvshmemrs-stream".into());
        let thread = signals::blocked(|| builder.spawn(move || served.serve(&runtime)))
            .map_err(|error| Error::system("starting a stream's thread", error))?;
        inner.streams().push(Arc::downgrade(&queue));
        Ok(Stream {
            runtime: Runtime::view(inner),
            queue,
            thread: Some(thread),
        })
    }

    /// Queues an operation, or any other work, and returns at once. It runs on the stream's thread, after all that was
    /// submitted before.
    ///
    /// Local. Complete after [`synchronize`](Stream::synchronize). NVSHMEM `nvshmemx_..._on_stream`.
    pub fn submit(&self, job: impl FnOnce(&Runtime) -> Result<()> + Send + 'static) -> Result<()> {
        self.submit_made(|| Box::new(job))
    }

    /// Queues what `make` makes while the order of the queue is held.
    fn submit_made(&self, make: impl FnOnce() -> Job) -> Result<()> {
        self.runtime.inner.ready()?;
        let mut state = self.queue.lock();
        if state.closed {
            return Err(Error::NotInitialized(
                "this stream has ended, with its runtime's finalize",
            ));
        }
        state.submitted += 1;
        state.jobs.push_back(deadline::carried(make()));
        drop(state);
        self.queue.work.notify_one();
        Ok(())
    }

    /// Runs an operation after all that was submitted before, and waits for its result.
    ///
    /// Local; waits for the stream.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Runtime) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.check_caller()?;
        let call = Arc::new(Call {
            phase: Mutex::new(Phase::Waiting),
            done: AtomicBool::new(false),
        });
        let (queued, stop) = (Arc::clone(&call), Arc::clone(&self.queue.stop));
        self.submit(move |rt| {
            if queued.begin() {
                let result = catch_unwind(AssertUnwindSafe(|| job(rt)));
                let result = result.unwrap_or_else(|_| {
                    Err(Error::Internal("an operation on a stream panicked".into()))
                });
                queued.end(result, &stop);
            }
            Ok(())
        })?;
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
        if let Err(error) = self.runtime.inner.wait(wait, done) {
            if call.cancel() {
                return Err(error);
            }
            // It has begun, so it still uses what the caller lent it: what ended this wait ends that job's, too.
            call.stop(&self.queue.stop);
        }
        call.result()
    }

    /// Waits until everything submitted before has run, and returns the first error since the last call.
    ///
    /// Local; waits for the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.runtime.inner.ready()?;
        self.check_caller()?;
        self.queue
            .drain(&self.runtime.inner, Operation::StreamSynchronize)?;
        match self.queue.lock().error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether everything submitted before has run. Local; never waits.
    pub fn query(&self) -> Result<bool> {
        self.runtime.inner.ready()?;
        let submitted = self.queue.lock().submitted;
        Ok(self.queue.completed.load(Acquire) >= submitted)
    }

    /// Makes later work of this stream wait until `event`'s latest record has been reached. An event that was not recorded
    /// holds nothing up.
    ///
    /// Local; only the stream waits.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let (event, ticket) = (event.clone(), event.shared.recorded.load(Acquire));
        self.submit(move |rt| event.await_ticket(&rt.inner, ticket))
    }

    /// Waits until everything submitted before has run, ends the stream and its thread, and returns the first error since the last
    /// [`synchronize`](Stream::synchronize). What ends the wait with an error ends what the stream waits for, too, and what has not
    /// begun is forgotten.
    ///
    /// Local; waits for the stream.
    pub fn close(mut self) -> Result<()> {
        if self.runtime.inner.forked() {
            return self.runtime.inner.ready();
        }
        let result = self.synchronize().inspect_err(|_| self.stop());
        self.queue.close();
        let idle = self.queue.completed.load(Acquire) >= self.queue.lock().submitted;
        // Otherwise something of the program's is running that nobody can end: the thread is left to itself, as by dropping.
        if idle
            && self.check_caller().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It is about to return.
            let _ = thread.join();
        }
        result
    }

    /// Forgets what has not begun, and ends the waits of what is running.
    ///
    /// Local; returns at once.
    pub fn stop(&self) {
        self.queue.abandon();
        self.queue.stop.store(true, Release);
    }

    /// Whether it is a stream of this runtime. Local.
    pub fn belongs_to(&self, runtime: &Runtime) -> bool {
        Arc::ptr_eq(&self.runtime.inner, &runtime.inner)
    }

    /// The runtime that the stream belongs to, for local queries.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Names it among the streams that have not been dropped.
    fn number(&self) -> u64 {
        Arc::as_ptr(&self.queue) as u64
    }

    /// A stream's own thread cannot wait for the stream.
    fn check_caller(&self) -> Result<()> {
        let own = self.thread.as_ref().map(|thread| thread.thread().id());
        if own == Some(std::thread::current().id()) {
            return Err(Error::OnStream("something that waits for a stream"));
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let inner = &self.runtime.inner;
        if inner.forked() {
            // The thread exists in the parent process only, and may hold any lock here for ever.
            std::mem::forget(self.thread.take());
            return;
        }
        inner.note_freed(Resource::Stream, self.number());
        if let Some(thread) = self.thread.take() {
            self.queue.close();
            inner.leave_running(thread);
        }
    }
}

/// A call whose result somebody waits for.
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
        self.phase
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    fn begin(&self) -> bool {
        let mut phase = self.lock();
        let wanted = matches!(*phase, Phase::Waiting);
        if wanted {
            *phase = Phase::Running;
        }
        wanted
    }

    /// Ends the waits of the call, if it is running: under the lock, so that no later one is meant.
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

/// A mark in a stream: it tells when the stream has come there, and other streams can wait for it.
#[derive(Clone)]
pub struct Event {
    inner: Arc<Inner>,
    shared: Arc<Marks>,
}

struct Marks {
    /// How often the event was recorded.
    recorded: AtomicU64,
    /// The latest record that a stream has come to.
    reached: AtomicU64,
    at: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recorded = self.shared.recorded.load(Relaxed);
        write!(
            f,
            "Event(recorded {recorded} times, reached {})",
            self.shared.reached.load(Relaxed)
        )
    }
}

impl Event {
    /// Marks the end of what has been submitted to `stream` so far. A later record replaces an earlier one.
    ///
    /// Local; returns at once.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let event = self.clone();
        stream.submit_made(|| {
            // Drawn here, so that a stream that has ended leaves the event as it was.
            let ticket = event.shared.recorded.fetch_add(1, AcqRel) + 1;
            Box::new(move |rt| {
                // A record that a later one has replaced says nothing any more.
                let mut at = event.at();
                if event.shared.reached.fetch_max(ticket, AcqRel) < ticket {
                    *at = Some(Instant::now());
                }
                drop(at);
                wait::ring_pe(&rt.inner.control, rt.inner.my_pe);
                Ok(())
            })
        })
    }

    /// Whether it is an event of this runtime. Local.
    pub fn belongs_to(&self, runtime: &Runtime) -> bool {
        Arc::ptr_eq(&self.inner, &runtime.inner)
    }

    /// Whether the latest record has been reached; an event that was not recorded counts as reached. Local; never waits.
    pub fn query(&self) -> Result<bool> {
        self.inner.ready()?;
        let recorded = self.shared.recorded.load(Acquire);
        Ok(self.shared.reached.load(Acquire) >= recorded)
    }

    /// Waits until the latest record has been reached.
    ///
    /// Local; waits for the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.ready()?;
        self.await_ticket(&self.inner, self.shared.recorded.load(Acquire))
    }

    /// The time from this event to `end`; zero if `end` came first. An error unless both were recorded and reached. Local; never waits.
    pub fn elapsed(&self, end: &Event) -> Result<Duration> {
        for (argument, event) in [("start", self), ("end", end)] {
            if event.at().is_none() || !event.query()? {
                return Err(Error::invalid(
                    argument,
                    format!("{event:?}"),
                    "an event that was recorded and reached; synchronize it first",
                ));
            }
        }
        // One after the other: both may be the same event.
        let from = *self.at();
        let to = *end.at();
        Ok(from
            .zip(to)
            .map_or(Duration::ZERO, |(from, to)| to.duration_since(from)))
    }

    fn at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.shared
            .at
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    fn await_ticket(&self, inner: &Inner, ticket: u64) -> Result<()> {
        let wait = Wait {
            operation: Operation::EventSynchronize,
            target: Target::Stream { goal: ticket },
        };
        inner.wait(wait, || match self.shared.reached.load(Acquire) {
            reached if reached >= ticket => Ok(()),
            reached => Err(reached),
        })
    }
}

impl Runtime {
    /// A new stream.
    ///
    /// Local.
    #[track_caller]
    pub fn stream(&self) -> Result<Stream> {
        let stream = Stream::start(&self.inner)?;
        self.inner
            .note("stream", Resource::Stream, stream.number(), 0);
        Ok(stream)
    }

    /// A new event.
    ///
    /// Local.
    #[track_caller]
    pub fn event(&self) -> Event {
        let shared = Arc::new(Marks {
            recorded: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            at: Mutex::new(None),
        });
        self.inner.note_while("event", Resource::Event, &shared);
        Event {
            inner: Arc::clone(&self.inner),
            shared,
        }
    }
}
