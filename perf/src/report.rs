//! All measurements as one value, which `tables` formats.

use crate::catalogue::Operation;
use crate::machine::Machine;
use crate::stats::Summary;
use crate::targets::Verdict;
use serde::{Serialize, Serializer};

/// The whole report.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The machine and the date.
    pub(crate) machine: Machine,
    /// The command line.
    pub(crate) command: String,
    /// The number of rounds.
    pub(crate) rounds: u32,
    /// The element type and operation of reductions, as in `sum of double`.
    pub(crate) reduction: String,
    /// The peer's name.
    pub(crate) peer: Option<&'static str>,
    /// The rows of the operations.
    pub(crate) operations: Vec<Row>,
    /// The rows of the operations measured for several numbers of PEs.
    pub(crate) growth: Vec<Row>,
    /// Figures with limits of their own.
    pub(crate) absolute: Vec<Absolute>,
    /// Notes on the figures.
    pub(crate) notes: Vec<String>,
}

/// One case on both sides.
#[derive(Serialize)]
pub(crate) struct Row {
    /// The operation.
    #[serde(serialize_with = "name")]
    pub(crate) operation: &'static Operation,
    /// Bytes of a call.
    pub(crate) bytes: u64,
    /// PEs of the job.
    pub(crate) n_pes: u32,
    /// The figure of nvshmemrs.
    pub(crate) ours: Figure,
    /// The figure of the peer, if there is one.
    pub(crate) peer: Option<Figure>,
    /// The ratio of the two times.
    pub(crate) ratio: Option<f64>,
    /// The ratio against its target.
    pub(crate) verdict: Option<Verdict>,
}

fn name<S: Serializer>(operation: &&'static Operation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(operation.name)
}

/// The result of one side in one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Figure {
    /// The measured times.
    Measured(Summary),
    /// This side has no such operation.
    Missing,
    /// The operation returned a wrong result.
    Wrong,
    /// The program failed before this case.
    Failed,
}

impl Figure {
    /// The summary, if the case was measured.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        match self {
            Self::Measured(summary) => Some(summary),
            _ => None,
        }
    }

    /// Microseconds of a call, if the case was measured.
    pub(crate) fn us(&self) -> Option<f64> {
        self.summary().map(|summary| summary.us)
    }
}

/// A figure that is not a ratio.
#[derive(Serialize)]
pub(crate) struct Absolute {
    /// The name of the figure.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// The figure of nvshmemrs.
    pub(crate) ours: f64,
    /// The figure of the peer.
    pub(crate) peer: Option<f64>,
    /// The figure against its target.
    pub(crate) verdict: Option<Verdict>,
}

impl Report {
    /// The numbers of met targets and of all targets; `None` without targets.
    pub(crate) fn score(&self) -> Option<(usize, usize)> {
        let rows = self
            .operations
            .iter()
            .chain(&self.growth)
            .filter_map(|row| row.verdict);
        let verdicts: Vec<Verdict> = rows
            .chain(self.absolute.iter().filter_map(|row| row.verdict))
            .collect();
        let met = verdicts.iter().filter(|verdict| verdict.met).count();
        (!verdicts.is_empty()).then_some((met, verdicts.len()))
    }
}
