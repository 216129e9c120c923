//! Medians, ratios and targets, printed as tables.

use crate::run;
use anyhow::{Result, bail};
use serde::Serialize;
use std::collections::BTreeSet;
use std::process::Command;

/// One measured operation: what `peers` prints in a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) operation: String,
    pub(super) bytes: u64,
    pub(super) n_pes: u32,
    pub(super) us: f64,
}

/// The operations whose time we set a target for, as a share of OSHMEM's: name, bytes, PEs, ratio.
const TARGETS: &[(&str, u64, u32, f64)] = &[
    ("put", 8, 2, 0.4),
    ("fetch_add", 8, 2, 0.4),
    ("barrier_all", 0, 2, 0.4),
    ("put", 32 << 10, 2, 1.0),
    ("put", 2 << 20, 2, 1.0),
];

/// All that was measured.
#[derive(Serialize)]
pub(super) struct Report {
    machine: String,
    command: String,
    rounds: u32,
    operations: Vec<Row>,
    absolute: Vec<Absolute>,
}

/// An operation on both sides, medians over the rounds.
#[derive(Serialize)]
struct Row {
    operation: String,
    bytes: u64,
    n_pes: u32,
    ours_us: f64,
    oshmem_us: f64,
    ratio: f64,
    target_ratio: Option<f64>,
}

/// A figure with a limit of its own.
#[derive(Serialize)]
pub(super) struct Absolute {
    what: &'static str,
    unit: &'static str,
    ours: f64,
    oshmem: Option<f64>,
    target: Option<f64>,
}

impl Absolute {
    /// A figure that should not exceed `target`.
    pub(super) fn at_most(
        what: &'static str,
        unit: &'static str,
        ours: f64,
        target: Option<f64>,
    ) -> Self {
        Self {
            what,
            unit,
            ours,
            oshmem: None,
            target,
        }
    }

    /// The same with OSHMEM's figure for comparison.
    pub(super) fn beside(mut self, oshmem: f64) -> Self {
        self.oshmem = Some(oshmem);
        self
    }
}

impl Report {
    /// Compares the medians of both sides, which must have measured the same operations.
    pub(super) fn new(
        ours: &[Figure],
        theirs: &[Figure],
        absolute: Vec<Absolute>,
        rounds: u32,
    ) -> Result<Self> {
        let keys = |figures: &[Figure]| -> BTreeSet<(String, u64, u32)> {
            figures
                .iter()
                .map(|f| (f.operation.clone(), f.bytes, f.n_pes))
                .collect()
        };
        if keys(ours) != keys(theirs) {
            bail!("the two sides did not measure the same operations");
        }
        let mut operations: Vec<Row> = Vec::new();
        // In the order in which the program prints them.
        for figure in ours {
            let same = |f: &&Figure| {
                (&f.operation, f.bytes, f.n_pes) == (&figure.operation, figure.bytes, figure.n_pes)
            };
            if operations.iter().any(|row| {
                (&row.operation, row.bytes, row.n_pes)
                    == (&figure.operation, figure.bytes, figure.n_pes)
            }) {
                continue;
            }
            let side =
                |figures: &[Figure]| median(figures.iter().filter(same).map(|f| f.us).collect());
            let (ours_us, oshmem_us) = (side(ours), side(theirs));
            operations.push(Row {
                operation: figure.operation.clone(),
                bytes: figure.bytes,
                n_pes: figure.n_pes,
                ours_us,
                oshmem_us,
                ratio: ours_us / oshmem_us,
                target_ratio: target(figure),
            });
        }
        Ok(Self {
            machine: machine(),
            command: command(),
            rounds,
            operations,
            absolute,
        })
    }

    /// Prints the tables, and last how many targets are met.
    pub(super) fn print(&self) {
        println!("{}", self.machine);
        println!("{}   (medians of {} rounds)\n", self.command, self.rounds);
        println!(
            "{:<20} {:>8} {:>4} {:>12} {:>12} {:>7} {:>7}",
            "operation", "bytes", "PEs", "ours us", "OSHMEM us", "ratio", "target"
        );
        for row in &self.operations {
            println!(
                "{:<20} {:>8} {:>4} {:>12.4} {:>12.4} {:>7.2} {}",
                row.operation,
                row.bytes,
                row.n_pes,
                row.ours_us,
                row.oshmem_us,
                row.ratio,
                verdict(row.ratio, row.target_ratio)
            );
        }
        println!(
            "\n{:<46} {:>10} {:>10} {:>7}",
            "", "ours", "OSHMEM", "target"
        );
        for row in &self.absolute {
            let oshmem = row
                .oshmem
                .map_or(String::new(), |value| format!("{value:.2} {}", row.unit));
            println!(
                "{:<46} {:>10} {:>10} {}",
                row.what,
                format!("{:.2} {}", row.ours, row.unit),
                oshmem,
                verdict(row.ours, row.target)
            );
        }
        let verdicts: Vec<bool> = self
            .operations
            .iter()
            .filter_map(|row| Some(row.ratio <= row.target_ratio?))
            .chain(
                self.absolute
                    .iter()
                    .filter_map(|row| Some(row.ours <= row.target?)),
            )
            .collect();
        let met = verdicts.iter().filter(|met| **met).count();
        println!("\nmet {met} of {} targets", verdicts.len());
    }
}

fn target(figure: &Figure) -> Option<f64> {
    TARGETS
        .iter()
        .find(|(operation, bytes, n_pes, _)| {
            (*operation, *bytes, *n_pes) == (figure.operation.as_str(), figure.bytes, figure.n_pes)
        })
        .map(|target| target.3)
}

fn verdict(value: f64, target: Option<f64>) -> String {
    target.map_or(String::new(), |limit| {
        format!(
            "{limit:>7.1} {}",
            if value <= limit { "met" } else { "MISSED" }
        )
    })
}

/// The middle value, or the mean of the two middle ones.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Processor, cores, kernel, peer, date.
fn machine() -> String {
    let first = |text: String, key: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_default()
            .to_owned();
        line.split_once(':')
            .map_or(line.clone(), |(_, value)| value.trim().to_owned())
    };
    let processor = first(
        std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
        "model name",
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let peer = first(
        run::output(Command::new("oshrun").arg("--version")).unwrap_or_default(),
        "oshrun",
    );
    let date = run::output(Command::new("date").args(["-u", "+%F %R UTC"])).unwrap_or_default();
    format!(
        "{processor}, {cores} cores, Linux {}, {peer}, {}",
        kernel.trim(),
        date.trim()
    )
}

fn command() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo xtask {}", arguments.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(operation: &str, us: f64) -> Figure {
        Figure {
            operation: operation.to_owned(),
            bytes: 8,
            n_pes: 2,
            us,
        }
    }

    #[test]
    fn medians_are_compared() -> Result<()> {
        let ours = [figure("put", 1.0), figure("put", 9.0), figure("put", 2.0)];
        let theirs = [figure("put", 4.0), figure("put", 8.0)];
        let report = Report::new(&ours, &theirs, Vec::new(), 3)?;
        assert_eq!(report.operations.len(), 1);
        let row = &report.operations[0];
        assert_eq!((row.ours_us, row.oshmem_us), (2.0, 6.0));
        assert_eq!(row.target_ratio, Some(0.4));
        assert_eq!(verdict(row.ratio, row.target_ratio), "    0.4 met");
        assert_eq!(verdict(0.41, Some(0.4)), "    0.4 MISSED");
        Ok(())
    }

    #[test]
    fn sides_that_measure_different_operations_are_an_error() {
        assert!(Report::new(&[figure("put", 1.0)], &[figure("get", 1.0)], Vec::new(), 1).is_err());
    }
}
