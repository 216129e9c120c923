//! A running job, which is found through its processes, and snapshots of the job.

use crate::InspectError;
use crate::answer::{Membership, read, teams};
use crate::find;
use crate::values::{Details, Pe, Snapshot, Stage, State, Wait};
use nvshmemrs::board::{self, Board, InitStatus, PeStatus, Picture, StatusAnswer, StatusQueries};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time that a caller may give the PEs to answer, in seconds.
const LONGEST: f64 = 60.0;

/// The largest difference in time between the shared state of the PEs and their reports.
const APART: Duration = Duration::from_millis(20);

/// The version of nvshmemrs that this library belongs to.
#[uniffi::export]
pub fn library_version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// The job of process `pid`, which is a PE, a launcher, or a process in init.
///
/// Local. Errors: there is no such process; the process belongs to another user; the process is no PE and has started none; another
/// version of the library made the job.
#[uniffi::export]
pub fn attach(pid: u32) -> Result<Arc<Job>, InspectError> {
    Job::of_process(pid).map(Arc::new)
}

/// The job that the calling process is a PE of.
///
/// Local. Errors: the process is no PE; another version of the library made the job.
#[uniffi::export]
pub fn this_job() -> Result<Arc<Job>, InspectError> {
    attach(std::process::id())
}

/// A job that was found through its processes.
#[derive(Debug, uniffi::Object)]
pub struct Job {
    pid: u32,
    /// The lock is held for a moment only, never while PEs have time to answer.
    found: Mutex<Found>,
}

#[derive(Clone, Debug)]
enum Found {
    /// PEs wait in init.
    Forming(Arc<Vec<InitStatus>>),
    Joined(Arc<Joined>),
}

/// A job whose PEs have joined.
#[derive(Debug)]
struct Joined {
    board: Board,
    /// One thread at a time asks the PEs.
    questions: Mutex<StatusQueries>,
}

impl Found {
    /// The job of process `pid`, in its present stage.
    fn of(pid: u32) -> Result<Self, InspectError> {
        let inits = find::forming([pid].into_iter());
        if !inits.is_empty() {
            return Ok(Self::Forming(Arc::new(inits)));
        }
        Ok(Self::Joined(Arc::new(Joined {
            board: find::board_or_why(pid)?,
            questions: Mutex::default(),
        })))
    }
}

#[uniffi::export]
impl Job {
    /// A snapshot of the job. PEs have `patience` seconds, from 0 to 60, to report details; the call returns as soon as all PEs
    /// have reported. For a PE that does not answer, the snapshot has its previous report.
    ///
    /// Local: no PE waits for the call, and the call writes nothing to the job. A job that has ended has the stage `Over`. Errors:
    /// `patience` is out of range; the job was in init before, and no longer is.
    #[uniffi::method(default(patience = 0.1))]
    pub fn snapshot(&self, patience: f64) -> Result<Snapshot, InspectError> {
        if !(0.0..=LONGEST).contains(&patience) {
            return Err(InspectError::BadArgument(format!(
                "`patience` is {patience}; it must be a number of seconds from 0 to {LONGEST}"
            )));
        }
        let start = Instant::now();
        let mut snapshot = match self.looked_up()? {
            Found::Forming(inits) => forming(&inits).ok_or_else(|| {
                InspectError::NoJob(format!(
                    "no PE of the job of process {} is in init",
                    self.pid
                ))
            })?,
            Found::Joined(job) => {
                let mut questions = lock(&job.questions);
                let patience = Duration::from_secs_f64(patience);
                joined(&job.board, &mut questions, patience)
            }
        };
        snapshot.took = start.elapsed().as_secs_f64();
        Ok(snapshot)
    }

    /// The number of PEs of the job. Local: the call does not wait for a snapshot that another thread takes.
    pub fn n_pes(&self) -> i32 {
        match self.found() {
            Found::Forming(inits) => inits.first().map_or(0, InitStatus::n_pes),
            Found::Joined(job) => job.board.n_pes(),
        }
    }

    /// The PEs that hold others up, and the activity of every PE, in words. Local; the call asks only PEs of other hosts, and does not
    /// wait for a snapshot that another thread takes.
    pub fn report(&self) -> String {
        match self.found() {
            Found::Forming(inits) => {
                let picture = board::init_picture(&inits, |_| None);
                picture.map_or_else(String::new, |picture| picture.to_string())
            }
            Found::Joined(job) => {
                let board = &job.board;
                // The waits of PEs of other hosts are here once a PE of this host has asked for them.
                board.query_other_hosts();
                board.report()
            }
        }
    }
}

impl Job {
    /// As [`attach`].
    pub fn of_process(pid: u32) -> Result<Self, InspectError> {
        let found = Mutex::new(Found::of(pid)?);
        Ok(Self { pid, found })
    }

    fn found(&self) -> Found {
        lock(&self.found).clone()
    }

    /// The job as it was found. A job that was forming is searched again, because its PEs may have joined by now.
    fn looked_up(&self) -> Result<Found, InspectError> {
        let mut found = lock(&self.found);
        if let Found::Forming(_) = *found {
            *found = Found::of(self.pid)?;
        }
        Ok(found.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether some of the PEs are on other hosts.
fn has_others(board: &Board) -> bool {
    (0..board.n_pes()).any(|pe| board.is_elsewhere(pe))
}

/// A job whose PEs have joined.
fn joined(board: &Board, questions: &mut StatusQueries, patience: Duration) -> Snapshot {
    let start = Instant::now();
    let asked = board.ask();
    // Meanwhile the PEs prepare their answers.
    let lacks_lines = board.lacks_lines();
    let mut shared = (board.picture(), board.waits());
    let told = board.told(asked, questions, patience);
    if start.elapsed() > APART || has_others(board) || lacks_lines {
        shared = (board.picture(), board.waits());
    }
    let (picture, waits) = shared;
    let mut statuses = board.pes();
    // When the last PEs die, no PE is left to report their deaths.
    for status in statuses.iter_mut().filter(|status| is_lost(status)) {
        status.state = board::State::Dead;
    }
    let over = |status: &PeStatus| {
        use board::State::{Absent, Active, Finalizing};
        !matches!(status.state, Absent | Active | Finalizing)
    };
    let stage = match statuses.iter().all(over) {
        true => Stage::Over,
        false => Stage::Running,
    };
    let mut memberships = Vec::new();
    let pes = picture.pes.into_iter().zip(&statuses).zip(told);
    let pes = pes.map(|((pe, status), told)| {
        let (details, mut silence) = details(told.as_ref(), status, patience, &mut memberships);
        if board.is_elsewhere(pe.pe) {
            silence = "it is on another host".into();
        }
        Pe {
            pe: pe.pe,
            pid: pe.pid,
            state: status.state.into(),
            progress: status.progress,
            doing: pe.doing,
            waits_for: pe.waits_for,
            details,
            silence,
        }
    });
    let pes = pes.collect();
    let waits = waits.into_iter().map(|wait| Wait {
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
        limit: wait.gives_up.map(|(_, limit)| limit.to_string()),
        id: wait.id,
    });
    let n_pes = board.n_pes();
    let collectives = |number, pe| board.collectives(number, pe);
    Snapshot {
        stage,
        n_pes,
        summary: picture.summary,
        culprits: picture.culprits,
        circles: picture.circles,
        pes,
        waits: waits.collect(),
        teams: teams(memberships.into_iter(), n_pes, collectives),
        took: 0.0,
    }
}

/// Whether the job counts a PE as a member although its process has ended.
fn is_lost(status: &PeStatus) -> bool {
    use board::State::{Active, Finalizing};
    let there = || Path::new(&format!("/proc/{}", status.pid)).exists();
    matches!(status.state, Active | Finalizing) && status.pid != 0 && !there()
}

/// The report of a PE, and the reason if there is none, or no new one.
fn details(
    told: Option<&StatusAnswer>,
    status: &PeStatus,
    patience: Duration,
    memberships: &mut Vec<Membership>,
) -> (Option<Details>, String) {
    use board::State::{Active, Finalizing};
    let why = || match status.state {
        Active | Finalizing => format!(
            "it has not answered within {} s: it is in init or stopped, its machine is busy, or the job has one process only",
            patience.as_secs_f64()
        ),
        state => format!("it is {state}"),
    };
    let Some(told) = told else {
        return (None, why());
    };
    match read(told) {
        Ok((details, teams)) => {
            memberships.extend(teams);
            let silence = if details.fresh { String::new() } else { why() };
            (Some(details), silence)
        }
        Err(why) => (None, why),
    }
}

/// A job whose PEs are in init.
fn forming(inits: &[InitStatus]) -> Option<Snapshot> {
    let picture: Picture = board::init_picture(inits, |_| None)?;
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
            limit: Some("NVSHMEMRS_INIT_TIMEOUT".into()),
            id: init.position().0,
        })
    });
    let waits = waits.collect();
    let pes = picture.pes.into_iter().map(|pe| Pe {
        pe: pe.pe,
        pid: pe.pid,
        state: State::from(pe.state),
        progress: 0,
        doing: pe.doing,
        waits_for: pe.waits_for,
        details: None,
        silence: "it has not joined yet".into(),
    });
    Some(Snapshot {
        stage: Stage::Forming,
        n_pes: inits.first().map_or(0, InitStatus::n_pes),
        summary: picture.summary,
        culprits: picture.culprits,
        circles: picture.circles,
        pes: pes.collect(),
        waits,
        teams: Vec::new(),
        took: 0.0,
    })
}
