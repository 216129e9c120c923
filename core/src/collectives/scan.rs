//! Inclusive and exclusive scan: member i gets the reduction over the members up to i, or before i.

use super::fold::Kernel;
use super::reduce::{Reduction, pieces};
use super::{CollectiveBuffer, CollectiveCall, Work, with_work};
use crate::dtype::Element;
use crate::op::Op;
use crate::operation::{ARGS, Operation};
use crate::runtime::Inner;
use crate::symmetric::SymSlice;
use crate::{Pe, Result, Runtime, Team};

impl Runtime {
    /// Combines `source` of the members up to and including the caller, element by element in team order, and writes the result
    /// to the caller's `dest`. The buffers are the same or do not overlap.
    ///
    /// Collective over `team`. OpenSHMEM 1.6 `shmem_sum_inscan`; other operations are an extension.
    #[track_caller]
    pub fn inscan(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
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
    #[track_caller]
    pub fn exscan(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.scan(Operation::Exscan, team, buffers, count, dtype, op)
    }

    /// [`inscan`](Runtime::inscan) of arrays, of equal length.
    #[track_caller]
    pub fn inscan_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.inscan(team, dest.range(), source.range(), source.len(), dtype, op)
    }

    /// [`exscan`](Runtime::exscan) of arrays, of equal length.
    #[track_caller]
    pub fn exscan_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.exscan(team, dest.range(), source.range(), source.len(), dtype, op)
    }

    #[track_caller]
    fn scan(
        &self,
        operation: Operation,
        team: Team,
        buffers: (CollectiveBuffer, CollectiveBuffer),
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let arguments = (count, dtype, op);
        let combine = |reduction: &Reduction, collective: &CollectiveCall<'_>, args| {
            if reduction.is_small() {
                scan_small(collective, operation, args, reduction)
            } else {
                scan_large(collective, operation, args, reduction)
            }
        };
        self.reduction(operation, team, buffers, arguments, combine)
    }
}

/// The sources are payloads of the meeting, and every member combines those that it needs.
fn scan_small(
    collective: &CollectiveCall<'_>,
    operation: Operation,
    args: [u64; ARGS],
    reduction: &Reduction,
) -> Result<()> {
    let (inner, kernel, count) = (collective.inner, reduction.kernel, reduction.count);
    let before = collective.my_pe() + Pe::from(operation == Operation::Inscan);
    with_work(kernel.words(count), |work| {
        let words = &mut work.next[..(reduction.source.bytes() as usize).div_ceil(8)];
        inner.load_words(reduction.source, words);
        let epoch = collective.join(operation, args, words)?;
        if before == 0 {
            (kernel.identity)(work.acc, count);
        } else {
            kernel.fold_payloads(collective, epoch, before, 0, work, count);
        }
        let to = reduction.dest.offset();
        write(inner, kernel, work, inner.my_pe, to, count);
        Ok(())
    })
}

/// Each member folds one part of the elements over all members, and writes every member's result of that part. In place this is
/// safe because no other member accesses that part of any buffer, and a source is read before it is overwritten.
fn scan_large(
    collective: &CollectiveCall<'_>,
    operation: Operation,
    args: [u64; ARGS],
    reduction: &Reduction,
) -> Result<()> {
    collective.join(operation, args, &[])?;
    let (inner, kernel) = (collective.inner, reduction.kernel);
    let own = reduction.part(collective.n_pes() as usize, collective.my_pe() as usize);
    pieces(own, kernel, |work, at, count| {
        let bytes = at * kernel.size as u64;
        let to = reduction.dest.offset() + bytes;
        let from = reduction.source.offset() + bytes;
        for member in 0..collective.n_pes() {
            let pe = collective.pe(member);
            kernel.fetch(inner, pe, from, work, count);
            let inclusive = operation == Operation::Inscan;
            match (inclusive, member) {
                (false, 0) => {
                    (kernel.identity)(work.acc, count);
                    write(inner, kernel, work, pe, to, count);
                    kernel.start(work, count);
                }
                (false, _) => {
                    write(inner, kernel, work, pe, to, count);
                    (kernel.fold)(work.acc, work.next, count);
                }
                (true, _) => {
                    match member {
                        0 => kernel.start(work, count),
                        _ => (kernel.fold)(work.acc, work.next, count),
                    }
                    write(inner, kernel, work, pe, to, count);
                }
            }
        }
    });
    collective.meet_again(operation)
}

/// Writes the accumulator to `pe`.
fn write(inner: &Inner, kernel: &Kernel, work: &mut Work<'_>, pe: Pe, to: u64, count: usize) {
    kernel.store(inner, std::iter::once(pe), to, work, count);
}
