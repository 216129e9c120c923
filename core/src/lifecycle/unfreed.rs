//! The list of objects that are not freed, which finalize writes to standard error and the program can query.

use crate::job::published::{Target, Wait};
use crate::job::shared_words;
use crate::job::state::State;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::track::{Ledger, Report, Unfreed, digest};
use crate::{Error, Pe, Result, Runtime, debug};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

impl Inner {
    /// Publishes the list's digests for the other PEs, and returns the list; `None` without a ledger.
    pub(super) fn publish_unfreed(&self) -> Option<Report> {
        let ledger = self.ledger.as_ref()?;
        let report = Report::new(&self.unfreed(ledger));
        let lines = report.lines.iter().map(|line| digest(line));
        shared_words::publish_unfreed(self.control.pe(self.my_pe), lines, digest(&report.whole()));
        Some(report)
    }

    /// Writes a list to standard error, in one call. If all PEs have `met` in finalize, only the first of those with the same list
    /// writes it, PE 0 before the others, and the others leave out the lines that PE 0 has written.
    pub(super) fn write_unfreed(&self, report: &Report, met: bool) {
        let whole = report.whole();
        let mut same = vec![self.my_pe];
        let mut written = Vec::new();
        if met {
            let list = |pe: Pe| &self.control.pe(pe).unfreed;
            let equal = |&pe: &Pe| list(pe)[0].load(Acquire) == digest(&whole);
            same = (0..self.n_pes).filter(equal).collect();
            let there = list(0)[0].load(Acquire) != 0;
            if self.my_pe != 0 && there && same.first() == Some(&self.my_pe) {
                written = list(0)[1..].iter().map(|word| word.load(Relaxed)).collect();
                let first = Wait {
                    operation: Operation::Finalize,
                    target: Target::Job,
                };
                // If PE 0 cannot write its list any more, the order is the least of the worries.
                let _ = self.wait(first, || match self.control.pe(0).state.load(Acquire) {
                    state if state >= State::Finalized as u32 => Ok(()),
                    state => Err(u64::from(state)),
                });
            }
        }
        if same.first() == Some(&self.my_pe) {
            let block = format!(
                "nvshmemrs track: {}: {}",
                crate::words::pes(&same),
                report.without(&written)
            );
            debug::write_stderr(&block);
        }
    }

    fn unfreed(&self, ledger: &Ledger) -> Vec<Unfreed> {
        ledger.unfreed(&self.released_offsets())
    }
}

impl Runtime {
    /// The objects that this PE has created and not freed, if `NVSHMEMRS_TRACK` is set: the list that finalize writes to standard
    /// error.
    ///
    /// Local.
    pub fn unfreed(&self) -> Result<Vec<Unfreed>> {
        self.inner.ready()?;
        let ledger = self.ledger()?;
        Ok(self.inner.unfreed(ledger))
    }

    /// [`unfreed`](Runtime::unfreed) as text, as finalize writes it.
    ///
    /// Local.
    pub fn unfreed_text(&self) -> Result<String> {
        let unfreed = self.unfreed()?;
        Ok(Report::new(&unfreed).whole())
    }

    fn ledger(&self) -> Result<&Ledger> {
        self.inner.ledger.as_ref().ok_or_else(|| {
            Error::NotSupported(
                "there is no list of objects that are not freed: NVSHMEMRS_TRACK must be 1 at init"
                    .into(),
            )
        })
    }
}
