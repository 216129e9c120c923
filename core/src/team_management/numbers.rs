//! Frees the numbers of destroyed teams.

use super::NAMES;
use crate::job::block::MAX_TEAMS;
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::{Error, Pe};

impl Inner {
    /// Frees the number of a team whose collectives all members have completed.
    pub(super) fn free_number(&self, state: &TeamState) {
        self.end_for_kernels(state);
        if let Some(own) = self.transport.collectives() {
            own.end_team(state.index);
        }
        self.teams.give_back(state.index as usize);
    }

    /// Removes the team from the tables of kernels.
    fn end_for_kernels(&self, state: &TeamState) {
        if let Some(tables) = self.transport.any().device_tables() {
            tables.end_team(state.index);
        }
    }

    /// As [`free_number`](Inner::free_number), for a broken team. If the transport runs collectives itself, the number may not be used
    /// again.
    pub(super) fn free_broken(&self, state: &TeamState) {
        self.end_for_kernels(state);
        match self.transport.collectives() {
            Some(own) if !own.give_up_team(state.index) => self.teams.lose(),
            _ => self.teams.give_back(state.index as usize),
        }
    }

    /// The error of a PE without a free number for a new team.
    #[cold]
    pub(super) fn exhausted(&self, pe: Pe) -> Error {
        let lost = match self.teams.lost() {
            0 => String::new(),
            lost => format!(
                "; {lost} of this PE's numbers were those of teams that a member left half-way, which are not used again on GPUs before \
                 the next init"
            ),
        };
        Error::NotSupported(format!(
            "PE {pe} has no team number left that the other members have, too: a PE can be a member of {MAX_TEAMS} teams at a \
             time, the {} predefined ones included: destroy some{lost}",
            NAMES.len()
        ))
    }
}
