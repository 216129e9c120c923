//! Handles for streams that the program may destroy without a notice: a stream keeps its handle as long as the stream exists.

use crate::guard::lock;
use crate::handle::{self, Object};
use crate::types::nvshmemrs_runtime_t;
use nvshmem_core::{CudaStreamRef, Error, Result, Runtime};
use std::sync::{Arc, Mutex};

/// The most streams with handles. Beyond that, the stream whose handle was not asked for the longest loses it.
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

/// The most recently used stream is the last.
static KNOWN: Mutex<Vec<KnownStream>> = Mutex::new(Vec::new());

/// The handle of a stream.
pub(crate) fn handle_of(
    runtime: nvshmemrs_runtime_t,
    rt: &Runtime,
    stream: CudaStreamRef,
) -> Result<u64> {
    // Before the lock: in a forked child, a thread of the parent may hold the lock for ever, and the child gets an error here.
    let id = rt.cuda_stream_id(stream)?;
    let mut known = lock(&KNOWN);
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
    unused.extend(known.extract_if(.., |one| !handle::is_joined(one.runtime)));
    if known.len() >= MOST {
        unused.push(known.remove(0));
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
        // Finalize may have ended the handle.
        let _ = handle::remove_stream(stream.handle);
    }
    made
}

/// An error for a handle of this module, which the program does not free.
pub(crate) fn check_not_known(stream: u64) -> Result<()> {
    match lock(&KNOWN).iter().any(|one| one.handle == stream) {
        false => Ok(()),
        true => Err(Error::invalid(
            "stream",
            "a handle of `stream_of_cuda`, which is not freed",
            "a handle of `stream_new` or `stream_from_cuda`",
        )),
    }
}
