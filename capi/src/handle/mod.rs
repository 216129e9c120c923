//! Handles, and everything that touches a caller's pointer. The only module of this crate with `unsafe`: here are the handles, in
//! `pointers` what a caller's pointers lead to, in `values` structs, numbers and hooks, in `removal` the end of objects.
//!
//! # Rules of this module
//!
//! 1. A pointer argument is NULL or, as the C header demands of the caller, valid for what the function's documentation
//!    says: an output for one write of its type, an input for one read, a buffer for its length. NULL is checked
//!    here; the rest is the caller's word, as everywhere in C.
//! 2. Symmetric addresses are numbers here. They are never dereferenced; the core checks them against the heap.
//! 3. A slot of the table holds a boxed object, or [`ENDED`], as long as its `handle` word is not [`FREE`]; its `runtime` points into
//!    that box, or nowhere. Objects are taken out under the lock, and the header forbids finalizing a runtime, and destroying a context,
//!    while another thread is inside a call with it.

mod pointers;
mod removal;
mod values;

pub(crate) use pointers::*;
pub(crate) use removal::*;
pub(crate) use values::*;

use crate::generated::exports::exports;
use crate::guard::lock;
use nvshmem_core::{
    CodeAddress, CudaStreamRef, Error, Event, Mapping, Result, Runtime, Stream, local,
};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Once};

/// Handles that can be live at a time.
const SLOTS: usize = 1 << 15;
/// The first slots are for runtimes only: as many as a job can have PEs that are threads.
const RUNTIMES: usize = 4096;
/// So many slots of a kind are used before those of handles that have ended.
const FIRST_USED: usize = 4096;
const _: () = assert!(SLOTS <= 1 << INDEX_BITS);
const INDEX_BITS: u32 = 24;
const KIND_SHIFT: u32 = 56;
const RUNTIME: u64 = 1;
const JOB: u64 = 2;
const MAPPING: u64 = 3;
const STREAM: u64 = 4;
const EVENT: u64 = 5;
const CONTEXT: u64 = 6;

/// The object of a handle.
pub(crate) enum Object {
    Runtime(Runtime),
    Job(Arc<local::Job>),
    Mapping {
        _kept: Mapping,
    },
    Stream(Arc<Stream>),
    Event(Event),
    /// The runtime as a context reaches it.
    Context(Runtime),
    /// A stream, an event or a context of a runtime that has been finalized.
    Ended,
}

/// The `handle` of a free slot: a number that is not a handle.
const FREE: u64 = u64::MAX;

struct Slot {
    /// The live handle, or [`FREE`].
    handle: AtomicU64,
    /// The runtime in `object`, if it is one or a context, for a fast lookup; else NULL.
    runtime: AtomicPtr<Runtime>,
    object: AtomicPtr<Object>,
    /// How often the slot has been used.
    generation: AtomicU32,
    /// Whether its runtime is being finalized. Under the lock.
    ending: AtomicBool,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        handle: AtomicU64::new(FREE),
        runtime: AtomicPtr::new(std::ptr::null_mut()),
        object: AtomicPtr::new(std::ptr::null_mut()),
        generation: AtomicU32::new(0),
        ending: AtomicBool::new(false),
    }
}; SLOTS];

/// Held while slots are filled and emptied. A forked child takes another lock than its parent, because a thread of the parent may
/// hold that one for ever.
static CHANGES: [Mutex<()>; 8] = [const { Mutex::new(()) }; 8];

fn changes() -> MutexGuard<'static, ()> {
    let generation = nvshmem_core::fork_generation() as usize;
    lock(&CHANGES[generation % CHANGES.len()])
}

fn kind_name(kind: u64) -> &'static str {
    match kind {
        RUNTIME => "runtime",
        JOB => "local job",
        MAPPING => "mapping",
        STREAM => "stream",
        CONTEXT => "context",
        _ => "event",
    }
}

/// Creates a handle for an object.
pub(crate) fn insert(object: Object) -> Result<u64> {
    static QUIET: Once = Once::new();
    // A caught panic is reported as a status; the library prints nothing. This is the library's own copy of std.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let kind = match &object {
        Object::Runtime(runtime) => {
            runtime.name_native_callers(exports);
            RUNTIME
        }
        Object::Job(_) => JOB,
        Object::Mapping { .. } => MAPPING,
        Object::Stream(_) => STREAM,
        Object::Context(_) => CONTEXT,
        Object::Event(_) | Object::Ended => EVENT,
    };
    let _changes = changes();
    let (first, room, what) = match kind {
        RUNTIME => (0, RUNTIMES, "runtimes"),
        _ => (RUNTIMES, SLOTS - RUNTIMES, "handles"),
    };
    let slots = || TABLE.iter().enumerate().skip(first).take(room);
    let is_free = |(_, slot): &(usize, &Slot)| slot.handle.load(Relaxed) == FREE;
    let (index, slot) = slots()
        .take(FIRST_USED)
        .find(is_free)
        // A program that leaves streams and events to finalize shall not fill the table by and by.
        .or_else(|| slots().find(|(_, slot)| is_ended(slot)))
        .or_else(|| slots().find(is_free))
        .ok_or_else(|| {
            Error::NotSupported(format!(
                "{room} {what} can be live, and they all are: free or finalize some"
            ))
        })?;
    slot.handle.store(FREE, Release);
    let generation = slot.generation.fetch_add(1, Relaxed).wrapping_add(1);
    let handle = kind << KIND_SHIFT | u64::from(generation) << INDEX_BITS | index as u64;
    let object = Box::into_raw(Box::new(object));
    // SAFETY: it comes from a box, which nobody else knows yet.
    let runtime = match unsafe { &mut *object } {
        Object::Runtime(runtime) | Object::Context(runtime) => std::ptr::from_mut(runtime),
        _ => std::ptr::null_mut(),
    };
    slot.runtime.store(runtime, Release);
    slot.object.store(object, Release);
    slot.handle.store(handle, Release);
    Ok(handle)
}

/// The object of all handles that have ended: not in a box, so they cost no memory, and their slots can be used again.
static ENDED: Object = Object::Ended;

fn ended() -> *mut Object {
    std::ptr::from_ref(&ENDED).cast_mut()
}

/// Whether a slot holds an ended stream or event of a finalized runtime.
fn is_ended(slot: &Slot) -> bool {
    slot.object.load(Acquire) == ended()
}

/// Takes the object out of a live slot and puts another one, or NULL, there. Under the lock.
fn exchange(slot: &Slot, object: *mut Object) -> Object {
    slot.runtime.store(std::ptr::null_mut(), Relaxed);
    let before = slot.object.swap(object, AcqRel);
    if before == ended() {
        return Object::Ended;
    }
    // SAFETY: rule 3: a live slot holds a box, unless it has ended, and it was just taken out, under the lock. Streams and events are
    // used through clones that were made under it.
    *unsafe { Box::from_raw(before) }
}

#[inline(always)]
fn find(handle: u64) -> Option<&'static Slot> {
    // The low bits of what is no handle lead to a slot, too; the comparison finds out. FREE finds a free slot, without an object.
    let slot = &TABLE[handle as usize % SLOTS];
    (slot.handle.load(Acquire) == handle).then_some(slot)
}

/// The runtime that a handle names, also that of a context. The object of any other kind may be freed by another thread as soon as the
/// lock is not held.
#[inline(always)]
fn find_runtime(handle: u64) -> Option<&'static Runtime> {
    let slot = find(handle)?;
    // SAFETY: rule 3: while the slot is live, so is its runtime, which nobody takes out during a call.
    unsafe { slot.runtime.load(Acquire).as_ref() }
}

/// Describes a handle of the wrong kind, or an ended handle, for errors.
#[cold]
fn described(handle: u64, live: bool) -> String {
    match handle >> KIND_SHIFT {
        kind @ (RUNTIME | JOB | MAPPING | STREAM | EVENT | CONTEXT) => {
            let state = if live { "live" } else { "ended" };
            format!("the handle of a {} that is {state}", kind_name(kind))
        }
        _ => format!("{handle}, which is no handle"),
    }
}

#[cold]
fn not_found(argument: &'static str, handle: u64, kind: u64) -> Error {
    let live = find(handle).is_some_and(|slot| !is_ended(slot));
    match (kind, handle >> KIND_SHIFT) {
        (RUNTIME, 0) if handle == 0 => Error::NotInitialized(
            "the runtime handle is 0: call `init()` first, and check its status",
        ),
        (RUNTIME, RUNTIME) if !live => Error::NotInitialized(
            "this runtime handle is not live, because it was finalized, was left or was never given out: call `init()` again",
        ),
        _ => Error::BadHandle {
            argument,
            found: described(handle, live),
            expected: kind_name(kind),
        },
    }
}

/// Calls `body` with the runtime that a handle names.
#[inline(always)]
pub(crate) fn with_runtime<T>(handle: u64, body: impl FnOnce(&Runtime) -> Result<T>) -> Result<T> {
    match find_runtime(handle) {
        Some(runtime) => body(runtime),
        None => Err(not_found("runtime", handle, RUNTIME)),
    }
}

thread_local! {
    /// The runtime that this thread has joined last; 0 at first.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// Makes a runtime the calling thread's.
pub(crate) fn set_current(handle: u64) {
    CURRENT.set(handle);
}

/// The handle of the runtime that this thread has joined last; it may have ended.
pub(crate) fn own() -> u64 {
    CURRENT.get()
}

/// Whether a handle names a runtime whose PE is in its job, and is not in finalize.
pub(crate) fn is_joined(handle: u64) -> bool {
    let _changes = changes();
    let is_ending = find(handle).is_none_or(|slot| slot.ending.load(Relaxed));
    !is_ending && find_runtime(handle).is_some_and(|runtime| runtime.check_live().is_ok())
}

/// The calling thread's runtime, or else the only one of the process.
pub(crate) fn current() -> Result<u64> {
    let own = CURRENT.get();
    if find_runtime(own).is_some() {
        return Ok(own);
    }
    // Under it no runtime is taken out.
    let _changes = changes();
    let slots = TABLE[..RUNTIMES].iter();
    let handles = slots.map(|slot| slot.handle.load(Acquire));
    let mut live = handles.filter(|handle| find_runtime(*handle).is_some());
    match (live.next(), live.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Error::NotInitialized(
            "this process has no runtime: call `init()` first",
        )),
        _ => Err(Error::InvalidValue {
            argument: "runtime",
            value: "none of this thread's".into(),
            expected: "a thread that has joined a job, or a process with one runtime".into(),
        }),
    }
}

/// The handle of the runtime whose heap is in the memory of a GPU.
pub(crate) fn runtime_on(device: i32) -> Result<u64> {
    // Under it no runtime is taken out.
    let _changes = changes();
    let slots = TABLE[..RUNTIMES].iter();
    let handles = slots.map(|slot| slot.handle.load(Acquire));
    let mut live = handles.filter(|handle| {
        find_runtime(*handle)
            .is_some_and(|rt| rt.device() == Some(device) && rt.check_live().is_ok())
    });
    live.next().ok_or_else(|| {
        Error::NotSupported(format!(
            "memory of GPU {device} was asked for, and no runtime of this process has its symmetric heap there"
        ))
    })
}

/// Calls `body` with the runtime that a handle names, or that a stream belongs to.
#[inline(always)]
pub(crate) fn with_view<T>(handle: u64, body: impl FnOnce(&Runtime) -> Result<T>) -> Result<T> {
    if handle >> KIND_SHIFT == STREAM {
        return body(stream(handle)?.runtime());
    }
    with_runtime(handle, body)
}

/// Calls `body` with the runtime that a handle names, or lets `queue` hand it to the stream that it names.
#[inline(always)]
pub(crate) fn with_runtime_or_stream<F: FnOnce(&Runtime) -> Result<()> + 'static>(
    handle: u64,
    body: F,
    queue: fn(&Stream, F) -> Result<()>,
) -> Result<()> {
    match find_runtime(handle) {
        Some(runtime) => body(runtime),
        // A copy for the way that is rarely gone, so that on the other one the arguments stay in registers.
        None => queue_on(handle, std::hint::black_box(body), queue),
    }
}

/// Hands `body` to the stream that a handle names. The stream is held meanwhile, so that another thread may free it.
#[cold]
fn queue_on<F>(handle: u64, body: F, queue: fn(&Stream, F) -> Result<()>) -> Result<()> {
    match stream(handle) {
        Ok(stream) => queue(&stream, body),
        Err(_) => Err(not_found("runtime", handle, RUNTIME)),
    }
}

/// An operation with a caller's pointers in it, on its way to a stream's thread.
struct Queued<F>(F);

// SAFETY: rule 1 holds longer for what is queued, as the header says: the caller keeps buffers valid, and leaves them alone, until
// the stream has run the operation. All else that these closures own are numbers, and vectors of them.
unsafe impl<F> Send for Queued<F> {}

impl<F: FnOnce(&Runtime) -> Result<()>> Queued<F> {
    /// Runs it as if it was called at `place`.
    fn run(self, place: Option<CodeAddress>, runtime: &Runtime) -> Result<()> {
        match place {
            Some(place) => place.during(|| (self.0)(runtime)),
            None => (self.0)(runtime),
        }
    }
}

/// Queues an operation.
#[cold]
pub(crate) fn submit<F: FnOnce(&Runtime) -> Result<()> + 'static>(
    stream: &Stream,
    body: F,
) -> Result<()> {
    let (queued, place) = (Queued(body), stream.runtime().calling_place());
    stream.submit(move |rt| queued.run(place, rt))
}

/// Queues an operation and waits for its result.
#[cold]
pub(crate) fn submit_and_wait<F: FnOnce(&Runtime) -> Result<()> + 'static>(
    stream: &Stream,
    body: F,
) -> Result<()> {
    let (queued, place) = (Queued(body), stream.runtime().calling_place());
    stream.run(move |rt| queued.run(place, rt))
}

/// A stream of the program's GPU code.
pub(crate) fn cuda_stream(stream: *mut c_void) -> CudaStreamRef {
    // SAFETY: rule 1 holds for it, too: as the header says, the caller keeps it until the handle is freed.
    unsafe { CudaStreamRef::from_raw(stream as u64) }
}

/// The stream that a handle names.
pub(crate) fn stream(handle: u64) -> Result<Arc<Stream>> {
    let _changes = changes();
    let missing = || not_found("stream", handle, STREAM);
    let slot = find(handle).ok_or_else(missing)?;
    // SAFETY: rule 3, under the lock.
    match unsafe { slot.object.load(Acquire).as_ref() } {
        Some(Object::Stream(stream)) => Ok(Arc::clone(stream)),
        _ => Err(missing()),
    }
}

/// The event that a handle names.
pub(crate) fn event(argument: &'static str, handle: u64) -> Result<Event> {
    let _changes = changes();
    let missing = || not_found(argument, handle, EVENT);
    let slot = find(handle).ok_or_else(missing)?;
    // SAFETY: rule 3, under the lock.
    match unsafe { slot.object.load(Acquire).as_ref() } {
        Some(Object::Event(event)) => Ok(event.clone()),
        _ => Err(missing()),
    }
}

/// Whether a handle names a runtime; if so, ends its waits. Allocates nothing, so that a signal handler may call it.
pub(crate) fn interrupt(handle: u64) -> bool {
    match find_runtime(handle) {
        Some(runtime) if runtime.check_live().is_ok() => {
            runtime.interrupt();
            true
        }
        _ => false,
    }
}

/// The local job that a handle names.
pub(crate) fn job(handle: u64) -> Result<Arc<local::Job>> {
    let _changes = changes();
    let missing = || not_found("job", handle, JOB);
    let slot = find(handle).ok_or_else(missing)?;
    // SAFETY: rule 3, under the lock.
    match unsafe { slot.object.load(Acquire).as_ref() } {
        Some(Object::Job(job)) => Ok(Arc::clone(job)),
        _ => Err(missing()),
    }
}

/// An operation on its way: its arguments are read while the caller is inside the call, before it is run or queued.
pub(crate) struct Call<'a> {
    runtime: &'a Runtime,
    stream: Option<&'a Stream>,
}

impl<'a> Call<'a> {
    /// The runtime, to check arguments with.
    #[inline(always)]
    pub(crate) fn runtime(&self) -> &'a Runtime {
        self.runtime
    }

    /// Runs `body`, or queues it. It owns what was read for it.
    #[inline(always)]
    pub(crate) fn queued(self, body: impl FnOnce(&Runtime) -> Result<()> + 'static) -> Result<()> {
        match self.stream {
            None => body(self.runtime),
            Some(stream) => submit(stream, body),
        }
    }

    /// Runs `body`, or waits until the stream has run it. It owns what was read for it.
    #[inline(always)]
    pub(crate) fn fetched(self, body: impl FnOnce(&Runtime) -> Result<()> + 'static) -> Result<()> {
        match self.stream {
            None => body(self.runtime),
            // The box keeps one copy of the wait, rather than one for every body and type.
            Some(stream) => {
                let body: Box<Body> = Box::new(body);
                submit_and_wait(stream, body)
            }
        }
    }
}

/// What a call does once its arguments have been read.
type Body = dyn FnOnce(&Runtime) -> Result<()>;

/// Calls `body` with the runtime or the stream that a handle names.
#[inline(always)]
pub(crate) fn with_call(handle: u64, body: impl FnOnce(Call<'_>) -> Result<()>) -> Result<()> {
    match find_runtime(handle) {
        Some(runtime) => body(Call {
            runtime,
            stream: None,
        }),
        None => with_stream_call(handle, body),
    }
}

/// Calls `body` with the stream that a handle names, which is held meanwhile. A copy of its own, so that the other one need not
/// care about streams.
#[cold]
#[inline(never)]
fn with_stream_call(handle: u64, body: impl FnOnce(Call<'_>) -> Result<()>) -> Result<()> {
    match stream(handle) {
        Ok(stream) => body(Call {
            runtime: stream.runtime(),
            stream: Some(&stream),
        }),
        Err(_) => Err(not_found("runtime", handle, RUNTIME)),
    }
}
