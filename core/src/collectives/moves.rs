//! The table of the collectives that move parts of one length, and their common code.
//!
//! A [`Move`] defines which members use `dest` and `source`, and whether a buffer has a part for each member. It determines the checks of the
//! arguments, the arguments that the members compare, the checker's events, and the payload of small data.

use super::{
    CollectiveBuffer, CollectiveCall, PAYLOAD_BYTES, Part, check_overlap, times, with_work,
};
use super::{alltoall, broadcast};
use crate::buffer::SymRange;
use crate::job::block::PAYLOAD_WORDS;
use crate::operation::{ARGS, IN_PLACE, Operation};
use crate::runtime::Inner;
use crate::symmetric::{SymSlice, Symmetric};
use crate::transport::Task;
use crate::{Error, Pe, Result, Runtime, Team};
use bytemuck::Pod;

/// The members that use a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// Every member.
    All,
    /// The root; the others pass the same symmetric address.
    Root,
    /// The root; the others may pass anything.
    RootAlone,
}

/// One side of a collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) users: Users,
    /// Whether the buffer has a part for each member; otherwise it is one part.
    pub(super) parts: bool,
}

impl Side {
    const fn new(users: Users, parts: bool) -> Side {
        Side { users, parts }
    }

    #[inline(always)]
    fn is_used(self, is_root: bool) -> bool {
        is_root || self.users == Users::All
    }

    #[inline(always)]
    fn is_checked(self, is_root: bool) -> bool {
        is_root || self.users != Users::RootAlone
    }

    /// The length of the buffer in a team of so many members.
    #[inline(always)]
    fn bytes(self, bytes: usize, n_pes: usize) -> Result<u64> {
        match self.parts {
            true => times("bytes", bytes, n_pes),
            false => Ok(bytes as u64),
        }
    }

    /// The offset of a member's part in the buffer.
    #[inline(always)]
    fn part(self, member: Pe, bytes: usize) -> u64 {
        if self.parts {
            (member as usize * bytes) as u64
        } else {
            0
        }
    }
}

/// A collective that moves parts of one length: part s of `dest` of a member d comes from part d of `source` of member s.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub(super) operation: Operation,
    pub(super) dest: Side,
    pub(super) source: Side,
    /// Moves large data, after the first meeting; the members meet again afterwards.
    pub(super) large: fn(&CollectiveCall<'_>, &MemberBuffers) -> Result<()>,
}

/// The buffers of a member, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberBuffers {
    /// Where `dest` begins: the root's, if it is the only user.
    pub(super) to: u64,
    /// Where `source` begins: the root's, if it is the only user.
    pub(super) from: u64,
    /// The length of a part.
    pub(super) bytes: u64,
    pub(super) root: Pe,
    /// Whether this member's own part of `source` is its part of `dest`.
    pub(super) in_place: bool,
}

pub(super) const BROADCAST: Move = Move {
    operation: Operation::Broadcast,
    dest: Side::new(Users::All, false),
    source: Side::new(Users::Root, false),
    large: broadcast::large,
};
pub(super) const FCOLLECT: Move = Move {
    operation: Operation::Fcollect,
    dest: Side::new(Users::All, true),
    source: Side::new(Users::All, false),
    large: |collective, &moved| {
        collective.spread(Operation::Fcollect, &|member| {
            let to = moved.to + member as u64 * moved.bytes;
            let from = if moved.in_place { to } else { moved.from };
            let bytes = moved.bytes;
            Part { from, to, bytes }
        })
    },
};
pub(super) const ALLTOALL: Move = Move {
    operation: Operation::Alltoall,
    dest: Side::new(Users::All, true),
    source: Side::new(Users::All, true),
    large: alltoall::large,
};
/// Each member copies its own part, so that the work is distributed.
pub(super) const GATHER: Move = Move {
    operation: Operation::Gather,
    dest: Side::new(Users::RootAlone, true),
    source: Side::new(Users::All, false),
    large: |collective, &moved| {
        if moved.root != collective.my_pe() || !moved.in_place {
            let to = moved.to + collective.my_pe() as u64 * moved.bytes;
            let (root, me) = (collective.pe(moved.root), collective.inner.my_pe);
            let transport = collective.inner.transport.internal();
            transport.copy(root, to, me, moved.from, moved.bytes);
        }
        Ok(())
    },
};
pub(super) const SCATTER: Move = Move {
    operation: Operation::Scatter,
    dest: Side::new(Users::All, false),
    source: Side::new(Users::RootAlone, true),
    large: |collective, &moved| {
        let part = Part {
            from: moved.from + collective.my_pe() as u64 * moved.bytes,
            to: moved.to,
            bytes: moved.bytes,
        };
        collective.copy_part(moved.root, part);
        Ok(())
    },
};

impl Move {
    const fn is_rooted(&self) -> bool {
        !matches!(
            (self.dest.users, self.source.users),
            (Users::All, Users::All)
        )
    }

    /// The arguments that all members pass alike, as the row of the operation names them.
    #[inline(always)]
    fn arguments(&self, moved: &MemberBuffers) -> [u64; ARGS] {
        // Each member has its own part of the common `dest`.
        let differs = moved.in_place && !self.is_rooted() && self.dest.parts != self.source.parts;
        let source = if differs { IN_PLACE } else { moved.from };
        let (bytes, root) = (moved.bytes, moved.root as u64);
        match (self.dest.users, self.source.users) {
            (Users::All, Users::All) => [bytes, moved.to, source, 0, 0],
            (Users::RootAlone, _) => [bytes, root, source, 0, 0],
            (_, Users::RootAlone) => [bytes, root, moved.to, 0, 0],
            _ => [bytes, root, moved.to, source, 0],
        }
    }

    /// Copies this member's `source` into words, where each part begins at a word.
    #[inline(always)]
    fn load(&self, inner: &Inner, source: SymRange, bytes: usize, words: &mut [u64]) {
        if !self.source.parts || bytes.is_multiple_of(8) {
            inner.load_words(source, words);
            return;
        }
        let parts = words.chunks_exact_mut(bytes.div_ceil(8));
        for (member, words) in (0..).zip(parts) {
            let at = source.offset() + self.source.part(member, bytes);
            inner.load_words(SymRange::new(at, bytes as u64), words);
        }
    }
}

impl CollectiveCall<'_> {
    /// Reports to the checker that this member is about to return: until then its `source` may be read. The part `kept` of `dest` does not
    /// change.
    #[inline(always)]
    fn finish(&self, source: Option<SymRange>, dest: Option<(SymRange, SymRange)>) {
        if self.inner.transport.observer().is_some() {
            self.finish_checked(source, dest);
        }
    }

    #[cold]
    fn finish_checked(&self, source: Option<SymRange>, dest: Option<(SymRange, SymRange)>) {
        if let Some(source) = source {
            self.reads(source);
        }
        match dest {
            None => {}
            Some((dest, kept)) if kept.bytes() == 0 => self.writes(dest),
            Some((dest, kept)) => {
                let (start, end) = (kept.offset(), kept.offset() + kept.bytes());
                self.writes(SymRange::new(dest.offset(), start - dest.offset()));
                self.writes(SymRange::new(end, dest.offset() + dest.bytes() - end));
            }
        }
    }

    /// Meets the members, and moves large data. The root posts the address of its buffer if the others need it.
    #[inline(never)]
    fn move_large(&self, row: &Move, args: [u64; ARGS], mut moved: MemberBuffers) -> Result<()> {
        let (operation, n_pes) = (row.operation, self.n_pes() as usize);
        let (roots, side) = match (row.dest.users, row.source.users) {
            (Users::RootAlone, _) => (Some(&mut moved.to), row.dest),
            (_, Users::RootAlone) => (Some(&mut moved.from), row.source),
            _ => (None, row.dest),
        };
        let brought: &[u64] = match &roots {
            Some(offset) if moved.root == self.my_pe() => &[**offset],
            _ => &[],
        };
        let epoch = self.join(operation, args, brought)?;
        if let Some(offset) = roots {
            let length = side.bytes(moved.bytes as usize, n_pes)?;
            *offset = self.roots_buffer(operation, moved.root, epoch, length)?;
        }
        (row.large)(self, &moved)?;
        self.meet_again(operation)
    }

    /// The offset of the root's buffer from a meeting. It is checked, because another process has written it.
    #[cold]
    fn roots_buffer(&self, operation: Operation, root: Pe, epoch: u64, bytes: u64) -> Result<u64> {
        let mut offset = [0];
        self.payload(root, epoch, &mut offset);
        match offset[0].checked_add(bytes) {
            Some(end) if end <= self.inner.layout.stride => Ok(offset[0]),
            _ => {
                self.break_team();
                Err(Error::Internal(format!(
                    "{} met a buffer of the root's of {bytes} bytes at {:#x}",
                    operation.name(),
                    offset[0]
                )))
            }
        }
    }
}

impl Runtime {
    /// Runs a collective of the table. `part` gives the bytes of a part in a team of so many members.
    #[inline(always)]
    #[track_caller]
    pub(super) fn moves(
        &self,
        row: &'static Move,
        team: Team,
        buffers: (CollectiveBuffer, CollectiveBuffer),
        part: impl FnOnce(usize) -> Result<usize>,
        root: Pe,
    ) -> Result<()> {
        let inner = &*self.inner;
        let operation = row.operation;
        let collective = inner.enter(team, operation)?;
        let (n_pes, me) = (collective.n_pes() as usize, collective.my_pe());
        let is_root = !row.is_rooted() || root == me;
        let (reads, writes) = (row.source.is_used(is_root), row.dest.is_used(is_root));
        let none = SymRange::new(0, 0);
        let part = part(n_pes);
        let bytes = part.as_ref().copied().unwrap_or(0);
        // Not as the closure's result, which would go through memory: that costs a small collective 5 ns.
        let (mut dest, mut source, mut in_place) = (none, none, false);
        let checked = part.and_then(|bytes| {
            // The length must be right on every member.
            let (to, from) = (
                row.dest.bytes(bytes, n_pes)?,
                row.source.bytes(bytes, n_pes)?,
            );
            if row.dest.is_checked(is_root) {
                dest = collective.resolve(self.submission, buffers.0, "dest", to)?;
            }
            if row.source.is_checked(is_root) {
                source = collective.resolve(self.submission, buffers.1, "source", from)?;
            }
            let own = source.offset() + row.source.part(me, bytes);
            let own = own.checked_sub(row.dest.part(me, bytes));
            in_place = check_overlap(dest, source, own)?;
            if row.is_rooted() {
                crate::error::check_pe("root", root, collective.n_pes())?;
            }
            Ok(())
        });
        if let Err(error) = checked {
            return collective.refuse(self.submission, operation, error);
        }
        let moved = MemberBuffers {
            to: dest.offset(),
            from: source.offset(),
            bytes: bytes as u64,
            root,
            in_place,
        };
        let args = row.arguments(&moved);
        // In place, this member's own part stays as it is.
        let kept = if in_place && reads && writes {
            SymRange::new(moved.to + row.dest.part(me, bytes), bytes as u64)
        } else {
            none
        };
        if reads {
            collective.reads(source);
        }
        let task = || Task {
            dest: moved.to,
            source: moved.from,
            bytes: bytes as u64,
            root,
            ..Task::default()
        };
        if let Some(done) = collective.offload(self.submission, operation, args, task) {
            return done;
        }
        let part_words = bytes.div_ceil(8);
        let words = part_words.saturating_mul(if row.source.parts { n_pes } else { 1 });
        if bytes <= PAYLOAD_BYTES && words <= PAYLOAD_WORDS {
            return with_work(words, |work| {
                let words = &mut work.acc[..words];
                let mut brought = 0;
                if reads {
                    row.load(inner, source, bytes, words);
                    brought = words.len();
                }
                let epoch = collective.join(operation, args, &words[..brought])?;
                let words = &mut words[..part_words];
                let first = if row.source.parts {
                    me as usize * part_words
                } else {
                    0
                };
                let sources = match row.source.users {
                    _ if !writes => 0..0,
                    Users::All => 0..collective.n_pes(),
                    _ => root..root + 1,
                };
                for member in sources {
                    collective.payload_from(member, epoch, first, words);
                    inner.store_words(moved.to + row.dest.part(member, bytes), words, bytes)?;
                }
                collective.finish(reads.then_some(source), writes.then_some((dest, kept)));
                Ok(())
            });
        }
        collective.move_large(row, args, moved)?;
        collective.finish(reads.then_some(source), writes.then_some((dest, kept)));
        Ok(())
    }

    /// Concatenates `bytes` bytes of `source` of every member, in team order, in `dest` on every member, which has room for all. In place:
    /// `source` is this member's part of `dest`.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.8.
    #[track_caller]
    pub fn fcollect(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        bytes: usize,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.moves(&FCOLLECT, team, buffers, |_| Ok(bytes), 0)
    }

    /// [`fcollect`](Runtime::fcollect) of arrays: `dest` is as long as all sources together.
    #[track_caller]
    pub fn fcollect_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
    ) -> Result<()> {
        let bytes = source.range().bytes() as usize;
        self.fcollect(team, dest.range(), source.range(), bytes)
    }

    /// Concatenates `bytes` bytes of `source` of every member, in team order, in `dest` on member `root` (a number in the team), which has
    /// room for all. The other members may pass any `dest`: it is not used. In place: the root's `source` is its part of `dest`.
    ///
    /// Collective over `team`. Returns when `source` may be reused, and on the root when `dest` is written. As `MPI_Gather`.
    #[track_caller]
    pub fn gather(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.moves(&GATHER, team, buffers, |_| Ok(bytes), root)
    }

    /// [`gather`](Runtime::gather) of arrays: the root's `dest` is as long as all sources together; others may pass `None`.
    #[track_caller]
    pub fn gather_array<T: Pod>(
        &self,
        team: Team,
        dest: Option<&SymSlice<'_, T>>,
        source: &SymSlice<'_, T>,
        root: Pe,
    ) -> Result<()> {
        let bytes = source.range().bytes() as usize;
        self.gather(team, range_or_null(dest), source.range(), bytes, root)
    }

    /// Sends part j of `source` on member `root` (a number in the team), `bytes` bytes, to `dest` of member j. The other members may pass
    /// any `source`: it is not used. In place: the root's `dest` is its part of `source`.
    ///
    /// Collective over `team`. Returns when `dest` is written here, and on the root when `source` may be reused. As `MPI_Scatter`.
    #[track_caller]
    pub fn scatter(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.moves(&SCATTER, team, buffers, |_| Ok(bytes), root)
    }

    /// [`scatter`](Runtime::scatter) of arrays: the root's `source` is as long as all of `dest` together; others may pass `None`.
    #[track_caller]
    pub fn scatter_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: Option<&SymSlice<'_, T>>,
        root: Pe,
    ) -> Result<()> {
        let bytes = dest.range().bytes() as usize;
        self.scatter(team, dest.range(), range_or_null(source), bytes, root)
    }
}

fn range_or_null<T: Pod>(slice: Option<&SymSlice<'_, T>>) -> Symmetric {
    slice.map_or(Symmetric::Address(0), |slice| slice.range().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compared_arguments_stand_where_the_row_of_the_operation_names_them() {
        let moved = MemberBuffers {
            to: 11,
            from: 22,
            bytes: 33,
            root: 5,
            in_place: false,
        };
        for row in [BROADCAST, FCOLLECT, ALLTOALL, GATHER, SCATTER] {
            let named = row.operation.arguments().iter();
            let values = named.map(|argument| match argument.name {
                "bytes" => 33,
                "root" => 5,
                "dest" => 11,
                "source" => 22,
                other => panic!("{:?} compares {other}", row.operation),
            });
            let mut expected: Vec<u64> = values.collect();
            expected.resize(ARGS, 0);
            assert_eq!(row.arguments(&moved)[..], expected, "{:?}", row.operation);
            let in_place = row.arguments(&MemberBuffers {
                in_place: true,
                ..moved
            });
            let differs = in_place.contains(&IN_PLACE);
            assert_eq!(differs, row.operation == Operation::Fcollect);
        }
    }
}
