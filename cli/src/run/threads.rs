//! The launcher's threads. They block signals, which the main thread handles.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Signals that threads do not block: signals of their own faults, and those by which a terminal stops a background process. The
/// kernel fails a terminal read of a thread that blocks SIGTTIN, and allows a write of a thread that blocks SIGTTOU.
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

/// Starts a thread with signals blocked.
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
