//! Detects a fork: a forked child shares the PE's memory but is not a PE.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Once, OnceLock};

/// How often this process, or an ancestor since nvshmemrs was first used, has been forked off. It differs between a PE and
/// its forked children, and costs one load to read.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Gives a child its own copy of memory that the parent shares with other PEs.
pub struct Copying {
    pub before: fn(),
    pub in_parent: fn(),
    pub in_child: fn(),
}

static COPYING: OnceLock<Copying> = OnceLock::new();

thread_local! {
    /// Whether `before` has run for the fork under way: another thread may have set [`COPYING`] since.
    static BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// Copies memory for each child that is forked from now on.
pub fn copy_for_child(copying: Copying) {
    let _ = COPYING.set(copying);
}

extern "C" fn before() {
    if let Some(copying) = COPYING.get() {
        (copying.before)();
        BEGUN.set(true);
    }
}

extern "C" fn in_parent() {
    if let (true, Some(copying)) = (BEGUN.replace(false), COPYING.get()) {
        (copying.in_parent)();
    }
}

extern "C" fn in_child() {
    // First, because the counter itself may lie in memory that is copied.
    if let Some(copying) = COPYING.get() {
        (copying.in_child)();
    }
    BEGUN.set(false);
    GENERATION.fetch_add(1, Relaxed);
}

/// The generation of this process: it differs between a process and its forked children, once nvshmemrs was used.
#[inline(always)]
pub fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// Registers the handlers when the library is loaded: then handlers of the program run before ours in the parent, and after ours
/// in the child, which has its own copy of the variables by then.
#[used]
#[unsafe(link_section = ".init_array")]
static WATCH_ON_LOAD: extern "C" fn() = watch_on_load;

extern "C" fn watch_on_load() {
    watch();
}

/// Starts counting; called at every init, too, because not every way to link a static library runs its constructors.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handlers are functions of this library. If the registration fails for lack of memory, forks go unnoticed,
        // as in every peer library.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}
