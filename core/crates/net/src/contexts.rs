//! The records of each context, once the program uses more than the default one: quiet of a context waits for these only.

use crate::Pe;
use crate::lock::lock;
use crate::transport::Context;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The last counted record of each context to each PE, as the number of records sent to that PE.
#[derive(Default)]
pub(super) struct ContextRecords {
    /// Whether an operation has had another context than the default one.
    several: AtomicBool,
    last: Mutex<BTreeMap<(Context, Pe), u64>>,
}

impl ContextRecords {
    /// Whether an operation has had another context than the default one.
    #[inline]
    pub(super) fn are_several(&self) -> bool {
        self.several.load(Acquire)
    }

    /// A record of `context` to `pe` was queued, the `sent`-th to that PE at the latest. At the first context that is not the default one,
    /// `before` returns the number of records of each PE so far, which are the default context's. A thread whose record
    /// `before` does not count must see [`are_several`](ContextRecords::are_several) after it has queued the record.
    pub(super) fn note(
        &self,
        context: Context,
        pe: Pe,
        sent: u64,
        before: impl FnOnce(&mut dyn FnMut(Pe, u64)),
    ) {
        if context == 0 && !self.are_several() {
            return;
        }
        let mut last = lock(&self.last);
        if !self.are_several() {
            // First, so that each record is either noted or counted by `before`. A thread that sees it waits for the lock.
            self.several.store(true, Release);
            before(&mut |pe, sent| {
                last.insert((0, pe), sent);
            });
        }
        // Another thread may have noted a later one.
        let last = last.entry((context, pe)).or_default();
        *last = sent.max(*last);
    }

    /// The last record of a context to each PE.
    pub(super) fn records(&self, context: Context) -> Vec<(Pe, u64)> {
        let last = lock(&self.last);
        let of_context = last.range((context, Pe::MIN)..=(context, Pe::MAX));
        of_context.map(|(&(_, pe), &sent)| (pe, sent)).collect()
    }

    /// Forgets records of a context, which are complete, unless later ones have come.
    pub(super) fn completed(&self, context: Context, records: &[(Pe, u64)]) {
        let mut last = lock(&self.last);
        for &(pe, sent) in records {
            if last.get(&(context, pe)) == Some(&sent) {
                last.remove(&(context, pe));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_context_has_its_own_records() {
        let records = ContextRecords::default();
        let none = |_: &mut dyn FnMut(Pe, u64)| ();
        records.note(0, 1, 5, none);
        assert!(!records.are_several() && records.records(0).is_empty());
        // PE 1 has had 5 records, PE 3 one, before the first of context 7.
        records.note(7, 2, 1, |each| {
            each(1, 5);
            each(3, 1);
        });
        records.note(7, 2, 4, none);
        records.note(7, 0, 9, none);
        records.note(0, 3, 2, none);
        let seventh = records.records(7);
        assert_eq!(seventh, [(0, 9), (2, 4)]);
        records.note(7, 0, 11, none);
        records.note(7, 0, 10, none);
        records.completed(7, &seventh);
        assert_eq!(records.records(7), [(0, 11)], "a later one has come");
        assert_eq!(records.records(0), [(1, 5), (3, 2)]);
    }
}
