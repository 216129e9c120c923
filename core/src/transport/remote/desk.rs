//! Who waits for which answer, and where it is to go.

use crate::Pe;
use crate::buffer::{LocalDest, LocalSource};
use crate::lock::lock;
use crate::transport::copy::copy;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

/// An answer that is waited for.
#[derive(Debug, Default)]
pub(super) struct Answer {
    done: AtomicBool,
    value: AtomicU64,
}

impl Answer {
    pub(super) fn is_there(&self) -> bool {
        self.done.load(Acquire)
    }

    /// The value of an answer that is there.
    pub(super) fn value(&self) -> u64 {
        self.value.load(Relaxed)
    }

    pub(super) fn give(&self, value: u64) {
        self.value.store(value, Relaxed);
        self.done.store(true, Release);
    }
}

/// Memory of the program's that an answer goes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
}

// SAFETY: an address and a length. Whoever writes there holds the desk, and whoever lent the memory takes the ticket back under the same
// lock before the memory may go.
unsafe impl Send for Place {}

impl Place {
    /// The memory of `dest`, for as long as the caller sees to that it is there.
    pub(super) fn of(dest: &LocalDest<'_>) -> Place {
        Place {
            address: dest.address(),
            bytes: dest.bytes(),
        }
    }
}

/// What an answer is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A word.
    Word,
    /// Data, in a record.
    Data(Place),
    /// Data that comes by itself, in pieces of the net's memory, or at its place in the heap (None). No record answers it.
    Body(Option<Place>),
}

struct Ticket {
    pe: Pe,
    form: Form,
    answer: Arc<Answer>,
    /// Whether it is waited for in quiet only.
    nbi: bool,
}

/// How far back tickets are found by their distance from the last one.
const RECENT: usize = 4096;

/// Things that are numbered as they come, from 1. Most are taken out soon: that takes no search.
struct Numbered<T> {
    last: u64,
    /// Those that came last; none where one was taken out. The first place is never empty.
    recent: VecDeque<Option<T>>,
    /// Those before them.
    old: BTreeMap<u64, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered {
            last: 0,
            recent: VecDeque::new(),
            old: BTreeMap::new(),
        }
    }
}

impl<T> Numbered<T> {
    /// The number of the first recent one, or that of the next one.
    fn first(&self) -> u64 {
        self.last + 1 - self.recent.len() as u64
    }

    /// The place of a recent one.
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

    /// Those up to a number, in order.
    fn upto(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        let recent = (self.first()..=number).zip(&self.recent);
        let recent = recent.filter_map(|(number, one)| Some((number, one.as_ref()?)));
        let old = self.old.range(..=number);
        old.map(|(number, one)| (*number, one)).chain(recent)
    }
}

/// The tickets of a PE. Their numbers grow.
#[derive(Default)]
pub(super) struct Desk {
    tickets: Mutex<Numbered<Ticket>>,
    /// How many of them only quiet waits for.
    for_quiet: AtomicU64,
}

/// Copies data to where it is to go.
fn deliver(place: Place, data: &[u8]) {
    let source = LocalSource::from(data);
    let bytes = place.bytes.min(data.len());
    // SAFETY: whoever lent the memory takes the ticket back, which needs the desk's lock, before the memory may go. It may lie in the heap.
    unsafe { copy::<true, false>(place.address, source.address(), bytes) };
}

impl Desk {
    /// A ticket for an answer of `pe`.
    pub(super) fn ticket(&self, pe: Pe, form: Form, nbi: bool) -> (u64, Arc<Answer>) {
        let answer = Arc::new(Answer::default());
        let ticket = Ticket {
            pe,
            form,
            answer: Arc::clone(&answer),
            nbi,
        };
        let mut tickets = lock(&self.tickets);
        let number = tickets.add(ticket);
        if nbi {
            self.for_quiet.fetch_add(1, Relaxed);
        }
        (number, answer)
    }

    /// Whether quiet has nothing to wait for here.
    #[inline(always)]
    pub(super) fn is_clear(&self) -> bool {
        self.for_quiet.load(Acquire) == 0
    }

    /// Takes a ticket out. What came for it is in its place.
    fn remove(&self, tickets: &mut Numbered<Ticket>, number: u64) -> Option<Ticket> {
        let ticket = tickets.remove(number)?;
        if ticket.nbi {
            self.for_quiet.fetch_sub(1, Release);
        }
        Some(ticket)
    }

    /// Takes an answer of `pe`. None: it makes no sense. Who has given up does not want it.
    pub(super) fn answered(&self, pe: Pe, number: u64, data: &[u8]) -> Option<()> {
        let mut tickets = lock(&self.tickets);
        if number > tickets.last {
            return None;
        }
        let Some(ticket) = tickets.get(number) else {
            return Some(());
        };
        if ticket.pe != pe {
            return None;
        }
        match ticket.form {
            Form::Data(place) => {
                (place.bytes == data.len()).then_some(())?;
                deliver(place, data);
                ticket.answer.give(0);
            }
            Form::Word => {
                let word = data.first_chunk().map(|word| u64::from_le_bytes(*word));
                ticket.answer.give(word?);
            }
            Form::Body(_) => return None,
        }
        self.remove(&mut tickets, number);
        Some(())
    }

    /// What a ticket stands for has come by itself: to its place, or here.
    pub(super) fn came(&self, number: u64, data: &[u8]) {
        let mut tickets = lock(&self.tickets);
        if let Some(ticket) = self.remove(&mut tickets, number) {
            if let Form::Body(Some(place)) = ticket.form {
                deliver(place, data);
            }
            ticket.answer.give(0);
        }
    }

    /// Takes a ticket back: from here on nothing is written for it, unless it comes to its place by itself.
    pub(super) fn forget(&self, number: u64) {
        self.remove(&mut lock(&self.tickets), number);
    }

    /// How many answers only quiet waits for.
    pub(super) fn for_quiet(&self) -> u64 {
        self.for_quiet.load(Relaxed)
    }

    /// The number of the last ticket.
    pub(super) fn last(&self) -> u64 {
        lock(&self.tickets).last
    }

    /// The tickets up to this one whose answers only quiet waits for, and their PEs.
    pub(super) fn all_missing(&self, upto: u64) -> Vec<(u64, Pe)> {
        let tickets = lock(&self.tickets);
        let missing = tickets.upto(upto).filter(|(_, ticket)| ticket.nbi);
        missing
            .map(|(number, ticket)| (number, ticket.pe))
            .collect()
    }

    /// The PE of the first ticket up to this one whose answer only quiet waits for, if one is missing, and its number.
    pub(super) fn missing(&self, upto: u64) -> Option<(u64, Pe)> {
        let tickets = lock(&self.tickets);
        let mut missing = tickets.upto(upto).filter(|(_, ticket)| ticket.nbi);
        missing.next().map(|(number, ticket)| (number, ticket.pe))
    }
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
            let (mut found, mut model, mut last) = (Numbered::default(), BTreeMap::new(), 0);
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
                    let wanted: Vec<_> = model.range(..=number).map(|(at, one)| (*at, one)).collect();
                    prop_assert_eq!(there, wanted);
                    prop_assert_eq!(found.remove(number), model.remove(&number));
                }
                prop_assert_eq!(found.last, last);
            }
        }
    }

    #[test]
    fn answers_go_where_they_are_wanted_and_nowhere_else() {
        let desk = Desk::default();
        let mut bytes = [0_u8; 12];
        let place = Place::of(&LocalDest::from(&mut bytes[..4]));
        let (first, answer) = desk.ticket(2, Form::Data(place), true);
        let (second, word) = desk.ticket(1, Form::Word, false);
        assert_eq!(desk.missing(desk.last()), Some((first, 2)));
        assert!(!desk.is_clear());
        // From another PE, of another length, for a ticket that nobody has.
        assert_eq!(desk.answered(1, first, &[7; 4]), None);
        assert_eq!(desk.answered(2, first, &[7; 5]), None);
        assert_eq!(desk.answered(1, second, &[7; 7]), None);
        assert_eq!(desk.answered(1, second + 1, &[7; 8]), None);
        assert!(!answer.is_there() && !word.is_there());
        assert_eq!(desk.answered(2, first, &[7; 4]), Some(()));
        assert_eq!(desk.answered(1, second, &5_u64.to_le_bytes()), Some(()));
        assert!(answer.is_there() && word.is_there());
        assert_eq!((word.value(), desk.missing(desk.last())), (5, None));
        assert!(desk.is_clear());
        let (third, late) = desk.ticket(0, Form::Data(place), false);
        desk.forget(third);
        assert_eq!(desk.answered(0, third, &[9; 4]), Some(()), "too late");
        assert!(!late.is_there());
        // What comes by itself is answered by no record.
        let (fourth, body) = desk.ticket(0, Form::Body(None), true);
        assert_eq!(desk.answered(0, fourth, &[9; 8]), None);
        assert!(!body.is_there());
        assert_eq!(desk.for_quiet(), 1);
        desk.came(fourth, &[]);
        assert!(body.is_there());
        assert_eq!(desk.for_quiet(), 0);
        assert_eq!(bytes, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
