//! Remote memory access: put, get, p, g.

use crate::guard;
use crate::handle;
use crate::types::*;
use std::ffi::c_void;

/// Copies `bytes` bytes from local memory at `source` to the symmetric address `dest` on PE `pe`.
///
/// One-sided. Returns when `source` may be reused; the data is visible on `pe` after quiet, barrier or a
/// signal. `source` and `dest` may overlap on the same PE. OpenSHMEM 1.5 section 9.5.1 (`shmem_putmem`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_put(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let source = handle::source(rt, source, bytes)?;
        rt.put(handle::symmetric(dest), source, pe)
    })
}

/// Copies `bytes` bytes from the symmetric address `source` on PE `pe` to local memory at `dest`.
///
/// One-sided. Returns when the data is in `dest`. OpenSHMEM 1.5 section 9.5.4 (`shmem_getmem`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_get(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let dest = handle::dest(rt, dest, bytes)?;
        rt.get(dest, handle::symmetric(source), pe)
    })
}

/// As `nvshmemrs_put`, but `source` may be reused only after `nvshmemrs_quiet`.
///
/// One-sided. OpenSHMEM 1.5 section 9.6.1 (`shmem_putmem_nbi`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_put_nbi(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let source = handle::source_until_quiet(rt, source, bytes)?;
        rt.put_nbi(handle::symmetric(dest), source, pe)
    })
}

/// As `nvshmemrs_get`, but the data is in `dest` only after `nvshmemrs_quiet`.
///
/// One-sided. OpenSHMEM 1.5 section 9.6.2 (`shmem_getmem_nbi`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_get_nbi(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let dest = handle::dest_until_quiet(rt, dest, bytes)?;
        rt.get_nbi(dest, handle::symmetric(source), pe)
    })
}

/// Writes one 8-bit element to the symmetric address `dest` on PE `pe`, in one access.
///
/// One-sided. Visible on `pe` after quiet, barrier or a signal. `dest` must be aligned to 1. OpenSHMEM 1.5
/// section 9.5.2 (`shmem_p`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_p8(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    value: u8,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.p(rt.element("dest", handle::addr(dest))?, value, pe)
    })
}

/// Reads one 8-bit element from the symmetric address `source` on PE `pe`, in one access.
///
/// One-sided. `source` must be aligned to 1. OpenSHMEM 1.5 section 9.5.5 (`shmem_g`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_g8(
    runtime: nvshmemrs_runtime_t,
    source: *const c_void,
    pe: i32,
    value: *mut u8,
) -> i32 {
    guard::fetched(runtime, move |rt| {
        handle::check_out("value", value)?;
        let source = rt.element::<u8>("source", handle::addr(source))?;
        handle::write("value", value, rt.g(source, pe)?)
    })
}

/// Writes one 16-bit element to the symmetric address `dest` on PE `pe`, in one access.
///
/// One-sided. Visible on `pe` after quiet, barrier or a signal. `dest` must be aligned to 2. OpenSHMEM 1.5
/// section 9.5.2 (`shmem_p`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_p16(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    value: u16,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.p(rt.element("dest", handle::addr(dest))?, value, pe)
    })
}

/// Reads one 16-bit element from the symmetric address `source` on PE `pe`, in one access.
///
/// One-sided. `source` must be aligned to 2. OpenSHMEM 1.5 section 9.5.5 (`shmem_g`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_g16(
    runtime: nvshmemrs_runtime_t,
    source: *const c_void,
    pe: i32,
    value: *mut u16,
) -> i32 {
    guard::fetched(runtime, move |rt| {
        handle::check_out("value", value)?;
        let source = rt.element::<u16>("source", handle::addr(source))?;
        handle::write("value", value, rt.g(source, pe)?)
    })
}

/// Writes one 32-bit element to the symmetric address `dest` on PE `pe`, in one access.
///
/// One-sided. Visible on `pe` after quiet, barrier or a signal. `dest` must be aligned to 4. OpenSHMEM 1.5
/// section 9.5.2 (`shmem_p`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_p32(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    value: u32,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.p(rt.element("dest", handle::addr(dest))?, value, pe)
    })
}

/// Reads one 32-bit element from the symmetric address `source` on PE `pe`, in one access.
///
/// One-sided. `source` must be aligned to 4. OpenSHMEM 1.5 section 9.5.5 (`shmem_g`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_g32(
    runtime: nvshmemrs_runtime_t,
    source: *const c_void,
    pe: i32,
    value: *mut u32,
) -> i32 {
    guard::fetched(runtime, move |rt| {
        handle::check_out("value", value)?;
        let source = rt.element::<u32>("source", handle::addr(source))?;
        handle::write("value", value, rt.g(source, pe)?)
    })
}

/// Writes one 64-bit element to the symmetric address `dest` on PE `pe`, in one access.
///
/// One-sided. Visible on `pe` after quiet, barrier or a signal. `dest` must be aligned to 8. OpenSHMEM 1.5
/// section 9.5.2 (`shmem_p`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_p64(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    value: u64,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        rt.p(rt.element("dest", handle::addr(dest))?, value, pe)
    })
}

/// Reads one 64-bit element from the symmetric address `source` on PE `pe`, in one access.
///
/// One-sided. `source` must be aligned to 8. OpenSHMEM 1.5 section 9.5.5 (`shmem_g`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_g64(
    runtime: nvshmemrs_runtime_t,
    source: *const c_void,
    pe: i32,
    value: *mut u64,
) -> i32 {
    guard::fetched(runtime, move |rt| {
        handle::check_out("value", value)?;
        let source = rt.element::<u64>("source", handle::addr(source))?;
        handle::write("value", value, rt.g(source, pe)?)
    })
}
