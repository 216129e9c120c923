//! `nvshmemrs-run`: starts the PEs of a job on this host and watches over them.
//!
//! * [`args`]: the command line.
//! * [`job`]: the PEs as processes; [`shim`]: how a process becomes a PE; [`guard`]: how PEs end when the
//!   launcher is killed; [`limits`]: why none can be started.
//! * [`input`], [`output`]: the streams of the PEs.
//! * [`ends`]: tells the PEs which of them have ended. [`findings`]: what the synchronisation checker has found.
//! * [`signals`]: signals to the launcher. [`monitor`]: notices that nothing moves.
//! * [`verdict`]: the last lines of a job that has failed; [`left`]: a PE that is gone while its process runs. [`watch`]: the loop that brings these together.

pub mod args;
pub mod ends;
pub mod findings;
pub mod guard;
pub mod input;
pub mod job;
pub mod left;
pub mod limits;
pub mod monitor;
pub mod output;
pub mod shim;
pub mod signals;
pub mod verdict;
pub mod watch;

use crate::say;
use clap::Parser;
use std::process::ExitCode;

/// Exit status when the launcher itself fails.
const LAUNCHER_FAILED: u8 = 125;

/// The program `nvshmemrs-run`.
pub fn main() -> ExitCode {
    say::survive_writes();
    // The launcher also starts itself, for two small tasks with a flag of their own.
    let mut args = std::env::args_os().skip(1);
    let first = args.next();
    if first.as_deref() == Some(shim::FLAG.as_ref()) {
        return shim::become_pe(args);
    }
    if first.as_deref() == Some(guard::FLAG.as_ref()) {
        return guard::watch_over();
    }
    match watch::run(&args::Args::parse()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            say::error(format_args!("nvshmemrs-run: {error:#}"));
            ExitCode::from(LAUNCHER_FAILED)
        }
    }
}
