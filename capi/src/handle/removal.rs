//! The removal of objects from the table: runtimes when their PE finalizes or leaves, other objects when they are freed.

use super::{
    CONTEXT, EVENT, FREE, INTERRUPTS, JOB, KIND_SHIFT, MAPPING, Object, RUNTIME, STREAM, Slot,
    TABLE, changes, ended, exchange, find, find_runtime, not_found, with_runtime,
};
use crate::guard::lock;
use nvshmem_core::{Error, Result, Runtime, Stream};
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, Mutex};

fn remove(argument: &'static str, handle: u64, kind: u64) -> Result<Option<Object>> {
    if handle == 0 {
        return Ok(None);
    }
    let _changes = changes();
    let slot = removable(argument, handle, kind)?;
    slot.handle.store(FREE, Release);
    Ok(Some(exchange(slot, std::ptr::null_mut())))
}

/// The slot of an object that may be removed. Called under the lock.
fn removable(argument: &'static str, handle: u64, kind: u64) -> Result<&'static Slot> {
    let slot = find(handle)
        .filter(|slot| handle >> KIND_SHIFT == kind && !slot.ending.load(Relaxed))
        .ok_or_else(|| not_found(argument, handle, kind))?;
    if let Some(runtime) = find_runtime(handle).filter(|_| kind == RUNTIME) {
        // A forked child must not remove an object that its parent still uses.
        runtime.check_live()?;
        if nvshmem_core::in_interrupt_hook() {
            return Err(Error::InHook("`finalize` or `leave`"));
        }
        if nvshmem_core::on_stream() {
            return Err(Error::OnStream("`finalize` or `leave`"));
        }
    }
    Ok(slot)
}

/// Ends a runtime by `end`, then removes it from the table; `None` for handle 0. Until then a signal handler can interrupt it by
/// its handle.
pub(crate) fn end_runtime<T>(handle: u64, end: impl FnOnce(&Runtime) -> T) -> Result<Option<T>> {
    if handle == 0 {
        return Ok(None);
    }
    let slot = {
        let _changes = changes();
        let slot = removable("runtime", handle, RUNTIME)?;
        slot.ending.store(true, Relaxed);
        slot
    };
    let result = with_runtime(handle, |runtime| Ok(end(runtime)));
    let taken = {
        let _changes = changes();
        slot.ending.store(false, Relaxed);
        take_runtime(slot)
    };
    // Another thread may still be returning from a wait, or interrupt the runtime in a signal handler.
    match &*taken {
        Object::Runtime(runtime) if runtime.is_interrupted() || !INTERRUPTS.are_none() => {
            lock(&LEFT).push(taken);
        }
        _ => drop(taken),
    }
    result.map(Some)
}

/// Frees the slot of a live runtime. Threads inside calls hold references to the contents of the box.
fn take_runtime(slot: &Slot) -> Box<Object> {
    slot.handle.store(FREE, Release);
    slot.runtime.store(std::ptr::null_mut(), Relaxed);
    // SAFETY: rule 3: the slot of a live runtime holds a box, which is taken out here, under the lock.
    unsafe { Box::from_raw(slot.object.swap(std::ptr::null_mut(), AcqRel)) }
}

/// Runtimes that were left, or finalized while other threads waited. Another thread may still be returning from a call, so they
/// are dropped when the next runtime is created.
#[expect(
    clippy::vec_box,
    reason = "such a thread holds a reference to the contents of the box"
)]
static LEFT: Mutex<Vec<Box<Object>>> = Mutex::new(Vec::new());

/// Leaves the job of a runtime and invalidates its handle; the object is kept for threads inside calls with it.
pub(crate) fn leave(handle: u64) -> Result<()> {
    if handle == 0 {
        return Ok(());
    }
    let taken = {
        let _changes = changes();
        take_runtime(removable("runtime", handle, RUNTIME)?)
    };
    if let Object::Runtime(runtime) = &*taken {
        runtime.leave();
    }
    lock(&LEFT).push(taken);
    Ok(())
}

/// Drops the runtimes that were left: by the header, their threads have returned from their calls. Those of signal handlers may be in flight;
/// then a later runtime drops them.
pub(crate) fn forget_left() {
    // The question comes under the lock: a runtime that is in the list by then was hidden before the question.
    let mut left = lock(&LEFT);
    if !INTERRUPTS.are_none() {
        return;
    }
    let gone = std::mem::take(&mut *left);
    drop(left);
    // Dropped without the lock.
    drop(gone);
}

/// The handles of a runtime's streams, events and contexts.
pub(crate) fn streams_of(runtime: &Runtime) -> Vec<u64> {
    let _changes = changes();
    let owned = |slot: &Slot| {
        // SAFETY: rule 3, under the lock; a free slot holds NULL.
        match unsafe { slot.object.load(Acquire).as_ref() } {
            Some(Object::Stream(stream)) => stream.belongs_to(runtime),
            Some(Object::Event(event)) => event.belongs_to(runtime),
            Some(Object::Context(context)) => context.is_context_of(runtime),
            _ => false,
        }
    };
    let slots = TABLE.iter().filter(|slot| owned(slot));
    slots.map(|slot| slot.handle.load(Relaxed)).collect()
}

/// Drops streams, events and contexts whose runtime has ended, and with them its memory; with `wait`, after the streams' threads
/// have ended. Their handles can still be freed.
pub(crate) fn end_streams(handles: Vec<u64>, wait: bool) {
    let ended: Vec<Object> = {
        let _changes = changes();
        let slots = handles.into_iter().filter_map(find);
        slots.map(|slot| exchange(slot, ended())).collect()
    };
    // Without the lock, because closing a stream waits.
    for object in ended {
        if let (Object::Stream(stream), true) = (object, wait)
            && let Ok(stream) = Arc::try_unwrap(stream)
        {
            // Finalize has run the queued operations and reported their error.
            let _ = stream.close();
        }
    }
}

/// Removes a local job from the table; handle 0 has no effect.
pub(crate) fn remove_job(handle: u64) -> Result<()> {
    remove("job", handle, JOB).map(drop)
}

/// Removes a mapping from the table; handle 0 has no effect.
pub(crate) fn remove_mapping(handle: u64) -> Result<()> {
    remove("mapping", handle, MAPPING).map(drop)
}

/// Removes a stream from the table; `None` for handle 0.
pub(crate) fn remove_stream(handle: u64) -> Result<Option<Arc<Stream>>> {
    match remove("stream", handle, STREAM)? {
        Some(Object::Stream(stream)) => Ok(Some(stream)),
        _ => Ok(None),
    }
}

/// Removes a context from the table; `None` for handle 0.
pub(crate) fn remove_context(handle: u64) -> Result<Option<Runtime>> {
    match remove("context", handle, CONTEXT)? {
        Some(Object::Context(context)) => Ok(Some(context)),
        _ => Ok(None),
    }
}

/// Removes an event from the table; handle 0 has no effect.
pub(crate) fn remove_event(handle: u64) -> Result<()> {
    remove("event", handle, EVENT).map(drop)
}
