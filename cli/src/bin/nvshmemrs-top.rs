//! `nvshmemrs-top`: the jobs of this machine in a terminal.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use nvshmemrs_cli::top;
use std::process::ExitCode;

fn main() -> ExitCode {
    top::main()
}
