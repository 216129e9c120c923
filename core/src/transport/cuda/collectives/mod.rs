//! Teams and their collectives on a GPU.
//!
//! | file | what it holds |
//! |---|---|
//! | this one | what the kernels of a team get, and their launches |
//! | [`completion`] | how the kernels of collectives end, and how the host finds that out |
//! | [`report`] | what a kernel has reported, as an error |
//! | [`sync_area`] | the memory by which the kernels of a team meet: arithmetic |

pub(crate) mod completion;
mod report;
pub(crate) mod sync_area;

use crate::buffer::LocalSource;
use crate::operation::Operation;
use crate::transport::Lane;
use crate::transport::cuda::CudaTransport;
use crate::transport::cuda::kernels::{CollectiveArgs, Plan, TeamArgs, TeamLocal};
use crate::{Pe, Result};

/// What a member announces in place of its operation's number when it could not accept its own arguments: this bit beside it. Both
/// have room in the 7 bits of a flag.
const REFUSED: u32 = 1 << 6;

impl CudaTransport {
    /// Clears what the other members of an earlier team have left at a number, before any member of the next one can write there.
    ///
    /// Local; before the meeting after which the new team's members may use it.
    pub(crate) fn clear_team(&self, index: u32) -> Result<()> {
        self.set_zero(
            sync_area::block(self.sync_area(), index),
            Operation::TeamInit,
        )?;
        self.all_have_run(index);
        self.completion.begin_team(index);
        Ok(())
    }

    /// Makes what the kernels of a team need. `generation`: how many teams had the number before. `members`: their PEs.
    pub(crate) fn make_team(
        &self,
        index: u32,
        members: &[i32],
        me: Pe,
        generation: u64,
    ) -> Result<TeamArgs> {
        let block = sync_area::block(self.sync_area(), index);
        let epoch = sync_area::epoch(self.sync_area(), index);
        let own = self.layout.address(self.me, 0);
        let generation = (generation % u64::from(TeamLocal::GIVEN_UP)) as u32;
        let team = TeamArgs::new(index, me, members, generation, own, epoch, block)?;
        let table = team.members().wrapping_sub(own);
        self.put(Lane::Blocking, self.me, table, LocalSource::from(members))?;
        let local = [TeamLocal::new(generation)];
        self.put(
            Lane::Blocking,
            self.me,
            epoch.offset(),
            LocalSource::from(&local),
        )?;
        Ok(team)
    }

    /// Puts a collective of a team on a lane, after the team's earlier ones, unless it becomes part of a graph: what comes before it there
    /// is the program's affair. False: nothing was put there, because nobody can mark the end of the one before; it must have run first.
    pub(crate) fn collective(
        &self,
        lane: Lane,
        captured: bool,
        plan: Plan,
        args: &CollectiveArgs,
    ) -> Result<bool> {
        let (team, stream) = (args.team_index(), self.stream(lane));
        if !captured && !self.take_turn(team, stream)? {
            return Ok(false);
        }
        self.kernels().collective(stream, plan, args)?;
        if !captured {
            self.end_turn(team, stream)?;
        }
        Ok(true)
    }

    /// The operation that is announced by a member whose own arguments are wrong.
    pub(crate) fn refused(operation: Operation) -> u32 {
        operation as u32 | REFUSED
    }
}
