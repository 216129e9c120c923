//! Names of teams for messages, and the marks of broken teams.

use crate::{Error, Pe};

/// The predefined teams.
pub const NAMES: [&str; 6] = [
    "WORLD",
    "SHARED",
    "NODE",
    "SAME_MYPE_NODE",
    "SAME_GPU",
    "GPU_LEADERS",
];

/// The name of the team with a number, for messages.
pub fn name(index: u32) -> String {
    match NAMES.get(index as usize) {
        Some(name) => (*name).to_string(),
        None => format!("{index} (made by a split or team_init)"),
    }
}

/// As [`name`], in few words: "team 7".
pub fn short_name(index: u32) -> String {
    match NAMES.get(index as usize) {
        Some(name) => (*name).to_string(),
        None => format!("team {index}"),
    }
}

/// Whether a mark applies to the team whose epochs come after `first`, and not to an earlier team with its number.
pub fn breaks(mark: u64, first: u64) -> bool {
    mark >> 20 > first
}

/// The error for the mark of a broken team.
#[cold]
pub fn broken(operation: &'static str, index: u32, mark: u64) -> Error {
    Error::TeamBroken {
        operation,
        pe: (mark & 0xf_ffff) as Pe - 1,
        team: name(index),
    }
}
