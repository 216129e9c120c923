//! Releases: a PE marks an allocation as unused, at any time, without the other PEs. The next collective allocation frees the allocations
//! that all PEs have released.
//!
//! A release is local. Each PE posts the ids of its releases in the allocation's meeting, so all PEs have the same lists, and free the same
//! allocations.

use crate::collectives::{CollectiveCall, MemberCall};
use crate::heap::State;
use crate::job::block::PAYLOAD_WORDS;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::{Pe, Result, Runtime, words};
use std::collections::{BTreeSet, HashSet};

/// Ids that a PE posts in one meeting; the word before them is their number.
const IDS: usize = PAYLOAD_WORDS - 1;

/// The flag in that word for remaining ids, all of them larger.
const MORE: u64 = 1 << 32;

/// Ids that a PE has posted in a meeting, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
struct Brought {
    ids: Vec<u64>,
    more: bool,
}

impl Brought {
    fn has(&self, id: u64) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// Whether the PE may have released an id, according to its posts.
    fn may_have(&self, id: u64) -> bool {
        self.has(id) || self.more && self.ids.last() < Some(&id)
    }
}

/// Allocations that some PEs have not released yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Allocations that some PEs have released.
    ids: BTreeSet<u64>,
    /// PEs that have not released all of them.
    lacking: BTreeSet<Pe>,
    /// Whether any PE had released anything.
    pub(super) any: bool,
}

impl Pending {
    /// Evaluates the PEs' posts of a meeting, ids from `from` on: returns the ids that all have released, and the first id for a
    /// further meeting.
    fn judge(&mut self, brought: &[Brought], from: u64) -> (Vec<u64>, Option<u64>) {
        self.any |= brought.iter().any(|one| !one.ids.is_empty());
        let told = brought.iter().filter(|one| one.more);
        // Up to here every PE has sent all ids.
        let bound = told.filter_map(|one| one.ids.last()).min().copied();
        let common = brought[0].ids.iter().copied().filter(|&id| {
            bound.is_none_or(|bound| id <= bound) && brought[1..].iter().all(|one| one.has(id))
        });
        let common: Vec<u64> = common.collect();
        // A PE has released nothing below the first id that it brings.
        let firsts = brought.iter().filter_map(|one| one.ids.first());
        let next = bound.map(|bound| {
            firsts
                .max()
                .map_or(0, |&first| first.max(bound.saturating_add(1)))
        });
        let next = next.filter(|next| {
            let left = |one: &Brought| one.more || one.ids.last() >= Some(next);
            // Each meeting makes progress, also with a damaged slot.
            *next > from && brought.iter().all(left)
        });
        if brought[1..].iter().any(|one| *one != brought[0]) {
            let judged = |id: u64| next.is_none_or(|next| id < next);
            for id in brought.iter().flat_map(|one| &one.ids).copied() {
                if judged(id) && common.binary_search(&id).is_err() && self.ids.insert(id) {
                    let lacks =
                        |(pe, one): (usize, &Brought)| (!one.may_have(id)).then_some(pe as Pe);
                    self.lacking
                        .extend(brought.iter().enumerate().filter_map(lacks));
                }
            }
        }
        (common, next)
    }

    /// Describes allocations that some PEs have not released, for the error of a full heap; empty if there are none.
    #[cold]
    pub(super) fn describe(&self, state: &State) -> String {
        let waits = |id: u32| self.ids.contains(&u64::from(id));
        let blocks = state.allocator.live().filter(|block| waits(block.id));
        let (count, bytes) = blocks.fold((0, 0), |(count, bytes), block| {
            (count + 1, bytes + block.taken)
        });
        if count == 0 {
            return String::new();
        }
        let lacking: Vec<Pe> = self.lacking.iter().copied().collect();
        format!(
            "; {bytes} bytes of {} are released by some PEs, but not by {}",
            words::counted(count, "allocation"),
            words::pes(&lacking)
        )
    }
}

impl Inner {
    /// Ids that this PE has released, ascending.
    pub(super) fn released_ids(&self) -> Vec<u64> {
        let state = self.heap.lock();
        let mut ids: Vec<u64> = state.released.iter().map(|&id| id.into()).collect();
        ids.sort_unstable();
        ids
    }

    /// Meets with `call` and the ids that this PE has released, and frees the allocations that all PEs have released; in as many rounds as needed.
    pub(super) fn meet_and_free(
        &self,
        collective: &CollectiveCall<'_>,
        mut call: MemberCall,
        mine: &[u64],
    ) -> Result<Pending> {
        let (mut rest, mut from, mut pending) = (mine, 0, Pending::default());
        loop {
            let count = rest.len().min(IDS);
            let more = if rest.len() > count { MORE } else { 0 };
            let payload = [&[count as u64 | more], &rest[..count]].concat();
            let epoch = collective.meet(call, &payload)?;
            let members = (0..collective.n_pes()).map(|member| {
                let mut head = [0];
                collective.payload(member, epoch, &mut head);
                let mut ids = vec![0; (head[0] as u32 as usize).min(IDS)];
                collective.payload_from(member, epoch, 1, &mut ids);
                Brought {
                    ids,
                    more: head[0] & MORE != 0,
                }
            });
            let brought: Vec<Brought> = members.collect();
            let (common, next) = pending.judge(&brought, from);
            self.free_ids(&common, collective.site());
            let Some(next) = next else {
                return Ok(pending);
            };
            rest = &rest[rest.partition_point(|&id| id < next)..];
            from = next;
            call = MemberCall::plain(Operation::Malloc);
        }
    }

    /// Frees allocations that this PE has released, by their ids, in a collective that is called at `site`.
    fn free_ids(&self, ids: &[u64], site: u16) {
        if ids.is_empty() {
            return;
        }
        let mut state = self.heap.lock();
        let freed = state.allocator.live().filter(|block| {
            ids.binary_search(&block.id.into()).is_ok() && state.released.contains(&block.id)
        });
        let offsets: Vec<u64> = freed.map(|block| block.offset).collect();
        for offset in offsets {
            self.drop_block(&mut state, offset, site);
        }
    }

    fn release(&self, offset: u64, address: u64) -> Result<()> {
        self.ready()?;
        let mut state = self.heap.lock();
        let block = state.owned(offset, address)?;
        state.released.insert(block.id);
        Ok(())
    }

    /// The offsets of allocations that this PE has released and that are not freed.
    pub(crate) fn released_offsets(&self) -> HashSet<u64> {
        let state = self.heap.lock();
        let live = state.allocator.live();
        live.filter(|block| state.released.contains(&block.id))
            .map(|block| block.offset)
            .collect()
    }

    /// Records that this PE no longer uses the allocation at `offset`; for `Drop`.
    pub(crate) fn release_offset(&self, offset: u64) -> Result<()> {
        self.release(offset, self.layout.address(self.my_pe, offset))
    }
}

impl Runtime {
    /// Marks an allocation as no longer used by this PE; the next collective allocation frees the allocations that all PEs have
    /// released before they call it. 0 (NULL) has no effect.
    ///
    /// Local; never waits.
    pub fn release(&self, address: u64) -> Result<()> {
        self.inner.ready()?;
        match address {
            0 => Ok(()),
            _ => self
                .inner
                .release(self.inner.symmetric_offset("ptr", address)?, address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brought(ids: &[u64], more: bool) -> Brought {
        let ids = ids.to_vec();
        Brought { ids, more }
    }

    #[test]
    fn ids_that_all_have_brought_are_freed() {
        let mut pending = Pending::default();
        let all = [brought(&[1, 4, 9], false), brought(&[4, 5], false)];
        assert_eq!(pending.judge(&all, 0), (vec![4], None));
        assert_eq!(pending.ids, BTreeSet::from([1, 5, 9]));
        assert_eq!(pending.lacking, BTreeSet::from([0, 1]));
        let mut none = Pending::default();
        assert_eq!(none.judge(&vec![Brought::default(); 3], 0), (vec![], None));
        assert!(!none.any && none.ids.is_empty());
        let mut same = Pending::default();
        assert_eq!(
            same.judge(&vec![brought(&[2], false); 3], 0),
            (vec![2], None)
        );
        assert!(same.any && same.lacking.is_empty());
    }

    #[test]
    fn pes_meet_again_while_each_of_them_may_have_more() {
        let judge = |all: &[Brought]| Pending::default().judge(all, 0);
        // Both have more: ids above the smaller bound are for the next meeting.
        let all = [brought(&[1, 2, 7], true), brought(&[2, 3, 9], true)];
        assert_eq!(judge(&all), (vec![2], Some(8)));
        // The ids of the second PE begin far above the bound.
        let all = [brought(&[1, 2], true), brought(&[700], false)];
        assert_eq!(judge(&all), (vec![], Some(700)));
        // The second PE has sent all: no id above its last one can be common.
        let all = [brought(&[1, 2, 3], true), brought(&[2], false)];
        let mut pending = Pending::default();
        assert_eq!(pending.judge(&all, 0), (vec![2], None));
        assert_eq!(pending.lacking, BTreeSet::from([1]));
        // Whether the first PE has 8 is not known, and the third lacks it.
        let all = [
            brought(&[1], true),
            brought(&[8], false),
            brought(&[], false),
        ];
        let mut pending = Pending::default();
        assert_eq!(pending.judge(&all, 0), (vec![], None));
        assert_eq!(pending.lacking, BTreeSet::from([1, 2]));
    }

    #[test]
    fn what_no_pe_has_brought_ends_the_meetings() {
        let all = [brought(&[9, 3], true), brought(&[u64::MAX], true)];
        assert_eq!(Pending::default().judge(&all, 5).1, Some(u64::MAX));
        let all = [brought(&[], true), brought(&[1], true)];
        assert_eq!(Pending::default().judge(&all, 2).1, None);
    }
}
