//! The members of a team by their hosts.

use super::Members;
use super::Team;
use crate::Pe;
use crate::job::hosts::Hosts;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The members of one host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) host: usize,
    /// By their numbers in the team, in order. The first member exchanges messages with other
    /// hosts.
    pub(crate) members: Vec<Pe>,
}

/// The members of a team, by host, in the order of the first member of each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// The group of this PE.
    pub(crate) mine: usize,
    /// The group of each member, and its index there.
    pub(crate) positions: Vec<(usize, usize)>,
}

impl Groups {
    pub(crate) fn new(members: &Members, hosts: &Hosts) -> Groups {
        let mut positions: HashMap<usize, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut of_member = Vec::with_capacity(members.n_pes as usize);
        for member in 0..members.n_pes {
            let host = hosts.of(members.pe(member));
            let position = *positions.entry(host).or_insert(groups.len());
            if position == groups.len() {
                let members = Vec::new();
                groups.push(Group { host, members });
            }
            of_member.push((position, groups[position].members.len()));
            groups[position].members.push(member);
        }
        let mine = positions.get(&hosts.mine()).copied().unwrap_or(0);
        Groups {
            groups,
            mine,
            positions: of_member,
        }
    }

    /// The member of a group that receives data from a member of another group.
    pub(crate) fn receiver(&self, group: usize, from: Pe) -> Pe {
        let members = &self.groups[group].members;
        members[self.positions[from as usize].1 % members.len()]
    }
}

/// The groups of the teams that a PE has met on: by team number, the team's handle and its groups.
#[derive(Default)]
pub(crate) struct Grouped(Mutex<HashMap<u32, (Team, Arc<Groups>)>>);

impl Grouped {
    /// The groups of a team; `make` computes them at the first request.
    pub(crate) fn of(
        &self,
        index: u32,
        handle: Team,
        make: impl FnOnce() -> Groups,
    ) -> Arc<Groups> {
        let mut known = lock(&self.0);
        match known.get(&index) {
            Some((of, groups)) if *of == handle => Arc::clone(groups),
            _ => {
                let groups = Arc::new(make());
                known.insert(index, (handle, Arc::clone(&groups)));
                groups
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_grouped_by_host() {
        let ids = [1, 2, 1, 3, 2, 1].map(|id| [id; 16]);
        let hosts = Hosts::new(&ids, 4);
        let members = Members::of(vec![5, 4, 2, 1]);
        let all = Groups::new(&members, &hosts);
        // The second of one host is taken by the second of another.
        assert_eq!([0, 2].map(|member| all.receiver(1, member)), [1, 3]);
        let Groups {
            groups,
            mine,
            positions,
        } = all;
        assert_eq!(positions, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        let seen: Vec<_> = groups
            .iter()
            .map(|group| (group.host, &group.members[..]))
            .collect();
        assert_eq!(seen, [(0, &[0, 2][..]), (1, &[1, 3])]);
        assert_eq!(mine, 1);
        let grouped = Grouped::default();
        let make = || Groups::new(&members, &hosts);
        let first = grouped.of(7, Team(1), make);
        assert!(Arc::ptr_eq(&first, &grouped.of(7, Team(1), make)));
        assert!(!Arc::ptr_eq(&first, &grouped.of(7, Team(2), make)));
    }
}
