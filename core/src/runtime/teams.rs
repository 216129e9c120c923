//! The teams of a PE, as operations ask for them.

use super::Inner;
use crate::job::doorbell::ring_team;
use crate::job::remote::RemoteHosts;
use crate::job::{shared_words, stops, team};
use crate::operation::Operation;
use crate::team::{Team, TeamState};
use crate::{Error, Pe, Result};
use std::sync::atomic::Ordering::Acquire;

impl Inner {
    /// The team that a handle names.
    #[inline(always)]
    pub(crate) fn team(&self, team: Team) -> Result<&TeamState> {
        match self.teams.states.get(team.index()) {
            Some(state) if state.is(team) => Ok(state),
            _ => Err(no_team(team)),
        }
    }

    /// The team with a number, for messages and checks of this PE's own waits.
    pub(crate) fn team_state(&self, index: u32) -> &TeamState {
        &self.teams.states[index as usize]
    }

    /// An error if the team is broken.
    #[inline(always)]
    pub(crate) fn check_team(&self, operation: Operation, team: &TeamState) -> Result<()> {
        let block = self.control.block(team.row, self.my_pe);
        let broken = block.broken.load(Acquire);
        if broken == 0 || !team::breaks(broken, team.base_epoch()) {
            return Ok(());
        }
        // The member may have left because of an error of this PE's transport, or because of another PE: the caller should hear of that.
        self.transport.internal().failure()?;
        stops::check(&self.control, self.my_pe, operation)?;
        Err(team::broken(operation.name(), team.index, broken))
    }

    /// Notifies a member that its team is broken.
    pub(crate) fn mark_member_broken(&self, team: u32, pe: Pe, mark: u64) {
        let sent = |remote: &RemoteHosts| remote.send_broken(team, pe, mark);
        if !self.control.remote().is_some_and(sent) {
            shared_words::mark_broken(self.control.team(team, pe), mark);
        }
    }

    /// Marks a team as broken by this PE, for all members.
    #[cold]
    pub(crate) fn break_team(&self, team: &TeamState) {
        let mark = team.epoch_to_break() << 20 | (self.my_pe as u64 + 1);
        let members = team.members();
        // A member is to name the PE that is stopped, not this one.
        stops::forward(&self.control);
        for pe in (0..members.n_pes).map(|member| members.pe(member)) {
            self.mark_member_broken(team.index, pe, mark);
        }
        ring_team(&self.control);
    }
}

#[cold]
fn no_team(team: Team) -> Error {
    let expected = match team {
        Team::INVALID => "team of this PE: a split gives TEAM_INVALID to PEs that are no members",
        Team::GPU_LEADERS => {
            "team of this PE: only the first PE of each GPU is a member of GPU_LEADERS"
        }
        _ => "team of this PE: it was destroyed, or never made",
    };
    let found = match team {
        Team::INVALID => "TEAM_INVALID".to_string(),
        team if team.number() >> 32 == 0 => team::short_name(team.index() as u32),
        team => format!("a handle of team {}", team.index()),
    };
    Error::BadHandle {
        argument: "team",
        found,
        expected,
    }
}
