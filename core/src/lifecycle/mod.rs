//! The lifecycle of a runtime: [`assemble`] puts its parts together, [`finalize`] ends it, [`unfreed`] says then what is not freed.
//!
//! It stands above all operations, because finalize waits for what they have begun. Each transport is made by its
//! [`Origin`](crate::transport::Origin); [`assemble`] puts the checker around it.

mod assemble;
mod finalize;
mod unfreed;
