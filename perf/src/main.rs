//! `nvshmemrs-perf`: latency and bandwidth of every operation, alone or beside OpenSHMEM or MPI.
//!
//! The worker (`worker/`), a C program, does the measuring: one source, compiled at run time against each library through a
//! header of its own. This program
//!
//! * knows the operations ([`catalogue`]) and the command line ([`args`]),
//! * compiles the worker for each [`side`] and reads its output ([`worker`], [`process`](mod@process)),
//! * lets the sides take turns ([`measure`](mod@measure), [`growth`], [`hosts`], [`startup`], [`python`],
//!   [`beside_python`]) and takes medians ([`stats`]),
//! * finds the fastest algorithms of collectives on GPUs ([`tune`](mod@tune)),
//! * compares with the [`targets`] and presents ([`report`], [`tables`], [`picture`], [`machine`]).

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod beside_python;
mod catalogue;
mod growth;
mod hosts;
mod machine;
mod measure;
mod picture;
mod process;
mod python;
mod report;
mod side;
mod startup;
mod stats;
mod tables;
mod targets;
mod tune;
mod worker;

use anyhow::{Context, Result};
use args::{Args, PeerName};
use machine::Machine;
use nvshmemrs_cli::{console, pages};
use report::{Figure, Report};
use side::{Installation, Side};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use worker::{Sources, Worker};

fn main() -> ExitCode {
    console::survive_writes();
    let args: Args = match pages::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(status) => return status,
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        // The status that a shell reports for Ctrl-C.
        Err(_) if process::stopped() => {
            console::error("nvshmemrs-perf: stopped by a signal");
            ExitCode::from(130)
        }
        Err(error) => {
            console::error(format_args!("nvshmemrs-perf: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if args.list {
        return print(&catalogue::list());
    }
    args.check()?;
    if args.tune {
        process::end_children_on_signals()?;
        return print(&tune::tune(args)?);
    }
    let with_mpi4py = args.peer == Some(PeerName::Mpi4py);
    if args.hosts || with_mpi4py {
        process::end_children_on_signals()?;
        let page = match with_mpi4py {
            true => beside_python::page(args, &command())?,
            false => hosts::page(args, &command())?,
        };
        if let Some(file) = &args.markdown {
            write(file, &page)?;
        }
        return print(&page);
    }
    let chunks = match (args.targets, args.growth) {
        (true, _) => measure::plan_targets()?,
        (_, true) => growth::plan(args)?,
        _ => measure::plan(args)?,
    };
    picture::check(args, &chunks)?;
    process::end_children_on_signals()?;
    let report = measured(args, &chunks)?;
    let printed = print(&tables::text(&report));
    if let Some(file) = &args.json {
        write(file, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    if let Some(file) = &args.picture {
        write(file, &picture::draw(&report)?)?;
    }
    if let Some(file) = &args.markdown {
        let picture = args.picture.as_deref().map(|picture| beside(picture, file));
        write(file, &tables::markdown(&report, picture.as_deref()))?;
    }
    // The files are written even if the tables could not be printed.
    printed
}

/// Compiles, measures and judges.
fn measured(args: &Args, chunks: &[measure::Chunk]) -> Result<Report> {
    let installation = Installation::find()?;
    let mut sides = vec![Side::Ours(installation.clone())];
    sides.extend(args.library().map(Side::Peer));
    // Missing programs are reported before anything takes time.
    sides.iter().try_for_each(Side::check)?;
    let sources = Sources::write()?;
    let workers: Vec<Worker> = sides
        .into_iter()
        .map(|side| Worker::compile(&sources, side))
        .collect::<Result<_>>()?;
    let mut rows = measure::measure(chunks, &workers, args)?;
    if args.library() == Some(side::Peer::Oshmem) && !args.growth {
        measure::judge(&mut rows);
    }
    let mut absolute = Vec::new();
    let mut notes = Vec::new();
    if args.targets || args.startup {
        absolute.extend(startup::measure(&workers, args)?);
    }
    if args.targets {
        match python::measure(&installation, &sources, args)? {
            Ok(figures) => absolute.extend(figures),
            Err(why) => notes.push(why),
        }
    }
    notes.extend(unsound(&rows));
    let machine = Machine::gather(args.library());
    let (operations, growth) = if args.growth {
        (Vec::new(), rows)
    } else {
        (rows, Vec::new())
    };
    if args.growth {
        notes.extend(growth::note(args.max_pes, machine.cores));
    }
    Ok(Report {
        machine,
        command: command(),
        rounds: args.rounds(),
        reduction: format!("{} of {}", args::name(args.op), args::name(args.dtype)),
        peer: workers.get(1).map(|worker| worker.side.name()),
        operations,
        growth,
        absolute,
        notes,
    })
}

/// A message about operations of the peer that could not be compared.
fn unsound(rows: &[report::Row]) -> Option<String> {
    let bad = |row: &&report::Row| matches!(row.peer, Some(Figure::Wrong | Figure::Failed));
    let mut names: Vec<&str> = rows
        .iter()
        .filter(bad)
        .map(|row| row.operation.name)
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "the peer gave wrong results, or failed, in {}: not compared, and no target judged",
            names.join(", ")
        )
    })
}

/// The command line as typed.
fn command() -> String {
    let arguments = std::env::args().skip(1);
    std::iter::once("nvshmemrs-perf".to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The picture's name in a page: relative if both are in one folder.
fn beside(picture: &Path, page: &Path) -> String {
    let name = picture
        .file_name()
        .filter(|_| picture.parent() == page.parent());
    name.map_or_else(|| picture.to_string_lossy(), |name| name.to_string_lossy())
        .into_owned()
}

fn print(text: &str) -> Result<()> {
    console::print(text).context("cannot write to standard output")
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
