//! The functions of NVSHMEM 3, by families: `nvshmem.h` and `nvshmemx.h` declare them, `libnvshmemrs_nvshmem.so` defines them for the host, and
//! `nvshmem_device.cuh` for kernels.
//!
//! Families that OpenSHMEM also has are its rows under other names. Each function on a stream is derived from the row without a
//! stream.

mod collectives;
mod device;
mod memory;
mod setup;

use super::names::{Name, Over, Place, by_hand, name};
use super::openshmem;
use super::types::List;

/// Sections of the headers: a title and its families.
pub fn sections() -> Vec<(&'static str, Vec<Name>)> {
    vec![
        ("Setup, exit and query", setup::setup()),
        ("Symmetric memory", setup::memory()),
        ("Teams", setup::teams()),
        ("Remote memory access", memory::names()),
        ("Atomic memory operations", memory::atomics()),
        ("Signals and waits", memory::signals()),
        ("Collectives", collectives::names()),
        ("Memory ordering", setup::ordering()),
        ("Kernels", setup::kernels()),
        ("For kernels only: waits and tests", device::waits()),
        ("For kernels only: queue pairs", device::queue_pairs()),
    ]
}

/// OpenSHMEM's types in a row, replaced by NVSHMEM's.
fn translated(text: &str) -> String {
    text.replace("shmem_team_t", "nvshmem_team_t")
}

/// Rows of OpenSHMEM under NVSHMEM's names.
fn taken(rows: Vec<Name>) -> Vec<Name> {
    let rows = rows.into_iter().map(|row| {
        let about = row.about.split(" Section ").next().unwrap_or_default();
        Name {
            prefix: "nvshmem_",
            args: translated(&row.args),
            place: Place::Both,
            ctx: false,
            hot: false,
            generic: None,
            about: translated(about.trim_end()),
            ..row
        }
    });
    rows.collect()
}

/// The function that puts a row's operation on a stream.
fn on_stream(row: &Name) -> Name {
    let args = match &*row.args {
        "void" => "cudaStream_t stream".to_string(),
        args => format!("{args}, cudaStream_t stream"),
    };
    Name {
        prefix: "nvshmemx_",
        name: format!("{}_on_stream", row.name),
        args,
        body: row.body.replace("ALL(", "DO("),
        place: Place::Host,
        groups: false,
        about: format!("`{}{}`, in the order of a stream.", row.prefix, row.name),
        ..row.clone()
    }
}

impl Name {
    fn extension(self) -> Name {
        let prefix = "nvshmemx_";
        Name { prefix, ..self }
    }

    fn at(self, place: Place) -> Name {
        Name { place, ..self }
    }

    fn groups(self) -> Name {
        let groups = true;
        Name { groups, ..self }
    }
}

/// A function of host code that is written by hand.
fn host(function: &str, result: &'static str, args: &str, about: &str) -> Name {
    let prefix = "nvshmem_";
    Name {
        prefix,
        ..by_hand(function, result, args, about)
    }
}

/// As [`host`], of kernels as well.
fn both(function: &str, result: &'static str, args: &str, about: &str) -> Name {
    host(function, result, args, about).at(Place::Both)
}

/// A function of kernels only.
fn device(function: &str, over: Over, result: &'static str, args: &str, about: &str) -> Name {
    let prefix = "nvshmem_";
    Name {
        prefix,
        ..name(function, over, result, args, "", about)
    }
    .at(Place::Device)
}
