//! The program's operations, held back and tracked.

use super::contexts::Orders;
use super::delay::{After, TargetRange};
use super::held::{Effect, HeldOperation, result};
use super::memory::Digest;
use super::report::Finding;
use super::shadow::Rewrites;
use super::tracker::{Kind, Standing};
use super::{Checker, Inside, MutexGuard, State, actors};
use crate::Pe;
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::doorbell;
use crate::transport::{
    Atomic, AtomicRequest, Call, Context, GetRequest, Nbi, PutRequest, SignalUpdate,
};
use std::sync::atomic::Ordering::Relaxed;

/// Where the bytes of a put come from.
#[derive(Clone, Copy)]
enum From {
    /// They are copied away.
    Now,
    /// A buffer that is in flight until quiet, by its number in the list.
    Later { in_flight: u64, digest: Digest },
}

impl Checker {
    /// Executes [`Body::Put`](crate::transport::Body::Put).
    #[cold]
    #[inline(never)]
    pub(crate) fn put(&self, put: PutRequest<'_>, nbi: Nbi, call: Call) {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        let from = self.hold_source(put, nbi, (site, call.context));
        let rewrites = self.track_put(Kind::Put, put, site);
        let bytes = put.source.bytes() as u64;
        self.issued(call, Kind::Put, (put.pe, put.dest), bytes);
        let mut state = self.state();
        let (_, finding) = self.issue_put(&mut state, put, rewrites, from, site);
        self.end(state, finding);
    }

    /// See [`Transport::put_signal`](crate::transport::Transport::put_signal).
    #[cold]
    #[inline(never)]
    pub(crate) fn put_signal(
        &self,
        put: PutRequest<'_>,
        update: SignalUpdate,
        nbi: Nbi,
        call: Call,
    ) {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        let from = self.hold_source(put, nbi, (site, call.context));
        let rewrites = self.track_put(Kind::PutSignal, put, site);
        let (pe, offset) = (put.pe, update.offset);
        self.tracker.access(Kind::Atomic, pe, offset, 8, site);
        self.acts_on(pe, offset, 8, Kind::Atomic, site);
        let bytes = put.source.bytes() as u64;
        let stamp = (self.tracker).release_signal(pe, offset, put.dest, bytes);
        self.actors.releases(stamp.tag);
        let signal = HeldOperation::signal(pe, update, stamp, site);
        let mut state = self.state();
        let (data, finding) = self.issue_put(&mut state, put, rewrites, from, site);
        self.issue_word(&mut state, signal, After::Tick(data));
        self.end(state, finding);
    }

    /// See [`Transport::signal`](crate::transport::Transport::signal).
    #[cold]
    #[inline(never)]
    pub(crate) fn signal(&self, pe: Pe, update: SignalUpdate, call: Call) {
        let _inside = Inside::enter();
        let (site, offset) = (self.site_of(call), update.offset);
        self.tracker.access(Kind::Atomic, pe, offset, 8, site);
        self.acts_on(pe, offset, 8, Kind::Atomic, site);
        let stamp = self.tracker.release(pe, offset, true);
        self.ordered(call.context, Orders::PutsTo(pe));
        self.actors.releases(stamp.tag);
        let signal = HeldOperation::signal(pe, update, stamp, site);
        let mut state = self.state();
        self.issue_word(&mut state, signal, After::Puts);
        self.end(state, None);
    }

    /// Executes [`Body::Atomic`](crate::transport::Body::Atomic) at once, after the operations that must precede it. Returns the old
    /// value if the caller `fetches` it.
    #[cold]
    #[inline(never)]
    pub(crate) fn atomic(&self, request: AtomicRequest, call: Call) -> u64 {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        let AtomicRequest { pe, offset, .. } = request;
        let (width, operation) = (request.width, request.operation);
        let bytes = width.bytes();
        let target_range = TargetRange { pe, offset, bytes };
        let reads_only = operation == Atomic::Fetch;
        let kind = match reads_only {
            true => Kind::AtomicLoad,
            false => Kind::AtomicFetch,
        };
        self.tracker.prefetch(pe, offset);
        self.tracker.access(kind, pe, offset, bytes, site);
        self.acts_on(pe, offset, bytes, kind, site);
        let mut state = self.state();
        let before = state.queue.before_fetch(target_range, reads_only);
        state.queue.deliver_until(before, |held| self.deliver(held));
        self.below().fence();
        let fetch = || self.below().atomic(pe, offset, width, Atomic::Fetch);
        let old = match operation {
            Atomic::Fetch => fetch(),
            // A compare-and-swap that does not swap publishes nothing: it is a fetch.
            Atomic::CompareSwap { cond, .. } if fetch() != cond => {
                let old = fetch();
                match old == cond {
                    true => self.update_now(target_range, request, (call, site)),
                    false => old,
                }
            }
            _ => self.update_now(target_range, request, (call, site)),
        };
        self.end(state, None);
        if !request.fetches {
            return 0;
        }
        let echo = self.tracker.acquire(pe, offset, bytes, old, site);
        self.actors.receives_echo(echo);
        old
    }

    /// Publishes the knowledge of this PE, then updates a word.
    fn update_now(
        &self,
        target_range: TargetRange,
        request: AtomicRequest,
        (call, site): (Call, u16),
    ) -> u64 {
        let TargetRange { pe, offset, bytes } = target_range;
        let stamp = self.tracker.release(pe, offset, true);
        self.ordered(call.context, Orders::PutsTo(pe));
        self.actors.releases(stamp.tag);
        let asked = self.tracker.delivered(pe, offset, bytes, stamp) && !request.fetches;
        let width = request.width;
        let operation = match request.operation {
            // A set does not return the old value.
            Atomic::Set(value) if asked => Atomic::Swap(value),
            other => other,
        };
        let old = self.below().atomic(pe, offset, width, operation);
        self.tracker.wake(pe);
        if asked {
            let new = result(width, operation, old);
            self.updated(target_range, old, new, &stamp, site);
        }
        old
    }

    /// See [`Transport::get`](crate::transport::Transport::get).
    #[cold]
    #[inline(never)]
    pub(crate) fn get(&self, get: GetRequest<'_>, call: Call) {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        self.progress();
        self.get_now(Kind::Get, get, site);
    }

    fn get_now(&self, kind: Kind, get: GetRequest<'_>, site: u16) {
        let GetRequest { pe, source, dest } = get;
        let bytes = dest.bytes() as u64;
        if bytes > 0 {
            self.tracker.access(kind, pe, source, bytes, site);
            self.acts_on(pe, source, bytes, kind, site);
            self.write_local(&dest, site);
            self.below().get(pe, source, dest);
        }
    }

    /// See [`Transport::get_nbi`](crate::transport::Transport::get_nbi).
    #[cold]
    #[inline(never)]
    pub(crate) fn get_nbi(&self, get: GetRequest<'_>, lasts: bool, call: Call) {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        let (pe, source, bytes) = (get.pe, get.source, get.dest.bytes() as u64);
        let target_range = TargetRange {
            pe,
            offset: source,
            bytes,
        };
        let address = get.dest.address() as u64;
        let lasts = lasts && !self.is_on_gpu(address);
        let in_flight = match lasts && bytes > 0 && !self.overlap(target_range, address) {
            true => {
                self.touch(address, bytes, true, site);
                self.in_flight
                    .enter(address, bytes, None, (site, call.context))
            }
            false => None,
        };
        let Some(in_flight) = in_flight else {
            return self.get_now(Kind::GetNbi, get, site);
        };
        self.tracker.access(Kind::GetNbi, pe, source, bytes, site);
        self.issued(call, Kind::GetNbi, (pe, source), bytes);
        self.acts_on(pe, source, bytes, Kind::GetNbi, site);
        self.acts(address, bytes, Kind::Store, false, site);
        let dest = address;
        self.issue_fetch(
            address,
            target_range,
            Effect::GetTo { dest, in_flight },
            site,
        );
    }

    /// The result of a fetching atomic operation is `value`, of at most 8 bytes, which is written to `dest` at some time before quiet. `false` if
    /// there is no room to remember it: then the caller writes it.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_until_quiet(&self, dest: &LocalDest<'_>, value: u64, call: Call) -> bool {
        let _inside = Inside::enter();
        let site = self.site_of(call);
        let (address, bytes) = (dest.address() as u64, dest.bytes() as u64);
        if self.is_on_gpu(address) {
            self.write_local(dest, site);
            return false;
        }
        self.touch(address, bytes, true, site);
        let lent = (self.in_flight).enter(address, bytes, None, (site, call.context));
        let Some(in_flight) = lent else {
            self.write_local(dest, site);
            return false;
        };
        self.acts(address, bytes, Kind::Store, false, site);
        let target_range = TargetRange {
            pe: self.me,
            offset: 0,
            bytes,
        };
        let dest = address;
        self.issue_fetch(
            address,
            target_range,
            Effect::Give {
                dest,
                value,
                in_flight,
            },
            site,
        );
        true
    }

    /// Holds back the operation that writes to the lent buffer at `address`, or executes it. `target_range` is its source.
    fn issue_fetch(&self, address: u64, target_range: TargetRange, effect: Effect, site: u16) {
        if let Some((pe, offset)) = self.locate(address) {
            self.tracker
                .access(Kind::Put, pe, offset, target_range.bytes, site);
        }
        let mut state = self.state();
        state.queue.tick(|held| self.deliver(held));
        let due = state.queue.draw_get();
        let mut held = HeldOperation {
            target_range,
            site,
            fences: 0,
            stamp: Default::default(),
            effect,
        };
        match due > state.queue.now() {
            true => state.queue.hold(due, None, false, 0, held),
            false => self.deliver(&mut held),
        }
        self.end(state, None);
    }

    /// May deliver a held operation early. For waits, and for calls that are over at once.
    pub(crate) fn progress(&self) {
        // A call of the tracker waits for another host, and the PE gets on by itself.
        let is_inside = crate::sites::inside::is_inside();
        let _inside = Inside::enter();
        if !is_inside && self.waits.load(Relaxed) && actors::is_caller() {
            // It has looked in vain.
            self.tracker.stand(Standing::Waits);
        }
        if let Ok(mut state) = self.state.try_lock()
            && !state.queue.is_empty()
            && !self.stands_still()
            && self.may_deliver(&mut state)
        {
            state.queue.deliver_next(|held| self.deliver(held));
            self.publish_held(&mut state);
        }
        self.write_findings();
    }

    /// Whether anything is held back.
    pub(super) fn holds_back(&self) -> bool {
        !self.state().queue.is_empty()
    }

    /// Publishes to the other PEs whether any operation is held back.
    #[inline]
    pub(super) fn publish_held(&self, state: &mut State) {
        let holds = !state.queue.is_empty();
        if holds != state.holds {
            state.holds = holds;
            self.tracker.hold(holds);
        }
    }

    /// Whether held operations should be delivered now: at random, and if this PE is patient only when no other one gets on.
    fn may_deliver(&self, state: &mut State) -> bool {
        match state.patience {
            0 => state.chances.next() & 1 == 0,
            _ => self.tracker.others_stand(),
        }
    }

    #[cold]
    fn wake_delivery_thread(&self) {
        if let Some(delivery_thread) = &*self.delivery_thread() {
            delivery_thread.wake();
        }
    }

    /// Unlocks, and then executes the actions that must be without the lock.
    #[inline]
    fn end(&self, mut state: MutexGuard<'_, State>, finding: Option<Box<Finding>>) {
        let call = state.delivery_sleeps && !state.queue.is_empty();
        state.delivery_sleeps &= !call;
        self.publish_held(&mut state);
        drop(state);
        self.write_findings();
        if call {
            self.wake_delivery_thread();
        }
        if let Some(finding) = finding {
            self.tracker.found(*finding);
        }
    }

    /// Reports the remote side of a put to the tracker. Returns the own puts to the same bytes without a fence since.
    fn track_put(&self, kind: Kind, put: PutRequest<'_>, site: u16) -> Rewrites {
        let (pe, dest, bytes) = (put.pe, put.dest, put.source.bytes() as u64);
        if bytes == 0 {
            return Rewrites::new();
        }
        let rewrites = self.tracker.put(kind, pe, dest, bytes, site);
        self.acts_on(pe, dest, bytes, kind, site);
        rewrites
    }

    /// The program passes a source that is read before the call returns, or until quiet.
    fn read_local(&self, kind: Kind, source: LocalSource<'_>, site: u16) {
        let (address, bytes) = (source.address() as u64, source.bytes() as u64);
        if bytes == 0 {
            return;
        }
        self.uses_freed(address, bytes, false, site);
        let in_flight = self.touch(address, bytes, false, site);
        self.acts(address, bytes, Kind::Load, false, site);
        if let Some((pe, offset)) = self.locate(address).filter(|_| !in_flight) {
            self.tracker.access(kind, pe, offset, bytes, site);
        }
    }

    /// Whether the far side of an operation and its local buffer, at this address, overlap. Then it is done as if the source had
    /// been copied away first.
    fn overlap(&self, far: TargetRange, address: u64) -> bool {
        self.locate(address).is_some_and(|(pe, offset)| {
            pe == far.pe && offset < far.offset + far.bytes && far.offset < offset + far.bytes
        })
    }

    /// The program passes a dest that is written before the call returns.
    fn write_local(&self, dest: &LocalDest<'_>, site: u16) {
        let (address, bytes) = (dest.address() as u64, dest.bytes() as u64);
        self.uses_freed(address, bytes, true, site);
        let in_flight = self.touch(address, bytes, true, site);
        self.acts(address, bytes, Kind::Store, false, site);
        if let Some((pe, offset)) = self.locate(address).filter(|_| !in_flight) {
            self.tracker.access(Kind::Store, pe, offset, bytes, site);
        }
    }

    /// The program passes the source of a put: it is read now, or in flight until quiet.
    fn hold_source(
        &self,
        PutRequest { pe, dest, source }: PutRequest<'_>,
        nbi: Nbi,
        (site, context): (u16, Context),
    ) -> From {
        let (offset, bytes) = (dest, source.bytes() as u64);
        let far = TargetRange { pe, offset, bytes };
        let address = source.address() as u64;
        let lasts = matches!(nbi, Nbi::Yes { lasts: true });
        if !lasts || bytes == 0 || self.overlap(far, address) {
            self.read_local(Kind::Load, source, site);
            return From::Now;
        }
        self.read_local(Kind::GetNbi, source, site);
        if self.is_on_gpu(address) {
            return From::Now;
        }
        let in_flight = Digest::of(address, source.bytes()).and_then(|digest| {
            let in_flight = self
                .in_flight
                .enter(address, bytes, Some(digest), (site, context))?;
            Some(From::Later { in_flight, digest })
        });
        in_flight.unwrap_or(From::Now)
    }

    /// Holds a put back, or executes it. Returns the tick in which it is due, and its finding.
    fn issue_put(
        &self,
        state: &mut State,
        PutRequest { pe, dest, source }: PutRequest<'_>,
        rewrites: Rewrites,
        from: From,
        site: u16,
    ) -> (u64, Option<Box<Finding>>) {
        let bytes = source.bytes();
        let queue = &mut state.queue;
        queue.tick(|held| self.deliver(held));
        if bytes == 0 {
            return (queue.now(), None);
        }
        let target_range = TargetRange {
            pe,
            offset: dest,
            bytes: bytes as u64,
        };
        let stamp = self.tracker.release(pe, dest, false);
        self.actors.releases(stamp.tag);
        let overlapping = queue.overlapping(target_range);
        let mut finding = None;
        if overlapping != 0 {
            finding = self.two_puts(state, overlapping, target_range, source, site);
            state.queue.settle(overlapping, |held| self.deliver(held));
        }
        if finding.is_none() && !rewrites.is_empty() {
            finding = self.rewritten(&rewrites, target_range, source, site);
        }
        let queue = &mut state.queue;
        let due = queue.draw(pe, After::Fences, false);
        let kept = match from {
            From::Now => bytes,
            From::Later { .. } => 0,
        };
        if due <= queue.now() || !queue.has_room(kept) {
            queue.deliver_until(due, |held| self.deliver(held));
            self.do_put(target_range, source, &stamp, site);
            self.tracker.wake(pe);
            doorbell::ring_words(&self.control, pe, SymRange::new(dest, bytes as u64));
            return (queue.now(), finding);
        }
        let effect = match from {
            From::Now => Effect::Put(self.copy_of(source)),
            From::Later { in_flight, digest } => Effect::PutFrom {
                source: source.address() as u64,
                in_flight,
                digest,
            },
        };
        let held = HeldOperation {
            target_range,
            site,
            fences: queue.fences(),
            stamp,
            effect,
        };
        queue.hold(due, Some(target_range), false, kept, held);
        (due, finding)
    }

    /// Holds a signal back, or updates it.
    fn issue_word(&self, state: &mut State, mut held: HeldOperation, after: After) {
        let queue = &mut state.queue;
        queue.tick(|held| self.deliver(held));
        let overlapping = queue.overlapping(held.target_range);
        if overlapping != 0 {
            queue.settle(overlapping, |held| self.deliver(held));
        }
        let due = queue.draw(held.target_range.pe, after, true);
        match due > queue.now() {
            true => queue.hold(due, Some(held.target_range), true, 0, held),
            false => self.deliver(&mut held),
        }
    }
}
