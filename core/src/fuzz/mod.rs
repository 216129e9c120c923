//! Entry points for the fuzz targets in `fuzz/`: to inputs that no caller of the library controls, namely messages of other processes and
//! shared memory. It is built with `--cfg fuzzing` only, as cargo-fuzz does, and is not part of the API.
//!
//! Nothing in here is random: the same arguments do the same, so that a crash can be repeated.

mod memory;
mod peer;

pub use crate::bootstrap::fuzz::{Memory, PeerMessage, environment, follow, lead};
pub use crate::job::block::corrupt::BlockWord;
pub use memory::board;
pub use peer::{Operation, PeerAction, peer};
