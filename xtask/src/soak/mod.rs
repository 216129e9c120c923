//! `cargo xtask soak`: random operations on several PEs for a set time; every result is checked, memory and descriptors are
//! watched.
//!
//! The PEs run `tests/programs/soak`, which derives everything from a seed, so a failing run can be repeated by its seed. Each PE
//! writes a file with its checks and samples; this module sums, judges and draws them.

mod report;

use crate::setup::{self, Purpose, python};
use crate::tree::Tree;
use crate::{build_only, run, show};
use anyhow::{Context, Result, ensure};
use report::Report;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Symmetric heap of each PE.
const HEAP: &str = "64m";
/// The time limit of a wait in seconds; its error names the PEs that wait for each other.
const TIMEOUT: &str = "60";
/// The time that the PEs may take beyond the requested time, to start, to end, and to time out.
const MORE: Duration = Duration::from_secs(180);

/// The options of a run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long
    #[arg(long, default_value = "10")]
    minutes: f64,
    /// How many PEs, as processes
    #[arg(long, default_value = "8", value_parser = clap::value_parser!(u32).range(1..=64))]
    pes: u32,
    /// The seed of all random choices; a new one each time unless it is given
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for the picture and the figures
    #[arg(long, value_name = "DIR", default_value = "out/soak")]
    out: PathBuf,
    /// Set up and build nothing: use the existing build
    #[arg(long)]
    built: bool,
}

/// Sets up, builds, runs and reports.
pub(crate) fn soak(tree: &Tree, args: &Args) -> Result<()> {
    if !args.built {
        setup::all(tree, Purpose::Demo)?;
        build_only(tree, &["--bin=soak"])?;
    }
    // Relative to the user's folder.
    let out = std::path::absolute(&args.out)?;
    soak_built(tree, args, &out)
}

/// A short run, for `cargo xtask test`, after its build.
pub(crate) fn short(tree: &Tree) -> Result<()> {
    python::packages(tree, Purpose::Test)?;
    let args = Args {
        minutes: 0.4,
        pes: 8,
        seed: None,
        out: tree.scratch("soak")?,
        built: true,
    };
    soak_built(tree, &args, &args.out)
}

fn soak_built(tree: &Tree, args: &Args, out: &Path) -> Result<()> {
    let seed = args.seed.unwrap_or_else(drawn);
    let time = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for file in report::files(out)? {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    show::line(format_args!(
        "soak: {} PEs for {:.0} s, seed {seed}",
        args.pes,
        time.as_secs_f64()
    ));
    let mut command = tree.command(tree.launcher());
    command
        .args([
            "-n",
            &args.pes.to_string(),
            "--heap",
            HEAP,
            "--timeout",
            TIMEOUT,
            "--",
        ])
        .arg(tree.release().join("soak"))
        .args([time.as_secs_f64().to_string(), seed.to_string()])
        .arg(out)
        // The C library's allocator must return freed memory, so that it does not look like growth.
        .envs([
            ("MALLOC_ARENA_MAX", "1"),
            ("MALLOC_MMAP_THRESHOLD_", "65536"),
            ("MALLOC_TRIM_THRESHOLD_", "65536"),
        ]);
    let ended = run::tee(&mut command, time + MORE)?.outcome;
    let report = Report::read(out, seed);
    if let Ok(report) = &report {
        show::line(report.table().trim_end());
        std::fs::write(out.join("soak.json"), report.json()?)?;
        picture(tree, out)?;
        let picture = out.join("soak.png");
        show::line(format_args!("the picture is {}", tree.short(&picture)));
    }
    let again = format!(
        "cargo xtask soak --seed {seed} --pes {} --minutes {}",
        args.pes, args.minutes
    );
    ended.with_context(|| format!("a PE failed; `{again}` does the same again"))?;
    let report = report?;
    ensure!(
        report.pes() == args.pes as usize,
        "{} of {} PEs have left their figures",
        report.pes(),
        args.pes
    );
    report
        .judge()
        .with_context(|| format!("`{again}` does the same again"))
}

/// Draws the samples.
fn picture(tree: &Tree, out: &Path) -> Result<()> {
    let mut command = tree.command(tree.python());
    command.arg("xtask/src/soak/picture.py").arg(out);
    run::run(&mut command)
}

/// A seed from the clock.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| now.as_micros() as u64 % 1_000_000_000)
}
