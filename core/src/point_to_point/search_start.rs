//! The start index of a search for any element, so that a series of calls returns every element that matches.
//!
//! Each thread keeps, for some sets of arguments, the index that its last call with them returned. The next call with the same arguments
//! begins behind it. A call whose arguments are not in the table begins at a random index.
//!
//! Proof that every element that keeps matching is returned eventually, despite any other calls in between: Take an endless series of
//! calls with the same arguments, and an element that always matches.
//!
//! 1. If a thread makes infinitely many calls of the series, and from some call on no other arguments evict their entry from its table,
//!    each call begins behind the index that the previous call returned. So at most as many calls as there are elements pass between two
//!    that return it.
//! 2. Else infinitely many calls of the series begin at a random index: after an eviction, or in a thread's first call. Each of those
//!    begins at this element with a probability of one in the number of elements. So the probability that none does is 0.
//!
//! Arguments are compared by a hash of 64 bits.

use crate::per_thread::{self, PerThread};

/// Sets of arguments in a thread's table.
const TABLE_SIZE: usize = 64;

/// An odd number whose bits are mixed well: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of a call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    /// The hash of no arguments.
    pub(super) const NONE: Key = Key(GOLDEN);

    /// The hash with one more argument.
    #[inline(always)]
    pub(super) fn and(self, word: u64) -> Key {
        let mixed = (self.0 ^ word).wrapping_mul(GOLDEN);
        Key(mixed ^ mixed >> 32)
    }
}

/// An entry of the table: a set of arguments, and its next index.
#[derive(Clone, Copy)]
struct NextIndex {
    key: Key,
    next: usize,
}

struct SearchStarts {
    table: Box<[NextIndex]>,
    /// The state of the thread's random numbers.
    random: u64,
}

impl Default for SearchStarts {
    fn default() -> Self {
        let entry = NextIndex {
            key: Key::NONE,
            next: 0,
        };
        let thread = per_thread::number();
        SearchStarts {
            table: vec![entry; TABLE_SIZE].into_boxed_slice(),
            random: Key::NONE.and(thread).and(thread).0,
        }
    }
}

thread_local! {
    static STARTS: PerThread<SearchStarts> = const { PerThread::new() };
}

impl SearchStarts {
    fn entry(&mut self, key: Key) -> &mut NextIndex {
        &mut self.table[(key.0 >> 32) as usize % TABLE_SIZE]
    }

    /// An index below `len`, as good as random (SplitMix64).
    #[cold]
    fn random_index(&mut self, len: usize) -> usize {
        let state = self.random.wrapping_add(GOLDEN);
        self.random = state;
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ mixed >> 31;
        ((u128::from(mixed) * len as u128) >> 64) as usize
    }
}

/// The start index of a search among `len` elements: below `len`, or 0 if there are none.
#[inline]
pub(super) fn begin(key: Key, len: usize) -> usize {
    per_thread::with(&STARTS, |starts| {
        let entry = *starts.entry(key);
        match entry.key == key && entry.next < len {
            true => entry.next,
            false => starts.random_index(len),
        }
    })
}

/// Stores that a search among `len` elements has returned an index.
#[inline]
pub(super) fn remember(key: Key, index: usize, len: usize) {
    let next = if index + 1 < len { index + 1 } else { 0 };
    per_thread::with(&STARTS, |starts| {
        *starts.entry(key) = NextIndex { key, next }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The index that a call returns: the first that holds from `begin` on.
    fn call(key: Key, holding: &[bool]) -> usize {
        let start = begin(key, holding.len());
        let mut order = (start..holding.len()).chain(0..start);
        let found = order.find(|&index| holding[index]).unwrap();
        remember(key, found, holding.len());
        found
    }

    fn key(number: usize) -> Key {
        Key::NONE.and(number as u64)
    }

    #[test]
    fn a_series_alone_takes_turns() {
        let holding = [true, false, true, true, false, true];
        let first = call(key(7), &holding);
        let series: Vec<usize> = (0..8).map(|_| call(key(7), &holding)).collect();
        let after = |index| match index {
            0 => 2,
            2 => 3,
            3 => 5,
            _ => 0,
        };
        let mut expected = first;
        for index in series {
            expected = after(expected);
            assert_eq!(index, expected);
        }
    }

    /// Keys that share a place of the table, as there are more than places.
    #[test]
    fn keys_spread_over_the_table() {
        let places = |starts: &mut SearchStarts| {
            let one = |number| std::ptr::from_ref(starts.entry(key(number))) as usize;
            let mut places: Vec<usize> = (0..1024).map(one).collect();
            places.sort_unstable();
            places.dedup();
            places.len()
        };
        assert_eq!(per_thread::with(&STARTS, places), TABLE_SIZE);
    }

    proptest! {
        /// Any number of series with any elements, called in any order that repeats: each comes to all that hold.
        #[test]
        fn every_series_comes_to_every_index(
            sets in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..20), 1..40),
            order in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        ) {
            let mut sets = sets;
            for set in &mut sets {
                set[0] = true;
            }
            let order: Vec<usize> = order.iter().map(|at| at.index(sets.len())).collect();
            let mut missing: Vec<Vec<bool>> = sets.clone();
            let called = |at: usize| order.contains(&at);
            // One in 20 comes by chance within 2000 rounds but for 1e-44.
            for _ in 0..2000 {
                for &at in &order {
                    let found = call(key(at), &sets[at]);
                    missing[at][found] = false;
                }
                if (0..sets.len()).all(|at| !called(at) || !missing[at].contains(&true)) {
                    break;
                }
            }
            for at in (0..sets.len()).filter(|&at| called(at)) {
                prop_assert!(!missing[at].contains(&true), "{at}: {:?} of {:?}", missing[at], sets[at]);
            }
        }

        /// As above, each call by another thread.
        #[test]
        fn threads_that_call_once_come_to_every_index(holding in prop::collection::vec(any::<bool>(), 1..6)) {
            let mut holding = holding;
            holding[0] = true;
            let mut missing = holding.clone();
            for _ in 0..1000 {
                let one = holding.clone();
                let found = std::thread::spawn(move || call(key(1), &one)).join().unwrap();
                missing[found] = false;
                if !missing.contains(&true) {
                    break;
                }
            }
            prop_assert!(!missing.contains(&true));
        }
    }
}
