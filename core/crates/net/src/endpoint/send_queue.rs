//! The send queue of each PE, and how its messages are sent.

use super::{Endpoint, Engine, LargeTransfer, ReceiveState};
use crate::buffer::LocalSource;
use crate::lock::lock;
use crate::message::{self, Kind, nothing};
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

/// Records are coalesced into messages of at most so many bytes, which networks send in one packet.
const LONG: usize = 4000;
/// A flush follows after so many counted records.
const FLUSH_EVERY: u64 = 256;

/// The messages to a PE that are not sent yet.
#[derive(Default)]
struct SendQueue {
    /// Full messages, and the message to which records are added.
    full: Vec<Vec<u64>>,
    open: Vec<u64>,
    transfers: Vec<LargeTransfer>,
    /// The number of the last large put among all of this PE's.
    large: u64,
    /// Whether the PE is in the set of PEs with incomplete records.
    unfinished: bool,
}

/// The state of this endpoint for another PE.
#[derive(Default)]
pub(super) struct PeerState {
    queue: Mutex<SendQueue>,
    /// Whether it is among the queued PEs. It changes under the lock.
    queued: AtomicBool,
    /// The number of counted records sent, and their number at the last flush. They change under the lock.
    sent: AtomicU64,
    flushed: AtomicU64,
    /// The number of completed counted records.
    pub(super) done: AtomicU64,
    /// Whether quiet has followed a single record.
    alone: AtomicBool,
    /// Bytes in flight through bounce buffers.
    pub(super) bounce_bytes: Arc<AtomicUsize>,
}

impl PeerState {
    fn behind(&self) -> u64 {
        // In this order: a completed message was sent.
        let done = self.done.load(Acquire);
        self.sent.load(Relaxed) - done
    }
}

/// A set of PEs, as bits.
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

    /// Calls `each` for the PEs of the set; each word is read when its turn comes.
    fn each(&self, mut each: impl FnMut(Pe)) {
        for (word, pes) in self.0.iter().enumerate() {
            bits(pes.load(Acquire)).for_each(|bit| each((word * 64 + bit) as Pe));
        }
    }
}

/// The PEs with queued messages, as bits. If there are more than 64 PEs, several share a bit.
pub(super) struct QueuedPeers {
    bits: AtomicU64,
    n_pes: usize,
}

impl QueuedPeers {
    pub(super) fn new(n_pes: usize) -> QueuedPeers {
        QueuedPeers {
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

    /// As [`is_empty`](QueuedPeers::is_empty), for a thread that has just released the engine. A PE that another thread has added before is seen
    /// here, because these writes of one word have an order. A thread that adds a PE later finds the engine free.
    fn is_still_empty(&self) -> bool {
        self.bits.fetch_or(0, AcqRel) == 0
    }

    /// Removes all PEs, and calls `each` for them and for others that share their bits.
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

impl Endpoint {
    /// Adds a record to the queue of a PE.
    pub(crate) fn post(&self, pe: Pe, kind: Kind, words: &[u64], data: LocalSource<'_>) {
        let peer = &self.peers[pe as usize];
        let mut queue = lock(&peer.queue);
        self.add(peer, &mut queue, pe, kind, words, data, false);
        self.mark(peer, pe);
    }

    /// As [`post`](Endpoint::post), for an answer of the thread that polls the wire. It is sent after that poll.
    pub(super) fn answer(
        &self,
        state: &mut ReceiveState,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
    ) {
        let (to, answers) = &mut state.answers;
        let fits = answers.len() + message::room(data.bytes()) <= self.most();
        // It follows the queued messages to the PE. Messages that another thread adds at the same time have no order with it.
        let follows = self.peers[pe as usize].queued.load(Relaxed);
        if follows || !(answers.is_empty() || *to == pe && fits) {
            self.post(pe, kind, words, data);
            return;
        }
        *to = pe;
        message::write(answers, kind, words, data);
    }

    /// The most words of a coalesced message.
    fn most(&self) -> usize {
        (LONG / 8).min(self.longest)
    }

    /// As [`post`](Endpoint::post), with a large transfer that begins once the message has been sent.
    pub(crate) fn post_large(
        &self,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        flushes: bool,
        transfer: LargeTransfer,
    ) {
        let peer = &self.peers[pe as usize];
        let mut queue = lock(&peer.queue);
        self.add(peer, &mut queue, pe, kind, words, nothing(), flushes);
        queue.transfers.push(transfer);
        self.mark(peer, pe);
    }

    /// As [`post`](Endpoint::post), and sends queued messages, unless another thread is about to. If quiet has followed a single record before,
    /// a flush follows this record.
    pub(crate) fn post_now(&self, pe: Pe, kind: Kind, words: &[u64], data: LocalSource<'_>) {
        let peer = &self.peers[pe as usize];
        let mut queue = lock(&peer.queue);
        self.add(peer, &mut queue, pe, kind, words, data, true);
        let alone = queue.full.is_empty() && queue.transfers.is_empty();
        match alone.then(|| self.try_engine()).flatten() {
            Some(mut engine) => {
                std::mem::swap(&mut queue.open, &mut engine.leaving);
                drop(queue);
                self.send_leaving(&mut engine, pe);
                drop(engine);
                self.kick_rest();
            }
            None => {
                self.mark(peer, pe);
                drop(queue);
                self.kick();
            }
        }
    }

    /// Marks a PE as queued. Its lock is held.
    fn mark(&self, peer: &PeerState, pe: Pe) {
        if !peer.queued.load(Relaxed) {
            peer.queued.store(true, Relaxed);
            self.queued.add(pe);
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
        peer: &PeerState,
        queue: &mut SendQueue,
        pe: Pe,
        kind: Kind,
        words: &[u64],
        data: LocalSource<'_>,
        flushes: bool,
    ) {
        let most = self.most();
        // With room for a flush.
        let room = message::room(data.bytes()) + 1;
        if !queue.open.is_empty() && queue.open.len() + room > most {
            let full = std::mem::replace(&mut queue.open, Vec::with_capacity(most));
            queue.full.push(full);
        }
        let large;
        let words = match (kind, words) {
            (Kind::PutLarge, &[dest, bytes, tag]) => {
                // It must not overtake those before a fence.
                let waits = queue.large > 0 && queue.large <= self.large.1.load(Relaxed);
                queue.large = self.large.0.fetch_add(1, Relaxed) + 1;
                large = [dest, bytes, tag, u64::from(waits)];
                &large[..]
            }
            _ => words,
        };
        message::write(&mut queue.open, kind, words, data);
        let sent = peer.sent.load(Relaxed) + u64::from(kind.counts());
        let mut flushed = kind == Kind::Flush;
        if kind.counts() {
            peer.sent.store(sent, Relaxed);
            self.behind.fetch_add(1, Relaxed);
            if !std::mem::replace(&mut queue.unfinished, true) {
                self.unfinished.add(pe);
            }
            let alone = peer.alone.load(Relaxed) && peer.behind() <= 1;
            peer.alone.store(alone, Relaxed);
            flushed = (flushes && alone) || sent - peer.flushed.load(Relaxed) >= FLUSH_EVERY;
            if flushed {
                message::write(&mut queue.open, Kind::Flush, &[], nothing());
            }
        }
        if flushed {
            peer.flushed.store(sent, Relaxed);
        }
    }

    /// The number of counted records sent to a PE.
    pub(crate) fn sent(&self, pe: Pe) -> u64 {
        self.peers[pe as usize].sent.load(Relaxed)
    }

    /// Whether a PE has completed so many counted records.
    pub(crate) fn has_completed(&self, pe: Pe, count: u64) -> bool {
        self.peers[pe as usize].done.load(Acquire) >= count
    }

    /// The number of incomplete counted records of a PE.
    pub(crate) fn behind(&self, pe: Pe) -> u64 {
        self.peers[pe as usize].behind()
    }

    /// The number of counted records sent to a PE before the last flush.
    pub(crate) fn flushed(&self, pe: Pe) -> u64 {
        self.peers[pe as usize].flushed.load(Relaxed)
    }

    /// The PEs that may have incomplete records.
    pub(crate) fn unfinished(&self, each: impl FnMut(Pe)) {
        self.unfinished.each(each);
    }

    /// The PEs with incomplete records, and the number of counted records sent to each. Under the locks, so that a thread whose record is
    /// not among these sees the earlier stores of this thread.
    pub(crate) fn incomplete(&self, mut each: impl FnMut(Pe, u64)) {
        for (pe, peer) in self.peers.iter().enumerate() {
            let _queue = lock(&peer.queue);
            if peer.behind() > 0 {
                each(pe as Pe, peer.sent.load(Relaxed));
            }
        }
    }

    /// Sends a flush to all PEs with incomplete records, and all queued messages.
    pub(crate) fn flush_incomplete(&self) {
        if self.behind.load(Acquire) == 0 {
            return;
        }
        self.unfinished.each(|pe| {
            let peer = &self.peers[pe as usize];
            if peer.behind() == 0 {
                // Under the lock, so that a message sent meanwhile is seen here, or adds it again.
                let mut queue = lock(&peer.queue);
                if peer.behind() == 0 {
                    queue.unfinished = false;
                    self.unfinished.remove(pe);
                    return;
                }
            }
            let sent = peer.sent.load(Relaxed);
            peer.alone.store(peer.behind() <= 1, Relaxed);
            if peer.flushed.load(Relaxed) < sent {
                self.post(pe, Kind::Flush, &[], nothing());
            }
        });
        self.kick();
    }

    /// Sends all queued messages, unless another thread is about to.
    pub(crate) fn kick(&self) {
        if !self.queued.is_empty() {
            self.send_queued();
        }
    }

    /// As [`kick`](Endpoint::kick), for a thread that has just released the engine.
    pub(super) fn kick_rest(&self) {
        if !self.queued.is_still_empty() {
            self.send_queued();
        }
    }

    fn send_queued(&self) {
        while let Some(mut engine) = self.try_engine() {
            self.flush(&mut engine);
            drop(engine);
            if self.queued.is_still_empty() {
                return;
            }
        }
    }

    /// Sends all queued messages.
    pub(super) fn flush(&self, engine: &mut Engine) {
        self.queued.take(|pe| self.send(engine, pe));
    }

    fn send(&self, engine: &mut Engine, pe: Pe) {
        let peer = &self.peers[pe as usize];
        if !peer.queued.load(Relaxed) {
            return;
        }
        let (full, transfers) = {
            let mut queue = lock(&peer.queue);
            peer.queued.store(false, Relaxed);
            std::mem::swap(&mut queue.open, &mut engine.leaving);
            (
                std::mem::take(&mut queue.full),
                std::mem::take(&mut queue.transfers),
            )
        };
        for message in &full {
            self.send_message(engine, pe, message);
        }
        self.send_leaving(engine, pe);
        if !engine.closed {
            for transfer in transfers {
                self.begin(engine, pe, transfer);
            }
        }
    }

    /// Sends the prepared message. Its buffer is reused.
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
            let queued = QueuedPeers::new(n_pes);
            // With 5000, 3 and 4099 share a bit.
            let some = [0, 3, 63, 64, 4099, 4999].into_iter();
            let some: Vec<Pe> = some.filter(|&pe| (pe as usize) < n_pes).collect();
            for &pe in some.iter().chain(&some) {
                queued.add(pe);
            }
            assert!(!queued.is_empty() && !queued.is_still_empty());
            let mut taken = Vec::new();
            queued.take(|pe| taken.push(pe));
            taken.sort_unstable();
            let shares = |pe: &Pe| some.iter().any(|one| one % 64 == pe % 64);
            let wanted: Vec<Pe> = (0..n_pes as Pe).filter(shares).collect();
            assert_eq!(taken, wanted);
            assert!(queued.is_empty() && queued.is_still_empty());
            queued.take(|pe| panic!("{pe} again"));
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
