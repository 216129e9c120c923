//! Where a symmetric heap lives.

/// Where a symmetric heap lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryKind {
    /// Host memory, shared by the PEs of one host.
    #[default]
    Host,
    /// Memory of a GPU.
    Device,
}

impl MemoryKind {
    /// Its number in the job's control block.
    #[doc(hidden)]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether the PEs' parts of such a heap lie in the job's segment.
    #[doc(hidden)]
    pub fn is_in_segment(self) -> bool {
        self == Self::Host
    }
}

impl From<u32> for MemoryKind {
    /// The kind with a number; an invalid number in a control block is found by its length.
    fn from(number: u32) -> MemoryKind {
        match number {
            0 => Self::Host,
            _ => Self::Device,
        }
    }
}

impl std::fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
        })
    }
}
