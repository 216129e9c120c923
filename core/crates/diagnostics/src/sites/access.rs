//! What the program itself does to memory.

use crate::operation::Operation;

/// What the program does to memory.
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
    /// It is handed to something whose loads and stores nobody announces.
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
