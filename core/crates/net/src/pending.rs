//! The pending requests of a PE: each waits for an answer from another host, and has a destination for it.

use crate::Pe;
use crate::buffer::{LocalDest, LocalSource};
use crate::lock::lock;
use crate::transport::Context;
use crate::transport::copy::copy;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

/// Names a pending request of this PE; the answer repeats it.
pub(super) type RequestId = u64;

/// The answer to a pending request.
#[derive(Debug, Default)]
pub(super) struct Answer {
    done: AtomicBool,
    value: AtomicU64,
    reply: OnceLock<Vec<u64>>,
}

impl Answer {
    pub(super) fn is_there(&self) -> bool {
        self.done.load(Acquire)
    }

    /// The value of an answer that has arrived.
    pub(super) fn value(&self) -> u64 {
        self.value.load(Relaxed)
    }

    /// The reply of a service that has arrived.
    pub(super) fn reply(&self) -> Vec<u64> {
        self.reply.get().cloned().unwrap_or_default()
    }

    pub(super) fn give(&self, value: u64) {
        self.value.store(value, Relaxed);
        self.done.store(true, Release);
    }
}

/// The destination of an answer: memory of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
}

// SAFETY: an address and a length. A writer holds the lock of the pending requests, and the owner of the memory cancels the request under the
// same lock before the memory may go.
unsafe impl Send for Destination {}

impl Destination {
    /// The memory of `dest`, for as long as the caller keeps it valid.
    pub(super) fn of(dest: &LocalDest<'_>) -> Destination {
        Destination {
            address: dest.address(),
            bytes: dest.bytes(),
        }
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum AnswerKind {
    /// A word.
    Word,
    /// Data, in a record.
    Data(Destination),
    /// The reply of a service: words.
    Reply,
    /// Data of a transfer of its own: in bounce buffers, or at its destination in the heap (None). No record answers the request.
    Transfer(Option<Destination>),
}

/// A request that waits for its answer.
struct PendingRequest {
    pe: Pe,
    kind: AnswerKind,
    answer: Arc<Answer>,
    /// Of a request that only quiet waits for: its context.
    nbi: Option<Context>,
}

/// How far back requests are found by their distance from the last one.
const RECENT: usize = 4096;

/// Items with consecutive ids from 1. Most are removed soon: that takes no search.
struct SequenceMap<T> {
    last: u64,
    /// The most recent items; none for a removed item. The first entry is never empty.
    recent: VecDeque<Option<T>>,
    /// Earlier items.
    old: BTreeMap<u64, T>,
}

impl<T> Default for SequenceMap<T> {
    fn default() -> SequenceMap<T> {
        SequenceMap {
            last: 0,
            recent: VecDeque::new(),
            old: BTreeMap::new(),
        }
    }
}

impl<T> SequenceMap<T> {
    /// The number of the first recent item, or of the next item.
    fn first(&self) -> u64 {
        self.last + 1 - self.recent.len() as u64
    }

    /// The index of a recent item.
    fn at(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first())?).ok()
    }

    fn add(&mut self, one: T) -> u64 {
        if self.recent.len() == RECENT {
            let number = self.first();
            let first = self.recent.pop_front().flatten();
            self.old.extend(first.map(|first| (number, first)));
            self.skip();
        }
        self.recent.push_back(Some(one));
        self.last += 1;
        self.last
    }

    fn get(&self, number: u64) -> Option<&T> {
        match self.at(number) {
            Some(at) => self.recent.get(at)?.as_ref(),
            None => self.old.get(&number),
        }
    }

    fn remove(&mut self, number: u64) -> Option<T> {
        match self.at(number) {
            Some(at) => {
                let one = self.recent.get_mut(at)?.take();
                self.skip();
                one
            }
            None => self.old.remove(&number),
        }
    }

    fn skip(&mut self) {
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
        }
    }

    /// The items up to a number, in order.
    fn upto(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        let recent = (self.first()..=number).zip(&self.recent);
        let recent = recent.filter_map(|(number, one)| Some((number, one.as_ref()?)));
        let old = self.old.range(..=number);
        old.map(|(number, one)| (*number, one)).chain(recent)
    }
}

/// The pending requests of a PE.
#[derive(Default)]
pub(super) struct PendingRequests {
    requests: Mutex<SequenceMap<PendingRequest>>,
    /// The number of requests that only quiet waits for.
    nbi_count: AtomicU64,
}

/// Copies data to its destination.
fn deliver(destination: Destination, data: &[u8]) {
    let source = LocalSource::from(data);
    let bytes = destination.bytes.min(data.len());
    // SAFETY: the owner of the memory cancels the request, which needs the lock of the pending requests, before the memory may go. It may lie in the heap.
    unsafe { copy::<true, false>(destination.address, source.address(), bytes) };
}

impl PendingRequests {
    /// Registers a request to `pe`.
    pub(super) fn register(
        &self,
        pe: Pe,
        kind: AnswerKind,
        nbi: Option<Context>,
    ) -> (RequestId, Arc<Answer>) {
        let answer = Arc::new(Answer::default());
        let request = PendingRequest {
            pe,
            kind,
            answer: Arc::clone(&answer),
            nbi,
        };
        let mut requests = lock(&self.requests);
        let number = requests.add(request);
        if nbi.is_some() {
            self.nbi_count.fetch_add(1, Relaxed);
        }
        (number, answer)
    }

    /// Whether quiet has no request to wait for.
    #[inline(always)]
    pub(super) fn has_no_nbi(&self) -> bool {
        self.nbi_count.load(Acquire) == 0
    }

    /// Removes a request. Its data is at the destination.
    fn remove(
        &self,
        requests: &mut SequenceMap<PendingRequest>,
        number: u64,
    ) -> Option<PendingRequest> {
        let request = requests.remove(number)?;
        if request.nbi.is_some() {
            self.nbi_count.fetch_sub(1, Release);
        }
        Some(request)
    }

    /// Takes an answer of `pe`. None: it is malformed. Answers to cancelled requests are dropped.
    pub(super) fn answered(&self, pe: Pe, number: RequestId, data: &[u8]) -> Option<()> {
        let mut requests = lock(&self.requests);
        if number > requests.last {
            return None;
        }
        let Some(request) = requests.get(number) else {
            return Some(());
        };
        if request.pe != pe {
            return None;
        }
        match request.kind {
            AnswerKind::Data(destination) => {
                (destination.bytes == data.len()).then_some(())?;
                deliver(destination, data);
                request.answer.give(0);
            }
            AnswerKind::Word => {
                let word = data.first_chunk().map(|word| u64::from_le_bytes(*word));
                request.answer.give(word?);
            }
            AnswerKind::Reply => {
                let words = bytemuck::try_cast_slice(data).ok()?;
                // Once: the request is removed below.
                let _ = request.answer.reply.set(words.to_vec());
                request.answer.give(0);
            }
            AnswerKind::Transfer(_) => return None,
        }
        self.remove(&mut requests, number);
        Some(())
    }

    /// The data of a request has arrived by a transfer of its own: at its destination, or as `data`.
    pub(super) fn arrived(&self, number: RequestId, data: &[u8]) {
        let mut requests = lock(&self.requests);
        if let Some(request) = self.remove(&mut requests, number) {
            if let AnswerKind::Transfer(Some(destination)) = request.kind {
                deliver(destination, data);
            }
            request.answer.give(0);
        }
    }

    /// Cancels a request: from now on no data is written for it, except by a transfer in flight.
    pub(super) fn forget(&self, number: u64) {
        self.remove(&mut lock(&self.requests), number);
    }

    /// The number of answers that only quiet waits for.
    pub(super) fn nbi_count(&self) -> u64 {
        self.nbi_count.load(Relaxed)
    }

    /// The id of the last request.
    pub(super) fn last(&self) -> u64 {
        lock(&self.requests).last
    }

    /// The pending requests up to number `upto` for which only quiet waits, and their PEs: the requests of one context, or all.
    pub(super) fn all_outstanding(&self, upto: u64, of: Option<Context>) -> Vec<(u64, Pe)> {
        outstanding(&lock(&self.requests), upto, of).collect()
    }

    /// The first of [`all_outstanding`](PendingRequests::all_outstanding).
    pub(super) fn first_outstanding(&self, upto: u64, of: Option<Context>) -> Option<(u64, Pe)> {
        outstanding(&lock(&self.requests), upto, of).next()
    }
}

fn outstanding(
    requests: &SequenceMap<PendingRequest>,
    upto: u64,
    of: Option<Context>,
) -> impl Iterator<Item = (u64, Pe)> {
    let requests = requests.upto(upto);
    requests.filter_map(move |(number, request)| {
        let context = request.nbi?;
        (of.is_none() || of == Some(context)).then_some((number, request.pe))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        /// Adds and removes as drawn by lot, beside a map. Some stay so long that they are no longer recent.
        #[test]
        fn what_is_numbered_is_found_until_it_is_removed(
            steps in prop::collection::vec((0..3 * RECENT / 2, any::<bool>(), 0..3 * RECENT as u64), 1..20)
        ) {
            let (mut found, mut model, mut last) = (SequenceMap::default(), BTreeMap::new(), 0);
            for (adds, most_go, far) in steps {
                for one in 0..adds {
                    last += 1;
                    prop_assert_eq!(found.add(one), last);
                    model.insert(last, one);
                    if most_go && one % 7 > 0 {
                        prop_assert_eq!(found.remove(last), model.remove(&last));
                    }
                }
                for number in [0, 1, last.saturating_sub(far), last / 2, last, last + 1] {
                    prop_assert_eq!(found.get(number), model.get(&number));
                    let there: Vec<_> = found.upto(number).collect();
                    let requests: Vec<_> = model.range(..=number).map(|(at, one)| (*at, one)).collect();
                    prop_assert_eq!(there, requests);
                    prop_assert_eq!(found.remove(number), model.remove(&number));
                }
                prop_assert_eq!(found.last, last);
            }
        }
    }

    #[test]
    fn answers_go_to_their_destinations_and_nowhere_else() {
        let pending = PendingRequests::default();
        let mut bytes = [0_u8; 12];
        let destination = Destination::of(&LocalDest::from(&mut bytes[..4]));
        let (first, answer) = pending.register(2, AnswerKind::Data(destination), Some(0));
        let (second, word) = pending.register(1, AnswerKind::Word, None);
        assert_eq!(
            pending.first_outstanding(pending.last(), None),
            Some((first, 2))
        );
        assert!(!pending.has_no_nbi());
        // From another PE, of another length, for an id that no request has.
        assert_eq!(pending.answered(1, first, &[7; 4]), None);
        assert_eq!(pending.answered(2, first, &[7; 5]), None);
        assert_eq!(pending.answered(1, second, &[7; 7]), None);
        assert_eq!(pending.answered(1, second + 1, &[7; 8]), None);
        assert!(!answer.is_there() && !word.is_there());
        assert_eq!(pending.answered(2, first, &[7; 4]), Some(()));
        assert_eq!(pending.answered(1, second, &5_u64.to_le_bytes()), Some(()));
        assert!(answer.is_there() && word.is_there());
        assert_eq!(
            (
                word.value(),
                pending.first_outstanding(pending.last(), None)
            ),
            (5, None)
        );
        assert!(pending.has_no_nbi());
        let (third, late) = pending.register(0, AnswerKind::Data(destination), None);
        pending.forget(third);
        assert_eq!(pending.answered(0, third, &[9; 4]), Some(()), "too late");
        assert!(!late.is_there());
        // Data that comes without a request is answered by no record.
        let (fourth, body) = pending.register(0, AnswerKind::Transfer(None), Some(3));
        assert_eq!(pending.answered(0, fourth, &[9; 8]), None);
        assert!(!body.is_there());
        assert_eq!(pending.first_outstanding(fourth, Some(0)), None);
        assert_eq!(pending.all_outstanding(fourth, Some(3)), [(fourth, 0)]);
        assert_eq!(pending.nbi_count(), 1);
        pending.arrived(fourth, &[]);
        assert!(body.is_there());
        assert_eq!(pending.nbi_count(), 0);
        assert_eq!(bytes, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
