//! The board, whose `Wait` is the models' own type.

use super::super::sync::Ordering::*;
use super::super::sync::fence;
use super::{
    Cmp, Control, Dtype, Limit, MAX_TEAMS, Operation, Pe, Seen, Target, Wait as Waiting, WaitSlot,
    kind,
};
use crate::weak::weak;
use std::sync::Arc;
include!(concat!(env!("OUT_DIR"), "/board.rs"));

/// The names under which programs call operations are not modelled.
fn called_name(_: &Control, _: Pe, _: usize, _: u64) -> Option<String> {
    None
}

/// Nor are the lines of waits, and allocations.
mod published {
    pub(super) fn texts(_: &super::WaitSlot, _: u64) -> (Option<String>, Option<String>) {
        (None, None)
    }
}

pub(crate) struct Board {
    pub(crate) control: Arc<Control>,
}

impl Board {
    fn n_pes(&self) -> Pe {
        self.control.n_pes()
    }
}

/// There are no processes here.
pub(super) fn pid_of(_control: &Control, _pe: Pe) -> u32 {
    0
}

/// The words about a PE that is gone need not be found here.
pub(super) fn last_place(_control: &Control, _pe: Pe) -> String {
    String::new()
}
