//! The state of a job, as values.

use serde::{Deserialize, Serialize};

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its PEs are in init. A snapshot has only the PEs that have reached init, without details.
    Forming,
    /// At least one PE has joined and not ended.
    Running,
    /// Every PE has finalized, left or died. Details are the last ones that the PEs reported.
    Over,
}

/// The state of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The PE has not joined yet.
    Absent,
    /// The PE has joined the job.
    Active,
    /// The PE is inside finalize.
    Finalizing,
    /// The PE has finalized.
    Finalized,
    /// The PE has left without finalize, and has announced this.
    #[serde(rename = "left without finalize")]
    Left,
    /// The process of the PE has ended without finalize.
    Dead,
}

impl From<nvshmemrs::board::State> for State {
    fn from(state: nvshmemrs::board::State) -> Self {
        use nvshmemrs::board::State as Board;
        match state {
            Board::Absent => Self::Absent,
            Board::Active => Self::Active,
            Board::Finalizing => Self::Finalizing,
            Board::Finalized => Self::Finalized,
            Board::Left => Self::Left,
            Board::Dead => Self::Dead,
        }
    }
}

/// A job at one moment.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Snapshot {
    /// How far the job has come.
    pub stage: Stage,
    /// The number of PEs.
    pub n_pes: i32,
    /// The PEs that hold others up, one sentence each.
    pub summary: Vec<String>,
    /// The PEs that hold others up: other PEs wait for them, and they wait for no PE or are stopped.
    pub culprits: Vec<i32>,
    /// Cycles of PEs, each of which waits for the next.
    pub circles: Vec<Vec<i32>>,
    /// Every PE; in a forming job, the PEs that are known.
    pub pes: Vec<Pe>,
    /// Every wait of more than a millisecond that has not ended.
    pub waits: Vec<Wait>,
    /// The teams of the PEs that have reported details.
    pub teams: Vec<Team>,
    /// The time that the snapshot took, in seconds.
    pub took: f64,
}

/// One PE.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Pe {
    /// The PE's number.
    pub pe: i32,
    /// The process, numbered as on this machine; 0 if the process has no number here.
    pub pid: u32,
    /// The PE's state.
    pub state: State,
    /// Grows whenever a wait of the PE that took more than a millisecond ends.
    pub progress: u64,
    /// The PE's activity, in words.
    pub doing: String,
    /// The PEs that this PE waits for, if they are known.
    pub waits_for: Vec<i32>,
    /// The details that the PE has reported; none if it has not reported any.
    pub details: Option<Details>,
    /// Why the PE has not reported details, or no new ones; empty if it has.
    pub silence: String,
}

/// One wait that has not ended.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Wait {
    /// The PE that waits.
    pub pe: i32,
    /// The thread that waits, by the kernel's number.
    pub thread: u32,
    /// The operation that waits.
    pub operation: String,
    /// The team of a collective.
    pub team: Option<String>,
    /// The number of the collective call on the team, from 1; 0 for other operations.
    pub epoch: u64,
    /// The word or the event that the wait is for.
    pub target: String,
    /// The value that ends the wait.
    pub expected: String,
    /// The value that the wait has seen last.
    pub actual: String,
    /// The duration so far, in seconds.
    pub seconds: f64,
    /// The PEs that the wait is for, if they are known.
    pub waits_for: Vec<i32>,
    /// The seconds until the wait gives up; none if the wait has no limit.
    pub gives_up_in: Option<f64>,
    /// The limit that applies.
    pub limit: Option<String>,
    /// A number that is unique among the waits of the job.
    pub id: u64,
}

/// A team.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Record)]
pub struct Team {
    /// The team's number. Teams without a common member may have the same number.
    pub number: u32,
    /// The team's name in messages.
    pub name: String,
    /// The PEs of the team, in the order of their numbers in the team.
    pub members: Vec<i32>,
    /// The number of collectives that each member has begun on the team.
    pub collectives: Vec<u64>,
    /// The place in the program that made the team, on the first member that reports it.
    pub place: Option<String>,
}

/// The details that a PE reports.
#[derive(Clone, Debug, Serialize, Deserialize, uniffi::Record)]
pub struct Details {
    /// The version of the PE's library.
    pub library: String,
    /// The age of the report, in seconds.
    #[serde(skip_deserializing)]
    pub age: f64,
    /// Whether the PE has made the report for this snapshot.
    #[serde(skip_deserializing)]
    pub fresh: bool,
    /// The settings in force at init.
    pub settings: Vec<Setting>,
    /// The PE's part of the symmetric heap.
    pub heap: Heap,
    /// The first 1000 allocations and registered buffers.
    pub allocations: Vec<Allocation>,
    /// The number of allocations and buffers beyond these.
    pub allocations_left_out: u64,
    /// The streams on the host.
    pub streams: Vec<Stream>,
    /// The findings of the checker, in a job that is checked.
    pub checker: Option<Checker>,
    /// The traffic with each other PE, if `NVSHMEMRS_TRAFFIC` is 1.
    pub traffic: Option<Vec<Traffic>>,
    /// Whether places in the program are known: `NVSHMEMRS_TRACK` is 1.
    pub tracked: bool,
}

/// A setting in force at init.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Setting {
    /// The environment variable.
    pub name: String,
    /// The value. A secret is not shown.
    pub value: String,
    /// The origin of the value: `default`, `environment` or `init`.
    pub source: String,
}

/// The use of a symmetric heap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Heap {
    /// The kind of memory: `host` or `device`.
    pub memory: String,
    /// The size in bytes.
    pub bytes: u64,
    /// Bytes in live allocations, with rounding.
    pub used_bytes: u64,
    /// Bytes not allocated.
    pub free_bytes: u64,
    /// The largest block that can be allocated now.
    pub largest_free_bytes: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Allocations that this PE has released and that are not freed yet.
    pub released: u64,
}

/// An allocation or a registered buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Allocation {
    /// The offset of the first byte in a PE's part of the heap.
    pub offset: u64,
    /// The number of bytes requested.
    pub bytes: u64,
    /// The function that made the allocation, and its place: "malloc at heat.c:31 (main)"; none unless `NVSHMEMRS_TRACK` is 1.
    pub place: Option<String>,
    /// Whether this PE has released the allocation.
    pub released: bool,
    /// Whether this is a registered buffer.
    pub registered: bool,
}

/// A stream on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Stream {
    /// The number of operations that were submitted.
    pub submitted: u64,
    /// The number of operations that are complete.
    pub done: u64,
    /// The error that the next synchronisation returns.
    pub error: Option<String>,
    /// The place in the program that made the stream; none unless `NVSHMEMRS_TRACK` is 1.
    pub place: Option<String>,
}

/// The findings of the checker on a PE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Checker {
    /// The number of findings.
    pub found: u64,
    /// The texts of the last findings, oldest first.
    pub reports: Vec<String>,
}

/// The traffic of a PE with another PE, or with itself, since init. The data of collectives is not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Traffic {
    /// The other PE.
    pub pe: i32,
    /// The number of puts to the other PE: put, iput, p and their other forms.
    pub puts: u64,
    /// The bytes of these puts.
    pub put_bytes: u64,
    /// The number of gets from the other PE.
    pub gets: u64,
    /// The bytes of these gets.
    pub get_bytes: u64,
    /// The number of atomic operations on the other PE's memory.
    pub atomics: u64,
    /// The number of signals to the other PE; a put with a signal counts as both.
    pub signals: u64,
}
