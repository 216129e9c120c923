//! What is to be sent to each PE, and how it leaves.

use super::{Engine, Net, Post};
use crate::buffer::LocalSource;
use crate::lock::lock;
use crate::transport::remote::message::{self, Kind, nothing};
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

/// Records are put together in messages of at most so many bytes, which networks send in one go.
const LONG: usize = 4000;
/// After so many counted records the receiver is asked how many are done.
const ASK_EVERY: u64 = 256;

/// What is to be sent to a PE.
#[derive(Default)]
struct Out {
    /// Messages to which nothing is added any more, and the one after them.
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    posts: Vec<Post>,
    /// The number of the last large put among all of this PE's.
    large: u64,
    /// Whether it is among those that are to be sent something, and among those that may be behind.
    pending: bool,
    unfinished: bool,
}

/// The way to a PE.
#[derive(Default)]
pub(super) struct Link {
    out: Mutex<Out>,
    /// How many counted records it was sent, and how many when it was last asked. They change under the lock.
    sent: AtomicU64,
    asked: AtomicU64,
    /// How many counted records are done.
    pub(super) done: AtomicU64,
    /// Whether quiet has followed a single record.
    alone: AtomicBool,
    /// Bytes of pieces that are under way.
    pub(super) pieces: Arc<AtomicUsize>,
}

impl Link {
    fn behind(&self) -> u64 {
        // In this order: what is done was sent.
        let done = self.done.load(Acquire);
        self.sent.load(Relaxed) - done
    }
}

/// Some PEs, as bits.
pub(super) struct PeSet(Box<[AtomicU64]>);

impl PeSet {
    pub(super) fn new(n_pes: usize) -> PeSet {
        let words = n_pes.div_ceil(64);
        PeSet((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Adds a PE; gives the number of its word.
    fn add(&self, pe: Pe) -> usize {
        let (word, bit) = (pe as usize / 64, pe as usize % 64);
        self.0[word].fetch_or(1 << bit, AcqRel);
        word
    }

    fn remove(&self, pe: Pe) {
        let (word, bit) = (pe as usize / 64, pe as usize % 64);
        self.0[word].fetch_and(!(1 << bit), AcqRel);
    }

    fn of_word(word: usize, pes: u64) -> impl Iterator<Item = Pe> {
        bits(pes).map(move |bit| (word * 64 + bit) as Pe)
    }

    /// All of them, as they are when their turn comes.
    fn iter(&self) -> impl Iterator<Item = Pe> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(word, pes)| PeSet::of_word(word, pes.load(Acquire)))
    }

    /// Those of a word, which are taken out.
    fn take(&self, word: usize) -> impl Iterator<Item = Pe> {
        PeSet::of_word(word, self.0[word].swap(0, AcqRel))
    }
}

/// The PEs that are to be sent something, and a bit for each word of these that has some. If there are more than 64 words, several share
/// a bit.
pub(super) struct Pending {
    pes: PeSet,
    words: AtomicU64,
}

impl Pending {
    pub(super) fn new(n_pes: usize) -> Pending {
        Pending {
            pes: PeSet::new(n_pes),
            words: AtomicU64::new(0),
        }
    }

    fn add(&self, pe: Pe) {
        let word = self.pes.add(pe);
        self.words.fetch_or(1 << (word % 64), AcqRel);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.load(Acquire) == 0
    }

    /// As [`is_empty`](Pending::is_empty), for a thread that has just let the engine go. If another thread has added a PE before this, it is
    /// seen here, because these writes of one word have an order. A thread that adds a PE after this finds the engine free.
    fn is_still_empty(&self) -> bool {
        self.words.fetch_or(0, AcqRel) == 0
    }

    /// Takes all out.
    fn take(&self, mut each: impl FnMut(Pe)) {
        if self.is_empty() {
            return;
        }
        for word in bits(self.words.swap(0, AcqRel)) {
            for word in (word..self.pes.0.len()).step_by(64) {
                self.pes.take(word).for_each(&mut each);
            }
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

impl Net {
    /// Adds a record to what a PE is to be sent.
    pub(in crate::transport::remote) fn post(
        &self,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
    ) {
        self.post_with(pe, kind, words, data, false, None);
    }

    /// As [`post`](Net::post). `asks`: if quiet has followed a single record before, the PE is asked with this one to say when it has done
    /// it. `post`: a large body that begins once the message has left.
    pub(in crate::transport::remote) fn post_with(
        &self,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
        asks: bool,
        post: Option<Post>,
    ) {
        let link = &self.links[pe as usize];
        let mut out = lock(&link.out);
        let out = &mut *out;
        let most = (LONG / 8).min(self.longest);
        // With room for the question.
        let room = message::room(data.bytes()) + 1;
        if !out.open.is_empty() && out.open.len() + room > most {
            let full = std::mem::replace(&mut out.open, Vec::with_capacity(most));
            out.full.push(full);
        }
        let large;
        let words = match (kind, words) {
            (Kind::PutLarge, &[dest, bytes, tag]) => {
                // It must not overtake those before a fence.
                let waits = out.large > 0 && out.large <= self.large.1.load(Relaxed);
                out.large = self.large.0.fetch_add(1, Relaxed) + 1;
                large = [dest, bytes, tag, u64::from(waits)];
                &large[..]
            }
            _ => words,
        };
        message::write(&mut out.open, kind, words, data);
        let sent = link.sent.load(Relaxed) + u64::from(kind.counts());
        let mut asked = kind == Kind::Flush;
        if kind.counts() {
            link.sent.store(sent, Relaxed);
            self.behind.fetch_add(1, Relaxed);
            if !std::mem::replace(&mut out.unfinished, true) {
                self.unfinished.add(pe);
            }
            let alone = link.alone.load(Relaxed) && link.behind() <= 1;
            link.alone.store(alone, Relaxed);
            asked = (asks && alone) || sent - link.asked.load(Relaxed) >= ASK_EVERY;
            if asked {
                message::write(&mut out.open, Kind::Flush, &[], nothing());
            }
        }
        if asked {
            link.asked.store(sent, Relaxed);
        }
        out.posts.extend(post);
        if !std::mem::replace(&mut out.pending, true) {
            self.pending.add(pe);
        }
    }

    /// How many counted records a PE was sent.
    pub(in crate::transport::remote) fn count(&self, pe: Pe) -> u64 {
        self.links[pe as usize].sent.load(Relaxed)
    }

    /// Whether a PE has done so many counted records.
    pub(in crate::transport::remote) fn has_done(&self, pe: Pe, count: u64) -> bool {
        self.links[pe as usize].done.load(Acquire) >= count
    }

    /// How many counted records a PE is behind.
    pub(in crate::transport::remote) fn behind(&self, pe: Pe) -> u64 {
        self.links[pe as usize].behind()
    }

    /// Asks all that have not done what they were sent to say when they have; gives them, and how much each was sent. What stays behind
    /// leaves.
    pub(in crate::transport::remote) fn ask_all(&self) -> Vec<(Pe, u64)> {
        let mut goals = Vec::new();
        if self.behind.load(Acquire) == 0 {
            return goals;
        }
        for pe in self.unfinished.iter() {
            let link = &self.links[pe as usize];
            if link.behind() == 0 {
                // Under the lock, so that what is sent meanwhile is seen here, or adds it again.
                let mut out = lock(&link.out);
                if link.behind() == 0 {
                    out.unfinished = false;
                    self.unfinished.remove(pe);
                    continue;
                }
            }
            let sent = link.sent.load(Relaxed);
            link.alone.store(link.behind() <= 1, Relaxed);
            goals.push((pe, sent));
            if link.asked.load(Relaxed) < sent {
                self.post(pe, Kind::Flush, &[], nothing());
            }
        }
        self.kick();
        goals
    }

    /// Sends what is to be sent, unless another thread is about to.
    pub(in crate::transport::remote) fn kick(&self) {
        if !self.pending.is_empty() {
            self.send_pending();
        }
    }

    /// As [`kick`](Net::kick), for who has just let the engine go.
    pub(super) fn kick_rest(&self) {
        if !self.pending.is_still_empty() {
            self.send_pending();
        }
    }

    fn send_pending(&self) {
        while let Some(mut engine) = self.try_engine() {
            self.flush(&mut engine);
            drop(engine);
            if self.pending.is_still_empty() {
                return;
            }
        }
    }

    /// Sends what is to be sent.
    pub(super) fn flush(&self, engine: &mut Engine) {
        self.pending.take(|pe| self.send(engine, pe));
    }

    fn send(&self, engine: &mut Engine, pe: Pe) {
        let (full, posts) = {
            let mut out = lock(&self.links[pe as usize].out);
            out.pending = false;
            // The room of messages that have left is used again.
            std::mem::swap(&mut out.open, &mut engine.leaving);
            (
                std::mem::take(&mut out.full),
                std::mem::take(&mut out.posts),
            )
        };
        if !engine.closed {
            let Engine { wire, leaving, .. } = engine;
            let messages = full.iter().chain([&*leaving]);
            for message in messages.filter(|message| !message.is_empty()) {
                match wire.send(pe, bytemuck::cast_slice(message)) {
                    Ok(()) => {}
                    // The network cannot reach it.
                    Err(Error::System { .. }) => self.lost(pe),
                    Err(error) => self.keep(error),
                }
            }
            for post in posts {
                self.begin(engine, pe, post);
            }
        }
        engine.leaving.clear();
        engine.leaving.shrink_to(LONG / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_added_come_out_once() {
        for n_pes in [1, 64, 65, 5000] {
            let pending = Pending::new(n_pes);
            // With 5000, the words of 3 and 4099 share a bit.
            let some = [0, 3, 63, 64, 4099, 4999].into_iter();
            let some: Vec<Pe> = some.filter(|&pe| (pe as usize) < n_pes).collect();
            for &pe in some.iter().chain(&some) {
                pending.add(pe);
            }
            assert!(!pending.is_empty() && !pending.is_still_empty());
            let mut taken = Vec::new();
            pending.take(|pe| taken.push(pe));
            taken.sort_unstable();
            assert_eq!(taken, some);
            assert!(pending.is_empty() && pending.is_still_empty());
            pending.take(|pe| panic!("{pe} again"));
        }
    }

    #[test]
    fn a_set_has_what_was_added_and_not_removed() {
        let set = PeSet::new(130);
        for pe in [0, 63, 64, 129] {
            set.add(pe);
        }
        set.remove(64);
        set.remove(1);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 129]);
    }
}
