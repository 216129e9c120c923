//! Plain accesses of the program to memory.

use crate::operation::Operation;

/// A plain access of the program to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Load,
    /// Writes it.
    Store,
    /// Reads it by an atomic instruction; announced after it.
    AtomicLoad,
    /// Writes it, or reads and writes it, by an atomic instruction; announced before it.
    AtomicStore,
    /// It is passed to code whose loads and stores are not announced.
    Unseen,
}

impl Access {
    #[doc(hidden)]
    pub fn operation(self) -> Operation {
        match self {
            Access::Load => Operation::Load,
            Access::Store => Operation::Store,
            Access::AtomicLoad => Operation::AtomicLoad,
            Access::AtomicStore => Operation::AtomicStore,
            Access::Unseen => Operation::HandOut,
        }
    }
}
