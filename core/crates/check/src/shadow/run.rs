//! Words of a long range that look alike: judged once, then only compared and changed.

use super::{CELLS, Cell, Verdict, load};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adjacent words with equal cells, and the effect of an access on them.
pub(super) struct Run {
    pub(super) before: [u64; CELLS],
    after: [u64; CELLS],
    pub(super) verdict: Verdict,
    /// Whether their knowledge has been published.
    pub(super) told: bool,
}

impl Run {
    pub(super) fn new(verdict: Verdict, before: [u64; CELLS], new: Cell) -> Run {
        let mut after = before;
        after[verdict.place] = new.0;
        for place in (0..CELLS).filter(|&place| verdict.dropped >> place & 1 != 0) {
            after[place] = 0;
        }
        if let Some(place) = verdict.lost {
            after[place] = Cell::LOST.0;
        }
        Run {
            before,
            after,
            verdict,
            told: false,
        }
    }

    /// Whether there is nothing to do but to change the cells.
    pub(super) fn is_silent(&self) -> bool {
        self.verdict.conflicts == 0 && (self.verdict.passed == 0 || self.told)
    }

    /// Changes a word's cells; remaining cells are not written, because other PEs may change them meanwhile.
    #[inline(always)]
    pub(super) fn change(&self, cells: &[AtomicU64; CELLS]) {
        for (place, cell) in cells.iter().enumerate() {
            if self.before[place] != self.after[place] {
                cell.store(self.after[place], Relaxed);
            }
        }
    }

    /// Changes the cells of words as long as they look alike, and returns the number of these words.
    pub(super) fn go_on(&self, words: &[[AtomicU64; CELLS]]) -> usize {
        let differs = |place: &usize| self.before[*place] != self.after[*place];
        let mut changed = (0..CELLS).filter(differs);
        match (changed.next(), changed.next()) {
            (None, _) => self.each(words, |_| {}),
            (Some(place), None) => {
                let after = self.after[place];
                self.each(words, |cells| cells[place].store(after, Relaxed))
            }
            _ => self.each(words, |cells| self.change(cells)),
        }
    }

    /// Calls `change` with the cells of words as long as they look alike, and returns the number of these words.
    #[inline(always)]
    fn each(&self, words: &[[AtomicU64; CELLS]], change: impl Fn(&[AtomicU64; CELLS])) -> usize {
        let before = self.before;
        for (index, cells) in words.iter().enumerate() {
            let now = load(cells);
            // One comparison for all four.
            let differ = (0..CELLS).fold(0, |differ, place| differ | now[place] ^ before[place]);
            if differ != 0 {
                return index;
            }
            change(cells);
        }
        words.len()
    }
}
