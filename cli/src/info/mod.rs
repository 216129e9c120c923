//! `nvshmemrs-info`: what this machine and this build offer, which settings hold and where they come from,
//! and what the PEs of a running job wait for.
//!
//! * [`machine`]: host, cores, memory. [`gpus`]: GPUs, what jobs use of them, what is missing for what.
//! * [`launchers`]: which launcher started this process.
//! * [`report`]: all of it as one value. [`print`](mod@print): the same for people.
//! * [`job`]: a running job, seen from outside.

pub mod gpus;
pub mod job;
pub mod launchers;
pub mod machine;
pub mod print;
pub mod report;

use crate::say;
use anyhow::{Context, Result};
use clap::Parser;
use std::process::ExitCode;

/// Tells what this machine offers to nvshmemrs, and which settings hold.
#[derive(Debug, Parser)]
#[command(name = "nvshmemrs-info", version)]
struct Args {
    /// Print what the PEs of a running job wait for; PID is its launcher or any of its PEs, of the same user.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    job: Option<u32>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The program `nvshmemrs-info`.
pub fn main() -> ExitCode {
    say::survive_writes();
    let written = text(&Args::parse())
        .and_then(|text| say::print(&text).context("cannot write to standard output"));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::error(format_args!("nvshmemrs-info: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn text(args: &Args) -> Result<String> {
    let text = match (args.job, args.json) {
        (Some(pid), true) => serde_json::to_string_pretty(&job::Job::of_process(pid)?)?,
        (Some(pid), false) => job::report(pid)?,
        (None, true) => serde_json::to_string_pretty(&report::Report::gather()?)?,
        (None, false) => print::print(&report::Report::gather()?),
    };
    Ok(text.trim_end().to_string() + "\n")
}
