//! Diagnostics of a running job: the board of waits, the ledger of objects not freed, and the call sites of the library.
//!
//! [`board`] reads the control block of a job, also from another process. [`track`] is the ledger of allocations, teams, streams and
//! events that are not freed. [`sites`] finds and names the program's call sites of the library.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_job::{self as job, debug};
use nvshmemrs_vocabulary::{Error, Pe, clock, dtype, lock, op, operation, per_thread, words};

pub mod board;
pub mod sites;
pub mod track;
