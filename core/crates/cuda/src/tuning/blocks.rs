//! How many blocks a collective may have on a GPU.

use crate::{Result, config};

/// Multiprocessors that are left to other kernels: a kernel that sends the data for which a collective waits may have to run meanwhile.
fn left(multiprocessors: i32) -> i32 {
    (multiprocessors / 32).max(1)
}

/// Blocks of each of `at_once` collectives. A block occupies a free multiprocessor, if any, and a kernel with another configuration of
/// shared memory starts on an empty multiprocessor only (seen on an H200). So the collectives together leave some empty.
fn blocks(multiprocessors: i32, at_once: i32) -> i32 {
    ((multiprocessors - left(multiprocessors)) / at_once).max(1)
}

/// Blocks of a collective on a GPU with that many multiprocessors, by the settings.
pub(crate) fn most(multiprocessors: i32) -> Result<i32> {
    let blocks = blocks(multiprocessors, config::collectives_at_once()?);
    Ok(config::collective_sms()?.map_or(blocks, |most| most.min(blocks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_leave_multiprocessors_to_other_kernels() {
        assert_eq!(
            [1, 2, 3, 8].map(|at_once| blocks(132, at_once)),
            [128, 64, 42, 16]
        );
        for multiprocessors in [1, 4, 7, 8, 16, 108, 132, 148] {
            for at_once in 1..300 {
                let blocks = blocks(multiprocessors, at_once);
                let most = multiprocessors - left(multiprocessors);
                assert!(
                    blocks == 1 || blocks * at_once <= most,
                    "{multiprocessors} {at_once}"
                );
            }
        }
    }
}
