//! Inclusive and exclusive scan: member i gets the reduction over the members up to i, or before i.

use super::fold::Kernel;
use super::reduce::{Reduction, check_aligned, check_kernel, share};
use super::{Call, PAYLOAD_BYTES, Turn, Work, check_overlap, times, with_work};
use crate::dtype::Element;
use crate::heap::sym::{LocalSource, SymSlice, Symmetric};
use crate::op::Op;
use crate::runtime::Inner;
use crate::transport::Transport as _;
use crate::wait::Operation;
use crate::{Pe, Result, Runtime, Team};

impl Runtime {
    /// Combines `source` of the members up to and including the caller, element by element in team order, and writes the result
    /// to the caller's `dest`. The buffers are the same or do not overlap.
    ///
    /// Collective over `team`. OpenSHMEM 1.6 `shmem_sum_inscan`; other operations are an extension.
    pub fn inscan(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.scan(Operation::Inscan, team, buffers, count, dtype, op)
    }

    /// As [`inscan`](Runtime::inscan), over the members before the caller. Member 0 gets the operation's identity: 0 for a sum, 1
    /// for a product, the type's largest value for min and its smallest for max (infinities for floating point), all bits for and.
    ///
    /// Collective over `team`. OpenSHMEM 1.6 `shmem_sum_exscan`; other operations are an extension.
    pub fn exscan(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.scan(Operation::Exscan, team, buffers, count, dtype, op)
    }

    /// [`inscan`](Runtime::inscan) of arrays, of equal length.
    pub fn inscan_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.inscan(team, dest, source, source.len(), dtype, op)
    }

    /// [`exscan`](Runtime::exscan) of arrays, of equal length.
    pub fn exscan_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.exscan(team, dest, source, source.len(), dtype, op)
    }

    fn scan(
        &self,
        operation: Operation,
        team: Team,
        (dest, source): (Symmetric, Symmetric),
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let inner = &*self.inner;
        let turn = inner.enter(team, operation)?;
        let checked = check_kernel(dtype, op).and_then(|(dtype, kernel)| {
            let bytes = times("count", count, kernel.size)?;
            let dest = dest.resolve(inner, "dest", bytes)?;
            let source = source.resolve(inner, "source", bytes)?;
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
            operation,
            args: [count as u64, dtype as u64, op as u64, to, from],
            error,
        };
        match checked {
            Err(error) => turn.meet(call(Some(error)), &[]).map(|_| ()),
            Ok(reduction) if reduction.source.bytes() as usize <= PAYLOAD_BYTES => {
                scan_small(inner, &turn, call(None), &reduction, count)
            }
            Ok(reduction) => scan_large(inner, &turn, call(None), &reduction, count),
        }
    }
}

/// The sources travel with the meeting, and every member combines those that it needs.
fn scan_small(
    inner: &Inner,
    turn: &Turn<'_>,
    call: Call,
    reduction: &Reduction,
    count: usize,
) -> Result<()> {
    let (kernel, dest) = (&reduction.kernel, reduction.dest.offset());
    let before = turn.my_pe() + Pe::from(call.operation == Operation::Inscan);
    with_work(|work| {
        let words = &mut work.next[..(reduction.source.bytes() as usize).div_ceil(8)];
        inner.load_words(reduction.source, words);
        let epoch = turn.meet(call, words)?;
        if before == 0 {
            (kernel.identity)(&mut work.acc, count);
        } else {
            kernel.fold_payloads(turn, epoch, before, 0, work, count);
        }
        write(inner, kernel, work, inner.my_pe, dest, count);
        Ok(())
    })
}

/// Each member goes along all members with one part of the elements, and writes every member's result of that part. In place this
/// is safe because nobody else reads or writes that part of anybody's buffers, and a source is read before its place is written.
fn scan_large(
    inner: &Inner,
    turn: &Turn<'_>,
    call: Call,
    reduction: &Reduction,
    count: usize,
) -> Result<()> {
    let operation = call.operation;
    turn.meet(call, &[])?;
    let kernel = &reduction.kernel;
    share(turn, count, kernel, |work, at, count| {
        let bytes = at * kernel.size as u64;
        let (to, from) = (
            reduction.dest.offset() + bytes,
            reduction.source.offset() + bytes,
        );
        for member in 0..turn.n_pes() {
            let pe = turn.pe(member);
            kernel.fetch(inner, pe, from, work, count);
            let inclusive = operation == Operation::Inscan;
            match (inclusive, member) {
                (false, 0) => {
                    (kernel.identity)(&mut work.acc, count);
                    write(inner, kernel, work, pe, to, count);
                    kernel.start(work, count);
                }
                (false, _) => {
                    write(inner, kernel, work, pe, to, count);
                    (kernel.fold)(&mut work.acc, &work.next, count);
                }
                (true, _) => {
                    match member {
                        0 => kernel.start(work, count),
                        _ => (kernel.fold)(&mut work.acc, &work.next, count),
                    }
                    write(inner, kernel, work, pe, to, count);
                }
            }
        }
    });
    turn.meet_again(operation)
}

/// Writes the accumulator to `pe`.
fn write(inner: &Inner, kernel: &Kernel, work: &mut Work, pe: Pe, to: u64, count: usize) {
    kernel.store(work, count, |result| {
        inner.transport.put(pe, to, LocalSource::from(result));
    });
}
