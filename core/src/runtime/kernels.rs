//! The kernels of a PE's teams: why one may have ended before it was done.

use super::Inner;
use crate::operation::Operation;
use crate::team::TeamState;
use crate::{Error, Result};

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
}
