//! The checker as a transport around another one, and as an observer of the program.

use super::hosts::Tracking;
use super::tally::Seen;
use super::{Checker, Watch};
use crate::buffer::{LocalDest, SymRange};
use crate::job::hosts::Hosts;
use crate::operation::Operation;
use crate::sites::Access;
use crate::transport::device_state::KernelRecords;
use crate::transport::{
    Body, Call, Collectives, DeviceState, DeviceTables, Found, Memory, NOTHING, Nbi, Observer,
    Properties, Reply, Request, Search, Streams, Submission, Transport, execute_in_parts,
};
use crate::{Error, Pe, Result};
use std::panic::Location;
use std::sync::Arc;

/// The checker of a PE, around the transport that it delivers to.
pub struct Checked(pub Arc<Checker>);

impl Memory for Checked {
    fn commit(&self, range: SymRange) -> Result<()> {
        let below = self.0.below.memory();
        below.commit(range)?;
        self.0
            .track(|tracker| tracker.commit(range))
            .inspect_err(|_| below.decommit(range))
    }

    fn decommit(&self, range: SymRange) {
        self.0.track(|tracker| tracker.decommit(range));
        self.0.below.memory().decommit(range);
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        self.0.below.memory().zero(range)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        (self.0.below.memory()).check_adopt(buffer, bytes, preferred)
    }

    fn check_give_back(&self) -> Result<()> {
        self.0.below.memory().check_give_back()
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        let below = self.0.below.memory();
        below.adopt(range, buffer, preferred)?;
        match self.0.track(|tracker| tracker.commit(range)) {
            Ok(()) => {
                self.0.adopt(range, [buffer, preferred]);
                Ok(())
            }
            Err(error) => below.give_back(range, buffer, preferred).and(Err(error)),
        }
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.0.give_back(range);
        self.0.track(|tracker| tracker.decommit(range));
        (self.0.below.memory()).give_back(range, buffer, preferred)
    }

    fn adopt_static(&self, range: SymRange, start: u64) -> Result<()> {
        let below = self.0.below.memory();
        below.adopt_static(range, start)?;
        match self.0.track(|tracker| tracker.commit(range)) {
            Ok(()) => {
                self.0.adopt(range, [start, 0]);
                self.0.track(|tracker| tracker.has_variables(range));
                Ok(())
            }
            Err(error) => below.give_back_static(range, start).and(Err(error)),
        }
    }

    fn give_back_static(&self, range: SymRange, start: u64) -> Result<()> {
        self.0.give_back(range);
        self.0.track(|tracker| tracker.decommit(range));
        self.0.below.memory().give_back_static(range, start)
    }
}

impl Transport for Checked {
    fn inner(&self) -> Option<&dyn Transport> {
        Some(&*self.0.below)
    }

    fn unwatched(&self) -> Option<&dyn Transport> {
        Some(&*self.0.below)
    }

    fn properties(&self) -> Properties {
        self.0.below.properties()
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        self.0.below.local_ptr(pe, offset)
    }

    fn execute(&self, request: Request<'_>) -> Result<Reply> {
        let (checker, call) = (&*self.0, request.call);
        match request.body {
            Body::Put(put, nbi) => checker.put(put, nbi, call),
            Body::Get(get, Nbi::No) => checker.get(get, call),
            Body::Get(get, Nbi::Yes { lasts }) => checker.get_nbi(get, lasts, call),
            Body::PutSignal(put, update, nbi) => checker.put_signal(put, update, nbi, call),
            Body::Atomic(request) => return Ok([checker.atomic(request, call), 0]),
            Body::Signal { pe, update } => checker.signal(pe, update, call),
            Body::Read { source, .. } => {
                checker.own(false, source, checker.site_of(call));
                return checker.below.execute(request);
            }
            Body::Write { dest, .. } => {
                checker.own(true, dest, checker.site_of(call));
                return checker.below.execute(request);
            }
            Body::Fence => checker.fence(call),
            Body::Quiet => checker.quiet(call),
            Body::Copy(_) | Body::Load { .. } => return checker.below.execute(request),
            Body::PutValue { .. }
            | Body::GetValue { .. }
            | Body::PutBlocks(..)
            | Body::GetBlocks(..)
            | Body::GetAll(_)
            | Body::QuietBeforeRelease => return execute_in_parts(self, request),
        }
        Ok(NOTHING)
    }

    fn keep(&self, error: Error) {
        self.0.below.keep(error);
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(&*self.0)
    }

    fn progress(&self) {
        self.0.progress();
        self.0.below.progress();
    }

    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        self.0.below.device_tables().map(|_| self as _)
    }

    // The effects of these would be unseen in a checked job: the library does without them.

    fn collectives(&self) -> Option<&dyn Collectives> {
        None
    }

    fn search(&self, _: Submission, _: &Search<'_>) -> Option<Result<Found>> {
        None
    }

    /// Those of the GPU, which wait for a queue of the host.
    fn streams(&self) -> Option<&dyn Streams> {
        self.0.below.streams()
    }
}

impl Checked {
    fn tables(&self) -> Result<&dyn DeviceTables> {
        let none = || Error::NotSupported("kernels cannot use the heap of this job".into());
        self.0.below.device_tables().ok_or_else(none)
    }
}

/// Kernels get the heap if they record their operations.
impl DeviceTables for Checked {
    fn set_hosts(&self, hosts: &Hosts) -> Result<()> {
        self.tables()?.set_hosts(hosts)
    }

    fn state(&self) -> Result<DeviceState> {
        self.0.watch_kernels()?;
        self.tables()?.state()
    }

    fn watch(&self) -> Result<&KernelRecords> {
        self.tables()?.watch()
    }

    fn state_address(&self) -> Result<u64> {
        self.0.watch_kernels()?;
        self.tables()?.state_address()
    }

    fn clear_team(&self, team: u32) -> Result<()> {
        self.tables()?.clear_team(team)
    }

    fn make_team(&self, team: u32, generation: u32, members: &[Pe], me: Pe) {
        crate::lock::lock(&self.0.kernels.teams).insert(team, members.into());
        if let Ok(tables) = self.tables() {
            tables.make_team(team, generation, members, me);
        }
    }

    fn end_team(&self, team: u32) {
        crate::lock::lock(&self.0.kernels.teams).remove(&team);
        if let Ok(tables) = self.tables() {
            tables.end_team(team);
        }
    }

    fn report(&self) -> Option<Error> {
        self.tables().ok()?.report()
    }

    fn exit_status(&self) -> Option<i32> {
        self.tables().ok()?.exit_status()
    }
}

/// Defines methods of a trait that the checker has itself, in the files of their subjects.
macro_rules! own_methods {
    ($(fn $name:ident(&self $(, $argument:ident: $kind:ty)*) $(-> $out:ty)?;)*) => { $(
        fn $name(&self $(, $argument: $kind)*) $(-> $out)? {
            Checker::$name(self $(, $argument)*)
        }
    )* };
}

impl Observer for Checker {
    own_methods! {
        fn freed(&self, range: SymRange, site: u16);
        fn quarantined(&self, range: SymRange);
        fn quarantine_ends(&self, range: SymRange, site: u16);
        fn arrive(&self, team: u32, epoch: u64, completes: bool, site: u16);
        fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16);
        fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String);
        fn own(&self, write: bool, range: SymRange, site: u16);
        fn look(&self, words: SymRange);
        fn watch(&self, watch: &Watch);
        fn unwatch(&self, watch: &Watch, held: bool);
        fn acquired(&self, element: SymRange, value: u64, site: u16);
        fn stream_made(&self) -> Option<u32>;
        fn stream_submits(&self, stream: u32) -> Vec<u64>;
        fn stream_begins(&self, stream: Option<u32>, known: &[u64], function: bool);
        fn stream_ends(&self, stream: u32);
        fn stream_forgets(&self, stream: u32);
        fn stream_done(&self, stream: u32);
        fn event_reached(&self) -> Vec<u64>;
        fn event_seen(&self, known: &[u64]);
        fn give_until_quiet(&self, dest: &LocalDest<'_>, value: u64, call: Call) -> bool;
        fn concerns(&self, address: u64, bytes: u64) -> bool;
        fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16);
        fn stop(&self);
        fn abandon(&self);
    }

    fn site(&self, called: Operation, at: &'static Location<'static>) -> u16 {
        self.sites.here(called, at)
    }

    fn site_name(&self, pe: Pe, site: u16) -> String {
        self.track(|tracker| tracker.site_name(pe, site))
    }

    fn maker(&self, offset: u64) -> Option<String> {
        self.track(|tracker| tracker.maker(offset))
    }

    fn allocated(&self, range: SymRange, site: u16) {
        self.track(|tracker| tracker.allocated(range, site));
    }

    fn all_freed(&self) {
        self.track(Tracking::all_freed);
    }

    fn not_freed(&self) {
        self.track(Tracking::not_freed);
    }

    fn pointer_given(&self, pe: Pe) {
        self.track(|tracker| tracker.pointer_given(pe));
    }

    fn arrived_at(&self, team: u32, pe: Pe, epoch: u64) -> u16 {
        self.track(|tracker| tracker.arrived_at(team, pe, epoch))
    }

    fn reports_accesses(&self) {
        self.track(|tracker| tracker.note(Seen::Accesses));
    }

    fn findings(&self) -> (u64, u64) {
        self.track(|tracker| (tracker.findings(), tracker.job_findings()))
    }

    fn reports(&self) -> Vec<String> {
        self.track(Tracking::reports)
    }

    fn summary(&self) -> Option<String> {
        self.look_at_freed();
        self.track(Tracking::summary)
    }
}
