//! Signals.

use crate::buffer::{LocalSource, NbiSource};
use crate::dtype::Dtype;
use crate::job::published::{Target, Wait};
use crate::op::{Cmp, SignalOp};
use crate::operation::Operation;
use crate::point_to_point::search_one;
use crate::symmetric::{SymElement, Symmetric};
use crate::transport::{Nbi, SignalUpdate, Submission};
use crate::{Pe, Result, Runtime};

impl Runtime {
    /// Copies `source` to `dest` on PE `pe`, then updates the signal there: a PE that sees the signal sees the data.
    ///
    /// One-sided. Returns when `source` may be reused. OpenSHMEM 1.5 section 9.8.3.
    #[inline(always)]
    #[track_caller]
    pub fn put_signal<'a>(
        &self,
        dest: impl Into<Symmetric>,
        source: impl Into<LocalSource<'a>>,
        signal: SymElement<u64>,
        value: u64,
        op: SignalOp,
        pe: Pe,
    ) -> Result<()> {
        let (source, update) = (source.into(), (signal, value, op));
        self.put_then_signal(
            dest.into(),
            source,
            update,
            pe,
            Nbi::No,
            Operation::PutSignal,
        )
    }

    /// As [`put_signal`](Runtime::put_signal), complete after [`quiet`](Runtime::quiet).
    ///
    /// One-sided. OpenSHMEM 1.5 section 9.8.4.
    #[inline(always)]
    #[track_caller]
    pub fn put_signal_nbi<'a>(
        &self,
        dest: impl Into<Symmetric>,
        source: impl Into<NbiSource<'a>>,
        signal: SymElement<u64>,
        value: u64,
        op: SignalOp,
        pe: Pe,
    ) -> Result<()> {
        let (source, lasts) = source.into().into_parts();
        let (nbi, update) = (Nbi::Yes { lasts }, (signal, value, op));
        self.put_then_signal(
            dest.into(),
            source,
            update,
            pe,
            nbi,
            Operation::PutSignalNbi,
        )
    }

    #[inline(always)]
    #[track_caller]
    fn put_then_signal(
        &self,
        dest: Symmetric,
        source: LocalSource<'_>,
        (signal, value, op): (SymElement<u64>, u64, SignalOp),
        pe: Pe,
        nbi: Nbi,
        called: Operation,
    ) -> Result<()> {
        let dest = self.check_transfer(called, dest, source.bytes(), pe)?;
        self.inner.within(signal.range())?;
        let offset = signal.offset();
        let update = SignalUpdate { offset, value, op };
        let issued = self.issue(called);
        issued.put_signal(pe, dest.offset(), source, update, nbi)?;
        self.ring_for_words(dest, pe);
        self.ring_for_words(signal.range(), pe);
        Ok(())
    }

    /// Updates the signal on PE `pe`, after all earlier puts of this PE to it.
    ///
    /// One-sided. NVSHMEM `nvshmemx_signal_op`.
    #[inline(always)]
    #[track_caller]
    pub fn signal_op(
        &self,
        signal: SymElement<u64>,
        value: u64,
        op: SignalOp,
        pe: Pe,
    ) -> Result<()> {
        self.check_target(signal.range(), pe)?;
        let offset = signal.offset();
        let update = SignalUpdate { offset, value, op };
        self.issue(Operation::SignalOp).signal(pe, update)?;
        self.ring_for_words(signal.range(), pe);
        Ok(())
    }

    /// Waits until this PE's copy of the signal compares to `value`, and returns the value that did. Earlier puts of the sender
    /// are visible on return.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.15.
    #[inline(always)]
    #[track_caller]
    pub fn signal_wait(&self, signal: SymElement<u64>, cmp: Cmp, value: u64) -> Result<u64> {
        self.inner.ready()?;
        self.inner.within(signal.range())?;
        let search = || search_one(signal, cmp, value, Operation::SignalWait, true, true);
        if let Some(found) = self.inner.transport.search(self.submission, search) {
            return found.map(|found| found.bits);
        }
        let offset = signal.offset();
        let wait = Wait {
            operation: Operation::SignalWait,
            target: Target::Word {
                offset,
                dtype: Dtype::Uint64,
                count: 1,
                cmp,
                expected: value,
                ahead: None,
            },
        };
        self.inner.wait_word(wait, |transport| {
            let seen = transport.signal_fetch(Operation::SignalWait, offset);
            if cmp.holds(seen, value) {
                Ok(seen)
            } else {
                Err(seen)
            }
        })
    }

    /// As [`signal_wait`](Runtime::signal_wait), without the value; on a stream of the GPU only the stream waits.
    ///
    /// Local: only the caller waits. OpenSHMEM 1.5 section 9.10.15.
    #[inline(always)]
    #[track_caller]
    pub fn signal_await(&self, signal: SymElement<u64>, cmp: Cmp, value: u64) -> Result<()> {
        match self.submission {
            Submission::Blocking => self.signal_wait(signal, cmp, value).map(drop),
            Submission::Stream(_) => self.wait_until(signal, cmp, value),
        }
    }

    /// Reads this PE's copy of the signal. The sender's puts before that value are visible on return.
    ///
    /// Local; never waits. OpenSHMEM 1.5 section 9.8.5.
    #[inline(always)]
    #[track_caller]
    pub fn signal_fetch(&self, signal: SymElement<u64>) -> Result<u64> {
        self.inner.ready()?;
        self.inner.within(signal.range())?;
        if self.submission != Submission::Blocking {
            let (me, at) = (self.inner.my_pe, signal.offset());
            return self.issue(Operation::SignalFetch).get_value(me, at);
        }
        let transport = &self.inner.transport;
        transport.look(signal.range());
        let seen = transport
            .internal()
            .signal_fetch(Operation::SignalFetch, signal.offset());
        transport.internal().failure()?;
        transport.acquired(signal.range(), seen, Operation::SignalFetch);
        Ok(seen)
    }
}
