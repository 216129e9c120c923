//! What the checker is told of a collective: who has met, and what each member reads and writes of its own memory. The data is
//! moved unchecked.

use super::Turn;
use crate::buffer::SymRange;
use crate::job::tell::{self, Told32};
use crate::operation::{ARGS, Completes, Operation};
use crate::runtime::Inner;
use crate::strided::Strides;
use crate::transport::check::Checker;
use crate::{Pe, Result};
use std::sync::atomic::Ordering::Relaxed;

impl Inner {
    /// Where the program calls a collective; 0 if the job is not checked.
    #[inline(always)]
    #[track_caller]
    pub(super) fn site(&self, called: &'static str) -> u16 {
        match self.transport.checker() {
            None => 0,
            Some(check) => check.site(called),
        }
    }
}

impl Turn<'_> {
    /// [`come`](Turn::come) in a checked job. The first meeting is what a collective promises: all have entered before any returns.
    #[cold]
    #[inline(never)]
    pub(super) fn come_checked(
        &self,
        check: &Checker,
        operation: Operation,
        args: [u64; ARGS],
        payload: &[u64],
    ) -> Result<u64> {
        let epoch = self.next_epoch();
        let block = self.inner.control.block(self.team.row, self.inner.my_pe);
        tell::site(block, epoch, self.site);
        let first = !self.met.replace(true);
        if first {
            let completes = operation.completes() == Completes::Earlier;
            check.track(|tracker| tracker.arrive(self.team.index, epoch, completes));
        }
        let epoch = self.come(operation, args, payload)?;
        if first {
            let members = (0..self.n_pes()).map(|member| self.pe(member));
            check.track(|tracker| tracker.met(self.team.index, members, epoch, self.site));
        }
        Ok(epoch)
    }

    fn site_of(&self, member: Pe, epoch: u64) -> &Told32 {
        let control = &self.inner.control;
        &control.block(self.team.row, self.pe(member)).sites[(epoch & 1) as usize]
    }

    /// Where the program calls the collective, in a checked job.
    pub(crate) fn site(&self) -> u16 {
        self.site
    }

    /// What a member came with to an epoch, and where: "barrier at ring.c:42 (main)". `None` if the job is not checked.
    pub(super) fn place(&self, member: Pe, epoch: u64) -> Option<String> {
        let check = self.inner.transport.checker()?;
        let site = self.site_of(member, epoch).load(Relaxed) as u16;
        Some(check.site_name(self.pe(member), site))
    }

    /// Makes a finding of a mismatch between member 0 and `member`: on one PE of them all.
    pub(super) fn tell_mismatch(&self, member: Pe, epoch: u64, theirs: &str, ours: &str) {
        if let Some(check) = self.inner.transport.checker()
            && self.my_pe() == 0
        {
            let site = |member| self.site_of(member, epoch).load(Relaxed) as u16;
            let party = |member| (self.pe(member), site(member));
            let team = self.team.index;
            let why = format!(
                "PE {} has {theirs}, PE {} has {ours}",
                self.pe(member),
                self.pe(0)
            );
            check.unmatched(team, party(0), party(member), why);
        }
    }

    /// The collective reads this PE's own memory, before it arrives.
    #[inline(always)]
    pub(super) fn reads(&self, range: SymRange) {
        if let Some(check) = self.inner.transport.checker() {
            check.own(false, range, self.site);
        }
    }

    /// The collective has written this PE's own memory, and is about to return.
    #[inline(always)]
    pub(super) fn writes(&self, range: SymRange) {
        if let Some(check) = self.inner.transport.checker() {
            check.own(true, range, self.site);
        }
    }

    /// As [`reads`](Turn::reads), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn reads_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(check) = self.inner.transport.checker() {
            self.blocks(check, false, offset, blocks);
        }
    }

    /// As [`writes`](Turn::writes), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn writes_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(check) = self.inner.transport.checker() {
            self.blocks(check, true, offset, blocks);
        }
    }

    #[cold]
    fn blocks(&self, check: &Checker, write: bool, offset: u64, blocks: &Strides) {
        for (start, bytes) in blocks.ranges() {
            check.own(write, SymRange::new(offset + start, bytes), self.site);
        }
    }
}
