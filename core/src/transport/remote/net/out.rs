//! What is to be sent to each PE, and how it leaves.

use super::{Engine, Net, Post, Taking};
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
    /// Whether it is among those that may be behind.
    unfinished: bool,
}

/// The way to a PE.
#[derive(Default)]
pub(super) struct Link {
    out: Mutex<Out>,
    /// Whether it is among those that are to be sent something. It changes under the lock.
    pending: AtomicBool,
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

    fn add(&self, pe: Pe) {
        let (word, bit) = (pe as usize / 64, pe as usize % 64);
        self.0[word].fetch_or(1 << bit, AcqRel);
    }

    fn remove(&self, pe: Pe) {
        let (word, bit) = (pe as usize / 64, pe as usize % 64);
        self.0[word].fetch_and(!(1 << bit), AcqRel);
    }

    /// All of them, as they are when their turn comes.
    fn each(&self, mut each: impl FnMut(Pe)) {
        for (word, pes) in self.0.iter().enumerate() {
            bits(pes.load(Acquire)).for_each(|bit| each((word * 64 + bit) as Pe));
        }
    }
}

/// The PEs that are to be sent something, as bits. If there are more than 64 PEs, several share a bit.
pub(super) struct Pending {
    bits: AtomicU64,
    n_pes: usize,
}

impl Pending {
    pub(super) fn new(n_pes: usize) -> Pending {
        Pending {
            bits: AtomicU64::new(0),
            n_pes,
        }
    }

    fn add(&self, pe: Pe) {
        self.bits.fetch_or(1 << (pe % 64), AcqRel);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.load(Acquire) == 0
    }

    /// As [`is_empty`](Pending::is_empty), for a thread that has just let the engine go. If another thread has added a PE before this, it is
    /// seen here, because these writes of one word have an order. A thread that adds a PE after this finds the engine free.
    fn is_still_empty(&self) -> bool {
        self.bits.fetch_or(0, AcqRel) == 0
    }

    /// Takes all out, and others that share their bits.
    fn take(&self, mut each: impl FnMut(Pe)) {
        if self.is_empty() {
            return;
        }
        for bit in bits(self.bits.swap(0, AcqRel)) {
            (bit..self.n_pes).step_by(64).for_each(|pe| each(pe as Pe));
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
        let link = &self.links[pe as usize];
        let mut out = lock(&link.out);
        self.add(link, &mut out, pe, kind, words, data, false);
        self.mark(link, pe);
    }

    /// As [`post`](Net::post), with an answer of who looks at the wire. It leaves when that look is over.
    pub(super) fn answer(
        &self,
        state: &mut Taking,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
    ) {
        let (to, answers) = &mut state.answers;
        let fits = answers.len() + message::room(data.bytes()) <= self.most();
        // It follows what is to be sent to the PE already. What another thread adds at the same time has no order with it.
        let follows = self.links[pe as usize].pending.load(Relaxed);
        if follows || !(answers.is_empty() || *to == pe && fits) {
            self.post(pe, kind, words, data);
            return;
        }
        *to = pe;
        message::write(answers, kind, words, data);
    }

    /// How many words records are put together to.
    fn most(&self) -> usize {
        (LONG / 8).min(self.longest)
    }

    /// As [`post`](Net::post), with a large body that begins once the message has left.
    pub(in crate::transport::remote) fn post_large(
        &self,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        asks: bool,
        post: Post,
    ) {
        let link = &self.links[pe as usize];
        let mut out = lock(&link.out);
        self.add(link, &mut out, pe, kind, words, nothing(), asks);
        out.posts.push(post);
        self.mark(link, pe);
    }

    /// As [`post`](Net::post), and sends what is to be sent, unless another thread is about to. If quiet has followed a single record
    /// before, the PE is asked with this one to say when it has done it.
    pub(in crate::transport::remote) fn post_now(
        &self,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
    ) {
        let link = &self.links[pe as usize];
        let mut out = lock(&link.out);
        self.add(link, &mut out, pe, kind, words, data, true);
        let alone = out.full.is_empty() && out.posts.is_empty();
        match alone.then(|| self.try_engine()).flatten() {
            Some(mut engine) => {
                std::mem::swap(&mut out.open, &mut engine.leaving);
                drop(out);
                self.send_leaving(&mut engine, pe);
                drop(engine);
                self.kick_rest();
            }
            None => {
                self.mark(link, pe);
                drop(out);
                self.kick();
            }
        }
    }

    /// A PE is to be sent something. Its lock is held.
    fn mark(&self, link: &Link, pe: Pe) {
        if !link.pending.load(Relaxed) {
            link.pending.store(true, Relaxed);
            self.pending.add(pe);
        }
    }

    /// Adds a record to the messages of a PE.
    #[allow(
        clippy::too_many_arguments,
        reason = "it is a part of post, post_large and post_now"
    )]
    #[inline]
    fn add(
        &self,
        link: &Link,
        out: &mut Out,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
        asks: bool,
    ) {
        let most = self.most();
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

    /// How much a PE had been sent when it was last asked to say when it has done that.
    pub(in crate::transport::remote) fn asked(&self, pe: Pe) -> u64 {
        self.links[pe as usize].asked.load(Relaxed)
    }

    /// The PEs that may be behind.
    pub(in crate::transport::remote) fn unfinished(&self, each: impl FnMut(Pe)) {
        self.unfinished.each(each);
    }

    /// Asks all that have not done what they were sent to say when they have. What stays behind leaves.
    pub(in crate::transport::remote) fn ask_all(&self) {
        if self.behind.load(Acquire) == 0 {
            return;
        }
        self.unfinished.each(|pe| {
            let link = &self.links[pe as usize];
            if link.behind() == 0 {
                // Under the lock, so that what is sent meanwhile is seen here, or adds it again.
                let mut out = lock(&link.out);
                if link.behind() == 0 {
                    out.unfinished = false;
                    self.unfinished.remove(pe);
                    return;
                }
            }
            let sent = link.sent.load(Relaxed);
            link.alone.store(link.behind() <= 1, Relaxed);
            if link.asked.load(Relaxed) < sent {
                self.post(pe, Kind::Flush, &[], nothing());
            }
        });
        self.kick();
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
        let link = &self.links[pe as usize];
        if !link.pending.load(Relaxed) {
            return;
        }
        let (full, posts) = {
            let mut out = lock(&link.out);
            link.pending.store(false, Relaxed);
            std::mem::swap(&mut out.open, &mut engine.leaving);
            (
                std::mem::take(&mut out.full),
                std::mem::take(&mut out.posts),
            )
        };
        for message in &full {
            self.send_message(engine, pe, message);
        }
        self.send_leaving(engine, pe);
        if !engine.closed {
            for post in posts {
                self.begin(engine, pe, post);
            }
        }
    }

    /// Sends the message that is about to leave. Its room is used again.
    pub(super) fn send_leaving(&self, engine: &mut Engine, pe: Pe) {
        let mut leaving = std::mem::take(&mut engine.leaving);
        self.send_message(engine, pe, &leaving);
        leaving.clear();
        leaving.shrink_to(LONG / 8);
        engine.leaving = leaving;
    }

    fn send_message(&self, engine: &mut Engine, pe: Pe, message: &[u64]) {
        if engine.closed || message.is_empty() {
            return;
        }
        match engine.wire.send(pe, bytemuck::cast_slice(message)) {
            Ok(()) => {}
            // The network cannot reach it.
            Err(Error::System { .. }) => self.lost(pe),
            Err(error) => self.keep(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_added_come_out_once() {
        for n_pes in [1, 64, 65, 5000] {
            let pending = Pending::new(n_pes);
            // With 5000, 3 and 4099 share a bit.
            let some = [0, 3, 63, 64, 4099, 4999].into_iter();
            let some: Vec<Pe> = some.filter(|&pe| (pe as usize) < n_pes).collect();
            for &pe in some.iter().chain(&some) {
                pending.add(pe);
            }
            assert!(!pending.is_empty() && !pending.is_still_empty());
            let mut taken = Vec::new();
            pending.take(|pe| taken.push(pe));
            taken.sort_unstable();
            let shares = |pe: &Pe| some.iter().any(|one| one % 64 == pe % 64);
            let wanted: Vec<Pe> = (0..n_pes as Pe).filter(shares).collect();
            assert_eq!(taken, wanted);
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
        let mut all = Vec::new();
        set.each(|pe| all.push(pe));
        assert_eq!(all, [0, 63, 129]);
    }
}
