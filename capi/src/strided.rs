//! Strided remote memory access. A stride is the distance from the start of one block to the start of the next,
//! in elements; it may be negative. A pointer names the first block's first element.

use crate::guard;
use crate::handle;
use crate::types::*;
use nvshmem_core::Transfer;
use std::ffi::c_void;

/// Copies `count` elements of `element_bytes` bytes from local memory at `source`, `source_stride` elements apart, to
/// the symmetric address `dest` on PE `pe`, `dest_stride` elements apart. Elements in between stay as they
/// are. Strides may be negative; those of `dest` must keep its elements apart.
///
/// One-sided; may be queued on a stream. Returns when `source` may be reused; the data is visible on `pe` after
/// quiet, barrier or a signal. OpenSHMEM 1.5 section 9.5.3 (`shmem_iput`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_iput(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    dest_stride: isize,
    source_stride: isize,
    element_bytes: usize,
    count: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let transfer = Transfer::new(dest_stride, source_stride, element_bytes, 1, count)?;
        let dest = handle::strided_symmetric(rt, "dest", dest, transfer.dest())?;
        let source = handle::strided_source(rt, source, transfer.source())?;
        rt.put_blocks(dest, source, &transfer, pe)
    })
}

/// Copies `count` elements of `element_bytes` bytes from the symmetric address `source` on PE `pe`, `source_stride`
/// elements apart, to local memory at `dest`, `dest_stride` elements apart. Elements in between stay as they
/// are. Strides may be negative; those of `dest` must keep its elements apart.
///
/// One-sided; may be queued on a stream. Returns when the data is in `dest`. OpenSHMEM 1.5 section 9.5.6
/// (`shmem_iget`).
/// Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_iget(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    dest_stride: isize,
    source_stride: isize,
    element_bytes: usize,
    count: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let transfer = Transfer::new(dest_stride, source_stride, element_bytes, 1, count)?;
        let source = handle::strided_symmetric(rt, "source", source, transfer.source())?;
        let dest = handle::strided_dest(rt, dest, transfer.dest())?;
        rt.get_blocks(dest, source, &transfer, pe)
    })
}

/// As `nvshmemrs_iput` for `block_count` blocks of `block_elements` elements; strides are from the start of one block
/// to the start of the next.
///
/// One-sided; may be queued on a stream. Completion as `nvshmemrs_iput`. OpenSHMEM 1.6 (`shmem_ibput`).
/// Errors: as `nvshmemrs_iput`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_ibput(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    dest_stride: isize,
    source_stride: isize,
    element_bytes: usize,
    block_elements: usize,
    block_count: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let transfer = Transfer::new(
            dest_stride,
            source_stride,
            element_bytes,
            block_elements,
            block_count,
        )?;
        let dest = handle::strided_symmetric(rt, "dest", dest, transfer.dest())?;
        let source = handle::strided_source(rt, source, transfer.source())?;
        rt.put_blocks(dest, source, &transfer, pe)
    })
}

/// As `nvshmemrs_iget` for `block_count` blocks of `block_elements` elements; strides are from the start of one block
/// to the start of the next.
///
/// One-sided; may be queued on a stream. Completion as `nvshmemrs_iget`. OpenSHMEM 1.6 (`shmem_ibget`).
/// Errors: as `nvshmemrs_iget`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_ibget(
    runtime: nvshmemrs_runtime_t,
    dest: *mut c_void,
    source: *const c_void,
    dest_stride: isize,
    source_stride: isize,
    element_bytes: usize,
    block_elements: usize,
    block_count: usize,
    pe: i32,
) -> i32 {
    guard::queued(runtime, move |rt| {
        let transfer = Transfer::new(
            dest_stride,
            source_stride,
            element_bytes,
            block_elements,
            block_count,
        )?;
        let source = handle::strided_symmetric(rt, "source", source, transfer.source())?;
        let dest = handle::strided_dest(rt, dest, transfer.dest())?;
        rt.get_blocks(dest, source, &transfer, pe)
    })
}
