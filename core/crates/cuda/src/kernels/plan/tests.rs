//! Tests of plans: their kernels, and the bounds of the staging and of the GPU.

use super::*;
use crate::buffer::SymRange;
use Operation::*;

pub(crate) fn team(n: i32, bytes: u64) -> TeamArgs {
    let pes: Vec<i32> = (0..n).collect();
    let (local, sync) = (SymRange::new(0, 64), SymRange::new(0, bytes));
    TeamArgs::new(0, 0, &pes, 0, 0, local, sync).unwrap()
}

const FLOAT_SUM: Reduction = Reduction {
    dtype: Dtype::Float,
    op: Op::Sum,
};

#[test]
fn small_ones_travel_with_flags_and_large_ones_do_not() {
    let large = team(4, 4 << 20);
    let tuning = Tuning::new([]);
    let by = (&tuning, 132);
    let of = |operation, bytes| {
        let reduction = matches!(operation, Reduce | Reducescatter | Inscan | Exscan);
        let reduction = reduction.then_some(FLOAT_SUM);
        plan(operation, reduction, (bytes, false), &large, by).unwrap()
    };
    for operation in COLLECTIVES.into_iter().filter(|one| *one != Alltoalls) {
        let (small, big) = (of(operation, 8), of(operation, 64 << 20));
        assert_ne!(small.kernel, big.kernel, "{operation:?}");
        assert!(small.block <= 64 && small.grid == 1, "{small:?}");
        assert!(big.grid > 32 && big.block == 512, "{big:?}");
    }
    assert_eq!(
        of(Reduce, 32 << 10).kernel,
        Kernel::ReduceFlags(Dtype::Float)
    );
    assert_eq!(
        of(Reduce, 64 << 10).kernel,
        Kernel::ReduceLamport(Dtype::Float)
    );
    assert_eq!(of(Reduce, 1 << 20).kernel, Kernel::Reduce(Dtype::Float));
    assert_eq!(of(Reduce, 0).kernel, Kernel::Barrier);
    assert_eq!(of(Barrier, 0).block, 64);
    assert!(plan(Malloc, None, (8, false), &large, by).is_none());
    assert!(plan(Reduce, None, (8, false), &large, by).is_none());
    // A small sync block has no room for it.
    let small = team(4, 128 << 10);
    let of_small = plan(Reduce, Some(FLOAT_SUM), (64 << 10, false), &small, by).unwrap();
    assert_eq!(of_small.kernel, Kernel::Reduce(Dtype::Float));
}

/// The kernels with flags write units of sixteen bytes for each eight, in groups of up to sixteen bytes of data; a grid has no more blocks than
/// there are flags for, nor than every GPU runs at a time, and no more threads than the kernels are compiled for.
#[test]
fn no_plan_runs_past_its_sync_block_or_its_gpu() {
    let all = [
        Algorithm::Flags,
        Algorithm::Lamport,
        Algorithm::Direct,
        Algorithm::Engines,
    ];
    let few_and_many = all.into_iter().flat_map(|algorithm| {
        [(1, 32), (7, 96), (128, 512)].map(|(blocks, threads)| Choice {
            up_to: u64::MAX,
            algorithm,
            blocks,
            threads,
            chunk: 0,
        })
    });
    let choices: Vec<Choice> = few_and_many.collect();
    let tuning = Tuning::new([]);
    for (index, Row { kernels, .. }) in TABLE.iter().enumerate() {
        let reduces = matches!(kernels, KernelSet::Reduces);
        let reduction = reduces.then_some(Reduction {
            dtype: Dtype::Complexd,
            op: Op::Sum,
        });
        for n in [1, 2, 3, 4, 5, 8, 9, 16, 64, 500, 1300] {
            for team in [128 << 10, 4 << 20, 16 << 20].map(|bytes| team(n, bytes)) {
                for bytes in
                    (0..34).flat_map(|shift| [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1])
                {
                    for blocks in [1, 20, 132] {
                        let by = (&tuning, blocks);
                        let moved = (bytes, false);
                        let looked_up = plan(COLLECTIVES[index], reduction, moved, &team, by);
                        let of = |choice: &Choice| {
                            chosen(index, reduction, bytes.max(1), &team, (*choice, blocks))
                        };
                        let plans = choices.iter().map(of).chain([looked_up]);
                        plans.for_each(|plan| fits(&plan.unwrap(), bytes, &team, blocks));
                    }
                }
            }
        }
    }
}

fn fits(plan: &Plan, bytes: u64, team: &TeamArgs, blocks: u32) {
    // DIRECT and STAGED in team.cuh; a barrier has no such limit.
    let name = plan.kernel.name();
    let (flags, lamport) = (name.ends_with("_flags"), name.ends_with("_lamport"));
    let barrier = plan.kernel == Kernel::Barrier;
    assert!(
        plan.block
            <= if flags || lamport || barrier {
                544
            } else {
                512
            }
    );
    if flags || lamport {
        let whole = bytes.next_multiple_of(16);
        assert!(match flags {
            true => 2 * whole <= team.slot,
            false => whole <= team.lamport,
        });
        assert!((bytes.div_ceil(8) * team.n as u64) < 1 << 31);
        let share = u64::from(plan.chunk);
        assert!(!lamport || share == 0 || share * team.n as u64 == bytes);
        assert!(plan.block >= 64);
    }
    assert!(plan.grid >= 1 && plan.grid <= blocks && plan.grid <= team.blocks);
    assert!(plan.block.is_multiple_of(32));
    assert!(plan.shared <= 48 << 10);
}

/// A thread of a team of more than two members sends to one member while there are blocks for that. When there are not, a block has as many
/// threads as the choice, or as it has units if those are more.
#[test]
fn with_flags_a_thread_sends_to_one_member() {
    let large = |n| team(n, 16 << 20);
    let choice = Choice {
        up_to: u64::MAX,
        algorithm: Algorithm::Flags,
        blocks: 64,
        threads: 64,
        chunk: 0,
    };
    let of = |operation, n, bytes| {
        let index = COLLECTIVES.iter().position(|one| *one == operation);
        let plan = chosen(
            index.unwrap(),
            example(operation),
            bytes,
            &large(n),
            (choice, 64),
        );
        plan.map(|plan| (plan.grid, plan.block)).unwrap()
    };
    for operation in [Reduce, Reducescatter, Inscan, Broadcast] {
        assert_eq!(of(operation, 2, 1 << 10), (2, 64 + 32), "{operation:?}");
        assert_eq!(of(operation, 4, 64), (1, 32 + 32), "{operation:?}");
        assert_eq!(of(operation, 64, 8), (1, 64 + 32), "{operation:?}");
        assert_eq!(of(operation, 1, 1 << 10), (2, 64 + 32), "{operation:?}");
        assert_eq!(of(operation, 4, 1 << 10), (8, 64 + 32), "{operation:?}");
        assert_eq!(of(operation, 4, 32 << 10), (64, 64 + 32), "{operation:?}");
        assert_eq!(of(operation, 4, 64 << 10), (64, 128 + 32), "{operation:?}");
    }
    assert_eq!(of(Fcollect, 4, 1 << 10), (8, 64 + 32));
    assert_eq!(of(Gather, 4, 1 << 10), (8, 64 + 32));
}

/// And one kernel does the others, and an exchange in place.
#[test]
fn engines_do_three_collectives_of_several_members() {
    let choice = Choice {
        up_to: u64::MAX,
        algorithm: Algorithm::Engines,
        blocks: 64,
        threads: 256,
        chunk: 0,
    };
    let rows = COLLECTIVES.map(|collective| tuning::file::Row { collective, choice });
    let tables = [2, 4].map(|n_pes| tuning::Table {
        gpu: "a GPU".into(),
        link: tuning::Link::Nvlink,
        n_pes,
        written: None,
        rows: rows.into(),
    });
    let tuning = Tuning::new(&tables);
    for operation in COLLECTIVES {
        let reduces = matches!(operation, Reduce | Reducescatter | Inscan | Exscan);
        let reduction = reduces.then_some(FLOAT_SUM);
        for (n, in_place) in [(1, false), (2, false), (2, true), (4, false), (4, true)] {
            let (team, moved) = (team(n, 4 << 20), (1 << 20, in_place));
            let plan = plan(operation, reduction, moved, &team, (&tuning, 132)).unwrap();
            let engines = n > 1
                && matches!(operation, Broadcast | Fcollect | Alltoall)
                && !(operation == Alltoall && in_place);
            let expected = if engines { Role::Opening } else { Role::Whole };
            assert_eq!(plan.role, expected, "{operation:?}, {n} members");
            assert_eq!(plan.kernel == Kernel::Barrier, engines);
            assert!(engines || plan.grid == 64 && plan.block == 256);
            assert!(plan.may_begin_early());
            assert!(!plan.closing().may_begin_early());
        }
    }
}

#[test]
fn every_type_and_operation_has_its_kernel() {
    for dtype in Dtype::ALL {
        for op in Op::ALL {
            let reduction = Reduction { dtype, op };
            let direct = reduction.kernel(Algorithm::Direct).name();
            for (algorithm, end) in [(Algorithm::Flags, "flags"), (Algorithm::Lamport, "lamport")] {
                assert_eq!(
                    reduction.kernel(algorithm).name(),
                    format!("{direct}_{end}")
                );
            }
            let signed = (dtype as i32) < 5 && matches!(op, Op::Min | Op::Max);
            assert_eq!(reduction.op() > 7, signed);
        }
    }
}
