//! `--hosts`: the cost of operations on remote PEs, on one machine that simulates several hosts, measured in turn with MPI.

use crate::args::Args;
use crate::machine::Machine;
use crate::process;
use crate::side::{Installation, Peer, Side};
use crate::stats::median;
use crate::worker::Sources;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The source of the program, for nvshmemrs and for MPI.
const SOURCE: &str = include_str!("../worker/hosts.c");

/// The time limit of a compiler.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// The measurements by job and figure.
type Figures = BTreeMap<(&'static str, String), Vec<f64>>;

/// A job: its name, the argument of its program, and the hosts of its PEs; without hosts, an MPI job with `mpi` processes.
struct Job {
    name: &'static str,
    what: &'static str,
    hosts: &'static [(&'static str, u32)],
    mpi: u32,
}

impl Job {
    const fn mpi(name: &'static str, what: &'static str, mpi: u32) -> Job {
        Job {
            name,
            what,
            hosts: &[],
            mpi,
        }
    }

    const fn ours(
        name: &'static str,
        what: &'static str,
        hosts: &'static [(&'static str, u32)],
    ) -> Job {
        Job {
            name,
            what,
            hosts,
            mpi: 0,
        }
    }
}

/// The jobs in the order of a round.
const JOBS: &[Job] = &[
    Job::mpi("MPI, 2", "pair", 2),
    Job::mpi("MPI, 2, with threads", "threads", 2),
    Job::ours("1 + 1", "pair", &[("a", 1), ("b", 1)]),
    Job::mpi("MPI, 4", "all", 4),
    Job::ours("2 + 2", "all", &[("a", 2), ("b", 2)]),
    Job::ours("2 + 1", "near", &[("a", 2), ("b", 1)]),
    Job::ours("2", "near", &[("a", 2)]),
];

/// A row of the table: its label, the figure, the reference figure, and the maximum ratio.
struct Row {
    what: &'static str,
    ours: (&'static str, &'static str),
    beside: (&'static str, &'static str),
    limit: f64,
    words: &'static str,
}

const ROUND_TRIP: (&str, &str) = ("MPI, 2", "round_trip");
/// The reference with an MPI thread level that lets several threads call, one at a time, as the plugin does.
const WITH_THREADS: (&str, &str) = ("MPI, 2, with threads", "round_trip");
#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { what: "put 8 B, quiet", ours: ("1 + 1", "put"), beside: ROUND_TRIP, limit: 2.0, words: "a round trip of MPI" },
    Row { what: "get 8 B", ours: ("1 + 1", "get"), beside: ROUND_TRIP, limit: 2.0, words: "a round trip of MPI" },
    Row { what: "fetch_add", ours: ("1 + 1", "fetch_add"), beside: ROUND_TRIP, limit: 2.0, words: "a round trip of MPI" },
    Row { what: "put 4 MiB, quiet", ours: ("1 + 1", "large"), beside: ("MPI, 2", "large"), limit: 1.25, words: "MPI_Send of 4 MiB, answered" },
    Row { what: "1,000 put_nbi of 8 B, quiet", ours: ("1 + 1", "many"), beside: ROUND_TRIP, limit: 300.0, words: "a round trip of MPI" },
    Row { what: "barrier, 2 hosts x 2 PEs", ours: ("2 + 2", "barrier"), beside: ("MPI, 4", "barrier"), limit: 2.5, words: "MPI_Barrier" },
    Row { what: "sum of 1, 2 hosts x 2 PEs", ours: ("2 + 2", "reduce"), beside: ("MPI, 4", "reduce"), limit: 2.5, words: "MPI_Allreduce" },
    Row { what: "put 8 B to the own host, quiet", ours: ("2 + 1", "near_put"), beside: ("2", "near_put"), limit: 1.1, words: "the same in a job on one host" },
    Row { what: "barrier of the own host", ours: ("2 + 1", "near_barrier"), beside: ("2", "near_barrier"), limit: 1.1, words: "the same in a job on one host" },
];

/// Measures, and returns the page.
pub(crate) fn page(args: &Args, command: &str) -> Result<String> {
    let installation = Installation::find()?;
    let sides = [Side::Ours(installation), Side::Peer(Peer::Mpi)];
    sides.iter().try_for_each(Side::check)?;
    let sources = Sources::write()?;
    let folder = sources.folder();
    std::fs::write(folder.join("hosts.c"), SOURCE).context("cannot write hosts.c")?;
    let ours = compile(folder, &sides[0], &[])?;
    let mpi = compile(folder, &sides[1], &["-DWITH_MPI"])?;
    let calls = if args.quick { "50" } else { "1000" };
    let mut figures = Figures::new();
    for _ in 0..args.rounds() {
        for job in JOBS {
            let program = if job.hosts.is_empty() { &mpi } else { &ours };
            let finished = process::run(&mut launch(job, program, calls), args.limit())?;
            if !finished.success() {
                bail!("the job \"{}\" {}", job.name, finished.describe());
            }
            for (name, us) in finished.stdout.lines().filter_map(figure) {
                figures.entry((job.name, name)).or_default().push(us);
            }
        }
    }
    table(
        &figures,
        &Machine::gather(Some(Peer::Mpi)),
        args.rounds(),
        command,
    )
}

fn compile(folder: &Path, side: &Side, options: &[&str]) -> Result<PathBuf> {
    let program = folder.join(format!("hosts-{}", side.name().to_lowercase()));
    let mut compiler = side.compiler();
    compiler.current_dir(folder).args(options).arg("hosts.c");
    compiler.arg("-o").arg(&program).args(side.libraries());
    let finished = process::run(&mut compiler, COMPILE_LIMIT)?;
    match finished.success() {
        true => Ok(program),
        false => bail!("the compiler {}", finished.describe()),
    }
}

fn launch(job: &Job, program: &Path, calls: &str) -> Command {
    let mut command = Command::new("mpirun");
    // Oversubscription is due to the simulation, so no warning is needed.
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
    ]);
    let own = [("", job.mpi)];
    let parts = if job.hosts.is_empty() {
        &own[..]
    } else {
        job.hosts
    };
    for (index, (host, n)) in parts.iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        command.args(["-n", &n.to_string()]);
        if !host.is_empty() {
            command.args(["-x", &format!("NVSHMEMRS_HOST_ID={host}")]);
        }
        command.arg(program).args([calls, job.what]);
    }
    command.env("NVSHMEM_SYMMETRIC_SIZE", "64m");
    command
}

/// Parses a line of the program: a name, and microseconds.
fn figure(line: &str) -> Option<(String, f64)> {
    let (name, us) = line.split_once(' ')?;
    Some((name.to_owned(), us.parse().ok()?))
}

fn table(figures: &Figures, machine: &Machine, rounds: u32, command: &str) -> Result<String> {
    let us = |(job, name): (&'static str, &str)| {
        let all = figures.get(&(job, name.to_owned()));
        let median = all.and_then(|all| median(all));
        median.with_context(|| format!("the job \"{job}\" has not measured {name}"))
    };
    let mut page = format!(
        "# PEs of other hosts\n\nThis machine plays the hosts. The PEs reach each other over MPI, as on others. Each figure is the\n\
         median of {rounds} rounds, in microseconds.\n\n* machine: {}, {} cores, Linux {}\n* {}\n* date: {}\n* command: `{command}`\n\n",
        machine.processor,
        machine.cores,
        machine.kernel,
        machine.peer.as_deref().unwrap_or("MPI of unknown version"),
        machine.date
    );
    page += "| work | nvshmemrs us | beside it us | which is | ratio | at most |\n|---|---|---|---|---|---|\n";
    for row in ROWS {
        let (ours, beside) = (us(row.ours)?, us(row.beside)?);
        writeln!(
            page,
            "| {} | {ours:.2} | {beside:.2} | {} | {:.2} | {} |",
            row.what,
            row.words,
            ours / beside,
            row.limit
        )?;
    }
    let (alone, threads) = (us(ROUND_TRIP)?, us(WITH_THREADS)?);
    writeln!(
        page,
        "\nnvshmemrs initialises MPI with MPI_THREAD_SERIALIZED. With that, MPI's own round trip takes\n\
         {threads:.2} us, {:.2} times as long as without threads.",
        threads / alone
    )?;
    // A network thread for each PE, and a core for each MPI process.
    if machine.cores < 16 {
        page += "\nThe limits are for machines with 16 cores or more. With fewer, PEs and network threads share cores, and a wait is as \
                 long as the time slices of others. MPI spins while it waits, which costs it more there.\n";
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_measured() {
        let both = ROWS.iter().flat_map(|row| [row.ours, row.beside]);
        for (job, name) in both.chain([WITH_THREADS]) {
            assert!(JOBS.iter().any(|one| one.name == job), "{job}");
            assert!(SOURCE.contains(&format!("measure(\"{name}\"")), "{name}");
        }
    }

    #[test]
    fn lines_are_read() {
        assert_eq!(figure("put 1.5"), Some(("put".into(), 1.5)));
        assert_eq!(figure("PE 1 of 2"), None);
    }
}
