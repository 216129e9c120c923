//! Memory of the heap for other libraries' pools of GPU memory.

use crate::guard::{self, lock};
use crate::handle;
use crate::types::nvshmemrs_runtime_t;
use nvshmem_core::{Error, Mapping, Request, Result};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// How pools expect memory of a GPU to be aligned, which cut it into blocks.
const ALIGNMENT: usize = 512;

/// What an error gives.
const NOTHING: *mut c_void = std::ptr::null_mut();

/// What a pool has: of which runtime it is, and what keeps it mapped after finalize, so that no other memory gets its address before
/// the pool has given it back.
struct Lent {
    runtime: nvshmemrs_runtime_t,
    _kept: Mapping,
}

/// What pools have, by address.
static LENT: Mutex<BTreeMap<u64, Lent>> = Mutex::new(BTreeMap::new());

/// Allocates symmetric memory of GPU `device`, in the form in which torch's CUDAPluggableAllocator asks for
/// it: a `torch.cuda.MemPool` of this function and `nvshmemrs_pool_free` gives tensors on the symmetric
/// heap. The runtime is the one whose heap is on that GPU. `cuda_stream` does not matter. NULL after an
/// error, which `nvshmemrs_last_error` has: no heap is on that GPU, or as for `nvshmemrs_malloc`.
///
/// Collective over TEAM_WORLD with the same `bytes`; includes a barrier. So every PE must ask its pool for
/// the same blocks in the same order. Returns when every PE has the memory. OpenSHMEM does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_pool_alloc(
    bytes: usize,
    device: i32,
    cuda_stream: *mut c_void,
) -> *mut c_void {
    guard::plain(NOTHING, || lend(bytes, device, cuda_stream))
}

/// NULL after an error, which is remembered.
fn lend(bytes: usize, device: i32, _: *mut c_void) -> *mut c_void {
    let mut made = None;
    guard::status(|| {
        made = allocate(bytes, device)?;
        Ok(())
    });
    handle::address(made)
}

fn allocate(bytes: usize, device: i32) -> Result<Option<u64>> {
    let runtime = handle::runtime_on(device)?;
    handle::with_runtime(runtime, |rt| {
        let made = rt.malloc(Request::aligned(ALIGNMENT, bytes))?;
        if let Some(address) = made {
            let kept = rt.mapping();
            let lent = Lent {
                runtime,
                _kept: kept,
            };
            lock(&LENT).insert(address, lent);
        }
        Ok(made)
    })
}

/// Gives back what `nvshmemrs_pool_alloc` gave, once what is on `cuda_stream` has run; the next collective
/// allocation frees what all PEs have given back. `bytes` and `device` do not matter. After finalize the
/// memory goes with the last that is given back. NULL does nothing.
///
/// Local; waits for the stream. OpenSHMEM does not have it.
/// Errors: BAD_FREE for an address that no pool has; those of `nvshmemrs_stream_synchronize`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_pool_free(
    ptr: *mut c_void,
    bytes: usize,
    device: i32,
    cuda_stream: *mut c_void,
) -> i32 {
    guard::status(|| give_back(handle::addr(ptr), (bytes, device), cuda_stream))
}

fn give_back(address: u64, _: (usize, i32), cuda_stream: *mut c_void) -> Result<()> {
    if address == 0 {
        return Ok(());
    }
    let lent = lock(&LENT).remove(&address);
    let lent = lent.ok_or(Error::BadFree {
        argument: "ptr",
        address,
        why: "it is no memory that a pool has",
    })?;
    let released = handle::with_runtime(lent.runtime, |rt| {
        let stream = rt.stream_from_cuda(handle::cuda_stream(cuda_stream))?;
        stream.synchronize()?;
        rt.release(address)
    });
    match released {
        // After finalize nothing needs to be waited for.
        Err(Error::NotInitialized(_)) => Ok(()),
        released => released,
    }
}
