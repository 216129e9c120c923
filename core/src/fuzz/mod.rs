//! Ways in for the fuzz targets in `fuzz/`: to what no caller of the library reaches, namely what other processes send and what they leave
//! in shared memory. It is built with `--cfg fuzzing` only, as cargo-fuzz does, and is no part of the API.
//!
//! Nothing in here is random: the same arguments do the same, so that a crash can be repeated.

mod memory;
mod peer;

pub use crate::bootstrap::fuzz::{Memory, Say, environment, follow, lead};
pub use crate::job::block::corrupt::BlockWord;
pub use memory::board;
pub use peer::{Act, Operation, peer};
