//! Collectives of many bytes by the copy engines of the GPUs, which leave the multiprocessors to other kernels. Only a tuning file selects
//! this algorithm: on H200 the library's kernels take less time.
//!
//! The stream runs a kernel in which the members meet, the copies of this member's parts to the other members, and a kernel in which the
//! members meet again. A stream of the library copies a member's own part meanwhile. Both kernels count as collectives of the team, on
//! every member.
//!
//! The host cannot cancel copies that are on a stream. So after a meeting that has ended with an error (a member has made another call, is
//! gone, or has given up the team) the copies run all the same. They write to `dest` of the members, within the range that this member has
//! checked; its contents are undefined after such an error. If a member has freed that range, the copies may overwrite later allocations.

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

/// The parts that member `me` copies: first its own, unless that is in place, then those for the members on its right, so that not all
/// members write to the same member at the same time.
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
    /// The arguments of the first kernel, and of the last, whose end is the end of the collective.
    pub(super) fn roles(&self) -> (CollectiveArgs, CollectiveArgs) {
        let (mut first, mut last) = (*self, *self);
        first.reports_completion(0, 0);
        first.takes_part(Role::Opening);
        last.takes_part(Role::Closing);
        (first, last)
    }
}

impl CudaTransport {
    /// Puts the copies and the last kernel of a collective on a stream, behind its first kernel. `args`: those of the last kernel.
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
        // Pieces: the copies, the last kernel and three for events. The first kernel was counted before.
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
        // In place, a member's own part needs no copy.
        task.source = 1100;
        assert_eq!(of(Fcollect, &task, 1), [(8, 1100, 1100), (4, 1100, 1100)]);
        task.source = task.dest;
        assert_eq!(of(Broadcast, &task, 1), [(8, 1000, 1000), (4, 1000, 1000)]);
    }
}
