//! Calls from Python beside mpi4py's: `bindings/python/bench/beside_mpi4py.py`, run with each library in turn.

use crate::args::Args;
use crate::machine::Machine;
use crate::process;
use crate::python::nanoseconds;
use crate::side::{Installation, Peer, Side};
use crate::stats::median;
use crate::worker::Sources;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SCRIPT: &str = include_str!("../../bindings/python/bench/beside_mpi4py.py");

/// The time limit for finding the packages.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// The names of the calls in the script, and the calls themselves.
const ROWS: [(&str, &str, &str); 8] = [
    ("put, complete", "`put`, `quiet`", "`Put`, `Flush`"),
    (
        "put to a new view, complete",
        "`put(a[2:3], ...)`, `quiet`",
        "`Put` with a displacement, `Flush`",
    ),
    ("get", "`get`", "`Get`, `Flush`"),
    (
        "one element written, complete",
        "`p`, `quiet`",
        "`a[0] = x`, `Put`, `Flush`",
    ),
    ("one element read", "`g`", "`Get`, `Flush`, `a[0]`"),
    (
        "atomic fetch and add",
        "`atomic_fetch_add`",
        "`Fetch_and_op`, `Flush`",
    ),
    ("sum over all", "`reduce`", "`Allreduce`"),
    ("barrier", "`barrier_all`", "`Barrier`"),
];

/// Measures, and returns the page.
pub(crate) fn page(args: &Args, command: &str) -> Result<String> {
    let installation = Installation::find()?;
    let mpi = Side::Peer(Peer::Mpi);
    mpi.check()?;
    let python = args.python.as_deref().unwrap_or(Path::new("python3"));
    for package in ["nvshmemrs.core", "mpi4py.MPI"] {
        let mut look = Command::new(python);
        let found = process::run(look.args(["-c", &format!("import {package}")]), LOOK_LIMIT)?;
        if !found.success() {
            let name = python.display();
            bail!(
                "{name} cannot import {package}, so name a Python that can with --python; it {}",
                found.describe()
            );
        }
    }
    let sources = Sources::write()?;
    let script = sources.folder().join("beside_mpi4py.py");
    fs::write(&script, SCRIPT).with_context(|| format!("cannot write {}", script.display()))?;
    let mut times = [(); ROWS.len()].map(|()| [Vec::new(), Vec::new()]);
    for _ in 0..args.rounds() {
        let mut bound = mpi.launch(2);
        bound.args(["--bind-to", "core:overload-allowed"]);
        let sides = [(installation.launch(2), "nvshmemrs"), (bound, "mpi4py")];
        for (side, (mut job, name)) in sides.into_iter().enumerate() {
            let job = job.arg(python).arg(&script).arg(name);
            let finished = process::run(job, args.limit())?;
            if !finished.success() {
                bail!("beside_mpi4py.py {name} {}", finished.describe());
            }
            for (row, times) in ROWS.iter().zip(&mut times) {
                let time = nanoseconds(&finished.stdout, row.0);
                let time = time.with_context(|| format!("{name} measured no {}", row.0))?;
                times[side].push(time);
            }
        }
    }
    table(
        &times,
        &Machine::gather(Some(Peer::Mpi)),
        args.rounds(),
        command,
    )
}

fn table(times: &[[Vec<f64>; 2]], machine: &Machine, rounds: u32, command: &str) -> Result<String> {
    let mut page = format!(
        "# Calls from Python, beside mpi4py\n\n8 bytes between 2 PEs, each bound to its cores. Each figure is the median of {rounds} rounds, in\n\
         nanoseconds of a call.\n\n* machine: {}, {} cores, Linux {}\n* {}\n* date: {}\n* command: `{command}`\n\n",
        machine.processor,
        machine.cores,
        machine.kernel,
        machine.peer.as_deref().unwrap_or("MPI of unknown version"),
        machine.date
    );
    page += "| nvshmemrs | ns | mpi4py | ns | ratio |\n|---|---|---|---|---|\n";
    for ((_, ours, theirs), times) in ROWS.iter().zip(times) {
        let [Some(our), Some(their)] = [median(&times[0]), median(&times[1])] else {
            bail!("there was no round");
        };
        let ratio = our / their;
        writeln!(
            page,
            "| {ours} | {our:.0} | {theirs} | {their:.0} | {ratio:.2} |"
        )?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_the_script_have_every_row() {
        for (name, ..) in ROWS {
            assert_eq!(
                SCRIPT.matches(&format!("        \"{name}\":")).count(),
                2,
                "{name}"
            );
        }
        assert_eq!(SCRIPT.matches("        \"").count(), 2 * ROWS.len());
    }

    #[test]
    fn rows_have_both_times_and_their_ratio() {
        let times = [(); ROWS.len()].map(|()| [vec![100.0, 300.0, 200.0], vec![400.0]]);
        let page = table(&times, &Machine::gather(None), 3, "x").expect("a page");
        assert!(
            page.contains("| `reduce` | 200 | `Allreduce` | 400 | 0.50 |"),
            "{page}"
        );
        let none = [(); ROWS.len()].map(|()| [vec![], vec![]]);
        assert!(table(&none, &Machine::gather(None), 0, "x").is_err());
    }
}
