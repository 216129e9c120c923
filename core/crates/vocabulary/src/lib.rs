//! The vocabulary of nvshmemrs: the types and tables that all other crates of the library use.
//!
//! They are independent of a job. [`operation`] is the table of all operations, [`config`] of all settings, [`error`] of all errors.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod buffer;
pub mod clock;
pub mod config;
pub mod deadline;
pub mod dtype;
pub mod error;
pub mod float8;
pub mod lock;
pub mod memory_kind;
pub mod op;
pub mod operation;
pub mod pe;
pub mod per_thread;
pub mod strides;
pub mod words;

pub use dtype::Dtype;
pub use error::{Error, Result};
pub use float8::{Float8E4m3fn, Float8E5m2};
pub use memory_kind::MemoryKind;
pub use op::{Cmp, Op, SignalOp};
pub use pe::Pe;
