//! Trackers of several PEs, driven by one thread: the test chooses the order of events.

/// A job with as many PEs as are named, and these: `job!(job: a, b)`. `_` is a PE that the test does not drive.
macro_rules! job {
    ($job:ident: $($pe:pat),+) => {
        let $job = Job::new([$(stringify!($pe)),+].len() as Pe);
        let [$($pe),+] = $job.pes();
    };
}

mod collectives;
mod damage;
mod data;
mod flags;
mod memory;
mod model;
mod random;
mod speed;
mod texts;
mod threads;
mod waits;

use super::{Kind, ReleaseStamp, Tracker, area};
use crate::Pe;
use crate::buffer::SymRange;
use crate::dtype::Dtype;
use crate::job::block::{Checked, Control};
use crate::op::Cmp;
use crate::operation::Operation;
use crate::report::Problem;
use crate::sites::Sites;
use crate::tally::Tally;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

/// Data and words to synchronise by, as offsets.
pub(super) const DATA: u64 = 0;
pub(super) const MORE: u64 = 4096;
pub(super) const FLAG: u64 = 8192;
pub(super) const OTHER: u64 = 8200;
pub(super) const ACK: u64 = 8208;

const HEAP: u64 = 2 << 20;

/// A job. Operations take effect at once, unless their PE holds them.
pub(super) struct Job {
    pub(super) trackers: Vec<Tracker>,
    sites: Vec<Arc<Sites>>,
    words: RefCell<HashMap<(Pe, u64), u64>>,
    held: RefCell<Vec<Vec<Held>>>,
    holds: Cell<bool>,
    epoch: Cell<u64>,
}

/// An operation that has been issued.
#[derive(Clone, Copy)]
struct Held {
    to: Pe,
    offset: u64,
    bytes: u64,
    effect: Option<Effect>,
    stamp: ReleaseStamp,
    site: u16,
}

/// The effect of an operation on a word.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    Set(u64),
    Add(u64),
}

/// One PE of a job.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) job: &'a Job,
    pub(super) me: Pe,
}

impl Job {
    pub(super) fn new(n_pes: Pe) -> Job {
        let checked = Checked {
            seed: 1234,
            area_bytes: area::bytes(n_pes, Control::stride(n_pes, HEAP)),
        };
        let control = Control::create(n_pes, HEAP, Default::default(), Some(checked)).unwrap();
        let sites: Vec<Arc<Sites>> = (0..n_pes).map(|_| Sites::new()).collect();
        let tracker = |(pe, sites): (usize, &Arc<Sites>)| {
            let (sites, tally) = (Some(Arc::clone(sites)), Arc::new(Tally::to(None)));
            Tracker::with(&control, pe as Pe, sites, tally, false).unwrap()
        };
        Job {
            trackers: sites.iter().enumerate().map(tracker).collect(),
            sites,
            words: RefCell::default(),
            held: RefCell::new((0..n_pes).map(|_| Vec::new()).collect()),
            holds: Cell::new(false),
            epoch: Cell::new(0),
        }
    }

    pub(super) fn pes<const N: usize>(&self) -> [At<'_>; N] {
        assert_eq!(N, self.trackers.len());
        std::array::from_fn(|me| At {
            job: self,
            me: me as Pe,
        })
    }

    /// From now on operations wait until `deliver`, or until they must be over.
    pub(super) fn hold(&self) {
        self.holds.set(true);
    }

    /// Lets the oldest `count` operations that a PE holds take effect.
    pub(super) fn deliver(&self, pe: Pe, count: usize) {
        for _ in 0..count {
            let held = self.held.borrow_mut()[pe as usize].remove(0);
            self.effect(pe, &held);
        }
    }

    fn deliver_all(&self, pe: Pe) {
        let count = self.held.borrow()[pe as usize].len();
        self.deliver(pe, count);
    }

    fn effect(&self, pe: Pe, held: &Held) {
        let tracker = &self.trackers[pe as usize];
        let asked = tracker.delivered(held.to, held.offset, held.bytes, held.stamp);
        let Some(effect) = held.effect else {
            return;
        };
        let mut words = self.words.borrow_mut();
        let word = words.entry((held.to, held.offset)).or_default();
        let old = *word;
        *word = match effect {
            Effect::Set(value) => value,
            Effect::Add(value) => old.wrapping_add(value),
        };
        let new = *word;
        drop(words);
        if asked {
            let Held {
                to,
                offset,
                bytes,
                stamp,
                site,
                ..
            } = *held;
            tracker.update(to, offset, bytes, old, new, stamp, site);
        }
    }

    pub(super) fn word(&self, pe: Pe, offset: u64) -> u64 {
        self.words.borrow().get(&(pe, offset)).copied().unwrap_or(0)
    }

    /// A meeting of some PEs.
    #[track_caller]
    pub(super) fn meet(&self, members: &[Pe], operation: &'static str, completing: bool) {
        let epoch = self.epoch.get() + 1;
        self.epoch.set(epoch);
        let place = Location::caller();
        for &pe in members {
            if completing {
                self.deliver_all(pe);
                self.trackers[pe as usize].quiet();
            }
            self.trackers[pe as usize].arrive(1, epoch, completing, pe as u16 + 1);
        }
        for &pe in members {
            let site = self.sites[pe as usize].here(Operation::named(operation).unwrap(), place);
            self.trackers[pe as usize].met(1, &mut members.iter().copied(), epoch, site);
        }
    }

    #[track_caller]
    pub(super) fn barrier(&self) {
        let all: Vec<Pe> = (0..self.trackers.len() as Pe).collect();
        self.meet(&all, "barrier", true);
    }

    #[track_caller]
    pub(super) fn sync(&self) {
        let all: Vec<Pe> = (0..self.trackers.len() as Pe).collect();
        self.meet(&all, "sync", false);
    }

    /// All PEs have come to a free.
    pub(super) fn all_freed(&self) {
        self.trackers.iter().for_each(Tracker::all_freed);
    }

    /// The findings so far, each with its PE.
    pub(super) fn found(&self) -> Vec<(Pe, Problem)> {
        let all = self.trackers.iter().enumerate();
        all.flat_map(|(pe, tracker)| {
            let mut pairs = tracker.reports.pairs();
            pairs.dedup_by_key(|pair| pair.0);
            pairs.into_iter().map(move |(_, pair)| (pe as Pe, pair.0))
        })
        .collect()
    }

    #[track_caller]
    pub(super) fn clean(&self) {
        let texts: Vec<String> = self.trackers.iter().flat_map(Tracker::reports).collect();
        assert!(texts.is_empty(), "{}", texts.join("\n"));
    }

    /// Nothing is found if the program is `good`, and else exactly one problem.
    #[track_caller]
    pub(super) fn clean_if(&self, good: bool, pe: Pe, problem: Problem) {
        match good {
            true => self.clean(),
            false => drop(self.one(pe, problem)),
        }
    }

    /// Exactly one finding; gives its text.
    #[track_caller]
    pub(super) fn one(&self, pe: Pe, problem: Problem) -> String {
        let texts: Vec<String> = self.trackers.iter().flat_map(Tracker::reports).collect();
        assert_eq!(self.found(), [(pe, problem)], "{}", texts.join("\n"));
        texts.into_iter().next().unwrap()
    }
}

impl<'a> At<'a> {
    pub(super) fn tracker(self) -> &'a Tracker {
        &self.job.trackers[self.me as usize]
    }

    #[track_caller]
    fn here(self, operation: &'static str) -> u16 {
        self.job.sites[self.me as usize]
            .here(Operation::named(operation).unwrap(), Location::caller())
    }

    fn access(self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) {
        self.tracker().access(kind, pe, offset, bytes, site);
    }

    #[expect(clippy::too_many_arguments, reason = "they are what happened")]
    fn issue(
        self,
        kind: Kind,
        to: Pe,
        offset: u64,
        bytes: u64,
        effect: Option<Effect>,
        fenced: bool,
        site: u16,
    ) {
        self.issue_telling(kind, to, offset, bytes, effect, fenced, None, site);
    }

    #[expect(clippy::too_many_arguments, reason = "they are what happened")]
    fn issue_telling(
        self,
        kind: Kind,
        to: Pe,
        offset: u64,
        bytes: u64,
        effect: Option<Effect>,
        fenced: bool,
        data: Option<(u64, u64)>,
        site: u16,
    ) {
        let tracker = self.tracker();
        tracker.access(kind, to, offset, bytes, site);
        let stamp = match data {
            Some((data, bytes)) => tracker.release_signal(to, offset, data, bytes),
            None => tracker.release(to, offset, fenced),
        };
        let held = Held {
            to,
            offset,
            bytes,
            effect,
            stamp,
            site,
        };
        match self.job.holds.get() {
            true => self.job.held.borrow_mut()[self.me as usize].push(held),
            false => self.job.effect(self.me, &held),
        }
    }

    #[track_caller]
    pub(super) fn put(self, to: Pe, offset: u64, bytes: u64) {
        self.issue(Kind::Put, to, offset, bytes, None, false, self.here("put"));
    }

    /// put_nbi from own symmetric memory.
    #[track_caller]
    pub(super) fn put_nbi_from(self, source: u64, to: Pe, offset: u64, bytes: u64) {
        let site = self.here("put_nbi");
        self.access(Kind::GetNbi, self.me, source, bytes, site);
        self.issue(Kind::Put, to, offset, bytes, None, false, site);
    }

    /// put from own symmetric memory.
    #[track_caller]
    pub(super) fn put_from(self, source: u64, to: Pe, offset: u64, bytes: u64) {
        let site = self.here("put");
        self.access(Kind::Load, self.me, source, bytes, site);
        self.issue(Kind::Put, to, offset, bytes, None, false, site);
    }

    #[track_caller]
    pub(super) fn p(self, to: Pe, offset: u64, value: u64) {
        let site = self.here("p");
        self.issue(
            Kind::Put,
            to,
            offset,
            8,
            Some(Effect::Set(value)),
            false,
            site,
        );
    }

    #[track_caller]
    pub(super) fn put_signal(self, to: Pe, offset: u64, bytes: u64, signal: u64, effect: Effect) {
        let site = self.here("put_signal");
        self.issue(Kind::PutSignal, to, offset, bytes, None, false, site);
        let data = Some((offset, bytes));
        self.issue_telling(Kind::Atomic, to, signal, 8, Some(effect), false, data, site);
    }

    #[track_caller]
    pub(super) fn signal(self, to: Pe, offset: u64, effect: Effect) {
        let site = self.here("signal_op");
        self.issue(Kind::Atomic, to, offset, 8, Some(effect), true, site);
    }

    #[track_caller]
    pub(super) fn atomic(self, to: Pe, offset: u64, effect: Effect) {
        let site = self.here("atomic_add");
        self.issue(Kind::Atomic, to, offset, 8, Some(effect), true, site);
    }

    #[track_caller]
    pub(super) fn fetch_add(self, to: Pe, offset: u64, value: u64) -> u64 {
        self.fetching(
            to,
            offset,
            |old| old.wrapping_add(value),
            self.here("atomic_fetch_add"),
        )
    }

    #[track_caller]
    pub(super) fn compare_swap(self, to: Pe, offset: u64, cond: u64, value: u64) -> u64 {
        let swap = |old| if old == cond { value } else { old };
        self.fetching(to, offset, swap, self.here("atomic_compare_swap"))
    }

    #[track_caller]
    pub(super) fn swap(self, to: Pe, offset: u64, value: u64) -> u64 {
        self.fetching(to, offset, |_| value, self.here("atomic_swap"))
    }

    fn fetching(self, to: Pe, offset: u64, change: impl Fn(u64) -> u64, site: u16) -> u64 {
        let tracker = self.tracker();
        tracker.access(Kind::AtomicFetch, to, offset, 8, site);
        let stamp = tracker.release(to, offset, true);
        tracker.delivered(to, offset, 8, stamp);
        let old = self.job.word(to, offset);
        self.job
            .words
            .borrow_mut()
            .insert((to, offset), change(old));
        tracker.acquire(to, offset, 8, old, site);
        old
    }

    #[track_caller]
    pub(super) fn atomic_fetch(self, to: Pe, offset: u64) -> u64 {
        let site = self.here("atomic_fetch");
        self.access(Kind::AtomicLoad, to, offset, 8, site);
        let value = self.job.word(to, offset);
        self.tracker().acquire(to, offset, 8, value, site);
        value
    }

    #[track_caller]
    pub(super) fn get(self, from: Pe, offset: u64, bytes: u64) {
        self.access(Kind::Get, from, offset, bytes, self.here("get"));
    }

    #[track_caller]
    pub(super) fn get_nbi(self, from: Pe, offset: u64, bytes: u64) {
        self.access(Kind::GetNbi, from, offset, bytes, self.here("get_nbi"));
    }

    #[track_caller]
    pub(super) fn load(self, offset: u64, bytes: u64) {
        self.access(Kind::Load, self.me, offset, bytes, self.here("load"));
    }

    #[track_caller]
    pub(super) fn store(self, offset: u64, bytes: u64) {
        self.access(Kind::Store, self.me, offset, bytes, self.here("store"));
    }

    /// Sets an own word by a plain store.
    #[track_caller]
    pub(super) fn reset(self, offset: u64, value: u64) {
        self.access(Kind::Store, self.me, offset, 8, self.here("store"));
        self.job.words.borrow_mut().insert((self.me, offset), value);
    }

    pub(super) fn fence(self) {
        self.tracker().fence();
    }

    pub(super) fn quiet(self) {
        self.job.deliver_all(self.me);
        self.tracker().quiet();
    }

    /// A quiet, or only a fence.
    pub(super) fn quiet_or_fence(self, quiet: bool) {
        if quiet {
            self.quiet();
        } else {
            self.fence();
        }
    }

    /// Sets a flag of another PE to 1, which waits for it.
    #[track_caller]
    pub(super) fn tells(self, other: At<'_>, flag: u64) {
        self.p(other.me, flag, 1);
        other.wait(flag, Cmp::Eq, 1);
    }

    /// A wait begins; `wait_over` ends it.
    #[track_caller]
    pub(super) fn wait_begins(self, offset: u64, cmp: Cmp, value: u64) {
        let site = self.here("wait_until");
        self.tracker()
            .wait_begins(offset, Dtype::Uint64, cmp, value, site);
    }

    #[track_caller]
    pub(super) fn wait_over(self, offset: u64, cmp: Cmp, value: u64) {
        let seen = self.job.word(self.me, offset);
        assert!(cmp.holds(seen, value), "{seen} does not end the wait");
        let site = self.here("wait_until");
        self.tracker().acquire(self.me, offset, 8, seen, site);
        self.tracker().wait_ends(offset, true);
    }

    #[track_caller]
    pub(super) fn wait(self, offset: u64, cmp: Cmp, value: u64) {
        self.wait_begins(offset, cmp, value);
        self.wait_over(offset, cmp, value);
    }

    /// A test that may hold.
    #[track_caller]
    pub(super) fn test(self, offset: u64, cmp: Cmp, value: u64) -> bool {
        let seen = self.job.word(self.me, offset);
        let holds = cmp.holds(seen, value);
        if holds {
            let site = self.here("test");
            self.tracker().acquire(self.me, offset, 8, seen, site);
        }
        holds
    }

    #[track_caller]
    pub(super) fn allocated(self, offset: u64, bytes: u64) {
        let site = self.here("malloc");
        let range = SymRange::new(offset, bytes);
        self.tracker().commit(range).unwrap();
        self.tracker().allocated(range, site);
    }

    #[track_caller]
    pub(super) fn free(self, offset: u64, bytes: u64) {
        let site = self.here("free");
        self.tracker().freed(SymRange::new(offset, bytes), site);
    }
}
