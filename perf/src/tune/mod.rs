//! `nvshmemrs-perf --tune`: measures which algorithm, and which geometry of it, does each collective on this machine's GPUs, and writes
//! the tuning file that the library reads.
//!
//! * [`pe`]: a PE of the job that measures. PE 0 prints a line for each variant.
//! * [`choose`]: what the lines come to: rows of the file, and a table for people.

mod choose;
pub(crate) mod pe;

use crate::args::Args;
use crate::machine::Machine;
use crate::process;
use crate::side::Installation;
use anyhow::{Context, Result, bail};
use nvshmemrs::tuning::{Link, TuningFile, file::user_path};
use nvshmemrs::{config, gpus};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What PE 0 says first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Machinery {
    gpu: String,
    link: Link,
    n_pes: u32,
    /// The most blocks of a collective.
    blocks: u32,
}

/// A variant of a collective, measured and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    collective: String,
    /// Of the whole buffer.
    bytes: u64,
    /// Of the message, or of a part where there is a part per member: what a row of the file goes by.
    part: u64,
    algorithm: nvshmemrs::tuning::Algorithm,
    blocks: u32,
    threads: u32,
    chunk: u32,
    /// Whether it is the one that the library takes without a file.
    default: bool,
    /// Microseconds of one call: the median of the rounds.
    us: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Machinery(Machinery),
    Measured(Measured),
}

/// Measures with each number of PEs in turn, and writes the file after each.
pub(crate) fn tune(args: &Args) -> Result<String> {
    let path = path(args)?;
    let mut file = earlier(&path)?;
    check_gpus()?;
    let mut text = format!("{}\n", Machine::gather(None).line());
    for &n_pes in &args.n_pes {
        let (machinery, lines) = measured(args, n_pes)?;
        let written = format!(
            "nvshmemrs-perf {} --tune, {}",
            env!("CARGO_PKG_VERSION"),
            Machine::gather(None).date
        );
        let choices = choose::choose(&lines);
        let table = choose::table(&machinery, &choices, written);
        text += &choose::text(&machinery, &choices);
        file.put(table.clone());
        let one = TuningFile {
            tables: vec![table],
        };
        write(&path, &file)?;
        text += &format!("\nWritten to {}:\n{}", path.display(), one.text());
    }
    Ok(text)
}

/// Where the file goes: where the library looks for it, unless somebody says otherwise.
fn path(args: &Args) -> Result<PathBuf> {
    let set = config::tuning_file().filter(|name| name != "none");
    let path = args
        .tune_file
        .clone()
        .or_else(|| set.map(PathBuf::from))
        .or_else(user_path);
    path.context("neither XDG_CONFIG_HOME nor HOME is set: name the file with --tune-file")
}

/// What the file has so far.
fn earlier(path: &Path) -> Result<TuningFile> {
    match fs::read_to_string(path) {
        Ok(text) => match TuningFile::parse(&text) {
            Ok(file) => Ok(file),
            Err(why) => bail!(
                "{}: {why}; remove it, or name another one with --tune-file",
                path.display()
            ),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TuningFile::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes the file in one step, so that no job reads half of it.
fn write(path: &Path, file: &TuningFile) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut new = tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    std::io::Write::write_all(&mut new, file.text().as_bytes())?;
    new.persist(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

fn check_gpus() -> Result<()> {
    let seen = gpus::survey()?;
    if let Err(why) = &seen.cuda {
        bail!("--tune measures GPUs, but there is no driver for them: {why}");
    }
    if seen.gpus.is_empty() {
        bail!(
            "--tune measures GPUs, but this process sees none: look at `nvidia-smi` and CUDA_VISIBLE_DEVICES"
        );
    }
    Ok(())
}

/// Runs the job that measures, and reads what its PE 0 says.
fn measured(args: &Args, n_pes: u32) -> Result<(Machinery, Vec<Measured>)> {
    let program = env::current_exe().context("cannot find the place of this program")?;
    let mut command = Installation::find()?.launch(n_pes);
    command.arg(program).args(["--tune", "--tune-pe"]);
    command.args(["--rounds", &args.tune_rounds().to_string()]);
    let sizes: Vec<String> = args.tune_sizes().iter().map(u64::to_string).collect();
    command.args(["--sizes", &sizes.join(",")]);
    command.env("NVSHMEMRS_TUNING_FILE", "none");
    let finished = process::run(&mut command, args.limit())?;
    if !finished.success() {
        bail!("the job with {n_pes} PEs {}", finished.describe());
    }
    let mut machinery = None;
    let mut lines = Vec::new();
    for line in finished.stdout.lines() {
        let line = serde_json::from_str(line);
        match line.with_context(|| format!("the job says {:?}", finished.stdout))? {
            Line::Machinery(said) => machinery = Some(said),
            Line::Measured(measured) => lines.push(measured),
        }
    }
    let machinery = machinery.context("the job does not say which GPU it has")?;
    Ok((machinery, lines))
}
