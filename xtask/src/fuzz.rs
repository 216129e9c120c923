//! The fuzz targets in `fuzz/`, two at a time.
//!
//! The folder has cargo-fuzz's layout, but neither cargo-fuzz nor the nightly compiler is needed: the stable compiler has the
//! sanitizer and the coverage pass, and the flags here are the flags of cargo-fuzz for rustc. Inputs that reach new code are
//! kept in the build folder, so that the next run continues from there; a small set of them is in `fuzz/corpus`, and inputs that
//! once crashed a target are in `fuzz/regressions`. Both are tried first.

use crate::tree::Tree;
use crate::{instrument, run, show};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The flags of cargo-fuzz, except one codegen unit per crate, which compiles more slowly: coverage for libFuzzer, and
/// AddressSanitizer. The last flag lets instrumented crates use the prebuilt standard library.
const FLAGS: [&str; 11] = [
    "--cfg",
    "fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Zsanitizer=address",
    "-Cunsafe-allow-abi-mismatch=sanitizer",
];
/// The instrumented packages besides the library.
const PACKAGES: [&str; 2] = ["nvshmemrs-abi", "nvshmemrs-fuzz"];

/// A target with fewer executions per second counts as not fuzzed. The slowest target, `peer`, makes 50 on a busy machine.
const LEAST_PER_SECOND: u64 = 5;

/// How many targets run at a time. A target does most of its work on one thread.
const LANES: usize = 2;

/// The options of a run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long, for all targets together
    #[arg(long, default_value = "60")]
    seconds: u64,
    /// Only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Executions of each target, if they are over before the time is
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Only this input, as a crash has left it; needs --target
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
}

impl Args {
    /// All targets, for so many seconds.
    pub(crate) fn of_seconds(seconds: u64) -> Args {
        Args {
            seconds,
            target: None,
            runs: None,
            input: None,
        }
    }
}

/// The result of a target.
pub(crate) struct Fuzzed {
    /// The target's name.
    pub(crate) target: String,
    /// The number of executions, or the error.
    pub(crate) outcome: Result<u64>,
}

/// Builds the targets and runs them.
pub(crate) fn fuzz(tree: &Tree, args: &Args) -> Result<Vec<Fuzzed>> {
    let all = targets(tree)?;
    let chosen: Vec<String> = match &args.target {
        None => all,
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => bail!(
            "there is no fuzz target {name}; there are {}",
            all.join(", ")
        ),
    };
    let folder = build(tree)?;
    if let Some(input) = &args.input {
        run::run(target(tree, &folder.join(&chosen[0])).arg(input))?;
        println!("{} gets through {}", chosen[0], input.display());
        return Ok(Vec::new());
    }
    let lanes = LANES.min(chosen.len());
    let each = args.seconds * lanes as u64 / chosen.len() as u64;
    let each = Duration::from_secs(each.max(1));
    let rest = Mutex::new(chosen.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one = |name: String| {
        let started = Instant::now();
        let outcome = fuzz_one(tree, &folder, &name, each, args.runs);
        if let Ok(runs) = &outcome {
            let seconds = started.elapsed().as_secs_f64();
            show::line(format_args!(
                "fuzz {name:<12} {runs:>9} executions in {seconds:>6.1} s, no crash"
            ));
        }
        Fuzzed {
            target: name,
            outcome,
        }
    };
    let lane = || std::iter::from_fn(next).map(one).collect::<Vec<_>>();
    let mut fuzzed: Vec<Fuzzed> = thread::scope(|scope| {
        let start = |_| {
            let kept = show::kept();
            scope.spawn(move || show::into(kept, lane))
        };
        let lanes: Vec<_> = (0..lanes).map(start).collect();
        let ended = lanes.into_iter().map(|lane| lane.join());
        ended
            .flat_map(|lane| lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    fuzzed.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(fuzzed)
}

/// Prints the sum; fails if a target has crashed.
pub(crate) fn sum(fuzzed: Vec<Fuzzed>) -> Result<()> {
    let mut total = 0;
    let mut failed = Vec::new();
    for Fuzzed { target, outcome } in fuzzed {
        match outcome {
            Ok(runs) => total += runs,
            Err(error) => failed.push(format!("{target}: {error:#}")),
        }
    }
    if total > 0 {
        show::line(format_args!("fuzz: {total} executions in all"));
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// The names of the targets.
fn targets(tree: &Tree) -> Result<Vec<String>> {
    let folder = tree.root.join("fuzz/targets");
    let list =
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in list {
        let path = entry?.path();
        if let (Some(stem), Some(true)) = (path.file_stem(), path.extension().map(|e| e == "rs")) {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Builds all targets; returns their folder.
fn build(tree: &Tree) -> Result<PathBuf> {
    let packages = [&instrument::LIBRARY[..], &PACKAGES].concat();
    let mut cargo = instrument::cargo(tree, "build", &packages, &FLAGS)?;
    cargo
        .arg("--manifest-path")
        .arg(tree.root.join("fuzz/Cargo.toml"));
    run::run(&mut cargo)?;
    instrument::built(tree)
}

/// A built target, in an environment without settings.
fn target(tree: &Tree, program: &Path) -> Command {
    let mut command = tree.command(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NVSHMEM") {
            command.env_remove(name);
        }
    }
    command.env("ASAN_OPTIONS", "detect_odr_violation=0");
    command
}

/// Runs a target; returns the number of executions.
fn fuzz_one(
    tree: &Tree,
    folder: &Path,
    name: &str,
    time: Duration,
    runs: Option<u64>,
) -> Result<u64> {
    let found = tree.root.join("fuzz/found");
    fs::create_dir_all(&found).with_context(|| format!("cannot make {}", found.display()))?;
    let corpus = tree.scratch("fuzz-corpus")?.join(name);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let log = tree.scratch("fuzz-logs")?.join(format!("{name}.log"));
    let mut command = target(tree, &folder.join(name));
    command
        .arg(format!("-max_total_time={}", time.as_secs()))
        .arg(format!(
            "-artifact_prefix={}",
            found.join(format!("{name}-")).display()
        ))
        .args([
            "-max_len=1024",
            "-timeout=20",
            "-rss_limit_mb=3072",
            "-print_final_stats=1",
        ]);
    if let Some(runs) = runs {
        command.arg(format!("-runs={runs}"));
    }
    if name.ends_with("_checked") {
        // The checker writes its findings to standard error. libFuzzer's own output is kept.
        command.arg("-close_fd_mask=2");
    }
    let kept = ["corpus", "regressions"].map(|kind| tree.root.join("fuzz").join(kind).join(name));
    let mut known = 0;
    for folder in [&corpus].into_iter().chain(&kept) {
        if folder.is_dir() {
            known += inputs(folder)?;
            command.arg(folder);
        }
    }
    let least = least(known, time, runs);
    command.stderr(File::create(&log).with_context(|| format!("cannot make {}", log.display()))?);
    let shown = run::tee(&mut command, time + run::LIMIT)?;
    let text = fs::read_to_string(&log).unwrap_or_default();
    if let Err(error) = shown.outcome {
        let tail: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let from = tail.len().saturating_sub(60);
        bail!(
            "{error}\n{}\nthe input is kept as the last lines say; `cargo xtask fuzz --target {name} --input FILE` \
             repeats it; once it is mended it belongs into fuzz/regressions/{name}/",
            tail[from..].join("\n")
        );
    }
    let done: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .and_then(|number| number.trim().parse().ok())
        .with_context(|| {
            format!(
                "{name} did not say how many inputs it ran; see {}",
                log.display()
            )
        })?;
    ensure!(
        done >= least,
        "{name} ran {done} inputs, and should at least have run {least}; see {}",
        log.display()
    );
    Ok(done)
}

/// The number of inputs in a folder; libFuzzer ignores empty files.
fn inputs(folder: &Path) -> Result<u64> {
    let list = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut count = 0;
    for entry in list {
        let about = entry?.metadata()?;
        count += u64::from(about.is_file() && about.len() > 0);
    }
    Ok(count)
}

/// The minimum number of executions of a target: every known input, and more if there is time.
fn least(known: u64, time: Duration, runs: Option<u64>) -> u64 {
    let in_time = time.as_secs() * LEAST_PER_SECOND;
    known.max(in_time.min(runs.unwrap_or(u64::MAX))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_tries_what_is_known_and_more_if_there_is_time() {
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(least(34, short, None), 34);
        assert_eq!(least(34, long, None), 300);
        // Known inputs are tried even if fewer executions were requested.
        assert_eq!(least(34, long, Some(100)), 100);
        assert_eq!(least(34, long, Some(1)), 34);
        assert_eq!(least(0, short, Some(0)), 1);
    }

    #[test]
    fn empty_inputs_and_folders_do_not_count() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/peer");
        assert!(inputs(&folder).unwrap() >= 20);
        assert_eq!(inputs(folder.parent().unwrap()).unwrap(), 0);
        assert!(inputs(Path::new("/nowhere")).is_err());
    }
}
