//! Computes which pages of a PE's part of the heap are backed by memory. The result is the same on every PE.
//!
//! Memory is allocated in chunks on demand and kept until the job ends: releasing it would take another exchange among the PEs,
//! and the next allocation would probably need it again.

use crate::buffer::SymRange;
use std::collections::BTreeMap;

/// The smallest chunk, so that not every small allocation takes an exchange.
const LEAST: u64 = 16 << 20;

/// The set of backed pages.
pub(crate) struct Chunks {
    /// The page size in bytes.
    page: u64,
    /// The end of the heap.
    limit: u64,
    /// Start and end of the backed ranges; adjacent ranges are merged.
    backed: BTreeMap<u64, u64>,
}

impl Chunks {
    /// An empty set. `page` is a power of two that divides `limit`.
    pub(crate) fn new(page: u64, limit: u64) -> Chunks {
        Chunks {
            page,
            limit,
            backed: BTreeMap::new(),
        }
    }

    /// The chunks that must be allocated to back `range`.
    pub(crate) fn missing(&self, range: SymRange) -> Vec<SymRange> {
        let end = (range.offset() + range.bytes()).next_multiple_of(self.page);
        let mut at = range.offset() / self.page * self.page;
        let mut missing = Vec::new();
        while at < end {
            let before = self.backed.range(..=at).next_back();
            if let Some((_, &until)) = before.filter(|&(_, &until)| until > at) {
                at = until;
                continue;
            }
            let room = self
                .backed
                .range(at..)
                .next()
                .map_or(self.limit, |(&next, _)| next);
            let stop = end.max(at + LEAST.next_multiple_of(self.page)).min(room);
            missing.push(SymRange::new(at, stop - at));
            at = stop;
        }
        missing
    }

    /// Records that a range is backed.
    pub(crate) fn add(&mut self, range: SymRange) {
        let (mut start, mut end) = (range.offset(), range.offset() + range.bytes());
        if let Some((&before, &until)) = self.backed.range(..start).next_back()
            && until == start
        {
            self.backed.remove(&before);
            start = before;
        }
        if let Some(after) = self.backed.remove(&end) {
            end = after;
        }
        self.backed.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = 2 << 20;

    fn missing(chunks: &Chunks, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        let list = chunks.missing(SymRange::new(offset, bytes));
        list.iter().map(|one| (one.offset(), one.bytes())).collect()
    }

    fn add(chunks: &mut Chunks, offset: u64, bytes: u64) {
        chunks.add(SymRange::new(offset, bytes));
    }

    #[test]
    fn chunks_are_made_where_there_are_none() {
        let mut chunks = Chunks::new(PAGE, 100 * PAGE);
        assert_eq!(missing(&chunks, 64, 8), [(0, LEAST)]);
        add(&mut chunks, 0, LEAST);
        assert_eq!(missing(&chunks, 64, LEAST - 64), []);
        // A larger request is one chunk, from the end of the backed range on.
        assert_eq!(
            missing(&chunks, 64, 40 * PAGE),
            [(LEAST, 41 * PAGE - LEAST)]
        );
        // The last chunk ends with the heap.
        assert_eq!(missing(&chunks, 99 * PAGE, 1), [(99 * PAGE, PAGE)]);
        add(&mut chunks, 20 * PAGE, 2 * PAGE);
        // On both sides of a backed range.
        assert_eq!(
            missing(&chunks, 19 * PAGE, 4 * PAGE),
            [(19 * PAGE, PAGE), (22 * PAGE, LEAST)]
        );
    }

    proptest! {
        #[test]
        fn whatever_was_asked_for_is_backed_once(asked in prop::collection::vec((0u64..64, 1u64..40), 1..40)) {
            let limit = 64 * PAGE;
            let mut chunks = Chunks::new(PAGE, limit);
            let mut pages = [false; 64];
            for (start, count) in asked {
                let end = (start + count).min(64);
                let range = SymRange::new(start * PAGE + 5, (end - start) * PAGE - 5);
                for chunk in chunks.missing(range) {
                    prop_assert!(chunk.offset() % PAGE == 0 && chunk.bytes() % PAGE == 0 && chunk.bytes() > 0);
                    for page in chunk.offset() / PAGE..(chunk.offset() + chunk.bytes()) / PAGE {
                        prop_assert!(!std::mem::replace(&mut pages[page as usize], true));
                    }
                    chunks.add(chunk);
                }
                prop_assert!(pages[start as usize..end as usize].iter().all(|&backed| backed));
                prop_assert!(chunks.missing(range).is_empty());
            }
        }
    }
}
