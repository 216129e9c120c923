//! The lifecycle of a runtime: [`assemble`] puts its parts together, [`finalize`] ends it, [`unfreed`] lists the objects that are not freed.
//! [`status`] has the state that a PE reports meanwhile, [`stall`] the report of a job in which nothing moves.
//!
//! It stands above all operations, because finalize waits for operations in flight. Each transport is made by its
//! [`MemoryProvider`](crate::transport::MemoryProvider); [`assemble`] puts the checker and the counter of traffic around it.

mod assemble;
mod finalize;
mod stall;
mod status;
mod unfreed;
