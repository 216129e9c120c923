//! `nvshmemrs-run`: starts a command as the PEs of one job on this host.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use nvshmemrs_cli::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    run::main()
}
