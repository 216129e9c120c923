//! The C ABI of nvshmemrs: `libnvshmemrs.so`, `libnvshmemrs.a` and `include/nvshmemrs.h`.
//!
//! Conventions:
//!
//! * Every function that can fail returns an `int32_t` status: 0 is success, the numbers are in
//!   `nvshmemrs_status`. `nvshmemrs_last_error()` has the details, for the calling thread.
//! * Outputs come last and are written only on success.
//! * Handles are numbers (kind, generation, index), never pointers. A stale handle is an error.
//! * `_new` creates, `_free` releases; releasing a null handle or a null pointer has no effect.
//! * A stream's handle may be passed in place of a runtime's to every data operation: RMA, atomics, signals, waits,
//!   collectives. The call is then queued.
//! * Enums are passed as `int32_t`, so an undefined number is an error, not undefined behaviour.
//! * A panic never crosses this boundary: every function opens with a barrier from [`guard`].
//!
//! There is one file per object, as in the core. All code that dereferences pointers is in [`handle`].

#![allow(
    non_camel_case_types,
    reason = "C type names are written as C writes them"
)]

pub mod context;
mod cuda_streams;
pub mod deadline;
pub mod device;
mod failures;
pub mod generated;
mod guard;
mod handle;
pub mod heap;
pub mod library;
pub mod lock;
mod nesting;
pub mod order;
pub mod pool;
pub mod runtime;
pub mod signal;
pub mod sites;
pub mod stream;
pub mod team;
mod text;
pub mod types;
mod waits;
mod words;
