//! Teams: ordered sets of PEs, as one PE knows its own.
//!
//! A team has a number below [`MAX_TEAMS`], on which its members agree when they create it ([`team_management`](crate::team_management)).
//! Each PE has slots of its own for each number, so teams without a common member may have the same number, and no other PE takes part. The
//! number is used again after the team is destroyed; its epochs continue, so marks of an earlier team in a slot are always older.

mod groups;

pub(crate) use groups::{Grouped, Groups};

use crate::job::block::{Control, MAX_TEAMS, Row, TEAM_WORDS};
use crate::job::hosts::Hosts;
use crate::job::shared_words;
use crate::job::team::NAMES;
use crate::{Error, Pe, Result};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::sync::{Arc, Mutex, RwLock};

/// The largest generation. NVSHMEM's handles have 31 bits: 8 for the number, and 23 for the generation.
const MAX_GENERATION: u64 = (1 << 23) - 1;

/// A team's handle: number in the low 32 bits, generation in the high ones (0 for the predefined teams).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Team(u64);

impl Team {
    /// All PEs of the job.
    pub const WORLD: Team = Team(0);
    /// The PEs whose heaps this PE can load from and store to.
    pub const SHARED: Team = Team(1);
    /// The PEs on the same host as this PE.
    pub const NODE: Team = Team(2);
    /// The PEs that have this PE's number on their own hosts: on one host, the PE itself.
    pub const SAME_MYPE_NODE: Team = Team(3);
    /// The PEs that use this PE's GPU for their heaps. A PE whose heap is in host memory is alone in it.
    pub const SAME_GPU: Team = Team(4);
    /// The PE with the lowest number of each GPU, and every PE whose heap is in host memory. For other PEs, which are not members, it
    /// equals [`Team::INVALID`], and an operation on it is an error.
    pub const GPU_LEADERS: Team = Team(5);
    /// No team.
    pub const INVALID: Team = Team(u64::MAX);

    /// The handle with this number in the C ABI. It is checked when it is used.
    #[inline]
    pub fn from_number(number: u64) -> Team {
        Team(number)
    }

    /// The handle's number in the C ABI.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }
}

/// The configuration of a team. OpenSHMEM 1.5 `shmem_team_config_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamConfig {
    /// Contexts that the team must support. There are no contexts in this version; the number is kept and returned.
    pub num_contexts: i32,
    /// The id by which the members of [`Runtime::team_init`] find each other.
    pub unique_id: u64,
}

/// The PEs of a team, by their numbers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) n_pes: Pe,
    start: Pe,
    stride: Pe,
    /// Only where no stride describes the team.
    list: Option<Arc<[Pe]>>,
}

impl Members {
    pub(crate) fn strided(start: Pe, stride: Pe, n_pes: Pe) -> Members {
        Members {
            n_pes,
            start,
            stride,
            list: None,
        }
    }

    pub(crate) fn listed(list: Vec<Pe>) -> Members {
        Members {
            n_pes: list.len() as Pe,
            start: 0,
            stride: 0,
            list: Some(list.into()),
        }
    }

    /// These PEs, in this order.
    pub(crate) fn of(pes: Vec<Pe>) -> Members {
        let start = pes[0];
        let stride = pes.get(1).map_or(1, |second| second - start);
        let strided = pes.windows(2).all(|pair| pair[1] - pair[0] == stride);
        if strided && stride != 0 {
            Members::strided(start, stride, pes.len() as Pe)
        } else {
            Members::listed(pes)
        }
    }

    /// The first PE, the distance to the next one, and the PEs where no distance describes them.
    pub(crate) fn parts(&self) -> (Pe, Pe, Option<&[Pe]>) {
        (self.start, self.stride, self.list.as_deref())
    }

    /// The PE that is member `member`.
    #[inline(always)]
    pub(crate) fn pe(&self, member: Pe) -> Pe {
        match &self.list {
            None => self.start + member * self.stride,
            Some(list) => list[member as usize],
        }
    }

    /// The number of `pe` in the team.
    pub(crate) fn member(&self, pe: Pe) -> Option<Pe> {
        (0..self.n_pes).find(|&member| self.pe(member) == pe)
    }

    /// Some of the members, by their numbers here: `start`, `start + stride`, ...
    pub(crate) fn pick(&self, start: Pe, stride: Pe, n_pes: Pe) -> Members {
        match &self.list {
            None => Members::strided(self.pe(start), self.stride * stride, n_pes),
            Some(_) => Members::listed((0..n_pes).map(|m| self.pe(start + m * stride)).collect()),
        }
    }
}

/// A PE's state of a team number.
pub(crate) struct TeamState {
    pub(crate) index: u32,
    pub(crate) row: Row,
    /// The handle of the team that has the number now, or that of [`Team::INVALID`].
    handle: AtomicU64,
    my_pe: AtomicI32,
    n_pes: AtomicI32,
    start: AtomicI32,
    stride: AtomicI32,
    listed: AtomicBool,
    list: RwLock<Option<Arc<[Pe]>>>,
    config: Mutex<TeamConfig>,
    /// The last epoch this PE has entered; it survives the team.
    epoch: AtomicU64,
    /// The epoch before the team's first one.
    base_epoch: AtomicU64,
    /// A thread of this PE is inside a collective.
    busy: AtomicBool,
}

impl TeamState {
    pub(crate) fn free(control: &Control, index: u32) -> TeamState {
        TeamState {
            index,
            row: control.row(index),
            handle: AtomicU64::new(Team::INVALID.0),
            my_pe: AtomicI32::new(-1),
            n_pes: AtomicI32::new(0),
            start: AtomicI32::new(0),
            stride: AtomicI32::new(0),
            listed: AtomicBool::new(false),
            list: RwLock::new(None),
            config: Mutex::new(TeamConfig::default()),
            epoch: AtomicU64::new(0),
            base_epoch: AtomicU64::new(0),
            busy: AtomicBool::new(false),
        }
    }

    /// The handle of the team that has the number now, or [`Team::INVALID`].
    pub(crate) fn handle(&self) -> Team {
        Team(self.handle.load(Acquire))
    }

    /// Whether a handle names the team that has the number now.
    #[inline(always)]
    pub(crate) fn is(&self, team: Team) -> bool {
        self.handle.load(Acquire) == team.0
    }

    /// Invalidates a team's handle; returns whether it was still the number's.
    pub(crate) fn take_handle(&self, team: Team) -> bool {
        let taken = self
            .handle
            .compare_exchange(team.0, Team::INVALID.0, AcqRel, Relaxed);
        taken.is_ok()
    }

    /// The team's configuration.
    pub(crate) fn config(&self) -> TeamConfig {
        *crate::lock::lock(&self.config)
    }

    /// A thread begins a collective; false while another thread is inside one.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        !self.busy.swap(true, Acquire)
    }

    /// The thread that is inside a collective leaves it.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.busy.store(false, Release);
    }

    /// The epoch that the next meeting will have.
    #[inline(always)]
    pub(crate) fn next_epoch(&self) -> u64 {
        self.epoch.load(Relaxed) + 1
    }

    /// Begins the next epoch.
    #[inline(always)]
    pub(crate) fn begin_epoch(&self) -> u64 {
        let epoch = self.next_epoch();
        self.epoch.store(epoch, Relaxed);
        epoch
    }

    /// This PE's number in the team.
    #[inline(always)]
    pub(crate) fn my_pe(&self) -> Pe {
        self.my_pe.load(Relaxed)
    }

    /// The number of PEs in the team.
    #[inline(always)]
    pub(crate) fn n_pes(&self) -> Pe {
        self.n_pes.load(Relaxed)
    }

    /// The PE that is member `member`, of a team without a list.
    #[inline(always)]
    pub(crate) fn strided_pe(&self, member: Pe) -> Pe {
        self.start.load(Relaxed) + member * self.stride.load(Relaxed)
    }

    /// The first and the last member, if a stride describes the team.
    #[inline(always)]
    fn ends(&self) -> Option<(Pe, Pe)> {
        let last = self.n_pes() - 1;
        (!self.listed.load(Relaxed)).then(|| (self.strided_pe(0), self.strided_pe(last)))
    }

    /// Whether all members are known to be on this PE's host, in a job on several hosts.
    #[inline]
    pub(crate) fn is_on_one_host(&self, hosts: &Hosts) -> bool {
        self.ends().is_some_and(|ends| hosts.holds(ends))
    }

    /// The members, where no stride describes them.
    #[inline(always)]
    pub(crate) fn list(&self) -> Option<Arc<[Pe]>> {
        match self.listed.load(Relaxed) {
            false => None,
            true => self.read_list(),
        }
    }

    #[cold]
    fn read_list(&self) -> Option<Arc<[Pe]>> {
        crate::lock::read(&self.list).clone()
    }

    pub(crate) fn members(&self) -> Members {
        Members {
            n_pes: self.n_pes(),
            start: self.start.load(Relaxed),
            stride: self.stride.load(Relaxed),
            list: self.list(),
        }
    }

    /// The epoch after which the team's first one comes.
    pub(crate) fn base_epoch(&self) -> u64 {
        self.base_epoch.load(Relaxed)
    }

    /// The team's last epoch, or its first one if there has been none: a mark of a broken team needs an epoch of that team.
    pub(crate) fn epoch_to_break(&self) -> u64 {
        self.epoch
            .load(Relaxed)
            .max(self.base_epoch().saturating_add(1))
    }

    /// Lets later teams with this number begin after `epoch`.
    pub(crate) fn skip_to(&self, epoch: u64) {
        self.epoch.fetch_max(epoch, Relaxed);
    }

    /// Makes this number the team of `members`, in which this PE has number `my_pe`.
    pub(crate) fn set(
        &self,
        control: &Control,
        handle: Team,
        members: &Members,
        my_pe: Pe,
        base_epoch: u64,
    ) {
        self.my_pe.store(my_pe, Relaxed);
        self.n_pes.store(members.n_pes, Relaxed);
        self.start.store(members.start, Relaxed);
        self.stride.store(members.stride, Relaxed);
        self.listed.store(members.list.is_some(), Relaxed);
        *crate::lock::write(&self.list) = members.list.clone();
        // A member that is slow to leave the last meeting of an earlier team with this number must see that this PE has gone on, before
        // anything else in the slot changes. Nobody looks for this epoch in this slot.
        let (me, last) = (members.pe(my_pe), self.epoch.load(Relaxed));
        let slot = control.slot(self.row, me, last);
        shared_words::advance_slot(slot, last + 1);
        self.epoch.store(base_epoch, Relaxed);
        self.base_epoch.store(base_epoch, Relaxed);
        let next = members.pe((my_pe + 1) % members.n_pes);
        shared_words::publish_membership(control.block(self.row, me), next, members.n_pes);
        self.handle.store(handle.0, Release);
    }
}

/// The teams of one PE.
pub(crate) struct Teams {
    pub(crate) states: Box<[TeamState]>,
    pool: Mutex<Pool>,
}

/// The team numbers that this PE uses.
struct Pool {
    used: [u64; TEAM_WORDS],
    /// The number of used numbers that no team has or will have.
    lost: u32,
    /// Makes handles of different teams different.
    generation: u64,
}

impl Teams {
    /// The numbers of a PE without teams; those of the predefined teams are reserved.
    pub(crate) fn new(control: &Control) -> Teams {
        let states: Box<[TeamState]> = (0..MAX_TEAMS as u32)
            .map(|index| TeamState::free(control, index))
            .collect();
        let mut used = [0; TEAM_WORDS];
        used[0] = (1 << NAMES.len()) - 1;
        Teams {
            states,
            pool: Mutex::new(Pool {
                used,
                lost: 0,
                generation: 0,
            }),
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Pool> {
        crate::lock::lock(&self.pool)
    }

    /// The numbers that no team of this PE has.
    pub(crate) fn unused(&self) -> [u64; TEAM_WORDS] {
        self.pool().used.map(|word| !word)
    }

    /// Takes a number, unless another thread has taken it.
    pub(crate) fn claim(&self, index: usize) -> Option<Claim<'_>> {
        let mut pool = self.pool();
        let (word, bit) = (&mut pool.used[index / 64], 1 << (index % 64));
        if *word & bit != 0 {
            return None;
        }
        *word |= bit;
        Some(Claim { teams: self, index })
    }

    pub(crate) fn give_back(&self, index: usize) {
        self.pool().used[index / 64] &= !(1 << (index % 64));
    }

    /// Counts a number that is never free again.
    pub(crate) fn lose(&self) {
        self.pool().lost += 1;
    }

    /// The number of numbers that are never free again.
    pub(crate) fn lost(&self) -> u32 {
        self.pool().lost
    }
}

/// A number that this PE has taken and does not use yet.
pub(crate) struct Claim<'a> {
    teams: &'a Teams,
    index: usize,
}

impl Claim<'_> {
    /// The last epoch of this PE at that number.
    pub(crate) fn epoch(&self) -> u64 {
        self.teams.states[self.index].epoch.load(Relaxed)
    }

    /// Makes it the team of `members`.
    pub(crate) fn into_team(
        self,
        control: &Control,
        members: &Members,
        my_pe: Pe,
        base_epoch: u64,
        config: TeamConfig,
    ) -> Team {
        let state = &self.teams.states[self.index];
        *crate::lock::lock(&state.config) = config;
        let generation = {
            let mut pool = self.teams.pool();
            pool.generation = pool.generation % MAX_GENERATION + 1;
            pool.generation
        };
        let team = Team(generation << 32 | self.index as u64);
        state.set(control, team, members, my_pe, base_epoch);
        std::mem::forget(self);
        team
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.teams.give_back(self.index);
    }
}

/// A number that is free on all of some PEs, if there is one. Each attempt prefers another number, so that two threads that create
/// teams of the same PEs choose different ones.
pub(crate) fn choose(free: [u64; TEAM_WORDS], attempt: usize) -> Option<usize> {
    let count: u32 = free.iter().map(|word| word.count_ones()).sum();
    if count == 0 {
        return None;
    }
    (0..MAX_TEAMS)
        .filter(|&index| free[index / 64] >> (index % 64) & 1 == 1)
        .nth(attempt % count as usize)
}

/// How often members try to agree on a number: once for each. A failure means that another thread was faster, so a few attempts
/// suffice; corrupted memory must not cause an endless loop.
pub(crate) const MAX_ATTEMPTS: usize = MAX_TEAMS;

/// The last epoch that any member has used at a number. A mark of a broken team has 44 bits for it, which no job exhausts.
pub(crate) fn latest(epochs: impl Iterator<Item = u64>) -> Result<u64> {
    let latest = epochs.max().unwrap_or(0);
    match latest >> 43 {
        0 => Ok(latest),
        _ => Err(Error::Internal(format!(
            "the job's control block has a team in epoch {latest}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_members() {
        let world = Members::strided(0, 1, 12);
        let odd_down = world.pick(11, -2, 6);
        let pes: Vec<Pe> = (0..6).map(|m| odd_down.pe(m)).collect();
        assert_eq!(pes, [11, 9, 7, 5, 3, 1]);
        let some = odd_down.pick(1, 3, 2);
        assert_eq!((some.pe(0), some.pe(1)), (9, 3));
        assert_eq!((some.member(3), some.member(11)), (Some(1), None));
        let list = Members::listed(vec![5, 0, 7]);
        let two = list.pick(2, -2, 2);
        assert_eq!((two.pe(0), two.pe(1)), (7, 5));
    }

    #[test]
    fn numbers_are_chosen_among_the_common_ones() {
        assert_eq!(choose([0; TEAM_WORDS], 0), None);
        let mut free = [0; TEAM_WORDS];
        free[1] = 0b1010;
        assert_eq!(choose(free, 0), Some(65));
        assert_eq!(choose(free, 1), Some(67));
        assert_eq!(choose(free, 2), Some(65));
    }
}
