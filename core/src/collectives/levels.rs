//! Large data of collectives on several hosts, in two levels: data for another host is transferred once, to one of its members, and the
//! others copy it from there through shared memory.

use super::CollectiveCall;
use crate::job::hosts::Hosts;
use crate::operation::Operation;
use crate::team::Groups;
use crate::{Pe, Result};
use std::sync::Arc;

/// A member's part of the data for all: its offset there, its offset on every member, and its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) bytes: u64,
}

impl CollectiveCall<'_> {
    /// The members by host, if they are on several.
    #[inline(always)]
    pub(super) fn levels(&self) -> Option<Arc<Groups>> {
        match self.inner.control.remote() {
            None => None,
            // No member is on another host.
            Some(remote) if self.team.is_on_one_host(remote.hosts()) => None,
            Some(remote) => self.levels_over(remote.hosts()),
        }
    }

    #[cold]
    fn levels_over(&self, hosts: &Hosts) -> Option<Arc<Groups>> {
        let make = || Groups::new(&self.members(), hosts);
        let (index, handle) = (self.team.index, self.team.handle());
        let groups = self.inner.grouped.of(index, handle, make);
        (groups.groups.len() > 1).then_some(groups)
    }

    /// Copies a part from one member to this one.
    pub(super) fn copy_part(&self, owner: Pe, part: Part) {
        let Part { from, to, bytes } = part;
        if bytes > 0 && (owner != self.my_pe() || from != to) {
            let transport = self.inner.transport.internal();
            transport.copy(self.inner.my_pe, to, self.pe(owner), from, bytes);
        }
    }

    /// Copies every member's part to every member. The copy is complete after the next meeting.
    pub(super) fn spread(&self, operation: Operation, part: &dyn Fn(Pe) -> Part) -> Result<()> {
        if let Some(levels) = self.levels() {
            return self.spread_over(&levels, operation, None, part);
        }
        // Each member begins with itself and goes on to the right, so that they do not all read from one.
        let (n_pes, me) = (self.n_pes(), self.my_pe());
        for member in (0..n_pes).map(|step| (me + step) % n_pes) {
            self.copy_part(member, part(member));
        }
        Ok(())
    }

    /// As [`spread`](CollectiveCall::spread), on several hosts, except to the members of group `except`, which have all data.
    pub(super) fn spread_over(
        &self,
        levels: &Groups,
        operation: Operation,
        except: Option<usize>,
        part: &dyn Fn(Pe) -> Part,
    ) -> Result<()> {
        let (me, mine, count) = (self.my_pe(), levels.mine, levels.groups.len());
        let takes = |group: usize| Some(group) != except;
        let Part { from, to, bytes } = part(me);
        for group in (1..count).map(|step| (mine + step) % count) {
            if takes(group) && bytes > 0 {
                let receiver = self.pe(levels.receiver(group, me));
                let transport = self.inner.transport.internal();
                transport.copy(receiver, to, self.inner.my_pe, from, bytes);
            }
        }
        let members = |group: usize| &levels.groups[group].members;
        let owns = |group: usize| members(group).iter().any(|&one| part(one).bytes > 0);
        let crosses = |from: usize| (0..count).any(|to| to != from && takes(to));
        let shares = (0..count).any(|group| takes(group) && members(group).len() > 1);
        if shares && (0..count).any(|from| crosses(from) && owns(from)) {
            self.meet_again(operation)?;
        }
        if !takes(mine) {
            return Ok(());
        }
        for group in (0..count).map(|step| (mine + step) % count) {
            for &member in members(group) {
                let part = part(member);
                if group == mine {
                    self.copy_part(member, part);
                } else {
                    // It is at its place on the member that it was sent to.
                    let there = Part {
                        from: part.to,
                        ..part
                    };
                    self.copy_part(levels.receiver(mine, member), there);
                }
            }
        }
        Ok(())
    }
}
