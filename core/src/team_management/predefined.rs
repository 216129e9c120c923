//! The predefined teams, which follow from the topology.

use super::NAMES;
use crate::Runtime;
use crate::job::topology::Topology;
use crate::runtime::Inner;
use crate::team::{Members, Team};

impl Inner {
    /// Creates the predefined teams of which this PE is a member, once it knows the topology.
    pub(crate) fn make_predefined(&self, topology: &Topology) {
        for (index, state) in self.teams.states.iter().take(NAMES.len()).enumerate() {
            let team = Team::from_number(index as u64);
            let pes = match team {
                Team::SHARED | Team::NODE => topology.on_host_of(self.my_pe),
                Team::SAME_MYPE_NODE => topology.at_index_of(self.my_pe),
                Team::SAME_GPU => topology.on_gpu_of(self.my_pe),
                Team::GPU_LEADERS => topology.gpu_leaders(),
                _ => (0..self.n_pes).collect(),
            };
            let members = Members::of(pes);
            if let Some(my_pe) = members.member(self.my_pe) {
                state.set(&self.control, team, &members, my_pe, 0);
                self.make_transport_team(team, &members, my_pe, 0);
            }
        }
    }
}

impl Runtime {
    /// Whether a handle stands for no team: [`Team::INVALID`], or [`Team::GPU_LEADERS`] on a PE that is not a
    /// member.
    pub(super) fn is_none(&self, team: Team) -> bool {
        match team {
            Team::INVALID => true,
            Team::GPU_LEADERS => self.inner.team(team).is_err(),
            _ => false,
        }
    }
}
