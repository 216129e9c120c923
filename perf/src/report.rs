//! All measurements, as one value; `tables` formats it.

use crate::catalogue::Operation;
use crate::machine::Machine;
use crate::stats::Summary;
use crate::targets::Verdict;
use serde::{Serialize, Serializer};

/// The whole report.
#[derive(Serialize)]
pub(crate) struct Report {
    /// Where and when.
    pub(crate) machine: Machine,
    /// The command line.
    pub(crate) command: String,
    /// How often the sides took turns.
    pub(crate) rounds: u32,
    /// What reductions worked on, and what they did, as in `sum of double`.
    pub(crate) reduction: String,
    /// The peer's name.
    pub(crate) peer: Option<&'static str>,
    /// The operations.
    pub(crate) operations: Vec<Row>,
    /// The same few operations over the number of PEs.
    pub(crate) growth: Vec<Row>,
    /// Figures with limits of their own.
    pub(crate) absolute: Vec<Absolute>,
    /// What the reader should know about the figures.
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
    /// nvshmemrs.
    pub(crate) ours: Figure,
    /// The peer, if there is one.
    pub(crate) peer: Option<Figure>,
    /// Our time as a share of the peer's.
    pub(crate) ratio: Option<f64>,
    /// How the ratio compares with its target.
    pub(crate) verdict: Option<Verdict>,
}

fn name<S: Serializer>(operation: &&'static Operation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(operation.name)
}

/// What a side came to in one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Figure {
    /// It was measured.
    Measured(Summary),
    /// This side has no such operation.
    Missing,
    /// The operation gave a wrong result.
    Wrong,
    /// The program failed before.
    Failed,
}

impl Figure {
    /// The summary, if it was measured.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        match self {
            Self::Measured(summary) => Some(summary),
            _ => None,
        }
    }

    /// Microseconds of a call, if it was measured.
    pub(crate) fn us(&self) -> Option<f64> {
        self.summary().map(|summary| summary.us)
    }
}

/// A figure that is not a ratio of two.
#[derive(Serialize)]
pub(crate) struct Absolute {
    /// What was measured.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// nvshmemrs.
    pub(crate) ours: f64,
    /// The peer.
    pub(crate) peer: Option<f64>,
    /// How our figure compares with its target.
    pub(crate) verdict: Option<Verdict>,
}

impl Report {
    /// Targets that are met, and all that were judged; None if none was.
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
