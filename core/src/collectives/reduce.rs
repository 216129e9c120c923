//! Reduce (to all): small ones travel with the meeting; otherwise each member combines one part of the elements and writes it to
//! all.
//!
//! Every element is a left fold over the members in team order, whatever the algorithm, so the result has the same bits on every
//! member and in every run.

use super::fold::{Kernel, kernel};
use super::{
    Call, PAYLOAD_BYTES, Turn, WORK_WORDS, Work, bytes_of, bytes_of_mut, check_overlap, times,
    with_work,
};
use crate::dtype::{Dtype, Element};
use crate::heap::sym::{LocalDest, LocalSource, SymRange, SymSlice, Symmetric};
use crate::op::Op;
use crate::runtime::Inner;
use crate::transport::Transport as _;
use crate::wait::Operation;
use crate::{Error, Pe, Result, Runtime, Team};

/// What is reduced, and how: the same on every member.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) kernel: Kernel,
    pub(super) dest: SymRange,
    pub(super) source: SymRange,
}

/// Checks type, operation and alignment, and gives the kernel.
pub(super) fn check_kernel(dtype: i32, op: i32) -> Result<(Dtype, Kernel)> {
    let dtype = Dtype::from_number(dtype)?;
    Ok((dtype, kernel(dtype, Op::from_number(op)?)?))
}

/// Checks that elements begin where their type wants it.
pub(super) fn check_aligned(argument: &'static str, range: SymRange, dtype: Dtype) -> Result<()> {
    let alignment = dtype.alignment() as u64;
    if range.offset().is_multiple_of(alignment) {
        return Ok(());
    }
    Err(Error::invalid(
        argument,
        format!("at byte {:#x} of the heap", range.offset()),
        format!("at a multiple of {alignment} for {dtype:?}"),
    ))
}

impl Kernel {
    /// How many elements fit in the buffers of [`Work`].
    pub(super) fn elements_at_a_time(&self) -> usize {
        WORK_WORDS * 8 / self.acc_size
    }

    /// Makes `count` elements at byte `at` of `pe` the accumulator.
    pub(super) fn load(&self, inner: &Inner, pe: Pe, at: u64, work: &mut Work, count: usize) {
        if self.widen.is_none() {
            let dest = bytes_of_mut(&mut work.acc, count * self.size);
            inner.transport.get(pe, at, LocalDest::from(dest));
        } else {
            self.fetch(inner, pe, at, work, count);
            self.start(work, count);
        }
    }

    /// Makes what was fetched the accumulator.
    pub(super) fn start(&self, work: &mut Work, count: usize) {
        match self.widen {
            Some((widen, _)) => widen(&mut work.acc, &work.next, count),
            None => {
                let words = (count * self.size).div_ceil(8);
                work.acc[..words].copy_from_slice(&work.next[..words]);
            }
        }
    }

    /// Reads `count` elements at byte `at` of `pe`, to be folded.
    pub(super) fn fetch(&self, inner: &Inner, pe: Pe, at: u64, work: &mut Work, count: usize) {
        let dest = bytes_of_mut(&mut work.next, count * self.size);
        inner.transport.get(pe, at, LocalDest::from(dest));
    }

    /// Calls `write` with the accumulator as elements.
    pub(super) fn store(&self, work: &mut Work, count: usize, write: impl FnOnce(&[u8])) {
        match self.widen {
            None => write(bytes_of(&work.acc, count * self.size)),
            Some((_, narrow)) => {
                narrow(&mut work.out, &work.acc, count);
                write(bytes_of(&work.out, count * self.size));
            }
        }
    }

    /// Folds `count` elements that members `0..members` brought to a meeting, from word `first` on.
    pub(super) fn fold_payloads(
        &self,
        turn: &Turn<'_>,
        epoch: u64,
        members: Pe,
        first: usize,
        work: &mut Work,
        count: usize,
    ) {
        let words = (count * self.size).div_ceil(8);
        for member in 0..members {
            turn.payload_from(member, epoch, first, &mut work.next[..words]);
            match member {
                0 => self.start(work, count),
                _ => (self.fold)(&mut work.acc, &work.next, count),
            }
        }
    }
}

impl Runtime {
    /// Combines `count` elements of `source` of every member, element by element in team order, and writes the result to `dest` on
    /// every member. `dtype` and `op` are numbers of the C ABI, so that a wrong one reaches every member as an error; the buffers are
    /// the same or do not overlap.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.9.
    pub fn reduce(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let inner = &*self.inner;
        let turn = inner.enter(team, Operation::Reduce)?;
        let checked = check_kernel(dtype, op).and_then(|(dtype, kernel)| {
            let bytes = times("count", count, kernel.size)?;
            let dest = dest.into().resolve(inner, "dest", bytes)?;
            let source = source.into().resolve(inner, "source", bytes)?;
            check_aligned("dest", dest, dtype)?;
            check_aligned("source", source, dtype)?;
            check_overlap(dest, source, Some(source.offset()))?;
            Ok(Reduction {
                kernel,
                dest,
                source,
            })
        });
        let (to, from) = match &checked {
            Ok(reduction) => (reduction.dest.offset(), reduction.source.offset()),
            Err(_) => (0, 0),
        };
        let call = |error| Call {
            operation: Operation::Reduce,
            args: [count as u64, dtype as u64, op as u64, to, from],
            error,
        };
        match checked {
            Err(error) => turn.meet(call(Some(error)), &[]).map(|_| ()),
            Ok(reduction) if reduction.source.bytes() as usize <= PAYLOAD_BYTES => {
                reduction.small(inner, &turn, call(None))
            }
            Ok(reduction) => reduction.large(inner, &turn, call(None)),
        }
    }

    /// [`reduce`](Runtime::reduce) of arrays, of equal length.
    pub fn reduce_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.reduce(team, dest, source, source.len(), dtype, op)
    }
}

impl Reduction {
    fn count(&self) -> usize {
        self.source.bytes() as usize / self.kernel.size
    }

    /// The sources travel with the meeting, and every member combines them all.
    fn small(&self, inner: &Inner, turn: &Turn<'_>, call: Call) -> Result<()> {
        let (kernel, count) = (&self.kernel, self.count());
        with_work(|work| {
            let words = &mut work.next[..(self.source.bytes() as usize).div_ceil(8)];
            inner.load_words(self.source, words);
            let epoch = turn.meet(call, words)?;
            kernel.fold_payloads(turn, epoch, turn.n_pes(), 0, work, count);
            kernel.store(work, count, |result| {
                let result = LocalSource::from(result);
                inner
                    .transport
                    .put(inner.my_pe, self.dest.offset(), result);
            });
            Ok(())
        })
    }

    /// Member m combines the m-th part of all sources and writes it to all destinations. In place this is safe because only
    /// member m reads or writes part m of anybody's buffers.
    fn large(&self, inner: &Inner, turn: &Turn<'_>, call: Call) -> Result<()> {
        turn.meet(call, &[])?;
        let kernel = &self.kernel;
        share(turn, self.count(), kernel, |work, at, count| {
            let bytes = at * kernel.size as u64;
            kernel.load(inner, turn.pe(0), self.source.offset() + bytes, work, count);
            for member in 1..turn.n_pes() {
                let pe = turn.pe(member);
                kernel.fetch(inner, pe, self.source.offset() + bytes, work, count);
                (kernel.fold)(&mut work.acc, &work.next, count);
            }
            kernel.store(work, count, |result| {
                for member in 0..turn.n_pes() {
                    let result = LocalSource::from(result);
                    let pe = turn.pe(member);
                    inner.transport.put(pe, self.dest.offset() + bytes, result);
                }
            });
        });
        turn.meet_again(Operation::Reduce)
    }
}

/// Calls `body` for this member's share of `count` elements: with the first element and the number of a piece that fits the buffers.
pub(super) fn share(
    turn: &Turn<'_>,
    count: usize,
    kernel: &Kernel,
    mut body: impl FnMut(&mut Work, u64, usize),
) {
    // Whole cache lines, so that members do not write into each other's.
    let line = 64 / kernel.size;
    let each = count
        .div_ceil(turn.n_pes() as usize)
        .next_multiple_of(line.max(1));
    let start = (each * turn.my_pe() as usize).min(count);
    pieces(start, (start + each).min(count), kernel, &mut body);
}

/// Calls `body` for elements `start..end`, in pieces that fit the buffers.
pub(super) fn pieces(
    start: usize,
    end: usize,
    kernel: &Kernel,
    body: &mut impl FnMut(&mut Work, u64, usize),
) {
    with_work(|work| {
        let mut at = start;
        while at < end {
            let count = (end - at).min(kernel.elements_at_a_time());
            body(work, at as u64, count);
            at += count;
        }
    });
}
