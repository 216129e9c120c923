//! The kernel of a collective and the number of its threads, which follow from a choice of [`tuning`]. All members come to the same plan,
//! as it follows from arguments and tables that they have alike.

use super::TeamArgs;
use crate::dtype::{Dtype, NumberKind};
use crate::op::Op;
use crate::operation::Operation;
use crate::tuning::{self, Algorithm, COLLECTIVES, Choice, Geometry, Tuning};

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
            /// The same for a larger one, which travels through the staging, too.
            ReduceLamport(Dtype),
        }

        /// The kernels that are the same for all types.
        const UNTYPED: &[Kernel] = &[$(Kernel::$variant),*];

        impl Kernel {
            /// Its position in [`Kernel::all`].
            #[inline]
            pub(super) fn index(self) -> usize {
                let typed = |dtype: Dtype| UNTYPED.len() + 3 * (dtype as usize - 1);
                match self {
                    Kernel::Reduce(dtype) => typed(dtype),
                    Kernel::ReduceFlags(dtype) => typed(dtype) + 1,
                    Kernel::ReduceLamport(dtype) => typed(dtype) + 2,
                    $(Kernel::$variant => Untyped::$variant as usize),*
                }
            }

            /// Its name in the image.
            pub(super) fn name(self) -> String {
                match self {
                    Kernel::Reduce(dtype) => format!("nvshmemrs_reduce_{}", reduced(dtype)),
                    Kernel::ReduceFlags(dtype) => format!("nvshmemrs_reduce_{}_flags", reduced(dtype)),
                    Kernel::ReduceLamport(dtype) => format!("nvshmemrs_reduce_{}_lamport", reduced(dtype)),
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
    Barrier = "barrier";
    BroadcastFlags = "broadcast_flags";
    BroadcastLamport = "broadcast_lamport";
    Broadcast = "broadcast";
    FcollectFlags = "fcollect_flags";
    FcollectLamport = "fcollect_lamport";
    Fcollect = "fcollect";
    AlltoallFlags = "alltoall_flags";
    AlltoallLamport = "alltoall_lamport";
    Alltoall = "alltoall";
    Alltoalls = "alltoalls";
    Collect = "collect";
    GatherFlags = "gather_flags";
    GatherLamport = "gather_lamport";
    Gather = "gather";
    ScatterFlags = "scatter_flags";
    ScatterLamport = "scatter_lamport";
    Scatter = "scatter";
}

impl Kernel {
    pub(super) fn all() -> impl Iterator<Item = Kernel> {
        let typed = |dtype| {
            let reduce = Kernel::Reduce(dtype);
            [
                reduce,
                Kernel::ReduceFlags(dtype),
                Kernel::ReduceLamport(dtype),
            ]
        };
        let typed = Dtype::ALL.into_iter().flat_map(typed);
        UNTYPED.iter().copied().chain(typed)
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

/// The most threads that move data, in a block: as many as that when there are as many blocks as there may be.
const MOST_THREADS: u64 = 512;
/// Threads that write flags, beside the threads that move data, in the kernels through the staging (FLAG_THREADS in team.cuh).
const FLAG_THREADS: u64 = 32;
/// Bytes that a thread moves at a time with flags, and by Lamport's algorithm; and the bytes for which a thread of the other kernels is worth it.
const UNIT: u64 = 8;
const LAMPORT_UNIT: u64 = 16;
const DIRECT_BYTES: u64 = 32;
/// The unit of chunks, and the least chunk of a reduction that is divided among the blocks.
const LINE: u64 = 128;
const LEAST_CHUNK: u64 = 1 << 10;
/// The bytes that two shots must save each member, or the root, to be worth their longer latency.
const SECOND_SHOT: u64 = 384 << 10;
/// The fewest bytes for which collect uses one more block.
const COLLECT_BYTES: u64 = 64 << 10;
/// The most blocks of collect.
const COLLECT_BLOCKS: u64 = 64;

/// The place of a kernel in its collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The kernel does all of it.
    Whole,
    /// The members meet before the copy engines move the data.
    Opening,
    /// The members meet when the copies have been made.
    Closing,
}

/// A kernel and its geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) kernel: Kernel,
    pub(crate) role: Role,
    pub(super) grid: u32,
    pub(super) block: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
    /// Bytes of a chunk (Collective in team.cuh); 0: there are none.
    pub(crate) chunk: u32,
    /// Whether `dest` and `source` may be private memory.
    pub(crate) takes_private_memory: bool,
}

impl Plan {
    /// The kernel that follows the copies of an opening one.
    pub(crate) fn closing(self) -> Plan {
        Plan {
            role: Role::Closing,
            ..self
        }
    }

    /// Whether a graph may launch the kernel before the previous one has ended; every kernel begins by waiting for that. Nothing overlaps with
    /// copies.
    pub(super) fn may_begin_early(&self) -> bool {
        self.role != Role::Closing
    }
}

/// How the kernels do a collective.
struct Row {
    kernels: KernelSet,
    /// Whether a GPU moves a part for each member; otherwise it moves one.
    parts: bool,
}

/// The kernels of a collective.
#[derive(Clone, Copy)]
enum KernelSet {
    /// A kernel whose data travels with flags, the kernel of Lamport's algorithm, and a kernel that writes straight to the members' memory.
    Moves(Kernel, Kernel, Kernel),
    /// A kernel that writes directly to the members' memory.
    Direct(Kernel),
    /// Those of a reduction's type.
    Reduces,
}

/// In the order of [`COLLECTIVES`].
const TABLE: [Row; COLLECTIVES.len()] = {
    use KernelSet::{Direct, Moves, Reduces};
    const fn row(kernels: KernelSet, parts: bool) -> Row {
        Row { kernels, parts }
    }
    [
        row(
            Moves(
                Kernel::BroadcastFlags,
                Kernel::BroadcastLamport,
                Kernel::Broadcast,
            ),
            false,
        ),
        row(
            Moves(
                Kernel::FcollectFlags,
                Kernel::FcollectLamport,
                Kernel::Fcollect,
            ),
            true,
        ),
        row(
            Moves(
                Kernel::AlltoallFlags,
                Kernel::AlltoallLamport,
                Kernel::Alltoall,
            ),
            true,
        ),
        row(Direct(Kernel::Alltoalls), true),
        row(
            Moves(Kernel::GatherFlags, Kernel::GatherLamport, Kernel::Gather),
            true,
        ),
        row(
            Moves(
                Kernel::ScatterFlags,
                Kernel::ScatterLamport,
                Kernel::Scatter,
            ),
            true,
        ),
        row(Reduces, false),
        row(Reduces, false),
        row(Reduces, false),
        row(Reduces, false),
    ]
};

/// The type and the operation of a reduction, if they fit.
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

    fn kernel(self, algorithm: Algorithm) -> Kernel {
        match algorithm {
            Algorithm::Flags => Kernel::ReduceFlags(self.dtype),
            Algorithm::Lamport => Kernel::ReduceLamport(self.dtype),
            Algorithm::Direct | Algorithm::Engines => Kernel::Reduce(self.dtype),
        }
    }
}

/// How members meet and do nothing else.
pub(crate) fn barrier_plan(team: &TeamArgs) -> Plan {
    let n = team.n as u64;
    // One more warp than announce the call reads the team's state (`entered_published` in team.cuh).
    geometry(Kernel::Barrier, n, 1, n.min(MOST_THREADS), FLAG_THREADS)
}

/// How `operation` is done for `bytes` bytes (of the message, or of a part where there is one per member; 0 is a meeting only).
/// `in_place`: whether `dest` is `source`, on all members. `blocks`: how many each GPU of the job runs for one collective at the same time,
/// beside those of others. `None` for an operation that no kernel performs.
pub(crate) fn plan(
    operation: Operation,
    reduction: Option<Reduction>,
    (bytes, in_place): (u64, bool),
    team: &TeamArgs,
    (tuning, blocks): (&Tuning, u32),
) -> Option<Plan> {
    if bytes == 0 || matches!(operation, Operation::Barrier | Operation::Sync) {
        return Some(barrier_plan(team));
    }
    let index = COLLECTIVES.iter().position(|one| *one == operation)?;
    let room = |algorithm| has_room(algorithm, bytes, team);
    let choice =
        tuning::forced().unwrap_or_else(|| tuning.choice(index, bytes, team.n as u64, room));
    // Two members that exchange parts would overwrite each other's.
    let exchanged = in_place && operation == Operation::Alltoall;
    if choice.algorithm == Algorithm::Engines && by_engines(operation, team) && !exchanged {
        return Some(opening_plan(team));
    }
    chosen(index, reduction, bytes, team, (choice, blocks))
}

/// Whether copy engines can do a collective of a team.
fn by_engines(operation: Operation, team: &TeamArgs) -> bool {
    Algorithm::Engines.does(operation) && team.n > 1
}

/// How members meet before their copy engines move the data.
fn opening_plan(team: &TeamArgs) -> Plan {
    Plan {
        role: Role::Opening,
        ..barrier_plan(team)
    }
}

/// The bytes for which the staging of a team has the room that an algorithm needs. With flags they are twice as many there.
pub(super) fn room(algorithm: Algorithm, team: &TeamArgs) -> u64 {
    match algorithm {
        Algorithm::Flags => (team.slot / 2) & !15,
        Algorithm::Lamport => team.lamport,
        Algorithm::Direct | Algorithm::Engines => u64::MAX,
    }
}

pub(crate) fn has_room(algorithm: Algorithm, bytes: u64, team: &TeamArgs) -> bool {
    bytes <= room(algorithm, team)
}

/// Bytes of the share that each member folds for all in a `reduce` by Lamport's algorithm, or relays to all in a `broadcast`; 0: there is one
/// shot. Two shots take longer, but with three members or more a member of a `reduce`, or the root, sends fewer bytes.
fn share(operation: Operation, bytes: u64, team: &TeamArgs) -> u64 {
    let n = team.n as u64;
    let saved = bytes * n.saturating_sub(1) * n.saturating_sub(2) / n;
    let has_shares = matches!(operation, Operation::Reduce | Operation::Broadcast);
    let two_shots = has_shares && saved > SECOND_SHOT;
    match two_shots && bytes.is_multiple_of(n * LINE) {
        true => bytes / n,
        false => 0,
    }
}

/// A reduction, if the operation needs one for its plan.
pub(super) fn example(operation: Operation) -> Option<Reduction> {
    let index = COLLECTIVES.iter().position(|one| *one == operation)?;
    matches!(TABLE[index].kernels, KernelSet::Reduces).then_some(Reduction {
        dtype: Dtype::Float,
        op: Op::Sum,
    })
}

/// As [`plan`], for the collective with a place in [`COLLECTIVES`], and a choice, by one kernel.
fn chosen(
    index: usize,
    reduction: Option<Reduction>,
    bytes: u64,
    team: &TeamArgs,
    (choice, blocks): (Choice, u32),
) -> Option<Plan> {
    let n = team.n as u64;
    let (row, operation) = (&TABLE[index], COLLECTIVES[index]);
    let most = u64::from(team.blocks.min(blocks).min(choice.blocks)).max(1);
    let threads = u64::from(choice.threads);
    let moved = if row.parts {
        bytes.saturating_mul(n)
    } else {
        bytes
    };
    let algorithm = match (row.kernels, choice.algorithm) {
        (KernelSet::Moves(..) | KernelSet::Reduces, algorithm)
            if has_room(algorithm, bytes, team) =>
        {
            algorithm
        }
        _ => Algorithm::Direct,
    };
    let kernel = match (row.kernels, reduction) {
        (KernelSet::Moves(flags, lamport, direct), None) => match algorithm {
            Algorithm::Flags => flags,
            Algorithm::Lamport => lamport,
            Algorithm::Direct | Algorithm::Engines => direct,
        },
        (KernelSet::Direct(direct), None) => direct,
        (KernelSet::Reduces, Some(reduction)) => reduction.kernel(algorithm),
        _ => return None,
    };
    // With flags, a thread of a team of more than two members sends to one member, unless its block would have more threads than the choice.
    let to_several = reduction.is_some() || operation == Operation::Broadcast;
    let sends = match algorithm {
        Algorithm::Flags if to_several && n > 2 => n,
        _ => 1,
    };
    let through_staging = |unit, each| {
        let units = moved.div_ceil(unit);
        let grid = (units * sends).div_ceil(threads).min(most).min(units);
        let of_block = |items: u64| items.div_ceil(grid * each);
        let block = of_block(units * sends).min(threads.max(of_block(units)));
        let block = block.min(MOST_THREADS);
        geometry(kernel, n, grid, block, FLAG_THREADS)
    };
    let share = share(operation, bytes, team);
    // Two units of a thread are under way at the same time, except where a thread waits for the unit of each member before the next unit.
    let one_by_one = reduction.is_some() && share == 0 && n > 2;
    let mut plan = match algorithm {
        Algorithm::Flags => through_staging(UNIT, 1),
        Algorithm::Lamport => through_staging(LAMPORT_UNIT, if one_by_one { 1 } else { 2 }),
        Algorithm::Direct | Algorithm::Engines => {
            let grid = moved.div_ceil(threads * DIRECT_BYTES).min(most);
            geometry(kernel, n, grid, threads, 0)
        }
    };
    plan.chunk = match reduction {
        _ if algorithm == Algorithm::Lamport => share as u32,
        // Each block has a chunk of the member's share at least.
        Some(_) if n > 2 => {
            let each = (bytes / n / u64::from(plan.grid)).next_multiple_of(LINE);
            choice.chunk.min(each.max(LEAST_CHUNK) as u32)
        }
        _ => choice.chunk,
    };
    plan.takes_private_memory = algorithm.takes_private_memory();
    Some(plan)
}

/// What a choice comes to, for the tuner; `None` where it is not possible.
pub(crate) fn geometry_of(
    operation: Operation,
    bytes: u64,
    team: &TeamArgs,
    blocks: u32,
    choice: Choice,
) -> Option<Geometry> {
    let index = COLLECTIVES.iter().position(|one| *one == operation)?;
    match choice.algorithm {
        algorithm if !has_room(algorithm, bytes, team) => return None,
        Algorithm::Engines if !by_engines(operation, team) => return None,
        Algorithm::Engines => {
            let plan = opening_plan(team);
            return Some(Geometry {
                algorithm: choice.algorithm,
                blocks: plan.grid,
                threads: plan.block,
                chunk: 0,
            });
        }
        _ => {}
    }
    let plan = chosen(index, example(operation), bytes, team, (choice, blocks))?;
    Some(Geometry {
        algorithm: choice.algorithm,
        blocks: plan.grid,
        threads: plan.block,
        chunk: plan.chunk,
    })
}

/// How collect is done where `dest` has `room` bytes, on every member; what each one brings is known to itself only.
pub(crate) fn collect_plan(room: u64, team: &TeamArgs, blocks: u32) -> Plan {
    let most = u64::from(team.blocks.min(blocks)).max(1);
    let grid = room
        .div_ceil(COLLECT_BYTES)
        .clamp(1, most.min(COLLECT_BLOCKS));
    let mut plan = geometry(Kernel::Collect, team.n as u64, grid, MOST_THREADS, 0);
    // The members' lengths, beside their addresses.
    plan.shared *= 2;
    plan
}

fn geometry(kernel: Kernel, n: u64, grid: u64, threads: u64, flag_threads: u64) -> Plan {
    Plan {
        kernel,
        role: Role::Whole,
        grid: grid.max(1) as u32,
        // Whole warps.
        block: (threads.next_multiple_of(32) + flag_threads) as u32,
        // The address of each member's part, for the kernels without flags.
        shared: if flag_threads == 0 { n as u32 * 8 } else { 0 },
        chunk: 0,
        takes_private_memory: false,
    }
}

#[cfg(test)]
pub(super) mod tests;
