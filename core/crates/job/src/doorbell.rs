//! Doorbells wake sleeping PEs: a PE that changes a word rings the doorbell of the PEs that wait for it. Ringing is free while none sleeps.

use super::block::{Control, WaitSlot};
use super::published::kind;
use super::shared_words;
use crate::Pe;
use crate::buffer::SymRange;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Wakes the threads of `pe` that sleep until an element changes that overlaps `range`.
#[inline(always)]
pub fn ring_words(control: &Control, pe: Pe, range: SymRange) {
    // One line for all PEs, which nobody writes while nobody sleeps.
    if control.header().word_sleepers.load(Relaxed) != 0 {
        wake_words(control, pe, range);
    }
}

#[cold]
fn wake_words(control: &Control, pe: Pe, range: SymRange) {
    let waited_for = |slot: &WaitSlot| {
        let offset = slot.offset.load(Relaxed);
        slot.id.load(Acquire) != 0
            && slot.kind.load(Relaxed) == kind::WORD
            && offset < range.offset() + range.bytes()
            && range.offset() < offset.saturating_add(slot.bytes.load(Relaxed))
    };
    // A wait that found no slot sleeps out its nap.
    if control.pe(pe).waits.iter().any(waited_for) {
        wake(control, pe);
    }
}

/// Wakes every PE that sleeps until others arrive.
#[inline(always)]
pub fn ring_team(control: &Control) {
    if control.header().team_sleepers.load(Relaxed) != 0 {
        ring_everyone(control);
    }
}

/// Wakes every PE that sleeps.
#[cold]
pub fn ring_everyone(control: &Control) {
    for pe in 0..control.n_pes() {
        wake(control, pe);
    }
}

/// Wakes the threads of `pe` that sleep until another of its threads has acted.
#[inline]
pub fn ring_pe(control: &Control, pe: Pe) {
    if control.header().team_sleepers.load(Relaxed) != 0 {
        wake(control, pe);
    }
}

fn wake(control: &Control, pe: Pe) {
    let bell = &control.pe(pe).bell;
    if bell.sleepers.load(Relaxed) != 0 {
        shared_words::ring(bell);
    }
}
