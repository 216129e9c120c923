//! A running job, seen from outside through its wait board.

use crate::find;
use anyhow::Result;
use nvshmemrs::board::Board;
use serde::Serialize;

/// A job's PEs and their waits.
#[derive(Debug, Serialize)]
pub struct Job {
    n_pes: i32,
    /// Who holds the others up.
    summary: Vec<String>,
    pes: Vec<Pe>,
    waits: Vec<Wait>,
}

/// One PE.
#[derive(Debug, Serialize)]
pub struct Pe {
    pe: i32,
    pid: u32,
    state: String,
    progress: u64,
    doing: String,
    waits_for: Vec<i32>,
}

/// One wait that has not ended.
#[derive(Debug, Serialize)]
pub struct Wait {
    pe: i32,
    thread: u32,
    operation: String,
    team: Option<String>,
    epoch: u64,
    target: String,
    expected: String,
    actual: String,
    seconds: f64,
    waits_for: Vec<i32>,
    /// In how many seconds it gives up, and why; none if it never does.
    gives_up_in: Option<f64>,
    limit: Option<&'static str>,
    id: u64,
}

/// The board of the job that process `pid` belongs to, or has started.
pub fn board(pid: u32) -> Result<Board> {
    match find::board([pid].into_iter()) {
        Some(board) => Ok(board),
        // Once more, for the reason.
        None => Ok(Board::of_process(pid)?),
    }
}

impl Job {
    /// The job that process `pid` belongs to, as it is now.
    pub fn of_process(pid: u32) -> Result<Self> {
        let board = board(pid)?;
        let picture = board.picture();
        let statuses = board.pes().into_iter();
        let pes = picture
            .pes
            .into_iter()
            .zip(statuses)
            .map(|(pe, status)| Pe {
                pe: pe.pe,
                pid: pe.pid,
                state: pe.state.to_string(),
                progress: status.progress,
                doing: pe.doing,
                waits_for: pe.waits_for,
            });
        let waits = board.waits().into_iter().map(|wait| Wait {
            pe: wait.pe,
            thread: wait.thread,
            operation: wait.operation.to_string(),
            team: wait.team,
            epoch: wait.epoch,
            target: wait.target,
            expected: wait.expected,
            actual: wait.actual,
            seconds: wait.since.as_secs_f64(),
            waits_for: wait.waits_for,
            gives_up_in: wait.gives_up.map(|(left, _)| left.as_secs_f64()),
            limit: wait.gives_up.map(|(_, limit)| limit),
            id: wait.id,
        });
        Ok(Self {
            n_pes: board.n_pes(),
            summary: picture.summary,
            pes: pes.collect(),
            waits: waits.collect(),
        })
    }
}
