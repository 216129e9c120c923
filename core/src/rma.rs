//! Remote memory access: put, get, p, g.

use crate::buffer::{LocalDest, LocalSource, NbiDest, NbiSource, SymRange};
use crate::dtype::Element;
use crate::job::doorbell;
use crate::operation::Operation;
use crate::symmetric::{SymElement, Symmetric};
use crate::{Pe, Result, Runtime};

impl Runtime {
    /// The checks of every operation on one PE's memory.
    #[inline(always)]
    pub(crate) fn check_target(&self, sym: SymRange, pe: Pe) -> Result<()> {
        self.inner.ready()?;
        crate::error::check_pe("pe", pe, self.inner.n_pes)?;
        self.inner.within(sym)
    }

    /// Rings the target's doorbell, if it may wait for the written words.
    #[inline(always)]
    pub(crate) fn ring_for_words(&self, dest: SymRange, pe: Pe) {
        doorbell::ring_words(&self.inner.control, pe, dest);
    }

    /// The checks of every transfer of `bytes` bytes; returns the symmetric range.
    #[inline(always)]
    pub(crate) fn check_transfer(
        &self,
        called: Operation,
        sym: Symmetric,
        bytes: usize,
        pe: Pe,
    ) -> Result<SymRange> {
        self.inner.ready()?;
        crate::error::check_pe("pe", pe, self.inner.n_pes)?;
        sym.resolve(&self.inner, called.symmetric(), bytes as u64)
    }

    /// Copies `source` to `dest` on PE `pe`, of the same length in bytes.
    ///
    /// One-sided. Returns when `source` may be reused; visible on `pe` after quiet, barrier or a signal. OpenSHMEM 1.5 section
    /// 9.6.1.
    #[inline(always)]
    #[track_caller]
    pub fn put<'a>(
        &self,
        dest: impl Into<Symmetric>,
        source: impl Into<LocalSource<'a>>,
        pe: Pe,
    ) -> Result<()> {
        let source = source.into();
        let dest = self.check_transfer(Operation::Put, dest.into(), source.bytes(), pe)?;
        (self.issue(Operation::Put)).put(pe, dest.offset(), source)?;
        self.ring_for_words(dest, pe);
        Ok(())
    }

    /// Copies `source` on PE `pe` to `dest`, of the same length in bytes.
    ///
    /// One-sided. Returns when the data is in `dest`. OpenSHMEM 1.5 section 9.6.1.
    #[inline(always)]
    #[track_caller]
    pub fn get<'a>(
        &self,
        dest: impl Into<LocalDest<'a>>,
        source: impl Into<Symmetric>,
        pe: Pe,
    ) -> Result<()> {
        let dest = dest.into();
        let source = self.check_transfer(Operation::Get, source.into(), dest.bytes(), pe)?;
        (self.issue(Operation::Get)).get(pe, source.offset(), dest)
    }

    /// As [`put`](Runtime::put), complete after [`quiet`](Runtime::quiet). A borrow of `source` ends on return, so a borrowed source
    /// is copied, or read, before.
    ///
    /// One-sided. OpenSHMEM 1.5 section 9.6.2.
    #[inline(always)]
    #[track_caller]
    pub fn put_nbi<'a>(
        &self,
        dest: impl Into<Symmetric>,
        source: impl Into<NbiSource<'a>>,
        pe: Pe,
    ) -> Result<()> {
        let (source, lasts) = source.into().into_parts();
        let dest = self.check_transfer(Operation::PutNbi, dest.into(), source.bytes(), pe)?;
        (self.issue(Operation::PutNbi)).put_nbi(pe, dest.offset(), source, lasts)?;
        self.ring_for_words(dest, pe);
        Ok(())
    }

    /// As [`get`](Runtime::get), complete after [`quiet`](Runtime::quiet). A borrow of `dest` ends on return, so a borrowed `dest` is
    /// written before.
    ///
    /// One-sided. OpenSHMEM 1.5 section 9.6.2.
    #[inline(always)]
    #[track_caller]
    pub fn get_nbi<'a>(
        &self,
        dest: impl Into<NbiDest<'a>>,
        source: impl Into<Symmetric>,
        pe: Pe,
    ) -> Result<()> {
        let (dest, lasts) = dest.into().into_parts();
        let source = self.check_transfer(Operation::GetNbi, source.into(), dest.bytes(), pe)?;
        (self.issue(Operation::GetNbi)).get_nbi(pe, source.offset(), dest, lasts)
    }

    /// Writes one element to `dest` on PE `pe`, in one access.
    ///
    /// One-sided. Visible on `pe` after quiet, barrier or a signal. OpenSHMEM 1.5 section 9.6.1.
    #[inline(always)]
    #[track_caller]
    pub fn p<T: Element>(&self, dest: SymElement<T>, value: T, pe: Pe) -> Result<()> {
        self.check_target(dest.range(), pe)?;
        (self.issue(Operation::P)).put_value(pe, dest.offset(), value)?;
        self.ring_for_words(dest.range(), pe);
        Ok(())
    }

    /// Reads one element of `source` on PE `pe`, in one access.
    ///
    /// One-sided. OpenSHMEM 1.5 section 9.6.1.
    #[inline(always)]
    #[track_caller]
    pub fn g<T: Element>(&self, source: SymElement<T>, pe: Pe) -> Result<T> {
        self.check_target(source.range(), pe)?;
        (self.issue(Operation::G)).get_value(pe, source.offset())
    }
}
