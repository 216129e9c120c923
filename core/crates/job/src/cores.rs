//! The cores that PEs may run on.

use super::block::{CPU_WORDS, Control};
use crate::Pe;
use std::sync::atomic::Ordering::Relaxed;

/// Whether there is a core for each of so many threads of every one of some PEs, which share cores.
pub fn are_enough(control: &Control, pes: &[Pe], threads: usize) -> bool {
    let mut cpus = [0u64; CPU_WORDS];
    for &pe in pes {
        for (all, one) in cpus.iter_mut().zip(&control.pe(pe).cpus) {
            *all |= one.load(Relaxed);
        }
    }
    let cores: u32 = cpus.iter().map(|word| word.count_ones()).sum();
    pes.len() * threads <= cores as usize
}
