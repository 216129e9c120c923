//! Words that PEs synchronise by: the publications with them, which PE waits for which value, and the outcome of the wait.
//!
//! A *sync object* belongs to a word that an atomic operation or a signal has written, or that somebody has waited for. It has three
//! clocks, which every write to the word raises when its effect can be seen, and which a PE that sees the word learns. They are never
//! cleared, so a write to a word in which somebody else had a sync object before publishes too much rather than too little.
//!
//! A word for which there is no room falls back on its cells: its last writers, and their possible publications.
//!
//! It also keeps the wait of its PE, and the last *changes* of the word, for waits that could miss a value.

use super::area::{self, Area, SYNC_HEAD};
use super::clocks::{Clock, Clocks, ReleaseStamp, Snapshot, raise};
use crate::dtype::Dtype;
use crate::op::Cmp;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// Marks the key of a word that somebody has waited for.
const WAITED: u64 = 1 << 63;
/// Where, in a sync object's head, its parts begin: how many waits, changes and signals with data there were, then the last of each.
const WAIT_TURN: usize = 0;
const TURN: usize = 1;
const SIGNAL_TURN: usize = 2;
const WAITS_AT: usize = 3;
const SIGNALS_AT: usize = WAITS_AT + WAITS * WAIT_WORDS;
const RING: usize = SIGNALS_AT + SIGNALS * SIGNAL_WORDS;
/// How much data that signals tell of is remembered, and words of one.
const SIGNALS: usize = 8;
const SIGNAL_WORDS: usize = 4;
/// How many waits are remembered, and words of one.
const WAITS: usize = 4;
const WAIT_WORDS: usize = 4;
/// How many changes are remembered, and words of one.
const CHANGES: usize = 8;
const CHANGE: usize = 5;
const _: () = assert!(RING + CHANGES * CHANGE <= SYNC_HEAD as usize);
/// How often a sync object is looked for anew because somebody else took its place.
const TRIES: usize = 8;

fn key(pe: u64, word: u64) -> u64 {
    pe << 48 | (word + 1)
}

/// A word's sync object.
pub(super) struct Sync<'a> {
    words: &'a [AtomicU64],
    key: u64,
}

/// A value that a wait asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitRecord {
    pub(super) offset: u64,
    pub(super) dtype: Dtype,
    pub(super) cmp: Cmp,
    pub(super) expected: u64,
    pub(super) site: u16,
    /// The waiter's first tag after the wait; `None` while it waits.
    pub(super) ended: Option<u64>,
}

impl WaitRecord {
    /// Whether these bits of the word end the wait.
    pub(super) fn holds(&self, bits: u64) -> bool {
        let (cmp, expected) = (self.cmp, self.expected);
        macro_rules! compare {
            ($t:ty) => {
                cmp.holds(bits as $t, expected as $t)
            };
        }
        match self.dtype {
            Dtype::Int8 => compare!(i8),
            Dtype::Int16 => compare!(i16),
            Dtype::Int32 => compare!(i32),
            Dtype::Int64 => compare!(i64),
            Dtype::Uint8 => compare!(u8),
            Dtype::Uint16 => compare!(u16),
            Dtype::Uint32 => compare!(u32),
            Dtype::Uint64 => compare!(u64),
            Dtype::Float => cmp.holds(f32::from_bits(bits as u32), f32::from_bits(expected as u32)),
            Dtype::Double => cmp.holds(f64::from_bits(bits), f64::from_bits(expected)),
            // Nobody waits for those.
            _ => true,
        }
    }

    /// Whether a change removes the awaited value.
    fn misses(&self, change: &Change) -> bool {
        let same = change.offset == self.offset && change.bytes == self.dtype.size() as u64;
        same && self.holds(change.old) && !self.holds(change.new)
    }

    /// Bits of the word as a number.
    pub(super) fn show(&self, bits: u64) -> String {
        match self.dtype {
            Dtype::Int8 => (bits as i8).to_string(),
            Dtype::Int16 => (bits as i16).to_string(),
            Dtype::Int32 => (bits as i32).to_string(),
            Dtype::Int64 => (bits as i64).to_string(),
            Dtype::Float => f32::from_bits(bits as u32).to_string(),
            Dtype::Double => f64::from_bits(bits).to_string(),
            _ => bits.to_string(),
        }
    }

    /// Whether a change brings the awaited value.
    pub(super) fn brings(&self, change: &Change) -> bool {
        let same = change.offset == self.offset && change.bytes == self.dtype.size() as u64;
        same && !self.holds(change.old) && self.holds(change.new)
    }

    fn pack(&self) -> [u64; 3] {
        let info = u64::from(self.site)
            | (self.cmp as u64) << 12
            | (self.dtype as u64) << 16
            | (self.offset % 8) << 24;
        [info, self.expected, self.ended.unwrap_or(0)]
    }

    fn unpack(word: u64, [info, expected, ended]: [u64; 3]) -> Option<WaitRecord> {
        Some(WaitRecord {
            offset: word * 8 + (info >> 24 & 7),
            dtype: Dtype::from_number((info >> 16 & 0xff) as i32).ok()?,
            cmp: Cmp::from_number((info >> 12 & 0xf) as i32).ok()?,
            expected,
            site: (info & 0xfff) as u16,
            ended: (ended > 0).then_some(ended),
        })
    }
}

/// Data of a put_signal whose signal has been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalledData {
    pub(super) pe: u64,
    pub(super) tag: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A word that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) old: u64,
    pub(super) new: u64,
    /// The PE that has changed the word, and the PE's tag.
    pub(super) pe: u64,
    pub(super) tag: u64,
    pub(super) site: u16,
}

impl Sync<'_> {
    fn word(&self) -> u64 {
        (self.key & ((1 << 48) - 1)) - 1
    }

    /// A number that hardly ever fits other fields, or those of another word; never 0.
    fn checksum<const N: usize>(&self, fields: [u64; N]) -> u64 {
        let mix = |sum: u64, field: &u64| {
            let sum = (sum ^ field).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum ^ sum >> 29
        };
        fields.iter().fold(self.key, mix) | 1
    }

    fn clock(&self, clock: Clock) -> &[AtomicU64] {
        let clocks = &self.words[SYNC_HEAD as usize..];
        let n = clocks.len() / 3;
        &clocks[clock as usize * n..][..n]
    }

    /// A write by `pe` publishes the snapshot of its clocks.
    pub(super) fn publish(&self, clocks: &Clocks, pe: u64, moment: Snapshot) {
        let own = pe as usize;
        raise(&self.clock(Clock::Seen)[own], moment.tag);
        raise(&self.clock(Clock::Done)[own], moment.done);
        raise(&self.clock(Clock::Came)[own], moment.fenced);
        for clock in [Clock::Seen, Clock::Done] {
            let theirs = clocks.version(pe, moment.version, clock);
            for (index, (all, one)) in self.clock(clock).iter().zip(theirs).enumerate() {
                if index != own {
                    raise(all, one.load(Relaxed));
                }
            }
        }
    }

    /// All that is known to have been seen has arrived.
    pub(super) fn publish_arrivals(&self) {
        let (seen, came) = (self.clock(Clock::Seen), self.clock(Clock::Came));
        for (seen, came) in seen.iter().zip(came) {
            raise(came, seen.load(Relaxed));
        }
    }

    /// A PE that has seen the word of `owner` learns its publications. Returns whether any of them is new.
    pub(super) fn learn(&self, clocks: &Clocks, owner: u64) -> bool {
        let mut new = clocks.learn_all(Clock::Seen, self.clock(Clock::Seen), None);
        new |= clocks.learn_all(Clock::Done, self.clock(Clock::Done), None);
        for (pe, came) in self.clock(Clock::Came).iter().enumerate() {
            new |= clocks.learn_arrival(owner, pe as u64, came.load(Relaxed));
        }
        new
    }

    /// Records the wait that the owner begins. One thread of the owner at a time.
    pub(super) fn begin_wait(&self, wait: &WaitRecord) {
        let turn = self.words[WAIT_TURN].fetch_add(1, Relaxed);
        self.set_wait(turn as usize % WAITS, wait.pack());
    }

    fn set_wait(&self, index: usize, fields: [u64; 3]) {
        let slot = &self.words[WAITS_AT + index * WAIT_WORDS..][..WAIT_WORDS];
        for (word, value) in slot.iter().zip(fields) {
            word.store(value, Relaxed);
        }
        slot[3].store(self.checksum(fields), Relaxed);
    }

    /// The wait that began last at this offset and is not over has ended: before this tag of the owner's, or with an error.
    pub(super) fn end_wait(&self, offset: u64, tag: Option<u64>) {
        // The word may have been written over.
        let turn = self.words[WAIT_TURN].load(Relaxed) as usize % WAITS;
        let open = |wait: &WaitRecord| wait.offset == offset && wait.ended.is_none();
        for index in (0..WAITS).map(|step| (turn + 2 * WAITS - 1 - step) % WAITS) {
            let Some(wait) = self.wait_at(index).filter(open) else {
                continue;
            };
            match tag {
                Some(_) => self.set_wait(index, WaitRecord { ended: tag, ..wait }.pack()),
                None => self.words[WAITS_AT + index * WAIT_WORDS + 3].store(0, Relaxed),
            }
            return;
        }
    }

    fn wait_at(&self, index: usize) -> Option<WaitRecord> {
        let slot = &self.words[WAITS_AT + index * WAIT_WORDS..][..WAIT_WORDS];
        let fields: [u64; 3] = std::array::from_fn(|word| slot[word].load(Relaxed));
        let whole = slot[3].load(Relaxed) == self.checksum(fields);
        whole
            .then(|| WaitRecord::unpack(self.word(), fields))
            .flatten()
    }

    /// The condition that the owner waits for, or has waited for last.
    pub(super) fn waits(&self) -> impl Iterator<Item = WaitRecord> {
        let asks = self.words[WAIT_TURN].load(Relaxed).min(WAITS as u64);
        (0..asks as usize).filter_map(|index| self.wait_at(index))
    }

    /// A signal of `pe` announces data, which the next PE that sees it may use. If there were too many unseen signals before it, their data
    /// counts as seen with all that came before it.
    pub(super) fn record_signalled(&self, pe: u64, stamp: &ReleaseStamp) {
        let turn = self.words[SIGNAL_TURN].fetch_add(1, Relaxed) as usize % SIGNALS;
        let slot = &self.words[SIGNALS_AT + turn * SIGNAL_WORDS..][..SIGNAL_WORDS];
        if slot[3].load(Relaxed) != 0 {
            self.publish_arrivals();
        }
        let fields = [stamp.tag << 8 | pe, stamp.data.0, stamp.data.1];
        for (word, value) in slot.iter().zip(fields) {
            word.store(value, Relaxed);
        }
        slot[3].store(self.checksum(fields), Relaxed);
    }

    /// Calls `take` with the data of signals since the last time.
    pub(super) fn take_signalled(&self, mut take: impl FnMut(SignalledData)) {
        // Most words are no signals, and their entries are in the cache.
        if self.words[SIGNAL_TURN].load(Relaxed) == 0 {
            return;
        }
        for slot in self.words[SIGNALS_AT..][..SIGNALS * SIGNAL_WORDS].chunks_exact(SIGNAL_WORDS) {
            let sum = slot[3].load(Relaxed);
            if sum == 0 {
                continue;
            }
            let fields: [u64; 3] = std::array::from_fn(|word| slot[word].load(Relaxed));
            if sum == self.checksum(fields) {
                let [who, offset, bytes] = fields;
                take(SignalledData {
                    pe: who & 0xff,
                    tag: who >> 8,
                    offset,
                    bytes,
                });
                let _ = slot[3].compare_exchange(sum, 0, Relaxed, Relaxed);
            }
        }
    }

    /// Remembers a change of the word.
    pub(super) fn remember(&self, change: &Change) {
        let turn = self.words[TURN].fetch_add(1, Relaxed);
        let slot = &self.words[RING + turn as usize % CHANGES * CHANGE..][..CHANGE];
        let info =
            u64::from(change.site) | change.bytes << 12 | (change.offset % 8) << 16 | turn << 20;
        let fields = [change.tag << 8 | change.pe, change.old, change.new, info];
        for (word, value) in slot.iter().zip(fields) {
            word.store(value, Relaxed);
        }
        slot[4].store(self.checksum(fields), Relaxed);
    }

    /// Forgets the waits for the word and its changes, which may be those of a block that was there before.
    fn forget_past(&self) {
        let sums = [(WAITS_AT, WAITS, WAIT_WORDS), (RING, CHANGES, CHANGE)];
        for (start, count, words) in sums {
            for slot in self.words[start..][..count * words].chunks_exact(words) {
                slot[words - 1].store(0, Relaxed);
            }
        }
    }

    /// The last changes of the word, oldest first.
    pub(super) fn changes(&self) -> Vec<Change> {
        let word = self.word();
        let n = self.clock(Clock::Seen).len() as u64;
        let slots = self.words[RING..][..CHANGES * CHANGE].chunks_exact(CHANGE);
        let mut changes: Vec<(u64, Change)> = slots
            .filter_map(|slot| {
                let fields: [u64; 4] = std::array::from_fn(|index| slot[index].load(Relaxed));
                let [who, old, new, info] = fields;
                let change = Change {
                    offset: word * 8 + (info >> 16 & 7),
                    bytes: info >> 12 & 0xf,
                    old,
                    new,
                    pe: who & 0xff,
                    tag: who >> 8,
                    site: (info & 0xfff) as u16,
                };
                let whole = slot[4].load(Relaxed) == self.checksum(fields);
                (whole && change.pe < n).then_some((info >> 20, change))
            })
            .collect();
        changes.sort_unstable_by_key(|(turn, _)| *turn);
        let mut changes: Vec<Change> = changes.into_iter().map(|(_, change)| change).collect();
        // The PE that changed the word first may have reported the change later.
        for _ in 1..changes.len() {
            for at in 1..changes.len() {
                let (first, second) = (changes[at - 1], changes[at]);
                if first.new != second.old && second.new == first.old {
                    changes.swap(at - 1, at);
                }
            }
        }
        changes
    }

    /// The change by another PE that removes the awaited value, which changes by other PEs have brought. If there is more than one,
    /// the value comes again and again, and the wait sees it in the end.
    pub(super) fn loss(&self, wait: &WaitRecord, owner: u64) -> Option<Change> {
        let mut changes = self.changes();
        changes.retain(|change| change.pe != owner);
        let mut losses = changes
            .iter()
            .enumerate()
            .filter(|(_, change)| wait.misses(change));
        let (at, loss) = losses.next()?;
        // From the lost value back to the change that has brought it. The search ends at a value that the owner itself has written, because a
        // wait is not for that.
        let mut value = loss.old;
        let brought = changes[..at].iter().rev().any(|change| {
            let leads =
                (change.offset, change.bytes, change.new) == (loss.offset, loss.bytes, value);
            if leads {
                value = change.old;
            }
            leads && wait.brings(change)
        });
        (brought && losses.next().is_none()).then_some(*loss)
    }
}

/// The sync objects of a job.
#[derive(Debug)]
pub(super) struct Syncs {
    area: Area,
}

impl Syncs {
    pub(super) fn new(area: Area) -> Syncs {
        Syncs { area }
    }

    fn at(&self, number: u64, key: u64) -> Sync<'_> {
        Sync {
            words: self.area.sync(number),
            key,
        }
    }

    /// Whether a word may have a sync object.
    #[inline(always)]
    pub(super) fn marked(&self, pe: u64, word: u64) -> bool {
        let (bits, bit) = self.area.bit(pe, word);
        bits.load(Relaxed) & bit != 0
    }

    /// Calls `body` with each of `count` words that may have one.
    #[inline(always)]
    pub(super) fn each_marked(&self, pe: u64, word: u64, count: u64, mut body: impl FnMut(u64)) {
        let mut next = word;
        while next < word + count {
            let (bits, _) = self.area.bit(pe, next);
            let line = next / 64 * 64;
            let mut rest = bits.load(Relaxed) >> (next % 64) << (next % 64);
            while rest != 0 {
                let one = line + u64::from(rest.trailing_zeros());
                if one >= word + count {
                    return;
                }
                body(one);
                rest &= rest - 1;
            }
            next = line + 64;
        }
    }

    /// The sync object of a word.
    pub(super) fn find(&self, pe: u64, word: u64) -> Option<Sync<'_>> {
        if !self.marked(pe, word) {
            return None;
        }
        let wanted = key(pe, word);
        let (first, line) = self.area.line(pe, word);
        let found = line
            .iter()
            .position(|key| key.load(Acquire) & !WAITED == wanted)?;
        Some(self.at(first + found as u64, wanted))
    }

    /// Begins to load the tables that an atomic operation on a word will need, all at once: with many words each load is a cache miss.
    #[inline]
    pub(super) fn prefetch(&self, pe: u64, word: u64) {
        area::prefetch(self.area.cells(pe, word, 1).as_flattened());
        if let Some(sync) = self.find(pe, word) {
            // The entry that is needed first comes first.
            area::prefetch(&sync.words[SYNC_HEAD as usize..]);
            area::prefetch(&sync.words[..WAITS_AT]);
            area::prefetch(&sync.words[RING..SYNC_HEAD as usize]);
        }
    }

    /// Whether a sync object that a write made is always there, because none was refused or lost its place.
    pub(super) fn complete(&self, pe: u64, word: u64) -> bool {
        let (first, _) = self.area.line(pe, word);
        let (bits, bit) = self.area.crowded(first);
        bits.load(Relaxed) & bit == 0
    }

    fn crowd(&self, first: u64) {
        let (bits, bit) = self.area.crowded(first);
        bits.fetch_or(bit, Relaxed);
    }

    /// The sync object of a word, made if need be; `true` if it was. `waited` ones take the place of others if there is no room.
    /// The caller that made it must publish the contents of the word's cells.
    pub(super) fn get(&self, pe: u64, word: u64, waited: bool) -> Option<(Sync<'_>, bool)> {
        let wanted = key(pe, word);
        let mark = if waited { WAITED } else { 0 };
        let (first, line) = self.area.line(pe, word);
        for _ in 0..TRIES {
            let keys: [u64; 8] = std::array::from_fn(|index| line[index].load(Acquire));
            if let Some(found) = keys.iter().position(|key| key & !WAITED == wanted) {
                if keys[found] & mark != mark {
                    let _ = line[found].compare_exchange(wanted, wanted | mark, AcqRel, Relaxed);
                }
                // Its maker may not have come to that yet.
                if !self.marked(pe, word) {
                    self.mark(pe, word);
                }
                return Some((self.at(first + found as u64, wanted), false));
            }
            let free = keys.iter().position(|key| *key == 0);
            let other = || keys.iter().position(|key| waited && key & WAITED == 0);
            if free.is_none() {
                self.crowd(first);
            }
            let place = free.or_else(other)?;
            let taken = line[place].compare_exchange(keys[place], wanted | mark, AcqRel, Relaxed);
            if taken.is_ok() {
                let sync = self.at(first + place as u64, wanted);
                if free.is_none() {
                    // The word may have had this place before.
                    sync.forget_past();
                }
                self.mark(pe, word);
                return Some((sync, true));
            }
        }
        self.crowd(first);
        None
    }

    /// Says that a word has a sync object.
    fn mark(&self, pe: u64, word: u64) {
        let (bits, bit) = self.area.bit(pe, word);
        bits.fetch_or(bit, Relaxed);
        // A write whose cell is not seen from here on will see the bit.
        fence(SeqCst);
    }

    /// Forgets the sync objects of some words.
    pub(super) fn forget(&self, pe: u64, word: u64, count: u64) {
        let keys = key(pe, word)..key(pe, word) + count;
        for (number, place) in (0..).zip(self.area.keys()) {
            let one = place.load(Relaxed);
            if keys.contains(&(one & !WAITED)) {
                self.at(number, one & !WAITED).forget_past();
                let _ = place.compare_exchange(one, 0, AcqRel, Relaxed);
            }
        }
    }
}
