//! `nvshmemrs-info`: what this machine offers, which settings hold, and what a running job waits for.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use nvshmemrs_cli::info;
use std::process::ExitCode;

fn main() -> ExitCode {
    info::main()
}
