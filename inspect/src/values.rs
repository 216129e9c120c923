//! What there is to see of a job, as values.

use serde::{Deserialize, Serialize};

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its PEs are in init. Only those that are have a value, and nothing private is known of them.
    Forming,
    /// At least one PE has joined and not ended.
    Running,
    /// Every PE has finalized, left or died. Details are the last ones that were told.
    Over,
}

/// What a PE is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, uniffi::Enum)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has not joined yet.
    Absent,
    /// It takes part.
    Active,
    /// It is inside finalize.
    Finalizing,
    /// It has finalized.
    Finalized,
    /// It has left without finalize, and said so.
    #[serde(rename = "left without finalize")]
    Left,
    /// Its process has ended without finalize.
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
    /// How many PEs it has.
    pub n_pes: i32,
    /// Who holds the others up, one sentence each.
    pub summary: Vec<String>,
    /// The PEs that hold others up: they are waited for, and wait for nobody themselves, or are stopped.
    pub culprits: Vec<i32>,
    /// PEs that wait for each other in a circle, each for the next one.
    pub circles: Vec<Vec<i32>>,
    /// Every PE; of a forming job, those that are known.
    pub pes: Vec<Pe>,
    /// Every wait of more than a millisecond that has not ended.
    pub waits: Vec<Wait>,
    /// The teams of the PEs that have told theirs.
    pub teams: Vec<Team>,
    /// How long the look took, in seconds.
    pub took: f64,
}

/// One PE.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Pe {
    /// Its number.
    pub pe: i32,
    /// Its process, as it is numbered here; 0 if it has no number here.
    pub pid: u32,
    /// How far it has come.
    pub state: State,
    /// Grows whenever one of its waits of more than a millisecond ends.
    pub progress: u64,
    /// What it is doing, in words.
    pub doing: String,
    /// The PEs that it waits for, where that is known.
    pub waits_for: Vec<i32>,
    /// What it has told of itself; none if it has told nothing.
    pub details: Option<Details>,
    /// Why it has told nothing, or nothing new; empty if it has.
    pub silence: String,
}

/// One wait that has not ended.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Wait {
    /// Who waits.
    pub pe: i32,
    /// Its thread, as the kernel numbers it.
    pub thread: u32,
    /// In which operation.
    pub operation: String,
    /// On which team, for collectives.
    pub team: Option<String>,
    /// In which collective call on that team, counted from 1; 0 otherwise.
    pub epoch: u64,
    /// What it waits for.
    pub target: String,
    /// The value that it needs.
    pub expected: String,
    /// The value that it last saw.
    pub actual: String,
    /// For how long, in seconds.
    pub seconds: f64,
    /// The PEs that it waits for, where that is known.
    pub waits_for: Vec<i32>,
    /// In how many seconds it gives up; none if it never does.
    pub gives_up_in: Option<f64>,
    /// The limit that makes it give up.
    pub limit: Option<String>,
    /// A number that no other wait of the job has.
    pub id: u64,
}

/// A team.
#[derive(Clone, Debug, PartialEq, Serialize, uniffi::Record)]
pub struct Team {
    /// Its number. Teams without a common member may have the same one.
    pub number: u32,
    /// Its name in messages.
    pub name: String,
    /// Its members, by their numbers in the team.
    pub members: Vec<i32>,
    /// How many collectives each member has begun on it.
    pub collectives: Vec<u64>,
    /// Where it was made, on the first member that says so.
    pub place: Option<String>,
}

/// What a PE tells of itself.
#[derive(Clone, Debug, Serialize, uniffi::Record)]
pub struct Details {
    /// The version of its library.
    pub library: String,
    /// How long ago it told this, in seconds.
    pub age: f64,
    /// Whether it has told this for this snapshot.
    pub fresh: bool,
    /// Its settings, as they held at init.
    pub settings: Vec<Setting>,
    /// Its symmetric heap.
    pub heap: Heap,
    /// The first 1000 of its allocations and registered buffers.
    pub allocations: Vec<Allocation>,
    /// How many more it has.
    pub allocations_left_out: u64,
    /// Its streams on the host.
    pub streams: Vec<Stream>,
    /// What the checker has found, in a job that is checked.
    pub checker: Option<Checker>,
    /// What it has moved, by the other PE, if `NVSHMEMRS_TRAFFIC` is 1.
    pub traffic: Option<Vec<Traffic>>,
    /// Whether places in the program are known: `NVSHMEMRS_TRACK` is 1.
    pub tracked: bool,
}

/// A setting as it held at init.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Setting {
    /// The variable of the environment.
    pub name: String,
    /// Its value. A secret is not shown.
    pub value: String,
    /// Where the value comes from: `default`, `environment` or `init`.
    pub source: String,
}

/// How full a symmetric heap is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Heap {
    /// Where it lives: `host` or `device`.
    pub memory: String,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes in live allocations, rounding included.
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

/// An allocation, or a buffer that is registered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Allocation {
    /// Where it starts, in bytes from the start of a PE's part of the heap.
    pub offset: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// What made it, and where: "malloc at heat.c:31 (main)"; none unless `NVSHMEMRS_TRACK` is 1.
    pub place: Option<String>,
    /// Whether this PE has released it.
    pub released: bool,
    /// Whether it is a registered buffer.
    pub registered: bool,
}

/// A stream on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Stream {
    /// Operations that were put on it.
    pub submitted: u64,
    /// Operations of these that are done.
    pub done: u64,
    /// The error that the next synchronisation returns.
    pub error: Option<String>,
    /// Where it was made; none unless `NVSHMEMRS_TRACK` is 1.
    pub place: Option<String>,
}

/// What the checker has found on a PE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Checker {
    /// How many findings.
    pub found: u64,
    /// The texts of the last ones, oldest first.
    pub reports: Vec<String>,
}

/// What a PE has moved to and from another one, or itself, since init. The data of collectives is not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, uniffi::Record)]
pub struct Traffic {
    /// The other PE.
    pub pe: i32,
    /// Puts to it: put, iput, p and their other forms.
    pub puts: u64,
    /// Bytes that these carried.
    pub put_bytes: u64,
    /// Gets from it.
    pub gets: u64,
    /// Bytes that these carried.
    pub get_bytes: u64,
    /// Atomic operations on its memory.
    pub atomics: u64,
    /// Signals to it; a put with a signal counts as both.
    pub signals: u64,
}
