//! Handles for streams that the program may destroy without a notice: a stream keeps its handle as long as the stream exists.

use crate::guard::lock;
use crate::handle::{self, Object};
use crate::types::nvshmemrs_runtime_t;
use nvshmem_core::{CudaStreamRef, Error, Result, Runtime, fork_generation};
use std::sync::{Arc, Mutex, MutexGuard};

/// The most streams of a runtime with handles. Beyond that, the stream whose handle was requested least recently loses it.
const MOST: usize = 256;

/// A stream that has a handle.
struct KnownStream {
    runtime: nvshmemrs_runtime_t,
    /// The `cudaStream_t`. After the stream was destroyed, another stream may have the same.
    raw: u64,
    /// The driver's id, which no other stream ever has. `None`: the stream has been captured at each call so far.
    id: Option<u64>,
    handle: u64,
}

/// The streams of the process; the most recently used stream is the last. A forked child uses another list than its parent, because a
/// thread of the parent may hold the lock for ever.
static KNOWN: [Mutex<Vec<KnownStream>>; 8] = [const { Mutex::new(Vec::new()) }; 8];

fn known_streams() -> MutexGuard<'static, Vec<KnownStream>> {
    lock(&KNOWN[fork_generation() as usize % KNOWN.len()])
}

/// The handle of a stream.
pub(crate) fn handle_of(
    runtime: nvshmemrs_runtime_t,
    rt: &Runtime,
    stream: CudaStreamRef,
) -> Result<u64> {
    let id = rt.cuda_stream_id(stream)?;
    let mut known = known_streams();
    let mut unused = Vec::new();
    let same = |one: &KnownStream| one.runtime == runtime && one.raw == stream.raw();
    if let Some(place) = known.iter().rposition(same) {
        let mut found = known.remove(place);
        // A captured call depends on no state of its stream, so any handle of a stream with this number will do.
        if id.is_none() || found.id.is_none() || found.id == id {
            let handle = found.handle;
            found.id = id.or(found.id);
            known.push(found);
            return Ok(handle);
        }
        unused.push(found);
    }
    // Finalize has ended the handles of its runtime.
    known.retain(|one| handle::stream(one.handle).is_ok());
    let of_runtime = |one: &&KnownStream| one.runtime == runtime;
    if known.iter().filter(of_runtime).count() >= MOST
        && let Some(oldest) = known.iter().position(|one| of_runtime(&one))
    {
        unused.push(known.remove(oldest));
    }
    let made = rt.stream_of_cuda(stream);
    let made = made.and_then(|made| handle::insert(Object::Stream(Arc::new(made))));
    if let Ok(handle) = made {
        known.push(KnownStream {
            runtime,
            raw: stream.raw(),
            id,
            handle,
        });
    }
    drop(known);
    for stream in unused {
        // Finalize may have ended the handle meanwhile.
        let _ = handle::remove_stream(stream.handle);
    }
    made
}

/// An error for a handle of this module, which the program does not free.
pub(crate) fn check_not_known(stream: u64) -> Result<()> {
    match known_streams().iter().any(|one| one.handle == stream) {
        false => Ok(()),
        true => Err(Error::invalid(
            "stream",
            "a handle of `stream_of_cuda`, which is not freed",
            "a handle of `stream_new` or `stream_from_cuda`",
        )),
    }
}
