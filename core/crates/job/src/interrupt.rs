//! Interrupt hooks: functions of the program that long waits call. Until there is a runtime, the hook belongs to the joining
//! thread.

use crate::per_thread::{self, PerThread};
use rustix::thread::{RawPid, gettid};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a wait of init calls the hook.
const EVERY: Duration = Duration::from_millis(50);

/// Called while a wait is long; `true` ends it with [`Error::Interrupted`](crate::Error::Interrupted).
pub type InterruptHook = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
    static HOOK: PerThread<Option<InterruptHook>> = const { PerThread::new() };
}

/// Sets, or removes, the function that init calls on this thread while it waits, at least every 50 ms; `true` ends init with
/// [`Error::Interrupted`](crate::Error::Interrupted). The new runtime begins with it as its own interrupt hook
/// (`Runtime::set_interrupt_hook`). Local.
pub fn set_init_interrupt_hook(hook: Option<InterruptHook>) {
    per_thread::keep(&HOOK, hook);
}

pub fn hook() -> Option<InterruptHook> {
    per_thread::with(&HOOK, |hook| hook.clone())
}

/// The end of the next slice of a wait: the hook is called in between.
pub fn slice(until: Instant) -> Instant {
    match per_thread::with(&HOOK, |hook| hook.is_some()) {
        true => until.min(Instant::now() + EVERY),
        false => until,
    }
}

/// A hook that only waits of the thread with this number in the kernel call.
pub fn on_thread(thread: RawPid, hook: InterruptHook) -> InterruptHook {
    Arc::new(move || gettid().as_raw_pid() == thread && hook())
}

/// Calls the hook.
pub fn asked() -> bool {
    hook().is_some_and(|hook| call_hook(&*hook))
}

/// Whether this thread is inside an interrupt hook, hence inside a wait.
pub fn in_interrupt_hook() -> bool {
    IN_HOOK.get()
}

pub fn call_hook(hook: &dyn Fn() -> bool) -> bool {
    let before = IN_HOOK.replace(true);
    let answer = hook();
    IN_HOOK.set(before);
    answer
}
