//! The only writer of the words that other PEs read.
//!
//! The words of the control block are [`Told32`] and [`Told64`]: every file may load them, and only this one can write them. So what a
//! PE tells the others, and in which order, is here; each function is named by what is told. Between PEs of one host, telling is
//! the store that stands here. Other hosts get a letter as well ([`far`](super::far)), where the caller says so.
//!
//! Whoever must be woken by it is woken by the caller (see [`bell`](super::bell)).

use super::block::{
    Bell, Control, Header, JoinSlot, PeBlock, Slot, TeamBlock, TeamOffer, WaitSlot,
};
use super::places::Place;
use super::published::Words;
use super::state::State;
use crate::Pe;
use crate::operation::ARGS;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

macro_rules! told {
    ($($name:ident: $atomic:ident of $bits:ty;)*) => {$(
        /// A word that other PEs read.
        #[derive(Default)]
        #[repr(transparent)]
        pub(crate) struct $name($atomic);

        impl $name {
            /// What the word says.
            #[inline(always)]
            pub(crate) fn load(&self, order: Ordering) -> $bits {
                self.0.load(order)
            }

            /// Makes it say anything, for tests.
            #[cfg(any(test, fuzzing))]
            pub(crate) fn store(&self, value: $bits, order: Ordering) {
                self.0.store(value, order);
            }
        }
    )*};
}

told! {
    Told32: AtomicU32 of u32;
    Told64: AtomicU64 of u64;
}

/// Facts of a job, which stay as they are.
pub(super) struct Facts {
    pub(super) version: u32,
    pub(super) n_pes: u32,
    pub(super) heap_bytes: u64,
    pub(super) area_bytes: u64,
    pub(super) check_seed: u64,
    pub(super) memory: u32,
    pub(super) host: [u64; 2],
}

/// Tells whoever attaches to the job's memory what job it is; `magic` says that the rest is there.
pub(super) fn facts(header: &Header, facts: &Facts, magic: u64) {
    header.version.0.store(facts.version, Relaxed);
    header.n_pes.0.store(facts.n_pes, Relaxed);
    header.heap_bytes.0.store(facts.heap_bytes, Relaxed);
    header.area_bytes.0.store(facts.area_bytes, Relaxed);
    header.check_seed.0.store(facts.check_seed, Relaxed);
    header.memory.0.store(facts.memory, Relaxed);
    for (word, value) in header.host.iter().zip(facts.host) {
        word.0.store(value, Relaxed);
    }
    header.magic.0.store(magic, Release);
}

/// Tells which process a PE is: its number, in which pid namespace, and a random number of it.
pub(super) fn process(block: &PeBlock, pid: u32, namespace: u64, token: u64) {
    block.pid.0.store(pid, Relaxed);
    block.namespace.0.store(namespace, Relaxed);
    block.process.0.store(token, Relaxed);
}

/// Tells which CPUs a PE may run on.
pub(super) fn cpus(block: &PeBlock, words: impl Iterator<Item = u64>) {
    for (word, value) in block.cpus.iter().zip(words) {
        word.0.store(value, Relaxed);
    }
}

/// Tells where a PE is.
pub(super) fn place(block: &PeBlock, place: &Place) {
    let words = block.host.iter().chain(&block.gpu);
    for (word, value) in words.zip(place.words()) {
        word.0.store(value, Relaxed);
    }
}

/// Tells that a PE of another host is there: its process, and where it is, as its own host has it.
pub(super) fn is_there(block: &PeBlock, pid: u32, token: u64, place: &[u64]) {
    process(block, pid, 0, token);
    for (word, value) in block.host.iter().chain(&block.gpu).zip(place) {
        word.0.store(*value, Relaxed);
    }
    has_come(block, State::Active);
}

/// Tells that a PE of another host has come to a state, unless it has come further.
pub(super) fn has_come(block: &PeBlock, state: State) {
    block.state.0.fetch_max(state as u32, AcqRel);
}

/// Tells what a PE is doing.
pub(crate) fn state(block: &PeBlock, state: State) {
    block.state.0.store(state as u32, Release);
}

/// Tells how a PE has ended; whether it was active until then.
pub(super) fn ended(block: &PeBlock, state: State) -> bool {
    let active = State::Active as u32;
    block
        .state
        .0
        .compare_exchange(active, state as u32, AcqRel, Relaxed)
        .is_ok()
}

/// Tells that `pe` was the first that was gone, unless another one was.
pub(crate) fn first_gone(header: &Header, pe: Pe) {
    let first = &header.first_gone.0;
    let _ = first.compare_exchange(0, pe as u32 + 1, AcqRel, Relaxed);
}

/// Tells that `pe` is gone.
pub(super) fn gone(header: &Header, pe: Pe) {
    first_gone(header, pe);
    header.gone.0.fetch_add(1, SeqCst);
}

/// Asks a PE for its answer: wakes its watchdog, which sleeps on the PE's pid, a word that never changes. So nobody who only looks at
/// a job writes to it. Says whether the watchdog slept there.
pub(super) fn ask(block: &PeBlock) -> bool {
    futex::wake(&block.pid.0, futex::Flags::empty(), i32::MAX as u32).is_ok_and(|woken| woken > 0)
}

/// Sleeps until somebody [asks](ask) this PE, for at most `timeout`; whether somebody has.
pub(super) fn await_question(block: &PeBlock, timeout: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    let pid = block.pid.load(Relaxed);
    match futex::wait(&block.pid.0, futex::Flags::empty(), pid, Some(&timeout)) {
        Ok(()) => true,
        Err(rustix::io::Errno::TIMEDOUT) => false,
        // Whoever keeps changing the word must not have the thread run without a pause.
        Err(_) => {
            std::thread::sleep(Duration::from_millis(1));
            false
        }
    }
}

/// Tells that a PE runs.
pub(crate) fn beat(block: &PeBlock) {
    block.beats.0.fetch_add(1, Relaxed);
}

/// Tells that `pe` has been stopped since a moment, unless that has been told; whether it has not.
pub(super) fn stopped(control: &Control, pe: Pe, since: u64) -> bool {
    let word = &control.pe(pe).stopped.0;
    let told = word.compare_exchange(0, since, AcqRel, Relaxed).is_ok();
    if told {
        control.header().stopped.0.fetch_add(1, SeqCst);
    }
    told
}

/// Takes back that PE `me` is stopped, if that has been told; whether it has.
pub(super) fn goes_on(control: &Control, me: Pe) -> bool {
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

/// Tells what a PE has not freed, as digests of the first lines of the list and of the whole.
pub(crate) fn unfreed(block: &PeBlock, lines: impl Iterator<Item = u64>, whole: u64) {
    for (word, line) in block.unfreed[1..].iter().zip(lines) {
        word.0.store(line, Relaxed);
    }
    block.unfreed[0].0.store(whole, Release);
}

/// As [`unfreed`], of a PE of another host: all the words, or none.
pub(super) fn unfreed_elsewhere(block: &PeBlock, words: &[u64]) {
    for (word, value) in block.unfreed.iter().zip(words).rev() {
        word.0.store(*value, Release);
    }
}

/// Tells that a PE is a member of a team of `n_pes`, in which the next one is `next`.
pub(crate) fn membership(block: &TeamBlock, next: Pe, n_pes: Pe) {
    block.next.0.store(next as u32, Relaxed);
    block.calls.0.store(0, Relaxed);
    block.n_pes.0.store(n_pes as u32, Release);
}

/// As [`membership`], of a PE of another host, which has begun so many collectives.
pub(super) fn member_elsewhere(block: &TeamBlock, next: Pe, n_pes: Pe, calls: u64) {
    block.next.0.store(next as u32, Relaxed);
    block.calls.0.store(calls, Relaxed);
    block.n_pes.0.store(n_pes as u32, Release);
}

/// Tells the last epoch that a PE of another host, which has called finalize, has come to.
pub(super) fn last_elsewhere(block: &TeamBlock, epoch: u64) {
    block.last.0.store(epoch, Release);
}

/// Tells that there are no waits in some slots of a PE of another host, of which so many have ended.
pub(super) fn no_waits<'a>(
    block: &PeBlock,
    slots: impl Iterator<Item = &'a WaitSlot>,
    progress: u64,
) {
    block.progress.0.store(progress, Relaxed);
    for slot in slots {
        slot.id.0.store(0, Release);
    }
}

/// Tells the members that are slow to leave a meeting that this one has gone on to `epoch`, before anything else that comes.
pub(crate) fn gone_on(slot: &Slot, epoch: u64) {
    slot.epoch.0.store(epoch, Release);
    fence(Release);
}

/// Tells a member that its team is broken.
pub(crate) fn broken(block: &TeamBlock, mark: u64) {
    block.broken.0.fetch_max(mark, AcqRel);
}

/// Tells that a PE has begun another collective on a team.
#[inline(always)]
pub(crate) fn call(block: &TeamBlock) {
    let calls = block.calls.load(Relaxed) + 1;
    block.calls.0.store(calls, Relaxed);
}

/// Tells where a PE's program called what it comes with to an epoch.
pub(crate) fn site(block: &TeamBlock, epoch: u64, site: u16) {
    block.sites[(epoch & 1) as usize]
        .0
        .store(site.into(), Relaxed);
}

/// What a member comes with to an epoch.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) operation: u32,
    pub(crate) args: [u64; ARGS],
    /// Status number of its own error, or 0.
    pub(crate) error: u32,
    pub(crate) payload: &'a [u64],
    pub(crate) signature: u64,
}

/// Tells the other members that one has come to an epoch, and with what.
#[inline(always)]
pub(crate) fn arrival(slot: &Slot, epoch: u64, arrival: Arrival<'_>) {
    for (word, value) in slot.args.iter().zip(arrival.args) {
        word.0.store(value, Relaxed);
    }
    let words = arrival.payload.len() as u32;
    slot.operation
        .0
        .store(arrival.operation | words << 16, Relaxed);
    slot.error.0.store(arrival.error, Relaxed);
    // Last and in one go what the others look at all the time, so that the line moves once.
    for (word, value) in slot.payload.iter().zip(arrival.payload) {
        word.0.store(*value, Relaxed);
    }
    slot.signature.0.store(arrival.signature, Relaxed);
    slot.epoch.0.store(epoch, Release);
}

/// Tells here, word by word, what a PE of another host has told there: where each word is, and whether it has 8 bytes. Whoever sees a
/// word sees those before it, also of earlier letters: the sender puts last what readers look at first.
pub(super) fn mirrored<'a>(control: &Control, words: impl Iterator<Item = ((u64, bool), &'a u64)>) {
    let segment = control.segment();
    for ((offset, wide), &word) in words {
        match wide {
            true => segment.view::<Told64>(offset).0.store(word, Release),
            false => segment.view::<Told32>(offset).0.store(word as u32, Release),
        }
    }
}

/// Takes a seat in team_init; whether it was free.
pub(crate) fn take_seat(seat: &JoinSlot) -> bool {
    let taken = &seat.taken.0;
    taken.compare_exchange(0, 1, AcqRel, Relaxed).is_ok()
}

/// Takes over a seat that was left in a phase; whether no other thread was faster.
pub(crate) fn take_over_seat(seat: &JoinSlot, left: u32) -> bool {
    let phase = &seat.phase.0;
    phase.compare_exchange(left, 0, AcqRel, Relaxed).is_ok()
}

/// Tells that a seat is free.
pub(crate) fn seat_is_free(seat: &JoinSlot) {
    seat.phase.0.store(0, Relaxed);
    seat.taken.0.store(0, Release);
}

/// Tells which team the thread in a seat looks for.
pub(crate) fn looks_for(seat: &JoinSlot, unique_id: u64, n_pes: Pe, member: Pe) {
    // Whoever sees the new id sees that nobody had the seat before.
    fence(Release);
    seat.unique_id.0.store(unique_id, Relaxed);
    seat.n_pes.0.store(n_pes as u32, Relaxed);
    seat.member.0.store(member as u32, Relaxed);
}

/// Tells how far the thread in a seat has come.
pub(crate) fn phase(seat: &JoinSlot, phase: u32) {
    seat.phase.0.store(phase, Release);
}

/// Tells which team numbers a PE has left.
pub(crate) fn free_numbers(offer: &TeamOffer, words: impl IntoIterator<Item = u64>) {
    for (word, value) in offer.free.iter().zip(words) {
        word.0.store(value, Relaxed);
    }
}

/// Tells whether a PE could claim the chosen number, and the last epoch it has used there.
pub(crate) fn claim(offer: &TeamOffer, claimed: bool, epoch: u64) {
    offer.epoch.0.store(epoch, Relaxed);
    offer.claimed.0.store(claimed.into(), Relaxed);
}

/// A number for a wait that no other one of the job has.
pub(super) fn wait_id(header: &Header) -> u64 {
    header.wait_ids.0.fetch_add(1, Relaxed) + 1
}

/// Takes a slot for a wait; whether it was free.
pub(super) fn take_wait(slot: &WaitSlot) -> bool {
    let id = &slot.id.0;
    slot.id.load(Relaxed) == 0 && id.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_ok()
}

/// Tells for what a thread waits, in a slot that it has taken.
pub(super) fn wait(slot: &WaitSlot, id: u64, words: &Words) {
    // Whoever sees a word of this wait sees that the slot was taken anew.
    fence(Release);
    slot.operation.0.store(words.operation, Relaxed);
    slot.thread.0.store(words.thread, Relaxed);
    slot.kind.0.store(words.kind, Relaxed);
    slot.team.0.store(words.team, Relaxed);
    slot.epoch.0.store(words.epoch, Relaxed);
    slot.offset.0.store(words.offset, Relaxed);
    slot.dtype.0.store(words.dtype, Relaxed);
    slot.bytes.0.store(words.bytes, Relaxed);
    slot.index.0.store(0, Relaxed);
    slot.cmp.0.store(words.cmp, Relaxed);
    slot.expected.0.store(words.expected, Relaxed);
    slot.since.0.store(words.since, Relaxed);
    slot.until.0.store(words.until, Relaxed);
    slot.limit.0.store(words.limit, Relaxed);
    slot.id.0.store(id, Release);
}

/// Tells what a wait sees: the first element that does not hold, with the value it needs, and what is there.
pub(crate) fn seen(slot: &WaitSlot, element: Option<(u64, u64)>, actual: u64) {
    if let Some((index, expected)) = element {
        slot.index.0.store(index, Relaxed);
        slot.expected.0.store(expected, Relaxed);
    }
    slot.actual.0.store(actual, Relaxed);
}

/// Tells that a wait that was told is over.
pub(super) fn wait_over(block: &PeBlock, slot: Option<&WaitSlot>, now: u64) {
    block.progress.0.fetch_add(1, Relaxed);
    if let Some(slot) = slot {
        slot.ended.0.store(now, Relaxed);
        slot.id.0.store(0, Release);
    }
}

/// Tells that a thread falls asleep on its PE's bell, as one of the `sleepers`.
pub(crate) fn sleeps(bell: &Bell, sleepers: &Told32) {
    bell.sleepers.0.fetch_add(1, SeqCst);
    sleepers.0.fetch_add(1, SeqCst);
}

/// Takes back [`sleeps`].
pub(crate) fn is_awake(bell: &Bell, sleepers: &Told32) {
    sleepers.0.fetch_sub(1, Relaxed);
    bell.sleepers.0.fetch_sub(1, Relaxed);
}

/// Rings a bell.
pub(super) fn ring(bell: &Bell) {
    bell.rings.0.fetch_add(1, Release);
    // A failed wake costs the sleeper the rest of its nap.
    let _ = futex::wake(&bell.rings.0, futex::Flags::empty(), i32::MAX as u32);
}

/// Sleeps until a bell has rung more than `rings` times, a signal handler has run, or the time is over.
pub(crate) fn await_ring(
    bell: &Bell,
    rings: u32,
    timeout: &rustix::time::Timespec,
) -> rustix::io::Result<()> {
    futex::wait(&bell.rings.0, futex::Flags::empty(), rings, Some(timeout))
}
