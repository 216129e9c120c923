//! Models of nvshmemrs's protocols.
//!
//! The models run the core's own code: the build script takes functions out of `core/src` (see `build/pieces.rs`), and they are
//! compiled against the atomics, locks and threads of two checkers. [`loomed`] explores the interleavings (most models bound the preemptions) and the weak
//! memory orders of C11 for small states; [`shuttled`] draws random schedules of larger ones, all in one order. Stand-ins
//! in `job.rs` replace only mapped memory, the kernel and the clock.
//!
//! A model that cannot fail proves nothing: `tests.rs` runs each with its key ordering or check weakened, and that must fail.
//!
//! There is nothing here but tests: `cargo test --release --package nvshmemrs-models`.
#![cfg(test)]
#![allow(
    clippy::duplicate_mod,
    reason = "the same files are compiled once for each checker"
)]
#![allow(
    unreachable_pub,
    reason = "the table of operations is a macro, and is taken as it is"
)]

mod tests;
mod weak;

/// Everything over loom's types.
#[allow(dead_code, reason = "each checker runs a part of the scenarios")]
#[path = "."]
mod loomed {
    /// Loom's types under the names of the standard library.
    pub(crate) mod sync {
        pub(crate) use loom::lazy_static;
        pub(crate) use loom::sync::atomic::{
            AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence,
        };
        pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock};
        pub(crate) use loom::thread::{JoinHandle, spawn, yield_now};
    }
    #[path = "job.rs"]
    pub(crate) mod job;
    #[path = "scenarios/mod.rs"]
    pub(crate) mod scenarios;
}

/// Everything over shuttle's types.
#[allow(dead_code, reason = "each checker runs a part of the scenarios")]
#[path = "."]
mod shuttled {
    /// Shuttle's types under the names of the standard library.
    pub(crate) mod sync {
        pub(crate) use shuttle::lazy_static;
        pub(crate) use shuttle::sync::atomic::{
            AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence,
        };
        pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock};
        pub(crate) use shuttle::thread::{JoinHandle, spawn, yield_now};
    }
    #[path = "job.rs"]
    pub(crate) mod job;
    #[path = "scenarios/mod.rs"]
    pub(crate) mod scenarios;
}
