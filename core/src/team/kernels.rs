//! The kernels of a PE's teams: waits until they have run, and why one may have ended before it was done.

use super::{Team, TeamState, Teams};
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::transport::cuda::CompletionCounts;
use crate::{Error, Result};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Acquire;

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
        self.transport.own().failure()?;
        self.check_job(operation)?;
        self.check_stream_teams(operation)
    }

    /// An error if a member has left a team with collectives on streams half-way; its kernels here end.
    #[cold]
    pub(crate) fn check_stream_teams(&self, operation: Operation) -> Result<()> {
        let Some(cuda) = self.transport.cuda() else {
            return Ok(());
        };
        let kernels = cuda.completion();
        for team in self
            .teams
            .live()
            .filter(|team| kernels.is_on_stream(team.index))
        {
            if let Err(error) = self.check_team(operation, team) {
                kernels.end_kernels(team.index);
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
            .own()
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
        let look = RefCell::new(CompletionCounts::new(cuda));
        self.wait_until_done(operation, &|| {
            let counts = look.borrow_mut().counts()?;
            Ok(counts.is_some_and(|counts| cuda.completion().have_run(team.index, &counts)))
        })
    }
}
