//! The results of the PEs of a soak run: summed and judged, as a table and as JSON.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The file of a PE.
#[derive(Deserialize, Serialize)]
struct Pe {
    pe: u32,
    rounds: u64,
    /// The number of checks of each operation.
    checks: BTreeMap<String, u64>,
    samples: Vec<Sample>,
}

/// A sample of a PE's process.
#[derive(Clone, Deserialize, Serialize)]
struct Sample {
    ms: u64,
    round: u64,
    /// Whether the PE had released everything just before.
    empty: bool,
    anonymous_kib: u64,
    shared_kib: u64,
    descriptors: u64,
    threads: u64,
    mappings: u64,
    allocated_bytes: u64,
    committed_kib: u64,
}

/// A quantity that must not grow.
struct Series {
    name: &'static str,
    of: fn(&Sample) -> u64,
    /// The allowed growth from the warm state to the end.
    most: i64,
}

/// Growth is measured at samples after everything has been released and after the first third, the warm-up: the minimum of their
/// last quarter against the minimum of their first quarter. So memory in use at the moment does not count, but a leak in every
/// round does.
const SERIES: [Series; 6] = [
    // The C library's allocator keeps freed memory, in varying pieces.
    Series::new("own pages, KiB", |sample| sample.anonymous_kib, 2048),
    Series::new("heap pages touched, KiB", |sample| sample.shared_kib, 2048),
    Series::new(
        "heaps backed by memory, KiB",
        |sample| sample.committed_kib,
        2048,
    ),
    // A thread may just be listing a folder, or ending.
    Series::new("descriptors", |sample| sample.descriptors, 1),
    Series::new("threads", |sample| sample.threads, 1),
    Series::new("mappings", |sample| sample.mappings, 16),
];

impl Series {
    const fn new(name: &'static str, of: fn(&Sample) -> u64, most: i64) -> Series {
        Series { name, of, most }
    }
}

/// The growth of a series on a PE.
#[derive(Serialize)]
struct Growth {
    pe: u32,
    first: u64,
    warm: u64,
    last: u64,
    growth: i64,
}

/// The results of all PEs.
pub(super) struct Report {
    seed: u64,
    pes: Vec<Pe>,
}

/// The files of the PEs in a folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| name.starts_with("pe-") && name.ends_with(".json")) {
            files.push(path);
        }
    }
    Ok(files)
}

impl Report {
    /// Reads the files in the folder.
    pub(super) fn read(folder: &Path, seed: u64) -> Result<Report> {
        let mut pes = Vec::new();
        for file in files(folder)? {
            let text = std::fs::read_to_string(&file)?;
            let pe: Pe = serde_json::from_str(&text)
                .with_context(|| format!("cannot read {}", file.display()))?;
            pes.push(pe);
        }
        ensure!(!pes.is_empty(), "no PE has left its figures");
        pes.sort_by_key(|pe| pe.pe);
        Ok(Report { seed, pes })
    }

    /// The number of PEs.
    pub(super) fn pes(&self) -> usize {
        self.pes.len()
    }

    /// The checks of each operation, over all PEs.
    fn checks(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        for (name, count) in self.pes.iter().flat_map(|pe| &pe.checks) {
            *all.entry(name.as_str()).or_default() += count;
        }
        all
    }

    /// The growth of a series on all PEs with enough samples.
    fn grown(&self, series: &Series) -> impl Iterator<Item = Growth> {
        self.pes.iter().filter_map(|pe| growth(pe, series).ok())
    }

    fn seconds(&self) -> f64 {
        let samples = self.pes.iter().filter_map(|pe| pe.samples.last());
        samples.map(|sample| sample.ms).max().unwrap_or(0) as f64 / 1000.0
    }

    /// Fails if a series has grown, or if there are too few samples.
    pub(super) fn judge(&self) -> Result<()> {
        for series in &SERIES {
            for pe in &self.pes {
                let growth = growth(pe, series)?;
                ensure!(
                    growth.growth <= series.most,
                    "PE {} grows: {} from {} to {}, at most {} more are allowed",
                    pe.pe,
                    series.name,
                    growth.warm,
                    growth.last,
                    series.most
                );
            }
        }
        Ok(())
    }

    /// The report as text.
    pub(super) fn table(&self) -> String {
        let checks = self.checks();
        let total: u64 = checks.values().sum();
        let rounds = self.pes.iter().map(|pe| pe.rounds).max().unwrap_or(0);
        let mut text = format!(
            "\nsoak: {} PEs, {:.0} s, seed {}: {rounds} rounds, {} operations of {} kinds checked\n\n",
            self.pes.len(),
            self.seconds(),
            self.seed,
            total,
            checks.len()
        );
        let cells: Vec<String> = checks
            .iter()
            .map(|(name, count)| format!("{name:<24}{count:>9}"))
            .collect();
        let rows = cells.len().div_ceil(3);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}",
            ["operation                  checks"; 3].join("    ")
        );
        for row in 0..rows {
            let line: Vec<&str> = (0..3)
                .filter_map(|column| cells.get(column * rows + row))
                .map(String::as_str)
                .collect();
            let _ = writeln!(text, "{}", line.join("    "));
        }
        let _ = writeln!(
            text,
            "\n{:<28}{:>9}{:>9}{:>9}{:>9}{:>9}   (the PE that grew most; see xtask/src/soak/report.rs)",
            "empty, and warm", "first", "warm", "last", "growth", "allowed"
        );
        for series in &SERIES {
            let worst = self.grown(series).max_by_key(|growth| growth.growth);
            if let Some(worst) = worst {
                let _ = writeln!(
                    text,
                    "{:<28}{:>9}{:>9}{:>9}{:>9}{:>9}   PE {}",
                    series.name,
                    worst.first,
                    worst.warm,
                    worst.last,
                    worst.growth,
                    series.most,
                    worst.pe
                );
            }
        }
        text.push('\n');
        text
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> Result<String> {
        let growth: BTreeMap<&str, Vec<Growth>> = SERIES
            .iter()
            .map(|series| (series.name, self.grown(series).collect()))
            .collect();
        let all = serde_json::json!({
            "seed": self.seed,
            "seconds": self.seconds(),
            "checks": self.checks(),
            "growth": growth,
            "pes": self.pes,
        });
        Ok(serde_json::to_string_pretty(&all)?)
    }
}

/// The growth of a series on a PE.
fn growth(pe: &Pe, series: &Series) -> Result<Growth> {
    let end = pe.samples.last().map_or(0, |sample| sample.ms);
    let empty = || pe.samples.iter().filter(|sample| sample.empty);
    let values: Vec<u64> = empty()
        .filter(|sample| sample.ms >= end / 3)
        .map(series.of)
        .collect();
    let quarter = (values.len() / 4).max(1);
    let least = |values: &[u64]| values.iter().copied().min();
    let (Some(first), Some(warm), Some(last)) = (
        empty().next().map(series.of),
        values.get(..quarter).and_then(least),
        values
            .get(values.len().saturating_sub(quarter)..)
            .and_then(least),
    ) else {
        anyhow::bail!(
            "PE {}: too few samples to tell whether it grows; a longer run has more",
            pe.pe
        );
    };
    Ok(Growth {
        pe: pe.pe,
        first,
        warm,
        last,
        growth: last as i64 - warm as i64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PE with the given descriptors in each sample; every other sample is empty.
    fn pe(descriptors: impl Fn(u64) -> u64) -> Pe {
        let sample = |index: u64| Sample {
            ms: index * 1000,
            round: index,
            empty: index.is_multiple_of(2),
            anonymous_kib: 0,
            shared_kib: 0,
            descriptors: descriptors(index),
            threads: 0,
            mappings: 0,
            allocated_bytes: 0,
            committed_kib: 0,
        };
        Pe {
            pe: 3,
            rounds: 100,
            checks: BTreeMap::from([("put".to_string(), 7)]),
            samples: (0..60).map(sample).collect(),
        }
    }

    fn judged(descriptors: impl Fn(u64) -> u64) -> Result<()> {
        let report = Report {
            seed: 5,
            pes: vec![pe(descriptors)],
        };
        assert!(report.table().contains("PE 3"));
        report.judge()
    }

    #[test]
    fn a_leak_is_found_and_what_is_in_use_is_none() {
        judged(|_| 9).unwrap();
        // Grows during the warm-up, and is larger whenever something is in use.
        judged(|at| at.min(15) + 50 * (at % 2)).unwrap();
        let error = judged(|at| 9 + at / 15).unwrap_err().to_string();
        assert!(
            error.contains("PE 3 grows: descriptors from 10 to 12"),
            "{error}"
        );
        assert!(judged(|at| 9 + at / 10).is_err());
    }

    #[test]
    fn without_samples_nothing_is_said() {
        let mut none = pe(|_| 9);
        none.samples.retain(|sample| !sample.empty);
        let report = Report {
            seed: 5,
            pes: vec![none],
        };
        assert!(report.judge().unwrap_err().to_string().contains("too few"));
    }
}
