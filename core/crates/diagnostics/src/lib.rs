//! What nvshmemrs can say about a running job: who waits for whom, what is not freed, and where in the program it was called.
//!
//! [`board`] reads the control block of a job, also from another process. [`track`] is the ledger of allocations, teams, streams and
//! events that are not freed. [`sites`] finds and names the places in the program that call the library.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_job::{self as job, debug};
use nvshmemrs_vocabulary::{Error, Pe, clock, dtype, lock, op, operation, per_thread, words};

pub mod board;
pub mod sites;
pub mod track;
