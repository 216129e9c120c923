//! The knowledge of a PE about the others' operations.
//!
//! Every PE numbers its operations with a *tag* that grows. For each PE q, PE p knows three clocks:
//!
//! * `seen`: q's operations up to this tag came before the current operation of p;
//! * `done`: of those, the operations that q has completed by quiet;
//! * `came`: q's puts to *p's memory* up to this tag have arrived, because p saw a flag there that q sent after a fence.
//!
//! An operation of q with tag t is ordered before the current operation of p
//!
//! * if it is over on return (load, get, fetching atomic operation): when `seen[q] >= t`;
//! * if it is not (put, other atomic operation): when `done[q] >= t`, or when `seen[q] >= t` and the `came[q]` of the memory's owner, at the
//!   latest moment of the owner that p knows, is at least t;
//! * if it reads until quiet (get_nbi, source of put_nbi): when `done[q] >= t`.
//!
//! A tag stands for a state in which p's clocks do not change: p takes the next one when it has learned something, at fence and quiet, and before
//! an operation that is over on return and follows an operation visible to other PEs. Two puts in a row share a tag:
//! `done` and `came` order them, never `seen`.
//!
//! The states of the last tags stay in a history, which other PEs look up by tag. All values only grow, so a PE that looks up a state that
//! has been overwritten finds a later state, and learns too much rather than too little. The same holds for reading while another PE
//! writes.

use super::area::{Area, CLOCK_HEAD, Words};
use super::delay::Random;
use crate::Pe;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// The largest tag that fits a cell.
pub(super) const LAST_TAG: u64 = (1 << 33) - 1;

/// Words of a PE's head.
mod head {
    pub(super) const TAG: usize = 0;
    pub(super) const DONE: usize = 1;
    pub(super) const FENCED: usize = 2;
    pub(super) const VERSION: usize = 3;
    pub(super) const FINDINGS: usize = 4;
    pub(super) const OFF: usize = 5;
    /// Whether another PE has a pointer to this one's memory, or this one to another's.
    pub(super) const POINTERS: usize = 6;
    /// Whether the program reports its own loads and stores.
    pub(super) const REPORTS: usize = 7;
    /// The PE has ordered its puts up to this tag before something that others can see: by fence, quiet, a signal, an atomic operation.
    pub(super) const ORDERED: usize = 8;
    /// The same at the PE's last two calls of free, by the parity of their number: a PE that has left one call may be in the
    /// next while others still judge the first.
    pub(super) const FREED: [usize; 2] = [9, 10];
    /// The state of the PE: see [`Standing`](super::Standing).
    pub(super) const STANDING: usize = 11;
    /// Whether it holds operations back.
    pub(super) const HOLDS: usize = 12;
}

/// Words of a moment of a PE's history.
mod moment {
    pub(super) const DONE: usize = 0;
    pub(super) const FENCED: usize = 1;
    pub(super) const VERSION: usize = 2;
}

/// The state of a PE, as far as the others' stalls need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Runs = 0,
    Waits = 1,
    /// It stands still after a wait or a meeting.
    Stalls = 2,
    /// It stands still with the operations that it holds back.
    Delays = 3,
}

impl Standing {
    pub(crate) fn from_number(number: u64) -> Option<Standing> {
        use Standing::*;
        let mut all = [Runs, Waits, Stalls, Delays].into_iter();
        all.find(|standing| *standing as u64 == number)
    }
}

/// One of the three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Seen = 0,
    Done = 1,
    Came = 2,
}

/// The knowledge that a PE can publish with an operation: taken when it is issued, used when its effect can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReleaseStamp {
    /// The PE's tag.
    pub(super) tag: u64,
    /// Its puts to the target up to this tag come first.
    pub(super) fenced: u64,
    /// The data that a signal announces: its offset in the target's part, and its bytes.
    pub(super) data: (u64, u64),
}

/// The knowledge that a PE could publish at a tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    pub(super) tag: u64,
    /// Its puts to the target up to this tag come first.
    pub(super) fenced: u64,
    /// All its operations up to this tag are complete.
    pub(super) done: u64,
    /// Which of its clocks was valid.
    pub(super) version: u64,
}

/// Raises a clock; returns whether it was lower.
#[inline(always)]
pub(super) fn raise(clock: &AtomicU64, value: u64) -> bool {
    clock.load(Relaxed) < value && clock.fetch_max(value, Relaxed) < value
}

/// The clocks of PE `me`, and the others' as far as they are published.
#[derive(Debug)]
pub(super) struct Clocks {
    area: Area,
    me: u64,
    /// This PE's head.
    own: Words,
    /// Up to which tag of its own this PE has heard of itself, since somebody asked.
    echo: AtomicU64,
}

impl Clocks {
    pub(super) fn new(area: Area, me: Pe) -> Clocks {
        let clocks = Clocks {
            own: area.kept_head(me as u64),
            area,
            me: me as u64,
            echo: AtomicU64::new(0),
        };
        // Tag 0 stands for an empty cell.
        if clocks.tag() == 0 {
            clocks.own[head::TAG].store(1, Relaxed);
        }
        clocks
    }

    #[inline(always)]
    fn head(&self, pe: u64) -> &[AtomicU64] {
        self.area.head(pe)
    }

    /// The knowledge of this PE about another one, by one of its clocks.
    #[inline(always)]
    fn live(&self, clock: Clock, of: u64) -> &AtomicU64 {
        let n = self.area.n();
        &self.own[CLOCK_HEAD as usize + clock as usize * n + of as usize]
    }

    /// This PE's tag.
    #[inline(always)]
    pub(super) fn tag(&self) -> u64 {
        self.own[head::TAG].load(Relaxed)
    }

    /// Whether the checker has given up, on all PEs.
    #[inline(always)]
    pub(super) fn is_off(&self) -> bool {
        self.own[head::OFF].load(Relaxed) != 0
    }

    /// Takes the next tag. One thread at a time.
    pub(super) fn next(&self) -> u64 {
        let own = &self.own;
        let tag = own[head::TAG].load(Relaxed).saturating_add(1);
        if tag >= LAST_TAG {
            for pe in 0..self.area.n() as u64 {
                self.head(pe)[head::OFF].store(1, Relaxed);
            }
            return tag - 1;
        }
        let entry = self.area.moment(self.me, tag);
        for (word, of) in [
            (moment::DONE, head::DONE),
            (moment::FENCED, head::FENCED),
            (moment::VERSION, head::VERSION),
        ] {
            entry[word].store(own[of].load(Relaxed), Relaxed);
        }
        // A PE that learns the tag finds the moment.
        own[head::TAG].store(tag, Release);
        tag
    }

    /// fence: puts so far come before later ones. One thread at a time.
    pub(super) fn fence(&self) {
        raise(&self.own[head::FENCED], self.tag());
        self.next();
    }

    /// The puts of this PE up to `tag` are ordered before an effect that others can see.
    #[inline(always)]
    pub(super) fn order(&self, tag: u64) {
        raise(&self.own[head::ORDERED], tag);
    }

    /// This PE comes to a free, before the quiet of that.
    pub(super) fn free(&self, number: u64) {
        let own = &self.own;
        let ordered = own[head::ORDERED].load(Relaxed);
        let ordered = ordered.max(own[head::FENCED].load(Relaxed));
        own[head::FREED[number as usize & 1]].store(ordered, Relaxed);
    }

    /// Whether `pe` had ordered its puts up to `tag` before anything when it came to this free. Once all have come to it.
    pub(super) fn ordered_before_free(&self, pe: u64, tag: u64, number: u64) -> bool {
        self.head(pe)[head::FREED[number as usize & 1]].load(Relaxed) >= tag
    }

    /// Whether a fence of this PE has come after a put with this tag.
    #[inline(always)]
    pub(super) fn fenced(&self, tag: u64) -> bool {
        self.own[head::FENCED].load(Relaxed) >= tag
    }

    /// Whether `pe` has called a fence after a put with this tag.
    pub(super) fn has_fenced(&self, pe: u64, tag: u64) -> bool {
        self.head(pe)[head::FENCED].load(Relaxed) >= tag
    }

    /// quiet: all operations so far are complete. One thread at a time.
    pub(super) fn quiet(&self) {
        let own = &self.own;
        raise(&own[head::DONE], self.tag());
        raise(&own[head::FENCED], self.tag());
        self.next();
    }

    /// The knowledge that this PE can publish now.
    #[inline(always)]
    pub(super) fn stamp(&self) -> ReleaseStamp {
        let own = &self.own;
        ReleaseStamp {
            tag: own[head::TAG].load(Relaxed),
            fenced: own[head::FENCED].load(Relaxed),
            data: (0, 0),
        }
    }

    /// The most that `pe` could publish now.
    pub(super) fn current(&self, pe: u64) -> Snapshot {
        let theirs = self.head(pe);
        let tag = theirs[head::TAG].load(Acquire);
        Snapshot {
            tag,
            fenced: tag,
            done: theirs[head::DONE].load(Relaxed),
            version: theirs[head::VERSION].load(Relaxed),
        }
    }

    /// The knowledge that `pe` could publish at `tag`, or somewhat later.
    pub(super) fn past(&self, pe: u64, tag: u64) -> Snapshot {
        // A PE that has seen a tag sees the tag's moment.
        fence(Acquire);
        let entry = self.area.moment(pe, tag);
        Snapshot {
            tag,
            fenced: entry[moment::FENCED].load(Relaxed),
            done: entry[moment::DONE].load(Relaxed),
            version: entry[moment::VERSION].load(Relaxed),
        }
    }

    /// A clock of `pe` as it was in one of its versions, or somewhat later.
    #[inline(always)]
    pub(super) fn version(&self, pe: u64, version: u64, clock: Clock) -> &[AtomicU64] {
        // A PE that has seen the number sees the clocks.
        fence(Acquire);
        let n = self.area.n();
        &self.area.version(pe, version)[clock as usize * n..][..n]
    }

    /// The knowledge of this PE about `pe`.
    #[inline(always)]
    pub(super) fn known(&self, clock: Clock, pe: u64) -> u64 {
        match clock {
            Clock::Seen if pe == self.me => self.tag(),
            Clock::Done if pe == self.me => self.own[head::DONE].load(Relaxed),
            _ => self.live(clock, pe).load(Relaxed),
        }
    }

    /// Whether an operation of `pe` with this tag, over on return, came before the current operation of this PE.
    #[inline(always)]
    pub(super) fn saw(&self, pe: u64, tag: u64) -> bool {
        self.known(Clock::Seen, pe) >= tag
    }

    /// Whether `pe` has completed an operation with this tag, as this PE knows.
    #[inline(always)]
    pub(super) fn completed(&self, pe: u64, tag: u64) -> bool {
        self.known(Clock::Done, pe) >= tag
    }

    /// Whether a put of `pe` to the memory of `owner` has arrived, as this PE knows.
    #[inline(always)]
    pub(super) fn arrived(&self, owner: u64, pe: u64, tag: u64) -> bool {
        if self.completed(pe, tag) {
            return true;
        }
        if !self.saw(pe, tag) {
            return false;
        }
        self.came(owner, pe) >= tag
    }

    #[cold]
    fn came(&self, owner: u64, pe: u64) -> u64 {
        let known = if owner == self.me {
            self.known(Clock::Came, pe)
        } else {
            let moment = self.past(owner, self.known(Clock::Seen, owner));
            self.version(owner, moment.version, Clock::Came)[pe as usize].load(Relaxed)
        };
        known.max(self.area.arrival(owner, pe).load(Relaxed))
    }

    /// Up to which of its own tags this PE has heard of itself since the last call: by a word of its own, or through other PEs. One
    /// thread at a time.
    pub(super) fn take_echo(&self) -> u64 {
        self.echo.swap(0, Relaxed)
    }

    /// Sets the state of this PE.
    pub(super) fn stand(&self, standing: Standing) {
        self.own[head::STANDING].store(standing as u64, Relaxed);
    }

    /// Sets whether this PE holds operations back.
    pub(super) fn hold(&self, holds: bool) {
        self.own[head::HOLDS].store(holds.into(), Relaxed);
    }

    /// Something was delivered to `pe`: it gets on by itself until it has looked.
    #[inline]
    pub(super) fn wake(&self, pe: u64) {
        if self.stands(pe, Standing::Waits) {
            self.head(pe)[head::STANDING].store(Standing::Runs as u64, Relaxed);
        }
    }

    #[inline]
    fn stands(&self, pe: u64, standing: Standing) -> bool {
        self.head(pe)[head::STANDING].load(Relaxed) == standing as u64
    }

    /// Whether every other PE waits, or stalls.
    pub(super) fn others_stand(&self) -> bool {
        (0..self.area.n() as u64).all(|pe| pe == self.me || !self.stands(pe, Standing::Runs))
    }

    /// Whether no other PE makes progress by itself: each waits and holds nothing back, or stands still and comes behind this PE. A PE that delays
    /// comes behind a PE that stalls, and among equal PEs the seed decides.
    pub(super) fn others_need_this(&self, seed: u64) -> bool {
        let rank = |pe: u64| Random::new(seed ^ pe << 32).next();
        let standing = |pe: u64| self.head(pe)[head::STANDING].load(Relaxed);
        let own = (standing(self.me), rank(self.me));
        (0..self.area.n() as u64).all(|pe| {
            let theirs = standing(pe);
            let waits = || {
                theirs == Standing::Waits as u64 && self.head(pe)[head::HOLDS].load(Relaxed) == 0
            };
            let behind = || theirs >= Standing::Stalls as u64 && (theirs, rank(pe)) > own;
            pe == self.me || waits() || behind()
        })
    }

    /// Whether this PE is in one of these states.
    pub(super) fn own_standing(&self, standing: Standing) -> bool {
        self.stands(self.me, standing)
    }

    /// Learns all that `pe` could publish. Returns whether any of it is new.
    pub(super) fn learn(&self, pe: u64, moment: Snapshot) -> bool {
        let mut new = false;
        if pe == self.me {
            raise(&self.echo, moment.tag);
        } else {
            new |= raise(self.live(Clock::Seen, pe), moment.tag);
            new |= raise(self.live(Clock::Done, pe), moment.done);
        }
        for clock in [Clock::Seen, Clock::Done] {
            let values = self.version(pe, moment.version, clock);
            new |= self.learn_all(clock, values, Some(pe));
        }
        new
    }

    /// Learns a whole clock, but for this PE's own part of it and that of `except`.
    pub(super) fn learn_all(
        &self,
        clock: Clock,
        values: &[AtomicU64],
        except: Option<u64>,
    ) -> bool {
        let mut new = false;
        if clock == Clock::Seen {
            raise(&self.echo, values[self.me as usize].load(Relaxed));
        }
        for (pe, value) in values.iter().enumerate() {
            let pe = pe as u64;
            if pe != self.me && Some(pe) != except {
                new |= raise(self.live(clock, pe), value.load(Relaxed));
            }
        }
        new
    }

    /// Learns that puts of `pe` to the memory of `owner` up to `tag` have arrived.
    pub(super) fn learn_arrival(&self, owner: u64, pe: u64, tag: u64) -> bool {
        match owner == self.me {
            true => raise(self.live(Clock::Came, pe), tag),
            false => raise(self.area.arrival(owner, pe), tag),
        }
    }

    /// Publishes to all PEs that puts of `pe` to the memory of `owner` up to `tag` have arrived.
    pub(super) fn notice_arrival(&self, owner: u64, pe: u64, tag: u64) {
        raise(self.area.arrival(owner, pe), tag);
    }

    /// Learns that all puts that it knows of have arrived.
    pub(super) fn learn_arrivals(&self, owner: u64) -> bool {
        let all = 0..self.area.n() as u64;
        all.fold(false, |new, pe| {
            self.learn_arrival(owner, pe, self.known(Clock::Seen, pe)) | new
        })
    }

    /// Learns all that any PE could publish now: for the case that the seen value is unknown.
    pub(super) fn learn_everything(&self, owner: u64) -> bool {
        let all = 0..self.area.n() as u64;
        all.fold(false, |new, pe| self.learn_current(owner, pe) | new)
    }

    /// This PE has learned something: keeps its clocks under a new number and takes the next tag. One thread at a time.
    pub(super) fn keep(&self) {
        let own = &self.own;
        let version = own[head::VERSION].load(Relaxed).wrapping_add(1);
        let kept = self.area.version(self.me, version);
        for (word, value) in kept.iter().zip(&own[CLOCK_HEAD as usize..]) {
            word.store(value.load(Relaxed), Relaxed);
        }
        own[head::VERSION].store(version, Release);
        self.next();
    }

    /// Publishes the knowledge of this PE for a meeting, and takes the next tag. One thread at a time.
    pub(super) fn arrive(&self, team: u32, epoch: u64, site: u16) {
        let n = self.area.n();
        let own = &self.own;
        let slot = self.area.meeting(team, self.me, epoch);
        slot[1].store(own[head::DONE].load(Relaxed), Relaxed);
        slot[2 + 2 * n].store(site.into(), Relaxed);
        for (word, value) in slot[2..][..2 * n]
            .iter()
            .zip(&own[CLOCK_HEAD as usize..][..2 * n])
        {
            word.store(value.load(Relaxed), Relaxed);
        }
        slot[0].store(self.tag(), Release);
        self.next();
    }

    /// The site at which `pe` has come to a meeting, which has happened.
    pub(super) fn arrived_at(&self, team: u32, pe: u64, epoch: u64) -> u16 {
        let slot = self.area.meeting(team, pe, epoch);
        slot[2 + 2 * self.area.n()].load(Relaxed) as u16
    }

    /// Learns the knowledge that `pe` published for a meeting.
    pub(super) fn meet(&self, team: u32, epoch: u64, pe: u64) -> bool {
        if pe == self.me {
            return false;
        }
        let n = self.area.n();
        let slot = self.area.meeting(team, pe, epoch);
        let mut new = raise(self.live(Clock::Seen, pe), slot[0].load(Acquire));
        new |= raise(self.live(Clock::Done, pe), slot[1].load(Relaxed));
        new |= self.learn_all(Clock::Seen, &slot[2..][..n], Some(pe));
        new |= self.learn_all(Clock::Done, &slot[2 + n..][..n], Some(pe));
        new
    }

    /// From now on this PE may load from and store to the memory of `pe` without telling anybody.
    pub(super) fn take_pointer(&self, pe: u64) {
        self.area.pointer(pe, self.me).store(1, Relaxed);
        for end in [self.me, pe] {
            self.head(end)[head::POINTERS].store(1, Relaxed);
        }
    }

    /// From now on this PE reports all its loads and stores.
    pub(super) fn report_accesses(&self) {
        self.own[head::REPORTS].store(1, Relaxed);
    }

    fn reports_accesses(&self, pe: u64) -> bool {
        self.head(pe)[head::REPORTS].load(Relaxed) != 0
    }

    /// Whether a word of `owner` may have been stored to without telling.
    pub(super) fn may_be_stored_to(&self, owner: u64) -> bool {
        let has = |pe| self.area.pointer(owner, pe).load(Relaxed) != 0;
        let pointers = self.head(owner)[head::POINTERS].load(Relaxed) != 0;
        pointers && (0..self.area.n() as u64).any(|pe| has(pe) && !self.reports_accesses(pe))
    }

    /// Learns all that PEs could publish now that may have stored to a word of `owner` without a report.
    pub(super) fn learn_stores(&self, owner: u64) -> bool {
        let has = |pe: &u64| self.area.pointer(owner, *pe).load(Relaxed) != 0;
        let unseen = |pe: &u64| has(pe) && !self.reports_accesses(*pe);
        (0..self.area.n() as u64)
            .filter(unseen)
            .fold(false, |new, pe| self.learn_current(owner, pe) | new)
    }

    fn learn_current(&self, owner: u64, pe: u64) -> bool {
        let moment = self.current(pe);
        let new = self.learn(pe, moment);
        self.learn_arrival(owner, pe, moment.fenced) | new
    }

    /// This PE may have looked at its memory, or at another's by a pointer, without telling: learns all that those could publish
    /// now whose stores it may have seen.
    pub(super) fn learn_unseen(&self) -> bool {
        (0..self.area.n() as u64)
            .filter(|&pe| self.linked(pe))
            .fold(false, |new, pe| self.learn_current(self.me, pe) | new)
    }

    /// Whether this PE may know of another one's operations in a way that the checker does not see.
    pub(super) fn linked(&self, pe: u64) -> bool {
        let me = self.me;
        let pointers = self.own[head::POINTERS].load(Relaxed) != 0;
        pointers
            && !self.reports_accesses(me)
            && [self.area.pointer(me, pe), self.area.pointer(pe, me)]
                .iter()
                .any(|way| way.load(Relaxed) != 0)
    }

    /// Counts a finding of this PE's; gives its number.
    pub(super) fn count_finding(&self) -> u64 {
        self.own[head::FINDINGS]
            .fetch_add(1, Relaxed)
            .saturating_add(1)
    }

    /// How many findings `pe` has made.
    pub(super) fn findings(&self, pe: u64) -> u64 {
        self.head(pe)[head::FINDINGS].load(Relaxed)
    }
}
