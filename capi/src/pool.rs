//! Symmetric memory for the GPU memory pools of other libraries.
//!
//! A collective call reserves the memory once. Allocations of the pools come from that reserve without communication, so they
//! never wait for other PEs. All PEs get the same symmetric addresses if their pools request the same sizes in the same order.

use crate::guard::{self, lock};
use crate::handle;
use crate::types::nvshmemrs_runtime_t;
use nvshmem_core::{Error, Event, Mapping, Request, Result};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// The alignment that pools expect of GPU memory.
const ALIGNMENT: usize = 512;

/// The result after an error.
const NOTHING: *mut c_void = std::ptr::null_mut();

/// A reserve: symmetric memory of one runtime.
struct Reserve {
    runtime: nvshmemrs_runtime_t,
    begin: u64,
    bytes: u64,
    /// The free ranges: length by address. Adjacent ranges are merged.
    gaps: BTreeMap<u64, u64>,
    /// Freed ranges that their stream may still use: address, length, and the event behind that work.
    in_use: Vec<(u64, u64, Event)>,
}

impl Reserve {
    fn holds(&self, address: u64) -> bool {
        address >= self.begin && address - self.begin < self.bytes
    }

    /// Takes the first free range that is large enough. The choice does not depend on the progress of streams, so it is the same
    /// on all PEs.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let (&address, &length) = self.gaps.iter().find(|(_, length)| **length >= bytes)?;
        self.gaps.remove(&address);
        if length > bytes {
            self.gaps.insert(address + bytes, length - bytes);
        }
        Some(address)
    }

    fn put_back(&mut self, mut address: u64, mut bytes: u64) {
        if let Some((&before, &length)) = self.gaps.range(..address).next_back()
            && before + length == address
        {
            self.gaps.remove(&before);
            address = before;
            bytes += length;
        }
        if let Some(length) = self.gaps.remove(&(address + bytes)) {
            bytes += length;
        }
        self.gaps.insert(address, bytes);
    }

    /// The events after which no stream uses this memory.
    fn marks(&mut self, address: u64, bytes: u64) -> Vec<Event> {
        let overlap = |other: u64, length: u64| other < address + bytes && address < other + length;
        let marks = self.in_use.iter();
        marks
            .filter(|(other, length, _)| overlap(*other, *length))
            .map(|(_, _, mark)| mark.clone())
            .collect()
    }

    /// Forgets events that have been reached.
    fn forget(&mut self) {
        self.in_use
            .retain(|(_, _, mark)| !mark.query().unwrap_or(false));
    }
}

/// An allocation of a pool: its runtime, its length, and a reference that keeps it mapped after finalize, so that no other memory
/// gets its address before the pool frees it.
struct PoolMemory {
    runtime: nvshmemrs_runtime_t,
    bytes: u64,
    _kept: Mapping,
}

/// The reserves, and the pools' allocations by address.
struct Pools {
    reserves: Vec<Reserve>,
    lent: BTreeMap<u64, PoolMemory>,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools {
    reserves: Vec::new(),
    lent: BTreeMap::new(),
});

/// Reserves symmetric memory for pools of other libraries: see `nvshmemrs_pool_alloc`. It stays until
/// finalize. A further call reserves more.
///
/// Collective over TEAM_WORLD with the same `bytes`; includes a barrier. Returns when every PE has the memory.
/// OpenSHMEM does not have it.
/// Errors: as `nvshmemrs_malloc`; INVALID_VALUE for 0 bytes; NOT_SUPPORTED on host memory.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_pool_reserve(runtime: nvshmemrs_runtime_t, bytes: usize) -> i32 {
    guard::call(runtime, |rt| {
        if rt.device().is_none() {
            return Err(Error::NotSupported(
                "pools have memory of GPUs, and the symmetric heap is in host memory: set NVSHMEMRS_MEMORY=device".into(),
            ));
        }
        let made = rt.malloc(Request::aligned(ALIGNMENT, bytes))?;
        let address = made.ok_or_else(|| Error::invalid("bytes", 0, "at least 1"))?;
        let length = bytes as u64;
        forget_ended();
        lock(&POOLS).reserves.push(Reserve {
            runtime,
            begin: address,
            bytes: length,
            gaps: BTreeMap::from([(address, length)]),
            in_use: Vec::new(),
        });
        Ok(())
    })
}

/// Removes the reserves of runtimes that have ended.
fn forget_ended() {
    let live = |reserve: &Reserve| handle::with_runtime(reserve.runtime, |_| Ok(())).is_ok();
    let ended: Vec<Reserve> = {
        let mut pools = lock(&POOLS);
        let (kept, ended) = pools.reserves.drain(..).partition(live);
        pools.reserves = kept;
        ended
    };
    // Dropped without the lock: an event may hold the last reference to a heap's mapping.
    drop(ended);
}

/// Symmetric memory of GPU `device`, in the form in which torch's CUDAPluggableAllocator asks for it: a
/// `torch.cuda.MemPool` of this function and `nvshmemrs_pool_free` has its tensors on the symmetric
/// heap. The memory is part of the reserve of `nvshmemrs_pool_reserve`. The runtime is the one whose
/// heap is on that GPU. `cuda_stream` is ignored. NULL after an error, which `nvshmemrs_last_error` has:
/// no heap is on that GPU, or the reserve has no room for so many bytes.
///
/// Local; every PE must allocate and free the same blocks in the same order, else they do not have the
/// same symmetric addresses. It waits only for the stream on which reused memory was freed. OpenSHMEM
/// does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_pool_alloc(
    bytes: usize,
    device: i32,
    cuda_stream: *mut c_void,
) -> *mut c_void {
    guard::plain(NOTHING, || lend(bytes, device, cuda_stream))
}

/// Returns NULL after an error, which becomes the last error.
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
    if bytes == 0 {
        return Ok(None);
    }
    let length = (bytes as u64).next_multiple_of(ALIGNMENT as u64);
    handle::with_runtime(runtime, |rt| {
        let (address, marks) = cut(runtime, length)?;
        for mark in marks {
            if let Err(error) = mark.synchronize() {
                give_room(runtime, address, length);
                return Err(error);
            }
        }
        let lent = PoolMemory {
            runtime,
            bytes: length,
            _kept: rt.mapping(),
        };
        lock(&POOLS).lent.insert(address, lent);
        Ok(Some(address))
    })
}

/// Takes memory from the reserves; returns also the events that must be reached before its use.
fn cut(runtime: nvshmemrs_runtime_t, bytes: u64) -> Result<(u64, Vec<Event>)> {
    let mut pools = lock(&POOLS);
    let (mut reserved, mut largest) = (0, 0);
    for reserve in &mut pools.reserves {
        if reserve.runtime == runtime {
            if let Some(address) = reserve.take(bytes) {
                let marks = reserve.marks(address, bytes);
                return Ok((address, marks));
            }
            reserved += reserve.bytes;
            largest = largest.max(reserve.gaps.values().copied().max().unwrap_or(0));
        }
    }
    Err(Error::invalid(
        "bytes",
        bytes,
        format!(
            "at most {largest}, the largest gap in the {reserved} bytes reserved for pools: call `pool_reserve()` on all PEs for more"
        ),
    ))
}

fn give_room(runtime: nvshmemrs_runtime_t, address: u64, bytes: u64) {
    let mut pools = lock(&POOLS);
    let mut reserves = pools.reserves.iter_mut();
    let inside = |reserve: &&mut Reserve| reserve.runtime == runtime && reserve.holds(address);
    if let Some(reserve) = reserves.find(inside) {
        reserve.put_back(address, bytes);
    }
}

/// Frees memory of `nvshmemrs_pool_alloc`. It is reused once the present work on `cuda_stream` is
/// complete. `bytes` and `device` are ignored. After finalize the last free unmaps the memory. NULL has
/// no effect.
///
/// Local; never waits, so any thread may call it, and a garbage collector. OpenSHMEM does not have it.
/// Errors: BAD_FREE for an address that no pool has; CUDA.
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
    let lent = lock(&POOLS).lent.remove(&address);
    let lent = lent.ok_or(Error::BadFree {
        argument: "ptr",
        address,
        why: "it is no memory that a pool has",
    })?;
    let marked = handle::with_runtime(lent.runtime, |rt| {
        let stream = rt.stream_from_cuda(handle::cuda_stream(cuda_stream))?;
        let mark = rt.event()?;
        mark.record(&stream)?;
        Ok(mark)
    });
    let mark = match marked {
        // After finalize there is no reserve to return it to.
        Err(Error::NotInitialized(_)) => {
            forget_ended();
            return Ok(());
        }
        Err(error) => {
            // The block stays allocated, and the pool may free it again.
            lock(&POOLS).lent.insert(address, lent);
            return Err(error);
        }
        Ok(mark) => mark,
    };
    let mut pools = lock(&POOLS);
    let mut reserves = pools.reserves.iter_mut();
    let inside = |reserve: &&mut Reserve| reserve.runtime == lent.runtime && reserve.holds(address);
    if let Some(reserve) = reserves.find(inside) {
        reserve.forget();
        reserve.in_use.push((address, lent.bytes, mark));
        reserve.put_back(address, lent.bytes);
    }
    Ok(())
}
