//! The kernels: the device code, its arguments, and its launches.
//!
//! | file | contents |
//! |---|---|
//! | this file | the kernels' arguments, as the host passes them |
//! | `state.cuh` | the state that all kernels get, written from [`State`] |
//! | [`plan`] | the kernel of a collective, and its number of threads |
//! | [`private`] | the limit for private memory |
//! | [`launch`], [`graphs`] | the kernels, loaded; launches by graphs, which cost less |
//! | `access.cuh`, `ptx.cuh` | the accesses of `include/nvshmemrs_device.cuh`, shared with the program's kernels; other accesses |
//! | `common.cuh`, `copy.cuh` | code that all kernels share; copies |
//! | `team.cuh`, `fold.cuh` | how the members of a team meet; reductions of elements |
//! | `lamport.cuh` | data that shows its own arrival |
//! | `rma.cu`, `atomics.cu`, `wait.cu`, `sync.cu`, `moves.cu`, `reduce.cu` | the kernels |
//!
//! A launch puts a kernel on a stream and returns. The layers above check arguments: addresses are in this GPU's address space, and their
//! memory stays valid until the kernel has run.
//!
//! # Assumptions of the kernels
//!
//! * The rules of [`driver`](super::driver).
//! * A team's sync block is zero on every member when the meeting that makes the team ends. A kernel of an earlier team with the number that
//!   is still queued then finds another generation, and reports that.
//! * Graphs with collectives of a team are over when the team is destroyed: a late kernel could write to the staging of a later team with the
//!   number.
//! * The source of a collective can be read until its kernel has run, also if its team has been destroyed.
//! * A PE has one collective of a team in flight at a time, and all members run the collectives of a team in the same order.
//! * Every GPU of the job can run the blocks of a plan at the same time, as `blocks` of [`plan`] states; also the blocks of the collectives of
//!   two teams (NVSHMEMRS_COLLECTIVES_AT_ONCE: of more), with multiprocessors left for other kernels. More large collectives at a time may
//!   keep each other from running.

mod graphs;
mod launch;
mod plan;
mod private;

pub(crate) use crate::transport::device_state::State;
pub(crate) use launch::{Kernels, SignalMethod};
pub(crate) use plan::{
    Plan, Reduction, Role, barrier_plan, collect_plan, geometry_of, has_room, plan,
};
pub(crate) use private::private_bytes;

use crate::buffer::SymRange;
use crate::collectives::sync_area;
use crate::op::Op;
use crate::transport::device_state::stride;
use crate::{Error, Pe, Result};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Values of the abort word and of [`ErrorRecord::code`]: the values that kernels write. The host writes any other number but 0.
pub(crate) const MISMATCH: u32 = 1;
/// As [`MISMATCH`]: the parts of a collect together are longer than `dest`: `theirs` bytes instead of `mine`.
pub(crate) const OVERRUN: u32 = 2;
/// As [`MISMATCH`]: the kernel's team was destroyed.
pub(crate) const STALE: u32 = 3;
/// [`ErrorRecord::state`] when the other fields can be read.
pub(crate) const WRITTEN: u32 = 2;

/// The first error of a PE's kernels, in pinned host memory, zero at first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ErrorRecord {
    /// [`WRITTEN`] once the other fields can be read, with acquire.
    pub(crate) state: AtomicU32,
    pub(crate) code: AtomicU32,
    /// The number of this PE's [`Operation`](crate::operation::Operation).
    pub(crate) operation: AtomicU32,
    pub(crate) team: AtomicU32,
    pub(crate) epoch: AtomicU64,
    pub(crate) mine: AtomicU64,
    pub(crate) theirs: AtomicU64,
    /// The PE that differs.
    pub(crate) pe: AtomicI32,
    /// The number of that PE's operation.
    pub(crate) their_operation: AtomicU32,
}

/// The words of a team's epoch block that kernels use: the number of collectives counted, of blocks of the running collective that have begun,
/// the team's generation, and the number of collectives that are over, except those of graphs.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct TeamLocal {
    epoch: u64,
    begun: u32,
    pub(crate) generation: u32,
    over: u64,
}

impl TeamLocal {
    /// The generation of no team, which a kernel reports.
    pub(crate) const NO_TEAM: u32 = u32::MAX;
    /// The generation of a broken team, whose members have had their errors: a late kernel ends without a report.
    pub(crate) const GIVEN_UP: u32 = u32::MAX - 1;

    /// The words of a new team.
    pub(crate) fn new(generation: u32) -> TeamLocal {
        TeamLocal {
            generation,
            ..TeamLocal::default()
        }
    }

    /// The number of a team's collectives that are over, so that none of their blocks runs, from the words of its epoch block; collectives of
    /// graphs are not counted. Their data is visible a moment later: the count orders nothing, but takes a host some microseconds to read.
    pub(crate) fn over(words: &[u64]) -> u64 {
        words[std::mem::offset_of!(TeamLocal, over) / 8] >> 16
    }
}

/// 24 bits that distinguish the signatures of kernels before and after copies from those of kernels that do all.
const OPENING: u32 = 0x6f_7065;
const CLOSING: u32 = 0x63_6c6f;

/// Bytes per member at the start of a sync block: calls and lengths.
const HEADS: u64 = 2 * (8 + 16);
/// Steps of a collective that have flags of their own.
const STEPS: u64 = 2;
/// A team has staging for Lamport's algorithm, three times the staging of flags, only if flags have at least so many bytes per member and parity.
const LEAST_SLOT: u64 = 4 << 10;
/// The most blocks of a collective.
const MOST_BLOCKS: u64 = 128;

/// A team as a kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct TeamArgs {
    n: i32,
    me: i32,
    index: u32,
    blocks: u32,
    generation: u32,
    step: i32,
    first: i32,
    uncounted: u32,
    members: u64,
    local: u64,
    sync: u64,
    staging: u64,
    slot: u64,
    lamport: u64,
}

impl TeamArgs {
    /// Member `me` of this `generation` of team `index`; `pes` are the members. `own`: the address of this PE's part. `local`: the range of
    /// the team's [`TeamLocal`] in that part. `sync`: the team's sync block, at the same offset on all members.
    pub(crate) fn new(
        index: u32,
        me: Pe,
        pes: &[Pe],
        generation: u32,
        own: u64,
        local: SymRange,
        sync: SymRange,
    ) -> Result<TeamArgs> {
        let (n, bytes) = (pes.len(), sync.bytes());
        let count = n as u64;
        // Calls and lengths, twice each; then the steps, in a quarter of the block if that is enough; then the members.
        let heads = HEADS * count;
        let per_block = 2 * STEPS * 8 * count;
        let blocks = ((bytes / 4).saturating_sub(heads) / per_block).clamp(1, MOST_BLOCKS);
        let members = heads + blocks * per_block;
        let staging = (members + 4 * count).next_multiple_of(128);
        if staging > bytes {
            return Err(Error::NotSupported(format!(
                "a team on GPU memory cannot have {n} PEs: its sync block has {bytes} bytes, which is enough for {} PEs",
                bytes.saturating_sub(128) / (HEADS + 2 * STEPS * 8 + 4)
            )));
        }
        let room = (bytes - staging) / (2 * count);
        let (slot, lamport) = match (room / 4) & !127 {
            slot if slot >= LEAST_SLOT => (slot, (room - slot) & !127),
            _ => (room & !127, 0),
        };
        let (first, step) = stride(pes);
        Ok(TeamArgs {
            n: n as i32,
            me,
            index,
            blocks: blocks as u32,
            generation,
            step,
            first,
            uncounted: 0,
            members: own + sync.offset() + members,
            local: own + local.offset(),
            sync: sync.offset(),
            staging: sync.offset() + staging,
            slot,
            lamport,
        })
    }

    /// The number of the team.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The address of the members' PEs, an `i32` each, which the caller of [`new`](TeamArgs::new) writes.
    pub(crate) fn members(&self) -> u64 {
        self.members
    }
}

/// The first team of a job of `n_pes` PEs, as far as plans need it.
pub(crate) fn world(n_pes: Pe) -> Result<TeamArgs> {
    let pes: Vec<Pe> = (0..n_pes).collect();
    let (local, sync) = (sync_area::epoch(0, 0), sync_area::block(0, 0));
    TeamArgs::new(0, 0, &pes, 0, 0, local, sync)
}

/// The arguments of a collective.
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct CollectiveArgs {
    state: State,
    team: TeamArgs,
    /// The number of the [`Operation`](crate::operation::Operation).
    operation: u32,
    signature: u32,
    /// Symmetric offsets.
    pub(crate) dest: u64,
    pub(crate) source: u64,
    /// Bytes of the message, or of one part where there is a part per member.
    pub(crate) bytes: u64,
    /// collect: the bytes that `dest` has room for. alltoalls: elements of a part. barrier: not 0 if this member only announces its call, and
    /// does not wait.
    pub(crate) count: u64,
    /// alltoalls: bytes from element to element, and of an element. collect: not 0 in `element` if `dest` is to be filled.
    pub(crate) dest_step: u64,
    pub(crate) source_step: u64,
    pub(crate) element: u64,
    pub(crate) root: i32,
    op: u32,
    finished: u64,
    ticket: u64,
    chunk: u64,
}

impl CollectiveArgs {
    /// A call of `operation`, whose arguments have this signature; the other fields are 0.
    pub(crate) fn new(
        state: State,
        team: TeamArgs,
        operation: u32,
        signature: u64,
    ) -> CollectiveArgs {
        CollectiveArgs {
            state,
            team,
            operation,
            signature: (signature ^ signature >> 32) as u32,
            dest: 0,
            source: 0,
            bytes: 0,
            count: 0,
            dest_step: 0,
            source_step: 0,
            element: 0,
            root: 0,
            op: 0,
            finished: 0,
            ticket: 0,
            chunk: 0,
        }
    }

    /// The number of the team.
    pub(crate) fn team_index(&self) -> u32 {
        self.team.index
    }

    /// Marks the call as part of a graph, whose runs cannot be counted: [`TeamLocal::over`] omits them.
    pub(crate) fn is_replayed(&mut self) {
        self.team.uncounted = 1;
    }

    /// Announces another operation's number, such as that of an invalid call.
    pub(crate) fn announces(&mut self, operation: u32) {
        self.operation = operation;
    }

    /// Makes the kernel write `ticket` to the `u64` of pinned host memory at `finished` when this member's work is done.
    pub(crate) fn reports_completion(&mut self, finished: u64, ticket: u64) {
        (self.finished, self.ticket) = (finished, ticket);
    }

    /// Takes the chunk size of a plan.
    pub(crate) fn follows(&mut self, plan: &Plan) {
        self.chunk = plan.chunk.into();
    }

    /// Marks the first or the last kernel of a collective by copy engines. Members with another algorithm, or at another place in the
    /// collective, announce other signatures.
    pub(crate) fn takes_part(&mut self, role: Role) {
        self.signature ^= match role {
            Role::Whole => 0,
            Role::Opening => OPENING,
            Role::Closing => CLOSING,
        };
    }

    /// Sets the operation of a reduction.
    pub(crate) fn reduces(&mut self, reduction: Reduction) {
        self.op = reduction.op();
    }
}

/// The arguments of a strided copy: `count` blocks of `block` bytes, steps in bytes from block to block.
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct StridedArgs {
    pub(crate) dest: u64,
    pub(crate) source: u64,
    pub(crate) dest_step: i64,
    pub(crate) source_step: i64,
    pub(crate) block: u64,
    pub(crate) count: u64,
}

/// The arguments of an atomic operation.
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(C)]
struct AtomicArgs {
    address: u64,
    value: u64,
    cond: u64,
    result: u64,
    operation: u32,
    bytes: u32,
}

/// The condition of a wait or a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
#[repr(u32)]
pub(crate) enum WaitMode {
    One = 0,
    All = 1,
    Any = 2,
    Some = 3,
}

/// The arguments of a wait or a test. Addresses are this PE's; those of memory that the kernel writes may be pinned host memory.
#[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
#[repr(C)]
pub(crate) struct WaitArgs {
    pub(crate) state: State,
    /// `count` elements, one after the other.
    pub(crate) ivars: u64,
    pub(crate) count: u64,
    /// An `i32` for each element, not 0 for excluded elements; or 0.
    pub(crate) status: u64,
    /// A value for each element to compare with; or 0: all with `value`.
    pub(crate) values: u64,
    /// The bits of the value.
    pub(crate) value: u64,
    /// A `u64`, or 0. One: the bits read last. All: 1. Any: the index of an element that held, [`u64::MAX`] if there was none to wait for.
    /// Some: the number of elements that held. A failed test gives 0, or for Any [`u64::MAX`].
    pub(crate) result: u64,
    /// One: a `u64`, 1 if it held. Some: the indices that held, in order, a `u64` each with room for all. Or 0.
    pub(crate) indices: u64,
    /// Any: the index, below `count`, that is tested first; the others follow in order, around the end. Else 0.
    pub(crate) start: u64,
    /// The numbers of [`Cmp`](crate::Cmp) and [`Dtype`](crate::Dtype).
    pub(crate) cmp: u32,
    pub(crate) dtype: u32,
    pub(crate) mode: WaitMode,
    /// 1: test once, do not wait.
    pub(crate) test: u32,
}

// The same numbers are in the .cuh and .cu files.
const _: () = {
    assert!(size_of::<ErrorRecord>() == 48);
    assert!(size_of::<TeamArgs>() == 80);
    assert!(size_of::<CollectiveArgs>() == 240);
    assert!(size_of::<TeamLocal>() == 24);
    assert!(size_of::<StridedArgs>() == 48);
    assert!(size_of::<AtomicArgs>() == 40);
    assert!(size_of::<WaitArgs>() == 144);
    assert!(Op::Sum as u32 == 1 && Op::Xor as u32 == 7);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_blocks_hold_what_the_kernels_put_there() {
        // With the most members for which there is staging for Lamport's algorithm.
        for (bytes, most) in [(128 << 10, 3), (4 << 20, 100), (16 << 20, 100)] {
            for n in [1, 2, 3, 4, 7, 8, 64, 100, 1000, 1300] {
                let (local, sync) = (SymRange::new(64, 64), SymRange::new(1 << 30, bytes));
                let pes: Vec<Pe> = (0..n).collect();
                let team = TeamArgs::new(3, 0, &pes, 1, 1 << 40, local, sync).unwrap();
                let count = n as u64;
                // As step_of and staging_of in team.cuh have it.
                let steps_end = HEADS * count + 2 * STEPS * u64::from(team.blocks) * count * 8;
                assert_eq!(team.members, (1 << 40) + team.sync + steps_end);
                assert!(team.sync + steps_end + 4 * count <= team.staging);
                assert!(team.staging.is_multiple_of(128) && team.slot.is_multiple_of(128));
                assert!(team.lamport.is_multiple_of(128));
                let each = team.slot + team.lamport;
                assert!(team.staging + 2 * count * each <= sync.offset() + bytes);
                assert_eq!(team.lamport > 0, n <= most, "{bytes}, {n}");
                assert!(n > 64 || team.slot >= 512, "{n}: {}", team.slot);
            }
        }
        let of = |bytes| {
            TeamArgs::new(
                0,
                0,
                &(0..4096).collect::<Vec<Pe>>(),
                0,
                0,
                SymRange::new(0, 64),
                SymRange::new(0, bytes),
            )
        };
        let why = of(128 << 10).unwrap_err();
        assert!(why.to_string().contains("4096 PEs"), "{why}");
        of(4 << 20).unwrap();
    }
}
