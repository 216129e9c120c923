//! PE numbers.

/// The number of a PE, in a job or in a team: 0 to n - 1. Signed, as in the standard's C functions.
pub type Pe = i32;
