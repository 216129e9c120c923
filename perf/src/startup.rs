//! The cost of starting and ending a job.

use crate::args::Args;
use crate::report::Absolute;
use crate::stats::median;
use crate::targets::{self, Verdict};
use crate::worker::Worker;
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The PEs of the large job, which is measured for nvshmemrs only.
const MANY_PES: u32 = 64;

/// The output line of a PE.
#[derive(Deserialize)]
struct Line {
    startup: u32,
    resident_kib: u64,
}

/// The start-up of a job.
struct Startup {
    /// From the start of the launcher to its end, median.
    ms: f64,
    /// Resident memory of the largest PE after init, median.
    resident_mb: f64,
}

/// Starts jobs on all sides, nvshmemrs first.
pub(crate) fn measure(workers: &[Worker], args: &Args) -> Result<Vec<Absolute>> {
    let times = if args.quick { 5 } else { 10 };
    let few = targets::STARTUP_PES;
    let ours = start(&workers[0], few, times, args)?;
    let peer = workers
        .get(1)
        .map(|worker| start(worker, few, times.div_ceil(2), args))
        .transpose()?;
    let many = start(&workers[0], MANY_PES, if args.quick { 1 } else { 3 }, args)?;
    let absolute = |what: String, unit, ours: f64, peer, target: Option<f64>| Absolute {
        what,
        unit,
        ours,
        peer,
        verdict: target.map(|target| Verdict::new(ours, target)),
    };
    let job = |n_pes| format!("init, barrier, finalize of {n_pes} PEs, launcher included");
    let memory = |n_pes| format!("memory per PE after init, of {n_pes}");
    let limit = targets::RESIDENT_MB;
    let peer_ms = peer.as_ref().map(|peer| peer.ms);
    let peer_mb = peer.as_ref().map(|peer| peer.resident_mb);
    Ok(vec![
        absolute(job(few), "ms", ours.ms, peer_ms, Some(targets::STARTUP_MS)),
        absolute(memory(few), "MB", ours.resident_mb, peer_mb, Some(limit)),
        absolute(job(MANY_PES), "ms", many.ms, None, None),
        absolute(memory(MANY_PES), "MB", many.resident_mb, None, Some(limit)),
    ])
}

fn start(worker: &Worker, n_pes: u32, times: u32, args: &Args) -> Result<Startup> {
    let (mut ms, mut resident_mb) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let finished = worker.startup(n_pes, args.limit())?;
        let largest = largest(&finished.stdout, n_pes);
        // A peer may crash at its end: the run is valid if every PE has printed its line.
        let is_ours = matches!(worker.side, crate::side::Side::Ours(_));
        match largest {
            Some(kib) if finished.success() || !is_ours => {
                resident_mb.push(kib as f64 * 1024.0 / 1e6)
            }
            _ => bail!(
                "the start of {n_pes} PEs of {} {}",
                worker.side.name(),
                finished.describe()
            ),
        }
        ms.push(finished.elapsed.as_secs_f64() * 1e3);
    }
    Ok(Startup {
        ms: median(&ms).context("no job was started")?,
        resident_mb: median(&resident_mb).context("no job was started")?,
    })
}

/// The largest resident memory in KiB, if every PE has printed its line.
fn largest(stdout: &str, n_pes: u32) -> Option<u64> {
    let lines: Vec<Line> = stdout
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let all = (0..n_pes).all(|pe| lines.iter().any(|line| line.startup == pe));
    lines
        .iter()
        .map(|line| line.resident_kib)
        .max()
        .filter(|_| all)
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn every_pe_must_have_spoken() {
        let text = "{\"startup\": 1, \"resident_kib\": 30}\nnoise\n{\"startup\": 0, \"resident_kib\": 20}\n";
        assert_eq!(largest(text, 2), Some(30));
        assert_eq!(largest(text, 3), None);
    }
}
