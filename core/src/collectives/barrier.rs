//! Barrier and sync.

use crate::operation::{ARGS, Operation};
use crate::transport::Task;
use crate::{Result, Runtime, Team};

impl Runtime {
    /// Waits until every member has arrived, and completes all operations that the members issued before.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
    #[track_caller]
    pub fn barrier(&self, team: Team) -> Result<()> {
        let collective = self.inner.enter(team, Operation::Barrier)?;
        let issued = (self.inner.transport).issue(self.submission, Operation::Barrier);
        let completed = issued.quiet_before_release();
        if let Err(error) = completed {
            return collective.refuse(self.submission, Operation::Barrier, error);
        }
        let (submission, operation) = (self.submission, Operation::Barrier);
        if let Some(done) = collective.offload(submission, operation, [0; ARGS], Task::default) {
            return done;
        }
        collective.join(operation, [0; ARGS], &[]).map(|_| ())
    }

    /// [`barrier`](Runtime::barrier) over all PEs.
    #[track_caller]
    pub fn barrier_all(&self) -> Result<()> {
        self.barrier(Team::WORLD)
    }

    /// Waits until every member has arrived; completes nothing.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.3.
    #[track_caller]
    pub fn sync(&self, team: Team) -> Result<()> {
        let collective = self.inner.enter(team, Operation::Sync)?;
        let (submission, operation) = (self.submission, Operation::Sync);
        if let Some(done) = collective.offload(submission, operation, [0; ARGS], Task::default) {
            return done;
        }
        collective.join(operation, [0; ARGS], &[]).map(|_| ())
    }
}
