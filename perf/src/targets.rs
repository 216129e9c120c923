//! The project's targets, relative to OpenSHMEM on one host.

use crate::catalogue::{Group, OPERATIONS};
use serde::Serialize;

/// The time of an operation as a share of OSHMEM's: operation, bytes from, bytes to, PEs, ratio.
const RATIOS: &[(&str, u64, u64, u32, f64)] = &[
    ("put", 8, 8, 2, 0.4),
    ("put", 512, 2 << 20, 2, 1.0),
    ("get", 8, 8, 2, 0.4),
    ("get", 512, 2 << 20, 2, 1.0),
    ("p", 8, 8, 2, 0.4),
    ("g", 8, 8, 2, 0.4),
    ("p_pingpong", 8, 8, 2, 0.65),
    ("barrier", 0, 0, 2, 0.4),
    ("barrier", 0, 0, 8, 0.25),
    ("reduce", 8, 8, 2, 0.4),
    ("reduce", 8, 8, 8, 0.25),
    ("reduce", 8 * 4096, 8 * 4096, 2, 0.4),
    ("reduce", 8 * 262_144, 8 * 262_144, 2, 0.5),
    ("broadcast", 8, 8, 2, 0.5),
    ("broadcast", 1 << 20, 1 << 20, 2, 0.5),
    ("fcollect", 8, 8, 2, 0.5),
    ("fcollect", 1 << 20, 1 << 20, 2, 0.5),
    ("alltoall", 8, 8, 2, 0.5),
    ("alltoall", 1 << 20, 1 << 20, 2, 0.5),
];

/// The ratio for every atomic memory operation.
const AMO_RATIO: f64 = 0.4;

/// The limit in milliseconds for a job of [`STARTUP_PES`] to start, synchronise and end.
pub(crate) const STARTUP_MS: f64 = 100.0;
/// The number of PEs of that job.
pub(crate) const STARTUP_PES: u32 = 4;
/// Megabytes per PE after init.
pub(crate) const RESIDENT_MB: f64 = 10.0;
/// Microseconds of a put of 8 bytes from Python.
pub(crate) const PYTHON_PUT_US: f64 = 2.0;
/// Microseconds of a reduction of one element from Python.
pub(crate) const PYTHON_REDUCE_US: f64 = 4.0;

/// A figure's verdict: the limit, and whether it is met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The limit.
    pub(crate) target: f64,
    /// Whether the figure is within the limit.
    pub(crate) met: bool,
}

impl Verdict {
    /// Compares a figure with its target.
    pub(crate) fn new(figure: f64, target: f64) -> Self {
        Self {
            target,
            met: figure <= target,
        }
    }

    /// The verdict as a word.
    pub(crate) fn word(self) -> &'static str {
        if self.met { "met" } else { "MISSED" }
    }
}

/// The maximum ratio of an operation, if there is a target.
pub(crate) fn ratio(operation: &str, bytes: u64, n_pes: u32) -> Option<f64> {
    all()
        .into_iter()
        .find(|target| (target.operation, target.bytes, target.n_pes) == (operation, bytes, n_pes))
        .map(|target| target.ratio)
}

/// A target for one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    /// The operation.
    pub(crate) operation: &'static str,
    /// Bytes of a call.
    pub(crate) bytes: u64,
    /// PEs of the job.
    pub(crate) n_pes: u32,
    /// The largest ratio.
    pub(crate) ratio: f64,
}

/// All targets, one for each size, in the order of the operations.
pub(crate) fn all() -> Vec<Target> {
    let mut targets = Vec::new();
    for operation in OPERATIONS {
        for &(name, from, to, n_pes, ratio) in RATIOS.iter().filter(|row| row.0 == operation.name) {
            let sizes = std::iter::successors(Some(from), |size| {
                Some(size * 2).filter(|next| *next <= to && *next > 0)
            });
            targets.extend(sizes.map(|bytes| Target {
                operation: name,
                bytes,
                n_pes,
                ratio,
            }));
        }
        if operation.group == Group::Amo
            && let crate::catalogue::Sizes::Fixed(bytes) = operation.sizes
        {
            targets.push(Target {
                operation: operation.name,
                bytes,
                n_pes: 2,
                ratio: AMO_RATIO,
            });
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;

    #[test]
    fn targets_are_of_known_operations() -> anyhow::Result<()> {
        for (name, ..) in RATIOS {
            find(name)?;
        }
        Ok(())
    }

    #[test]
    fn ranges_become_sizes() {
        assert_eq!(ratio("put", 8, 2), Some(0.4));
        assert_eq!(ratio("put", 16, 2), None);
        assert_eq!(ratio("put", 512, 2), Some(1.0));
        assert_eq!(ratio("put", 2 << 20, 2), Some(1.0));
        assert_eq!(ratio("put", 4 << 20, 2), None);
        assert_eq!(ratio("put", 8, 4), None);
        assert_eq!(ratio("barrier", 0, 8), Some(0.25));
        assert_eq!(ratio("add32", 4, 2), Some(0.4));
        let puts = all()
            .iter()
            .filter(|target| target.operation == "put")
            .count();
        assert_eq!(puts, 14);
    }

    #[test]
    fn a_figure_at_the_limit_meets_it() {
        assert_eq!(Verdict::new(0.4, 0.4).word(), "met");
        assert_eq!(Verdict::new(0.41, 0.4).word(), "MISSED");
        assert!(!Verdict::new(f64::NAN, 0.4).met);
    }
}
