//! Writes arbitrary values into a control block, as a corrupted PE would. For the fuzz targets only.

use super::{Control, MAX_TEAMS, MEMBER_BYTES, PAGE};
use crate::segment::AllAtomic;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A word of a control block; numbers that are too large wrap around.
#[derive(Clone, Copy, Debug)]
pub enum BlockWord {
    /// Of the header.
    Header(u16),
    /// Of a PE's block.
    Pe(u16, u16),
    /// Of a PE's block and two slots of a team number.
    Team(u16, u16, u16),
    /// Of the checker's area, by its distance in words; in a job that is not checked, of the header.
    Area(u32),
}

/// One word.
#[repr(transparent)]
struct Word(AtomicU64);

// SAFETY: an atomic integer, and nothing else.
unsafe impl AllAtomic for Word {}

impl Control {
    /// Sets a word; returns the old value.
    pub fn corrupt(&self, word_at: BlockWord, value: u64) -> u64 {
        let within = |word: u16, bytes: u64| u64::from(word) % (bytes / 8) * 8;
        let pe = |pe: u16| u64::from(pe) % self.n_pes;
        let offset = match word_at {
            BlockWord::Header(word) => within(word, PAGE),
            BlockWord::Pe(one, word) => PAGE * (1 + pe(one)) + within(word, PAGE),
            BlockWord::Team(team, one, word) => {
                let row = self.row(u32::from(team) % MAX_TEAMS as u32);
                row.0 + pe(one) * MEMBER_BYTES + within(word, MEMBER_BYTES)
            }
            BlockWord::Area(word) => match self.area_offset() {
                Some(area) => area + u64::from(word) * 8 % self.area_bytes,
                None => u64::from(word) * 8 % PAGE,
            },
        };
        let word: &Word = self.segment.view(offset);
        word.0.swap(value, Relaxed)
    }
}
