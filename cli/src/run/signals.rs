//! Signals to the launcher, as messages to its main loop.

use super::{limits, threads};
use anyhow::{Context, Result};
use nix::sys::signal::SigSet;
use signal_hook::consts::FORBIDDEN;
use signal_hook::consts::signal::*;
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Signals by which the user controls a whole job. A signal that the launcher was started to ignore (by `nohup`, or by `&` in a
/// script) stays ignored, in the launcher and in the PEs.
const FROM_USER: [i32; 4] = [SIGINT, SIGQUIT, SIGHUP, SIGTSTP];

/// Signals that the launcher always handles.
const ALWAYS: [i32; 5] = [SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD];

/// Unblocks all signals on the main thread: the parent process may have blocked some, as batch systems do.
pub fn unblock() -> Result<()> {
    SigSet::empty()
        .thread_set_mask()
        .context("cannot unblock signals")
}

/// Prepares the signals of a process that is about to become a PE: none is blocked, and only signals of [`FROM_USER`] may be
/// ignored.
pub fn for_pe() -> Result<()> {
    unblock()?;
    let ignored = ignored()?;
    let to_reset = (1..=64).filter(|signal| ignored & (1 << (signal - 1)) != 0);
    for signal in
        to_reset.filter(|signal| !FROM_USER.contains(signal) && !FORBIDDEN.contains(signal))
    {
        // `exec` resets a signal with a handler to its default action. Signals reserved by the C library accept no handler.
        let _ = flag::register(signal, Arc::default());
    }
    Ok(())
}

/// Installs the handlers; each signal arrives in the receiver.
pub fn listen() -> Result<Receiver<i32>> {
    let ignored = ignored()?;
    let wanted = FROM_USER
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(wanted.chain(ALWAYS)).context("cannot take signals")?;
    let (sender, receiver) = channel();
    threads::spawn("signals", move || {
        for signal in signals.forever() {
            if sender.send(signal).is_err() {
                break;
            }
        }
    })
    .map_err(limits::error("cannot start the signal thread"))?;
    // Unblocked last: a pending signal would otherwise end the launcher.
    unblock()?;
    Ok(receiver)
}

/// The mask of signals that this process ignores.
fn ignored() -> Result<u64> {
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.with_context(|| format!("{path} has no line SigIgn"))?;
    u64::from_str_radix(mask.trim(), 16).with_context(|| format!("{path}: bad SigIgn '{mask}'"))
}
