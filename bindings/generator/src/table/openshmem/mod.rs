//! The functions of OpenSHMEM, by families: `shmem.h` declares them, and `libnvshmemrs_shmem.so` defines them.
//!
//! Functions without a family have a row, too; code longer than a line is in `bindings/openshmem/src` or `bindings/names`.
//! NVSHMEM's table uses the rows of common families.

pub(super) mod atomics;
pub(super) mod collectives;
pub(super) mod memory;
pub(super) mod points;
mod setup;

use super::names::{Name, OldList, Over, Typed, by_hand, name};
use super::types::List;

/// Sections of the header: a title and its families.
pub fn sections() -> Vec<(&'static str, Vec<Name>)> {
    vec![
        (
            "Setup, exit and query (OpenSHMEM 1.5 sections 9.1 and 9.2)",
            setup::setup(),
        ),
        ("Symmetric memory (section 9.3)", setup::memory()),
        ("Teams (section 9.4)", setup::teams()),
        ("Contexts (section 9.5)", setup::contexts()),
        ("Remote memory access (section 9.6)", memory::names()),
        ("Atomic memory operations (section 9.7)", atomics::names()),
        ("Signaling operations (section 9.8)", memory::signals()),
        ("Collectives (section 9.9)", collectives::names()),
        (
            "Point-to-point synchronization (section 9.10)",
            points::names(),
        ),
        (
            "Memory ordering, locks and caches (sections 9.11 to 9.13)",
            setup::ordering(),
        ),
    ]
}
