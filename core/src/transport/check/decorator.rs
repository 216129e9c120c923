//! The checker as a transport around another one, and as what is told of the program.

use super::report::Names as _;
use super::tracker::Tracker;
use super::{Checker, Watch};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::operation::Operation;
use crate::sites::Access;
use crate::transport::pass_on::pass_on;
use crate::transport::{Atomic, Call, Lane, Nbi, Notes, SignalUpdate, Transport, Width};
use crate::{Pe, Result};
use std::panic::Location;
use std::sync::Arc;

/// The checker of a PE, around the transport that it delivers to.
pub(crate) struct Checked(pub(crate) Arc<Checker>);

impl Transport for Checked {
    pass_on!(self => &*self.0.below;
        kind, page_bytes, may_load, takes_machine_memory, looks_are_slow, makers_of_memory,
        failure, keep, zero, check_adopt, check_give_back, local_ptr, copy, load, owned_by,
        drain, leave, hang_up, chore, device, about, mapping
    );

    fn commit(&self, range: SymRange) -> Result<()> {
        self.0.below.commit(range)?;
        self.0
            .track(|tracker| tracker.commit(range))
            .inspect_err(|_| self.0.below.decommit(range))
    }

    fn decommit(&self, range: SymRange) {
        self.0.track(|tracker| tracker.decommit(range));
        self.0.below.decommit(range);
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.0.below.adopt(range, buffer, preferred)?;
        match self.0.track(|tracker| tracker.commit(range)) {
            Ok(()) => {
                self.0.adopt(range, [buffer, preferred]);
                Ok(())
            }
            Err(error) => self
                .0
                .below
                .give_back(range, buffer, preferred)
                .and(Err(error)),
        }
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.0.give_back(range);
        self.0.track(|tracker| tracker.decommit(range));
        self.0.below.give_back(range, buffer, preferred)
    }

    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()> {
        match nbi {
            Nbi::No => self.0.put(pe, dest, source, call),
            Nbi::Yes { lasts } => self.0.put_nbi(pe, dest, source, lasts, call),
        }
        Ok(())
    }

    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()> {
        match nbi {
            Nbi::No => self.0.get(pe, source, dest, call),
            Nbi::Yes { lasts } => self.0.get_nbi(pe, source, dest, lasts, call),
        }
        Ok(())
    }

    fn put_signal(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        nbi: Nbi,
    ) -> Result<()> {
        let signal = (update.offset, update.value, update.op);
        self.0.put_signal(pe, dest, source, signal, nbi, call);
        Ok(())
    }

    fn atomic(
        &self,
        call: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64> {
        if fetches {
            return Ok(self.0.atomic(pe, offset, width, operation, call));
        }
        self.0.atomic_update(pe, offset, width, operation, call);
        Ok(0)
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let SignalUpdate { offset, value, op } = update;
        self.0.signal(pe, offset, value, op, call);
        Ok(())
    }

    fn read(&self, call: Call, me: Pe, source: SymRange, dest: LocalDest<'_>) -> Result<()> {
        self.0.own(false, source, self.0.site_of(call));
        self.0.below.read(call, me, source, dest)
    }

    fn write(&self, call: Call, me: Pe, dest: SymRange, source: LocalSource<'_>) -> Result<()> {
        self.0.own(true, dest, self.0.site_of(call));
        self.0.below.write(call, me, dest, source)
    }

    fn fence(&self, _: Lane) -> Result<()> {
        self.0.fence();
        Ok(())
    }

    fn quiet(&self, call: Call) -> Result<()> {
        self.0.quiet(call);
        Ok(())
    }

    fn wrapped(&self) -> Option<&dyn Transport> {
        Some(&*self.0.below)
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(&*self.0)
    }

    fn progress(&self) {
        self.0.progress();
        self.0.below.progress();
    }

    // Collectives and streams that the transport below has by itself are left out, because nobody would see what they do: the
    // library does without them.
}

impl Notes for Checker {
    fn site(&self, called: Operation, at: &'static Location<'static>) -> u16 {
        self.sites.here(called, at)
    }

    fn site_name(&self, pe: Pe, site: u16) -> String {
        self.tracker.site(pe, site)
    }

    fn allocated(&self, range: SymRange, site: u16) {
        self.track(|tracker| tracker.allocated(range, site));
    }

    fn freed(&self, range: SymRange, site: u16) {
        Checker::freed(self, range, site);
    }

    fn all_freed(&self) {
        self.track(Tracker::all_freed);
    }

    fn not_freed(&self) {
        self.track(Tracker::not_freed);
    }

    fn pointer_given(&self, pe: Pe) {
        self.track(|tracker| tracker.pointer_given(pe));
    }

    fn arrive(&self, team: u32, epoch: u64, completes: bool) {
        self.track(|tracker| tracker.arrive(team, epoch, completes));
    }

    fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16) {
        self.track(|tracker| tracker.met(team, members, epoch, site));
    }

    fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String) {
        Checker::unmatched(self, team, mine, theirs, why);
    }

    fn own(&self, write: bool, range: SymRange, site: u16) {
        Checker::own(self, write, range, site);
    }

    fn look(&self, words: SymRange) {
        Checker::look(self, words);
    }

    fn watch(&self, watch: &Watch) {
        Checker::watch(self, watch);
    }

    fn unwatch(&self, watch: &Watch, held: bool) {
        Checker::unwatch(self, watch, held);
    }

    fn acquired(&self, element: SymRange, value: u64, site: u16) {
        Checker::acquired(self, element, value, site);
    }

    fn streams(&self) {
        self.track(Tracker::streams);
    }

    fn give_until_quiet(&self, dest: &LocalDest<'_>, value: u64, site: u16) -> bool {
        Checker::give_until_quiet(self, dest, value, site)
    }

    fn concerns(&self, address: u64, bytes: u64) -> bool {
        Checker::concerns(self, address, bytes)
    }

    fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16) {
        Checker::plain_access(self, access, address, bytes, site);
    }

    fn shows_accesses(&self) {
        self.track(|tracker| tracker.shows_accesses());
    }

    fn findings(&self) -> (u64, u64) {
        self.track(|tracker| (tracker.findings(), tracker.job_findings()))
    }

    fn reports(&self) -> Vec<String> {
        self.track(Tracker::reports)
    }

    fn summary(&self) -> Option<String> {
        self.track(Tracker::summary)
    }

    fn stop(&self) {
        Checker::stop(self);
    }

    fn abandon(&self) {
        Checker::abandon(self);
    }
}
