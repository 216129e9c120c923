//! What a PE in finalize tells the members of its teams, if the heap is GPU memory: that it will come to no further collective.
//!
//! Who waits on the host sees that a PE has called finalize. A kernel that waits sees what the members have announced. So the PE
//! announces a call that matches no other in the place of its next collective on each team; a kernel that waits for that one ends with an
//! error that names the PE.

use super::{ARGS, signature};
use crate::Result;
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::transport::Lane;
use crate::transport::cuda::CudaTransport;
use crate::wait::Operation;

impl Inner {
    /// The teams whose members shall be told.
    pub(crate) fn teams_to_leave(&self) -> Vec<&TeamState> {
        let others = |team: &&TeamState| team.n_pes() > 1;
        match self.transport.cuda() {
            None => Vec::new(),
            Some(_) => self.teams.live().filter(others).collect(),
        }
    }

    /// Tells the members of those teams whose collectives have all run here, and takes these out; of all if `drained`: this PE's streams
    /// are idle. It must not come before a collective that was put on a stream, hence not while graphs may run.
    pub(crate) fn take_leave(&self, teams: &mut Vec<&TeamState>, drained: bool) -> Result<()> {
        let Some(cuda) = self.transport.cuda() else {
            return Ok(());
        };
        if teams.is_empty() {
            return Ok(());
        }
        let done = self.have_run(teams)?;
        let mut done = done.into_iter();
        let mut told = Ok(());
        teams.retain(|team| {
            let run = done.next().unwrap_or(false) && !team.is_captured();
            if run || drained {
                let one = farewell(cuda, team);
                told = std::mem::replace(&mut told, Ok(())).and(one);
            }
            !run && !drained
        });
        // The members' memory may go once all PEs are in finalize.
        told.and(cuda.device().synchronize())
    }
}

fn farewell(cuda: &CudaTransport, team: &TeamState) -> Result<()> {
    let device = team.device()?;
    let state = cuda.team_state(team.index);
    let sign = signature(Operation::Finalize, &[0; ARGS], true);
    cuda.farewell(Lane::Blocking, state, device, sign)
}
