//! Teams and their collectives on a GPU: one kernel for each collective, or two with copies between them.
//!
//! | file | contents |
//! |---|---|
//! | this file | the hooks for collectives, and the state of a team |
//! | [`run`] | how a collective becomes a kernel on a stream |
//! | [`engines`] | collectives by copy engines, between two kernels |
//! | [`completion`] | how the kernels of collectives end, and how the host learns of their end |
//! | [`finalize`] | the announcement of a PE in finalize to its teams |
//! | [`report`] | reports of kernels, as errors |
//! | [`sync_area`] | the memory by which the kernels of a team meet: arithmetic |

pub(crate) mod completion;
mod engines;
pub(crate) mod finalize;
mod report;
mod run;
pub(crate) mod sync_area;

use crate::CudaTransport;
use crate::buffer::LocalSource;
use crate::job::block::MAX_TEAMS;
use crate::job::published::{Target, Wait};
use crate::kernels::{TeamArgs, TeamLocal};
use crate::lock::lock;
use crate::operation::Operation;
use crate::transport::{Collective, Collectives, Meeting, Submission, Transport as _};
use crate::{Error, Pe, Result};
use completion::CompletionCounts;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// The bit that a member adds to its operation's number to announce that its own arguments are invalid. Both fit the 7 bits of a flag.
const REFUSED: u32 = 1 << 6;

/// A team of this PE.
struct OnGpu {
    /// The arguments of its kernels, or the reason why there are none.
    args: Result<TeamArgs>,
    members: Arc<[Pe]>,
    /// The epoch that precedes the team's first collective.
    base_epoch: u64,
}

/// The teams of this PE, by their numbers.
pub(crate) struct TeamTable(Box<[Mutex<Option<OnGpu>>]>);

impl TeamTable {
    pub(crate) fn new() -> TeamTable {
        TeamTable((0..MAX_TEAMS).map(|_| Mutex::default()).collect())
    }

    fn set(&self, index: u32, team: Option<OnGpu>) {
        *lock(&self.0[index as usize]) = team;
    }

    fn get<T>(&self, index: u32, read: impl FnOnce(&OnGpu) -> T) -> Result<T> {
        let team = lock(&self.0[index as usize]);
        let found = team.as_ref().map(read);
        found.ok_or_else(|| Error::Internal(format!("team {index} is not on the GPU")))
    }

    /// The PEs of a team.
    fn members(&self, index: u32) -> Result<Arc<[Pe]>> {
        self.get(index, |team| Arc::clone(&team.members))
    }

    /// Whether there is a team with a number.
    fn has(&self, index: u32) -> bool {
        lock(&self.0[index as usize]).is_some()
    }

    /// The numbers of the existing teams, each with its number of PEs.
    fn live(&self) -> impl Iterator<Item = (u32, usize)> {
        let teams = (0..).zip(&self.0);
        teams.filter_map(|(index, team)| Some((index, lock(team).as_ref()?.members.len())))
    }
}

impl CudaTransport {
    /// The operation that is announced by a member whose own arguments are wrong.
    fn refused(operation: Operation) -> u32 {
        operation as u32 | REFUSED
    }

    /// Writes the tables that the kernels of a team use, in this PE's memory.
    fn put_team(&self, index: u32, members: &[Pe], me: Pe, generation: u64) -> Result<TeamArgs> {
        let block = sync_area::block(self.sync_area(), index);
        let epoch = sync_area::epoch(self.sync_area(), index);
        let own = self.layout.address(self.me, 0);
        let generation = (generation % u64::from(TeamLocal::GIVEN_UP)) as u32;
        let team = TeamArgs::new(index, me, members, generation, own, epoch, block)?;
        let table = team.members().wrapping_sub(own);
        self.put_on(
            Submission::Blocking,
            self.me,
            table,
            LocalSource::from(members),
        )?;
        let local = [TeamLocal::new(generation)];
        let local = LocalSource::from(&local);
        self.put_on(Submission::Blocking, self.me, epoch.offset(), local)?;
        Ok(team)
    }

    /// Waits until the collectives of a team that this PE has put on streams have run.
    fn await_launches(&self, operation: Operation, team: u32) -> Result<()> {
        let look = RefCell::new(CompletionCounts::new(self));
        let wait = Wait {
            operation,
            target: Target::Stream { goal: 0 },
        };
        self.wait(wait, &|| {
            let counts = look.borrow_mut().counts()?;
            Ok(counts.is_some_and(|counts| self.completion.have_run(team, &counts)))
        })
    }
}

impl Collectives for CudaTransport {
    fn run(
        &self,
        submission: Submission,
        call: &Collective,
        meeting: &dyn Meeting,
    ) -> Option<Result<()>> {
        match (submission, call.operation) {
            // The meeting is the whole operation, or tells the members the length of each contribution.
            (Submission::Blocking, Operation::Barrier | Operation::Sync | Operation::Collect) => {
                None
            }
            (Submission::Blocking, _) => Some(
                meeting
                    .join(call.operation, call.args)
                    .and_then(|epoch| self.move_data(call, epoch, meeting)),
            ),
            (Submission::Stream(_), _) => Some(self.run_on_stream(submission, call, meeting)),
        }
    }

    fn move_data(&self, call: &Collective, epoch: u64, meeting: &dyn Meeting) -> Result<()> {
        let index = meeting.team_index();
        // On a stream of its own: another thread may be in a collective of another team.
        let launched = self.borrow_stream(index).and_then(|stream| {
            self.launch((stream.submission()?, Some(epoch)), call, meeting)?;
            Ok(stream)
        });
        let stream = match launched {
            Ok(stream) => stream,
            Err(error) => {
                // The other members' kernels wait for this member.
                meeting.break_team();
                return Err(error);
            }
        };
        let wait = Wait {
            operation: call.operation,
            target: Target::Team { index, epoch },
        };
        match self.wait(wait, &|| stream.is_over(epoch)) {
            Ok(()) => {
                stream.done();
                match self.completion.is_told(index) {
                    true => Err(self.why_ended(call.operation, index)),
                    false => self.failure(),
                }
            }
            Err(error) => {
                meeting.leave(&error);
                stream.abandon();
                Err(error)
            }
        }
    }

    fn refuse(&self, submission: Submission, operation: Operation, meeting: &dyn Meeting) -> bool {
        if submission == Submission::Blocking {
            return false;
        }
        if self
            .announce_refusal(submission, operation, meeting)
            .is_err()
        {
            // Members that wait then find the broken team on the host.
            meeting.break_team();
        }
        true
    }

    fn private_offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let end = address.checked_add(bytes).filter(|end| *end > address)?;
        let _current = self.device.enter().ok()?;
        self.is_private_memory(address, end)
            .then(|| address.wrapping_sub(self.layout.address(self.me, 0)))
    }

    fn private_bytes(&self, team: u32, collective: Operation) -> Result<u64> {
        self.most_private_bytes(team, collective)
    }

    /// Members of an earlier team may have left data in the block, which is cleared before any member of the new team can write there.
    fn clear_team(&self, team: u32) -> Result<()> {
        self.set_zero(
            sync_area::block(self.sync_area(), team),
            Operation::TeamInit,
        )?;
        self.all_have_run(team);
        self.completion.begin_team(team);
        Ok(())
    }

    fn make_team(&self, team: u32, members: &[Pe], me: Pe, base_epoch: u64) {
        let made = OnGpu {
            args: self.put_team(team, members, me, base_epoch),
            members: members.into(),
            base_epoch,
        };
        self.teams.set(team, Some(made));
    }

    /// A kernel of the team that a graph replays later reports that the team was destroyed. The blocking stream stores the generation
    /// before any work of the next team.
    fn end_team(&self, team: u32) {
        self.teams.set(team, None);
        self.end_generation(team, TeamLocal::NO_TEAM);
    }

    /// Ends the team's kernels; kernels that begin after the blocking stream has stored the generation do nothing. The number stays
    /// out of use: a late kernel of any member may write to the blocks that all members have for that number.
    fn give_up_team(&self, team: u32) -> bool {
        self.teams.set(team, None);
        self.end_generation(team, TeamLocal::GIVEN_UP);
        false
    }

    fn begun(&self, team: u32) -> u64 {
        self.completion.count(team)
    }

    fn await_team(&self, operation: Operation, team: u32) -> Option<Result<()>> {
        let some = self.completion.is_on_stream(team);
        some.then(|| self.await_launches(operation, team))
    }

    fn check_teams(&self, operation: Operation) -> Result<()> {
        // Called with each query of a stream: for most teams, the check reads one word.
        let on_streams = (0..MAX_TEAMS as u32).filter(|&team| self.completion.is_on_stream(team));
        for team in on_streams.filter(|&team| self.teams.has(team)) {
            if let Err(error) = self.owner()?.check_team(operation, team) {
                self.completion.end_kernels(team);
                return Err(error);
            }
        }
        Ok(())
    }
}
