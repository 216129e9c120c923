//! Which kernel does a collective, and with how many threads. All members come to the same plan, as it follows from arguments that
//! they have alike.

use super::TeamArgs;
use super::launch::Kernel;
use crate::dtype::{Dtype, NumberKind};
use crate::op::Op;
use crate::operation::Operation;

/// Threads that move data, in a block of a kernel with flags.
const MOVERS: u64 = 256;
/// As many as that when there are as many blocks as there may be.
const MOST_MOVERS: u64 = 512;
/// Threads of a block of the other kernels (DIRECT in team.cuh).
const DIRECT: u64 = 1024;
/// Threads that write flags, beside the movers, in the kernels with flags (FLAG_THREADS in team.cuh).
const FLAG_THREADS: u64 = 32;
/// The most blocks of a kernel with flags.
const FLAG_BLOCKS: u64 = 32;
/// What a block of the other kernels has to move to be worth it.
const BLOCK_BYTES: u64 = 16 << 10;

/// A kernel and its geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) kernel: Kernel,
    pub(super) grid: u32,
    pub(super) block: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
}

/// Up to how many bytes, of a message or of a part, data travels with flags, in teams of up to so many members.
struct Row {
    operation: Operation,
    /// Limits for 2, 4, 8 and more members.
    bytes: [u64; 4],
}

const K: u64 = 1 << 10;

/// What travels with flags takes twice the bytes, and saves meeting at the end; a reduction also reads everything on every member.
const TABLE: [Row; 7] = [
    Row {
        operation: Operation::Broadcast,
        bytes: [512 * K, 256 * K, 128 * K, 64 * K],
    },
    Row {
        operation: Operation::Fcollect,
        bytes: [512 * K, 256 * K, 64 * K, 8 * K],
    },
    Row {
        operation: Operation::Alltoall,
        bytes: [512 * K, 256 * K, 64 * K, 8 * K],
    },
    Row {
        operation: Operation::Reduce,
        bytes: [512 * K, 256 * K, 64 * K, 16 * K],
    },
    Row {
        operation: Operation::Reducescatter,
        bytes: [512 * K, 256 * K, 64 * K, 8 * K],
    },
    Row {
        operation: Operation::Inscan,
        bytes: [256 * K, 128 * K, 64 * K, 16 * K],
    },
    Row {
        operation: Operation::Exscan,
        bytes: [256 * K, 128 * K, 64 * K, 16 * K],
    },
];

/// What a reduction does: a type and an operation that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) dtype: Dtype,
    pub(crate) op: Op,
}

impl Reduction {
    /// The operation's number in fold.cuh, whose integers are unsigned.
    pub(super) fn op(self) -> u32 {
        let signed = self.dtype.kind() == NumberKind::Signed;
        match self.op {
            Op::Min if signed => 8,
            Op::Max if signed => 9,
            op => op as u32,
        }
    }

    fn kernel(self, flags: bool) -> Kernel {
        if flags {
            Kernel::ReduceFlags(self.dtype)
        } else {
            Kernel::Reduce(self.dtype)
        }
    }
}

/// How `operation` is done for `bytes` bytes (of the message, or of a part where there is one per member; 0 is a meeting only).
/// `blocks`: how many each GPU of the job runs for one collective at the same time, beside those of others.
/// `None` for what is not a collective of the kernels.
pub(crate) fn plan(
    operation: Operation,
    reduction: Option<Reduction>,
    bytes: u64,
    team: &TeamArgs,
    blocks: u32,
) -> Option<Plan> {
    let n = team.n as u64;
    let most = u64::from(team.blocks.min(blocks)).max(1);
    if bytes == 0 || matches!(operation, Operation::Barrier | Operation::Sync) {
        return Some(geometry(Kernel::Barrier, n, 1, n.min(MOST_MOVERS), 0));
    }
    // What the members move: bytes to this one, or from it.
    let moved = match operation {
        Operation::Fcollect | Operation::Alltoall | Operation::Alltoalls => bytes.saturating_mul(n),
        _ => bytes,
    };
    let flags = by_flags(operation, bytes, n) && 2 * bytes.next_multiple_of(16) <= team.slot;
    let kernel = match (operation, reduction) {
        (Operation::Broadcast, None) if flags => Kernel::BroadcastFlags,
        (Operation::Broadcast, None) => Kernel::Broadcast,
        (Operation::Fcollect, None) if flags => Kernel::FcollectFlags,
        (Operation::Fcollect, None) => Kernel::Fcollect,
        (Operation::Alltoall, None) if flags => Kernel::AlltoallFlags,
        (Operation::Alltoall, None) => Kernel::Alltoall,
        (Operation::Alltoalls, None) => Kernel::Alltoalls,
        (
            Operation::Reduce | Operation::Reducescatter | Operation::Inscan | Operation::Exscan,
            Some(reduction),
        ) => reduction.kernel(flags),
        _ => return None,
    };
    Some(if flags {
        let items = moved.div_ceil(8);
        let grid = items.div_ceil(MOVERS).min(FLAG_BLOCKS).min(most);
        geometry(
            kernel,
            n,
            grid,
            items.div_ceil(grid).min(MOST_MOVERS),
            FLAG_THREADS,
        )
    } else {
        let grid = moved.div_ceil(BLOCK_BYTES).min(most);
        geometry(kernel, n, grid, DIRECT, 0)
    })
}

/// How collect is done where `dest` has `room` bytes, on every member; what each one brings is known to itself only.
pub(crate) fn collect_plan(room: u64, team: &TeamArgs, blocks: u32) -> Plan {
    let most = u64::from(team.blocks.min(blocks)).max(1);
    let grid = room
        .div_ceil(4 * BLOCK_BYTES)
        .clamp(1, most.min(FLAG_BLOCKS));
    let mut plan = geometry(Kernel::Collect, team.n as u64, grid, DIRECT, 0);
    // The members' lengths, beside their addresses.
    plan.shared *= 2;
    plan
}

fn by_flags(operation: Operation, bytes: u64, n: u64) -> bool {
    let column = match n {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let row = TABLE.iter().find(|row| row.operation == operation);
    row.is_some_and(|row| bytes <= row.bytes[column])
}

fn geometry(kernel: Kernel, n: u64, grid: u64, threads: u64, flag_threads: u64) -> Plan {
    Plan {
        kernel,
        grid: grid.max(1) as u32,
        // Whole warps.
        block: (threads.next_multiple_of(32) + flag_threads) as u32,
        // The address of each member's part.
        shared: (n * 8) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::SymRange;
    use Operation::*;

    fn team(n: i32, bytes: u64) -> TeamArgs {
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
        let of = |operation, bytes| {
            let reduction = matches!(operation, Reduce | Reducescatter | Inscan | Exscan);
            plan(
                operation,
                reduction.then_some(FLOAT_SUM),
                bytes,
                &large,
                132,
            )
            .unwrap()
        };
        for operation in [
            Broadcast,
            Fcollect,
            Alltoall,
            Reduce,
            Reducescatter,
            Inscan,
            Exscan,
        ] {
            let (small, big) = (of(operation, 8), of(operation, 64 << 20));
            assert_ne!(small.kernel, big.kernel, "{operation:?}");
            assert!(small.block <= 64 && small.grid == 1, "{small:?}");
            assert!(big.grid > 32 && big.block == 1024, "{big:?}");
        }
        assert_eq!(
            of(Reduce, 64 << 10).kernel,
            Kernel::ReduceFlags(Dtype::Float)
        );
        assert_eq!(of(Reduce, 1 << 20).kernel, Kernel::Reduce(Dtype::Float));
        assert_eq!(of(Reduce, 0).kernel, Kernel::Barrier);
        assert_eq!(of(Barrier, 0).block, 32);
        assert!(plan(Malloc, None, 8, &large, 132).is_none());
        assert!(plan(Reduce, None, 8, &large, 132).is_none());
        // A small sync block has no room for it.
        let small = team(4, 128 << 10);
        let of_small = plan(Reduce, Some(FLOAT_SUM), 64 << 10, &small, 132).unwrap();
        assert_eq!(of_small.kernel, Kernel::Reduce(Dtype::Float));
    }

    /// The kernels write units of sixteen bytes for each eight, in groups of up to sixteen bytes of data; a grid has no more blocks than
    /// there are flags for, nor than every GPU runs at a time, and no more threads than the kernels are compiled for.
    #[test]
    fn no_plan_runs_past_its_sync_block_or_its_gpu() {
        let operations = [
            Broadcast,
            Fcollect,
            Alltoall,
            Alltoalls,
            Reduce,
            Reducescatter,
            Inscan,
            Exscan,
        ];
        for operation in operations {
            for n in [1, 2, 3, 4, 5, 8, 9, 16, 64, 500, 1300] {
                for block_bytes in [128 << 10, 4 << 20] {
                    for shift in 0..34 {
                        for bytes in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1] {
                            let team = team(n, block_bytes);
                            for blocks in [1, 20, 132] {
                                let reduction =
                                    matches!(operation, Reduce | Reducescatter | Inscan | Exscan);
                                let reduction = reduction.then_some(Reduction {
                                    dtype: Dtype::Complexd,
                                    op: Op::Sum,
                                });
                                let plan =
                                    plan(operation, reduction, bytes, &team, blocks).unwrap();
                                let name = plan.kernel.name();
                                // DIRECT and MOST_THREADS in team.cuh.
                                let flags = name.ends_with("_flags");
                                assert!(plan.block <= if flags { 544 } else { 1024 });
                                if flags {
                                    assert!(bytes.next_multiple_of(16) * 2 <= team.slot);
                                    assert!((bytes.div_ceil(8) * n as u64) < 1 << 31);
                                    assert!(plan.block >= 64);
                                }
                                assert!(
                                    plan.grid >= 1
                                        && plan.grid <= blocks
                                        && plan.grid <= team.blocks
                                );
                                assert!(plan.block.is_multiple_of(32));
                                assert!(plan.shared <= 48 << 10);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_type_and_operation_has_its_kernel() {
        for dtype in Dtype::ALL {
            for op in Op::ALL {
                let reduction = Reduction { dtype, op };
                let (flags, direct) = (reduction.kernel(true), reduction.kernel(false));
                assert_eq!(flags.name(), format!("{}_flags", direct.name()));
                let signed = (dtype as i32) < 5 && matches!(op, Op::Min | Op::Max);
                assert_eq!(reduction.op() > 7, signed);
            }
        }
    }
}
