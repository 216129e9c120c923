//! A look into a running job of nvshmemrs, from outside or from one of its PEs.
//!
//! [`attach`] finds the job of a process, [`this_job`] that of the calling process. [`Job::snapshot`] gives what there is to see as values:
//! who waits for whom, and of each PE its settings, heap, allocations, teams, streams, findings and traffic. `docs/inspect.md` describes
//! them.
//!
//! Nobody who looks writes to the job. What is private to a PE its watchdog tells, so a PE answers, too, whose threads all wait.
//!
//! The values are records of `uniffi`, which makes the bindings for Python, Kotlin, Swift and Ruby. [`find`] serves the launcher, too, and
//! [`list`] nvshmemrs-info and nvshmemrs-top.
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
