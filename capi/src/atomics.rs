//! Atomic memory operations.

use crate::guard;
use crate::handle;
use crate::types::*;

/// Adds `value` to the 32-bit integer at the symmetric address `dest` on PE `pe` and gives the old value.
/// It wraps around, so it serves signed and unsigned integers.
///
/// One-sided; atomic with respect to all atomic operations of all PEs; complete on return. `dest` must be
/// aligned to 4. OpenSHMEM 1.5 section 9.7.1 (`shmem_atomic_fetch_add`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_atomic_fetch_add32(
    runtime: nvshmemrs_runtime_t,
    dest: *mut u32,
    value: u32,
    pe: i32,
    old: *mut u32,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("old", old)?;
        let dest = rt.element::<u32>("dest", handle::addr(dest))?;
        handle::write("old", old, rt.atomic_fetch_add(dest, value, pe)?)
    })
}

/// Stores `value` in the 32-bit integer at the symmetric address `dest` on PE `pe` if it equals `cond`, and
/// gives the old value.
///
/// One-sided; atomic with respect to all atomic operations of all PEs; complete on return. `dest` must be
/// aligned to 4. OpenSHMEM 1.5 section 9.7.1 (`shmem_atomic_compare_swap`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_atomic_compare_swap32(
    runtime: nvshmemrs_runtime_t,
    dest: *mut u32,
    cond: u32,
    value: u32,
    pe: i32,
    old: *mut u32,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("old", old)?;
        let dest = rt.element::<u32>("dest", handle::addr(dest))?;
        handle::write("old", old, rt.atomic_compare_swap(dest, cond, value, pe)?)
    })
}

/// Adds `value` to the 64-bit integer at the symmetric address `dest` on PE `pe` and gives the old value.
/// It wraps around, so it serves signed and unsigned integers.
///
/// One-sided; atomic with respect to all atomic operations of all PEs; complete on return. `dest` must be
/// aligned to 8. OpenSHMEM 1.5 section 9.7.1 (`shmem_atomic_fetch_add`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_atomic_fetch_add64(
    runtime: nvshmemrs_runtime_t,
    dest: *mut u64,
    value: u64,
    pe: i32,
    old: *mut u64,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("old", old)?;
        let dest = rt.element::<u64>("dest", handle::addr(dest))?;
        handle::write("old", old, rt.atomic_fetch_add(dest, value, pe)?)
    })
}

/// Stores `value` in the 64-bit integer at the symmetric address `dest` on PE `pe` if it equals `cond`, and
/// gives the old value.
///
/// One-sided; atomic with respect to all atomic operations of all PEs; complete on return. `dest` must be
/// aligned to 8. OpenSHMEM 1.5 section 9.7.1 (`shmem_atomic_compare_swap`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_atomic_compare_swap64(
    runtime: nvshmemrs_runtime_t,
    dest: *mut u64,
    cond: u64,
    value: u64,
    pe: i32,
    old: *mut u64,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("old", old)?;
        let dest = rt.element::<u64>("dest", handle::addr(dest))?;
        handle::write("old", old, rt.atomic_compare_swap(dest, cond, value, pe)?)
    })
}
