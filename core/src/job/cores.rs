//! The cores that the PEs of this host may run on.

use super::block::{CPU_WORDS, Control};
use crate::Pe;
use std::sync::atomic::Ordering::Relaxed;

/// Whether there is a core for each of so many threads of every PE of `near`, the PEs of this host.
pub(crate) fn are_enough(control: &Control, near: &[Pe], threads: usize) -> bool {
    let mut cpus = [0u64; CPU_WORDS];
    for &pe in near {
        for (all, one) in cpus.iter_mut().zip(&control.pe(pe).cpus) {
            *all |= one.load(Relaxed);
        }
    }
    let cores: u32 = cpus.iter().map(|word| word.count_ones()).sum();
    near.len() * threads <= cores as usize
}
