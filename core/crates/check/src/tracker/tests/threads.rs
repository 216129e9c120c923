//! Correct programs on real threads: nothing is reported at any timing. A wrong program is always reported.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// One PE on a thread of its own, whose operations take effect on real words.
#[derive(Clone, Copy)]
struct Real<'a> {
    me: Pe,
    n: Pe,
    trackers: &'a [Tracker],
    words: &'a [[AtomicU64; 8]],
}

/// Offsets of words, and of data.
const WORD: u64 = 1 << 16;
const BLOCK: u64 = 256;

impl Real<'_> {
    fn tracker(&self) -> &Tracker {
        &self.trackers[self.me as usize]
    }

    fn word(&self, pe: Pe, index: usize) -> &AtomicU64 {
        &self.words[pe as usize][index]
    }

    fn put(&self, to: Pe, offset: u64, site: u16) {
        let tracker = self.tracker();
        tracker.access(Kind::Put, to, offset, BLOCK, site);
        let stamp = tracker.release(to, offset, false);
        tracker.delivered(to, offset, BLOCK, stamp);
    }

    fn p(&self, to: Pe, index: usize, value: u64, site: u16) {
        let (tracker, offset) = (self.tracker(), WORD + 8 * index as u64);
        tracker.access(Kind::Put, to, offset, 8, site);
        let stamp = tracker.release(to, offset, false);
        let asked = tracker.delivered(to, offset, 8, stamp);
        let old = self.word(to, index).swap(value, AcqRel);
        if asked {
            tracker.update(to, offset, 8, old, value, stamp, site);
        }
    }

    fn add(&self, to: Pe, index: usize, value: u64, site: u16) {
        let (tracker, offset) = (self.tracker(), WORD + 8 * index as u64);
        tracker.access(Kind::Atomic, to, offset, 8, site);
        let stamp = tracker.release(to, offset, true);
        let asked = tracker.delivered(to, offset, 8, stamp);
        let old = self.word(to, index).fetch_add(value, AcqRel);
        if asked {
            tracker.update(to, offset, 8, old, old + value, stamp, site);
        }
    }

    fn fetching(&self, to: Pe, index: usize, change: impl Fn(&AtomicU64) -> u64, site: u16) -> u64 {
        let (tracker, offset) = (self.tracker(), WORD + 8 * index as u64);
        tracker.access(Kind::AtomicFetch, to, offset, 8, site);
        let stamp = tracker.release(to, offset, true);
        tracker.delivered(to, offset, 8, stamp);
        let old = change(self.word(to, index));
        tracker.acquire(to, offset, 8, old, site);
        old
    }

    fn wait(&self, index: usize, cmp: Cmp, value: u64, site: u16) {
        let (tracker, offset) = (self.tracker(), WORD + 8 * index as u64);
        tracker.wait_begins(offset, Dtype::Uint64, cmp, value, site);
        let word = self.word(self.me, index);
        let mut seen = word.load(Acquire);
        while !cmp.holds(seen, value) {
            std::thread::yield_now();
            seen = word.load(Acquire);
        }
        tracker.acquire(self.me, offset, 8, seen, site);
        tracker.wait_ends(offset, true);
    }

    fn get(&self, from: Pe, offset: u64, site: u16) {
        self.tracker().access(Kind::Get, from, offset, BLOCK, site);
    }

    fn load(&self, offset: u64, site: u16) {
        self.tracker()
            .access(Kind::Load, self.me, offset, BLOCK, site);
    }

    /// A barrier: everybody counts on PE 0, which tells everybody.
    fn barrier(&self, epoch: u64) {
        let tracker = self.tracker();
        tracker.quiet();
        tracker.arrive(1, epoch, true, 90);
        let slot = self.word(0, 7);
        slot.fetch_add(1, AcqRel);
        while slot.load(Acquire) < epoch * self.n as u64 {
            std::thread::yield_now();
        }
        tracker.met(1, &mut (0..self.n), epoch, 90);
    }
}

fn run(n: Pe, body: impl Fn(Real<'_>) + Sync) -> Job {
    let job = Job::new(n);
    let words: Vec<[AtomicU64; 8]> = (0..n)
        .map(|_| std::array::from_fn(|_| AtomicU64::new(0)))
        .collect();
    std::thread::scope(|scope| {
        for me in 0..n {
            let (body, trackers, words) = (&body, &job.trackers, &words);
            scope.spawn(move || {
                body(Real {
                    me,
                    n,
                    trackers,
                    words,
                });
            });
        }
    });
    job
}

#[test]
fn a_ring_with_flags() {
    let job = run(3, |pe| {
        let (next, before) = ((pe.me + 1) % pe.n, (pe.me + pe.n - 1) % pe.n);
        for round in 1..800 {
            // The neighbour has read the data of the last round.
            pe.wait(1, Cmp::Ge, round - 1, 1);
            pe.put(next, 0, 2);
            pe.tracker().fence();
            pe.p(next, 0, round, 3);
            pe.wait(0, Cmp::Ge, round, 4);
            pe.load(0, 5);
            pe.p(before, 1, round, 6);
        }
    });
    job.clean();
}

#[test]
fn a_lock_and_a_counter() {
    let job = run(4, |pe| {
        for _ in 0..400 {
            while pe.fetching(
                0,
                0,
                |lock| {
                    lock.compare_exchange(0, 1, AcqRel, Acquire)
                        .unwrap_or_else(|old| old)
                },
                1,
            ) != 0
            {
                std::thread::yield_now();
            }
            pe.get(2, 0, 2);
            pe.put(2, 0, 3);
            pe.tracker().quiet();
            pe.fetching(0, 0, |lock| lock.swap(0, AcqRel), 4);
            pe.add(3, 1, 1, 5);
        }
        if pe.me == 3 {
            pe.wait(1, Cmp::Eq, 1600, 6);
            pe.get(2, 0, 7);
        }
    });
    job.clean();
}

#[test]
fn phases_and_blocks() {
    let job = run(4, |pe| {
        for phase in 1..300_u64 {
            for other in 0..pe.n {
                pe.put(other, BLOCK * pe.me as u64, 1);
            }
            pe.barrier(2 * phase - 1);
            for other in 0..pe.n {
                pe.load(BLOCK * other as u64, 2);
                pe.get((pe.me + 1) % pe.n, BLOCK * other as u64, 3);
            }
            pe.barrier(2 * phase);
        }
    });
    job.clean();
}

#[test]
fn what_two_pes_do_at_the_same_moment_is_always_noticed() {
    for _ in 0..60 {
        let job = run(2, |pe| {
            pe.barrier(1);
            pe.tracker().access(Kind::Put, 0, 0, 8, 1 + pe.me as u16);
        });
        assert!(!job.found().is_empty());
    }
}

#[test]
fn a_value_that_can_be_missed_is_always_noticed() {
    for _ in 0..60 {
        let job = run(3, |pe| {
            if pe.me == 2 {
                // In place of a wait that may never end.
                pe.tracker().wait_begins(WORD, Dtype::Uint64, Cmp::Eq, 1, 9);
            } else {
                pe.add(2, 0, 1, 1 + pe.me as u16);
            }
        });
        let missed = |found: &(Pe, Problem)| found.1 == Problem::Missed;
        assert!(job.found().iter().any(missed));
    }
}
