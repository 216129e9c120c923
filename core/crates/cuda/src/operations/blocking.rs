//! The blocking stream: a blocking call enqueues its work there and waits for it, within the limits of all waits of this PE.
//!
//! Most work completes within microseconds, so a call first polls the driver without a pause. Then it waits as other calls do:
//! streams of the program that wait may occupy all hardware queues of the GPU, so that no work of the library starts.
//!
//! A call that times out leaves its work on the stream. Therefore no call enqueues work that refers to memory which the program
//! gets back on return (`copies.rs`); the next call waits for that work before it enqueues its own; and quiet waits for it, and
//! so do barrier and calls that free memory.
//!
//! When a stream is full, the driver blocks the caller without a limit. Therefore the amount of work that no call waits for is
//! bounded.

use crate::clock::now_ns;
use crate::job::published::{Target, Wait};
use crate::operation::Operation;
use crate::streams::backpressure;
use crate::transport::Submission;
use crate::{CudaEvent, CudaTransport};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::cell::RefCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// How long a call polls without a pause.
const BUSY: Duration = Duration::from_micros(50);
/// The stream counts as free to run for this many nanoseconds after it was seen idle, unless waiting streams occupied the last
/// queue since.
const STILL: u64 = 10_000;
/// The maximum amount of work on the stream that no call waits for. The stream has room for about 1000 pieces; other threads may
/// need one each.
const MOST: u64 = 256;

/// The state of the blocking stream.
#[derive(Default)]
pub(crate) struct BlockingStream {
    /// Threads that poll without a pause.
    asking: AtomicU32,
    /// The time, in ns on the monotonic clock, at which a call last saw its work completed.
    seen: AtomicU64,
    /// The number of times that calls gave up work, and for how many of these the work has completed.
    given_up: AtomicU64,
    cleared: AtomicU64,
    /// The number of pieces enqueued without a wait, and how many of them have completed.
    issued: AtomicU64,
    completed: AtomicU64,
}

/// The error of a call that gave up, and an event behind the work that it left on its stream; without an event, the completion is
/// unknown.
pub(crate) struct GivenUp {
    pub(crate) error: Error,
    pub(crate) end: Option<CudaEvent>,
}

impl BlockingStream {
    /// Records that all work is complete that was issued before `issued` was read.
    fn see(&self, issued: u64) {
        self.seen.store(now_ns(), Relaxed);
        if self.completed.load(Acquire) < issued {
            self.completed.fetch_max(issued, AcqRel);
        }
    }
}

fn of(operation: Operation) -> Wait {
    let target = Target::Device;
    Wait { operation, target }
}

impl CudaTransport {
    pub(crate) fn stream(&self, submission: Submission) -> CUstream {
        self.device.stream_of(submission)
    }

    /// The stream for new work of a submission, once it has room; the blocking stream also once all abandoned work has completed.
    #[inline]
    pub(crate) fn begin(&self, submission: Submission, operation: Operation) -> Result<CUstream> {
        if submission == Submission::Blocking
            && self.blocking.completed.load(Acquire) < self.blocking.issued.load(Acquire)
        {
            self.await_room(operation)?;
        }
        self.apply_backpressure(submission, operation, 1)?;
        Ok(self.stream(submission))
    }

    /// Waits until the blocking stream has no abandoned work, and not too much other work.
    fn await_room(&self, operation: Operation) -> Result<()> {
        let blocking = &self.blocking;
        let given_up = blocking.given_up.load(Acquire);
        if blocking.cleared.load(Acquire) < given_up {
            let issued = blocking.issued.load(Acquire);
            self.wait(of(operation), &|| self.is_idle())?;
            blocking.cleared.fetch_max(given_up, AcqRel);
            blocking.see(issued);
        }
        let completed = blocking.completed.load(Acquire);
        match blocking.issued.load(Acquire).saturating_sub(completed) < MOST {
            true => Ok(()),
            false => self.await_here(Submission::Blocking, operation),
        }
    }

    /// Whether new work on the blocking stream would come behind abandoned work. Does not wait.
    pub(crate) fn is_held_up(&self) -> Result<bool> {
        let cleared = self.blocking.cleared.load(Acquire);
        Ok(cleared < self.blocking.given_up.load(Acquire) && !self.is_idle()?)
    }

    /// Waits until a blocking operation is complete; returns at once for a stream of the program.
    #[inline]
    pub(crate) fn finish(&self, submission: Submission, operation: Operation) -> Result<()> {
        match submission {
            Submission::Blocking => self.await_blocking(operation),
            Submission::Stream(_) => Ok(()),
        }
    }

    /// Waits until the current work on the blocking stream is complete.
    pub(crate) fn await_blocking(&self, operation: Operation) -> Result<()> {
        let (blocking, stream) = (&self.blocking, self.device.stream());
        let issued = blocking.issued.load(Acquire);
        let alone = blocking.asking.fetch_add(1, Relaxed) == 0;
        let until = Instant::now() + BUSY;
        // With operations of several threads the stream may never be idle; then each thread waits for an event of its own.
        let again = || alone && blocking.asking.load(Relaxed) == 1 && Instant::now() < until;
        let idle = self.device.is_idle_soon(stream, again);
        blocking.asking.fetch_sub(1, Relaxed);
        match idle {
            Ok(true) => {
                blocking.see(issued);
                Ok(())
            }
            Ok(false) => self.await_here(Submission::Blocking, operation),
            Err(error) => Err(self.give_up(error)),
        }
    }

    /// Waits until a stream has completed its current work.
    pub(crate) fn await_here(&self, submission: Submission, operation: Operation) -> Result<()> {
        let stream = self.stream(submission);
        let issued = self.blocking.issued.load(Acquire);
        let come = self.mark_here(stream).and_then(|mark| {
            match submission {
                Submission::Blocking => self.wait(of(operation), &|| mark.query())?,
                Submission::Stream(_) => self.await_mark(&mark)?,
            }
            self.give_mark_back(mark);
            Ok(())
        });
        match (submission, come) {
            (Submission::Blocking, Ok(())) => {
                self.blocking.see(issued);
                Ok(())
            }
            (Submission::Blocking, Err(error)) => Err(self.give_up(error)),
            (Submission::Stream(_), come) => come,
        }
    }

    /// Waits until a stream of the program has reached an event, within the limits of all waits of this PE.
    pub(crate) fn await_mark(&self, mark: &CudaEvent) -> Result<()> {
        let wait = Wait {
            operation: Operation::StreamSynchronize,
            target: Target::Stream { goal: 0 },
        };
        self.wait(wait, &|| mark.query())
    }

    /// Waits until the work that a call enqueued is complete.
    pub(crate) fn see_done(
        &self,
        submission: Submission,
        operation: Operation,
    ) -> std::result::Result<(), GivenUp> {
        if submission == Submission::Blocking {
            return self.await_blocking(operation).map_err(|error| GivenUp {
                error,
                end: self.mark_here(self.stream(submission)).ok(),
            });
        }
        let mark = match self.mark_here(self.stream(submission)) {
            Ok(mark) => mark,
            Err(error) => return Err(GivenUp { error, end: None }),
        };
        match self.await_mark(&mark) {
            Ok(()) => {
                self.give_mark_back(mark);
                Ok(())
            }
            Err(error) => Err(GivenUp {
                error,
                end: Some(mark),
            }),
        }
    }

    /// Records an event behind the current work of a stream.
    pub(crate) fn mark_here(&self, stream: CUstream) -> Result<CudaEvent> {
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(mark)
    }

    /// Makes later calls, quiet and meetings wait for the work that a call gave up.
    #[cold]
    fn give_up(&self, error: Error) -> Error {
        self.issue();
        self.blocking.given_up.fetch_add(1, Release);
        error
    }

    /// Runs an operation that enqueues several pieces; after an error, some of them may be on the stream.
    pub(crate) fn in_parts(
        &self,
        submission: Submission,
        parts: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        parts().map_err(|error| match submission {
            Submission::Blocking => self.give_up(error),
            Submission::Stream(_) => error,
        })
    }

    /// Enqueues each of several pieces when the stream has room for it.
    pub(crate) fn each<T>(
        &self,
        (submission, operation): (Submission, Operation),
        many: impl Iterator<Item = T>,
        mut put: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.in_parts(submission, || {
            for one in many {
                self.begin(submission, operation)?;
                put(one)?;
                if submission == Submission::Blocking {
                    self.issue();
                }
            }
            Ok(())
        })
    }

    /// Waits until a resource that threads share is available.
    pub(crate) fn take<T>(
        &self,
        operation: Operation,
        one: impl Fn() -> Result<Option<T>>,
    ) -> Result<T> {
        if let Some(one) = one()? {
            return Ok(one);
        }
        let found = RefCell::new(None);
        // The wait may call the closure again after it returned true.
        self.wait(of(operation), &|| {
            let mut found = found.borrow_mut();
            if found.is_none() {
                *found = one()?;
            }
            Ok(found.is_some())
        })?;
        let none = || Error::Internal("a wait for a shared resource ended too early".into());
        found.into_inner().ok_or_else(none)
    }

    /// Waits until the blocking stream can run new work, as far as an event shows that: then waiting streams no longer hold it
    /// up, except streams that occupied the last queue since. Returns at once if the stream ran work just now.
    pub(crate) fn await_turn(&self, operation: Operation) -> Result<()> {
        match self.has_turn() {
            true => Ok(()),
            false => self.await_here(Submission::Blocking, operation),
        }
    }

    /// Whether the blocking stream ran work just now.
    pub(crate) fn has_turn(&self) -> bool {
        now_ns().wrapping_sub(self.blocking.seen.load(Relaxed)) < STILL
    }

    /// Records that a wait is about to be enqueued: on another stream, it may occupy the last hardware queue.
    pub(crate) fn lose_turn(&self, submission: Submission) {
        if submission != Submission::Blocking {
            self.blocking.seen.store(0, Relaxed);
        }
    }

    /// Counts a piece of work on the blocking stream that no call waits for. The counter is raised after the work is enqueued, so
    /// a thread that sees the new value finds the work on the stream.
    pub(crate) fn issue(&self) {
        self.issue_copied(0);
    }

    /// As [`issue`](CudaTransport::issue), after the driver has buffered `bytes` bytes.
    pub(crate) fn issue_copied(&self, bytes: usize) {
        self.blocking
            .issued
            .fetch_add(1 + backpressure::pieces(bytes), Release);
    }

    /// Waits for the work that [`issue`](CudaTransport::issue) counted.
    pub(crate) fn complete_blocking(&self) -> Result<()> {
        // Quiet enqueues nothing behind abandoned work, so that quiets that time out do not fill the stream.
        self.begin(Submission::Blocking, Operation::Quiet)?;
        match self.blocking.completed.load(Acquire) < self.blocking.issued.load(Acquire) {
            true => self.await_blocking(Operation::Quiet),
            false => Ok(()),
        }
    }

    /// Whether the blocking stream is empty.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.is_idle(self.device.stream())
    }
}
