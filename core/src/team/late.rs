//! Team numbers that have no team, but are out of use until a kernel of their last one has left: a broken team is destroyed without
//! waiting for what it has on streams.

use super::{NAMES, TeamState, Teams};
use crate::runtime::Inner;
use crate::transport::host::control::{MAX_TEAMS, TEAM_WORDS};
use crate::{Error, Pe};

impl Teams {
    /// Keeps a used number out of use.
    fn keep(&self, index: usize) {
        self.pool().late[index / 64] |= 1 << (index % 64);
    }

    /// The numbers that are kept; whoever takes them keeps them again, or gives them back.
    fn take_late(&self) -> [u64; TEAM_WORDS] {
        std::mem::take(&mut self.pool().late)
    }

    fn count_late(&self) -> u32 {
        self.pool().late.iter().map(|word| word.count_ones()).sum()
    }
}

impl Inner {
    /// Frees the number of a team that is no more, or keeps it out of use if a kernel of the team may still come. That one does nothing.
    pub(super) fn free_number(&self, state: &TeamState) {
        if let Some(cuda) = self.transport.cuda() {
            cuda.give_up_team(state.index);
        }
        self.free_or_keep(state);
    }

    fn free_or_keep(&self, state: &TeamState) {
        match self.transport.cuda() {
            Some(cuda) if cuda.is_under_way(state.index) => self.teams.keep(state.index as usize),
            _ => {
                self.take_off_device(state);
                self.teams.give_back(state.index as usize);
            }
        }
    }

    /// The numbers that no team of this PE has, and no kernel.
    pub(super) fn unused_numbers(&self) -> [u64; TEAM_WORDS] {
        let late = self.teams.take_late();
        for index in (0..MAX_TEAMS).filter(|index| late[index / 64] >> (index % 64) & 1 == 1) {
            self.free_or_keep(self.team_state(index as u32));
        }
        self.teams.unused()
    }

    /// The error of a PE that finds no number for a new team.
    #[cold]
    pub(super) fn exhausted(&self, pe: Pe) -> Error {
        let late = match self.teams.count_late() {
            0 => String::new(),
            late => format!(
                "; {late} of this PE's numbers were those of broken teams that have a collective on a stream which has not ended: let it"
            ),
        };
        Error::NotSupported(format!(
            "PE {pe} has no team number left that the other members have, too: a PE can be a member of {MAX_TEAMS} teams at a \
             time, the {} predefined ones included; destroy some{late}",
            NAMES.len()
        ))
    }
}
