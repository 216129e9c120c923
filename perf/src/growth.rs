//! The cost of a barrier and of a one-element reduction as the number of PEs grows.

use crate::args::Args;
use crate::catalogue;
use crate::measure::Chunk;
use crate::worker::Case;
use anyhow::Result;

/// A chunk for each power of two up to the largest number of PEs, and for that number.
pub(crate) fn plan(args: &Args) -> Result<Vec<Chunk>> {
    let cases = [("barrier", 0), ("reduce", args.dtype.bytes())]
        .map(|(name, bytes)| catalogue::find(name).map(|operation| Case { operation, bytes }));
    let cases: Vec<Case> = cases.into_iter().collect::<Result<_>>()?;
    let chunk = |n_pes| Chunk {
        n_pes,
        cases: cases.clone(),
    };
    Ok(numbers(args.max_pes).into_iter().map(chunk).collect())
}

fn numbers(max: u32) -> Vec<u32> {
    let powers = std::iter::successors(Some(2_u32), |n| Some(n * 2));
    let mut numbers: Vec<u32> = powers.take_while(|n| *n <= max).collect();
    if !numbers.contains(&max) {
        numbers.push(max);
    }
    numbers
}

/// A note for jobs with more PEs than cores.
pub(crate) fn note(max_pes: u32, cores: usize) -> Option<String> {
    (max_pes as usize > cores).then(|| {
        format!(
            "this machine has {cores} cores: with more PEs than that, PEs share cores and wait for the scheduler, so the \
             cost grows with the PEs per core, not with log2(PEs)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_double_up_to_the_largest() {
        assert_eq!(numbers(2), [2]);
        assert_eq!(numbers(16), [2, 4, 8, 16]);
        assert_eq!(numbers(12), [2, 4, 8, 12]);
    }

    #[test]
    fn shared_cores_are_mentioned() {
        assert!(note(4, 4).is_none());
        assert!(note(5, 4).is_some_and(|note| note.contains("4 cores")));
    }
}
