//! Locks that programs and libraries make of elements and atomic operations: a queue of PEs, each of which waits for the PE ahead.

use crate::guard;
use crate::handle;
use crate::types::*;

/// Waits until this PE's copy of the element at the symmetric address `ivar` is no longer negative: an
/// element of a lock that PE `pe` writes, which is ahead of this PE in the lock's queue. Reports of waits
/// and error texts name the PE, and the PE that holds the lock. If `pe` is this PE, the writer counts as
/// unknown. Locks of a program or of a library are made with it, as those of `shmem.h` are.
///
/// Local: only the caller waits; may be queued on a stream. OpenSHMEM does not have it.
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_lock_wait(
    runtime: nvshmemrs_runtime_t,
    ivar: *const i32,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.lock_wait(rt.element::<i32>("ivar", handle::addr(ivar))?, pe)
    })
}
