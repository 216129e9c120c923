//! The only module that writes the words that other PEs read.
//!
//! The words of the control block are [`SharedU32`] and [`SharedU64`]: every module may load them, and only this one can store to them. So
//! all stores, and their order, are here. PEs of the same host see the store; for other hosts the caller also sends a control message
//! ([`remote`](super::remote)).
//!
//! The caller wakes the PEs that sleep until the word changes (see [`doorbell`](super::doorbell)).

use super::block::{
    Bell, CalledName, Control, Header, JoinSlot, NAME_WORDS, PeBlock, Slot, TEXT_WORDS, TeamBlock,
    TeamOffer, WaitSlot,
};
use super::state::State;
use crate::Pe;
use crate::operation::ARGS;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

macro_rules! shared {
    ($($name:ident: $atomic:ident of $bits:ty;)*) => {$(
        /// A word that other PEs read.
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name($atomic);

        impl $name {
            /// Loads the word.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $bits {
                self.0.load(order)
            }

            /// Stores any value, as a damaged PE would: for tests and fuzz targets only.
            pub fn overwrite(&self, value: $bits, order: Ordering) {
                self.0.store(value, order);
            }
        }
    )*};
}

shared! {
    SharedU32: AtomicU32 of u32;
    SharedU64: AtomicU64 of u64;
}

/// Properties of a job that never change.
pub(super) struct HeaderFields {
    pub(super) version: u32,
    pub(super) n_pes: u32,
    pub(super) heap_bytes: u64,
    pub(super) area_bytes: u64,
    pub(super) check_seed: u64,
    pub(super) memory: u32,
    pub(super) host: [u64; 2],
}

/// Publishes the properties of the job to the processes that attach to its memory; `magic` is stored last.
pub(super) fn publish_header(header: &Header, fields: &HeaderFields, magic: u64) {
    header.version.0.store(fields.version, Relaxed);
    header.n_pes.0.store(fields.n_pes, Relaxed);
    header.heap_bytes.0.store(fields.heap_bytes, Relaxed);
    header.area_bytes.0.store(fields.area_bytes, Relaxed);
    header.check_seed.0.store(fields.check_seed, Relaxed);
    header.memory.0.store(fields.memory, Relaxed);
    for (word, value) in header.host.iter().zip(fields.host) {
        word.0.store(value, Relaxed);
    }
    header.magic.0.store(magic, Release);
}

/// Publishes the process of a PE: its pid, the pid namespace, and a random number.
pub(super) fn publish_process(block: &PeBlock, pid: u32, namespace: u64, token: u64) {
    block.pid.0.store(pid, Relaxed);
    block.namespace.0.store(namespace, Relaxed);
    block.process.0.store(token, Relaxed);
}

/// Publishes the CPUs that a PE may run on.
pub(super) fn publish_cpus(block: &PeBlock, words: impl Iterator<Item = u64>) {
    for (word, value) in block.cpus.iter().zip(words) {
        word.0.store(value, Relaxed);
    }
}

/// Publishes the location of a PE.
pub(super) fn publish_location(block: &PeBlock, location: impl Iterator<Item = u64>) {
    let words = block.host.iter().chain(&block.gpu);
    for (word, value) in words.zip(location) {
        word.0.store(value, Relaxed);
    }
}

/// Mirrors a PE of another host that has become active: its process and its location.
pub(super) fn mirror_pe(block: &PeBlock, pid: u32, token: u64, location: &[u64]) {
    publish_process(block, pid, 0, token);
    for (word, value) in block.host.iter().chain(&block.gpu).zip(location) {
        word.0.store(*value, Relaxed);
    }
    advance_state(block, State::Active);
}

/// Advances the state of a PE of another host; never moves it back.
pub(super) fn advance_state(block: &PeBlock, state: State) {
    block.state.0.fetch_max(state as u32, AcqRel);
}

/// Publishes the state of a PE.
pub fn set_state(block: &PeBlock, state: State) {
    block.state.0.store(state as u32, Release);
}

/// Sets the final state of a PE if it is active; returns whether it was.
pub(super) fn end_active(block: &PeBlock, state: State) -> bool {
    let active = State::Active as u32;
    block
        .state
        .0
        .compare_exchange(active, state as u32, AcqRel, Relaxed)
        .is_ok()
}

/// Records `pe` as the first PE that is gone, unless one is recorded already.
pub fn set_first_gone(header: &Header, pe: Pe) {
    let first = &header.first_gone.0;
    let _ = first.compare_exchange(0, pe as u32 + 1, AcqRel, Relaxed);
}

/// Records the status of `global_exit`, plus 1; the first one stays.
pub(super) fn set_exit(header: &Header, exit: u32) {
    let _ = header.exit.0.compare_exchange(0, exit, AcqRel, Relaxed);
}

/// Counts `pe` as gone.
pub(super) fn count_gone(header: &Header, pe: Pe) {
    set_first_gone(header, pe);
    header.gone.0.fetch_add(1, SeqCst);
}

/// Wakes the watchdog of a PE, so that it writes its status file. The watchdog sleeps on the PE's pid, a word that never changes: so an
/// observer of the job writes nothing to it. Returns whether the watchdog slept there.
pub(super) fn wake_watchdog(block: &PeBlock) -> bool {
    futex::wake(&block.pid.0, futex::Flags::empty(), i32::MAX as u32).is_ok_and(|woken| woken > 0)
}

/// Sleeps until an observer [wakes](wake_watchdog) this PE's watchdog, for at most `timeout`; returns whether an observer did.
pub(super) fn await_wake(block: &PeBlock, timeout: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    let pid = block.pid.load(Relaxed);
    match futex::wait(&block.pid.0, futex::Flags::empty(), pid, Some(&timeout)) {
        Ok(()) => true,
        Err(rustix::io::Errno::TIMEDOUT) => false,
        // A PE that keeps changing the word must not make the thread run without a pause.
        Err(_) => {
            std::thread::sleep(Duration::from_millis(1));
            false
        }
    }
}

/// Counts a heartbeat of a PE.
pub fn count_heartbeat(block: &PeBlock) {
    block.beats.0.fetch_add(1, Relaxed);
}

/// Marks `pe` as stopped since `since`; returns whether it was not marked before.
pub(super) fn set_stopped(control: &Control, pe: Pe, since: u64) -> bool {
    let word = &control.pe(pe).stopped.0;
    let told = word.compare_exchange(0, since, AcqRel, Relaxed).is_ok();
    if told {
        control.header().stopped.0.fetch_add(1, SeqCst);
    }
    told
}

/// Clears the mark that PE `me` is stopped; returns whether there was one.
pub(super) fn clear_stopped(control: &Control, me: Pe) -> bool {
    let told = control.pe(me).stopped.0.swap(0, AcqRel) != 0;
    if told {
        // Where somebody else has written to it, it may be 0 already.
        let less = |stopped: u32| stopped.checked_sub(1);
        let _ = control
            .header()
            .stopped
            .0
            .fetch_update(SeqCst, Relaxed, less);
    }
    told
}

/// Publishes a PE's allocations not freed, as digests of the first lines of the list and of the whole.
pub fn publish_unfreed(block: &PeBlock, lines: impl Iterator<Item = u64>, whole: u64) {
    for (word, line) in block.unfreed[1..].iter().zip(lines) {
        word.0.store(line, Relaxed);
    }
    block.unfreed[0].0.store(whole, Release);
}

/// As [`publish_unfreed`], for a remote PE: all the words, or none.
pub(super) fn mirror_unfreed(block: &PeBlock, words: &[u64]) {
    for (word, value) in block.unfreed.iter().zip(words).rev() {
        word.0.store(*value, Release);
    }
}

/// Publishes that a PE is a member of a team of `n_pes`, whose next member is `next`.
pub fn publish_membership(block: &TeamBlock, next: Pe, n_pes: Pe) {
    block.next.0.store(next as u32, Relaxed);
    block.calls.0.store(0, Relaxed);
    block.n_pes.0.store(n_pes as u32, Release);
}

/// As [`publish_membership`], for a remote PE, with the number of collectives begun, and its last arrival in `epoch`.
pub(super) fn mirror_membership(block: &TeamBlock, next: Pe, n_pes: Pe, calls: u64, epoch: u64) {
    block.next.0.store(next as u32, Relaxed);
    block.calls.0.store(calls, Relaxed);
    block.reported.0.fetch_max(epoch, Relaxed);
    block.n_pes.0.store(n_pes as u32, Release);
}

/// Mirrors the last epoch of a PE of another host that has called finalize.
pub(super) fn mirror_last_epoch(block: &TeamBlock, epoch: u64) {
    block.last.0.store(epoch, Release);
}

/// Sets which query the mirrored waits of a PE of another host answer, by the time when it was sent; 0 before they are written.
pub(super) fn set_reported(block: &PeBlock, sent: u64) {
    block.reported.0.store(sent, Release);
    fence(Release);
}

/// Mirrors that some wait slots of a PE of another host are free; `progress` is the number of its waits that have ended.
pub(super) fn mirror_no_waits<'a>(
    block: &PeBlock,
    slots: impl Iterator<Item = &'a WaitSlot>,
    progress: u64,
) {
    block.progress.0.store(progress, Relaxed);
    for slot in slots {
        slot.id.0.store(0, Release);
    }
}

/// Advances a slot to `epoch`, before any later store, for members that still poll it in an earlier meeting.
#[inline]
pub fn advance_slot(slot: &Slot, epoch: u64) {
    slot.epoch.0.store(epoch, Release);
    fence(Release);
}

/// Marks a member's team as broken.
pub fn mark_broken(block: &TeamBlock, mark: u64) {
    block.broken.0.fetch_max(mark, AcqRel);
}

/// Counts a collective that a PE has begun on a team.
#[inline(always)]
pub fn count_collective(block: &TeamBlock) {
    let calls = block.calls.load(Relaxed) + 1;
    block.calls.0.store(calls, Relaxed);
}

/// Publishes the call site of a PE's collective in an epoch.
#[inline]
pub fn publish_site(block: &TeamBlock, epoch: u64, site: u16) {
    block.sites[(epoch & 1) as usize]
        .0
        .store(site.into(), Relaxed);
}

/// The contribution of a member to an epoch.
#[derive(Clone, Copy)]
pub struct Arrival<'a> {
    pub operation: u32,
    pub args: [u64; ARGS],
    /// Status number of its own error, or 0.
    pub error: u32,
    pub payload: &'a [u64],
    pub signature: u64,
}

/// Publishes a member's arrival in an epoch, with its call and payload.
#[inline(always)]
pub fn publish_arrival(slot: &Slot, epoch: u64, arrival: Arrival<'_>) {
    for (word, value) in slot.args.iter().zip(arrival.args) {
        word.0.store(value, Relaxed);
    }
    let words = arrival.payload.len() as u32;
    slot.operation
        .0
        .store(arrival.operation | words << 16, Relaxed);
    slot.error.0.store(arrival.error, Relaxed);
    // The words that the other PEs poll come last and in one go, so that the cache line moves once.
    for (word, value) in slot.payload.iter().zip(arrival.payload) {
        word.0.store(*value, Relaxed);
    }
    slot.signature.0.store(arrival.signature, Relaxed);
    slot.epoch.0.store(epoch, Release);
}

/// Mirrors words of a remote PE: the offset of each, and whether it has 8 bytes. A reader that sees a word also sees earlier words, also
/// of earlier messages: the sender puts last the word that readers poll.
pub(super) fn mirror<'a>(control: &Control, words: impl Iterator<Item = ((u64, bool), &'a u64)>) {
    let segment = control.segment();
    for ((offset, wide), &word) in words {
        match wide {
            true => segment.view::<SharedU64>(offset).0.store(word, Release),
            false => segment
                .view::<SharedU32>(offset)
                .0
                .store(word as u32, Release),
        }
    }
}

/// Takes a join slot of `team_init`; returns whether it was free.
pub fn take_join_slot(slot: &JoinSlot) -> bool {
    let taken = &slot.taken.0;
    taken.compare_exchange(0, 1, AcqRel, Relaxed).is_ok()
}

/// Takes over a join slot that was abandoned in phase `left`; false if another thread has taken it.
pub fn take_over_join_slot(slot: &JoinSlot, left: u32) -> bool {
    let phase = &slot.phase.0;
    phase.compare_exchange(left, 0, AcqRel, Relaxed).is_ok()
}

/// Frees a join slot.
pub fn free_join_slot(slot: &JoinSlot) {
    slot.phase.0.store(0, Relaxed);
    slot.taken.0.store(0, Release);
}

/// Publishes the team that the thread of a join slot creates.
pub fn publish_join(slot: &JoinSlot, unique_id: u64, n_pes: Pe, member: Pe) {
    // A reader that sees the new id sees that the slot was free before.
    fence(Release);
    slot.unique_id.0.store(unique_id, Relaxed);
    slot.n_pes.0.store(n_pes as u32, Relaxed);
    slot.member.0.store(member as u32, Relaxed);
}

/// Publishes the phase of the thread of a join slot.
pub fn set_join_phase(slot: &JoinSlot, phase: u32) {
    slot.phase.0.store(phase, Release);
}

/// Publishes the team numbers that a PE does not use.
pub fn publish_free_numbers(offer: &TeamOffer, words: impl IntoIterator<Item = u64>) {
    for (word, value) in offer.free.iter().zip(words) {
        word.0.store(value, Relaxed);
    }
}

/// Publishes whether a PE has reserved the chosen number, and the last epoch that it has used there.
pub fn publish_claim(offer: &TeamOffer, claimed: bool, epoch: u64) {
    offer.epoch.0.store(epoch, Relaxed);
    offer.claimed.0.store(claimed.into(), Relaxed);
}

/// A unique number for a wait in the job.
pub(super) fn next_wait_id(header: &Header) -> u64 {
    header.wait_ids.0.fetch_add(1, Relaxed) + 1
}

/// Takes a wait slot; returns whether it was free.
pub(super) fn take_wait_slot(slot: &WaitSlot) -> bool {
    let id = &slot.id.0;
    slot.id.load(Relaxed) == 0 && id.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_ok()
}

/// A wait as the words of a slot.
#[derive(Default)]
pub(super) struct WaitFields {
    pub(super) operation: u32,
    pub(super) thread: u32,
    pub(super) kind: u32,
    pub(super) team: u32,
    pub(super) dtype: u32,
    pub(super) cmp: u32,
    pub(super) epoch: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) expected: u64,
    pub(super) since: u64,
    pub(super) limit: u32,
    pub(super) until: u64,
}

/// Publishes a wait in a slot that the thread has taken.
pub(super) fn publish_wait(slot: &WaitSlot, id: u64, fields: &WaitFields) {
    // A reader that sees a word of this wait sees that the slot was taken again.
    fence(Release);
    slot.operation.0.store(fields.operation, Relaxed);
    slot.thread.0.store(fields.thread, Relaxed);
    slot.kind.0.store(fields.kind, Relaxed);
    slot.team.0.store(fields.team, Relaxed);
    slot.epoch.0.store(fields.epoch, Relaxed);
    slot.offset.0.store(fields.offset, Relaxed);
    slot.dtype.0.store(fields.dtype, Relaxed);
    slot.bytes.0.store(fields.bytes, Relaxed);
    slot.index.0.store(0, Relaxed);
    slot.cmp.0.store(fields.cmp, Relaxed);
    slot.expected.0.store(fields.expected, Relaxed);
    slot.since.0.store(fields.since, Relaxed);
    slot.until.0.store(fields.until, Relaxed);
    slot.limit.0.store(fields.limit, Relaxed);
    slot.caller.0.store(0, Relaxed);
    slot.id.0.store(id, Release);
}

/// Publishes where in the program a wait is: the instruction to which its call returns.
pub(super) fn publish_caller(slot: &WaitSlot, caller: u64) {
    slot.caller.0.store(caller, Relaxed);
}

/// Publishes the texts of wait `id`. They are void if the slot has another wait by now.
pub(super) fn publish_texts(
    slot: &WaitSlot,
    id: u64,
    line: &[u64; TEXT_WORDS],
    allocation: &[u64; TEXT_WORDS],
) {
    slot.described.0.store(0, Relaxed);
    fence(Release);
    let words = slot.line.iter().zip(line);
    for (word, value) in words.chain(slot.allocation.iter().zip(allocation)) {
        word.0.store(*value, Relaxed);
    }
    slot.described.0.store(id, Release);
}

/// Publishes the state of a wait: the first element that does not match, its expected value, and its actual value.
#[inline]
pub fn publish_seen(slot: &WaitSlot, element: Option<(u64, u64)>, actual: u64) {
    if let Some((index, expected)) = element {
        slot.index.0.store(index, Relaxed);
        slot.expected.0.store(expected, Relaxed);
    }
    slot.actual.0.store(actual, Relaxed);
}

/// Publishes the name under which the operation of wait `id` was called.
pub(super) fn publish_called(called: &CalledName, id: u64, name: [u64; NAME_WORDS]) {
    called.id.0.store(0, Relaxed);
    fence(Release);
    for (word, value) in called.name.iter().zip(name) {
        word.0.store(value, Relaxed);
    }
    called.id.0.store(id, Release);
}

/// Ends a published wait.
pub(super) fn end_wait(block: &PeBlock, slot: Option<&WaitSlot>, now: u64) {
    block.progress.0.fetch_add(1, Relaxed);
    if let Some(slot) = slot {
        slot.ended.0.store(now, Relaxed);
        slot.id.0.store(0, Release);
    }
}

/// Counts a thread that goes to sleep on its PE's doorbell, also in `sleepers`.
pub fn add_sleeper(bell: &Bell, sleepers: &SharedU32) {
    bell.sleepers.0.fetch_add(1, SeqCst);
    sleepers.0.fetch_add(1, SeqCst);
}

/// Reverts [`add_sleeper`].
pub fn remove_sleeper(bell: &Bell, sleepers: &SharedU32) {
    sleepers.0.fetch_sub(1, Relaxed);
    bell.sleepers.0.fetch_sub(1, Relaxed);
}

/// Rings a bell.
pub(super) fn ring(bell: &Bell) {
    bell.rings.0.fetch_add(1, Release);
    // A failed wake costs the sleeper the rest of its nap.
    let _ = futex::wake(&bell.rings.0, futex::Flags::empty(), i32::MAX as u32);
}

/// Sleeps until a bell has rung more than `rings` times, a signal handler has run, or the timeout expires.
#[inline]
pub fn await_ring(
    bell: &Bell,
    rings: u32,
    timeout: &rustix::time::Timespec,
) -> rustix::io::Result<()> {
    futex::wait(&bell.rings.0, futex::Flags::empty(), rings, Some(timeout))
}
