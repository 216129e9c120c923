//! `nvshmemrs-info`: the machine and this build, the settings in force with their sources, and the waits of a
//! running job.
//!
//! * [`machine`]: host, cores, memory. [`gpus`]: GPUs, which of them jobs use, missing requirements.
//! * [`launchers`]: which launcher started this process.
//! * [`settings`]: the settings in force, and unknown names.
//! * [`report`]: the whole report as one value. [`print`](mod@print): the report as text.
//!
//! Package nvshmemrs-inspect inspects a running job.

pub mod gpus;
pub mod launchers;
pub mod machine;
pub mod print;
pub mod report;
pub mod settings;

use crate::{console, pages};
use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use nvshmemrs::trace;
use nvshmemrs_inspect::Job;
use nvshmemrs_inspect::list::jobs;
use settings::Settings;
use std::path::PathBuf;
use std::process::ExitCode;

/// How long PEs of a job may take to answer, in seconds.
const PATIENCE: f64 = 1.0;

/// Prints the hardware of this machine that nvshmemrs can use, and the settings in force.
#[derive(Debug, Parser)]
#[command(name = "nvshmemrs-info", version)]
struct Args {
    /// Print the waits of a running job's PEs; PID is its launcher or any of its PEs, of the same user.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    job: Option<u32>,

    /// Print the jobs of this machine.
    #[arg(long, conflicts_with_all = ["job", "settings"])]
    jobs: bool,

    /// Merge the parts of the timeline FILE that the PEs of a job have written, after a PE was killed; nvshmemrs-run does so itself.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["job", "jobs", "settings", "json"])]
    merge_trace: Option<PathBuf>,

    /// Print only the settings, with all of NVSHMEM's and the effect of each here.
    #[arg(long, conflicts_with = "job")]
    settings: bool,

    /// Print JSON; of a job also its settings, heaps, teams, streams, findings and traffic.
    #[arg(long)]
    json: bool,
}

/// The program `nvshmemrs-info`.
pub fn main() -> ExitCode {
    console::survive_writes();
    let args = match pages::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let written = text(&args)
        .and_then(|text| console::print(&text).context("cannot write to standard output"));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::error(format_args!("nvshmemrs-info: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn text(args: &Args) -> Result<String> {
    if let Some(path) = &args.merge_trace {
        ensure!(
            trace::has_parts(path),
            "no PE has left records of a timeline beside {}",
            path.display()
        );
        return match trace::merge(path).line(path) {
            Some(line) => bail!("{}", line.trim_end()),
            None => Ok(format!("{} is written\n", path.display())),
        };
    }
    let text = match (args.job, args.json) {
        (None, true) if args.jobs => serde_json::to_string_pretty(&jobs())?,
        (None, false) if args.jobs => print::jobs(&jobs()),
        (None, true) if args.settings => serde_json::to_string_pretty(&Settings::gather())?,
        (None, false) if args.settings => print::settings(&Settings::gather()),
        (Some(pid), true) => {
            serde_json::to_string_pretty(&Job::of_process(pid)?.snapshot(PATIENCE)?)?
        }
        (Some(pid), false) => Job::of_process(pid)?.report(),
        (None, true) => serde_json::to_string_pretty(&report::Report::gather()?)?,
        (None, false) => print::print(&report::Report::gather()?),
    };
    Ok(text.trim_end().to_string() + "\n")
}
