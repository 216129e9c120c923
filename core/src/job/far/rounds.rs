//! What all PEs of a job come to once, and all must hear of: being there, and finalize.
//!
//! If every PE told every host, that would be a letter for each pair of hosts. So the first PE of a host tells it on, in the rounds of a
//! meeting, while it waits for all: in round k to the host that is 2^k further, once all PEs of its own host and of those before it have
//! come, as far as the receiver has not heard of them. After log2(hosts) rounds every host knows of every PE.
//!
//! Nothing arrives before the last PE has come. So who has waited for [`ALONE`] tells all hosts of itself: whoever waits for it in
//! another call must learn that it never comes, and a report must name who is missing.

use super::letters::Kind;
use super::{Far, TEAMS, state};
use crate::Pe;
use crate::job::block::{Control, MAX_TEAMS};
use crate::job::state::State;
use crate::job::tell;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long a PE waits for the rounds before it tells all hosts of itself.
const ALONE: Duration = Duration::from_millis(500);
/// A letter that is longer, in words, is sent before another PE is added.
const LONG: usize = 300;
/// Words that say where a PE is: its process in two, its host and its GPU.
const PLACE: usize = 6;
/// Says that more about the PE follows.
const MORE: u64 = 1 << 63;
/// Says that digests of what it has not freed follow.
const UNFREED: u64 = 1 << 62;

/// What has been heard of PEs of other hosts that finalize, as letters have it, to be told on.
#[derive(Default)]
pub(super) struct Heard(Mutex<HashMap<Pe, Vec<Vec<u64>>>>);

/// What one PE has to tell and to tell on until all have come.
pub(crate) struct Rounds<'a> {
    far: &'a Far,
    /// What the PEs come to: active or finalizing.
    step: State,
    /// Whether this PE is the one that speaks for its host.
    speaks: bool,
    /// How many hosts have come, from its own one back, and how many PEs of the next.
    come: usize,
    pes: usize,
    /// How far away the host is that gets the next letter.
    distance: usize,
    since: Instant,
    alone: bool,
}

impl Far {
    /// How long this PE waits for the rounds.
    fn patience(&self) -> Duration {
        match self.patient.load(Relaxed) {
            false => ALONE,
            true => Duration::MAX,
        }
    }

    /// Time means nothing here: the rounds do all.
    #[cfg(test)]
    pub(crate) fn be_patient(&self) {
        self.patient.store(true, Relaxed);
    }

    /// What this PE has to do while it waits until all PEs have come to a state.
    pub(crate) fn rounds(&self, step: State) -> Rounds<'_> {
        Rounds {
            far: self,
            step,
            speaks: self.hosts.near().first() == Some(&self.hosts.me()),
            come: 0,
            pes: 0,
            distance: 1,
            since: Instant::now(),
            alone: false,
        }
    }
}

impl Rounds<'_> {
    /// Tells what can be told by now.
    pub(crate) fn go_on(&mut self, control: &Control) {
        let count = self.far.hosts.count();
        if self.speaks && self.distance < count {
            self.look(control);
            while self.distance < count {
                let hosts = self.distance.min(count - self.distance);
                if self.come < hosts {
                    break;
                }
                let pes = (0..hosts).flat_map(|steps| self.far.hosts.pes(self.before(steps)));
                let letters = self.letters(control, pes.copied());
                let to = (self.far.hosts.mine() + self.distance) % count;
                letters.iter().for_each(|letter| self.far.send(to, letter));
                self.distance *= 2;
            }
        }
        if !self.alone && self.since.elapsed() > self.far.patience() {
            self.alone = true;
            self.tell_all(control);
        }
    }

    /// Tells all hosts of this PE.
    pub(super) fn tell_all(&self, control: &Control) {
        let letters = self.letters(control, std::iter::once(self.far.hosts.me()));
        letters.iter().for_each(|letter| self.far.send_all(letter));
    }

    /// The host that is so many before its own.
    fn before(&self, steps: usize) -> usize {
        let count = self.far.hosts.count();
        (self.far.hosts.mine() + count - steps) % count
    }

    /// Counts the hosts whose PEs have all come.
    fn look(&mut self, control: &Control) {
        while self.come < self.far.hosts.count() {
            let pes = self.far.hosts.pes(self.before(self.come));
            for &pe in &pes[self.pes..] {
                let state = state(control.pe(pe)) as u32;
                if !(self.step as u32..=State::Finalized as u32).contains(&state) {
                    return;
                }
                self.pes += 1;
            }
            self.come += 1;
            self.pes = 0;
        }
    }

    /// Letters that say of PEs that they have come, with what belongs to it.
    fn letters(&self, control: &Control, pes: impl Iterator<Item = Pe>) -> Vec<Vec<u64>> {
        let begin = || vec![Kind::Come as u64, self.step as u64];
        let (mut letters, mut letter) = (Vec::new(), begin());
        for pe in pes {
            let parts = match self.step {
                State::Active => vec![place(control, pe)],
                _ if self.far.hosts.is_near(pe) => finalizes(control, pe),
                _ => self.far.heard.of(pe),
            };
            for part in parts {
                if letter.len() + part.len() > LONG && letter.len() > 2 {
                    letters.push(std::mem::replace(&mut letter, begin()));
                }
                letter.extend(part);
            }
        }
        letters.push(letter);
        letters
    }
}

impl Heard {
    fn of(&self, pe: Pe) -> Vec<Vec<u64>> {
        lock(&self.0).get(&pe).cloned().unwrap_or_default()
    }
}

/// That a PE is there, and where. The namespace is left out: elsewhere its number names another one, or none.
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

/// That a PE of this host finalizes, with the last epoch that it has come to in each of its teams, because its last arrivals may be on
/// their way, by other PEs, and with what it has not freed.
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

/// Writes what a letter says of PEs of other hosts that have come to a state. None: it makes no sense.
pub(super) fn take_come(control: &Control, far: &Far, words: &[u64]) -> Option<()> {
    let (&step, mut words) = words.split_first()?;
    let mut take = |count: usize| {
        let (taken, rest) = words.split_at_checked(count)?;
        words = rest;
        Some(taken)
    };
    while let Some(&[head]) = take(1) {
        let pe = Pe::try_from(head & 0xffff_ffff).ok()?;
        let there = (0..far.hosts.n_pes()).contains(&pe) && !far.hosts.is_near(pe);
        there.then_some(())?;
        let block = control.pe(pe);
        let known = state(block) as u64 >= step;
        if step == State::Active as u64 {
            let words = take(PLACE)?;
            let pid = u32::try_from(words[0]).ok().filter(|_| head >> 32 == 0)?;
            if !known {
                tell::is_there(block, pid, words[1], &words[2..]);
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
            tell::last_elsewhere(control.team(team[0] as u32, pe), team[1]);
        }
        tell::unfreed_elsewhere(block, unfreed);
        let part = [&[head], teams, unfreed].concat();
        lock(&far.heard.0).entry(pe).or_default().push(part);
        if head & MORE == 0 {
            tell::has_come(block, State::Finalizing);
        }
    }
    Some(())
}
