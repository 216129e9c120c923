//! The lifecycle of a runtime: [`assemble`] puts its parts together, [`finalize`] ends it, [`unfreed`] says then what is not freed.
//!
//! It stands above all operations, because finalize waits for what they have begun. The constructor of each transport is called in
//! [`assemble`], and nowhere else.

mod assemble;
mod finalize;
mod unfreed;
