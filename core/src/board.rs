//! The board: who waits for what, read off a job's control block, by a PE of the job or from outside.

use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::team;
use crate::transport::host::control::{Control, MAX_TEAMS};
use crate::transport::host::segment::{NAME, Segment};
use crate::wait::{Operation, Seen, Target, Wait as Waiting, kind, now_ns};
use crate::{Error, Pe, Result};
use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::Duration;

/// What a PE is doing, as far as the job knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Has not joined yet.
    Absent = 0,
    /// Takes part.
    Active = 1,
    /// Inside finalize.
    Finalizing = 2,
    /// Has finalized.
    Finalized = 3,
    /// Left without finalize, and said so.
    Left = 4,
    /// Its process ended without finalize.
    Dead = 5,
}

impl State {
    pub(crate) fn from_number(number: u32) -> State {
        match number {
            1 => State::Active,
            2 => State::Finalizing,
            3 => State::Finalized,
            4 => State::Left,
            5 => State::Dead,
            _ => State::Absent,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Absent => "absent",
            State::Active => "active",
            State::Finalizing => "finalizing",
            State::Finalized => "finalized",
            State::Left => "left without finalize",
            State::Dead => "dead",
        })
    }
}

/// One PE on the board.
#[derive(Clone, Debug)]
pub struct PeStatus {
    /// Its number.
    pub pe: Pe,
    /// Its process.
    pub pid: u32,
    /// What it is doing.
    pub state: State,
    /// Grows whenever one of its published waits ends.
    pub progress: u64,
}

/// One wait on the board. Waits of less than a millisecond do not appear.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Unique in the job.
    pub id: u64,
    /// Who waits.
    pub pe: Pe,
    /// Its thread, as the kernel numbers it.
    pub thread: u32,
    /// In which operation.
    pub operation: &'static str,
    /// On which team, for collectives.
    pub team: Option<String>,
    /// In which collective call on that team, counted from 1; 0 otherwise.
    pub epoch: u64,
    /// What it waits for.
    pub target: String,
    /// The value it needs.
    pub expected: String,
    /// The value it last saw.
    pub actual: String,
    /// For how long.
    pub since: Duration,
}

/// The board of a job.
#[derive(Debug)]
pub struct Board {
    control: Control,
}

impl Board {
    /// The board of the job that process `pid` is a PE of. The caller must be the same user.
    pub fn of_process(pid: u32) -> Result<Board> {
        if pid == std::process::id() {
            // Closing a second descriptor of the job's memory would drop this PE's liveness lock.
            return Err(Error::invalid(
                "pid",
                pid,
                "another process; a PE asks its own runtime for the board",
            ));
        }
        let folder = format!("/proc/{pid}/fd");
        let entries = std::fs::read_dir(&folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::invalid(
                "pid",
                pid,
                "the process id of a running PE; there is no such process",
            ),
            std::io::ErrorKind::PermissionDenied => Error::invalid(
                "pid",
                pid,
                "a process of the same user; this one belongs to another user",
            ),
            _ => Error::system("reading /proc/PID/fd", error),
        })?;
        let mark = format!("/memfd:{NAME}");
        for entry in entries.flatten() {
            let ours = std::fs::read_link(entry.path())
                .is_ok_and(|link| link.to_string_lossy().starts_with(&mark));
            if ours
                && let Ok(file) = std::fs::File::open(entry.path())
                && let Ok(segment) = Segment::observe(file)
                && let Ok(control) = Control::attach(segment)
            {
                return Ok(Board { control });
            }
        }
        Err(Error::invalid(
            "pid",
            pid,
            "a process that is a PE of an nvshmemrs job right now; this one is not",
        ))
    }

    pub(crate) fn of_job(control: &Control) -> Board {
        Board {
            control: control.clone(),
        }
    }

    /// How many PEs the job has.
    pub fn n_pes(&self) -> Pe {
        self.control.n_pes()
    }

    /// Every PE.
    pub fn pes(&self) -> Vec<PeStatus> {
        (0..self.n_pes())
            .map(|pe| {
                let block = self.control.pe(pe);
                PeStatus {
                    pe,
                    pid: block.pid.load(Relaxed),
                    state: State::from_number(block.state.load(Acquire)),
                    progress: block.progress.load(Relaxed),
                }
            })
            .collect()
    }

    /// Every published wait.
    pub fn waits(&self) -> Vec<Wait> {
        let now = now_ns();
        let mut waits = Vec::new();
        for pe in 0..self.n_pes() {
            for slot in &self.control.pe(pe).waits {
                let id = slot.id.load(Acquire);
                let Some(operation) = Operation::from_number(slot.operation.load(Relaxed)) else {
                    continue;
                };
                if id == 0 || id == u64::MAX {
                    continue;
                }
                let team = slot.team.load(Relaxed);
                let epoch = slot.epoch.load(Relaxed);
                let (offset, expected) = (slot.offset.load(Relaxed), slot.expected.load(Relaxed));
                let kind = slot.kind.load(Relaxed);
                let dtype = Dtype::from_number(slot.dtype.load(Relaxed) as i32);
                let cmp = Cmp::from_number(slot.cmp.load(Relaxed) as i32);
                let target = match (kind, cmp, dtype) {
                    (kind::TEAM, _, _) if team < MAX_TEAMS as u32 => {
                        Target::Team { index: team, epoch }
                    }
                    (kind::WORD, Ok(cmp), Ok(dtype)) => Target::Word {
                        offset,
                        dtype,
                        count: slot.bytes.load(Relaxed) / dtype.size() as u64,
                        cmp,
                        expected,
                    },
                    (kind::JOIN, _, _) => Target::Join {
                        unique_id: offset,
                        n_pes: expected as Pe,
                    },
                    (kind::STREAM, _, _) => Target::Stream { goal: expected },
                    _ => Target::Job,
                };
                let since = Duration::from_nanos(now.saturating_sub(slot.since.load(Relaxed)));
                let seen = Seen {
                    actual: slot.actual.load(Relaxed),
                    element: Some((slot.index.load(Relaxed), expected)),
                };
                let thread = slot.thread.load(Relaxed);
                // The wait may have ended while it was read.
                fence(Acquire);
                if slot.id.load(Relaxed) == id {
                    let words = self.describe(pe, operation, &target, seen);
                    waits.push(Wait {
                        id,
                        pe,
                        thread,
                        operation: operation.name(),
                        team: (kind == kind::TEAM).then(|| team::name(team)),
                        epoch,
                        target: words.target,
                        expected: words.expected,
                        actual: words.actual,
                        since,
                    });
                }
            }
        }
        waits
    }

    fn describe(&self, me: Pe, operation: Operation, target: &Target, seen: Seen) -> Words {
        match *target {
            Target::Team { index, epoch } => {
                let (size, missing) = self.missing(index, me, epoch);
                Words {
                    target: format!(
                        "{} to enter collective {epoch} on {}",
                        pes(&missing),
                        team::name(index)
                    ),
                    expected: format!("{size} of {size} PEs"),
                    actual: format!("{} of {size} PEs", size - missing.len()),
                }
            }
            Target::Word {
                offset,
                dtype,
                count,
                cmp,
                expected,
            } => {
                let (index, expected) = seen.element.unwrap_or((0, expected));
                let expected = format!("{} {}", cmp.sign(), number(dtype, expected));
                let place = format!("at byte {offset:#x} of its symmetric heap");
                let name = format!("{dtype:?}").to_lowercase();
                let which = match operation {
                    Operation::WaitUntilAll => "all",
                    _ => "any",
                };
                Words {
                    target: match operation {
                        Operation::SignalWait => format!("the signal {place} to be {expected}"),
                        Operation::WaitUntil => {
                            format!("the {name} element {place} to be {expected}")
                        }
                        _ => format!(
                            "{which} of the {count} {name} elements {place}; the first that does not hold yet, element \
                             {index}, is to be {expected}"
                        ),
                    },
                    expected,
                    actual: number(dtype, seen.actual),
                }
            }
            Target::Join { unique_id, n_pes } => Words {
                target: format!("{n_pes} PEs to call team_init with unique id {unique_id}"),
                expected: format!("{n_pes} of {n_pes} PEs"),
                actual: format!("{} of {n_pes} PEs", seen.actual),
            },
            Target::Stream { goal } => Words {
                target: format!("a stream of its own to come to operation {goal}"),
                expected: goal.to_string(),
                actual: seen.actual.to_string(),
            },
            Target::Job => {
                let state = if operation == Operation::Init {
                    State::Active
                } else {
                    State::Finalizing
                };
                let missing: Vec<Pe> = self
                    .pes()
                    .iter()
                    .filter(|status| (status.state as u32) < state as u32)
                    .map(|status| status.pe)
                    .collect();
                Words {
                    target: format!("{} to call {}", pes(&missing), operation.name()),
                    expected: format!("{} of {} PEs", self.n_pes(), self.n_pes()),
                    actual: format!(
                        "{} of {} PEs",
                        self.n_pes() as usize - missing.len(),
                        self.n_pes()
                    ),
                }
            }
        }
    }

    /// How many members the team has in which `me` waits, and which of them have not arrived in an epoch.
    fn missing(&self, team: u32, me: Pe, epoch: u64) -> (usize, Vec<Pe>) {
        let mut pe = me;
        let mut missing = Vec::new();
        // The members are a ring. Memory of another process may say anything: never more steps than PEs.
        let size = (self.control.team(team, me).n_pes.load(Acquire)).min(self.n_pes() as u32);
        for _ in 0..size {
            if self
                .control
                .slot(self.control.row(team), pe, epoch)
                .epoch
                .load(Acquire)
                < epoch
            {
                missing.push(pe);
            }
            let next = self.control.team(team, pe).next.load(Relaxed);
            pe = next.min(self.n_pes() as u32 - 1) as Pe;
        }
        missing.sort_unstable();
        missing.dedup();
        (size as usize, missing)
    }

    /// The board in words, one line per PE.
    pub fn report(&self) -> String {
        let waits = self.waits();
        let mut text = format!("job of {} PEs:\n", self.n_pes());
        for status in self.pes() {
            let own: Vec<&Wait> = waits.iter().filter(|wait| wait.pe == status.pe).collect();
            let head = format!("  PE {} (pid {}, {})", status.pe, status.pid, status.state);
            if own.is_empty() {
                let what = match status.state {
                    State::Active => ": not waiting in nvshmemrs",
                    _ => "",
                };
                text += &format!("{head}{what}\n");
            }
            for wait in own {
                let seen = if wait.team.is_none() && !wait.actual.contains("PEs") {
                    format!(", sees {}", wait.actual)
                } else {
                    String::new()
                };
                text += &format!(
                    "{head}: in {} for {:.1} s (thread {}): waits for {}{seen}\n",
                    wait.operation,
                    wait.since.as_secs_f64(),
                    wait.thread,
                    wait.target
                );
            }
        }
        text
    }
}

struct Words {
    target: String,
    expected: String,
    actual: String,
}

/// The number that an element with these bits is.
fn number(dtype: Dtype, bits: u64) -> String {
    match dtype {
        Dtype::Int8 => (bits as i8).to_string(),
        Dtype::Int16 => (bits as i16).to_string(),
        Dtype::Int32 => (bits as i32).to_string(),
        Dtype::Int64 => (bits as i64).to_string(),
        Dtype::Float => f32::from_bits(bits as u32).to_string(),
        Dtype::Double => f64::from_bits(bits).to_string(),
        _ => bits.to_string(),
    }
}

/// "PE 3", "PEs 1, 2", "PEs 0 to 9".
fn pes(list: &[Pe]) -> String {
    match list {
        [] => "no PE".to_string(),
        [one] => format!("PE {one}"),
        [first, .., last] if (last - first) as usize == list.len() - 1 && list.len() > 2 => {
            format!("PEs {first} to {last}")
        }
        many => {
            let numbers: Vec<String> = many.iter().map(Pe::to_string).collect();
            format!("PEs {}", numbers.join(", "))
        }
    }
}

/// What a wait of a PE of this job waits for, for its own error message.
pub(crate) fn detail(control: &Control, me: Pe, wait: &Waiting, seen: Seen) -> String {
    let board = Board::of_job(control);
    let words = board.describe(me, wait.operation, &wait.target, seen);
    let others: Vec<String> = board
        .waits()
        .iter()
        .filter(|other| other.pe != me)
        .map(|other| {
            format!(
                "PE {} waits in {} for {}",
                other.pe, other.operation, other.target
            )
        })
        .collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; {}", others.join("; "))
    };
    format!("waits for {}, sees {}{others}", words.target, words.actual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pes_read_well() {
        assert_eq!(pes(&[]), "no PE");
        assert_eq!(pes(&[3]), "PE 3");
        assert_eq!(pes(&[1, 2]), "PEs 1, 2");
        assert_eq!(pes(&[0, 1, 2, 3]), "PEs 0 to 3");
        assert_eq!(pes(&[0, 2, 3]), "PEs 0, 2, 3");
    }

    #[test]
    fn a_process_without_a_job_has_no_board() {
        assert!(Board::of_process(std::process::id()).is_err());
        assert!(
            Board::of_process(u32::MAX / 2)
                .unwrap_err()
                .to_string()
                .contains("no such process")
        );
    }
}
