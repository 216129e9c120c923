//! `cargo xtask bench peers`: nvshmemrs beside Open MPI's OSHMEM on this machine. Machines are noisy, so both
//! sides run the same loops in turn, several times, and medians are compared.

mod programs;
mod report;

use crate::setup::{self, Purpose};
use crate::tree::Tree;
use anyhow::{Context, Result};
use programs::Programs;
use report::{Absolute, Figure, Report};
use std::path::Path;

/// The numbers of PEs that the operations are timed with.
const N_PES: &[u32] = &[2, 4, 8];

/// Measures, prints the tables, and writes the figures to `json` if asked. Missing a target is no failure.
pub(crate) fn peers(tree: &Tree, quick: bool, json: Option<&Path>) -> Result<()> {
    setup::all(tree, Purpose::Bench)?;
    let programs = Programs::compile(tree)?;
    let report = measure(&programs, quick)?;
    report.print();
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn measure(programs: &Programs<'_>, quick: bool) -> Result<Report> {
    let rounds = if quick { 2 } else { 5 };
    let (mut ours, mut theirs) = (Vec::<Figure>::new(), Vec::<Figure>::new());
    for round in 1..=rounds {
        for &n_pes in N_PES {
            eprintln!("bench: round {round} of {rounds}, {n_pes} PEs");
            ours.extend(programs.peers_ours(n_pes)?);
            theirs.extend(programs.peers_oshmem(n_pes)?);
        }
    }
    eprintln!("bench: start-up and memory");
    let starts = if quick { 5 } else { 10 };
    let start = programs.startup_ours(4, starts)?;
    let peer = programs.startup_oshmem(4, starts.div_ceil(2))?;
    let many = programs.startup_ours(64, 1)?;
    let absolute = vec![
        Absolute::at_most(
            "put of 8 bytes from Python",
            "us",
            programs.python_put()?,
            Some(2.0),
        ),
        Absolute::at_most(
            "nvshmemrs-run -n 4: init, barrier, finalize",
            "ms",
            start.ms,
            Some(100.0),
        )
        .beside(peer.ms),
        Absolute::at_most(
            "memory per PE after init, of 4",
            "MB",
            start.resident_mb,
            Some(10.0),
        )
        .beside(peer.resident_mb),
        Absolute::at_most(
            "nvshmemrs-run -n 64: init, barrier, finalize",
            "ms",
            many.ms,
            None,
        ),
        Absolute::at_most(
            "memory per PE after init, of 64",
            "MB",
            many.resident_mb,
            Some(10.0),
        ),
    ];
    Report::new(&ours, &theirs, absolute, rounds)
}
