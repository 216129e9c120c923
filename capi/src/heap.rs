//! The symmetric heap.

use crate::guard;
use crate::handle::{self, Object};
use crate::types::*;
use nvshmem_core::Request;
use std::ffi::c_void;

/// Allocates `bytes` bytes on every PE's symmetric heap, aligned to 64. The contents are undefined; the
/// result for 0 bytes is NULL.
///
/// Collective over TEAM_WORLD with the same `bytes`; includes a barrier. Returns when every PE has the
/// memory. OpenSHMEM 1.5 section 9.3.1 (`shmem_malloc`).
/// Errors: MISMATCH naming the PE whose size differs; OUT_OF_MEMORY with requested, free, largest block and
/// the variable to set. Every member returns the error and nothing is allocated.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_malloc(
    runtime: nvshmemrs_runtime_t,
    bytes: usize,
    ptr: *mut *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| {
        let request = handle::check_out("ptr", ptr).map(|()| Request::bytes(bytes));
        handle::write("ptr", ptr, handle::address(rt.malloc(request)?))
    })
}

/// As `nvshmemrs_malloc` for `count` elements of `bytes` bytes each, and sets every byte to 0.
///
/// Collective over TEAM_WORLD with the same `count` and `bytes`; includes a barrier. Returns when every PE
/// has the memory. OpenSHMEM 1.5 section 9.3.3 (`shmem_calloc`).
/// Errors: as `nvshmemrs_malloc`; INVALID_VALUE if the product overflows.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_calloc(
    runtime: nvshmemrs_runtime_t,
    count: usize,
    bytes: usize,
    ptr: *mut *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| {
        let request = handle::check_out("ptr", ptr).and_then(|()| Request::zeroed(count, bytes));
        handle::write("ptr", ptr, handle::address(rt.malloc(request)?))
    })
}

/// As `nvshmemrs_malloc`, aligned to `alignment`, a power of two that is a multiple of `sizeof(void *)`
/// and not above the size of the heap (NVSHMEM_SYMMETRIC_SIZE). Every PE's copy is aligned so, also at
/// the addresses that `nvshmemrs_ptr` returns.
///
/// Collective over TEAM_WORLD with the same arguments; includes a barrier. Returns when every PE has the
/// memory. OpenSHMEM 1.5 section 9.3.1 (`shmem_align`).
/// Errors: as `nvshmemrs_malloc`; INVALID_VALUE for another alignment.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_align(
    runtime: nvshmemrs_runtime_t,
    alignment: usize,
    bytes: usize,
    ptr: *mut *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| {
        let request =
            handle::check_out("ptr", ptr).and_then(|()| Request::aligned(alignment, bytes));
        handle::write("ptr", ptr, handle::address(rt.malloc(request)?))
    })
}

/// Frees an allocation on every PE. NULL has no effect if every PE passes NULL.
///
/// Collective over TEAM_WORLD with the same symmetric address; a barrier comes first. Returns when every PE
/// has called it. OpenSHMEM 1.5 section 9.3.1 (`shmem_free`).
/// Errors: BAD_FREE for an address that does not start a live allocation, MISMATCH.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_free(runtime: nvshmemrs_runtime_t, ptr: *mut c_void) -> i32 {
    guard::call(runtime, |rt| rt.free(handle::addr(ptr)))
}

/// Resizes an allocation to `bytes` bytes and returns its address, which may change. Each PE's copy
/// keeps its contents up to the smaller size. NULL allocates; 0 bytes free, and the result is NULL.
///
/// Collective over TEAM_WORLD with the same symmetric address and `bytes`; includes a barrier. Returns
/// when every PE has the memory. OpenSHMEM 1.5 section 9.3.1 (`shmem_realloc`).
/// Errors: as `nvshmemrs_malloc` and `nvshmemrs_free`; the allocation is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_realloc(
    runtime: nvshmemrs_runtime_t,
    ptr: *mut c_void,
    bytes: usize,
    new_ptr: *mut *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| {
        let address = handle::check_out("new_ptr", new_ptr).map(|()| handle::addr(ptr));
        let new = rt.realloc(address, bytes)?;
        handle::write("new_ptr", new_ptr, handle::address(new))
    })
}

/// Makes `bytes` bytes of this program's memory at `buffer` symmetric, in place: each PE registers a
/// buffer of the same size. Returns the symmetric address. `buffer` stays valid for the same memory and
/// is a symmetric address, too. The buffer must be private anonymous memory of whole pages (mmap,
/// posix_memalign), and must not be unmapped, mapped anew or freed before it is unregistered. If the
/// heap is in device memory, it must be whole mappings of memory that cuMemCreate made on this PE's GPU,
/// with POSIX descriptors as handle type.
///
/// Other threads of this process may load and store by the buffer's own address during the call; a
/// thread that touches the buffer during the move waits. That needs userfaultfd of Linux 5.14: without
/// it the call is NOT_SUPPORTED while the process has threads besides the caller and the library's own.
/// Writes of devices (O_DIRECT, RDMA) and other processes to the pages during the call may be lost, a
/// child that is forked during it may see zeroes in the buffer, and a system call of another thread on
/// the buffer may fail with EFAULT. On device memory no pages are moved.
///
/// Collective over TEAM_WORLD with the same `bytes` and `preferred`; includes a barrier. `preferred` may
/// be NULL; otherwise it is an unused address, the same on every PE, which becomes the symmetric
/// address. Returns when every PE has registered its buffer. NVSHMEM
/// `nvshmemx_buffer_register_symmetric_at_preferred_address`.
/// Errors, on every member: INVALID_VALUE, MISMATCH, PEER_ARGUMENT, NOT_SUPPORTED, SYSTEM; the buffer is
/// unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_buffer_register(
    runtime: nvshmemrs_runtime_t,
    buffer: *mut c_void,
    bytes: usize,
    preferred: *mut c_void,
    symmetric: *mut *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| {
        let registration = handle::check_out("symmetric", symmetric)
            .map(|()| handle::registration(buffer, bytes, preferred));
        let address = rt.buffer_register(registration)?;
        handle::write("symmetric", symmetric, handle::address(Some(address)))
    })
}

/// Makes a registered buffer private memory again; it keeps its contents. `symmetric` is the address
/// that `nvshmemrs_buffer_register` returned, or the buffer's own address. Other threads may use the
/// buffer's own address meanwhile, as with `nvshmemrs_buffer_register`; the symmetric address becomes
/// invalid.
///
/// Collective over TEAM_WORLD with the same symmetric address; a barrier comes first. Returns when every PE
/// has called it. NVSHMEM `nvshmemx_buffer_unregister_symmetric`.
/// Errors: BAD_FREE, NOT_SYMMETRIC, MISMATCH, NOT_SUPPORTED (the buffer stays registered), SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_buffer_unregister(
    runtime: nvshmemrs_runtime_t,
    symmetric: *mut c_void,
) -> i32 {
    guard::call(runtime, |rt| rt.buffer_unregister(handle::addr(symmetric)))
}

/// Makes the global and static variables of the executable symmetric, in place. The address of a
/// variable is then its symmetric address on every PE, even if PEs have loaded the executable at
/// different addresses. Finalize makes the variables private again, with their contents. All of them are
/// one allocation: an access that leaves its variable is an error only if it leaves them all.
///
/// No other thread of the program may write to a variable during the call, nor during `nvshmemrs_finalize`. A
/// child that is forked later gets a private copy. Thread-local variables, and those of shared libraries, are not symmetric.
///
/// Collective over TEAM_WORLD; includes a barrier. Returns when the variables of every PE are symmetric.
/// OpenSHMEM 1.5, section 3 (Memory Model).
/// Errors, on every member, after which an operation on a variable fails with the same reason: MISMATCH (the
/// PEs run different executables), NOT_SUPPORTED (the heap is in device memory, the variables are symmetric
/// already, or they are larger than the heap), INVALID_VALUE (a PE is a thread of a process whose variables
/// another PE has), SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_static_data_register(runtime: nvshmemrs_runtime_t) -> i32 {
    guard::call(runtime, |rt| rt.static_data_register())
}

/// Releases an allocation on this PE. The next collective allocation frees the allocations that all PEs
/// have released before they call it. Finalizers and garbage collectors call this instead of
/// `nvshmemrs_free`. NULL has no effect.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: BAD_FREE for an address that does not start a live allocation, or one already released.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_release(runtime: nvshmemrs_runtime_t, ptr: *mut c_void) -> i32 {
    guard::local(runtime, |rt| rt.release(handle::addr(ptr)))
}

/// How full the symmetric heap is.
///
/// Local. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_heap_stats(
    runtime: nvshmemrs_runtime_t,
    stats: *mut nvshmemrs_heap_stats_t,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::write("stats", stats, handle::stats_to_c(&rt.heap_stats()))
    })
}

/// The objects that this PE has created and not freed (memory, registered buffers, teams, streams,
/// events, kept heaps) with their call sites, as finalize writes them to standard error. `text` has room
/// for `bytes` bytes; a longer text is truncated; it always ends with a NUL. `length` is the length of
/// the whole text, without the NUL.
///
/// Local. OpenSHMEM does not have it.
/// Errors: NOT_SUPPORTED unless `NVSHMEMRS_TRACK=1` was set at init.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_unfreed(
    runtime: nvshmemrs_runtime_t,
    text: *mut c_void,
    bytes: usize,
    length: *mut usize,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("length", length)?;
        handle::check_buffer(rt, "text", text, bytes)?;
        let unfreed = rt.unfreed_text()?;
        handle::write_text(rt, "text", text, bytes, &unfreed)?;
        handle::write("length", length, unfreed.len())
    })
}

/// The address at which this PE can load and store PE `pe`'s copy of the symmetric address `ptr`; NULL if
/// it cannot.
///
/// Local. OpenSHMEM 1.5 section 9.1.8 (`shmem_ptr`).
/// Errors: PE_RANGE, NOT_SYMMETRIC.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_ptr(
    runtime: nvshmemrs_runtime_t,
    ptr: *const c_void,
    pe: i32,
    peer_ptr: *mut *mut c_void,
) -> i32 {
    guard::local(runtime, |rt| {
        handle::write(
            "peer_ptr",
            peer_ptr,
            handle::address(rt.ptr(handle::addr(ptr), pe)?),
        )
    })
}

/// Whether `bytes` bytes at `ptr` lie within one live symmetric allocation of this PE: 1 or 0.
///
/// Local. OpenSHMEM 1.5 section 9.1.7 (`shmem_addr_accessible`).
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL in place of `symmetric`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_is_symmetric(
    runtime: nvshmemrs_runtime_t,
    ptr: *const c_void,
    bytes: usize,
    symmetric: *mut i32,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("symmetric", symmetric)?;
        let inside = rt.symmetric("ptr", handle::addr(ptr), bytes).is_ok();
        handle::write("symmetric", symmetric, i32::from(inside))
    })
}

/// Where `ptr` lives: one of `nvshmemrs_memory`; an address outside the symmetric heap is an error.
///
/// Local. OpenSHMEM does not have it.
/// Errors: NOT_SYMMETRIC.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_memory_kind(
    runtime: nvshmemrs_runtime_t,
    ptr: *const c_void,
    kind: *mut i32,
) -> i32 {
    guard::local(runtime, |rt| {
        let found = rt.memory_kind(handle::addr(ptr))?;
        handle::write("kind", kind, handle::memory_to_c(found))
    })
}

/// Keeps the memory of this process's heap mapping valid after finalize, until `nvshmemrs_heap_drop`.
/// For languages whose arrays may outlive the runtime: loads and stores through them then stay harmless;
/// operations return NOT_INITIALIZED.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_heap_keep(
    runtime: nvshmemrs_runtime_t,
    mapping: *mut nvshmemrs_mapping_t,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("mapping", mapping)?;
        handle::write(
            "mapping",
            mapping,
            handle::insert(Object::Mapping {
                _kept: rt.mapping(),
            })?,
        )
    })
}

/// Drops a mapping that `nvshmemrs_heap_keep` kept. The last drop, after finalize, frees the memory. 0
/// has no effect.
///
/// Local; needs no runtime. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_heap_drop(mapping: nvshmemrs_mapping_t) -> i32 {
    guard::status(|| handle::remove_mapping(mapping))
}
