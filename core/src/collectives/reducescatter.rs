//! Reducescatter: every member keeps one part of a reduction.

use super::reduce::{Reduction, check_aligned, check_kernel, fold_all};
use super::{CollectiveBuffer, PAYLOAD_BYTES, check_overlap, times, with_work};
use crate::dtype::Element;
use crate::op::Op;
use crate::operation::{IN_PLACE, Operation};
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
        let inner = &*self.inner;
        let collective = inner.enter(team, Operation::Reducescatter)?;
        let (n_pes, me) = (collective.n_pes(), collective.my_pe());
        let checked = check_kernel(dtype, op).and_then(|(kernel, op)| {
            let bytes = times("count", count, kernel.size)?;
            let total = times("count", count, kernel.size * n_pes as usize)?;
            let dest = collective.resolve(self.submission, dest.into(), "dest", bytes)?;
            let source = collective.resolve(self.submission, source.into(), "source", total)?;
            check_aligned("dest", dest, kernel)?;
            check_aligned("source", source, kernel)?;
            let own = source.offset() + me as u64 * bytes;
            let in_place = check_overlap(dest, source, Some(own))?;
            let reduction = Reduction {
                kernel,
                op,
                count,
                dest,
                source,
            };
            Ok((reduction, in_place))
        });
        let (reduction, in_place) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                return collective.refuse(self.submission, Operation::Reducescatter, error);
            }
        };
        let Reduction {
            kernel,
            dest,
            source,
            ..
        } = reduction;
        let shown = if in_place { IN_PLACE } else { dest.offset() };
        let args = [
            count as u64,
            dtype as u64,
            op as u64,
            shown,
            source.offset(),
        ];
        let task = || reduction.task();
        if let Some(done) =
            collective.offload(self.submission, Operation::Reducescatter, args, task)
        {
            return done;
        }
        let bytes = dest.bytes() as usize;
        collective.reads(source);
        // Parts of whole words only: a member reads its part straight from the others' slots.
        if source.bytes() as usize <= PAYLOAD_BYTES && bytes.is_multiple_of(8) {
            let words = source.bytes() as usize / 8;
            return with_work(words.max(kernel.words(count)), |work| {
                let words = &mut work.next[..words];
                inner.load_words(source, words);
                let epoch = collective.join(Operation::Reducescatter, args, words)?;
                let first = me as usize * bytes / 8;
                kernel.fold_payloads(&collective, epoch, n_pes, first, work, count);
                let me = std::iter::once(inner.my_pe);
                kernel.store(inner, me, dest.offset(), work, count);
                collective.reads_and_writes(source, dest);
                Ok(())
            });
        }
        collective.join(Operation::Reducescatter, args, &[])?;
        let part = source.offset() + (me as usize * bytes) as u64;
        fold_all(&collective, kernel, part, 0..count, |work, at, count| {
            let to = dest.offset() + at * kernel.size as u64;
            kernel.store(inner, std::iter::once(inner.my_pe), to, work, count);
        });
        collective.meet_again(Operation::Reducescatter)?;
        collective.reads_and_writes(source, dest);
        Ok(())
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
