//! PE numbers.

use crate::{Error, Result};

/// The number of a PE, in a job or in a team: 0 to n - 1. Signed, as in the standard's C functions.
pub type Pe = i32;

/// Checks that `pe` is one of `n_pes`.
#[inline(always)]
pub(crate) fn check(argument: &'static str, pe: Pe, n_pes: Pe) -> Result<()> {
    // One comparison: a negative number becomes a large one.
    if (pe as u32) < n_pes as u32 {
        Ok(())
    } else {
        Err(out_of_range(argument, pe, n_pes))
    }
}

#[cold]
fn out_of_range(argument: &'static str, pe: Pe, n_pes: Pe) -> Error {
    Error::PeRange {
        argument,
        pe: i64::from(pe),
        n_pes,
    }
}
