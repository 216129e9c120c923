//! The table of handles, and all accesses through a caller's pointers. This is the only module of the crate with `unsafe`:
//! `pointers` reads and writes through pointers, `values` converts structs, numbers and hooks, and `removal` ends objects.
//!
//! # Rules of this module
//!
//! 1. A pointer argument is NULL or, as the C header demands of the caller, valid for what the function's documentation
//!    says: an output for one write of its type, an input for one read, a buffer for its length. NULL is checked
//!    here; the rest is the caller's word, as everywhere in C.
//! 2. Symmetric addresses are numbers in this module: never dereferenced, and checked by the core against the heap.
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
    CallsInFlight, CodeAddress, CudaStreamRef, Error, Event, Mapping, Result, Runtime, Stream,
    local,
};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Once};

/// The number of handles that can be live at a time.
const SLOTS: usize = 1 << 15;
/// The first slots are for runtimes only: as many as a job can have PEs that are threads.
const RUNTIMES: usize = 4096;
/// The number of slots of a kind that are used before slots of ended handles are reused.
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
    /// The runtime of a context.
    Context(Runtime),
    /// A stream, an event or a context of a runtime that has been finalized.
    Ended,
}

/// The `handle` of a free slot: a number that is not a handle.
const FREE: u64 = u64::MAX;

struct Slot {
    /// The live handle, or [`FREE`].
    handle: AtomicU64,
    /// The runtime in `object`, or in the context there, for a fast lookup; else NULL.
    runtime: AtomicPtr<Runtime>,
    object: AtomicPtr<Object>,
    /// How often the slot has been used.
    generation: AtomicU32,
    /// Whether its runtime is being finalized. Accessed under the lock.
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

/// Held while slots are filled or emptied. A forked child uses another lock than its parent, because a thread of the parent may
/// hold the parent's lock for ever.
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
    // Caught panics become statuses, and the library prints nothing. The hook is that of the library's own copy of std.
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
        // Slots of ended handles are reused, so streams and events that a program leaves to finalize do not exhaust the table.
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
    // SAFETY: the pointer comes from a box that is not shared yet.
    let runtime = match unsafe { &mut *object } {
        Object::Runtime(runtime) | Object::Context(runtime) => std::ptr::from_mut(runtime),
        _ => std::ptr::null_mut(),
    };
    slot.runtime.store(runtime, Release);
    slot.object.store(object, Release);
    slot.handle.store(handle, Release);
    Ok(handle)
}

/// The object of all ended handles. It is not boxed, so ended handles cost no memory and their slots can be reused.
static ENDED: Object = Object::Ended;

fn ended() -> *mut Object {
    std::ptr::from_ref(&ENDED).cast_mut()
}

/// Whether a slot holds an ended stream or event of a finalized runtime.
fn is_ended(slot: &Slot) -> bool {
    slot.object.load(Acquire) == ended()
}

/// Replaces the object of a live slot by another object, or by NULL. Called under the lock.
fn exchange(slot: &Slot, object: *mut Object) -> Object {
    slot.runtime.store(std::ptr::null_mut(), Relaxed);
    let before = slot.object.swap(object, AcqRel);
    if before == ended() {
        return Object::Ended;
    }
    // SAFETY: rule 3: a live slot holds a box, unless it has ended, and the box was just taken out, under the lock. Other threads
    // use streams and events through clones that were made under the lock.
    *unsafe { Box::from_raw(before) }
}

#[inline(always)]
fn find(handle: u64) -> Option<&'static Slot> {
    // Any number leads to a slot by its low bits; the comparison rejects numbers that are not handles. FREE finds a free slot,
    // which has no object.
    let slot = &TABLE[handle as usize % SLOTS];
    (slot.handle.load(Acquire) == handle).then_some(slot)
}

/// The runtime of a runtime's or context's handle. Objects of other kinds may be freed by another thread once the lock is
/// released.
#[inline(always)]
fn find_runtime(handle: u64) -> Option<&'static Runtime> {
    let slot = find(handle)?;
    // SAFETY: rule 3: while the slot is live, so is its runtime, which is not removed during a call.
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
            "the runtime handle is 0: `init()` was not called or failed, or the object with the handle was freed or moved from",
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

/// Makes a runtime the calling thread's current one.
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
    // While the lock is held, no runtime is removed.
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
    // While the lock is held, no runtime is removed.
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

/// Calls `body` with the runtime of a handle, or with the runtime that a stream belongs to.
#[inline(always)]
pub(crate) fn with_view<T>(handle: u64, body: impl FnOnce(&Runtime) -> Result<T>) -> Result<T> {
    if handle >> KIND_SHIFT == STREAM {
        return body(stream(handle)?.runtime());
    }
    with_runtime(handle, body)
}

/// Calls `body` with the runtime of a handle, or passes it to `queue` for the stream of the handle.
#[inline(always)]
pub(crate) fn with_runtime_or_stream<F: FnOnce(&Runtime) -> Result<()> + 'static>(
    handle: u64,
    body: F,
    queue: fn(&Stream, F) -> Result<()>,
) -> Result<()> {
    match find_runtime(handle) {
        Some(runtime) => body(runtime),
        // The closure is copied on this cold path, so that the arguments stay in registers on the other path.
        None => queue_on(handle, std::hint::black_box(body), queue),
    }
}

/// Passes `body` to the stream of a handle. The clone keeps the stream alive, so another thread may free it meanwhile.
#[cold]
fn queue_on<F>(handle: u64, body: F, queue: fn(&Stream, F) -> Result<()>) -> Result<()> {
    match stream(handle) {
        Ok(stream) => queue(&stream, body),
        Err(_) => Err(not_found("runtime", handle, RUNTIME)),
    }
}

/// A queued operation that holds pointers of the caller.
struct Queued<F>(F);

// SAFETY: the header extends rule 1 to queued operations: the caller keeps buffers valid, and does not access them, until the
// stream has run the operation. These closures own only numbers and vectors of numbers besides.
unsafe impl<F> Send for Queued<F> {}

impl<F: FnOnce(&Runtime) -> Result<()>> Queued<F> {
    /// Runs the operation with `place` as its call site.
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
    // SAFETY: rule 1 holds for it, too: by the header, the caller keeps the stream until the handle is freed, or, with
    // `nvshmemrs_stream_of_cuda`, during each call with it.
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

/// Calls of [`interrupt`] in flight: a signal handler of another thread may interrupt a runtime while it is removed.
static INTERRUPTS: CallsInFlight = CallsInFlight::new();

/// Ends the waits of a runtime; returns whether the handle names one. It allocates nothing, so a signal handler may call it.
pub(crate) fn interrupt(handle: u64) -> bool {
    INTERRUPTS.during(|| match find_runtime(handle) {
        Some(runtime) if runtime.check_live().is_ok() => {
            runtime.interrupt();
            true
        }
        _ => false,
    })
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

/// An operation whose arguments are read while the caller is inside the call, before it is run or queued.
pub(crate) struct Call<'a> {
    runtime: &'a Runtime,
    stream: Option<&'a Stream>,
}

impl<'a> Call<'a> {
    /// The runtime against which arguments are checked.
    #[inline(always)]
    pub(crate) fn runtime(&self) -> &'a Runtime {
        self.runtime
    }

    /// Runs `body`, or queues it; it owns its captures.
    #[inline(always)]
    pub(crate) fn queued(self, body: impl FnOnce(&Runtime) -> Result<()> + 'static) -> Result<()> {
        match self.stream {
            None => body(self.runtime),
            Some(stream) => submit(stream, body),
        }
    }

    /// Runs `body`, or waits until the stream has run it; it owns its captures.
    #[inline(always)]
    pub(crate) fn fetched(self, body: impl FnOnce(&Runtime) -> Result<()> + 'static) -> Result<()> {
        match self.stream {
            None => body(self.runtime),
            // Boxed, so that the wait is compiled once, not for every body and type.
            Some(stream) => {
                let body: Box<Body> = Box::new(body);
                submit_and_wait(stream, body)
            }
        }
    }
}

/// The operation of a call, once its arguments have been read.
type Body = dyn FnOnce(&Runtime) -> Result<()>;

/// Calls `body` with the runtime or the stream of a handle.
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

/// Calls `body` with the stream of a handle; the clone keeps the stream alive meanwhile. A separate function, so that the path of
/// runtimes is compiled without streams.
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
