//! Creating and destroying teams, which are collectives, and local queries of teams.

mod join;
mod numbers;
mod predefined;
mod split;

use crate::job::team::NAMES;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::team::{Claim, Members, Team, TeamConfig};
use crate::track::Resource;
use crate::{Pe, Result, Runtime};

impl Inner {
    /// Takes a number, unless another thread has taken it; clears the state of an earlier team.
    fn claim_team(&self, index: usize) -> Result<Option<Claim<'_>>> {
        let Some(claim) = self.teams.claim(index) else {
            return Ok(None);
        };
        if let Some(own) = self.transport.collectives() {
            own.clear_team(index as u32)?;
        }
        if let Some(tables) = self.transport.any().device_tables() {
            tables.clear_team(index as u32)?;
        }
        Ok(Some(claim))
    }

    /// Creates the state of a team in the transport, and for kernels.
    fn make_transport_team(&self, team: Team, members: &Members, my_pe: Pe, base_epoch: u64) {
        let (own, tables) = (
            self.transport.collectives(),
            self.transport.any().device_tables(),
        );
        if own.is_none() && tables.is_none() {
            return;
        }
        let pes: Vec<Pe> = (0..members.n_pes)
            .map(|member| members.pe(member))
            .collect();
        let index = team.index() as u32;
        if let Some(own) = own {
            own.make_team(index, &pes, my_pe, base_epoch);
        }
        if let Some(tables) = tables {
            tables.make_team(index, team.generation(), &pes, my_pe);
        }
    }
}

impl Runtime {
    /// Records in the ledger that the program has created a team.
    #[track_caller]
    fn note_team(&self, operation: Operation, team: Team) {
        self.inner.note(operation, Resource::Team, team.number(), 0);
    }

    /// This PE's number in a team; -1 for [`Team::INVALID`], and for [`Team::GPU_LEADERS`] on a PE that is not a member.
    /// Local. OpenSHMEM 1.5 section 9.4.1.
    pub fn team_my_pe(&self, team: Team) -> Result<Pe> {
        self.inner.ready()?;
        match self.is_none(team) {
            true => Ok(-1),
            false => Ok(self.inner.team(team)?.my_pe()),
        }
    }

    /// The number of PEs in a team; -1 for [`Team::INVALID`], and for [`Team::GPU_LEADERS`] on a PE that is not a member.
    /// Local. OpenSHMEM 1.5 section 9.4.2.
    pub fn team_n_pes(&self, team: Team) -> Result<Pe> {
        self.inner.ready()?;
        match self.is_none(team) {
            true => Ok(-1),
            false => Ok(self.inner.team(team)?.n_pes()),
        }
    }

    /// The number in `dest_team` of the PE that is `src_pe` in `src_team`; -1 if it is not a member there, or if one of the
    /// teams is [`Team::INVALID`], or [`Team::GPU_LEADERS`] on a PE that is not a member. Local. OpenSHMEM 1.5 section
    /// 9.4.5.
    pub fn team_translate_pe(&self, src_team: Team, src_pe: Pe, dest_team: Team) -> Result<Pe> {
        self.inner.ready()?;
        if self.is_none(src_team) || self.is_none(dest_team) {
            return Ok(-1);
        }
        let members = |argument, team| match self.inner.team(team) {
            Ok(state) => Ok(state.members()),
            Err(error) => Err(error.naming(argument)),
        };
        let src = members("src_team", src_team)?;
        let dest = members("dest_team", dest_team)?;
        crate::error::check_pe("src_pe", src_pe, src.n_pes)?;
        Ok(dest.member(src.pe(src_pe)).unwrap_or(-1))
    }

    /// The configuration of a team. Local. OpenSHMEM 1.5 section 9.4.4.
    pub fn team_config(&self, team: Team) -> Result<TeamConfig> {
        self.inner.ready()?;
        let state = self.inner.team(team)?;
        Ok(state.config())
    }

    /// As [`ptr`](Runtime::ptr), for the PE that is number `pe` in `team`. Local. OpenSHMEM 1.6 `shmem_team_ptr`.
    pub fn team_ptr(&self, team: Team, address: u64, pe: Pe) -> Result<Option<u64>> {
        self.inner.ready()?;
        let members = self.inner.team(team)?.members();
        crate::error::check_pe("pe", pe, members.n_pes)?;
        self.ptr(address, members.pe(pe))
    }
}
