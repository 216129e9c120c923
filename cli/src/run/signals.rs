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

/// Signals that tell the user's wish to a whole job; one that the launcher was started to ignore (by
/// `nohup`, by `&` in a script) stays ignored, here and in the PEs.
const FROM_USER: [i32; 4] = [SIGINT, SIGQUIT, SIGHUP, SIGTSTP];

/// Signals that the launcher always takes.
const ALWAYS: [i32; 5] = [SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD];

/// Unblocks all signals on the main thread. Whoever has started the launcher may have blocked some, as batch systems do.
pub fn unblock() -> Result<()> {
    SigSet::empty()
        .thread_set_mask()
        .context("cannot unblock signals")
}

/// Prepares the signals of a process that is about to become a PE: none is blocked, and only those of [`FROM_USER`] may be ignored.
pub fn for_pe() -> Result<()> {
    unblock()?;
    let ignored = ignored()?;
    let to_reset = (1..=64).filter(|signal| ignored & (1 << (signal - 1)) != 0);
    for signal in
        to_reset.filter(|signal| !FROM_USER.contains(signal) && !FORBIDDEN.contains(signal))
    {
        // `exec` gives a signal with a handler its default action. Those that the C library keeps for itself take no handler.
        let _ = flag::register(signal, Arc::default());
    }
    Ok(())
}

/// Takes the signals from now on; each arrives in the receiver.
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
    // Only now: one that was pending would end the launcher before.
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
