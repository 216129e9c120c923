//! Reducescatter: every member keeps one part of a reduction.

use super::reduce::{Reduction, fold_all};
use super::{CollectiveBuffer, CollectiveCall, Work, with_work};
use crate::dtype::Element;
use crate::op::Op;
use crate::operation::{ARGS, Operation};
use crate::symmetric::SymSlice;
use crate::{Result, Runtime, Team};

impl Runtime {
    /// Combines the members' sources element by element in team order; member i keeps part i of the result, `count` elements, in
    /// `dest`. `source` has one such part per member. In place: `dest` is this member's part of `source`.
    ///
    /// Collective over `team`. NVSHMEM `nvshmem_<type>_<op>_reducescatter`.
    #[track_caller]
    pub fn reducescatter(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        let (operation, arguments) = (Operation::Reducescatter, (count, dtype, op));
        self.reduction(operation, team, buffers, arguments, scatter)
    }

    /// [`reducescatter`](Runtime::reducescatter) of arrays: `source` is as long as all destinations together.
    #[track_caller]
    pub fn reducescatter_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.reducescatter(team, dest.range(), source.range(), dest.len(), dtype, op)
    }
}

/// Combines this member's part of all sources.
fn scatter(
    reduction: &Reduction,
    collective: &CollectiveCall<'_>,
    args: [u64; ARGS],
) -> Result<()> {
    let (inner, kernel, count) = (collective.inner, reduction.kernel, reduction.count);
    let (dest, source) = (reduction.dest, reduction.source);
    let store = |work: &mut Work<'_>, at: u64, count| {
        let to = dest.offset() + at * kernel.size as u64;
        kernel.store(inner, std::iter::once(inner.my_pe), to, work, count);
    };
    let own = collective.my_pe() as u64 * dest.bytes();
    // Parts of whole words only: a member reads its part straight from the others' slots.
    if reduction.is_small() && dest.bytes().is_multiple_of(8) {
        let words = source.bytes() as usize / 8;
        return with_work(words.max(kernel.words(count)), |work| {
            let words = &mut work.next[..words];
            inner.load_words(source, words);
            let epoch = collective.join(Operation::Reducescatter, args, words)?;
            let (members, first) = (collective.n_pes(), own as usize / 8);
            kernel.fold_payloads(collective, epoch, members, first, work, count);
            store(work, 0, count);
            Ok(())
        });
    }
    collective.join(Operation::Reducescatter, args, &[])?;
    fold_all(collective, kernel, source.offset() + own, 0..count, store);
    collective.meet_again(Operation::Reducescatter)
}
