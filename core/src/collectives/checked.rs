//! What the checker is told of a collective: who has met, and what each member reads and writes of its own memory. The data is
//! moved unchecked.

use super::Turn;
use crate::buffer::SymRange;
use crate::job::tell::{self, Told32};
use crate::operation::{ARGS, Completes, Operation};
use crate::runtime::Inner;
use crate::strides::Strides;
use crate::transport::Notes;
use crate::{Pe, Result};
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

impl Inner {
    /// Where the program calls a collective; 0 if the job is not checked.
    #[inline(always)]
    #[track_caller]
    pub(super) fn site(&self, called: Operation) -> u16 {
        match self.transport.notes() {
            None => 0,
            Some(notes) => notes.site(called, Location::caller()),
        }
    }
}

impl Turn<'_> {
    /// [`come`](Turn::come) in a checked job. The first meeting is what a collective promises: all have entered before any returns.
    #[cold]
    #[inline(never)]
    pub(super) fn come_checked(
        &self,
        notes: &dyn Notes,
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
            notes.arrive(self.team.index, epoch, completes);
        }
        let epoch = self.come(operation, args, payload)?;
        if first {
            let mut members = (0..self.n_pes()).map(|member| self.pe(member));
            notes.met(self.team.index, &mut members, epoch, self.site);
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
        let notes = self.inner.transport.notes()?;
        let site = self.site_of(member, epoch).load(Relaxed) as u16;
        Some(notes.site_name(self.pe(member), site))
    }

    /// Makes a finding of a mismatch between member 0 and `member`: on one PE of them all.
    pub(super) fn tell_mismatch(&self, member: Pe, epoch: u64, theirs: &str, ours: &str) {
        if let Some(notes) = self.inner.transport.notes()
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
            notes.unmatched(team, party(0), party(member), why);
        }
    }

    /// The collective reads this PE's own memory, before it arrives.
    #[inline(always)]
    pub(super) fn reads(&self, range: SymRange) {
        if let Some(notes) = self.inner.transport.notes() {
            notes.own(false, range, self.site);
        }
    }

    /// The collective has written this PE's own memory, and is about to return.
    #[inline(always)]
    pub(super) fn writes(&self, range: SymRange) {
        if let Some(notes) = self.inner.transport.notes() {
            notes.own(true, range, self.site);
        }
    }

    /// As [`reads`](Turn::reads), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn reads_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(notes) = self.inner.transport.notes() {
            self.blocks(notes, false, offset, blocks);
        }
    }

    /// As [`writes`](Turn::writes), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn writes_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(notes) = self.inner.transport.notes() {
            self.blocks(notes, true, offset, blocks);
        }
    }

    #[cold]
    fn blocks(&self, notes: &dyn Notes, write: bool, offset: u64, blocks: &Strides) {
        for (start, bytes) in blocks.ranges() {
            notes.own(write, SymRange::new(offset + start, bytes), self.site);
        }
    }
}
