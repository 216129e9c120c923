//! The board: the published waits, read from a job's control block, by a PE of the job or from outside.
//!
//! * [`needs`]: the PEs that a wait needs to end; [`rings`] looks them up. [`graph`]: who needs whom, and which PEs hold the others up.
//! * [`init_status`]: a job in init, before there is a board.
//! * [`circle`]: PEs that need each other. [`lists`]: the lists of needs that both follow.
//! * [`status_query`]: queries the status of the PEs.
//! * [`picture`]: all of it in words. [`words`](crate::words): lists, numbers.
//! * [`process`]: the activity of a PE that does not wait in nvshmemrs.

mod circle;
mod graph;
mod init_status;
mod lists;
#[cfg(test)]
mod many;
mod monitor;
mod needs;
mod picture;
mod rings;
mod status_query;

use crate::clock::now_ns;
use crate::dtype::Dtype;
use crate::job::block::{Control, MAX_TEAMS, WaitSlot};
use crate::job::process::{self, Hidden, pid_of};
use crate::job::published::{self, Limit, Seen, Target, Wait as Waiting, called_name, kind};
use crate::job::segment::Segment;
use crate::job::team;
use crate::op::Cmp;
use crate::operation::Operation;
use crate::{Error, Pe};
use rings::Rings;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::Duration;

pub use crate::job::state::State;
pub use init_status::{InitStatus, doing, init_picture};
pub use monitor::{Monitor, Position};
pub use picture::{PePicture, Picture};
pub use picture::{detail, last_place, on_host};
pub use status_query::{StatusAnswer, StatusQueries, StatusQuery};

/// One PE on the board.
#[derive(Clone, Debug)]
pub struct PeStatus {
    /// Its number.
    pub pe: Pe,
    /// Its process, as it is numbered here; 0 if it has no number here.
    pub pid: u32,
    /// Its activity.
    pub state: State,
    /// Grows whenever one of its published waits ends.
    pub progress: u64,
}

/// One wait on the board. Waits of less than a millisecond do not appear.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Unique in the job.
    pub id: u64,
    /// The PE that waits.
    pub pe: Pe,
    /// Its thread, as the kernel numbers it.
    pub thread: u32,
    /// In which operation.
    pub operation: String,
    /// On which team, for collectives.
    pub team: Option<String>,
    /// In which collective call on that team, counted from 1; 0 otherwise.
    pub epoch: u64,
    /// The target of the wait.
    pub target: String,
    /// The value it needs.
    pub expected: String,
    /// The value it last saw.
    pub actual: String,
    /// For how long.
    pub since: Duration,
    /// The PEs that it waits for, if known: the writer of a value is unknown.
    pub waits_for: Vec<Pe>,
    /// The time until it times out, and the name of the limit.
    pub gives_up: Option<(Duration, &'static str)>,
}

/// A wait as it was read from the board.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Entry {
    pub id: u64,
    pub pe: Pe,
    pub thread: u32,
    pub wait: Waiting,
    /// The name under which the program has called the operation, if it is known and not the operation's own.
    pub called: Option<String>,
    pub seen: Seen,
    /// When it began and, if ever, gives up, on the monotonic clock.
    pub since: u64,
    pub until: Option<(u64, Limit)>,
    /// The line of the program, if it is known: "heat.c:71 (exchange)".
    pub line: Option<String>,
    /// The place of the element that it waits for, if it is known: "in the 8 bytes of malloc at heat.c:31 (main)".
    pub allocation: Option<String>,
}

impl Entry {
    /// The name of the operation for the program.
    fn name(&self) -> &str {
        let own = self.wait.operation.name();
        self.called.as_deref().unwrap_or(own)
    }

    /// The element of a lock, and the PE ahead in the lock's queue, if the wait is for a lock.
    fn lock(&self) -> Option<(u64, Pe)> {
        match self.wait.target {
            Target::Word { offset, ahead, .. } => ahead.map(|pe| (offset, pe)),
            _ => None,
        }
    }
}

/// Why there is no board of a process's job.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// It belongs to another user.
    #[error(
        "process {pid} belongs to another user: only the user who has started a job, or an administrator, can look into the job"
    )]
    OtherUser {
        /// The process.
        pid: u32,
    },
    /// It is not a PE.
    #[error("process {pid} is not a PE of an nvshmemrs job right now")]
    NoJob {
        /// The process.
        pid: u32,
    },
    /// Another version of the library has made its job.
    #[error(
        "process {pid} is in a job of another version of nvshmemrs: the job's memory has layout version {theirs}, but this is \
         nvshmemrs {version}, which reads layout version {ours}", version = env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The process.
        pid: u32,
        /// The layout of the job's memory.
        theirs: u32,
        /// The layout that this library knows.
        ours: u32,
    },
    /// A system call failed.
    #[error("{0}")]
    System(#[from] Error),
}

#[doc(hidden)]
impl From<Hidden> for Refusal {
    fn from(hidden: Hidden) -> Refusal {
        match hidden {
            Hidden::NoProcess(pid) => Refusal::NoProcess { pid },
            Hidden::OtherUser(pid) => Refusal::OtherUser { pid },
            Hidden::System(error) => Refusal::System(error),
        }
    }
}

/// The board of a job.
#[derive(Debug)]
pub struct Board {
    control: Control,
    /// The number of the job's memory, where the control block's descriptor does not tell it.
    number: Option<u64>,
}

impl Board {
    /// The board of the job that process `pid` is a PE of. The caller must be the same user; it may be a PE of the job itself.
    pub fn of_process(pid: u32) -> std::result::Result<Board, Refusal> {
        let files = process::job_files(pid)?;
        let own = process::own_jobs();
        let mut refused = Refusal::NoJob { pid };
        for (path, file) in files {
            let observed = match own.iter().find(|(_, job)| *job == file) {
                // To open and close it would drop the liveness locks of this process, so the descriptor is used that is there.
                Some(&(descriptor, _)) => {
                    Segment::observe_own(descriptor, file).map(|segment| (segment, Some(file.1)))
                }
                None => std::fs::File::open(&path)
                    .map_err(|error| Error::system("opening the job's memory", error))
                    .and_then(Segment::observe)
                    .map(|segment| (segment, None)),
            };
            let taken = observed
                .map_err(Refusal::from)
                .and_then(|(segment, number)| {
                    if let Some(theirs) = Control::other_version(&segment) {
                        let ours = Control::version();
                        return Err(Refusal::OtherVersion { pid, theirs, ours });
                    }
                    let control = Control::attach(segment)?;
                    Ok(Board { control, number })
                });
            match taken {
                Ok(board) => return Ok(board),
                // The PE may have ended meanwhile; the reason against its job is reported all the same.
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    #[doc(hidden)]
    pub fn of_job(control: &Control) -> Board {
        if let Some(remote) = control.remote() {
            remote.refresh_reports(control);
        }
        Board {
            control: control.clone(),
            number: None,
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
                    pid: pid_of(&self.control, pe),
                    state: State::from_number(block.state.load(Acquire)),
                    progress: block.progress.load(Relaxed),
                }
            })
            .collect()
    }

    /// The PE that was the first to be gone, dead or left, if one is.
    pub fn first_gone(&self) -> Option<Pe> {
        let first = self.control.header().first_gone.load(Acquire);
        (1..=self.n_pes() as u32)
            .contains(&first)
            .then(|| first as Pe - 1)
    }

    /// Every published wait.
    pub fn waits(&self) -> Vec<Wait> {
        let now = now_ns();
        let mut rings = Rings::default();
        let entries = self.entries();
        let mut wait = |entry: &Entry| {
            let needs = rings.needs(self, entry);
            let words = self.describe(entry, &needs);
            let (team, epoch) = match entry.wait.target {
                Target::Team { index, epoch } => (Some(team::name(index)), epoch),
                _ => (None, 0),
            };
            Wait {
                id: entry.id,
                pe: entry.pe,
                thread: entry.thread,
                operation: entry.name().into(),
                team,
                epoch,
                target: words.target,
                expected: words.expected,
                actual: words.actual,
                since: Duration::from_nanos(now.saturating_sub(entry.since)),
                waits_for: needs.pes().to_vec(),
                gives_up: entry.until.map(|(until, limit)| {
                    let left = Duration::from_nanos(until.saturating_sub(now));
                    (left, limit.name())
                }),
            }
        };
        entries.iter().map(&mut wait).collect()
    }

    /// Every published wait, as it stands in the slots.
    #[doc(hidden)]
    pub fn entries(&self) -> Vec<Entry> {
        (0..self.n_pes())
            .flat_map(|pe| self.entries_of(pe))
            .collect()
    }

    /// As [`entries`](Board::entries), those of one PE.
    fn entries_of(&self, pe: Pe) -> impl Iterator<Item = Entry> {
        let slots = self.control.pe(pe).waits.iter().enumerate();
        slots.filter_map(move |(index, slot)| {
            let id = slot.id.load(Acquire);
            if id == 0 || id == u64::MAX {
                return None;
            }
            let called = called_name(&self.control, pe, index, id);
            let entry = read(slot, pe, id, self.n_pes(), called)?;
            // The wait may have ended while it was read.
            fence(Acquire);
            (slot.id.load(Relaxed) == id).then_some(entry)
        })
    }

    /// The board as text: the culprits, then a line for each PE. It asks the PEs of this host for the lines of their waits.
    pub fn report(&self) -> String {
        self.query_lines();
        self.picture().to_string()
    }

    /// The activity of every PE, the PEs that it waits for, and the culprits.
    pub fn picture(&self) -> Picture {
        Picture::of(self)
    }
}

/// In a wait for an element of a lock: the PE ahead in the lock's queue.
fn ahead(slot: &WaitSlot, most: Pe) -> Option<Pe> {
    let pe = Pe::try_from(slot.team.load(Relaxed)).ok()? - 1;
    (0..most).contains(&pe).then_some(pe)
}

/// The wait in a slot, in a job of `most` PEs; none if the slot is malformed.
fn read(slot: &WaitSlot, pe: Pe, id: u64, most: Pe, called: Option<String>) -> Option<Entry> {
    let operation = Operation::from_number(slot.operation.load(Relaxed))?;
    let team = slot.team.load(Relaxed);
    let epoch = slot.epoch.load(Relaxed);
    let (offset, expected) = (slot.offset.load(Relaxed), slot.expected.load(Relaxed));
    let dtype = Dtype::from_number(slot.dtype.load(Relaxed) as i32);
    let cmp = Cmp::from_number(slot.cmp.load(Relaxed) as i32);
    let target = match (slot.kind.load(Relaxed), cmp, dtype) {
        (kind::TEAM, _, _) if team < MAX_TEAMS as u32 => Target::Team { index: team, epoch },
        (kind::WORD, Ok(cmp), Ok(dtype)) => Target::Word {
            offset,
            dtype,
            count: slot.bytes.load(Relaxed) / dtype.size() as u64,
            cmp,
            expected,
            ahead: ahead(slot, most),
        },
        (kind::JOIN, _, _) => Target::Join {
            unique_id: offset,
            n_pes: Pe::try_from(expected)
                .ok()
                .filter(|n_pes| (1..=most).contains(n_pes))?,
        },
        (kind::STREAM, _, _) => Target::Stream { goal: expected },
        (kind::DEVICE, _, _) => Target::Device,
        (kind::SHARE, _, _) => Target::Share {
            pe: Pe::try_from(expected)
                .ok()
                .filter(|pe| (0..most).contains(pe))?,
        },
        (kind::REMOTE, _, _) => Target::Remote {
            pe: Pe::try_from(expected)
                .ok()
                .filter(|pe| (0..most).contains(pe))?,
        },
        _ => Target::Job,
    };
    let until = slot.until.load(Relaxed);
    let (line, allocation) = published::texts(slot, id);
    Some(Entry {
        id,
        pe,
        thread: slot.thread.load(Relaxed),
        wait: Waiting { operation, target },
        called,
        seen: Seen {
            actual: slot.actual.load(Relaxed),
            element: Some((slot.index.load(Relaxed), expected)),
        },
        since: slot.since.load(Relaxed),
        until: Limit::from_number(slot.limit.load(Relaxed)).map(|limit| (until, limit)),
        line,
        allocation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::locks;
    use std::os::unix::fs::MetadataExt;
    use std::process::Command;

    #[test]
    fn a_look_at_ones_own_job_keeps_the_place_in_it() {
        let control = Control::create(2, 2 << 20, Default::default(), None).unwrap();
        let fd = control
            .segment()
            .fd()
            .unwrap()
            .try_clone_to_owned()
            .unwrap();
        let inode = std::fs::File::from(fd.try_clone().unwrap());
        let inode = inode.metadata().unwrap().ino();
        // A process that has the job's memory, as another PE has it.
        let mut other = Command::new("sleep").arg("60").stdin(fd).spawn().unwrap();
        locks::hold(control.segment(), 0).unwrap();
        let is_held = || {
            let (pid, place) = (std::process::id(), format!(":{inode} 0 0"));
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            let own = |line: &str| line.contains(&format!(" {pid} ")) && line.ends_with(&place);
            locks.lines().any(own)
        };
        assert!(is_held());
        for pid in [other.id(), std::process::id()] {
            let board = Board::of_process(pid);
            let found = board.as_ref().map(|board| (board.n_pes(), board.number));
            let found = found.map_err(Refusal::to_string);
            drop(board);
            // Other tests of this process may have jobs, too.
            if pid == other.id() {
                assert_eq!(found, Ok((2, Some(inode))));
            }
            assert!(is_held(), "the lock is gone");
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_process_without_a_job_has_no_board() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let why = Board::of_process(other.id()).unwrap_err().to_string();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(why.contains("is not a PE of"), "{why}");
        assert!(
            Board::of_process(u32::MAX / 2)
                .unwrap_err()
                .to_string()
                .contains("there is no process")
        );
    }
}
