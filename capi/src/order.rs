//! Ordering and completion of one-sided operations.

use crate::guard;
use crate::types::*;

/// Orders this PE's puts, atomic operations and signals to each PE: those before the fence are visible
/// there before those after it.
///
/// Local. Does not wait for completion. OpenSHMEM 1.5 section 9.11.1 (`shmem_fence`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_fence(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::queued(runtime, |rt| rt.fence())
}

/// Completes this PE's operations, non-blocking ones too: their data is visible to every PE, and their
/// local buffers may be reused.
///
/// Local. OpenSHMEM 1.5 section 9.11.2 (`shmem_quiet`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_quiet(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::queued(runtime, |rt| rt.quiet())
}
