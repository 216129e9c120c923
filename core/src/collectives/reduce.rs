//! Reduce (to all): small data is a payload of the meeting; otherwise each member combines one part of the elements and writes it to all, on
//! several hosts in two levels.
//!
//! Every element is a left fold over the members in team order, whatever the algorithm, so the result has the same bits on every
//! member and in every run.

use super::fold::{Kernel, kernel};
use super::{
    CollectiveBuffer, CollectiveCall, PAYLOAD_BYTES, Part, WORK_WORDS, Work, bytes_of,
    bytes_of_mut, check_overlap, times, with_work,
};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::dtype::{Dtype, Element};
use crate::op::Op;
use crate::runtime::Inner;
use crate::symmetric::SymSlice;

use crate::operation::{ARGS, IN_PLACE, Operation};
use crate::team::Groups;
use crate::transport::{GetRequest, Submission, Task};
use crate::{Error, Pe, Result, Runtime, Team};
use std::ops::Range;

/// The parameters of a reduction: equal on every member.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) kernel: &'static Kernel,
    pub(super) op: Op,
    pub(super) count: usize,
    pub(super) dest: SymRange,
    pub(super) source: SymRange,
}

/// The kernel for a type and an operation, by their numbers, and the operation.
#[inline]
fn check_kernel(dtype: i32, op: i32) -> Result<(&'static Kernel, Op)> {
    let op = Op::from_number(op)?;
    Ok((kernel(Dtype::from_number(dtype)?, op)?, op))
}

/// Checks that elements are aligned to their type.
#[inline]
fn check_aligned(argument: &'static str, range: SymRange, kernel: &Kernel) -> Result<()> {
    // A power of two.
    if range.offset() & (kernel.dtype.alignment() as u64 - 1) == 0 {
        return Ok(());
    }
    Err(not_aligned(argument, range, kernel.dtype))
}

#[cold]
fn not_aligned(argument: &'static str, range: SymRange, dtype: Dtype) -> Error {
    let alignment = dtype.alignment() as u64;
    Error::invalid(
        argument,
        format!(
            "{} bytes behind a multiple of {alignment} bytes",
            range.offset() % alignment
        ),
        format!("at a multiple of {alignment} bytes for elements of `{dtype}`"),
    )
}

impl Reduction {
    /// Checks a reduction. `source` is as long as `dest`; if the reduction `scatters`, it has such a part for each member. Also returns whether
    /// the reduction is in place: `dest` is `source`, or this member's part of it. Else the two do not overlap.
    #[inline]
    fn check(
        collective: &CollectiveCall<'_>,
        submission: Submission,
        scatters: bool,
        (dest, source): (CollectiveBuffer, CollectiveBuffer),
        (count, dtype, op): (usize, i32, i32),
    ) -> Result<(Reduction, bool)> {
        let (kernel, op) = check_kernel(dtype, op)?;
        let bytes = times("count", count, kernel.size)?;
        let (total, own) = match scatters {
            true => {
                let total = times("count", count, kernel.size * collective.n_pes() as usize)?;
                (total, collective.my_pe() as u64 * bytes)
            }
            false => (bytes, 0),
        };
        let dest = collective.resolve(submission, dest, "dest", bytes)?;
        let source = collective.resolve(submission, source, "source", total)?;
        check_aligned("dest", dest, kernel)?;
        check_aligned("source", source, kernel)?;
        let in_place = check_overlap(dest, source, Some(source.offset() + own))?;
        let reduction = Reduction {
            kernel,
            op,
            count,
            dest,
            source,
        };
        Ok((reduction, in_place))
    }
}

impl Kernel {
    /// The words of the accumulator for `count` elements.
    pub(super) fn words(&self, count: usize) -> usize {
        (count * self.acc_size).div_ceil(8)
    }

    /// Loads `count` elements at byte `at` of `pe` into the accumulator.
    pub(super) fn load(&self, inner: &Inner, pe: Pe, at: u64, work: &mut Work<'_>, count: usize) {
        if self.widen.is_none() {
            let dest = LocalDest::from(bytes_of_mut(work.acc, count * self.size));
            inner.transport.internal().get(pe, at, dest);
        } else {
            self.fetch(inner, pe, at, work, count);
            self.start(work, count);
        }
    }

    /// Loads the fetched elements into the accumulator.
    #[inline]
    pub(super) fn start(&self, work: &mut Work<'_>, count: usize) {
        match self.widen {
            Some((widen, _)) => widen(work.acc, work.next, count),
            None => {
                let words = (count * self.size).div_ceil(8);
                work.acc[..words].copy_from_slice(&work.next[..words]);
            }
        }
    }

    /// Fetches `count` elements at byte `at` of `pe`.
    pub(super) fn fetch(&self, inner: &Inner, pe: Pe, at: u64, work: &mut Work<'_>, count: usize) {
        let dest = LocalDest::from(bytes_of_mut(work.next, count * self.size));
        inner.transport.internal().get(pe, at, dest);
    }

    /// Writes the accumulator's `count` elements to byte `at` of each of `pes`.
    #[inline]
    pub(super) fn store(
        &self,
        inner: &Inner,
        pes: impl Iterator<Item = Pe>,
        at: u64,
        work: &mut Work<'_>,
        count: usize,
    ) {
        let result = match self.widen {
            None => bytes_of(work.acc, count * self.size),
            Some((_, narrow)) => {
                narrow(work.out, work.acc, count);
                bytes_of(work.out, count * self.size)
            }
        };
        let transport = inner.transport.internal();
        for pe in pes {
            transport.put(pe, at, LocalSource::from(result));
        }
    }

    /// Folds `count` elements of the payloads of members `0..members`, from word `first` on.
    #[inline]
    pub(super) fn fold_payloads(
        &self,
        collective: &CollectiveCall<'_>,
        epoch: u64,
        members: Pe,
        first: usize,
        work: &mut Work<'_>,
        count: usize,
    ) {
        let words = (count * self.size).div_ceil(8);
        collective.payload_from(0, epoch, first, &mut work.next[..words]);
        self.start(work, count);
        for member in 1..members {
            collective.payload_from(member, epoch, first, &mut work.next[..words]);
            (self.fold)(work.acc, work.next, count);
        }
    }
}

impl Runtime {
    /// Combines `count` elements of `source` of every member, element by element in team order, and writes the result to `dest` on every
    /// member. `dtype` and `op` are numbers of the C ABI, so that an invalid number is an error on every member; the buffers are the same or do
    /// not overlap.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.9.9.
    #[inline]
    #[track_caller]
    pub fn reduce(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        count: usize,
        dtype: i32,
        op: i32,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        let combine = |reduction: &Reduction, collective: &CollectiveCall<'_>, args| {
            if reduction.is_small() {
                reduction.small(collective, args)
            } else {
                reduction.large(collective, args)
            }
        };
        let arguments = (count, dtype, op);
        self.reduction(Operation::Reduce, team, buffers, arguments, combine)
    }

    /// A collective that combines elements: `combine` runs once its arguments are checked.
    #[inline(always)]
    #[track_caller]
    pub(super) fn reduction(
        &self,
        operation: Operation,
        team: Team,
        buffers: (CollectiveBuffer, CollectiveBuffer),
        arguments: (usize, i32, i32),
        combine: impl FnOnce(&Reduction, &CollectiveCall<'_>, [u64; ARGS]) -> Result<()>,
    ) -> Result<()> {
        let inner = &*self.inner;
        let collective = inner.enter(team, operation)?;
        let (count, dtype, op) = arguments;
        let scatters = operation == Operation::Reducescatter;
        let checked = Reduction::check(&collective, self.submission, scatters, buffers, arguments);
        let (reduction, in_place) = match checked {
            Ok(checked) => checked,
            Err(error) => return collective.refuse(self.submission, operation, error),
        };
        // Each member has its own part of the common `source`.
        let to = match scatters && in_place {
            true => IN_PLACE,
            false => reduction.dest.offset(),
        };
        let from = reduction.source.offset();
        let args = [count as u64, dtype as u64, op as u64, to, from];
        let task = || reduction.task();
        if let Some(done) = collective.offload(self.submission, operation, args, task) {
            return done;
        }
        collective.reads(reduction.source);
        combine(&reduction, &collective, args)?;
        collective.reads_and_writes(reduction.source, reduction.dest);
        Ok(())
    }

    /// [`reduce`](Runtime::reduce) of arrays, of equal length.
    #[track_caller]
    pub fn reduce_array<T: Element>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        op: Op,
    ) -> Result<()> {
        let (dtype, op) = (T::DTYPE as i32, op as i32);
        self.reduce(team, dest.range(), source.range(), source.len(), dtype, op)
    }
}

impl Reduction {
    /// Whether the sources are payloads of the meeting.
    #[inline(always)]
    pub(super) fn is_small(&self) -> bool {
        self.source.bytes() as usize <= PAYLOAD_BYTES
    }

    /// The task for a transport that runs reductions itself.
    #[cold]
    fn task(&self) -> Task {
        Task {
            dest: self.dest.offset(),
            source: self.source.offset(),
            bytes: self.dest.bytes(),
            reduction: Some((self.kernel.dtype, self.op)),
            ..Task::default()
        }
    }

    /// The sources are payloads of the meeting, and every member combines them all.
    #[inline]
    fn small(&self, collective: &CollectiveCall<'_>, args: [u64; ARGS]) -> Result<()> {
        let (inner, kernel, count) = (collective.inner, self.kernel, self.count);
        with_work(kernel.words(count), |work| {
            let words = &mut work.next[..(self.source.bytes() as usize).div_ceil(8)];
            inner.load_words(self.source, words);
            let epoch = collective.join(Operation::Reduce, args, words)?;
            kernel.fold_payloads(collective, epoch, collective.n_pes(), 0, work, count);
            let me = std::iter::once(inner.my_pe);
            kernel.store(inner, me, self.dest.offset(), work, count);
            Ok(())
        })
    }

    /// Member m combines the m-th part of all sources, and all get it. In place this is safe because only member m accesses part m of any
    /// member's buffers until all have combined theirs.
    #[inline(never)]
    fn large(&self, collective: &CollectiveCall<'_>, args: [u64; ARGS]) -> Result<()> {
        collective.join(Operation::Reduce, args, &[])?;
        if let Some(levels) = collective.levels() {
            self.over_hosts(collective, &levels)?;
        } else {
            let (kernel, from) = (self.kernel, self.source.offset());
            let own = self.part(collective.n_pes() as usize, collective.my_pe() as usize);
            fold_all(collective, kernel, from, own, |work, at, count| {
                let to = self.dest.offset() + at * kernel.size as u64;
                let all = (0..collective.n_pes()).map(|member| collective.pe(member));
                kernel.store(collective.inner, all, to, work, count);
            });
        }
        collective.meet_again(Operation::Reduce)
    }

    /// As [`large`](Reduction::large), on several hosts: each member writes its part to its own `dest`, and then all get it. Elements that may
    /// be combined in any order are combined on each host first, where each member has a part of the result in its `dest`.
    #[cold]
    fn over_hosts(&self, collective: &CollectiveCall<'_>, levels: &Groups) -> Result<()> {
        let (kernel, size, to) = (self.kernel, self.kernel.size as u64, self.dest.offset());
        let n_pes = collective.n_pes() as usize;
        let own = self.part(n_pes, collective.my_pe() as usize);
        let fold = |members: &[Pe], from: u64, elements: Range<usize>| {
            fold_over(
                collective,
                levels,
                members,
                kernel,
                from,
                elements,
                &mut |work, at, count| {
                    let me = std::iter::once(collective.inner.my_pe);
                    kernel.store(collective.inner, me, to + at * size, work, count);
                },
            );
        };
        let groups = levels.groups.iter().map(|group| &group.members[..]);
        let shared = groups.clone().any(|members| members.len() > 1);
        if shared && kernel.dtype.is_integer() && self.dest.bytes() >= COMBINED {
            let (mine, number) = levels.positions[collective.my_pe() as usize];
            let local_members = &levels.groups[mine].members;
            fold(
                local_members,
                self.source.offset(),
                self.part(local_members.len(), number),
            );
            collective.meet_again(Operation::Reduce)?;
            let mut at = own.start;
            while at < own.end {
                // The member of each host that holds this element, and the end of the shortest of their parts.
                let mut end = own.end;
                let holders: Vec<Pe> = groups
                    .clone()
                    .filter_map(|members| {
                        let part = |number| self.part(members.len(), number);
                        let number = (0..members.len()).find(|&one| part(one).contains(&at))?;
                        end = end.min(part(number).end);
                        Some(members[number])
                    })
                    .collect();
                fold(&holders, to, at..end);
                at = end;
            }
        } else {
            let all: Vec<Pe> = (0..collective.n_pes()).collect();
            fold(&all, self.source.offset(), own);
        }
        collective.spread_over(levels, Operation::Reduce, None, &|member| {
            let part = self.part(n_pes, member as usize);
            let at = to + part.start as u64 * size;
            let bytes = part.len() as u64 * size;
            let (from, to) = (at, at);
            Part { from, to, bytes }
        })
    }

    /// One of so many parts of the elements.
    pub(super) fn part(&self, parts: usize, number: usize) -> Range<usize> {
        // Whole cache lines, so that members do not write into each other's.
        let line = 64 / self.kernel.size;
        let each = self.count.div_ceil(parts).next_multiple_of(line.max(1));
        let start = each.saturating_mul(number).min(self.count);
        start..(start + each).min(self.count)
    }
}

/// Combines the `elements` of all members from byte `from` on, in team order, and calls `done` with each piece of the result, which is in the
/// accumulator: its first element, and the number of elements.
pub(super) fn fold_all(
    collective: &CollectiveCall<'_>,
    kernel: &Kernel,
    from: u64,
    elements: Range<usize>,
    mut done: impl FnMut(&mut Work<'_>, u64, usize),
) {
    let inner = collective.inner;
    if let Some(levels) = collective.levels() {
        let all: Vec<Pe> = (0..collective.n_pes()).collect();
        return fold_over(collective, &levels, &all, kernel, from, elements, &mut done);
    }
    pieces(elements, kernel, |work, at, count| {
        let from = from + at * kernel.size as u64;
        kernel.load(inner, collective.pe(0), from, work, count);
        for member in 1..collective.n_pes() {
            kernel.fetch(inner, collective.pe(member), from, work, count);
            (kernel.fold)(work.acc, work.next, count);
        }
        done(work, at, count);
    });
}

/// Bytes of other hosts' elements that are fetched at a time, and the least and the most of one member.
const FETCHED: usize = 4 << 20;
const LEAST: usize = 8 << 10;
const MOST: usize = 256 << 10;

/// The fewest bytes for which integers are combined on each host first. It takes an additional meeting.
const COMBINED: u64 = 32 << 10;

/// As [`fold_all`], for these members, on several hosts: elements of remote members are prefetched, from all of them at the same time.
fn fold_over(
    collective: &CollectiveCall<'_>,
    levels: &Groups,
    members: &[Pe],
    kernel: &Kernel,
    from: u64,
    elements: Range<usize>,
    done: &mut dyn FnMut(&mut Work<'_>, u64, usize),
) {
    let (inner, size) = (collective.inner, kernel.size);
    let is_local = |member: Pe| levels.positions[member as usize].0 == levels.mine;
    let remote_members: Vec<Pe> = members
        .iter()
        .copied()
        .filter(|&one| !is_local(one))
        .collect();
    let bytes = (FETCHED / remote_members.len().max(1))
        .clamp(LEAST, MOST)
        .next_multiple_of(64);
    let most = bytes / size;
    let mut fetched =
        vec![0_u64; remote_members.len() * bytes.min(elements.len() * size).div_ceil(8)];
    for first in elements.clone().step_by(most) {
        let count = most.min(elements.end - first);
        let words = (count * size).div_ceil(8);
        let source = from + (first * size) as u64;
        let wanted = fetched
            .chunks_mut(words)
            .zip(&remote_members)
            .map(|(memory, &member)| GetRequest {
                pe: collective.pe(member),
                source,
                dest: LocalDest::from(bytes_of_mut(memory, count * size)),
            });
        inner.transport.internal().get_many(wanted.collect());
        pieces(first..first + count, kernel, |work, at, count| {
            let skip = (at as usize - first) * size / 8;
            let mut fetched = fetched.chunks(words);
            for (number, &member) in members.iter().enumerate() {
                if is_local(member) {
                    let from = from + at * size as u64;
                    kernel.fetch(inner, collective.pe(member), from, work, count);
                } else if let Some(memory) = fetched.next() {
                    let memory = &memory[skip..][..(count * size).div_ceil(8)];
                    work.next[..memory.len()].copy_from_slice(memory);
                }
                match number {
                    0 => kernel.start(work, count),
                    _ => (kernel.fold)(work.acc, work.next, count),
                }
            }
            done(work, at, count);
        });
    }
}

/// Calls `body` for elements in pieces that fit the buffers: with the first element and the number of each.
pub(super) fn pieces(
    elements: Range<usize>,
    kernel: &Kernel,
    mut body: impl FnMut(&mut Work<'_>, u64, usize),
) {
    with_work(WORK_WORDS, |work| {
        let mut at = elements.start;
        while at < elements.end {
            let count = (elements.end - at).min(work.bytes() / kernel.acc_size);
            body(work, at as u64, count);
            at += count;
        }
    });
}
