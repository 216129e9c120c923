//! Dissemination of the two states that every PE of a job reaches once: active and finalizing.
//!
//! A message from every PE to every host would be too many. So the first PE of each host forwards the states in rounds, as in a dissemination
//! barrier, while it waits: in round k to the host at distance 2^k, once all PEs of its own host and of the hosts before it have reached
//! the state, without PEs that the receiver knows already. After log2(hosts) rounds every host knows the state of every PE.
//!
//! Nothing arrives before the last PE has reached the state. So a PE that has waited for [`ANNOUNCE_AFTER`] announces its state to all hosts:
//! a PE that waits for it in another call must learn that it never arrives, and a report must name the missing PEs.

use super::control_messages::Kind;
use super::{RemoteHosts, TEAMS, state};
use crate::Pe;
use crate::block::{Control, MAX_TEAMS};
use crate::lock::lock;
use crate::shared_words;
use crate::state::State;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a PE waits for the rounds before it announces its state to all hosts.
const ANNOUNCE_AFTER: Duration = Duration::from_millis(500);
/// A message that is longer, in words, is sent before another PE is added.
const MAX_WORDS: usize = 300;
/// Words of a PE's location: its process in two, its host and its GPU.
const LOCATION_WORDS: usize = 6;
/// The flag that more about the PE follows.
const MORE: u64 = 1 << 63;
/// The flag that digests of its allocations not freed follow.
const UNFREED: u64 = 1 << 62;

/// The finalize records of PEs of other hosts, as received, to be forwarded.
#[derive(Default)]
pub(super) struct FinalizeRecords(Mutex<HashMap<Pe, Vec<Vec<u64>>>>);

/// The messages that a PE sends and forwards until all PEs have reached a state.
pub struct Dissemination<'a> {
    remote: &'a RemoteHosts,
    /// The state: active or finalizing.
    step: State,
    /// Whether this PE is the first of its host, which sends the messages.
    is_first: bool,
    /// The number of hosts whose PEs have all arrived, from its own host back, and the number of arrived PEs of the next.
    arrived: usize,
    pes: usize,
    /// The distance of the host that gets the next message.
    distance: usize,
    since: Instant,
    announced: bool,
}

impl RemoteHosts {
    /// How long this PE waits for the rounds.
    fn announce_after(&self) -> Duration {
        match self.rounds_only.load(Relaxed) {
            false => ANNOUNCE_AFTER,
            true => Duration::MAX,
        }
    }

    /// Never announces a single PE, however long the rounds take.
    pub fn use_rounds_only(&self) {
        self.rounds_only.store(true, Relaxed);
    }

    /// The dissemination that this PE advances while it waits until all PEs have reached a state.
    pub fn disseminate(&self, step: State) -> Dissemination<'_> {
        Dissemination {
            remote: self,
            step,
            is_first: self.hosts.local_pes().first() == Some(&self.hosts.me()),
            arrived: 0,
            pes: 0,
            distance: 1,
            since: Instant::now(),
            announced: false,
        }
    }
}

impl Dissemination<'_> {
    /// Sends the messages that are due.
    pub fn advance(&mut self, control: &Control) {
        let count = self.remote.hosts.count();
        if self.is_first && self.distance < count {
            self.count_arrived(control);
            while self.distance < count {
                let hosts = self.distance.min(count - self.distance);
                if self.arrived < hosts {
                    break;
                }
                let pes = (0..hosts).flat_map(|steps| self.remote.hosts.pes(self.before(steps)));
                let messages = self.messages(control, pes.copied());
                let to = (self.remote.hosts.mine() + self.distance) % count;
                messages
                    .iter()
                    .for_each(|message| self.remote.send(to, message));
                self.distance *= 2;
            }
        }
        if !self.announced && self.since.elapsed() > self.remote.announce_after() {
            self.announced = true;
            self.announce(control);
        }
    }

    /// Announces the state of this PE to all hosts.
    pub(super) fn announce(&self, control: &Control) {
        let messages = self.messages(control, std::iter::once(self.remote.hosts.me()));
        messages
            .iter()
            .for_each(|message| self.remote.send_all(message));
    }

    /// The host `steps` before its own.
    fn before(&self, steps: usize) -> usize {
        let count = self.remote.hosts.count();
        (self.remote.hosts.mine() + count - steps) % count
    }

    /// Counts the hosts whose PEs have all arrived.
    fn count_arrived(&mut self, control: &Control) {
        while self.arrived < self.remote.hosts.count() {
            let pes = self.remote.hosts.pes(self.before(self.arrived));
            for &pe in &pes[self.pes..] {
                let state = state(control.pe(pe)) as u32;
                if !(self.step as u32..=State::Finalized as u32).contains(&state) {
                    return;
                }
                self.pes += 1;
            }
            self.arrived += 1;
            self.pes = 0;
        }
    }

    /// Messages about PEs that have reached the state, with the data of the state.
    fn messages(&self, control: &Control, pes: impl Iterator<Item = Pe>) -> Vec<Vec<u64>> {
        let begin = || vec![Kind::Reached as u64, self.step as u64];
        let (mut messages, mut message) = (Vec::new(), begin());
        for pe in pes {
            let parts = match self.step {
                State::Active => vec![place(control, pe)],
                _ if self.remote.hosts.is_local(pe) => finalizes(control, pe),
                _ => self.remote.finalize_records.of(pe),
            };
            for part in parts {
                if message.len() + part.len() > MAX_WORDS && message.len() > 2 {
                    messages.push(std::mem::replace(&mut message, begin()));
                }
                message.extend(part);
            }
        }
        messages.push(message);
        messages
    }
}

impl FinalizeRecords {
    fn of(&self, pe: Pe) -> Vec<Vec<u64>> {
        lock(&self.0).get(&pe).cloned().unwrap_or_default()
    }
}

/// The words for an active PE: its location. The pid namespace is left out, because its number has no meaning on another host.
fn place(control: &Control, pe: Pe) -> Vec<u64> {
    let block = control.pe(pe);
    let mut words = vec![
        pe as u64,
        u64::from(block.pid.load(Relaxed)),
        block.process.load(Relaxed),
    ];
    let places = block.host.iter().chain(&block.gpu);
    words.extend(places.map(|word| word.load(Relaxed)));
    words
}

/// The words for a finalizing PE of this host: the last epoch that it has entered in each of its teams, because its last arrivals may be in
/// flight by other PEs, and its allocations not freed.
fn finalizes(control: &Control, pe: Pe) -> Vec<Vec<u64>> {
    let come = (0..MAX_TEAMS as u32).filter_map(|team| {
        (control.team(team, pe).n_pes.load(Relaxed) > 0).then_some(())?;
        let row = control.row(team);
        // A slot may say that the PE has gone on, which is no arrival.
        let marks = [0, 1].map(|turn| control.slot(row, pe, turn).epoch.load(Relaxed));
        let own = |(turn, mark): (usize, u64)| (mark & 1 == turn as u64).then_some(mark);
        let last = marks.into_iter().enumerate().filter_map(own).max()?;
        (last > 0).then(|| [u64::from(team), last])
    });
    let come: Vec<[u64; 2]> = come.collect();
    let part = |teams: &[[u64; 2]], flags: u64| {
        let mut part = vec![pe as u64 | (teams.len() as u64) << 32 | flags];
        part.extend(teams.as_flattened());
        part
    };
    let mut chunks = come.chunks(TEAMS);
    let last = chunks.next_back().unwrap_or(&[]);
    let mut parts: Vec<Vec<u64>> = chunks.map(|teams| part(teams, MORE)).collect();
    let unfreed = &control.pe(pe).unfreed;
    if unfreed[0].load(Relaxed) == 0 {
        parts.push(part(last, 0));
    } else {
        let mut part = part(last, UNFREED);
        part.extend(unfreed.iter().map(|word| word.load(Relaxed)));
        parts.push(part);
    }
    parts
}

/// Mirrors the states of PEs of other hosts from a message. None: it is malformed.
pub(super) fn apply_reached(control: &Control, remote: &RemoteHosts, words: &[u64]) -> Option<()> {
    let (&step, mut words) = words.split_first()?;
    let mut take = |count: usize| {
        let (taken, rest) = words.split_at_checked(count)?;
        words = rest;
        Some(taken)
    };
    while let Some(&[head]) = take(1) {
        let pe = Pe::try_from(head & 0xffff_ffff).ok()?;
        let there = (0..remote.hosts.n_pes()).contains(&pe) && !remote.hosts.is_local(pe);
        there.then_some(())?;
        let block = control.pe(pe);
        let known = state(block) as u64 >= step;
        if step == State::Active as u64 {
            let words = take(LOCATION_WORDS)?;
            let pid = u32::try_from(words[0]).ok().filter(|_| head >> 32 == 0)?;
            if !known {
                shared_words::mirror_pe(block, pid, words[1], &words[2..]);
            }
            continue;
        }
        (step == State::Finalizing as u64).then_some(())?;
        let count = (head >> 32 & 0xffff) as usize;
        let sound = count <= TEAMS && head & !(MORE | UNFREED) < 1 << 48;
        let teams = take(sound.then_some(count)? * 2)?;
        let unfreed = match head & UNFREED {
            0 => &[][..],
            _ => take(block.unfreed.len())?,
        };
        if !(teams.iter().step_by(2)).all(|&team| team < MAX_TEAMS as u64) {
            return None;
        }
        if known {
            continue;
        }
        for team in teams.chunks_exact(2) {
            shared_words::mirror_last_epoch(control.team(team[0] as u32, pe), team[1]);
        }
        shared_words::mirror_unfreed(block, unfreed);
        let part = [&[head], teams, unfreed].concat();
        lock(&remote.finalize_records.0)
            .entry(pe)
            .or_default()
            .push(part);
        if head & MORE == 0 {
            shared_words::advance_state(block, State::Finalizing);
        }
    }
    Some(())
}
