//! The state of a running job of nvshmemrs, read from outside or from one of its PEs.
//!
//! [`attach`] finds the job of a process, and [`this_job`] the job of the calling process. [`Job::snapshot`] returns the state of the job as
//! values: which PE waits for which, and the settings, heap, allocations, teams, streams, findings and traffic of each PE.
//! `docs/inspect.md` describes them.
//!
//! A reader writes nothing to the job. The watchdog of a PE reports the private state, so a PE answers even if all of its threads wait.
//!
//! The values are records of `uniffi`, which generates the bindings for Python, Kotlin, Swift and Ruby. The launcher also uses [`find`];
//! nvshmemrs-info and nvshmemrs-top use [`list`].
//!
//! ```no_run
//! let job = nvshmemrs_inspect::attach(4711)?;
//! let seen = job.snapshot(0.1)?;
//! println!("{}", seen.summary.join("\n"));
//! for pe in seen.pes.iter().filter(|pe| seen.culprits.contains(&pe.pe)) {
//!     println!("PE {} holds the others up: it is {}", pe.pe, pe.doing);
//! }
//! # Ok::<(), nvshmemrs_inspect::InspectError>(())
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod error;
pub mod find;
mod job;
pub mod list;
mod values;

pub use error::InspectError;
pub use job::{Job, attach, library_version, this_job};
pub use values::{
    Allocation, Checker, Details, Heap, Pe, Setting, Snapshot, Stage, State, Stream, Team, Traffic,
    Wait,
};

uniffi::setup_scaffolding!("nvshmemrs_inspect");
