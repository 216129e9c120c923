//! What only GPUs have: the state that kernels get, by which they communicate without the host; the algorithms of collectives, and the
//! memory that they take.

use crate::guard;
use crate::handle;
use crate::types::*;
use nvshmem_core::tuning::{self, Algorithm, Choice};
use nvshmem_core::{Error, Operation};
use std::ffi::c_void;

/// The job as kernels of this PE see it: pass it to them by value, and they pass it to the functions of
/// `nvshmemrs_device.cuh`. It is valid for kernels of this PE only, until finalize. It also shows teams
/// that are created or destroyed later. On device memory its addresses are those of this PE's GPU; on
/// host memory they are those of this process, for the same functions compiled for the CPU.
///
/// Kernels reach PEs of their own host only: a put to another PE ends the kernel, and
/// `nvshmemrs_runtime_check` names the PE.
///
/// In a checked job only kernels run that are compiled with `NVSHMEMRS_DEVICE_RECORD` defined; another one
/// ends at its first call, and `nvshmemrs_runtime_check` says why.
///
/// Local. NVSHMEM: the state that `nvshmemx_cumodule_init` writes to a module.
/// Errors: NOT_SUPPORTED if kernels cannot use the heap.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_device_state(
    runtime: nvshmemrs_runtime_t,
    state: *mut nvshmemrs_device_state_t,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("state", state)?;
        let found = handle::device_state_to_c(&rt.device_state()?);
        handle::write("state", state, found)
    })
}

/// The address, for kernels of this PE, of a copy of the state of `nvshmemrs_device_state`: for
/// frontends whose kernels take one pointer. It is memory of the GPU if the heap is, and must not be
/// written.
///
/// Local. OpenSHMEM does not have it.
/// Errors: as `nvshmemrs_device_state`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_device_state_pointer(
    runtime: nvshmemrs_runtime_t,
    pointer: *mut *mut c_void,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("pointer", pointer)?;
        let address = rt.device_state_address()?;
        handle::write("pointer", pointer, handle::address(Some(address)))
    })
}

/// Sets one algorithm for all collectives on GPU memory that this process starts from now on, of any
/// size, in place of the tuned choice: for programs that measure, such as `nvshmemrs-perf
/// --tune`. `blocks`, 1 to 128: the maximum number of blocks of a kernel. `threads`, a multiple of 32
/// up to 512: the threads of a block that move data. `chunk`: the size in bytes, a multiple of 128 from
/// 1024 to 4194304, of the chunks in which `reduce` and `broadcast` send with the direct
/// algorithm; 0: not in chunks. With NVSHMEMRS_ALGORITHM_TUNED the sizes are 0, and the tuned choice
/// applies again. Results have the same bits in any case.
///
/// Local. All PEs must have made the same call before they start a collective; otherwise the collective
/// would deadlock. A collective that does not fit in a team's staging memory, or that engines do not
/// support, uses the direct algorithm.
/// OpenSHMEM does not have it.
/// Errors: INVALID_VALUE, NOT_SUPPORTED on host memory.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_device_algorithm(
    runtime: nvshmemrs_runtime_t,
    algorithm: i32,
    blocks: i32,
    threads: i32,
    chunk: i32,
) -> i32 {
    guard::local_live(runtime, |rt| {
        if rt.device().is_none() {
            return Err(Error::NotSupported(
                "collectives on host memory have no algorithms to choose from".into(),
            ));
        }
        let of = |algorithm| Choice {
            up_to: u64::MAX,
            algorithm,
            // A negative number becomes a large one, which is out of range.
            blocks: blocks as u32,
            threads: threads as u32,
            chunk: chunk as u32,
        };
        let choice = match algorithm {
            0 if (blocks, threads, chunk) == (0, 0, 0) => None,
            0 => {
                return Err(Error::invalid(
                    "algorithm",
                    algorithm,
                    "1, 2, 3 or 4 if sizes are given, which are 0 otherwise",
                ));
            }
            1 => Some(of(Algorithm::Flags)),
            2 => Some(of(Algorithm::Direct)),
            3 => Some(of(Algorithm::Engines)),
            4 => Some(of(Algorithm::Lamport)),
            _ => return Err(Error::invalid("algorithm", algorithm, "0, 1, 2, 3 or 4")),
        };
        tuning::force(choice)
    })
}

/// The collectives of `nvshmemrs_collective`, from 1.
const COLLECTIVES: [Operation; 9] = [
    Operation::Broadcast,
    Operation::Fcollect,
    Operation::Alltoall,
    Operation::Gather,
    Operation::Scatter,
    Operation::Reduce,
    Operation::Reducescatter,
    Operation::Inscan,
    Operation::Exscan,
];

/// The most bytes with which a collective over `team`, called with the handle of a stream of the GPU,
/// takes private memory: of the message, or of one part where there is a part per member. Up to that
/// size `dest`, `source` or both may be any memory of this PE's GPU, such as of `cudaMalloc` or of a
/// framework's allocator, also in a captured graph. Members may differ: some may pass private memory
/// and others symmetric memory, at any offsets. The memory must stay allocated until the stream has run
/// the collective. 0: the collective takes symmetric memory only, as on host
/// memory, with PEs of several hosts and in a checked job. A larger collective with private memory
/// returns NOT_SUPPORTED, and the other members get PEER_ARGUMENT. `collective` is one of
/// `nvshmemrs_collective`; `nvshmemrs_collect` and `nvshmemrs_alltoalls` take symmetric memory only.
///
/// Local; the same result on all members, which changes only with `nvshmemrs_device_algorithm`.
/// OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_private_bytes(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    collective: i32,
    bytes: *mut u64,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("bytes", bytes)?;
        let index = usize::try_from(collective.wrapping_sub(1)).unwrap_or(usize::MAX);
        let operation = *COLLECTIVES
            .get(index)
            .ok_or_else(|| Error::invalid("collective", collective, "1 to 9"))?;
        let most = rt.private_bytes(handle::team(team), operation)?;
        handle::write("bytes", bytes, most)
    })
}
