//! The blocking stream: a call puts its work there, and waits until it is done with all that ends a wait of this PE.
//!
//! Most work is done in some microseconds, so a call asks the driver for those without a pause. Then it waits as everything else does,
//! because streams of the program's that wait may have all queues of the GPU, and nothing of ours starts.
//!
//! A call that gives up leaves its work on the stream. So no call's work uses memory there that the program has back (`copies.rs`);
//! the next call puts nothing there before that work is done; and quiet waits for it, hence barrier and what frees memory.
//!
//! A stream that is full makes the driver wait, which nothing ends. So of what nobody waits for, only some is on the stream at a time.

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

/// How long a call asks without a pause.
const BUSY: Duration = Duration::from_micros(50);
/// So many ns after the stream was seen idle it has its turn still, unless streams that wait have taken the last queue in that time.
const STILL: u64 = 10_000;
/// Pieces of work on the stream that nobody waits for. It has room for some 1000, of which other threads may need one each.
const MOST: u64 = 256;

/// What is known of the stream.
#[derive(Default)]
pub(crate) struct BlockingStream {
    /// Threads that ask without a pause.
    asking: AtomicU32,
    /// When a call has seen its work done, in ns on the monotonic clock.
    seen: AtomicU64,
    /// How often a call has given up work, and how many times' work is done for sure.
    given_up: AtomicU64,
    cleared: AtomicU64,
    /// What was put there and not waited for, given up or not: how many pieces, and how many of them are done for sure.
    issued: AtomicU64,
    completed: AtomicU64,
}

/// Why a call has given up, and an event behind what it has left on its stream; none if nobody will know when that is done.
pub(crate) struct GivenUp {
    pub(crate) error: Error,
    pub(crate) end: Option<CudaEvent>,
}

impl BlockingStream {
    /// All is done that was issued before `issued` was read.
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

    /// The stream of a submission, for new work, when there is room; the blocking one when what was given up there is done.
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

    /// Waits until something new on the blocking stream is behind nothing that was given up, and not behind too much.
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

    /// Whether something new on the blocking stream would come behind work that was given up, without a wait.
    pub(crate) fn is_held_up(&self) -> Result<bool> {
        let cleared = self.blocking.cleared.load(Acquire);
        Ok(cleared < self.blocking.given_up.load(Acquire) && !self.is_idle()?)
    }

    /// Waits until a blocking operation is done.
    #[inline]
    pub(crate) fn finish(&self, submission: Submission, operation: Operation) -> Result<()> {
        match submission {
            Submission::Blocking => self.await_blocking(operation),
            Submission::Stream(_) => Ok(()),
        }
    }

    /// Waits until what is on the blocking stream now is done.
    pub(crate) fn await_blocking(&self, operation: Operation) -> Result<()> {
        let (blocking, stream) = (&self.blocking, self.device.stream());
        let issued = blocking.issued.load(Acquire);
        let alone = blocking.asking.fetch_add(1, Relaxed) == 0;
        let until = Instant::now() + BUSY;
        // Between two threads' operations the stream may never be idle; then each waits for an event of its own.
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

    /// Waits until a stream has come to here.
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

    /// Waits until a stream of the program's has come to an event, with all that ends a wait of this PE.
    pub(crate) fn await_mark(&self, mark: &CudaEvent) -> Result<()> {
        let wait = Wait {
            operation: Operation::StreamSynchronize,
            target: Target::Stream { goal: 0 },
        };
        self.wait(wait, &|| mark.query())
    }

    /// Waits until what a call has put on a stream is done.
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

    /// An event at the end of what is on a stream now.
    pub(crate) fn mark_here(&self, stream: CUstream) -> Result<CudaEvent> {
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(mark)
    }

    /// Has later calls, quiet and meetings wait for what a call has given up.
    #[cold]
    fn give_up(&self, error: Error) -> Error {
        self.issue();
        self.blocking.given_up.fetch_add(1, Release);
        error
    }

    /// Does something in parts on a stream, of which an error may leave some there.
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

    /// Puts each of many on a stream, when there is room for it.
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

    /// Waits until there is one of what threads share.
    pub(crate) fn take<T>(
        &self,
        operation: Operation,
        one: impl Fn() -> Result<Option<T>>,
    ) -> Result<T> {
        if let Some(one) = one()? {
            return Ok(one);
        }
        let found = RefCell::new(None);
        // It may be asked again after it has said yes.
        self.wait(of(operation), &|| {
            let mut found = found.borrow_mut();
            if found.is_none() {
                *found = one()?;
            }
            Ok(found.is_some())
        })?;
        let none = || Error::Internal("a wait for something to take ended too early".into());
        found.into_inner().ok_or_else(none)
    }

    /// Waits until the blocking stream gets its turn, as far as an event shows that, unless it had it just now: what is put there next
    /// is not held up by streams that wait. Only those that have taken the last queue since can do that.
    pub(crate) fn await_turn(&self, operation: Operation) -> Result<()> {
        match self.has_turn() {
            true => Ok(()),
            false => self.await_here(Submission::Blocking, operation),
        }
    }

    /// Whether the blocking stream had its turn just now.
    pub(crate) fn has_turn(&self) -> bool {
        now_ns().wrapping_sub(self.blocking.seen.load(Relaxed)) < STILL
    }

    /// What waits is about to be put on a stream: on another stream, it may take the last queue.
    pub(crate) fn lose_turn(&self, submission: Submission) {
        if submission != Submission::Blocking {
            self.blocking.seen.store(0, Relaxed);
        }
    }

    /// Something was put on the blocking stream that nobody waits for: raised afterwards, so that who sees it sees that on the
    /// stream.
    pub(crate) fn issue(&self) {
        self.issue_copied(0);
    }

    /// As [`issue`](CudaTransport::issue), where the driver has copied so many bytes away.
    pub(crate) fn issue_copied(&self, bytes: usize) {
        self.blocking
            .issued
            .fetch_add(1 + backpressure::pieces(bytes), Release);
    }

    /// Waits for what [`issue`](CudaTransport::issue) has told of.
    pub(crate) fn complete_blocking(&self) -> Result<()> {
        // Behind what was given up it puts nothing, so that quiets that give up do not fill the stream.
        self.begin(Submission::Blocking, Operation::Quiet)?;
        match self.blocking.completed.load(Acquire) < self.blocking.issued.load(Acquire) {
            true => self.await_blocking(Operation::Quiet),
            false => Ok(()),
        }
    }

    /// Whether everything on the blocking stream has run.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.is_idle(self.device.stream())
    }
}
