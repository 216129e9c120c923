//! Collectives. Every member of the team calls them, in the same order, with matching arguments; if one
//! member's arguments are wrong, every member returns an error and nothing is written.

use crate::guard;
use crate::handle;
use crate::types::*;
use std::ffi::c_void;

/// Waits until every member of `team` has arrived, and completes all operations that the members issued
/// before: they are visible to every member.
///
/// Collective over `team`. OpenSHMEM 1.5 section 9.9.1 (`shmem_barrier`, `shmem_barrier_all`).
/// Errors: BAD_HANDLE, PE_DIED, TIMEOUT, INTERRUPTED, MISMATCH when a member is in another collective.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_barrier(runtime: nvshmemrs_runtime_t, team: nvshmemrs_team_t) -> i32 {
    guard::call(runtime, |rt| rt.barrier(handle::team(team)))
}

/// Waits until every member of `team` has arrived. Non-blocking operations are not completed by it.
///
/// Collective over `team`. OpenSHMEM 1.5 section 9.9.3 (`shmem_team_sync`, `shmem_sync_all`).
/// Errors: as `nvshmemrs_barrier`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_sync(runtime: nvshmemrs_runtime_t, team: nvshmemrs_team_t) -> i32 {
    guard::call(runtime, |rt| rt.sync(handle::team(team)))
}

/// Copies `bytes` bytes from `source` on the member with team number `root` to `dest` on every member, the
/// root included. `source` may equal `dest`; they must not overlap otherwise.
///
/// Collective over `team`, same `bytes`, `root` and symmetric addresses. Returns when `dest` is written here
/// and `source` may be reused. OpenSHMEM 1.5 section 9.9.5 (`shmem_broadcastmem`).
/// Errors, on every member, and nothing is written: MISMATCH, NOT_SYMMETRIC, OUT_OF_BOUNDS, PE_RANGE,
/// PEER_ARGUMENT; also PE_DIED, TIMEOUT, INTERRUPTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_broadcast(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: i32,
) -> i32 {
    guard::call(runtime, |rt| {
        let (dest, source) = (handle::addr(dest), handle::addr(source));
        rt.broadcast(handle::team(team), dest, source, bytes, root)
    })
}

/// Combines `count` elements of `source` of every member, element by element, in team order, and writes the
/// result to `dest` on every member. `source` may equal `dest`; they must not overlap otherwise. The
/// result has the same bits on every member and in every run.
///
/// Collective over `team`, same `count`, `dtype`, `op` and symmetric addresses. `dtype` is one of
/// `nvshmemrs_dtype`, `op` one of `nvshmemrs_op`. OpenSHMEM 1.5 section 9.9.9 (`shmem_sum_reduce`, ...).
/// Errors, on every member, and nothing is written: MISMATCH, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE,
/// PEER_ARGUMENT; also PE_DIED, TIMEOUT, INTERRUPTED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_reduce(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    count: usize,
    dtype: i32,
    op: i32,
) -> i32 {
    guard::call(runtime, |rt| {
        let (dest, source) = (handle::addr(dest), handle::addr(source));
        rt.reduce(handle::team(team), dest, source, count, dtype, op)
    })
}
