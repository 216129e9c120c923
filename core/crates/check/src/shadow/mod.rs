//! The shadow: the last accesses to each word, and their conflicts with a new access.
//!
//! A word of 8 bytes has four cells, each of which stands for one access:
//!
//! ```text
//! 63      31 30   23 22    15 14  12 11    0
//! | tag     | PE    | bytes  | kind | site  |        0: empty
//! ```
//!
//! A new cell takes the place of cells that say no more than it does: accesses to bytes it covers, that came before it, and that
//! conflict with nothing it does not conflict with; a PE ordered after the new access is ordered after them, too. Otherwise it
//! takes an empty cell; if there is none, a read goes. If a write has to go, a cell says that the word's writers are not all known.

mod cell;
mod run;

use super::area::{Area, CELLS, WORD};
use super::clocks::Clocks;
use super::tracker::Kind;
pub(super) use cell::Cell;
use run::Run;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// An access to a range of a PE's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) kind: Kind,
    pub(super) owner: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// The cell of its words, but for the mask.
    pub(super) cell: Cell,
    /// Whether it is a free: then only puts and stores of others matter, and only to words by which no PEs synchronise.
    pub(super) frees: bool,
}

/// Puts of a PE to one place without a fence between them: mostly one, which takes no memory of its own.
pub(crate) type Rewrites = SmallVec<[Conflict; 1]>;

/// Bytes of an access that conflict with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) cell: Cell,
    /// Offsets in the owner's part.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The effect of an access on a word's cells. Bits stand for cells.
#[derive(Clone, Copy)]
struct Verdict {
    conflicts: u8,
    /// Puts of this PE's own that this put may overtake.
    rewrites: u8,
    dropped: u8,
    /// Of the cells that go, writes of other PEs that are over on return.
    passed: u8,
    /// Where the new cell goes.
    place: usize,
    /// Whether, and where, the word's writers are no longer known.
    lost: Option<usize>,
}

/// The shadow, as PE `me` uses it.
#[derive(Debug)]
pub(super) struct Shadow {
    area: Area,
    me: u64,
    /// Whether an access ever had to go for want of room.
    #[cfg(test)]
    pub(super) evicted: std::sync::atomic::AtomicBool,
}

/// Words up to which an access takes care not to miss one at the very same moment.
const CAREFUL: u64 = 8;
/// How often a cell is tried to change that others change, too.
const TRIES: usize = 4;

#[inline(always)]
fn load(cells: &[AtomicU64; CELLS]) -> [u64; CELLS] {
    std::array::from_fn(|index| cells[index].load(Relaxed))
}

impl Shadow {
    pub(super) fn new(area: Area, me: u64) -> Shadow {
        Shadow {
            area,
            me,
            #[cfg(test)]
            evicted: Default::default(),
        }
    }

    /// Checks an access against the cells of its words, and leaves a cell of its own there. Notes puts of this PE's own that it may
    /// overtake in `rewrites`.
    #[inline(always)]
    pub(super) fn access(
        &self,
        clocks: &Clocks,
        access: &Access,
        rewrites: &mut Rewrites,
    ) -> Vec<Conflict> {
        let (first, end) = (access.offset / WORD, access.offset + access.bytes);
        let count = end.div_ceil(WORD) - first;
        let cells = self.area.cells(access.owner, first, count);
        let mut conflicts = Vec::new();
        if count <= CAREFUL && !access.frees {
            for (word, cells) in (first..).zip(cells) {
                let new = access.cell.with_mask(mask(word, access.offset, end));
                self.one(clocks, access, new, word, cells, &mut conflicts, rewrites);
            }
        } else {
            self.many(clocks, access, first, cells, &mut conflicts, rewrites);
        }
        conflicts
    }

    /// One word. Its cell is there before the others are looked at once more, so of two PEs at the very same moment at least one
    /// sees the other.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "its inputs and its outputs")]
    fn one(
        &self,
        clocks: &Clocks,
        access: &Access,
        new: Cell,
        word: u64,
        cells: &[AtomicU64; CELLS],
        conflicts: &mut Vec<Conflict>,
        rewrites: &mut Rewrites,
    ) {
        for _ in 0..TRIES {
            let before = load(cells);
            // The same access once more, and no other PE's. A put repeated by one line is compared only while it is held back.
            let place = self.own_first();
            let others = (0..CELLS).filter(|&other| other != place);
            if before[place] == new.0 && others.fold(0, |all, other| all | before[other]) == 0 {
                return;
            }
            let verdict = self.judge(clocks, access, new, word, &before);
            if verdict.rewrites != 0 {
                rewrite(&before, verdict.rewrites, new, word, word + 1, rewrites);
            }
            if before[verdict.place] == new.0 {
                if verdict.conflicts != 0 {
                    collect(&before, verdict.conflicts, new, word, conflicts);
                }
                return;
            }
            let change = |place: usize, value: u64| {
                cells[place]
                    .compare_exchange(before[place], value, SeqCst, Relaxed)
                    .is_ok()
            };
            if !change(verdict.place, new.0) {
                continue;
            }
            if verdict.dropped != 0 {
                for place in (0..CELLS).filter(|&place| verdict.dropped >> place & 1 != 0) {
                    change(place, 0);
                }
            }
            if let Some(place) = verdict.lost {
                change(place, Cell::LOST.0);
            }
            if verdict.passed != 0 && !self.marked(access.owner, word) {
                pass_on(clocks, access.owner, &before, verdict.passed);
            }
            if verdict.conflicts != 0 {
                collect(&before, verdict.conflicts, new, word, conflicts);
            }
            let mut after = load(cells);
            for (place, now) in after.iter_mut().enumerate() {
                if *now == before[place] || place == verdict.place {
                    *now = 0;
                }
            }
            if after != [0; CELLS] {
                let verdict = self.judge(clocks, access, new, word, &after);
                collect(&after, verdict.conflicts, new, word, conflicts);
            }
            return;
        }
    }

    /// Many words, most of which look alike.
    fn many(
        &self,
        clocks: &Clocks,
        access: &Access,
        first: u64,
        words: &[[AtomicU64; CELLS]],
        conflicts: &mut Vec<Conflict>,
        rewrites: &mut Rewrites,
    ) {
        let end = access.offset + access.bytes;
        // Words before this one are whole, but for the first.
        let whole = (end / WORD - first) as usize;
        // A PE that sees a cell sees the moment of the cell's tag.
        fence(Release);
        let mut last: Option<Run> = None;
        let mut index = 0;
        while index < words.len() {
            // A freed range is checked word by word.
            let goes_on = |run: &&Run| !access.frees && run.is_silent();
            if let Some(run) = last.as_ref().filter(goes_on) {
                let begin = first + index as u64;
                index += run.go_on(&words[index.min(whole)..whole]);
                let (end, which) = (first + index as u64, run.verdict.rewrites);
                if which != 0 && begin < end {
                    let new = access.cell.with_mask(0xff);
                    rewrite(&run.before, which, new, begin, end, rewrites);
                }
                if index == words.len() {
                    break;
                }
            }
            let (word, cells) = (first + index as u64, &words[index]);
            index += 1;
            if access.frees && self.marked(access.owner, word) {
                continue;
            }
            let before = load(cells);
            let mask = mask(word, access.offset, end);
            let new = access.cell.with_mask(mask);
            let mut run = match last.take() {
                Some(run) if mask == 0xff && run.before == before => run,
                _ => Run::new(self.judge(clocks, access, new, word, &before), before, new),
            };
            let verdict = &run.verdict;
            if verdict.conflicts != 0 {
                collect(&before, verdict.conflicts, new, word, conflicts);
            }
            if verdict.rewrites != 0 {
                rewrite(&before, verdict.rewrites, new, word, word + 1, rewrites);
            }
            if verdict.passed != 0 && !run.told && !self.marked(access.owner, word) {
                pass_on(clocks, access.owner, &before, verdict.passed);
                run.told = true;
            }
            run.change(cells);
            last = (mask == 0xff).then_some(run);
        }
        fence(SeqCst);
    }

    /// Gives the cells that this access has left the current tag. A word that PEs synchronise by keeps its own: a PE that has seen it knows
    /// that it has arrived.
    pub(super) fn reissue(&self, access: &Access) {
        let (first, end) = (access.offset / WORD, access.offset + access.bytes);
        let count = end.div_ceil(WORD) - first;
        // A PE that sees a cell sees the moment of the cell's tag.
        fence(Release);
        for (word, cells) in (first..).zip(self.area.cells(access.owner, first, count)) {
            if self.marked(access.owner, word) {
                continue;
            }
            for cell in cells {
                let bits = cell.load(Relaxed);
                let same = |old: &Cell| {
                    *old != Cell::LOST
                        && (old.pe(), old.kind()) == (self.me, access.kind)
                        && old.site() == access.cell.site()
                };
                if let Some(old) = Cell::of(bits).filter(same) {
                    let now = access.cell.with_mask(old.mask());
                    // Another access may have come, which orders more.
                    let _ = cell.compare_exchange(bits, now.0, SeqCst, Relaxed);
                }
            }
        }
    }

    /// Whether PEs synchronise by a word.
    fn marked(&self, owner: u64, word: u64) -> bool {
        let (bits, bit) = self.area.bit(owner, word);
        bits.load(Relaxed) & bit != 0
    }

    #[inline(always)]
    fn judge(
        &self,
        clocks: &Clocks,
        access: &Access,
        new: Cell,
        word: u64,
        cells: &[u64; CELLS],
    ) -> Verdict {
        let mut verdict = Verdict {
            conflicts: 0,
            rewrites: 0,
            dropped: 0,
            passed: 0,
            place: CELLS,
            lost: None,
        };
        let (kind, mask) = (access.kind, new.mask());
        let n = self.area.n() as u64;
        for (place, &bits) in cells.iter().enumerate() {
            let Some(cell) = Cell::of(bits) else {
                continue;
            };
            if cell.mask() & mask == 0 || cell == Cell::LOST || cell.pe() >= n {
                continue;
            }
            let own = cell.pe() == self.me;
            let old = cell.kind();
            if own && kind.is_put() && old.is_put() && access.owner != self.me {
                let ordered = clocks.fenced(cell.tag()) || cell.ordered(clocks, access.owner);
                verdict.rewrites |= u8::from(!ordered) << place;
            }
            let clash = conflict(old, kind, own, access.frees);
            let covered = kind.covers(old) && cell.mask() & !mask == 0;
            if !clash && !covered {
                continue;
            }
            // Asking for the order is dear, so only where something follows from it.
            let together = own && kind.completes_with(old);
            let ordered = (clash || !together) && cell.ordered(clocks, access.owner);
            if clash && !ordered {
                verdict.conflicts |= 1 << place;
            }
            if (ordered || together) && covered {
                verdict.dropped |= 1 << place;
                verdict.passed |= u8::from(!own && old.writes() && old.is_over()) << place;
            }
        }
        if verdict.dropped != 0 {
            verdict.place = verdict.dropped.trailing_zeros() as usize;
            verdict.dropped &= verdict.dropped - 1;
            return verdict;
        }
        // PEs begin at different cells, so that two at the same moment do not take the same one.
        for step in 0..CELLS {
            let place = (self.own_first() + step) % CELLS;
            if cells[place] == 0 {
                verdict.place = place;
                return verdict;
            }
        }
        self.evict(new, word, cells, &mut verdict);
        verdict
    }

    /// The cell that an access takes if all are empty.
    #[inline(always)]
    fn own_first(&self) -> usize {
        self.me as usize % CELLS
    }

    /// Finds a place where there is none.
    #[cold]
    fn evict(&self, new: Cell, word: u64, cells: &[u64; CELLS], verdict: &mut Verdict) {
        #[cfg(test)]
        self.evicted.store(true, Relaxed);
        let from = (word ^ new.tag()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        let places = (0..CELLS).map(|step| (from as usize + step) % CELLS);
        let goes = |place: &usize| cells[*place] != Cell::LOST.0;
        let read = |place: &usize| goes(place) && !Cell(cells[*place]).kind().writes();
        if let Some(place) = places.clone().find(read) {
            verdict.place = place;
            return;
        }
        let mut writes = places.filter(goes);
        verdict.place = writes.next().unwrap_or(0);
        if !cells.contains(&Cell::LOST.0) {
            verdict.lost = writes.next();
        }
    }

    /// The cells of a word.
    pub(super) fn word(&self, owner: u64, word: u64) -> impl Iterator<Item = Cell> {
        let cells = &self.area.cells(owner, word, 1)[0];
        let n = self.area.n() as u64;
        let sound = move |cell: &Cell| *cell == Cell::LOST || cell.pe() < n;
        load(cells).into_iter().filter_map(Cell::of).filter(sound)
    }

    /// The data of put_signals of `pe` up to `tag` has arrived in these words: their signal was seen. Where they are, another PE
    /// says.
    pub(super) fn mark_signalled(&self, owner: u64, offset: u64, bytes: u64, pe: u64, tag: u64) {
        if !self.area.has(offset, bytes) {
            return;
        }
        let first = offset / WORD;
        let count = (offset + bytes).div_ceil(WORD) - first;
        for place in self.area.cells(owner, first, count).as_flattened() {
            let bits = place.load(Relaxed);
            let cell = Cell(bits);
            let signalled = cell.kind() == Kind::PutSignal && cell.pe() == pe;
            if bits != 0 && signalled && cell.tag() <= tag {
                let seen = cell.with_kind(Kind::Store).0;
                let _ = place.compare_exchange(bits, seen, Relaxed, Relaxed);
            }
        }
    }

    /// Writes to these bytes of a word have been seen, as far as the tags of their PEs are known: they have arrived.
    pub(super) fn mark_seen(&self, clocks: &Clocks, owner: u64, word: u64, mask: u8) {
        let cells = &self.area.cells(owner, word, 1)[0];
        for place in cells {
            let bits = place.load(Relaxed);
            let Some(cell) = Cell::of(bits) else {
                continue;
            };
            let over = match cell.kind() {
                Kind::Put | Kind::PutSignal => Kind::Store,
                Kind::Atomic => Kind::AtomicFetch,
                _ => continue,
            };
            let sound = cell.pe() < self.area.n() as u64;
            if sound && cell.mask() & mask != 0 && clocks.saw(cell.pe(), cell.tag()) {
                let _ = place.compare_exchange(bits, cell.with_kind(over).0, Relaxed, Relaxed);
            }
        }
    }
}

/// The bytes of a word that lie between `start` and `end`.
#[inline(always)]
fn mask(word: u64, start: u64, end: u64) -> u8 {
    let at = word * WORD;
    let mut mask = 0xff;
    if start > at {
        mask &= 0xff << (start - at);
    }
    if end < at + WORD {
        mask &= 0xff >> (at + WORD - end);
    }
    mask
}

/// Whether `new` must not come unordered after `old` of the same bytes; `own`: both are this PE's.
#[inline(always)]
fn conflict(old: Kind, new: Kind, own: bool, frees: bool) -> bool {
    if own {
        // free is a barrier, which completes them.
        return !frees
            && match old {
                // Its own put, read back or overwritten by a store before quiet.
                Kind::Put | Kind::PutSignal => new.reads() || new == Kind::Store,
                Kind::Atomic => new.reads() && !new.is_atomic(),
                _ => false,
            };
    }
    let both_atomic = old.is_atomic() && new.is_atomic();
    let plain_write = old.writes() && !old.is_atomic();
    (old.writes() || new.writes()) && !both_atomic && (!frees || plain_write)
}

/// Writes of other PEs to a word without a sync object lose their cells, the only record of the data that arrived with them: so this data
/// is published to all PEs.
#[cold]
fn pass_on(clocks: &Clocks, owner: u64, cells: &[u64; CELLS], which: u8) {
    for place in (0..CELLS).filter(|&place| which >> place & 1 != 0) {
        let cell = Cell(cells[place]);
        let fenced = clocks.past(cell.pe(), cell.tag()).fenced;
        clocks.notice_arrival(owner, cell.pe(), fenced);
    }
}

/// Notes that a put may overtake puts of this PE's own to the words from `word` to `end`, which look alike.
#[cold]
fn rewrite(
    cells: &[u64; CELLS],
    which: u8,
    new: Cell,
    word: u64,
    end: u64,
    rewrites: &mut Rewrites,
) {
    for place in (0..CELLS).filter(|&place| which >> place & 1 != 0) {
        let cell = Cell(cells[place]);
        let both = cell.mask() & new.mask();
        let start = word * WORD + u64::from(both.trailing_zeros());
        let end = end * WORD - u64::from(both.leading_zeros());
        let goes_on =
            |known: &&mut Conflict| known.end == start && known.cell.site() == cell.site();
        match rewrites.iter_mut().rev().take(CELLS).find(goes_on) {
            Some(known) => known.end = end,
            None => rewrites.push(Conflict { cell, start, end }),
        }
    }
}

/// Notes the conflicts of a word, with those of the words before it.
#[cold]
fn collect(cells: &[u64; CELLS], which: u8, new: Cell, word: u64, conflicts: &mut Vec<Conflict>) {
    for place in (0..CELLS).filter(|&place| which >> place & 1 != 0) {
        let cell = Cell(cells[place]);
        let both = cell.mask() & new.mask();
        let start = word * WORD + u64::from(both.trailing_zeros());
        let end = word * WORD + WORD - u64::from(both.leading_zeros());
        let same = |known: &&mut Conflict| {
            let known = known.cell;
            (known.pe(), known.kind(), known.site()) == (cell.pe(), cell.kind(), cell.site())
        };
        match conflicts.iter_mut().find(same) {
            Some(known) => {
                known.end = end;
                // The last of them stands for all: the others come before it.
                if cell.tag() > known.cell.tag() {
                    known.cell = cell;
                }
            }
            None => conflicts.push(Conflict { cell, start, end }),
        }
    }
}
