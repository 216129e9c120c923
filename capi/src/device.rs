//! What kernels get, so that they communicate themselves.

use crate::guard;
use crate::handle;
use crate::types::*;
use std::ffi::c_void;

/// The job as kernels of this PE see it: pass it to them by value, and they pass it to the functions of
/// `nvshmemrs_device.cuh`. It serves the kernels of this PE only, until finalize. Teams that are made or
/// destroyed later are seen through it, too. On device memory its addresses are those of this PE's GPU; on
/// host memory they are those of this process, for the same functions compiled for the CPU.
///
/// Kernels reach PEs of their own host only: a put to another one ends the kernel, and
/// `nvshmemrs_runtime_check` names the PE.
///
/// Local. NVSHMEM: the state that `nvshmemx_cumodule_init` writes to a module.
/// Errors: NOT_SUPPORTED if kernels cannot use the heap: the job is checked.
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

/// The address, for kernels of this PE, of a copy of what `nvshmemrs_device_state` gives: for frontends
/// whose kernels take one pointer. It is memory of the GPU if the heap is, and must not be written.
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
