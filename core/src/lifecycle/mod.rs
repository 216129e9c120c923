//! The lifecycle of a runtime: [`assemble`] puts its parts together, [`finalize`] ends it, [`unfreed`] says then what is not freed.
//! [`answer`] is what a PE tells of itself meanwhile.
//!
//! It stands above all operations, because finalize waits for what they have begun. Each transport is made by its
//! [`MemoryProvider`](crate::transport::MemoryProvider); [`assemble`] puts the checker and the counter of traffic around it.

mod assemble;
mod finalize;
mod status;
mod unfreed;
