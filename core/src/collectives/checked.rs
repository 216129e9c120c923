//! The checker's events of a collective: the meeting, and the reads and writes of each member's own memory. The data itself is moved by internal operations.

use super::CollectiveCall;
use crate::buffer::SymRange;
use crate::job::shared_words;
use crate::operation::{ARGS, Completes, Operation};
use crate::runtime::Inner;
use crate::strides::Strides;
use crate::transport::Observer;
use crate::{Pe, Result};
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

impl Inner {
    /// The call site of a collective; 0 if the job is not checked.
    #[inline(always)]
    #[track_caller]
    pub(super) fn site(&self, called: Operation) -> u16 {
        match self.transport.observer() {
            None => 0,
            Some(observer) => observer.site(called, Location::caller()),
        }
    }
}

impl CollectiveCall<'_> {
    /// [`meet_unchecked`](CollectiveCall::meet_unchecked) in a checked job. The first meeting is the order that a collective guarantees: all have entered before
    /// any returns.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_checked(
        &self,
        observer: &dyn Observer,
        operation: Operation,
        args: [u64; ARGS],
        payload: &[u64],
    ) -> Result<u64> {
        let epoch = self.next_epoch();
        let block = self.inner.control.block(self.team.row, self.inner.my_pe);
        shared_words::publish_site(block, epoch, self.site);
        let first = !self.met.replace(true);
        if first {
            let completes = operation.completes() == Completes::Earlier;
            observer.arrive(self.team.index, epoch, completes, self.site);
        }
        let epoch = self.meet_unchecked(operation, args, payload)?;
        if first {
            let mut members = (0..self.n_pes()).map(|member| self.pe(member));
            observer.met(self.team.index, &mut members, epoch, self.site);
        }
        Ok(epoch)
    }

    /// The call site of a member in an epoch. The block of a PE of another host does not have it.
    fn site_of(&self, observer: &dyn Observer, member: Pe, epoch: u64) -> u16 {
        let (control, pe) = (&self.inner.control, self.pe(member));
        match control.remote() {
            Some(remote) if !remote.hosts().is_local(pe) => {
                observer.arrived_at(self.team.index, pe, epoch)
            }
            _ => {
                let sites = &control.block(self.team.row, pe).sites;
                sites[(epoch & 1) as usize].load(Relaxed) as u16
            }
        }
    }

    /// Where the program calls the collective, in a checked job.
    pub(crate) fn site(&self) -> u16 {
        self.site
    }

    /// A member's operation in an epoch, and its call site: "barrier at ring.c:42 (main)". `None` if the job is not checked.
    pub(super) fn place(&self, member: Pe, epoch: u64) -> Option<String> {
        let observer = self.inner.transport.observer()?;
        let site = self.site_of(observer, member, epoch);
        Some(observer.site_name(self.pe(member), site))
    }

    /// Makes a finding of a mismatch between member 0 and `member`: on one PE of them all.
    pub(super) fn report_mismatch(&self, member: Pe, epoch: u64, theirs: &str, ours: &str) {
        if let Some(observer) = self.inner.transport.observer()
            && self.my_pe() == 0
        {
            let site = |member| self.site_of(observer, member, epoch);
            let party = |member| (self.pe(member), site(member));
            let team = self.team.index;
            let why = format!(
                "PE {} has {theirs}, PE {} has {ours}",
                self.pe(member),
                self.pe(0)
            );
            observer.unmatched(team, party(0), party(member), why);
        }
    }

    /// The collective reads this PE's own memory, before it arrives.
    #[inline(always)]
    pub(super) fn reads(&self, range: SymRange) {
        if let Some(observer) = self.inner.transport.observer() {
            observer.own(false, range, self.site);
        }
    }

    /// The collective has written this PE's own memory, and is about to return.
    #[inline(always)]
    pub(super) fn writes(&self, range: SymRange) {
        if let Some(observer) = self.inner.transport.observer() {
            observer.own(true, range, self.site);
        }
    }

    /// As [`writes`](CollectiveCall::writes), of a collective whose members may have read `source` until now.
    #[inline(always)]
    pub(super) fn reads_and_writes(&self, source: SymRange, dest: SymRange) {
        self.reads(source);
        self.writes(dest);
    }

    /// As [`reads`](CollectiveCall::reads), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn reads_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(observer) = self.inner.transport.observer() {
            self.blocks(observer, false, offset, blocks);
        }
    }

    /// As [`writes`](CollectiveCall::writes), of blocks that begin at `offset`.
    #[inline(always)]
    pub(super) fn writes_blocks(&self, offset: u64, blocks: &Strides) {
        if let Some(observer) = self.inner.transport.observer() {
            self.blocks(observer, true, offset, blocks);
        }
    }

    #[cold]
    fn blocks(&self, observer: &dyn Observer, write: bool, offset: u64, blocks: &Strides) {
        for (start, bytes) in blocks.ranges() {
            observer.own(write, SymRange::new(offset + start, bytes), self.site);
        }
    }
}
