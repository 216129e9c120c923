//! The state of a PE in its block.

use std::fmt;

/// The state of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Has not joined yet.
    Absent = 0,
    /// Takes part.
    Active = 1,
    /// Inside finalize.
    Finalizing = 2,
    /// Has finalized.
    Finalized = 3,
    /// Left without finalize, with an announcement.
    Left = 4,
    /// Its process ended without finalize.
    Dead = 5,
}

impl State {
    #[doc(hidden)]
    pub fn from_number(number: u32) -> State {
        match number {
            1 => State::Active,
            2 => State::Finalizing,
            3 => State::Finalized,
            4 => State::Left,
            5 => State::Dead,
            _ => State::Absent,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Absent => "absent",
            State::Active => "active",
            State::Finalizing => "finalizing",
            State::Finalized => "finalized",
            State::Left => "left without finalize",
            State::Dead => "dead",
        })
    }
}
