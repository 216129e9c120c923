//! nvshmemrs-inspect for C++, through cxx: `libnvshmemrs_inspect_cpp.a`, whose header is `nvshmemrs/inspect.hpp`. The library contains
//! cxx's runtime. The values are those of package nvshmemrs-inspect. An optional value there has a flag beside it here, because cxx has no
//! optional values.

use nvshmemrs_inspect as inspect;

#[cxx::bridge(namespace = "nvshmemrs::inspect")]
#[allow(
    missing_docs,
    reason = "C++ reads the comments; cxx makes more items of each"
)]
#[allow(unreachable_pub, reason = "cxx chooses the visibility of its code")]
mod bridge {
    /// How far a job has come.
    #[derive(Debug)]
    enum Stage {
        /// Its PEs are in init.
        Forming,
        /// At least one PE has joined and not ended.
        Running,
        /// Every PE has finalized, left or died.
        Over,
    }

    /// The state of a PE.
    #[derive(Debug)]
    enum State {
        /// The PE has not joined yet.
        Absent,
        /// The PE has joined the job.
        Active,
        /// The PE is inside finalize.
        Finalizing,
        /// The PE has finalized.
        Finalized,
        /// The PE has left without finalize, and has announced this.
        Left,
        /// The process of the PE has ended without finalize.
        Dead,
    }

    /// PEs in a cycle, each of which waits for the next.
    #[derive(Debug, Clone)]
    struct Circle {
        pes: Vec<i32>,
    }

    /// A job at one moment.
    #[derive(Debug, Clone)]
    struct Snapshot {
        stage: Stage,
        n_pes: i32,
        /// The PEs that hold others up, one sentence each.
        summary: Vec<String>,
        /// The PEs that hold others up.
        culprits: Vec<i32>,
        circles: Vec<Circle>,
        /// Every PE; in a forming job, the PEs that are known.
        pes: Vec<Pe>,
        /// Every wait of more than a millisecond that has not ended.
        waits: Vec<Wait>,
        teams: Vec<Team>,
        /// The time that the snapshot took, in seconds.
        took: f64,
    }

    /// One PE.
    #[derive(Debug, Clone)]
    struct Pe {
        pe: i32,
        /// The process, numbered as on this machine; 0 if the process has no number here.
        pid: u32,
        state: State,
        /// Grows whenever a wait of the PE that took more than a millisecond ends.
        progress: u64,
        /// The PE's activity, in words.
        doing: String,
        /// The PEs that this PE waits for, if they are known.
        waits_for: Vec<i32>,
        /// Whether the PE has reported details: then `details` has one element, else none.
        has_details: bool,
        details: Vec<Details>,
        /// Why the PE has not reported details, or no new ones; empty if it has.
        silence: String,
    }

    /// One wait that has not ended.
    #[derive(Debug, Clone)]
    struct Wait {
        pe: i32,
        /// The thread that waits, by the kernel's number.
        thread: u32,
        operation: String,
        /// Empty if the operation has no team.
        team: String,
        /// The number of the collective call on the team, from 1; 0 for other operations.
        epoch: u64,
        target: String,
        expected: String,
        actual: String,
        /// The duration so far.
        seconds: f64,
        waits_for: Vec<i32>,
        /// The seconds until the wait gives up; infinity if the wait has no limit.
        gives_up_in: f64,
        /// The limit that applies; empty if there is none.
        limit: String,
        /// A number that is unique among the waits of the job.
        id: u64,
    }

    /// A team.
    #[derive(Debug, Clone)]
    struct Team {
        number: u32,
        name: String,
        members: Vec<i32>,
        /// The number of collectives that each member has begun on the team.
        collectives: Vec<u64>,
        /// The place in the program that made it; empty if the place is not known.
        place: String,
    }

    /// The details that a PE reports.
    #[derive(Debug, Clone)]
    struct Details {
        /// The version of the PE's library.
        library: String,
        /// The age of the report, in seconds.
        age: f64,
        /// Whether the PE has made the report for this snapshot.
        fresh: bool,
        settings: Vec<Setting>,
        heap: Heap,
        /// The first 1000 allocations and registered buffers.
        allocations: Vec<Allocation>,
        allocations_left_out: u64,
        streams: Vec<Stream>,
        /// Whether the job is checked.
        checked: bool,
        /// The number of the checker's findings on this PE, and the texts of the last findings.
        found: u64,
        reports: Vec<String>,
        /// Whether traffic is counted (`NVSHMEMRS_TRAFFIC`).
        counted: bool,
        traffic: Vec<Traffic>,
        /// Whether places in the program are known (`NVSHMEMRS_TRACK`).
        tracked: bool,
    }

    /// A setting in force at init.
    #[derive(Debug, Clone)]
    struct Setting {
        name: String,
        value: String,
        /// `default`, `environment` or `init`.
        source: String,
    }

    /// The use of a symmetric heap.
    #[derive(Debug, Clone)]
    struct Heap {
        /// `host` or `device`.
        memory: String,
        bytes: u64,
        used_bytes: u64,
        free_bytes: u64,
        largest_free_bytes: u64,
        allocations: u64,
        /// Allocations that this PE has released and that are not freed yet.
        released: u64,
    }

    /// An allocation or a registered buffer.
    #[derive(Debug, Clone)]
    struct Allocation {
        offset: u64,
        bytes: u64,
        /// The place in the program that made it; empty if the place is not known.
        place: String,
        released: bool,
        registered: bool,
    }

    /// A stream on the host.
    #[derive(Debug, Clone)]
    struct Stream {
        submitted: u64,
        done: u64,
        /// The error that the next synchronisation returns; empty if there is none.
        error: String,
        /// The place in the program that made it; empty if the place is not known.
        place: String,
    }

    /// The traffic of a PE with another PE since init.
    #[derive(Debug, Clone)]
    struct Traffic {
        pe: i32,
        puts: u64,
        put_bytes: u64,
        gets: u64,
        get_bytes: u64,
        atomics: u64,
        signals: u64,
    }

    extern "Rust" {
        type Found;
        fn find(pid: u32) -> Result<Box<Found>>;
        fn find_this() -> Result<Box<Found>>;
        fn look(self: &Found, patience: f64) -> Result<Snapshot>;
        fn count(self: &Found) -> i32;
        fn words(self: &Found) -> String;
        fn version() -> String;
    }
}

/// A job that was found through its processes.
struct Found(inspect::Job);

/// The text of an error begins with the error's kind, from which the header chooses an exception.
fn told(error: inspect::InspectError) -> String {
    use inspect::InspectError::*;
    let kind = match &error {
        NoProcess(_) => "no_process",
        OtherUser(_) => "other_user",
        NoJob(_) => "no_job",
        OtherVersion(_) => "other_version",
        BadArgument(_) => "bad_argument",
        System(_) => "system",
    };
    format!("{kind}: {error}")
}

fn find(pid: u32) -> Result<Box<Found>, String> {
    let job = inspect::Job::of_process(pid).map_err(told)?;
    Ok(Box::new(Found(job)))
}

fn find_this() -> Result<Box<Found>, String> {
    find(std::process::id())
}

fn version() -> String {
    inspect::library_version()
}

impl Found {
    fn look(&self, patience: f64) -> Result<bridge::Snapshot, String> {
        self.0.snapshot(patience).map(Into::into).map_err(told)
    }

    fn count(&self) -> i32 {
        self.0.n_pes()
    }

    fn words(&self) -> String {
        self.0.report()
    }
}

/// Converts each value to its counterpart.
fn all<T, U: From<T>>(list: Vec<T>) -> Vec<U> {
    list.into_iter().map(U::from).collect()
}

impl From<inspect::Stage> for bridge::Stage {
    fn from(stage: inspect::Stage) -> Self {
        match stage {
            inspect::Stage::Forming => Self::Forming,
            inspect::Stage::Running => Self::Running,
            inspect::Stage::Over => Self::Over,
        }
    }
}

impl From<inspect::State> for bridge::State {
    fn from(state: inspect::State) -> Self {
        match state {
            inspect::State::Absent => Self::Absent,
            inspect::State::Active => Self::Active,
            inspect::State::Finalizing => Self::Finalizing,
            inspect::State::Finalized => Self::Finalized,
            inspect::State::Left => Self::Left,
            inspect::State::Dead => Self::Dead,
        }
    }
}

/// Converts a struct to its counterpart: equal fields, and fields whose values are computed from the fields of `from`.
macro_rules! counterpart {
    ($name:ident($from:ident): $($same:ident),* $(; $($field:ident: $value:expr),*)?) => {
        impl From<inspect::$name> for bridge::$name {
            fn from($from: inspect::$name) -> Self {
                Self { $($same: $from.$same,)* $($($field: $value,)*)? }
            }
        }
    };
}

counterpart!(Snapshot(from): n_pes, summary, culprits, took;
    stage: from.stage.into(),
    circles: from.circles.into_iter().map(|pes| bridge::Circle { pes }).collect(),
    pes: all(from.pes),
    waits: all(from.waits),
    teams: all(from.teams));
counterpart!(Pe(from): pe, pid, progress, doing, waits_for, silence;
    state: from.state.into(),
    has_details: from.details.is_some(),
    details: from.details.into_iter().map(Into::into).collect());
counterpart!(Wait(from): pe, thread, operation, epoch, target, expected, actual, seconds, waits_for, id;
    team: from.team.unwrap_or_default(),
    gives_up_in: from.gives_up_in.unwrap_or(f64::INFINITY),
    limit: from.limit.unwrap_or_default());
counterpart!(Team(from): number, name, members, collectives; place: from.place.unwrap_or_default());
counterpart!(Setting(from): name, value, source);
counterpart!(Heap(from): memory, bytes, used_bytes, free_bytes, largest_free_bytes, allocations, released);
counterpart!(Allocation(from): offset, bytes, released, registered; place: from.place.unwrap_or_default());
counterpart!(Stream(from): submitted, done;
    error: from.error.unwrap_or_default(),
    place: from.place.unwrap_or_default());
counterpart!(Traffic(from): pe, puts, put_bytes, gets, get_bytes, atomics, signals);

impl From<inspect::Details> for bridge::Details {
    fn from(from: inspect::Details) -> Self {
        let checked = from.checker.is_some();
        let (found, reports) = match from.checker {
            Some(checker) => (checker.found, checker.reports),
            None => (0, Vec::new()),
        };
        Self {
            library: from.library,
            age: from.age,
            fresh: from.fresh,
            settings: all(from.settings),
            heap: from.heap.into(),
            allocations: all(from.allocations),
            allocations_left_out: from.allocations_left_out,
            streams: all(from.streams),
            checked,
            found,
            reports,
            counted: from.traffic.is_some(),
            traffic: all(from.traffic.unwrap_or_default()),
            tracked: from.tracked,
        }
    }
}
