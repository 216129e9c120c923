//! A running job, seen from outside through its wait board, or, while it comes together, through what its PEs in init show.

use crate::find;
use anyhow::Result;
use nvshmemrs::board::{self, Board, Forming, Picture};
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

/// What there is to see of the job that process `pid` belongs to, or has started.
enum Seen {
    /// PEs wait in init.
    Forming(Vec<Forming>, Picture),
    Board(Board),
}

fn look(pid: u32) -> Result<Seen> {
    let inits = find::forming([pid].into_iter());
    if let Some(picture) = board::forming(&inits, |_| None) {
        return Ok(Seen::Forming(inits, picture));
    }
    match find::board([pid].into_iter()) {
        Some(board) => Ok(Seen::Board(board)),
        // Once more, for the reason.
        None => Ok(Seen::Board(Board::of_process(pid)?)),
    }
}

/// In words.
pub fn report(pid: u32) -> Result<String> {
    Ok(match look(pid)? {
        Seen::Forming(_, picture) => picture.to_string(),
        Seen::Board(board) => board.report(),
    })
}

impl Job {
    /// The job that process `pid` belongs to, as it is now.
    pub fn of_process(pid: u32) -> Result<Self> {
        let board = match look(pid)? {
            Seen::Forming(inits, picture) => return Ok(Self::forming(&inits, picture)),
            Seen::Board(board) => board,
        };
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

    /// A job that comes together.
    fn forming(inits: &[Forming], picture: Picture) -> Self {
        let known = |pe: &i32| inits.iter().find(|init| init.pe() == *pe);
        let waits = picture.pes.iter().filter_map(|pe| {
            let init = known(&pe.pe)?;
            Some(Wait {
                pe: pe.pe,
                thread: pe.pid,
                operation: "init".into(),
                team: None,
                epoch: 0,
                target: init.target(),
                expected: String::new(),
                actual: String::new(),
                seconds: init.since().as_secs_f64(),
                waits_for: init.waits_for(),
                gives_up_in: Some(init.gives_up().as_secs_f64()),
                limit: Some("NVSHMEMRS_INIT_TIMEOUT"),
                id: init.position().0,
            })
        });
        let waits = waits.collect();
        let pes = picture.pes.into_iter().map(|pe| Pe {
            pe: pe.pe,
            pid: pe.pid,
            state: pe.state.to_string(),
            progress: 0,
            doing: pe.doing,
            waits_for: pe.waits_for,
        });
        Self {
            n_pes: inits.first().map_or(0, Forming::n_pes),
            summary: picture.summary,
            pes: pes.collect(),
            waits,
        }
    }
}
