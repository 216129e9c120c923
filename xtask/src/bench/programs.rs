//! The programs of `bench/`: compiled for both sides, started, and their lines read.

use super::report::{Figure, median};
use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;

/// The seconds after which a program that hangs is given up.
const DEADLINE: &str = "120";

/// What starting and ending a job costs.
pub(super) struct Startup {
    /// From starting the launcher to its end, median.
    pub(super) ms: f64,
    /// Resident memory of the largest PE before any symmetric allocation, median.
    pub(super) resident_mb: f64,
}

/// The compiled programs.
pub(super) struct Programs<'a> {
    tree: &'a Tree,
    folder: PathBuf,
}

impl<'a> Programs<'a> {
    /// Compiles `peers.c` and `startup.c` for both sides, with the same flags.
    pub(super) fn compile(tree: &'a Tree) -> Result<Self> {
        let folder = tree.scratch("bench")?;
        let rpath = format!("-Wl,-rpath,{}", tree.release().display());
        for program in ["peers", "startup"] {
            let source = format!("bench/{program}.c");
            let mut ours = compiler(tree, "cc", "bench/ours.h", &source);
            ours.arg("-Iinclude").arg(tree.library()).arg(&rpath);
            run::run(ours.arg("-o").arg(folder.join(format!("{program}-ours"))))?;
            let mut oshmem = compiler(tree, "oshcc", "bench/oshmem.h", &source);
            run::run(
                oshmem
                    .arg("-o")
                    .arg(folder.join(format!("{program}-oshmem"))),
            )?;
        }
        Ok(Self { tree, folder })
    }

    /// Times the operations of nvshmemrs.
    pub(super) fn peers_ours(&self, n_pes: u32) -> Result<Vec<Figure>> {
        let mut command = self.ours(n_pes, "peers-ours");
        let output = run::capture(command.env("NVSHMEM_SYMMETRIC_SIZE", "64M"))?;
        ensure!(output.status.success(), failure(&command, &output));
        figures(&command, &output)
    }

    /// Times the operations of OSHMEM.
    pub(super) fn peers_oshmem(&self, n_pes: u32) -> Result<Vec<Figure>> {
        let mut command = self.oshmem(n_pes, "peers-oshmem");
        // Open MPI 4.1's shmem_finalize crashes on some machines, after all figures are out: what counts is that
        // the program said it was done.
        let output = run::capture(command.env("SHMEM_SYMMETRIC_SIZE", "64M"))?;
        figures(&command, &output)
    }

    /// Starts and ends an nvshmemrs job `times` times.
    pub(super) fn startup_ours(&self, n_pes: u32, times: u32) -> Result<Startup> {
        startup(n_pes, times, true, || self.ours(n_pes, "startup-ours"))
    }

    /// Starts and ends an OSHMEM job `times` times.
    pub(super) fn startup_oshmem(&self, n_pes: u32, times: u32) -> Result<Startup> {
        startup(n_pes, times, false, || self.oshmem(n_pes, "startup-oshmem"))
    }

    /// Microseconds of an 8-byte put from Python, as `bindings/python/bench/call_overhead.py` prints them.
    pub(super) fn python_put(&self) -> Result<f64> {
        let mut command = self.tree.launch(2);
        command
            .arg(self.tree.python())
            .arg("bindings/python/bench/call_overhead.py");
        let text = run::output(&mut command)?;
        text.lines().find_map(python_put).with_context(|| {
            format!(
                "{} printed no time of an 8-byte put:\n{text}",
                run::line(&command)
            )
        })
    }

    fn ours(&self, n_pes: u32, program: &str) -> Command {
        let mut command = self.tree.launch(n_pes);
        command
            .arg(self.folder.join(program))
            .env("NVSHMEMRS_TIMEOUT", DEADLINE);
        command
    }

    fn oshmem(&self, n_pes: u32, program: &str) -> Command {
        let mut command = self.tree.command("oshrun");
        // Without a network of its own the machine makes UCX and Open MPI warn.
        command.args([
            "--allow-run-as-root",
            "--oversubscribe",
            "--timeout",
            DEADLINE,
        ]);
        command.args([
            "--mca",
            "btl_base_warn_component_unused",
            "0",
            "-x",
            "UCX_LOG_LEVEL=fatal",
        ]);
        command
            .args(["-n", &n_pes.to_string()])
            .arg(self.folder.join(program));
        command
    }
}

fn compiler(tree: &Tree, compiler: &str, side: &str, source: &str) -> Command {
    let mut command = tree.command(compiler);
    command.args([
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-function",
    ]);
    command.args(["-include", side, source]);
    command
}

fn startup(
    n_pes: u32,
    times: u32,
    must_succeed: bool,
    command: impl Fn() -> Command,
) -> Result<Startup> {
    let (mut ms, mut resident_mb) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let mut command = command();
        let start = Instant::now();
        let output = run::capture(&mut command)?;
        ms.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(
            !must_succeed || output.status.success(),
            failure(&command, &output)
        );
        resident_mb.push(largest(&command, &output, n_pes)?);
    }
    Ok(Startup {
        ms: median(ms),
        resident_mb: median(resident_mb),
    })
}

/// The lines `name bytes pes mean_us` of `peers`, up to its last line `done`.
fn figures(command: &Command, output: &Output) -> Result<Vec<Figure>> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = Vec::new();
    for line in text.lines() {
        if line == "done" {
            return Ok(figures);
        }
        let figure =
            figure(line).with_context(|| format!("{} printed {line:?}", run::line(command)))?;
        figures.push(figure);
    }
    bail!(failure(command, output))
}

fn figure(line: &str) -> Option<Figure> {
    let mut words = line.split(' ');
    let operation = words.next()?.to_owned();
    let bytes = words.next()?.parse().ok()?;
    let n_pes = words.next()?.parse().ok()?;
    let us = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Figure {
        operation,
        bytes,
        n_pes,
        us,
    })
}

/// The microseconds in the line `put 8 B  850 ns per call, 2 PEs`.
fn python_put(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["put", "8", "B", ns, "ns", ..] => ns.parse::<f64>().ok().map(|ns| ns / 1e3),
        _ => None,
    }
}

/// The largest resident memory that `startup` printed, in MB; every PE must have printed its line.
fn largest(command: &Command, output: &Output, n_pes: u32) -> Result<f64> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut seen = vec![false; n_pes as usize];
    let mut largest_kib = 0_u32;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["startup", pe, n, after_init, _after_barrier] = words[..]
            && n.parse() == Ok(n_pes)
            && let (Ok(pe), Ok(kib)) = (pe.parse::<usize>(), after_init.parse::<u32>())
            && let Some(slot) = seen.get_mut(pe)
        {
            *slot = true;
            largest_kib = largest_kib.max(kib);
        }
    }
    ensure!(seen.iter().all(|seen| *seen), failure(command, output));
    Ok(f64::from(largest_kib) * 1024.0 / 1e6)
}

fn failure(command: &Command, output: &Output) -> String {
    format!(
        "{} ended with {} before it was done\n{}{}",
        run::line(command),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
