//! Collectives of many bytes by the copy engines of the GPUs, which leave the multiprocessors to other kernels. Only a tuning file chooses
//! them: on H200 the kernels of the library take less time.
//!
//! On the stream are: a kernel in which the members meet, the copies of this member's parts to the other members, and a kernel in which
//! the members meet again. The copy of a member's own part is on a stream of the library's beside it. Both kernels are counted as
//! collectives of the team, on every member alike.
//!
//! The host cannot take copies back that are on a stream. So after a meeting that has ended with an error (a member has called something
//! else, is gone, or has given up the team) the copies are made all the same. They write to `dest` of the members, within the
//! range that the call has named and this member has checked, whose contents are undefined after such an error. If a member has freed that
//! range, later allocations may be there.

use crate::kernels::{CollectiveArgs, Plan, Role};
use crate::operation::Operation;
use crate::transport::{Submission, Task};
use crate::{CudaTransport, Error, Pe, Result};

/// A part that a member copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartCopy {
    to: Pe,
    /// Symmetric offsets: on `to`, and on this PE.
    dest: u64,
    source: u64,
}

/// The parts that member `me` copies: its own first, if that does not lie there, then those to the members on its right, so that not all
/// members write to the same one at the same time.
fn parts(operation: Operation, task: &Task, members: &[Pe], me: usize) -> Vec<PartCopy> {
    let bytes = task.bytes;
    if operation == Operation::Broadcast && me as i32 != task.root {
        return Vec::new();
    }
    let of = |step: usize| {
        let member = (me + step) % members.len();
        let (from, at) = match operation {
            Operation::Broadcast => (0, 0),
            Operation::Fcollect => (0, me),
            // Alltoall.
            _ => (member, me),
        };
        PartCopy {
            to: members[member],
            dest: task.dest + at as u64 * bytes,
            source: task.source + from as u64 * bytes,
        }
    };
    let lies_there = |step: usize, part: &PartCopy| step == 0 && part.dest == part.source;
    let all = (0..members.len()).map(|step| (step, of(step)));
    let moved = all.filter(|(step, part)| !lies_there(*step, part));
    moved.map(|(_, part)| part).collect()
}

impl CollectiveArgs {
    /// The arguments of the first and of the last kernel, whose end is that of the collective.
    pub(super) fn roles(&self) -> (CollectiveArgs, CollectiveArgs) {
        let (mut first, mut last) = (*self, *self);
        first.says_when(0, 0);
        first.takes_part(Role::Opening);
        last.takes_part(Role::Closing);
        (first, last)
    }
}

impl CudaTransport {
    /// Puts the copies and the last kernel of a collective on a stream, behind its first kernel. `args`: of the last one.
    pub(super) fn put_copies(
        &self,
        submission: Submission,
        (operation, opening): (Operation, Plan),
        args: &CollectiveArgs,
    ) -> Result<()> {
        let stream = self.stream(submission);
        let members = self.teams.members(args.team_index())?;
        let me = members.iter().position(|pe| *pe == self.me);
        let me = me.ok_or_else(|| Error::Internal("a PE is no member of its team".into()))?;
        let task = Task {
            dest: args.dest,
            source: args.source,
            bytes: args.bytes,
            root: args.root,
            ..Task::default()
        };
        let parts = parts(operation, &task, &members, me);
        let (own, others): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.to == self.me);
        let copy = |submission, parts: &[PartCopy]| {
            let mut parts = parts.iter();
            parts.try_for_each(|part| self.copy_part(submission, part, args.bytes))
        };
        let beside = match own.is_empty() {
            true => None,
            false => self.put_beside(stream, |submission| copy(submission, &own))?,
        };
        copy(submission, &others)?;
        match beside {
            Some(end) => {
                end.hold_stream(stream)?;
                self.give_mark_back(end);
            }
            None => copy(submission, &own)?,
        }
        self.kernels.collective(stream, opening.closing(), args)?;
        // The copies, the last kernel and three of events; the first kernel counts before.
        self.backpressure
            .count(stream as u64, members.len() as u64 + 4);
        Ok(())
    }

    fn copy_part(&self, submission: Submission, part: &PartCopy, bytes: u64) -> Result<()> {
        let dest = self.layout.address(part.to, part.dest);
        let source = self.layout.address(self.me, part.source);
        self.begin_copy(submission, dest, source, bytes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_copies_its_own_part_and_then_those_to_its_right() {
        let members = [4, 6, 8];
        let mut task = Task {
            dest: 1000,
            source: 5000,
            bytes: 100,
            root: 1,
            ..Task::default()
        };
        let of = |operation, task: &Task, me| {
            let parts = parts(operation, task, &members, me).into_iter();
            parts
                .map(|part| (part.to, part.dest, part.source))
                .collect::<Vec<_>>()
        };
        use Operation::{Alltoall, Broadcast, Fcollect};
        let one_source = [(6, 1100, 5000), (8, 1100, 5000), (4, 1100, 5000)];
        assert_eq!(of(Fcollect, &task, 1), one_source);
        let its_own = [(8, 1200, 5200), (4, 1200, 5000), (6, 1200, 5100)];
        assert_eq!(of(Alltoall, &task, 2), its_own);
        let same_place = [(6, 1000, 5000), (8, 1000, 5000), (4, 1000, 5000)];
        assert_eq!(of(Broadcast, &task, 1), same_place);
        assert_eq!(of(Broadcast, &task, 0), []);
        // In place, a member's own part lies there.
        task.source = 1100;
        assert_eq!(of(Fcollect, &task, 1), [(8, 1100, 1100), (4, 1100, 1100)]);
        task.source = task.dest;
        assert_eq!(of(Broadcast, &task, 1), [(8, 1000, 1000), (4, 1000, 1000)]);
    }
}
