//! Notices a fork: a forked child shares the PE's memory but is not a PE.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often this process, or an ancestor since nvshmemrs was first used, has been forked off. It differs between a PE and
/// its forked children, and costs one load to read.
static GENERATION: AtomicU64 = AtomicU64::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Relaxed);
}

/// The generation of this process: it differs between a process and its forked children, once nvshmemrs was used.
#[inline(always)]
pub fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// Starts counting; called at every init.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this library that only changes an atomic. If the registration fails for lack of
        // memory, forks go unnoticed, which is what every peer library does.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}
