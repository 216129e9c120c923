//! How the kernels of a team's collectives end: how many have, what ends those that wait, and what tells those of other PEs that none
//! will follow.

use super::kernels::{self, CollectiveArgs, State, TeamArgs, TeamLocal};
use super::page::{STAGE, Stage};
use super::{CudaEvent, CudaTransport, sync};
use crate::Result;
use crate::buffer::LocalDest;
use crate::job::block::MAX_TEAMS;
use crate::operation::Operation;
use crate::transport::Lane;

/// Words from one team's count to the next one's.
const STEP: usize = sync::EPOCH as usize / 8;
/// Bytes of all counts.
const BYTES: usize = MAX_TEAMS * sync::EPOCH as usize;
const _: () = assert!(BYTES <= STAGE);

impl CudaTransport {
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
}

/// Looks at how many collectives of each team this PE's GPU has run. A look is a copy, which the library's own stream may come to late;
/// nobody waits for it.
pub(crate) struct EpochLook<'a> {
    cuda: &'a CudaTransport,
    under_way: Option<(Stage<'a>, CudaEvent)>,
}

impl<'a> EpochLook<'a> {
    pub(crate) fn new(cuda: &'a CudaTransport) -> EpochLook<'a> {
        EpochLook {
            cuda,
            under_way: None,
        }
    }

    /// The counts, by the teams' numbers, if the copy has come that was under way; else one is now.
    pub(crate) fn counts(&mut self) -> Result<Option<Vec<u64>>> {
        if self.under_way.is_none() {
            self.begin()?;
        }
        let Some((stage, end)) = self.under_way.take() else {
            return Ok(None);
        };
        if !end.query()? {
            self.under_way = Some((stage, end));
            return Ok(None);
        }
        self.cuda.give_mark_back(end);
        let mut words = vec![0_u64; MAX_TEAMS * STEP];
        stage.empty(0, &mut LocalDest::from(&mut words[..]));
        Ok(Some(words.chunks(STEP).map(TeamLocal::over).collect()))
    }

    /// Begins a copy, if there is a stage for it and the library's own stream goes on.
    fn begin(&mut self) -> Result<()> {
        let cuda = self.cuda;
        if cuda.is_held_up()? {
            return Ok(());
        }
        let Some(stage) = cuda.page.stage(Lane::Blocking)? else {
            return Ok(());
        };
        let from = sync::epoch(cuda.sync_area(), 0).offset();
        let from = cuda.layout.address(cuda.me, from);
        cuda.begin_copy(Lane::Blocking, stage.address(), from, BYTES)?;
        match cuda.mark_here(cuda.stream(Lane::Blocking)) {
            Ok(end) => self.under_way = Some((stage, end)),
            Err(error) => {
                stage.retire(None);
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Drop for EpochLook<'_> {
    fn drop(&mut self) {
        if let Some((stage, end)) = self.under_way.take() {
            stage.retire(Some(end));
        }
    }
}
