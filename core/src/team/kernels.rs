//! The kernels of a PE's teams: how many there have been, whether they have run, and why one may have ended before it was done.

use super::{Team, TeamState, Teams};
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::Transport as _;
use crate::transport::cuda::EpochLook;
use crate::{Error, Result};
use std::cell::RefCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What a PE has put on its GPU for a team.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    /// Collectives that run once.
    once: AtomicU64,
    /// Collectives that were captured into graphs; how often those run nobody knows.
    captured: AtomicU64,
    /// Whether any was put on a stream of the program's.
    on_stream: AtomicBool,
}

impl Launches {
    /// One more.
    pub(crate) fn add(&self, captured: bool, on_stream: bool) {
        let count = if captured { &self.captured } else { &self.once };
        count.fetch_add(1, Relaxed);
        if on_stream {
            self.on_stream.store(true, Release);
        }
    }

    /// None any more: the number is another team's.
    pub(super) fn clear(&self) {
        self.once.store(0, Relaxed);
        self.captured.store(0, Relaxed);
        self.on_stream.store(false, Release);
    }

    /// How many: the same on every member that has called what the others have called.
    pub(super) fn count(&self) -> u64 {
        self.once.load(Relaxed) + self.captured.load(Relaxed)
    }

    /// Whether some may be under way although no call of the program's is.
    pub(super) fn on_stream(&self) -> bool {
        self.on_stream.load(Acquire)
    }
}

impl TeamState {
    /// Whether its kernels have run, by the counts of this PE's GPU: not those of graphs.
    pub(crate) fn have_run(&self, counts: &[u64]) -> bool {
        counts[self.index as usize] >= self.launches.once.load(Relaxed)
    }

    /// Whether graphs may run kernels of it that nobody counts.
    pub(crate) fn is_captured(&self) -> bool {
        self.launches.captured.load(Relaxed) != 0
    }
}

impl Teams {
    /// Those that there are.
    pub(crate) fn live(&self) -> impl Iterator<Item = &TeamState> {
        let is_live = |state: &&TeamState| state.handle.load(Acquire) != Team::INVALID.0;
        self.states.iter().filter(is_live)
    }
}

impl Inner {
    /// An error if what this PE has put on its GPU may have ended before it was done, or will never be done: kernels that wait for others
    /// leave when a PE is gone, when one has reported something, and when a member cannot take part in a collective.
    pub(crate) fn check_kernels(&self, operation: Operation) -> Result<()> {
        // What the kernels have found says more than that they have ended.
        self.transport.raw().failure()?;
        self.check_job(operation)?;
        self.check_stream_teams(operation)
    }

    /// An error if a member has left a team with collectives on streams half-way; its kernels here end.
    #[cold]
    pub(crate) fn check_stream_teams(&self, operation: Operation) -> Result<()> {
        let Some(cuda) = self.transport.cuda() else {
            return Ok(());
        };
        for team in self.teams.live().filter(|team| team.launches.on_stream()) {
            if let Err(error) = self.check_team(operation, team) {
                cuda.end_kernels_of(team.index);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Why the kernel of a blocking collective has ended before it was done.
    #[cold]
    pub(crate) fn why_ended(&self, operation: Operation, team: &TeamState) -> Error {
        let known = self
            .transport
            .raw()
            .failure()
            .and_then(|()| self.check_job(operation))
            .and_then(|()| self.check_team(operation, team));
        match known {
            Err(error) => error,
            Ok(()) => Error::Internal(format!(
                "the kernel of {} was ended, and nobody says why",
                operation.name()
            )),
        }
    }

    /// Waits until the collectives of a team that this PE has put on streams have run.
    pub(crate) fn await_launches(&self, operation: Operation, team: &TeamState) -> Result<()> {
        let Some(cuda) = self.transport.cuda() else {
            return Ok(());
        };
        let look = RefCell::new(EpochLook::new(cuda));
        self.wait_until_done(operation, &|| {
            let counts = look.borrow_mut().counts()?;
            Ok(counts.is_some_and(|counts| team.have_run(&counts)))
        })
    }
}
