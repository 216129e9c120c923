//! What the program itself does to memory.

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
    pub(crate) fn name(self) -> &'static str {
        match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::AtomicLoad => "atomic load",
            Access::AtomicStore => "atomic store",
            Access::Unseen => "handing out",
        }
    }
}
