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
    guard::queued(runtime, move |rt| rt.barrier(handle::team(team)))
}

/// Waits until every member of `team` has arrived. Non-blocking operations are not completed by it.
///
/// Collective over `team`. OpenSHMEM 1.5 section 9.9.3 (`shmem_team_sync`, `shmem_sync_all`).
/// Errors: as `nvshmemrs_barrier`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_sync(runtime: nvshmemrs_runtime_t, team: nvshmemrs_team_t) -> i32 {
    guard::queued(runtime, move |rt| rt.sync(handle::team(team)))
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
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
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
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.reduce(handle::team(team), dest, source, count, dtype, op)
    })
}

/// Puts together `bytes` bytes of `source` of every member, in team order, in `dest` on every member, which has
/// room for `n_pes * bytes`. In place: `source` is the member's own part, `dest + my_pe * bytes`; otherwise
/// they must not overlap.
///
/// Collective over `team`, same `bytes` and symmetric addresses. Returns when `dest` is written here and
/// `source` may be reused. OpenSHMEM 1.5 section 9.9.6 (`shmem_fcollectmem`).
/// Errors: as `nvshmemrs_broadcast`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_fcollect(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.fcollect(handle::team(team), dest, source, bytes)
    })
}

/// Puts together what every member brings, `bytes` bytes that may differ between members, in team order, in
/// `dest` on every member, which has room for the sum. `source` and `dest` must not overlap.
///
/// Collective over `team`, same symmetric address `dest`. Returns when `dest` is written here and `source`
/// may be reused. OpenSHMEM 1.5 section 9.9.6 (`shmem_collectmem`).
/// Errors: as `nvshmemrs_broadcast`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_collect(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.collect(handle::team(team), dest, source, bytes)
    })
}

/// Sends part j of `source`, `bytes` bytes, to member j, where it becomes part i of `dest`, i being the sender's
/// number. Both have one part per member. `source` may equal `dest`; they must not overlap otherwise.
///
/// Collective over `team`, same `bytes` and symmetric addresses. Returns when `dest` is written here and
/// `source` may be reused. OpenSHMEM 1.5 section 9.9.7 (`shmem_alltoallmem`).
/// Errors: as `nvshmemrs_broadcast`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_alltoall(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.alltoall(handle::team(team), dest, source, bytes)
    })
}

/// As `nvshmemrs_alltoall` for parts of `count` elements of `element_bytes` bytes that lie `dest_stride` and
/// `source_stride` elements apart, each at least 1. Elements in between stay as they are. `source` and `dest`
/// must not overlap.
///
/// Collective over `team`, same arguments and symmetric addresses. Returns when `dest` is written here and
/// `source` may be reused. OpenSHMEM 1.5 section 9.9.8 (`shmem_alltoallsmem`).
/// Errors: as `nvshmemrs_broadcast`; INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_alltoalls(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    dest_stride: isize,
    source_stride: isize,
    element_bytes: usize,
    count: usize,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.alltoalls(
            handle::team(team),
            handle::symmetric(dest),
            handle::symmetric(source),
            dest_stride,
            source_stride,
            element_bytes,
            count,
        )
    })
}

/// As `nvshmemrs_reduce`, but member i keeps only part i of the result, `count` elements, in `dest`. `source` has
/// one such part per member. In place: `dest` is the member's own part, `source + my_pe * count` elements;
/// otherwise they must not overlap.
///
/// Collective over `team`, same `count`, `dtype`, `op` and symmetric addresses. `dtype` is one of
/// `nvshmemrs_dtype`, `op` one of `nvshmemrs_op`. NVSHMEM `nvshmem_<type>_<op>_reducescatter`.
/// Errors: as `nvshmemrs_reduce`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_reducescatter(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    count: usize,
    dtype: i32,
    op: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.reducescatter(handle::team(team), dest, source, count, dtype, op)
    })
}

/// Inclusive scan: combines `count` elements of `source` of the members up to and including the caller, element by
/// element, in team order, and writes the result to the caller's `dest`. `source` may equal `dest`; they must
/// not overlap otherwise.
///
/// Collective over `team`, same `count`, `dtype`, `op` and symmetric addresses. `dtype` is one of
/// `nvshmemrs_dtype`, `op` one of `nvshmemrs_op`. OpenSHMEM 1.6 (`shmem_sum_inscan`).
/// Errors: as `nvshmemrs_reduce`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_inscan(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    count: usize,
    dtype: i32,
    op: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.inscan(handle::team(team), dest, source, count, dtype, op)
    })
}

/// Exclusive scan: as `nvshmemrs_inscan` over the members before the caller. Member 0 gets the operation's
/// identity: 0 for sum, or and xor, 1 for prod, all bits for and, the largest value for min and the smallest for max
/// (infinities for floating point).
///
/// Collective over `team`, same `count`, `dtype`, `op` and symmetric addresses. `dtype` is one of
/// `nvshmemrs_dtype`, `op` one of `nvshmemrs_op`. OpenSHMEM 1.6 (`shmem_sum_exscan`).
/// Errors: as `nvshmemrs_reduce`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_exscan(
    runtime: nvshmemrs_runtime_t,
    team: nvshmemrs_team_t,
    dest: *mut c_void,
    source: *const c_void,
    count: usize,
    dtype: i32,
    op: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let (dest, source) = (handle::symmetric(dest), handle::symmetric(source));
        rt.exscan(handle::team(team), dest, source, count, dtype, op)
    })
}
