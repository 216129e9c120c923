//! The launcher's threads. Signals are for its main thread.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::thread::{Builder, JoinHandle};

/// What a thread does not block: signals of its own faults, and those by which a terminal stops a process in the background. The kernel
/// refuses input to a thread that blocks SIGTTIN, and lets one write that blocks SIGTTOU.
const UNBLOCKED: [Signal; 8] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];

/// Starts a thread, which blocks signals.
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let mut blocked = SigSet::all();
    for signal in UNBLOCKED {
        blocked.remove(signal);
    }
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let thread = Builder::new().name(name.into()).spawn(body);
    before.thread_set_mask()?;
    thread
}
