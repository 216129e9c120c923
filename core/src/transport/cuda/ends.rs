//! How the kernels of a team's collectives end: how many have, what ends those that wait, and what tells those of other PEs that none
//! will follow.

use super::kernels::{self, CollectiveArgs, State, TeamArgs};
use super::{CudaTransport, sync};
use crate::Result;
use crate::heap::sym::LocalDest;
use crate::transport::Lane;
use crate::transport::host::control::MAX_TEAMS;
use crate::wait::Operation;

/// Words from one team's count to the next one's.
const STEP: usize = sync::EPOCH as usize / 8;

impl CudaTransport {
    /// How many collectives of each team this PE's GPU has run, by the teams' numbers.
    pub(crate) fn epochs(&self) -> Result<Vec<u64>> {
        let mut words = vec![0_u64; MAX_TEAMS * STEP];
        let place = sync::epoch(self.sync_area(), 0).offset();
        self.get(
            Lane::Blocking,
            self.me,
            place,
            LocalDest::from(&mut words[..]),
        )?;
        Ok(words.into_iter().step_by(STEP).collect())
    }

    /// Whether what is put on a lane becomes part of a graph.
    pub(crate) fn is_captured(&self, lane: Lane) -> bool {
        match lane {
            Lane::Blocking => false,
            // Where the driver cannot tell, no kernel is counted on.
            Lane::Stream(_) => self.device.is_captured(self.stream(lane)).unwrap_or(true),
        }
    }

    /// Ends the kernels of a team's collectives that wait.
    pub(crate) fn end_kernels_of(&self, index: u32) {
        self.page.end_team(index);
    }

    /// Whether the kernels of a team's collectives have been told to end, so that one that has run may not have done its work.
    pub(crate) fn is_ended(&self, index: u32) -> bool {
        self.page.is_ended(index)
    }

    /// Announces that this PE comes to no further collective of a team. Nothing on the program's streams holds it up: whoever calls this
    /// knows that the team's collectives have run, or that nobody waits for them.
    pub(crate) fn farewell(&self, state: State, team: TeamArgs, signature: u64) -> Result<()> {
        let mut args = CollectiveArgs::new(state, team, Operation::Finalize as u32, signature);
        // It does not wait for the others.
        args.count = 1;
        match kernels::plan(Operation::Barrier, None, 0, &team, 1) {
            Some(plan) => self.kernels.collective(self.device.stream(), plan, &args),
            None => Ok(()),
        }
    }

    /// Whether everything on the library's own stream has run.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.device.is_idle(self.device.stream())
    }
}
