//! The cases and variants to measure, in the input format of the program `perf/gpu/tune.c`.

use super::{Machinery, Measured, Medians};
use nvshmemrs::Operation;
use nvshmemrs::tuning::{self, Algorithm, Choice, Geometry, Tuning};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The tuned collectives.
const COLLECTIVES: [Operation; 5] = [
    Operation::Reduce,
    Operation::Reducescatter,
    Operation::Fcollect,
    Operation::Alltoall,
    Operation::Broadcast,
];
/// Bytes of an element, which is a `float`.
const FLOAT: u64 = 4;

/// The smallest message or part for which copy engines are tried: each of their copies takes some microseconds to begin.
const LEAST_BY_ENGINES: u64 = 1 << 20;

/// A collective of one size, and its variants, which all differ in geometry; the default is the first.
pub(super) struct Case {
    collective: Operation,
    /// Elements of the message, or of a part if there are parts.
    count: u64,
    /// Elements of the whole buffer.
    whole: u64,
    variants: Vec<Choice>,
}

/// All cases: each collective at each of these buffer sizes.
pub(super) fn all(machinery: &Machinery, sizes: &[u64]) -> Vec<Case> {
    let shipped = Tuning::shipped(&machinery.gpu, machinery.link);
    let of = |collective| {
        let cases = sizes.iter().map(move |&bytes| (collective, bytes));
        cases.filter_map(|(collective, bytes)| Case::new(collective, bytes, machinery, &shipped))
    };
    COLLECTIVES.into_iter().flat_map(of).collect()
}

/// The largest buffer, in elements.
pub(super) fn most(cases: &[Case]) -> u64 {
    cases.iter().map(|case| case.whole).max().unwrap_or(1)
}

/// The program's input.
pub(super) fn lines(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        let name = case.collective.name();
        let calls = calls(case.whole * FLOAT);
        let _ = writeln!(text, "case {name} {} {calls}", case.count);
        for variant in &case.variants {
            // The numbers of nvshmemrs_algorithm_t.
            let algorithm = match variant.algorithm {
                Algorithm::Flags => 1,
                Algorithm::Direct => 2,
                Algorithm::Engines => 3,
                Algorithm::Lamport => 4,
            };
            let (blocks, threads, chunk) = (variant.blocks, variant.threads, variant.chunk);
            let _ = writeln!(text, "try {algorithm} {blocks} {threads} {chunk}");
        }
    }
    text
}

/// Assigns the program's times to the variants, in order; `None` if their numbers differ.
pub(super) fn measured(cases: &[Case], times: &[Medians]) -> Option<Vec<Measured>> {
    let variants = cases.iter().flat_map(|case| {
        let variants = case.variants.iter().enumerate();
        variants.map(move |(index, choice)| (case, index, choice))
    });
    let lines = variants
        .zip(times)
        .map(|((case, index, choice), &us)| Measured {
            collective: case.collective,
            bytes: case.whole * FLOAT,
            part: case.count * FLOAT,
            choice: *choice,
            default: index == 0,
            us,
        });
    let lines: Vec<Measured> = lines.collect();
    let count: usize = cases.iter().map(|case| case.variants.len()).sum();
    (count == times.len()).then_some(lines)
}

impl Case {
    fn new(
        collective: Operation,
        bytes: u64,
        machinery: &Machinery,
        shipped: &Tuning,
    ) -> Option<Case> {
        let n_pes = u64::from(machinery.n_pes);
        let elements = bytes / FLOAT;
        let (count, whole) = match collective {
            Operation::Reduce | Operation::Broadcast => (elements.max(1), elements.max(1)),
            _ => {
                let count = (elements / n_pes).max(2);
                (count, count * n_pes)
            }
        };
        let default = shipped.of_world(collective, count * FLOAT, machinery.n_pes as i32)?;
        Some(Case {
            collective,
            count,
            whole,
            variants: variants(collective, count * FLOAT, machinery, default),
        })
    }
}

/// The number of calls, large enough to hide the launch of a graph.
fn calls(bytes: u64) -> u32 {
    match bytes {
        0..=0x1_0000 => 50,
        0x1_0001..=0x10_0000 => 20,
        0x10_0001..=0x100_0000 => 8,
        _ => 4,
    }
}

/// The choices to measure for a message or part of `bytes` bytes.
fn variants(
    collective: Operation,
    bytes: u64,
    machinery: &Machinery,
    default: Choice,
) -> Vec<Choice> {
    let (most, n_pes) = (machinery.blocks, machinery.n_pes);
    let choice = |algorithm, blocks: u32, threads, chunk| Choice {
        up_to: u64::MAX,
        algorithm,
        blocks: blocks.max(1),
        threads,
        chunk,
    };
    let mut all = vec![default];
    for blocks in [most, most / 2, most / 4, most / 8] {
        for algorithm in [Algorithm::Flags, Algorithm::Lamport] {
            all.extend([64, 128, 256, 512].map(|threads| choice(algorithm, blocks, threads, 0)));
        }
        all.extend([256, 512].map(|threads| choice(Algorithm::Direct, blocks, threads, 0)));
    }
    let chunks = match collective {
        Operation::Reduce => &[16, 32, 64, 128][..],
        Operation::Broadcast => &[16, 32, 64][..],
        _ => &[],
    };
    for blocks in [most, most / 2] {
        let sizes = chunks.iter().map(|size| size << 10);
        all.extend(sizes.map(|chunk| choice(Algorithm::Direct, blocks, 512, chunk)));
    }
    if bytes >= LEAST_BY_ENGINES {
        all.push(choice(Algorithm::Engines, most, 512, 0));
    }
    let mut seen: HashSet<Geometry> = HashSet::new();
    all.retain(|&choice| {
        let geometry = tuning::geometry(collective, bytes, n_pes as i32, most, choice);
        // A message of a few chunks is not spread over the blocks.
        let useful = choice == default || u64::from(choice.chunk) * 4 <= bytes;
        useful && geometry.is_some_and(|geometry| seen.insert(geometry))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvshmemrs::tuning::Link;

    fn machinery(n_pes: u32) -> Machinery {
        Machinery {
            gpu: "a GPU".into(),
            link: Link::Nvlink,
            n_pes,
            blocks: 64,
        }
    }

    #[test]
    fn every_variant_is_there_once_and_the_default_first() {
        for n_pes in [2, 3, 8] {
            let cases = all(&machinery(n_pes), &[8, 4 << 10, 64 << 20]);
            assert_eq!(cases.len(), 15);
            assert_eq!(most(&cases), 16 << 20);
            for case in &cases {
                let bytes = case.count * FLOAT;
                let shipped = Tuning::shipped("a GPU", Link::Nvlink);
                let default = shipped.of_world(case.collective, bytes, n_pes as i32);
                assert_eq!(default, case.variants.first().copied());
                let large = case.variants[0].algorithm == Algorithm::Direct;
                assert!(case.variants.len() >= if large { 6 } else { 2 });
            }
            let count = lines(&cases)
                .lines()
                .filter(|line| line.starts_with("try"))
                .count();
            let time = Medians::read("1.5 1 2e0").expect("three numbers");
            let said = |count| measured(&cases, &vec![time; count]).is_some();
            assert!(said(count) && !said(count - 1) && !said(count + 1));
        }
    }

    #[test]
    fn large_moves_are_tried_by_engines() {
        let by_engines = |bytes| {
            let cases = all(&machinery(2), &[bytes]);
            let tried = cases.iter().filter(|case| {
                let mut variants = case.variants.iter();
                variants.any(|choice| choice.algorithm == Algorithm::Engines)
            });
            tried.map(|case| case.collective).collect::<Vec<_>>()
        };
        assert_eq!(by_engines(8 << 10), []);
        use Operation::{Alltoall, Broadcast, Fcollect};
        assert_eq!(by_engines(64 << 20), [Fcollect, Alltoall, Broadcast]);
    }

    #[test]
    fn a_reduction_is_tried_in_chunks() {
        let chunks = |n_pes, bytes| {
            let cases = all(&machinery(n_pes), &[bytes]);
            let variants = &cases[0].variants;
            variants.iter().filter(|choice| choice.chunk > 0).count()
        };
        assert!(chunks(2, 1 << 20) >= 4);
        assert!(chunks(4, 64 << 20) >= 4);
        // With more members and fewer bytes, a block's part of a share is smaller than most chunks.
        assert!(chunks(8, 1 << 20) < 4);
    }
}
