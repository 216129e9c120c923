//! Two puts of one PE to one place, without a fence between them: the first may arrive last.

use super::delay::TargetRange;
use super::held::{Effect, HeldOperation};
use super::memory;
use super::report::{AccessInfo, Finding, FindingPlace, Problem};
use super::shadow::Conflict;
use super::{Checker, State};
use crate::buffer::{LocalDest, LocalSource};
use smallvec::{SmallVec, smallvec};

impl Checker {
    /// Whether a put writes other bytes to the same place as another put, which is held back, without a fence in between.
    #[cold]
    pub(super) fn two_puts(
        &self,
        state: &State,
        overlapping: u64,
        target_range: TargetRange,
        source: LocalSource<'_>,
        site: u16,
    ) -> Option<Box<Finding>> {
        let fences = state.queue.fences();
        let mut copied = self.copy_of(source);
        let new = copied.get(source.bytes());
        let differs = |held: &&HeldOperation| {
            let start = target_range.offset.max(held.target_range.offset);
            let end = (target_range.offset + target_range.bytes)
                .min(held.target_range.offset + held.target_range.bytes);
            let part = |of: TargetRange| (start - of.offset) as usize..(end - of.offset) as usize;
            let new = &new[part(target_range)];
            let other = match &held.effect {
                Effect::Put(bytes) => {
                    bytes.get(held.target_range.bytes as usize)[part(held.target_range)] != *new
                }
                Effect::PutFrom { source, .. } => {
                    let mut old = vec![0; new.len()];
                    let start = source + part(held.target_range).start as u64;
                    memory::read(start, &mut old) && old != new
                }
                Effect::GetTo { .. } | Effect::Give { .. } | Effect::Signal(..) => false,
            };
            held.fences == fences && other
        };
        let other = state.queue.held(overlapping).find(differs);
        self.pool.keep(&mut copied);
        let other = other?;
        let other = (other.target_range.bytes, other.site);
        Some(Box::new(self.two_puts_finding(target_range, other, site)))
    }

    /// The same, of puts that have been delivered: their bytes are there.
    #[cold]
    pub(super) fn rewritten(
        &self,
        rewrites: &[Conflict],
        target_range: TargetRange,
        source: LocalSource<'_>,
        site: u16,
    ) -> Option<Box<Finding>> {
        let mut copied = self.copy_of(source);
        let new = copied.get(source.bytes());
        let differs = |rewrite: &&Conflict| {
            let start = rewrite.start.max(target_range.offset);
            let end = rewrite.end.min(target_range.offset + target_range.bytes);
            // The tracker may be on another host.
            if start >= end {
                return false;
            }
            let part = &new[(start - target_range.offset) as usize..][..(end - start) as usize];
            // Aligned, so that words are read at once; most puts without a fence are of a word or two.
            let mut old: SmallVec<[u64; 8]> = smallvec![0; part.len().div_ceil(8)];
            let old: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut old)[..part.len()];
            self.below()
                .get(target_range.pe, start, LocalDest::from(&mut *old));
            *old != *part
        };
        let other = rewrites.iter().find(differs);
        self.pool.keep(&mut copied);
        let other = other?;
        let other = (other.end - other.start, other.cell.site());
        Some(Box::new(self.two_puts_finding(target_range, other, site)))
    }

    fn two_puts_finding(
        &self,
        target_range: TargetRange,
        (other_bytes, other_site): (u64, u16),
        site: u16,
    ) -> Finding {
        let party = |bytes, site| AccessInfo {
            pe: self.me,
            does: "puts",
            bytes,
            site,
        };
        Finding {
            problem: Problem::TwoPuts,
            place: FindingPlace::Symmetric {
                pe: target_range.pe,
                offset: target_range.offset,
            },
            now: party(target_range.bytes, site),
            other: party(other_bytes, other_site),
            why: String::new(),
            remedy: String::new(),
            unordered: false,
        }
    }
}
