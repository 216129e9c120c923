//! What a PE in finalize tells the members of its teams, if the heap is GPU memory: that it will come to no further collective.
//!
//! Who waits on the host sees that a PE has called finalize. A kernel that waits sees what the members have announced. So the PE
//! announces a call that matches no other in the place of its next collective on each team; a kernel that waits for that one ends with an
//! error that names the PE.

use super::signature;
use crate::Result;
use crate::operation::{ARGS, Operation};
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::transport::cuda::{CompletionCounts, CudaTransport};
use std::time::{Duration, Instant};

/// Between two looks at what the GPU has run, each of which copies a word per team.
const LOOK: Duration = Duration::from_micros(100);

/// How long a kernel that has reported an error has to leave.
const LEAVING: Duration = Duration::from_millis(500);

/// The teams whose members have not been told yet.
pub(crate) struct FinalizeNotice<'a> {
    inner: &'a Inner,
    teams: Vec<&'a TeamState>,
    looked: Option<Instant>,
    /// There if the heap is GPU memory.
    epochs: Option<CompletionCounts<'a>>,
    /// What went wrong first.
    told: Result<()>,
}

impl<'a> FinalizeNotice<'a> {
    pub(crate) fn new(inner: &'a Inner) -> FinalizeNotice<'a> {
        let others = |team: &&TeamState| team.n_pes() > 1;
        let cuda = inner.transport.cuda();
        let teams = match cuda {
            None => Vec::new(),
            Some(_) => inner.teams.live().filter(others).collect(),
        };
        FinalizeNotice {
            inner,
            teams,
            looked: None,
            epochs: cuda.map(CompletionCounts::new),
            told: Ok(()),
        }
    }

    /// Tells the members of those teams whose collectives have all run here. It must not come before a collective that was put on a
    /// stream, hence not while graphs may run.
    pub(crate) fn look(&mut self) -> Result<()> {
        let early = self.looked.is_some_and(|at| at.elapsed() < LOOK);
        if self.teams.is_empty() || early {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let (Some(cuda), Some(epochs)) = (self.inner.transport.cuda(), &mut self.epochs) else {
            return Ok(());
        };
        let ends = cuda.completion();
        let Some(counts) = epochs.counts()? else {
            return Ok(());
        };
        let (done, others) = self
            .teams
            .iter()
            .partition(|team| ends.have_run(team.index, &counts) && !ends.is_captured(team.index));
        self.teams = others;
        self.tell(done);
        Ok(())
    }

    /// Tells the rest: nothing is on this PE's streams any more, or nobody waits for it. The announcements have arrived when it returns.
    ///
    /// A kernel that has reported an error may be leaving still. It has announced its own call, which the announcement here would replace
    /// while others have not seen it; `idle` says when it has left.
    pub(crate) fn finish(mut self, idle: impl Fn() -> bool) -> Result<()> {
        let until = Instant::now() + LEAVING;
        while !self.teams.is_empty() && !idle() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let rest = std::mem::take(&mut self.teams);
        self.tell(rest);
        let Some(cuda) = self.inner.transport.cuda() else {
            return Ok(());
        };
        // The members' memory may go once all PEs are in finalize.
        let arrived = self
            .inner
            .wait_until_done(Operation::Finalize, &|| cuda.is_idle());
        self.told.and(arrived)
    }

    fn tell(&mut self, teams: Vec<&TeamState>) {
        let Some(cuda) = self.inner.transport.cuda() else {
            return;
        };
        for team in teams {
            let told = announce(cuda, team);
            if told.is_err() {
                // Then those who wait learn it on the host.
                self.inner.break_team(team);
            }
            self.told = std::mem::replace(&mut self.told, Ok(())).and(told);
        }
    }
}

fn announce(cuda: &CudaTransport, team: &TeamState) -> Result<()> {
    let device = team.device()?;
    let state = cuda.team_state(team.index);
    let sign = signature(Operation::Finalize, &[0; ARGS], true);
    cuda.announce_finalize(state, device, sign)
}
