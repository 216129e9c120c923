//! Barrier and sync.

use super::Call;
use crate::transport::Transport as _;
use crate::wait::Operation;
use crate::{Result, Runtime, Team};

impl Runtime {
    /// Waits until every member has arrived, and completes all operations that the members issued before.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
    pub fn barrier(&self, team: Team) -> Result<()> {
        let turn = self.inner.enter(team, Operation::Barrier)?;
        self.inner.transport.quiet_before_release();
        turn.meet(Call::plain(Operation::Barrier), &[]).map(|_| ())
    }

    /// [`barrier`](Runtime::barrier) over all PEs.
    pub fn barrier_all(&self) -> Result<()> {
        self.barrier(Team::WORLD)
    }

    /// Waits until every member has arrived; completes nothing.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.3.
    pub fn sync(&self, team: Team) -> Result<()> {
        let turn = self.inner.enter(team, Operation::Sync)?;
        turn.meet(Call::plain(Operation::Sync), &[]).map(|_| ())
    }
}
