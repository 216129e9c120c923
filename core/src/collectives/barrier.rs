//! Barrier and sync.

use crate::transport::host::control::ARGS;
use crate::wait::Operation;
use crate::{Result, Runtime, Team};

impl Runtime {
    /// Waits until every member has arrived, and completes all operations that the members issued before.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
    #[track_caller]
    pub fn barrier(&self, team: Team) -> Result<()> {
        let turn = self.inner.enter(team, Operation::Barrier)?;
        self.inner.transport.quiet_before_release("barrier");
        turn.join(Operation::Barrier, [0; ARGS], &[]).map(|_| ())
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
        let turn = self.inner.enter(team, Operation::Sync)?;
        turn.join(Operation::Sync, [0; ARGS], &[]).map(|_| ())
    }
}
