//! `nvshmemrs-perf --tune`: finds the fastest algorithm and geometry of each collective on this machine's GPUs, and writes the
//! tuning file that the library reads.
//!
//! * [`cases`]: the cases. The program `perf/gpu/tune.c` measures them: the bundle has it as `gpu-tune`; otherwise it is compiled
//!   here.
//! * [`choose`]: the results: rows of the file, and a table.

mod cases;
mod choose;

use crate::args::Args;
use crate::machine::Machine;
use crate::process;
use crate::side::{Installation, Side};
use crate::worker::Sources;
use anyhow::{Context, Result, bail};
use nvshmemrs::tuning::{self, Choice, Link, TuningFile, user_path};
use nvshmemrs::{Operation, config, gpus};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The machine that is tuned.
#[derive(Debug)]
struct Machinery {
    gpu: String,
    link: Link,
    n_pes: u32,
    /// The maximum number of blocks of a collective.
    blocks: u32,
}

/// A variant of a collective, measured and checked.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    collective: Operation,
    /// Bytes of the whole buffer.
    bytes: u64,
    /// Bytes of the message, or of the part of a member: the size in a row of the file.
    part: u64,
    choice: Choice,
    /// Whether the library chooses it without a file.
    default: bool,
    /// Microseconds of one call.
    us: Medians,
}

/// The median over all rounds, and over each half of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Medians {
    all: f64,
    halves: [f64; 2],
}

impl Medians {
    /// Parses the times in a line of the program.
    fn read(line: &str) -> Option<Medians> {
        let numbers: Option<Vec<f64>> = line.split(' ').map(|word| word.parse().ok()).collect();
        match numbers?[..] {
            [all, one, other] => Some(Medians {
                all,
                halves: [one, other],
            }),
            _ => None,
        }
    }
}

/// Measures with each number of PEs in turn, and updates the file after each.
pub(crate) fn tune(args: &Args) -> Result<String> {
    let path = path(args)?;
    let mut file = earlier(&path)?;
    let gpus = look()?;
    let sources = Sources::write()?;
    let program = program(&sources)?;
    let mut text = format!("{}\n", Machine::gather(None).line());
    for &n_pes in &args.n_pes {
        let machinery = gpus.machinery(n_pes)?;
        let lines = measured(args, &machinery, &sources, &program)?;
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

/// The path of the file: by default the path that the library reads.
fn path(args: &Args) -> Result<PathBuf> {
    let set = config::tuning_file().filter(|name| name != "none");
    let path = args
        .tune_file
        .clone()
        .or_else(|| set.map(PathBuf::from))
        .or_else(user_path);
    path.context("neither XDG_CONFIG_HOME nor HOME is set: name the file with --tune-file")
}

/// The present contents of the file.
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

/// Writes the file atomically, so that no job reads a part of it.
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

/// The GPUs of this machine.
struct Gpus {
    model: String,
    count: usize,
    multiprocessors: i32,
}

/// Surveys the GPUs; an error unless there are GPUs, all of one model.
fn look() -> Result<Gpus> {
    let seen = gpus::survey()?;
    if let Err(why) = &seen.cuda {
        bail!("--tune measures GPUs, but there is no driver for them: {why}");
    }
    let mut facts = Vec::new();
    for gpu in &seen.gpus {
        match &gpu.facts {
            Ok(known) => facts.push(known),
            Err(why) => bail!("--tune measures GPUs: {why}"),
        }
    }
    let Some(first) = facts.first() else {
        bail!(
            "--tune measures GPUs, but this process sees none: look at `nvidia-smi` and CUDA_VISIBLE_DEVICES"
        );
    };
    if let Some(other) = facts.iter().find(|other| other.name != first.name) {
        bail!(
            "--tune measures GPUs of one model, and this process sees {} and {}: CUDA_VISIBLE_DEVICES chooses",
            first.name,
            other.name
        );
    }
    Ok(Gpus {
        model: first.name.clone(),
        count: facts.len(),
        multiprocessors: first.multiprocessors,
    })
}

impl Gpus {
    fn machinery(&self, n_pes: u32) -> Result<Machinery> {
        Ok(Machinery {
            gpu: self.model.clone(),
            link: if self.count == 1 {
                Link::Shared
            } else {
                Link::Nvlink
            },
            n_pes,
            blocks: tuning::most_blocks(self.multiprocessors)?,
        })
    }
}

/// The measuring program: beside this program, else compiled here.
fn program(sources: &Sources) -> Result<PathBuf> {
    let beside = env::current_exe().context("cannot find the place of this program")?;
    let beside = beside.with_file_name("gpu-tune");
    if beside.is_file() {
        return Ok(beside);
    }
    let side = Side::Ours(Installation::find()?);
    side.check()?;
    let program = sources.folder().join("gpu-tune");
    let mut command = side.compiler();
    command.args(["-I.", "tune.c", "-o"]);
    command.arg(&program).args(side.libraries()).arg("-ldl");
    sources.compile(&mut command, "the program that measures GPUs")?;
    Ok(program)
}

/// Runs the measuring job, and reads the times that its PE 0 prints.
fn measured(
    args: &Args,
    machinery: &Machinery,
    sources: &Sources,
    program: &Path,
) -> Result<Vec<Measured>> {
    let cases = cases::all(machinery, &args.tune_sizes());
    let file = sources.folder().join("cases");
    fs::write(&file, cases::lines(&cases)).context("cannot write the cases")?;
    let mut command = Installation::find()?.launch(machinery.n_pes);
    command.arg(program).arg(&file);
    command.args([cases::most(&cases), args.tune_rounds().into()].map(|number| number.to_string()));
    command.env("NVSHMEMRS_TUNING_FILE", "none");
    let finished = process::run(&mut command, args.limit())?;
    if !finished.success() {
        bail!(
            "the job with {} PEs {}",
            machinery.n_pes,
            finished.describe()
        );
    }
    let times: Option<Vec<Medians>> = finished.stdout.lines().map(Medians::read).collect();
    times
        .and_then(|times| cases::measured(&cases, &times))
        .with_context(|| format!("the job's output is not as expected: {:?}", finished.stdout))
}
