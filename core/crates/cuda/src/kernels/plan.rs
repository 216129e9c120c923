//! Which kernel does a collective, and with how many threads. All members come to the same plan, as it follows from arguments that
//! they have alike.

use super::TeamArgs;
use crate::dtype::{Dtype, NumberKind};
use crate::op::Op;
use crate::operation::Operation;

macro_rules! kernels {
    ($($variant:ident = $name:literal;)*) => {
        /// Every kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kernel {
            $($variant,)*
            /// A reduction of elements of a type.
            Reduce(Dtype),
            /// The same for a small one, which travels with flags.
            ReduceFlags(Dtype),
        }

        /// The kernels that are the same for all types.
        const UNTYPED: &[Kernel] = &[$(Kernel::$variant),*];

        impl Kernel {
            /// Its position in [`Kernel::all`].
            #[inline]
            pub(super) fn index(self) -> usize {
                let typed = |dtype: Dtype| UNTYPED.len() + 2 * (dtype as usize - 1);
                match self {
                    Kernel::Reduce(dtype) => typed(dtype),
                    Kernel::ReduceFlags(dtype) => typed(dtype) + 1,
                    $(Kernel::$variant => Untyped::$variant as usize),*
                }
            }

            /// Its name in the image.
            pub(super) fn name(self) -> String {
                match self {
                    Kernel::Reduce(dtype) => format!("nvshmemrs_reduce_{}", reduced(dtype)),
                    Kernel::ReduceFlags(dtype) => format!("nvshmemrs_reduce_{}_flags", reduced(dtype)),
                    $(Kernel::$variant => concat!("nvshmemrs_", $name).into()),*
                }
            }
        }

        enum Untyped {
            $($variant),*
        }
    };
}
kernels! {
    Copy = "copy";
    Move = "move";
    CopyStrided = "copy_strided";
    PutValue = "put_value";
    Signal = "signal";
    PutSignal = "put_signal";
    Atomic = "atomic";
    Wait = "wait";
    Fence = "fence";
    Quiet = "quiet";
    // From here on collectives: see `waits_for_previous`.
    Barrier = "barrier";
    BroadcastFlags = "broadcast_flags";
    Broadcast = "broadcast";
    FcollectFlags = "fcollect_flags";
    Fcollect = "fcollect";
    AlltoallFlags = "alltoall_flags";
    Alltoall = "alltoall";
    Alltoalls = "alltoalls";
    Collect = "collect";
    GatherFlags = "gather_flags";
    Gather = "gather";
    ScatterFlags = "scatter_flags";
    Scatter = "scatter";
}

impl Kernel {
    pub(super) fn all() -> impl Iterator<Item = Kernel> {
        let typed = |dtype| [Kernel::Reduce(dtype), Kernel::ReduceFlags(dtype)];
        let typed = Dtype::ALL.into_iter().flat_map(typed);
        UNTYPED.iter().copied().chain(typed)
    }
}

impl Kernel {
    /// Whether it begins by waiting for the kernel before it, as collectives do (Turn in team.cuh). In a graph such a kernel is launched
    /// early, so a kernel that does not wait belongs before them in the list.
    pub(super) fn waits_for_previous(self) -> bool {
        self.index() >= Kernel::Barrier.index()
    }
}

/// The name of a type's reductions: those of integers are the same for signed and unsigned ones.
fn reduced(dtype: Dtype) -> String {
    if dtype.is_integer() {
        (8 * dtype.size()).to_string()
    } else {
        dtype.to_string()
    }
}

/// Threads that move data, in a block of a kernel with flags.
const MOVERS: u64 = 256;
/// As many as that when there are as many blocks as there may be.
const MOST_MOVERS: u64 = 512;
/// Threads of a block of the other kernels (DIRECT in team.cuh).
const DIRECT: u64 = 512;
/// Threads that write flags, beside the movers, in the kernels with flags (FLAG_THREADS in team.cuh).
const FLAG_THREADS: u64 = 32;
/// The most blocks of a kernel with flags.
const FLAG_BLOCKS: u64 = 64;
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

/// How the kernels do a collective.
struct Row {
    operation: Operation,
    kernels: KernelSet,
    /// Up to how many bytes, of a message or of a part, data travels with flags, in teams of 2, 4, 8 and more members.
    flags: [u64; 4],
    /// Whether a GPU moves a part for each member; otherwise it moves one.
    parts: bool,
}

/// The kernels of a collective.
#[derive(Clone, Copy)]
enum KernelSet {
    /// One whose data travels with flags, and one that writes straight to the members' memory.
    Moves(Kernel, Kernel),
    /// One that writes straight to the members' memory.
    Direct(Kernel),
    /// Those of a reduction's type.
    Reduces,
}

const K: u64 = 1 << 10;

/// What travels with flags takes twice the bytes, and saves meeting at the end; a reduction also reads everything on every member.
#[rustfmt::skip]
const TABLE: [Row; 10] = {
    use KernelSet::{Direct, Moves, Reduces};
    const fn row(operation: Operation, kernels: KernelSet, flags: [u64; 4], parts: bool) -> Row {
        Row { operation, kernels, flags, parts }
    }
    [
        row(Operation::Broadcast, Moves(Kernel::BroadcastFlags, Kernel::Broadcast), [1024 * K, 256 * K, 128 * K, 64 * K], false),
        row(Operation::Fcollect, Moves(Kernel::FcollectFlags, Kernel::Fcollect), [512 * K, 256 * K, 64 * K, 8 * K], true),
        row(Operation::Alltoall, Moves(Kernel::AlltoallFlags, Kernel::Alltoall), [512 * K, 256 * K, 64 * K, 8 * K], true),
        row(Operation::Alltoalls, Direct(Kernel::Alltoalls), [0; 4], true),
        row(Operation::Gather, Moves(Kernel::GatherFlags, Kernel::Gather), [512 * K, 256 * K, 64 * K, 8 * K], true),
        row(Operation::Scatter, Moves(Kernel::ScatterFlags, Kernel::Scatter), [512 * K, 256 * K, 64 * K, 8 * K], true),
        row(Operation::Reduce, Reduces, [512 * K, 256 * K, 64 * K, 16 * K], false),
        row(Operation::Reducescatter, Reduces, [512 * K, 256 * K, 64 * K, 8 * K], false),
        row(Operation::Inscan, Reduces, [256 * K, 128 * K, 64 * K, 16 * K], false),
        row(Operation::Exscan, Reduces, [256 * K, 128 * K, 64 * K, 16 * K], false),
    ]
};

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
    let row = TABLE.iter().find(|row| row.operation == operation)?;
    let moved = if row.parts {
        bytes.saturating_mul(n)
    } else {
        bytes
    };
    let flags = bytes <= row.most_with_flags(n) && 2 * bytes.next_multiple_of(16) <= team.slot;
    let (kernel, flags) = match (row.kernels, reduction) {
        (KernelSet::Moves(with_flags, _), None) if flags => (with_flags, true),
        (KernelSet::Moves(_, direct) | KernelSet::Direct(direct), None) => (direct, false),
        (KernelSet::Reduces, Some(reduction)) => (reduction.kernel(flags), flags),
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

impl Row {
    /// The most bytes that travel with flags in a team of so many members.
    fn most_with_flags(&self, n: u64) -> u64 {
        let column = match n {
            0..=2 => 0,
            3..=4 => 1,
            5..=8 => 2,
            _ => 3,
        };
        self.flags[column]
    }
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
        for row in TABLE.iter().filter(|row| row.flags[0] > 0) {
            let operation = row.operation;
            let (small, big) = (of(operation, 8), of(operation, 64 << 20));
            assert_ne!(small.kernel, big.kernel, "{operation:?}");
            assert!(small.block <= 64 && small.grid == 1, "{small:?}");
            assert!(big.grid > 32 && big.block == 512, "{big:?}");
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
        for Row {
            operation, kernels, ..
        } in TABLE
        {
            for n in [1, 2, 3, 4, 5, 8, 9, 16, 64, 500, 1300] {
                for block_bytes in [128 << 10, 4 << 20, 16 << 20] {
                    for shift in 0..34 {
                        for bytes in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1] {
                            let team = team(n, block_bytes);
                            for blocks in [1, 20, 132] {
                                let reduces = matches!(kernels, KernelSet::Reduces);
                                let reduction = reduces.then_some(Reduction {
                                    dtype: Dtype::Complexd,
                                    op: Op::Sum,
                                });
                                let plan =
                                    plan(operation, reduction, bytes, &team, blocks).unwrap();
                                let name = plan.kernel.name();
                                // DIRECT and FLAGS in team.cuh.
                                let flags = name.ends_with("_flags");
                                assert!(plan.block <= if flags { 544 } else { 512 });
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
