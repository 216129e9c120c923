//! Streams: ordered queues of operations, and events that time them and order one stream after another.
//!
//! A stream's handle may be passed in place of a runtime's to every data operation: the call is queued. An error
//! does not stop the stream; the first one comes back from `nvshmemrs_stream_synchronize`.

use crate::cuda_streams;
use crate::guard;
use crate::handle::{self, Object};
use crate::types::*;
use std::ffi::c_void;
use std::sync::Arc;

/// Creates a stream: an ordered queue with a thread of its own. Pass its handle in place of the
/// runtime's to any data operation (RMA, atomics, signals, waits and tests, fence, quiet, collectives),
/// and the call is queued: it returns at once and runs after all earlier calls of the stream. Its
/// buffers must stay valid, and must not be used, until it has run. A call with an output (g, a fetching
/// atomic, a test) waits until the stream has run it.
///
/// A team has one collective at a time, and its members must call them in the same order: synchronize
/// the stream between queued collectives of a team and direct collectives of the same team (malloc,
/// free, finalize and splits are direct).
///
/// If the heap is in device memory, it is a stream of the PE's GPU, which is not ordered with the
/// default stream. Calls check their arguments at once, enqueue their work on it and return. While it is
/// captured into a graph they become part of the graph, and buffers must stay valid as long as it is
/// launched; calls with an output, and calls that wait for the stream, are an error then
/// (NOT_SUPPORTED).
///
/// Local. Free it with `nvshmemrs_stream_free`; finalize ends the remaining streams, after their queued
/// calls. OpenSHMEM does not have it.
/// Errors: SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_new(
    runtime: nvshmemrs_runtime_t,
    stream: *mut nvshmemrs_stream_t,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("stream", stream)?;
        let made = handle::insert(Object::Stream(Arc::new(rt.stream()?)))?;
        handle::write("stream", stream, made)
    })
}

/// A handle for a stream of the program's GPU code, on which calls can be enqueued: `cuda_stream` is a
/// `cudaStream_t` of this PE's GPU and its primary context, as streams of the CUDA runtime, torch and
/// CuPy are; 0 is the default stream.
///
/// Local. The `cudaStream_t` must exist until the handle is freed with `nvshmemrs_stream_free`, which
/// waits for its work, or released with `nvshmemrs_stream_release`. All launches of graphs with calls
/// must have completed before finalize. OpenSHMEM does not have it.
/// Errors: NOT_SUPPORTED on host memory, INVALID_VALUE for a stream of another GPU or context, CUDA.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_from_cuda(
    runtime: nvshmemrs_runtime_t,
    cuda_stream: *mut c_void,
    stream: *mut nvshmemrs_stream_t,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("stream", stream)?;
        let made = rt.stream_from_cuda(handle::cuda_stream(cuda_stream))?;
        handle::write(
            "stream",
            stream,
            handle::insert(Object::Stream(Arc::new(made)))?,
        )
    })
}

/// As `nvshmemrs_stream_from_cuda`, for a program that may destroy its stream at any time when no call
/// with it is in progress. Calls with the same stream return the same handle, which belongs to the library
/// and is not freed. The handle of a destroyed stream must not be used; a new stream with the same
/// `cudaStream_t` has another handle. So a program calls this function before each use of the stream.
///
/// Local. Finalize waits for all work of the GPU's primary context, because a destroyed stream cannot be
/// queried; no stream of the context may be captured then. Up to 256 streams of a runtime have handles;
/// after that, the stream whose handle was requested least recently loses it. OpenSHMEM does not have it.
/// Errors: as `nvshmemrs_stream_from_cuda`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_of_cuda(
    runtime: nvshmemrs_runtime_t,
    cuda_stream: *mut c_void,
    stream: *mut nvshmemrs_stream_t,
) -> i32 {
    guard::call(runtime, |rt| {
        handle::check_out("stream", stream)?;
        let found = cuda_streams::handle_of(runtime, rt, handle::cuda_stream(cuda_stream))?;
        handle::write("stream", stream, found)
    })
}

/// The `cudaStream_t` of a stream, for the program's own GPU code. It must not be destroyed, and not be
/// used once the handle has been freed.
///
/// Local. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, NOT_SUPPORTED on host memory.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_cuda(
    stream: nvshmemrs_stream_t,
    cuda_stream: *mut *mut c_void,
) -> i32 {
    guard::status(|| {
        handle::check_out("cuda_stream", cuda_stream)?;
        let found = handle::stream(stream)?.cuda()?;
        handle::write("cuda_stream", cuda_stream, handle::address(Some(found)))
    })
}

/// Waits until all queued calls have run, and ends the stream; its handle is invalid afterwards, even
/// after an error. 0 has no effect.
///
/// Local; waits for the stream. OpenSHMEM does not have it.
/// Errors: as `nvshmemrs_stream_synchronize`.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_free(stream: nvshmemrs_stream_t) -> i32 {
    guard::status(|| match removed(stream)? {
        Some(stream) if stream.runtime().check_live().is_ok() => match Arc::try_unwrap(stream) {
            Ok(stream) => stream.close(),
            // Another thread is inside a call with the stream.
            Err(stream) => stream.synchronize().inspect_err(|_| stream.stop()),
        },
        // After finalize nothing can be queued any more.
        _ => Ok(()),
    })
}

/// Releases a stream without waiting for it: queued calls still run, and finalize waits for them. Its
/// handle is invalid afterwards. Destructors and finalizers call this instead of
/// `nvshmemrs_stream_free`, because queued calls may wait for other PEs. Errors of queued calls are
/// lost. 0 has no effect. If the stream is being captured, the end of its earlier work is unknown: then
/// the heap's GPU memory stays mapped until the process ends, unless the handle was created in the same
/// capture.
///
/// Local; never waits, except for room in a full stream of the GPU. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_release(stream: nvshmemrs_stream_t) -> i32 {
    guard::status(|| removed(stream).map(drop))
}

/// Removes a stream that the program may free.
fn removed(stream: nvshmemrs_stream_t) -> nvshmem_core::Result<Option<Arc<nvshmem_core::Stream>>> {
    cuda_streams::check_not_known(stream)?;
    handle::remove_stream(stream)
}

/// Waits until all earlier calls of the stream have run. Returns the first error since the last call,
/// and clears it.
///
/// Local; waits for the stream. NVSHMEM programs call `cudaStreamSynchronize`. OpenSHMEM does not have it.
/// Errors: those of the queued calls; TIMEOUT, INTERRUPTED, PE_DIED; BUSY on the stream's own thread.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_synchronize(stream: nvshmemrs_stream_t) -> i32 {
    guard::status(|| handle::stream(stream)?.synchronize())
}

/// Whether all earlier calls of the stream have run: 1 or 0.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_query(stream: nvshmemrs_stream_t, done: *mut i32) -> i32 {
    guard::status(|| {
        handle::check_out("done", done)?;
        handle::write("done", done, handle::stream(stream)?.query()?.into())
    })
}

/// Queues a function of the caller, which the stream calls with `user`.
///
/// Local; returns at once. The function may call nvshmemrs, except to wait for its own stream; on a stream
/// of the GPU it may call neither nvshmemrs nor CUDA. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, INVALID_VALUE, NOT_SUPPORTED while the stream is captured into a graph.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_call(
    stream: nvshmemrs_stream_t,
    function: nvshmemrs_host_function_t,
    user: *mut c_void,
) -> i32 {
    guard::status(|| {
        let work = handle::host_function(function, user)?;
        handle::stream(stream)?.call(work)
    })
}

/// Makes later calls on `stream` wait until the latest record of `event` has been reached. An event that
/// was not recorded has no effect.
///
/// Local; returns at once. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_stream_wait_event(
    stream: nvshmemrs_stream_t,
    event: nvshmemrs_event_t,
) -> i32 {
    guard::status(|| handle::stream(stream)?.wait(&handle::event("event", event)?))
}

/// Creates an event.
///
/// Local. Free it with `nvshmemrs_event_free`. OpenSHMEM does not have it.
/// Errors: NOT_INITIALIZED, BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_new(
    runtime: nvshmemrs_runtime_t,
    event: *mut nvshmemrs_event_t,
) -> i32 {
    guard::local_live(runtime, |rt| {
        handle::check_out("event", event)?;
        handle::write("event", event, handle::insert(Object::Event(rt.event()?))?)
    })
}

/// Frees an event. Queued records and waits are not affected. 0 has no effect.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_free(event: nvshmemrs_event_t) -> i32 {
    guard::status(|| handle::remove_event(event))
}

/// Marks the end of the calls queued on `stream` so far. A later record replaces an earlier one.
///
/// Local; returns at once. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_record(
    event: nvshmemrs_event_t,
    stream: nvshmemrs_stream_t,
) -> i32 {
    guard::status(|| handle::event("event", event)?.record(&*handle::stream(stream)?))
}

/// Whether the latest record of `event` has been reached: 1 or 0. An event that was not recorded counts as
/// reached.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, INVALID_VALUE for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_query(event: nvshmemrs_event_t, done: *mut i32) -> i32 {
    guard::status(|| {
        handle::check_out("done", done)?;
        handle::write("done", done, handle::event("event", event)?.query()?.into())
    })
}

/// Waits until the latest record of `event` has been reached.
///
/// Local; waits for the stream. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, TIMEOUT, INTERRUPTED, PE_DIED.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_synchronize(event: nvshmemrs_event_t) -> i32 {
    guard::status(|| handle::event("event", event)?.synchronize())
}

/// Milliseconds from `start` to `end`; both must have been recorded and reached.
///
/// Local; never waits. OpenSHMEM does not have it.
/// Errors: BAD_HANDLE, INVALID_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn nvshmemrs_event_elapsed(
    start: nvshmemrs_event_t,
    end: nvshmemrs_event_t,
    milliseconds: *mut f64,
) -> i32 {
    guard::status(|| {
        handle::check_out("milliseconds", milliseconds)?;
        let (start, end) = (handle::event("start", start)?, handle::event("end", end)?);
        let elapsed = start.elapsed(&end)?;
        handle::write("milliseconds", milliseconds, elapsed.as_secs_f64() * 1e3)
    })
}
