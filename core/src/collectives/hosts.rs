//! Meetings of teams whose members are on several hosts.
//!
//! Members of one host see each other's marks in shared memory. The first member there forwards them to other hosts, while it waits like
//! all others: in round k to the host at distance 2^k, with all marks that it has of its own host and of the hosts before it. So each
//! host sends and receives one message per round, there are log2(hosts) rounds, and every member then sees every mark with its payload in
//! the block of its own host. The rest is as on one host.

use super::CollectiveCall;
use crate::Pe;
use crate::job::remote::{ArrivalMessage, RemoteHosts};
use crate::job::shared_words::Arrival;
use crate::operation::ARGS;
use crate::team::Groups;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// A message with more words is sent before another member, which may have a payload, is added.
const MAX_WORDS: usize = 200;

/// The messages of the first member of a host in one epoch.
pub(super) struct Relay<'a> {
    collective: &'a CollectiveCall<'a>,
    remote: &'a RemoteHosts,
    groups: Arc<Groups>,
    epoch: u64,
    /// The number of groups that have arrived, from its own group back, and the number of arrived members of the next.
    arrived: usize,
    members: usize,
    /// The distance of the host that gets the next message.
    distance: usize,
}

impl CollectiveCall<'_> {
    /// The messages of this member in an epoch, if it is the first member of its host.
    #[inline(always)]
    pub(super) fn relay(&self, epoch: u64) -> Option<Box<Relay<'_>>> {
        let groups = self.levels()?;
        self.relay_over(groups, epoch)
    }

    #[cold]
    fn relay_over(&self, groups: Arc<Groups>, epoch: u64) -> Option<Box<Relay<'_>>> {
        let remote = self.inner.control.remote()?;
        let first = groups.groups[groups.mine].members.first() == Some(&self.my_pe());
        first.then(|| {
            Box::new(Relay {
                collective: self,
                remote,
                groups,
                epoch,
                arrived: 0,
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
        self.count_arrived();
        while self.distance < count {
            let groups = self.distance.min(count - self.distance);
            if self.arrived < groups {
                return false;
            }
            self.send(groups);
            self.distance *= 2;
        }
        true
    }

    /// The group `steps` before its own.
    fn before(&self, steps: usize) -> usize {
        let count = self.groups.groups.len();
        (self.groups.mine + count - steps) % count
    }

    /// Counts the groups whose members have all arrived.
    fn count_arrived(&mut self) {
        while self.arrived < self.groups.groups.len() {
            let group = &self.groups.groups[self.before(self.arrived)];
            for &member in &group.members[self.members..] {
                let mark = self.collective.slot(member, self.epoch).epoch.load(Acquire);
                if mark < self.epoch {
                    return;
                }
                self.members += 1;
            }
            self.arrived += 1;
            self.members = 0;
        }
    }

    /// Sends the marks of `groups` groups, from its own group back.
    fn send(&self, groups: usize) {
        let count = self.groups.groups.len();
        let to = &self.groups.groups[(self.groups.mine + self.distance) % count];
        let mut words = [0; super::PAYLOAD_WORDS];
        let own = self.read(self.collective.my_pe(), &mut words);
        let begin = || ArrivalMessage::begin(self.collective.team.index, self.epoch, &own);
        let (mut message, mut payload) = (begin(), [0; super::PAYLOAD_WORDS]);
        for steps in 0..groups {
            for &member in &self.groups.groups[self.before(steps)].members {
                if message.len() > MAX_WORDS {
                    self.remote.send(to.host, &message);
                    message = begin();
                }
                let arrival = self.read(member, &mut payload);
                ArrivalMessage::add(&mut message, self.collective.pe(member), &own, &arrival);
            }
        }
        self.remote.send(to.host, &message);
    }

    /// The arrival of a member. A member that is already in another team with this number has arrived with the same call as all others:
    /// it has left this meeting, which is then the team's last one, and has no payload.
    fn read<'w>(&self, member: Pe, words: &'w mut [u64; super::PAYLOAD_WORDS]) -> Arrival<'w> {
        let slot = self.collective.slot(member, self.epoch);
        let (operation, length) = slot.operation_and_length();
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
        if member != self.collective.my_pe() && slot.epoch.load(Relaxed) != self.epoch {
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

    /// The arrival of this member, without a payload.
    fn read_own<'w>(&self) -> Arrival<'w> {
        let mut words = [0; super::PAYLOAD_WORDS];
        let own = self.read(self.collective.my_pe(), &mut words);
        Arrival {
            payload: &[],
            ..own
        }
    }
}
