//! Meetings of teams whose members are on several hosts.
//!
//! Members of one host see each other's marks in shared memory. The first member there sends them to other hosts, while it waits like all
//! others: in round k to the host that is 2^k further, with all marks that it has of its own host and of those before it. So each host
//! sends and receives one letter per round, there are log2(hosts) rounds, and every member then sees every mark in the block of its own
//! host, with what came with it. All that follows is as on one host.

use super::Turn;
use crate::Pe;
use crate::job::far::{Arrived, Far};
use crate::job::tell::Arrival;
use crate::operation::ARGS;
use crate::team::Groups;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// A letter that is longer, in words, is sent before a member is added that may have brought a payload.
const LONG: usize = 200;

/// What the first member of a host has sent in one epoch.
pub(super) struct Relay<'a> {
    turn: &'a Turn<'a>,
    far: &'a Far,
    groups: Arc<Groups>,
    epoch: u64,
    /// How many groups have come, from its own one back, and how many members of the next.
    come: usize,
    members: usize,
    /// How far away the host is that gets the next letter.
    distance: usize,
}

impl Turn<'_> {
    /// What this member has to send in an epoch, if it is the one of its host that does.
    #[inline(always)]
    pub(super) fn relay(&self, epoch: u64) -> Option<Box<Relay<'_>>> {
        let groups = self.levels()?;
        self.relay_over(groups, epoch)
    }

    #[cold]
    fn relay_over(&self, groups: Arc<Groups>, epoch: u64) -> Option<Box<Relay<'_>>> {
        let far = self.inner.control.far()?;
        let first = groups.groups[groups.mine].members.first() == Some(&self.my_pe());
        first.then(|| {
            Box::new(Relay {
                turn: self,
                far,
                groups,
                epoch,
                come: 0,
                members: 0,
                distance: 1,
            })
        })
    }
}

impl Relay<'_> {
    /// Sends what can be sent by now. True once there is nothing left to send.
    pub(super) fn step(&mut self) -> bool {
        let count = self.groups.groups.len();
        self.look();
        while self.distance < count {
            let groups = self.distance.min(count - self.distance);
            if self.come < groups {
                return false;
            }
            self.send(groups);
            self.distance *= 2;
        }
        true
    }

    /// The group that is so many before its own.
    fn before(&self, steps: usize) -> usize {
        let count = self.groups.groups.len();
        (self.groups.mine + count - steps) % count
    }

    /// Counts the groups whose members have all come.
    fn look(&mut self) {
        while self.come < self.groups.groups.len() {
            let group = &self.groups.groups[self.before(self.come)];
            for &member in &group.members[self.members..] {
                let mark = self.turn.slot(member, self.epoch).epoch.load(Acquire);
                if mark < self.epoch {
                    return;
                }
                self.members += 1;
            }
            self.come += 1;
            self.members = 0;
        }
    }

    /// Sends the marks of so many groups, from its own one back.
    fn send(&self, groups: usize) {
        let count = self.groups.groups.len();
        let to = &self.groups.groups[(self.groups.mine + self.distance) % count];
        let mut words = [0; super::PAYLOAD_WORDS];
        let own = self.read(self.turn.my_pe(), &mut words);
        let begin = || Arrived::begin(self.turn.team.index, self.epoch, &own);
        let (mut letter, mut payload) = (begin(), [0; super::PAYLOAD_WORDS]);
        for steps in 0..groups {
            for &member in &self.groups.groups[self.before(steps)].members {
                if letter.len() > LONG {
                    self.far.send(to.host, &letter);
                    letter = begin();
                }
                let arrival = self.read(member, &mut payload);
                Arrived::add(&mut letter, self.turn.pe(member), &own, &arrival);
            }
        }
        self.far.send(to.host, &letter);
    }

    /// What a member has come with. One that has gone on to another team with this number has come with the same as all did: it
    /// left this meeting before, which is then the team's last one, and brings no payload.
    fn read<'w>(&self, member: Pe, words: &'w mut [u64; super::PAYLOAD_WORDS]) -> Arrival<'w> {
        let slot = self.turn.slot(member, self.epoch);
        let (operation, length) = slot.brought();
        let length = length.min(words.len());
        for (word, there) in words.iter_mut().zip(&slot.payload[..length]) {
            *word = there.load(Relaxed);
        }
        let mut args = [0; ARGS];
        for (arg, there) in args.iter_mut().zip(&slot.args) {
            *arg = there.load(Relaxed);
        }
        let (error, signature) = (slot.error.load(Relaxed), slot.signature.load(Relaxed));
        fence(Acquire);
        if member != self.turn.my_pe() && slot.epoch.load(Relaxed) != self.epoch {
            return self.read_own();
        }
        Arrival {
            operation,
            args,
            error,
            payload: &words[..length],
            signature,
        }
    }

    /// What this member has come with, without a payload.
    fn read_own<'w>(&self) -> Arrival<'w> {
        let mut words = [0; super::PAYLOAD_WORDS];
        let own = self.read(self.turn.my_pe(), &mut words);
        Arrival {
            payload: &[],
            ..own
        }
    }
}
