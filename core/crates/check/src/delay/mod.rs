//! How long operations are held back, and in which order they are delivered.
//!
//! Time is counted in ticks: one for each operation that can be held back. An operation that is issued in tick `t` is due in one of
//! the ticks `t` to `t + LONGEST`, drawn at random; never before operations that must be delivered first: those before a fence, its own
//! data if it is a signal. So the order of the ticks in which operations are due, and of issue among those of one tick, is
//! an order that the standard allows, and the ticks may always pass faster: they do when an operation overlaps an operation that is
//! held back, so that they keep their order. The draws depend on the seed and on the operations alone, not on when they
//! are delivered.

use crate::Pe;
use std::ops::Range;

/// Operations that can be known at a time: one for each tick.
const SLOTS: u64 = 64;
/// Ticks that an operation can be held back for.
const LONGEST: u64 = SLOTS - 2;

/// A generator of random numbers (splitmix64): good enough to choose with, and cheap.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// How many ticks to hold an operation back for: often few, sometimes many.
    fn delay(&mut self) -> u64 {
        const MASKS: [u64; 4] = [3, 7, 15, SLOTS - 1];
        let drawn = self.next();
        (drawn >> 8 & MASKS[(drawn & 3) as usize]).min(LONGEST)
    }
}

/// Bytes that an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TargetRange {
    pub(super) pe: Pe,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl TargetRange {
    /// Start and end as numbers that are unique over the PEs' parts.
    fn ends(self) -> (u64, u64) {
        let start = (self.pe as u64) << 48 | self.offset;
        (start, start + self.bytes)
    }
}

/// The operations before an operation, besides those before a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Fences,
    /// The operations due in this tick or earlier: a signal's own data.
    Tick(u64),
    /// All earlier puts to the same PE.
    Puts,
}

/// An operation that is known: from its issue until the tick in which it is due.
#[derive(Clone, Copy, Default)]
struct Slot {
    start: u64,
    end: u64,
    due: u64,
    issued: u64,
    bytes: usize,
}

/// Words of 8 bytes that an operation may lie in to be found by them.
const NARROW: u64 = 4;

/// The words of known operations: the number of operations by the words' low bits; and the operations that lie in many words, as bits.
struct OccupiedWords {
    narrow: [u8; 256],
    wide: u64,
}

impl OccupiedWords {
    /// The words of the range from `start` to `end`; `None` if there are many.
    #[inline(always)]
    fn of(start: u64, end: u64) -> Option<Range<u64>> {
        let (first, last) = (start >> 3, end.saturating_sub(1) >> 3);
        (last.saturating_sub(first) < NARROW).then(|| first..last.max(first) + 1)
    }

    /// Where a word is counted.
    #[inline(always)]
    fn spread(word: u64) -> usize {
        // The PE's number among the low bits.
        (word ^ word >> 45) as usize % 256
    }

    #[inline(always)]
    fn enter(&mut self, bit: u64, start: u64, end: u64) {
        match OccupiedWords::of(start, end) {
            Some(words) => words.for_each(|word| self.narrow[OccupiedWords::spread(word)] += 1),
            None => self.wide |= bit,
        }
    }

    #[inline(always)]
    fn leave(&mut self, bit: u64, start: u64, end: u64) {
        match OccupiedWords::of(start, end) {
            Some(words) => words.for_each(|word| self.narrow[OccupiedWords::spread(word)] -= 1),
            None => self.wide &= !bit,
        }
    }

    /// Whether a known operation may lie in one of the words.
    #[inline(always)]
    fn meet(&self, start: u64, end: u64) -> bool {
        self.wide != 0
            || OccupiedWords::of(start, end).is_none_or(|mut words| {
                words.any(|word| self.narrow[OccupiedWords::spread(word)] > 0)
            })
    }
}

/// When the operations on one PE are due at the latest.
#[derive(Clone, Copy, Default)]
struct Target {
    puts: u64,
    all: u64,
    /// As `all`, for those before the fence with number `fence`.
    fenced: u64,
    fence: u32,
}

/// The operations of one PE that are held back.
pub(super) struct Queue<T> {
    now: u64,
    delays: Random,
    fence: u32,
    targets: Vec<Target>,
    /// By the tick of issue.
    slots: [Slot; SLOTS as usize],
    /// The operation to deliver; `None` once it is delivered.
    items: Vec<Option<T>>,
    occupied: OccupiedWords,
    /// Which slots are known, are held, are of words: bits.
    known: u64,
    held: u64,
    words: u64,
    /// For each tick to come, the slots that are due in it: bits.
    due: [u64; SLOTS as usize],
    /// The ticks to come in which slots are due, modulo their number: bits.
    busy: u64,
    /// Bytes of known operations, and how many there may be.
    bytes: usize,
    limit: usize,
}

impl<T> Queue<T> {
    /// An empty queue with at most `limit` bytes.
    pub(super) fn new(seed: u64, n_pes: Pe, limit: usize) -> Queue<T> {
        Queue {
            now: SLOTS,
            delays: Random::new(seed),
            fence: 0,
            targets: vec![Target::default(); n_pes as usize],
            slots: [Slot::default(); SLOTS as usize],
            items: (0..SLOTS).map(|_| None).collect(),
            occupied: OccupiedWords {
                narrow: [0; 256],
                wide: 0,
            },
            known: 0,
            held: 0,
            words: 0,
            due: [0; SLOTS as usize],
            busy: 0,
            bytes: 0,
            limit,
        }
    }

    /// The current tick.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether nothing is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Fence: operations issued from here on come after those issued before, for each PE.
    pub(super) fn fence(&mut self) {
        self.fence = self.fence.wrapping_add(1);
    }

    /// How many fences there were.
    pub(super) fn fences(&self) -> u32 {
        self.fence
    }

    /// Delivers the slots in `bits`, which are due in tick `due`, in the order of their issue.
    #[inline]
    fn deliver(&mut self, due: u64, bits: u64, mut deliver: impl FnMut(&mut T)) {
        let first = (due + 1) % SLOTS;
        let mut bits = bits.rotate_right(first as u32);
        while bits != 0 {
            let slot = (u64::from(bits.trailing_zeros()) + first) % SLOTS;
            bits &= bits - 1;
            self.held &= !(1 << slot);
            let item = &mut self.items[slot as usize];
            item.iter_mut().for_each(&mut deliver);
            *item = None;
        }
    }

    /// Goes to the next tick, and delivers the operations due in it.
    #[inline]
    pub(super) fn tick(&mut self, deliver: impl FnMut(&mut T)) {
        self.now += 1;
        let index = self.now % SLOTS;
        if self.busy >> index & 1 == 0 {
            return;
        }
        self.busy &= !(1 << index);
        let bits = std::mem::take(&mut self.due[index as usize]);
        self.deliver(self.now, bits & self.held, deliver);
        self.drop(bits & self.known);
    }

    /// Forgets known operations, which are delivered.
    #[inline]
    fn drop(&mut self, bits: u64) {
        self.known &= !bits;
        self.words &= !bits;
        let mut bits = bits;
        while bits != 0 {
            let slot = &self.slots[bits.trailing_zeros() as usize];
            self.bytes -= slot.bytes;
            self.occupied
                .leave(bits & bits.wrapping_neg(), slot.start, slot.end);
            bits &= bits - 1;
        }
    }

    /// The known operations that a reach overlaps, as bits.
    #[inline]
    pub(super) fn overlapping(&self, target_range: TargetRange) -> u64 {
        let (start, end) = target_range.ends();
        if !self.occupied.meet(start, end) {
            return 0;
        }
        let (mut bits, mut found) = (self.known, 0);
        while bits != 0 {
            let bit = bits.trailing_zeros();
            let slot = &self.slots[bit as usize];
            found |= u64::from(slot.start < end && start < slot.end) << bit;
            bits &= bits - 1;
        }
        found
    }

    /// When the last of some known operations is due.
    fn last_due(&self, mut bits: u64) -> u64 {
        let mut last = 0;
        while bits != 0 {
            last = last.max(self.slots[bits.trailing_zeros() as usize].due);
            bits &= bits - 1;
        }
        last
    }

    /// The operations among `bits` that are held back.
    pub(super) fn held(&self, bits: u64) -> impl Iterator<Item = &T> {
        let mut bits = bits & self.held;
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros())?;
            bits &= bits - 1;
            self.items[bit as usize].as_ref()
        })
    }

    fn target(&mut self, pe: Pe) -> &mut Target {
        let target = &mut self.targets[pe as usize];
        if target.fence != self.fence {
            (target.fence, target.fenced) = (self.fence, target.all);
        }
        target
    }

    /// Delivers early, and forgets, the known operations `bits` and those due before them.
    pub(super) fn settle(&mut self, bits: u64, deliver: impl FnMut(&mut T)) {
        self.deliver_until(self.last_due(bits), deliver);
        self.drop(bits);
    }

    /// Draws when an operation that writes is due, `now` at the earliest. `word`: it is an atomic operation or a signal.
    #[inline]
    pub(super) fn draw(&mut self, pe: Pe, after: After, word: bool) -> u64 {
        let drawn = self.now + self.delays.delay();
        let target = self.target(pe);
        let mut due = drawn.max(target.fenced);
        match after {
            After::Fences => {}
            After::Tick(tick) => due = due.max(tick),
            After::Puts => due = due.max(target.puts),
        }
        target.all = target.all.max(due);
        if !word {
            target.puts = target.puts.max(due);
        }
        due
    }

    /// Draws when a get is due.
    pub(super) fn draw_get(&mut self) -> u64 {
        self.now + self.delays.delay()
    }

    /// When all operations are due that must come before an atomic operation performed at once. An operation that only reads comes after the atomic
    /// operations on its word; any other also after fences and puts.
    pub(super) fn before_fetch(&mut self, target_range: TargetRange, reads_only: bool) -> u64 {
        let overlapping = self.overlapping(target_range);
        if reads_only {
            return self.last_due(overlapping & self.words);
        }
        let overlapped = self.last_due(overlapping);
        let target = self.target(target_range.pe);
        target.fenced.max(target.puts).max(overlapped)
    }

    /// Whether so many bytes more can be held back.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= self.limit
    }

    /// Holds an operation of this tick back until tick `due`, which is later. `target_range`: the range in which later operations must not overtake it.
    #[inline(always)]
    pub(super) fn hold(
        &mut self,
        due: u64,
        target_range: Option<TargetRange>,
        word: bool,
        bytes: usize,
        item: T,
    ) {
        debug_assert!(due > self.now && due <= self.now + LONGEST);
        let index = self.now % SLOTS;
        let (start, end) = target_range.map_or((0, 0), TargetRange::ends);
        self.slots[index as usize] = Slot {
            start,
            end,
            due,
            issued: self.now,
            bytes,
        };
        self.items[index as usize] = Some(item);
        let bit = 1 << index;
        self.occupied.enter(bit, start, end);
        self.known |= bit;
        self.held |= bit;
        if word {
            self.words |= bit;
        }
        self.due[(due % SLOTS) as usize] |= bit;
        self.busy |= 1 << (due % SLOTS);
        self.bytes += bytes;
    }

    /// The ticks after the current one in which something is due, in order.
    fn ticks(&self) -> impl Iterator<Item = u64> + use<T> {
        let first = self.now + 1;
        let mut busy = self.busy.rotate_right((first % SLOTS) as u32);
        std::iter::from_fn(move || {
            let tick = (busy != 0).then(|| first + u64::from(busy.trailing_zeros()))?;
            busy &= busy - 1;
            Some(tick)
        })
    }

    /// Delivers early the operations due in tick `due` or before.
    pub(super) fn deliver_until(&mut self, due: u64, mut deliver: impl FnMut(&mut T)) {
        for tick in self.ticks() {
            if tick > due || self.held == 0 {
                return;
            }
            let bits = self.due[(tick % SLOTS) as usize] & self.held;
            self.deliver(tick, bits, &mut deliver);
        }
    }

    /// Delivers everything, and forgets it.
    pub(super) fn deliver_all(&mut self, deliver: impl FnMut(&mut T)) {
        self.deliver_until(u64::MAX, deliver);
        self.forget();
    }

    /// Forgets everything, delivered or not.
    pub(super) fn forget(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        while held != 0 {
            self.items[held.trailing_zeros() as usize] = None;
            held &= held - 1;
        }
        if self.known != 0 {
            self.drop(self.known);
        }
        if self.busy != 0 {
            self.busy = 0;
            self.due = [0; SLOTS as usize];
        }
        // All that was due is past.
        self.now += SLOTS;
    }

    /// Delivers early the next due operations, if any are held back.
    pub(super) fn deliver_next(&mut self, deliver: impl FnMut(&mut T)) {
        let held = |tick: u64| self.due[(tick % SLOTS) as usize] & self.held;
        let next = self.ticks().find(|&tick| held(tick) != 0);
        if let Some(tick) = next {
            self.deliver(tick, held(tick), deliver);
        }
    }

    /// Delivers the operations issued in tick `issued` or before; operations that must precede them were issued before them.
    pub(super) fn deliver_issued_until(&mut self, issued: u64, mut deliver: impl FnMut(&mut T)) {
        for tick in self.ticks() {
            let mut bits = self.due[(tick % SLOTS) as usize] & self.held;
            let mut old = 0;
            while bits != 0 {
                let bit = bits.trailing_zeros();
                old |= u64::from(self.slots[bit as usize].issued <= issued) << bit;
                bits &= bits - 1;
            }
            self.deliver(tick, old, &mut deliver);
        }
    }
}

#[cfg(test)]
mod tests;
