//! Broadcast: small data is a payload of the meeting; otherwise every member copies from the root, on several hosts in two levels.

use super::moves::{BROADCAST, MemberBuffers};
use super::{CollectiveBuffer, CollectiveCall, Part};
use crate::operation::Operation;
use crate::symmetric::SymSlice;
use crate::team::Groups;
use crate::{Pe, Result, Runtime, Team};
use bytemuck::Pod;

/// On several hosts, the shortest part that is sent to a separate member.
const LEAST: u64 = 4 << 10;

impl Runtime {
    /// Copies `bytes` bytes from `source` on member `root` (a number in the team) to `dest` on every member, the root included.
    /// The two are the same or do not overlap.
    ///
    /// Collective over `team`. Returns when `dest` is written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.7.
    #[track_caller]
    pub fn broadcast(
        &self,
        team: Team,
        dest: impl Into<CollectiveBuffer>,
        source: impl Into<CollectiveBuffer>,
        bytes: usize,
        root: Pe,
    ) -> Result<()> {
        let buffers = (dest.into(), source.into());
        self.moves(&BROADCAST, team, buffers, |_| Ok(bytes), root)
    }

    /// [`broadcast`](Runtime::broadcast) of arrays, of equal length.
    #[track_caller]
    pub fn broadcast_array<T: Pod>(
        &self,
        team: Team,
        dest: &SymSlice<'_, T>,
        source: &SymSlice<'_, T>,
        root: Pe,
    ) -> Result<()> {
        let bytes = source.range().bytes() as usize;
        self.broadcast(team, dest.range(), source.range(), bytes, root)
    }
}

/// Copies from the root, once the members have met.
pub(super) fn large(collective: &CollectiveCall<'_>, moved: &MemberBuffers) -> Result<()> {
    let whole = Part {
        from: moved.from,
        to: moved.to,
        bytes: moved.bytes,
    };
    match collective.levels() {
        Some(levels) => broadcast_over(collective, &levels, moved.root, whole)?,
        None => collective.copy_part(moved.root, whole),
    }
    Ok(())
}

/// The root sends each part to one member of another host, and these members distribute them: so no host sends more than the whole.
/// Members of the root's own host copy from the root.
fn broadcast_over(
    collective: &CollectiveCall<'_>,
    levels: &Groups,
    root: Pe,
    whole: Part,
) -> Result<()> {
    let root_group = levels.positions[root as usize].0;
    let mut holders: Vec<Pe> = (0..collective.n_pes())
        .filter(|&member| levels.positions[member as usize].0 != root_group)
        .collect();
    // First one of each host, then the next of each.
    holders.sort_by_key(|&member| levels.positions[member as usize].1);
    holders.truncate((whole.bytes / LEAST).max(1) as usize);
    let each = whole
        .bytes
        .div_ceil(holders.len() as u64)
        .next_multiple_of(64);
    let mut numbers = vec![None; collective.n_pes() as usize];
    for (number, &holder) in (0_u64..).zip(&holders) {
        numbers[holder as usize] = Some(number);
    }
    // The part of a member, at its place in `dest`.
    let part = |member: Pe| {
        let start = numbers[member as usize].map_or(whole.bytes, |number| number * each);
        let start = start.min(whole.bytes);
        Part {
            from: whole.to + start,
            to: whole.to + start,
            bytes: each.min(whole.bytes - start),
        }
    };
    if levels.mine == root_group {
        collective.copy_part(root, whole);
    } else {
        let Part { to, bytes, .. } = part(collective.my_pe());
        let from = whole.from + (to - whole.to);
        collective.copy_part(root, Part { from, to, bytes });
    }
    collective.meet_again(Operation::Broadcast)?;
    collective.spread_over(levels, Operation::Broadcast, Some(root_group), &part)
}
