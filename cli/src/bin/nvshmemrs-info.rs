//! `nvshmemrs-info`: the machine, the settings in force, and the waits of a running job.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use nvshmemrs_cli::info;
use std::process::ExitCode;

fn main() -> ExitCode {
    info::main()
}
