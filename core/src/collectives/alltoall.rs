//! Alltoall and alltoalls: every member sends each member a part of its own.

use super::moves::{ALLTOALL, MemberBuffers};
use super::{
    CollectiveBuffer, CollectiveCall, Part, WORK_WORDS, bytes_of, bytes_of_mut, check_overlap,
    times, with_work,
};
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::strides::Strides;
use crate::symmetric::{SymSlice, Symmetric};
use crate::transport::{CollectiveShape, Task};
use crate::{Error, Pe, Result, Runtime, Team};
use bytemuck::Pod;

impl Runtime {
    /// Sends part j of `source`, `bytes` bytes, to member j, where it becomes part i of `dest`, i being the caller's number.
    /// `source` and `dest` have one part per member; they are the same or do not overlap.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.5.
    #[track_caller]
    pub fn alltoall(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        bytes: usize,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.moves(&ALLTOALL, team, buffers, |_| Ok(bytes), 0)
    }

    /// [`alltoall`](Runtime::alltoall) of arrays, of equal length, a multiple of the members.
    #[track_caller]
    pub fn alltoall_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
    ) -> Result<()> {
        let len = source.len();
        let part = |n_pes| {
            if !len.is_multiple_of(n_pes) {
                return Err(Error::invalid(
                    "source",
                    format!("{len} elements long"),
                    format!("a multiple of the team's {n_pes} members"),
                ));
            }
            Ok(len / n_pes * size_of::<T>())
        };
        self.moves(&ALLTOALL, team, (dest.into(), source.into()), part, 0)
    }

    /// As [`alltoall`](Runtime::alltoall) for parts of `count` elements of `element_bytes` bytes, which lie `dest_stride` and
    /// `source_stride` elements apart, each at least 1. Elements in between do not change. In place is not possible.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.6.
    #[allow(clippy::too_many_arguments, reason = "they are the standard's")]
    #[track_caller]
    pub fn alltoalls(
        &self,
        team: Team,
        dest: impl Into<Symmetric>,
        source: impl Into<Symmetric>,
        dest_stride: isize,
        source_stride: isize,
        element_bytes: usize,
        count: usize,
    ) -> Result<()> {
        let inner = &*self.inner;
        let collective = inner.enter(team, Operation::Alltoalls)?;
        let n_pes = collective.n_pes() as usize;
        let checked = times("count", count, n_pes).and_then(|elements| {
            let span = |argument, stride| {
                check_stride(argument, stride)?;
                Strides::new(argument, stride, 1, element_bytes, elements as usize)
            };
            let (to, from) = (
                span("dest_stride", dest_stride)?,
                span("source_stride", source_stride)?,
            );
            let dest = dest.into().resolve(inner, "dest", to.span())?;
            let source = source.into().resolve(inner, "source", from.span())?;
            check_overlap(dest, source, None)?;
            Ok(((dest.offset(), to), (source.offset(), from)))
        });
        let ((to, dest), (from, source)) = match checked {
            Ok(buffers) => buffers,
            Err(error) => return collective.refuse(self.submission, Operation::Alltoalls, error),
        };
        let args = [
            count as u64,
            element_bytes as u64,
            (dest_stride as u64).rotate_left(32) ^ source_stride as u64,
            to,
            from,
        ];
        let dest_offset = to;
        // Where there is at most one element the steps lead nowhere, and may be as large as they like.
        let (dest_step, source_step) = (
            (dest_stride as u64).wrapping_mul(element_bytes as u64),
            (source_stride as u64).wrapping_mul(element_bytes as u64),
        );
        let task = || Task {
            dest: to,
            source: from,
            shape: CollectiveShape::Strided {
                count: count as u64,
                element: element_bytes as u64,
                dest_step,
                source_step,
            },
            ..Task::default()
        };
        if let Some(done) = collective.offload(self.submission, Operation::Alltoalls, args, task) {
            return done;
        }
        collective.reads_blocks(from, &source);
        collective.join(Operation::Alltoalls, args, &[])?;
        for step in 0..collective.n_pes() {
            let member = (collective.my_pe() + step) % collective.n_pes();
            let first = |of: Pe, step: u64| (of as u64 * count as u64).wrapping_mul(step);
            let mut at = to + first(member, dest_step);
            let mut from = from + first(collective.my_pe(), source_step);
            let pe = collective.pe(member);
            for _ in 0..count {
                let bytes = element_bytes as u64;
                let transport = inner.transport.internal();
                transport.copy(inner.my_pe, at, pe, from, bytes);
                at = at.wrapping_add(dest_step);
                from = from.wrapping_add(source_step);
            }
        }
        collective.meet_again(Operation::Alltoalls)?;
        collective.reads_blocks(from, &source);
        collective.writes_blocks(dest_offset, &dest);
        Ok(())
    }

    /// [`alltoalls`](Runtime::alltoalls) of arrays.
    #[track_caller]
    pub fn alltoalls_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        dest_stride: isize,
        source_stride: isize,
        count: usize,
    ) -> Result<()> {
        let n_pes = self.team_n_pes(team)?.max(1) as usize;
        // The elements that the strides reach, from the first one on.
        fn reach<'a, T: Pod>(
            slice: &SymSlice<'a, T>,
            stride: isize,
            elements: usize,
        ) -> Result<SymSlice<'a, T>> {
            let last = elements.saturating_sub(1);
            let len = last
                .saturating_mul(stride.max(1) as usize)
                .saturating_add(1);
            slice.slice(..len.min(slice.len()) * usize::from(elements > 0))
        }
        let elements = count.saturating_mul(n_pes);
        let to = reach(dest, dest_stride, elements)?;
        let from = reach(source, source_stride, elements)?;
        let size = size_of::<T>();
        let (to, from) = (to.range(), from.range());
        self.alltoalls(team, to, from, dest_stride, source_stride, size, count)
    }
}

/// Each member copies its parts from the others, once the members have met.
pub(super) fn large(collective: &CollectiveCall<'_>, moved: &MemberBuffers) -> Result<()> {
    let (n_pes, me) = (collective.n_pes(), collective.my_pe());
    let MemberBuffers {
        to, from, bytes, ..
    } = *moved;
    if moved.in_place {
        swap_parts(collective, to, bytes);
        return Ok(());
    }
    for member in (0..n_pes).map(|step| (me + step) % n_pes) {
        let (to, from) = (to + member as u64 * bytes, from + me as u64 * bytes);
        collective.copy_part(member, Part { from, to, bytes });
    }
    Ok(())
}

fn check_stride(argument: &'static str, stride: isize) -> Result<()> {
    if stride >= 1 {
        Ok(())
    } else {
        Err(Error::invalid(argument, stride, "at least 1"))
    }
}

/// Exchanges part j of member i with part i of member j, for all pairs. One member swaps each pair, so no other member
/// accesses its parts; the pairs are distributed evenly.
fn swap_parts(collective: &CollectiveCall<'_>, at: u64, bytes: u64) {
    let (n_pes, me) = (collective.n_pes(), collective.my_pe());
    for other in (0..n_pes).filter(|&other| other != me) {
        let (low, high) = (me.min(other), me.max(other));
        let turn_of = if (low + high) % 2 == 0 { low } else { high };
        if turn_of == me {
            let part = |pe: Pe, part: Pe| (collective.pe(pe), at + part as u64 * bytes);
            swap(collective.inner, part(low, high), part(high, low), bytes);
        }
    }
}

/// Exchanges two ranges of symmetric memory.
fn swap(inner: &crate::runtime::Inner, a: (Pe, u64), b: (Pe, u64), bytes: u64) {
    let transport = inner.transport.internal();
    with_work(WORK_WORDS, |work| {
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(WORK_WORDS as u64 * 8) as usize;
            let first = bytes_of_mut(work.acc, len);
            transport.get(a.0, a.1 + done, LocalDest::from(first));
            let second = bytes_of_mut(work.next, len);
            transport.get(b.0, b.1 + done, LocalDest::from(second));
            let first = LocalSource::from(bytes_of(work.acc, len));
            transport.put(b.0, b.1 + done, first);
            let second = LocalSource::from(bytes_of(work.next, len));
            transport.put(a.0, a.1 + done, second);
            done += len as u64;
        }
    });
}
