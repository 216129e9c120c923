//! Teams.
//!
//! The predefined teams of a job on one host all hold every PE of the job, in the job's order; each has its own place to meet.

use crate::runtime::Inner;
use crate::wait::Operation;
use crate::{Error, Pe, Result, Runtime, pe};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A team's handle: index in the low 32 bits, generation in the high ones (0 for the predefined teams).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Team(u64);

impl Team {
    /// All PEs of the job.
    pub const WORLD: Team = Team(0);
    /// The PEs whose heaps load and store can reach from this PE.
    pub const SHARED: Team = Team(1);
    /// The PEs on the same host as this PE.
    pub const NODE: Team = Team(2);

    /// The handle with this number in the C ABI. It is checked when it is used.
    #[inline]
    pub fn from_number(number: u64) -> Team {
        Team(number)
    }

    /// The handle's number in the C ABI.
    pub fn number(self) -> u64 {
        self.0
    }
}

const NAMES: [&str; 3] = ["WORLD", "SHARED", "NODE"];

/// The name of the team with an index.
pub(crate) fn name(index: u64) -> &'static str {
    NAMES.get(index as usize).copied().unwrap_or("unknown team")
}

/// A team, as one of its members knows it.
pub(crate) struct TeamState {
    pub(crate) index: u32,
    pub(crate) my_pe: Pe,
    pub(crate) n_pes: Pe,
    /// The last epoch this PE has entered.
    pub(crate) epoch: AtomicU64,
    /// A thread of this PE is inside a collective.
    pub(crate) busy: AtomicBool,
}

impl TeamState {
    pub(crate) fn predefined(my_pe: Pe, n_pes: Pe) -> Vec<TeamState> {
        (0..NAMES.len() as u32)
            .map(|index| TeamState {
                index,
                my_pe,
                n_pes,
                epoch: AtomicU64::new(0),
                busy: AtomicBool::new(false),
            })
            .collect()
    }
}

impl Inner {
    /// The team that a handle names.
    #[inline]
    pub(crate) fn team(&self, team: Team) -> Result<&TeamState> {
        self.teams
            .get(usize::try_from(team.0).unwrap_or(usize::MAX))
            .ok_or(Error::BadHandle {
                argument: "team",
                handle: team.0,
                expected: "team of this runtime",
            })
    }

    /// An error if a member left a collective of the team half-way.
    pub(crate) fn check_team(&self, operation: Operation, index: u32) -> Result<()> {
        match self
            .control
            .team(index.into())
            .broken
            .load(std::sync::atomic::Ordering::Acquire)
        {
            0 => Ok(()),
            left => Err(Error::TeamBroken {
                operation: operation.name(),
                pe: left as Pe - 1,
                team: name(index.into()),
            }),
        }
    }
}

impl Runtime {
    /// This PE's number in a team, or -1 if it is not a member. Local. OpenSHMEM 1.5 section 9.4.1.
    pub fn team_my_pe(&self, team: Team) -> Result<Pe> {
        self.inner.ready()?;
        Ok(self.inner.team(team)?.my_pe)
    }

    /// The number of PEs in a team. Local. OpenSHMEM 1.5 section 9.4.2.
    pub fn team_n_pes(&self, team: Team) -> Result<Pe> {
        self.inner.ready()?;
        Ok(self.inner.team(team)?.n_pes)
    }

    /// The number in `dest_team` of the PE that is `src_pe` in `src_team`, or -1 if it is not a member there. Local.
    /// OpenSHMEM 1.5 section 9.4.4.
    pub fn team_translate_pe(&self, src_team: Team, src_pe: Pe, dest_team: Team) -> Result<Pe> {
        self.inner.ready()?;
        let src = self.inner.team(src_team)?;
        let dest = self.inner.team(dest_team)?;
        pe::check("src_pe", src_pe, src.n_pes)?;
        // Every team of a job on one host numbers the PEs alike.
        Ok(if src_pe < dest.n_pes { src_pe } else { -1 })
    }
}
