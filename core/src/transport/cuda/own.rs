//! The library's own stream: a call puts its work there, and waits until it is done with all that ends a wait of this PE.
//!
//! Most work is done in some microseconds, so a call asks the driver for those without a pause. Then it waits as everything else does,
//! because streams of the program's that wait may have all queues of the GPU, and nothing of ours starts.
//!
//! A call that gives up leaves its work on the stream. So no call's work uses memory there that the program has back (`copies.rs`);
//! the next call puts nothing there before that work is done; and quiet, hence each meeting, waits for it.

use super::CudaTransport;
use super::streams::CudaEvent;
use crate::transport::Lane;
use crate::wait::{Operation, Target, Wait, now_ns};
use crate::{Error, Result};
use cudarc::driver::sys::CUstream;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// How long a call asks without a pause.
const BUSY: Duration = Duration::from_micros(50);
/// So soon after the stream was seen idle it has its turn still: less than it takes to put work on as many streams as there are queues.
const STILL: u64 = 10_000;

/// What is known of the stream.
#[derive(Default)]
pub(super) struct Own {
    /// Threads that ask without a pause.
    asking: AtomicU32,
    /// When a call has seen its work done, in ns on the monotonic clock.
    seen: AtomicU64,
    /// Whether a call has given up work that may not be done.
    given_up: AtomicBool,
    /// What was put there and not waited for: how often, and how much of it is done for sure.
    issued: AtomicU64,
    completed: AtomicU64,
}

/// Why a call has given up, and an event behind what it has left on its lane; none if nobody will know when that is done.
pub(super) struct GivenUp {
    pub(super) error: Error,
    pub(super) end: Option<CudaEvent>,
}

fn of(operation: Operation) -> Wait {
    let target = Target::Device;
    Wait { operation, target }
}

impl CudaTransport {
    pub(super) fn stream(&self, lane: Lane) -> CUstream {
        match lane {
            Lane::Blocking => self.device.stream(),
            Lane::Stream(stream) => stream as CUstream,
        }
    }

    /// The stream of a lane, for something new: the library's own when what was given up there is done.
    #[inline]
    pub(super) fn begin(&self, lane: Lane, operation: Operation) -> Result<CUstream> {
        if lane == Lane::Blocking && self.own.given_up.load(Acquire) {
            self.wait(of(operation), &|| self.is_idle())?;
            self.own.given_up.store(false, Release);
        }
        Ok(self.stream(lane))
    }

    /// Whether something new on the library's own stream would come behind work that was given up, without a wait.
    pub(super) fn is_held_up(&self) -> Result<bool> {
        Ok(self.own.given_up.load(Acquire) && !self.is_idle()?)
    }

    /// Waits until a blocking operation is done.
    #[inline]
    pub(super) fn finish(&self, lane: Lane, operation: Operation) -> Result<()> {
        match lane {
            Lane::Blocking => self.await_own(operation),
            Lane::Stream(_) => Ok(()),
        }
    }

    /// Waits until what is on the library's own stream now is done.
    pub(super) fn await_own(&self, operation: Operation) -> Result<()> {
        let (own, stream) = (&self.own, self.device.stream());
        let alone = own.asking.fetch_add(1, Relaxed) == 0;
        let until = Instant::now() + BUSY;
        // Between two threads' operations the stream may never be idle; then each waits for an event of its own.
        let again = || alone && own.asking.load(Relaxed) == 1 && Instant::now() < until;
        let idle = self.device.is_idle_soon(stream, again);
        own.asking.fetch_sub(1, Relaxed);
        match idle {
            Ok(true) => {
                own.seen.store(now_ns(), Relaxed);
                Ok(())
            }
            Ok(false) => self.await_here(Lane::Blocking, operation),
            Err(error) => Err(self.give_up(error)),
        }
    }

    /// Waits until a stream has come to here.
    pub(super) fn await_here(&self, lane: Lane, operation: Operation) -> Result<()> {
        let stream = self.stream(lane);
        let come = self.mark_here(stream).and_then(|mark| {
            match lane {
                Lane::Blocking => self.wait(of(operation), &|| mark.query())?,
                Lane::Stream(_) => self.await_mark(&mark)?,
            }
            self.give_mark_back(mark);
            Ok(())
        });
        match (lane, come) {
            (Lane::Blocking, Ok(())) => {
                self.own.seen.store(now_ns(), Relaxed);
                Ok(())
            }
            (Lane::Blocking, Err(error)) => Err(self.give_up(error)),
            (Lane::Stream(_), come) => come,
        }
    }

    /// Waits until a stream of the program's has come to an event, with all that ends a wait of this PE.
    pub(super) fn await_mark(&self, mark: &CudaEvent) -> Result<()> {
        let wait = Wait {
            operation: Operation::StreamSynchronize,
            target: Target::Stream { goal: 0 },
        };
        self.wait(wait, &|| mark.query())
    }

    /// Waits until what a call has put on a lane is done.
    pub(super) fn see_done(
        &self,
        lane: Lane,
        operation: Operation,
    ) -> std::result::Result<(), GivenUp> {
        if lane == Lane::Blocking {
            return self.await_own(operation).map_err(|error| GivenUp {
                error,
                end: self.mark_here(self.stream(lane)).ok(),
            });
        }
        let mark = match self.mark_here(self.stream(lane)) {
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
    pub(super) fn mark_here(&self, stream: CUstream) -> Result<CudaEvent> {
        let mark = self.take_mark()?;
        mark.record_on(stream)?;
        Ok(mark)
    }

    /// Has later calls, quiet and meetings wait for what a call has given up.
    #[cold]
    fn give_up(&self, error: Error) -> Error {
        self.issue();
        self.own.given_up.store(true, Release);
        error
    }

    /// Waits until the library's own stream gets its turn, unless it had it just now: what is put there next is not held up by streams
    /// that wait. Only those that have taken the last queue since can do that.
    pub(super) fn await_turn(&self, operation: Operation) -> Result<()> {
        match self.has_turn() {
            true => Ok(()),
            false => self.await_here(Lane::Blocking, operation),
        }
    }

    /// Whether the library's own stream had its turn just now.
    pub(super) fn has_turn(&self) -> bool {
        now_ns().wrapping_sub(self.own.seen.load(Relaxed)) < STILL
    }

    /// Something was put on the library's own stream that nobody waits for: raised afterwards, so that who sees it sees that on the
    /// stream.
    pub(super) fn issue(&self) {
        self.own.issued.fetch_add(1, Release);
    }

    /// Waits for what [`issue`](CudaTransport::issue) has told of.
    pub(super) fn complete_own(&self) -> Result<()> {
        let issued = self.own.issued.load(Acquire);
        if self.own.completed.load(Acquire) < issued {
            self.await_own(Operation::Quiet)?;
            self.own.completed.fetch_max(issued, AcqRel);
        }
        Ok(())
    }

    /// Whether everything on the library's own stream has run.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.is_idle(self.device.stream())
    }
}
