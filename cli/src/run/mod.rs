//! `nvshmemrs-run`: starts the PEs of a job on this host and watches over them.
//!
//! * [`args`]: the command line.
//! * [`job`]: the PEs as processes; [`shim`]: how a process becomes a PE; [`guard`]: ends the PEs if the launcher is killed;
//!   [`limits`]: why a process cannot be started.
//! * [`binding`]: the CPUs of each PE.
//! * [`input`], [`output`]: the streams of the PEs; [`relay`]: output of orphans after the job; [`terminal`]: the terminal of a
//!   single PE.
//! * [`exit_notifier`]: records the exits of PEs for the others. [`findings`]: the findings of the checker.
//! * [`report`]: the findings as a file.
//! * [`signals`]: signals to the launcher; [`threads`]: its threads, which block signals.
//! * [`verdict`]: the last lines of a job that has failed; [`detached`]: a PE that has left its job while its process runs. [`watch`]: the main loop.

pub mod args;
pub mod binding;
pub mod detached;
pub mod exit_notifier;
pub mod findings;
pub mod guard;
pub mod input;
pub mod job;
pub mod limits;
pub mod output;
pub mod relay;
pub mod report;
pub mod shim;
pub mod signals;
pub mod terminal;
mod threads;
pub mod verdict;
pub mod watch;

use crate::{console, pages};
use std::process::ExitCode;

/// Exit status when the launcher itself fails.
const LAUNCHER_FAILED: u8 = 125;

/// The program `nvshmemrs-run`.
pub fn main() -> ExitCode {
    console::survive_writes();
    // The launcher also runs its own program for three helper processes, each with a flag.
    let mut args = std::env::args_os().skip(1);
    let first = args.next();
    if first.as_deref() == Some(shim::FLAG.as_ref()) {
        return shim::become_pe(args);
    }
    if first.as_deref() == Some(guard::FLAG.as_ref()) {
        return guard::watch_over();
    }
    if first.as_deref() == Some(relay::FLAG.as_ref()) {
        return relay::pass_on(args);
    }
    let args = match pages::parse(args::words(std::env::args_os())) {
        Ok(args) => args,
        Err(status) => return status,
    };
    match watch::run(&args) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console::error(format_args!("nvshmemrs-run: {error:#}"));
            ExitCode::from(LAUNCHER_FAILED)
        }
    }
}
