//! The numbers of teams that are no more.

use super::NAMES;
use crate::job::block::MAX_TEAMS;
use crate::runtime::Inner;
use crate::team::TeamState;
use crate::{Error, Pe};

impl Inner {
    /// Frees the number of a team whose collectives all members have done.
    pub(super) fn free_number(&self, state: &TeamState) {
        self.end_for_kernels(state);
        if let Some(own) = self.transport.collectives() {
            own.end_team(state.index);
        }
        self.teams.give_back(state.index as usize);
    }

    /// Kernels find no team at the number any more.
    fn end_for_kernels(&self, state: &TeamState) {
        if let Some(tables) = self.transport.any().device_tables() {
            tables.end_team(state.index);
        }
    }

    /// As [`free_number`](Inner::free_number), of a team that a member has left half-way. Where a transport does collectives itself, the
    /// number may have to stay out of use.
    pub(super) fn free_broken(&self, state: &TeamState) {
        self.end_for_kernels(state);
        match self.transport.collectives() {
            Some(own) if !own.give_up_team(state.index) => self.teams.lose(),
            _ => self.teams.give_back(state.index as usize),
        }
    }

    /// The error of a PE that finds no number for a new team.
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
