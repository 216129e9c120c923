//! Reducescatter: every member keeps one part of a reduction.

use super::reduce::{check_aligned, check_kernel, pieces};
use super::{Call, IN_PLACE, PAYLOAD_BYTES, check_overlap, times, with_work};
use crate::dtype::Element;
use crate::heap::sym::{LocalSource, SymSlice, Symmetric};
use crate::op::Op;
use crate::transport::Transport as _;
use crate::wait::Operation;
use crate::{Result, Runtime, Team};

impl Runtime {
    /// Combines the members' sources element by element in team order; member i keeps part i of the result, `count` elements, in
    /// `dest`. `source` has one such part per member. In place: `dest` is this member's part of `source`.
    ///
    /// Collective over `team`. NVSHMEM `nvshmem_<type>_<op>_reducescatter`.
    pub fn reducescatter(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let inner = &*self.inner;
        let turn = inner.enter(team, Operation::Reducescatter)?;
        let (n_pes, me) = (turn.n_pes(), turn.my_pe());
        let checked = check_kernel(dtype, op).and_then(|(dtype, kernel)| {
            let bytes = times("count", count, kernel.size)?;
            let total = times("count", bytes as usize, n_pes as usize)?;
            let dest = dest.into().resolve(inner, "dest", bytes)?;
            let source = source.into().resolve(inner, "source", total)?;
            check_aligned("dest", dest, dtype)?;
            check_aligned("source", source, dtype)?;
            let own = source.offset() + me as u64 * bytes;
            Ok((kernel, dest, source, check_overlap(dest, source, Some(own))?))
        });
        let (to, from) = match &checked {
            Ok((_, _, source, true)) => (IN_PLACE, source.offset()),
            Ok((_, dest, source, false)) => (dest.offset(), source.offset()),
            Err(_) => (0, 0),
        };
        let call = |error| Call {
            operation: Operation::Reducescatter,
            args: [count as u64, dtype as u64, op as u64, to, from],
            error,
        };
        let (kernel, dest, source, _) = match checked {
            Ok(checked) => checked,
            Err(error) => return turn.meet(call(Some(error)), &[]).map(|_| ()),
        };
        let bytes = dest.bytes() as usize;
        // Parts of whole words only: a member reads its part straight from the others' slots.
        if source.bytes() as usize <= PAYLOAD_BYTES && bytes.is_multiple_of(8) {
            return with_work(|work| {
                let words = &mut work.next[..source.bytes() as usize / 8];
                inner.load_words(source, words);
                let epoch = turn.meet(call(None), words)?;
                let first = me as usize * bytes / 8;
                kernel.fold_payloads(&turn, epoch, n_pes, first, work, count);
                kernel.store(work, count, |result| {
                    let result = LocalSource::from(result);
                    inner.transport.put(inner.my_pe, dest.offset(), result);
                });
                Ok(())
            });
        }
        turn.meet(call(None), &[])?;
        let part = source.offset() + (me as usize * bytes) as u64;
        pieces(0, count, &kernel, &mut |work, at, count| {
            let offset = at * kernel.size as u64;
            kernel.load(inner, turn.pe(0), part + offset, work, count);
            for member in 1..n_pes {
                kernel.fetch(inner, turn.pe(member), part + offset, work, count);
                (kernel.fold)(&mut work.acc, &work.next, count);
            }
            kernel.store(work, count, |result| {
                let result = LocalSource::from(result);
                inner
                    .transport
                    .put(inner.my_pe, dest.offset() + offset, result);
            });
        });
        turn.meet_again(Operation::Reducescatter)
    }

    /// [`reducescatter`](Runtime::reducescatter) of arrays: `source` is as long as all destinations together.
    pub fn reducescatter_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.reducescatter(team, dest, source, dest.len(), dtype, op)
    }
}
