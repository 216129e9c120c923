//! Interrupts of init: until there is a runtime, the hook belongs to the thread that joins.

use crate::{InterruptHook, wait};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How often a wait of init calls the hook.
const EVERY: Duration = Duration::from_millis(50);

thread_local! {
    static HOOK: RefCell<Option<InterruptHook>> = const { RefCell::new(None) };
}

/// Sets, or removes, the function that the calling thread's init calls while they wait, at least every 50 ms; `true` ends init
/// with [`Error::Interrupted`](crate::Error::Interrupted). A runtime that init gives begins with it as its own
/// [interrupt hook](crate::Runtime::set_interrupt_hook). Local.
pub fn set_init_interrupt_hook(hook: Option<InterruptHook>) {
    HOOK.set(hook);
}

pub(crate) fn hook() -> Option<InterruptHook> {
    HOOK.with_borrow(Option::clone)
}

/// Until when to wait at a time: the hook is to be called in between.
pub(crate) fn slice(until: Instant) -> Instant {
    match HOOK.with_borrow(Option::is_some) {
        true => until.min(Instant::now() + EVERY),
        false => until,
    }
}

/// Asks the hook.
pub(crate) fn asked() -> bool {
    hook().is_some_and(|hook| wait::call_hook(&*hook))
}
