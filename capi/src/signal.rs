//! Signals: 64-bit words on the symmetric heap by which a PE announces that data has arrived.

use crate::guard;
use crate::handle;
use crate::types::*;
use std::ffi::c_void;

/// Copies `bytes` bytes from local memory at `source` to the symmetric address `dest` on PE `pe`, then
/// updates the signal at the symmetric address `signal` there: a PE that sees the signal sees the data.
///
/// One-sided. Returns when `source` may be reused. `signal_op` is one of `nvshmemrs_signal_op`. OpenSHMEM
/// 1.5 section 9.8.3 (`shmem_putmem_signal`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_put_signal(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    signal: *mut u64,
    value: u64,
    signal_op: i32,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let dest = handle::symmetric(dest);
        let signal = rt.element::<u64>("signal", handle::addr(signal))?;
        let op = handle::signal_op(signal_op)?;
        let source = handle::source(rt, source, bytes)?;
        rt.put_signal(dest, source, signal, value, op, pe)
    })
}

/// As `nvshmemrs_put_signal`, but `source` may be reused only after `nvshmemrs_quiet`.
///
/// One-sided. `signal_op` is one of `nvshmemrs_signal_op`. Complete after `nvshmemrs_quiet`. OpenSHMEM 1.5
/// section 9.8.4 (`shmem_putmem_signal_nbi`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_put_signal_nbi(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    signal: *mut u64,
    value: u64,
    signal_op: i32,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let dest = handle::symmetric(dest);
        let signal = rt.element::<u64>("signal", handle::addr(signal))?;
        let op = handle::signal_op(signal_op)?;
        let source = handle::source_until_quiet(rt, source, bytes)?;
        rt.put_signal_nbi(dest, source, signal, value, op, pe)
    })
}

/// Updates the signal at the symmetric address `signal` on PE `pe`, after all earlier puts of this PE to
/// that PE.
///
/// One-sided. `signal_op` is one of `nvshmemrs_signal_op`. Visible on `pe` after all earlier puts; complete
/// after quiet or barrier. NVSHMEM `nvshmemx_signal_op`.
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_signal_op(
    runtime: nvshmemrs_runtime_t,
    signal: *mut u64,
    value: u64,
    signal_op: i32,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let signal = rt.element::<u64>("signal", handle::addr(signal))?;
        rt.signal_op(signal, value, handle::signal_op(signal_op)?, pe)
    })
}

/// Waits until this PE's copy of the signal at `signal` compares to `value` by `cmp`, and returns the
/// value that did. Earlier puts of the sender are visible on return.
///
/// Local: only the caller waits. `cmp` is one of `nvshmemrs_cmp`; `seen` may be NULL. OpenSHMEM 1.5 section
/// 9.10.15 (`shmem_signal_wait_until`).
/// Errors: PE_DIED, TIMEOUT, INTERRUPTED, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_signal_wait(
    runtime: nvshmemrs_runtime_t,
    signal: *mut u64,
    cmp: i32,
    value: u64,
    seen: *mut u64,
) -> i32 {
    guard::fetched_if(seen, runtime, move |rt| {
        let signal = rt.element::<u64>("signal", handle::addr(signal))?;
        let cmp = handle::cmp(cmp)?;
        if seen.is_null() {
            return rt.signal_await(signal, cmp, value);
        }
        let found = rt.signal_wait(signal, cmp, value)?;
        handle::write_optional(seen, found);
        Ok(())
    })
}

/// Reads this PE's copy of the signal at `signal`. The sender's puts before that value are visible on
/// return.
///
/// Local; never waits. OpenSHMEM 1.5 section 9.8.5 (`shmem_signal_fetch`).
/// Errors: NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_signal_fetch(
    runtime: nvshmemrs_runtime_t,
    signal: *const u64,
    value: *mut u64,
) -> i32 {
    guard::fetched(runtime, move |rt| {
        handle::check_out("value", value)?;
        let signal = rt.element::<u64>("signal", handle::addr(signal))?;
        handle::write("value", value, rt.signal_fetch(signal)?)
    })
}
