//! Strided remote memory access: iput, iget, and their forms for blocks of elements.
//!
//! A stride is the distance from the start of one block to the start of the next, in elements; it may be negative. The blocks of
//! a destination must not overlap each other.

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::dtype::Element;
use crate::operation::Operation;
use crate::strides::{Strides, Transfer};
use crate::symmetric::{SymSlice, Symmetric};
use crate::{Error, Pe, Result, Runtime};

impl Runtime {
    /// Copies the blocks of `source` to the blocks of `dest` on PE `pe`. Both cover the span of their side, from the lowest block to the
    /// highest.
    ///
    /// One-sided. Returns when `source` may be reused; visible on `pe` after quiet, barrier or a signal. OpenSHMEM 1.5 section
    /// 9.6.1; blocks of several elements: OpenSHMEM 1.6 `shmem_ibput`.
    #[track_caller]
    pub fn put_blocks<'a>(
        &self,
        dest: impl Into<Symmetric>,
        source: impl Into<LocalSource<'a>>,
        transfer: &Transfer,
        pe: Pe,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.ready()?;
        crate::error::check_pe("pe", pe, inner.n_pes)?;
        let called = transfer.called(Operation::Iput, Operation::Ibput);
        let span = transfer.dest().span();
        let dest = dest.into().resolve(inner, called.symmetric(), span)?;
        let source = source.into();
        check_span("source", source.bytes(), transfer.source().span())?;
        (self.issue(called)).put_blocks(pe, dest.offset(), source, transfer)?;
        self.ring_for_words(dest, pe);
        Ok(())
    }

    /// Copies the blocks of `source` on PE `pe` to the blocks of `dest`. Both cover the span of their side, from the lowest block to the
    /// highest.
    ///
    /// One-sided. Returns when the data is in `dest`. OpenSHMEM 1.5 section 9.6.1; blocks of several elements: OpenSHMEM 1.6
    /// `shmem_ibget`.
    #[track_caller]
    pub fn get_blocks<'a>(
        &self,
        dest: impl Into<LocalDest<'a>>,
        source: impl Into<Symmetric>,
        transfer: &Transfer,
        pe: Pe,
    ) -> Result<()> {
        let inner = &*self.inner;
        inner.ready()?;
        crate::error::check_pe("pe", pe, inner.n_pes)?;
        let called = transfer.called(Operation::Iget, Operation::Ibget);
        let span = transfer.source().span();
        let source = source.into().resolve(inner, called.symmetric(), span)?;
        let dest = dest.into();
        check_span("dest", dest.bytes(), transfer.dest().span())?;
        (self.issue(called)).get_blocks(pe, source.offset(), dest, transfer)
    }

    /// Writes `count` elements of `source`, `source_stride` apart, to elements of `dest` on PE `pe` that are `dest_stride` apart. With a
    /// negative stride a side begins with its last element.
    ///
    /// One-sided; completion as [`put`](Runtime::put). OpenSHMEM 1.5 section 9.6.1.
    #[track_caller]
    pub fn iput<T: Element>(
        &self,
        dest: SymSlice<'_, T>,
        source: &[T],
        dest_stride: isize,
        source_stride: isize,
        count: usize,
        pe: Pe,
    ) -> Result<()> {
        let transfer = Transfer::elements(dest_stride, source_stride, size_of::<T>(), count)?;
        self.put_spans(dest, source, &transfer, pe)
    }

    /// Reads `count` elements of `source` on PE `pe`, `source_stride` apart, to elements of `dest` that are `dest_stride` apart. With a
    /// negative stride a side begins with its last element.
    ///
    /// One-sided. Returns when the data is in `dest`. OpenSHMEM 1.5 section 9.6.1.
    #[track_caller]
    pub fn iget<T: Element>(
        &self,
        dest: &mut [T],
        source: SymSlice<'_, T>,
        dest_stride: isize,
        source_stride: isize,
        count: usize,
        pe: Pe,
    ) -> Result<()> {
        let transfer = Transfer::elements(dest_stride, source_stride, size_of::<T>(), count)?;
        self.get_spans(dest, source, &transfer, pe)
    }

    /// As [`iput`](Runtime::iput), for blocks of `block_elements` elements.
    ///
    /// One-sided. OpenSHMEM 1.6 `shmem_ibput`.
    #[allow(clippy::too_many_arguments, reason = "they are the standard's")]
    #[track_caller]
    pub fn ibput<T: Element>(
        &self,
        dest: SymSlice<'_, T>,
        source: &[T],
        dest_stride: isize,
        source_stride: isize,
        block_elements: usize,
        block_count: usize,
        pe: Pe,
    ) -> Result<()> {
        let transfer = Transfer::new(
            dest_stride,
            source_stride,
            size_of::<T>(),
            block_elements,
            block_count,
        )?;
        self.put_spans(dest, source, &transfer, pe)
    }

    /// As [`iget`](Runtime::iget), for blocks of `block_elements` elements.
    ///
    /// One-sided. OpenSHMEM 1.6 `shmem_ibget`.
    #[allow(clippy::too_many_arguments, reason = "they are the standard's")]
    #[track_caller]
    pub fn ibget<T: Element>(
        &self,
        dest: &mut [T],
        source: SymSlice<'_, T>,
        dest_stride: isize,
        source_stride: isize,
        block_elements: usize,
        block_count: usize,
        pe: Pe,
    ) -> Result<()> {
        let transfer = Transfer::new(
            dest_stride,
            source_stride,
            size_of::<T>(),
            block_elements,
            block_count,
        )?;
        self.get_spans(dest, source, &transfer, pe)
    }

    /// [`put_blocks`](Runtime::put_blocks) of the spans that the transfer uses.
    #[track_caller]
    fn put_spans<T: Element>(
        &self,
        dest: SymSlice<'_, T>,
        source: &[T],
        transfer: &Transfer,
        pe: Pe,
    ) -> Result<()> {
        let dest = symmetric_span("dest", dest, transfer.dest())?;
        let from = span_of("source", source.len(), size_of::<T>(), transfer.source())?;
        self.put_blocks(dest, LocalSource::from(&source[from]), transfer, pe)
    }

    /// [`get_blocks`](Runtime::get_blocks) of the spans that the transfer uses.
    #[track_caller]
    fn get_spans<T: Element>(
        &self,
        dest: &mut [T],
        source: SymSlice<'_, T>,
        transfer: &Transfer,
        pe: Pe,
    ) -> Result<()> {
        let source = symmetric_span("source", source, transfer.source())?;
        let to = span_of("dest", dest.len(), size_of::<T>(), transfer.dest())?;
        self.get_blocks(LocalDest::from(&mut dest[to]), source, transfer, pe)
    }
}

/// The elements that a side uses: the first ones it has, or the last ones if its stride is negative.
fn span_of(
    argument: &'static str,
    len: usize,
    element: usize,
    strides: &Strides,
) -> Result<std::ops::Range<usize>> {
    let used = strides.span() as usize / element;
    if used > len {
        return Err(Error::invalid(
            argument,
            format!("{len} elements long"),
            format!("at least {used} elements long, the span of its blocks and stride"),
        ));
    }
    Ok(match strides.parts().0 < 0 {
        true => len - used..len,
        false => 0..used,
    })
}

fn symmetric_span<T: Element>(
    argument: &'static str,
    slice: SymSlice<'_, T>,
    strides: &Strides,
) -> Result<SymRange> {
    let span = span_of(argument, slice.len(), size_of::<T>(), strides)?;
    Ok(slice.slice(span)?.range())
}

fn check_span(argument: &'static str, bytes: usize, span: u64) -> Result<()> {
    if bytes as u64 == span {
        return Ok(());
    }
    Err(Error::invalid(
        argument,
        format!("{bytes} bytes long"),
        format!("{span} bytes long, the span of its blocks and stride"),
    ))
}
