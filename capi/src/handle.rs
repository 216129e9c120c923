//! Handles, and everything that touches a caller's pointer. The only file of this crate with `unsafe`.
//!
//! # Rules of this module
//!
//! 1. A pointer argument is NULL or, as the C header demands of the caller, valid for what the function's documentation
//!    says: an output for one write of its type, an input for one read, a buffer for its length. NULL is checked
//!    here; the rest is the caller's word, as everywhere in C.
//! 2. Symmetric addresses are numbers here. They are never dereferenced; the core checks them against the heap.
//! 3. A slot of the table holds a boxed object, or [`ENDED`], as long as its `handle` word is not [`FREE`]; its `runtime` points into
//!    that box, or nowhere. Objects are taken out under the lock, and the header forbids finalizing a runtime while another thread is
//!    inside a call with it.

use crate::generated::exports::exports;
use crate::guard::status::SUCCESS;
use crate::types::*;
use nvshmem_core::{
    Access, Cmp, CudaStreamRef, Element, Error, Event, HeapStats, InitAttr, LocalDest, LocalSource,
    Mapping, MemoryKind, NbiDest, NbiSource, Place, Result, Runtime, SignalOp, SiteHook, Stream,
    Strides, Team, TeamConfig, UniqueId, local,
};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Duration;

/// Handles that can be live at a time.
const SLOTS: usize = 4096;
/// The first of them are of runtimes, and of nothing else.
const RUNTIMES: usize = 1024;
const _: () = assert!(SLOTS <= 1 << INDEX_BITS);
const INDEX_BITS: u32 = 24;
const KIND_SHIFT: u32 = 56;
const RUNTIME: u64 = 1;
const JOB: u64 = 2;
const MAPPING: u64 = 3;
const STREAM: u64 = 4;
const EVENT: u64 = 5;

/// What a handle can stand for.
pub(crate) enum Object {
    Runtime(Runtime),
    Job(Arc<local::Job>),
    Mapping {
        _kept: Mapping,
    },
    Stream(Arc<Stream>),
    Event(Event),
    /// What was a stream or an event of a runtime that has been finalized.
    Ended,
}

/// What the `handle` of a free slot says: a number that is no handle.
const FREE: u64 = u64::MAX;

struct Slot {
    /// The live handle, or [`FREE`].
    handle: AtomicU64,
    /// The runtime in `object`, if it is one: what most calls ask for. NULL else.
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

/// Held while slots are filled and emptied. A forked child takes another one than its parent, of which a thread that the child does
/// not have may have held it.
static CHANGES: [Mutex<()>; 8] = [const { Mutex::new(()) }; 8];

fn changes() -> MutexGuard<'static, ()> {
    let generation = nvshmem_core::fork_generation() as usize;
    CHANGES[generation % CHANGES.len()]
        .lock()
        .unwrap_or_else(|poison| poison.into_inner())
}

fn kind_name(kind: u64) -> &'static str {
    match kind {
        RUNTIME => "runtime",
        JOB => "local job",
        MAPPING => "mapping",
        STREAM => "stream",
        _ => "event",
    }
}

/// Gives an object a handle.
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
        Object::Event(_) | Object::Ended => EVENT,
    };
    let _changes = changes();
    let (first, room, what) = match kind {
        RUNTIME => (0, RUNTIMES, "runtimes"),
        _ => (RUNTIMES, SLOTS - RUNTIMES, "handles"),
    };
    let slots = || TABLE.iter().enumerate().skip(first).take(room);
    let (index, slot) = slots()
        .find(|(_, slot)| slot.handle.load(Relaxed) == FREE)
        // A program that leaves streams and events to finalize shall not run out of handles by and by.
        .or_else(|| slots().find(|(_, slot)| is_ended(slot)))
        .ok_or_else(|| Error::NotSupported(format!("more than {room} live {what}")))?;
    slot.handle.store(FREE, Release);
    let generation = slot.generation.fetch_add(1, Relaxed).wrapping_add(1);
    let handle = kind << KIND_SHIFT | u64::from(generation) << INDEX_BITS | index as u64;
    let mut object = Box::new(object);
    let runtime = match &mut *object {
        Object::Runtime(runtime) => std::ptr::from_mut(runtime),
        _ => std::ptr::null_mut(),
    };
    slot.runtime.store(runtime, Release);
    slot.object.store(Box::into_raw(object), Release);
    slot.handle.store(handle, Release);
    Ok(handle)
}

/// The object of all handles that have ended: not in a box, so they cost no memory, and their slots can be used again.
static ENDED: Object = Object::Ended;

fn ended() -> *mut Object {
    std::ptr::from_ref(&ENDED).cast_mut()
}

/// Whether a slot holds what was a stream or an event of a runtime that has been finalized.
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

/// The runtime that a handle names. The object of any other kind may be freed by another thread as soon as the lock is not held; its
/// slot is never one of a runtime's.
#[inline(always)]
fn find_runtime(handle: u64) -> Option<&'static Runtime> {
    let slot = find(handle)?;
    // SAFETY: rule 3: while the slot is live, so is its runtime, which nobody takes out during a call.
    unsafe { slot.runtime.load(Acquire).as_ref() }
}

#[cold]
fn not_found(argument: &'static str, handle: u64, kind: u64) -> Error {
    let live = find(handle).is_some();
    match (kind, handle >> KIND_SHIFT) {
        (RUNTIME, 0) if handle == 0 => Error::NotInitialized(
            "the runtime handle is 0: call nvshmemrs_init first, and check its status",
        ),
        (RUNTIME, RUNTIME) if !live => Error::NotInitialized(
            "this runtime handle is not live: it was finalized, or never given out; call init again",
        ),
        _ => Error::BadHandle {
            argument,
            handle,
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
    fn run(self, place: Option<Place>, runtime: &Runtime) -> Result<()> {
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

fn remove(argument: &'static str, handle: u64, kind: u64) -> Result<Option<Object>> {
    if handle == 0 {
        return Ok(None);
    }
    let _changes = changes();
    let slot = removable(argument, handle, kind)?;
    slot.handle.store(FREE, Release);
    Ok(Some(exchange(slot, std::ptr::null_mut())))
}

/// The slot of an object that may be taken out. Under the lock.
fn removable(argument: &'static str, handle: u64, kind: u64) -> Result<&'static Slot> {
    let slot = find(handle)
        .filter(|slot| handle >> KIND_SHIFT == kind && !slot.ending.load(Relaxed))
        .ok_or_else(|| not_found(argument, handle, kind))?;
    if let Some(runtime) = find_runtime(handle) {
        // A forked child may not take away what its parent still uses.
        runtime.check_live()?;
        if nvshmem_core::in_interrupt_hook() {
            return Err(Error::InHook("finalize or leave"));
        }
        if nvshmem_core::on_stream() {
            return Err(Error::OnStream("finalize or leave"));
        }
    }
    Ok(slot)
}

/// Ends a runtime by `end`, then takes it out of the table; `None` for handle 0. Until then a signal handler can interrupt it by its
/// handle.
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
        slot.handle.store(FREE, Release);
        slot.ending.store(false, Relaxed);
        exchange(slot, std::ptr::null_mut())
    };
    drop(taken);
    result.map(Some)
}

/// Runtimes that were left. Another thread may still be on its way out of a call, so they go when the next one is made.
#[expect(
    clippy::vec_box,
    reason = "such a thread holds a reference to what is in the box"
)]
static LEFT: Mutex<Vec<Box<Object>>> = Mutex::new(Vec::new());

/// Leaves the job of a runtime and makes its handle stale; the object stays for threads that are inside calls with it.
pub(crate) fn leave(handle: u64) -> Result<()> {
    if handle == 0 {
        return Ok(());
    }
    let taken = {
        let _changes = changes();
        let slot = removable("runtime", handle, RUNTIME)?;
        slot.handle.store(FREE, Release);
        slot.runtime.store(std::ptr::null_mut(), Relaxed);
        // SAFETY: rule 3: the slot of a live runtime holds a box, and it was just taken out, under the lock.
        unsafe { Box::from_raw(slot.object.swap(std::ptr::null_mut(), AcqRel)) }
    };
    if let Object::Runtime(runtime) = &*taken {
        runtime.leave();
    }
    LEFT.lock()
        .unwrap_or_else(|poison| poison.into_inner())
        .push(taken);
    Ok(())
}

/// Lets go of the runtimes that were left: their threads have returned by now, as the header demands.
pub(crate) fn forget_left() {
    let gone = std::mem::take(&mut *LEFT.lock().unwrap_or_else(|poison| poison.into_inner()));
    // Outside of the lock.
    drop(gone);
}

/// The handles of a runtime's streams and events.
pub(crate) fn streams_of(runtime: &Runtime) -> Vec<u64> {
    let _changes = changes();
    let owned = |slot: &Slot| {
        // SAFETY: rule 3, under the lock; a free slot holds NULL.
        match unsafe { slot.object.load(Acquire).as_ref() } {
            Some(Object::Stream(stream)) => stream.belongs_to(runtime),
            Some(Object::Event(event)) => event.belongs_to(runtime),
            _ => false,
        }
    };
    let slots = TABLE.iter().filter(|slot| owned(slot));
    slots.map(|slot| slot.handle.load(Relaxed)).collect()
}

/// Lets go of streams and events whose runtime has ended, and with them of its memory; with `wait`, once the streams' threads have
/// ended. Their handles can still be freed.
pub(crate) fn end_streams(handles: Vec<u64>, wait: bool) {
    let ended: Vec<Object> = {
        let _changes = changes();
        let slots = handles.into_iter().filter_map(find);
        slots.map(|slot| exchange(slot, ended())).collect()
    };
    // Outside of the lock: this waits.
    for object in ended {
        if let (Object::Stream(stream), true) = (object, wait)
            && let Ok(stream) = Arc::try_unwrap(stream)
        {
            // Finalize has run what was queued; its error was told there.
            let _ = stream.close();
        }
    }
}

/// Takes a local job out of the table; handle 0 does nothing.
pub(crate) fn remove_job(handle: u64) -> Result<()> {
    remove("job", handle, JOB).map(drop)
}

/// Takes a mapping out of the table; handle 0 does nothing.
pub(crate) fn remove_mapping(handle: u64) -> Result<()> {
    remove("mapping", handle, MAPPING).map(drop)
}

/// Takes a stream out of the table; `None` for handle 0.
pub(crate) fn remove_stream(handle: u64) -> Result<Option<Arc<Stream>>> {
    match remove("stream", handle, STREAM)? {
        Some(Object::Stream(stream)) => Ok(Some(stream)),
        _ => Ok(None),
    }
}

/// Takes an event out of the table; handle 0 does nothing.
pub(crate) fn remove_event(handle: u64) -> Result<()> {
    remove("event", handle, EVENT).map(drop)
}

fn null(argument: &'static str) -> Error {
    Error::InvalidValue {
        argument,
        value: "NULL".into(),
        expected: "a valid pointer".into(),
    }
}

/// Checks an output before work is done for it.
#[inline(always)]
pub(crate) fn check_out<T>(argument: &'static str, out: *mut T) -> Result<()> {
    if out.is_null() {
        Err(null(argument))
    } else {
        Ok(())
    }
}

/// Writes an output.
#[inline(always)]
pub(crate) fn write<T>(argument: &'static str, out: *mut T, value: T) -> Result<()> {
    check_out(argument, out)?;
    // SAFETY: rule 1: not NULL, so valid for a write. C may have aligned it as it liked.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Writes an output that the caller may leave out.
#[inline(always)]
pub(crate) fn write_optional<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: as in `write`.
        unsafe { out.write_unaligned(value) };
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

/// Reads a local value.
#[inline(always)]
pub(crate) fn read<T: Element>(argument: &'static str, ptr: *const c_void) -> Result<T> {
    if ptr.is_null() {
        return Err(null(argument));
    }
    // SAFETY: rule 1: not NULL, so valid for a read; any bits are a T. C may have aligned it as it liked.
    Ok(unsafe { ptr.cast::<T>().read_unaligned() })
}

/// A copy of a local array: C may have aligned it as it liked, and may change it during the call.
pub(crate) fn read_array<T: Element>(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    count: usize,
) -> Result<Vec<T>> {
    check_buffer(rt, argument, ptr, count.saturating_mul(size_of::<T>()))?;
    let ptr = ptr.cast::<T>();
    // SAFETY: rule 1: valid for reads of `count` elements; otherwise as in `read`.
    Ok((0..count)
        .map(|index| unsafe { ptr.add(index).read_unaligned() })
        .collect())
}

/// A copy of a `status` array; NULL excludes nothing.
pub(crate) fn status_array(
    rt: &Runtime,
    status: *const i32,
    count: usize,
) -> Result<Option<Vec<i32>>> {
    if status.is_null() {
        return Ok(None);
    }
    read_array(rt, "status", status.cast(), count).map(Some)
}

/// Checks an output array of `count` numbers before work is done for it.
pub(crate) fn check_array(
    rt: &Runtime,
    argument: &'static str,
    out: *mut usize,
    count: usize,
) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<usize>());
    check_buffer(rt, argument, out.cast(), bytes)
}

/// Writes the first elements of an output array that [`check_array`] has seen.
pub(crate) fn write_array(out: *mut usize, values: &[usize]) {
    for (index, &value) in values.iter().enumerate() {
        // SAFETY: rule 1: valid for writes of as many elements as were checked, which are no fewer. C may have aligned
        // it as it liked.
        unsafe { out.add(index).write_unaligned(value) };
    }
}

/// Writes as much of a text as a buffer of the caller's has room for, and a NUL behind it.
pub(crate) fn write_text(
    rt: &Runtime,
    argument: &'static str,
    out: *mut c_void,
    bytes: usize,
    text: &str,
) -> Result<()> {
    check_buffer(rt, argument, out, bytes)?;
    let Some(room) = bytes.checked_sub(1) else {
        return Ok(());
    };
    let part = &text.as_bytes()[..text.len().min(room)];
    let out = out.cast::<u8>();
    // SAFETY: rule 1: valid for writes of `bytes` bytes; the part and the NUL are no more. Nobody else has the buffer.
    unsafe {
        std::ptr::copy_nonoverlapping(part.as_ptr(), out, part.len());
        out.add(part.len()).write(0);
    }
    Ok(())
}

/// A pointer as the number that the core checks.
#[inline(always)]
pub(crate) fn addr<T>(ptr: *const T) -> u64 {
    ptr as u64
}

/// A symmetric buffer that the core checks.
#[inline(always)]
pub(crate) fn symmetric(ptr: *const c_void) -> nvshmem_core::Symmetric {
    nvshmem_core::Symmetric::Address(addr(ptr))
}

/// A checked address as a pointer; NULL for none.
pub(crate) fn address(address: Option<u64>) -> *mut c_void {
    address.unwrap_or(0) as *mut c_void
}

/// A local buffer that an operation reads.
#[inline(always)]
pub(crate) fn source<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    bytes: usize,
) -> Result<LocalSource<'a>> {
    check_buffer(rt, "source", ptr, bytes)?;
    // SAFETY: rule 1: valid for reads of `bytes` bytes during the call.
    Ok(unsafe { LocalSource::from_raw(ptr.cast(), bytes) })
}

/// A local buffer that an operation reads until quiet.
#[inline(always)]
pub(crate) fn source_until_quiet<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    bytes: usize,
) -> Result<NbiSource<'a>> {
    let source = source(rt, ptr, bytes)?;
    // SAFETY: rule 1: the header says that the buffer may be reused only after quiet.
    Ok(unsafe { NbiSource::until_quiet(source) })
}

/// A local buffer that an operation writes until quiet.
#[inline(always)]
pub(crate) fn dest_until_quiet<'a>(
    rt: &Runtime,
    ptr: *mut c_void,
    bytes: usize,
) -> Result<NbiDest<'a>> {
    let dest = dest(rt, ptr, bytes)?;
    // SAFETY: rule 1: the header says that the data is there only after quiet.
    Ok(unsafe { NbiDest::until_quiet(dest) })
}

/// A local buffer that an operation writes.
#[inline(always)]
pub(crate) fn dest<'a>(rt: &Runtime, ptr: *mut c_void, bytes: usize) -> Result<LocalDest<'a>> {
    check_buffer(rt, "dest", ptr, bytes)?;
    // SAFETY: rule 1: valid for writes of `bytes` bytes during the call.
    Ok(unsafe { LocalDest::from_raw(ptr.cast(), bytes) })
}

/// The span of a strided local buffer that an operation reads; `ptr` is its first element, which need not be its lowest.
pub(crate) fn strided_source<'a>(
    rt: &Runtime,
    ptr: *const c_void,
    strides: &Strides,
) -> Result<LocalSource<'a>> {
    let lowest = ptr.wrapping_byte_sub(strides.first() as usize);
    source(
        rt,
        if ptr.is_null() { ptr } else { lowest },
        strides.span() as usize,
    )
}

/// The span of a strided local buffer that an operation writes.
pub(crate) fn strided_dest<'a>(
    rt: &Runtime,
    ptr: *mut c_void,
    strides: &Strides,
) -> Result<LocalDest<'a>> {
    let lowest = ptr.wrapping_byte_sub(strides.first() as usize);
    dest(
        rt,
        if ptr.is_null() { ptr } else { lowest },
        strides.span() as usize,
    )
}

/// The span of a strided symmetric buffer.
pub(crate) fn strided_symmetric(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    strides: &Strides,
) -> Result<nvshmem_core::SymRange> {
    let lowest = addr(ptr).saturating_sub(strides.first());
    rt.symmetric(argument, lowest, strides.span() as usize)
}

/// No bytes may lie anywhere.
#[cold]
fn check_null(argument: &'static str, bytes: usize) -> Result<()> {
    match bytes {
        0 => Ok(()),
        _ => Err(null(argument)),
    }
}

/// Checks a buffer that a call is given, before work is done for it.
#[inline(always)]
pub(crate) fn check_buffer(
    rt: &Runtime,
    argument: &'static str,
    ptr: *const c_void,
    bytes: usize,
) -> Result<()> {
    if ptr.is_null() {
        return check_null(argument, bytes);
    }
    rt.check_local(argument, addr(ptr), bytes)
}

/// Memory of the caller's that is to become symmetric.
pub(crate) fn registration(
    buffer: *mut c_void,
    bytes: usize,
    preferred: *mut c_void,
) -> nvshmem_core::Registration {
    // SAFETY: the header says what the caller has to keep: the memory stays, and nobody uses it during the calls.
    unsafe { nvshmem_core::Registration::from_raw(buffer.cast(), bytes, addr(preferred)) }
}

const ATTR_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_init_attr_t>() as u32;
const ID_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_unique_id_t>() as u32;

/// Attributes that ask for nothing in particular.
/// The device of attributes that do not name one.
const NO_DEVICE: i32 = -1;

pub(crate) fn default_attr() -> nvshmemrs_init_attr_t {
    nvshmemrs_init_attr_t {
        version: ATTR_VERSION,
        memory_kind: nvshmemrs_memory::NVSHMEMRS_MEMORY_DEFAULT as i32,
        heap_bytes: 0,
        timeout_s: 0.0,
        init_timeout_s: 0.0,
        device: NO_DEVICE,
        reserved: [0; 28],
    }
}

fn wrong_version(argument: &'static str, version: u32, expected: u32) -> Error {
    Error::InvalidValue {
        argument,
        value: format!("a struct with version word {version:#x}"),
        expected: format!(
            "{expected:#x}: fill it with the library's function first, or rebuild against this header"
        ),
    }
}

/// Attributes from C; NULL means the defaults.
pub(crate) fn attr(attr: *const nvshmemrs_init_attr_t) -> Result<InitAttr> {
    if attr.is_null() {
        return Ok(InitAttr::default());
    }
    // SAFETY: rule 1: valid for a read. The version word comes first, so that a shorter struct is not read past its end.
    let version = unsafe { attr.cast::<u32>().read_unaligned() };
    if version != ATTR_VERSION {
        return Err(wrong_version("attr", version, ATTR_VERSION));
    }
    // SAFETY: the version word says that it is this struct, whole.
    let attr = unsafe { attr.read_unaligned() };
    let memory = match attr.memory_kind {
        0 => None,
        1 => Some(MemoryKind::Host),
        2 => Some(MemoryKind::Device),
        other => {
            return Err(Error::InvalidValue {
                argument: "attr.memory_kind",
                value: other.to_string(),
                expected: "one of nvshmemrs_memory: 0, 1 or 2".into(),
            });
        }
    };
    if attr.reserved != [0; 28] {
        return Err(Error::InvalidValue {
            argument: "attr.reserved",
            value: format!("{:?}", attr.reserved),
            expected: "zeros: fill the struct with nvshmemrs_init_attr_default first".into(),
        });
    }
    Ok(InitAttr {
        heap_bytes: (attr.heap_bytes > 0).then_some(attr.heap_bytes),
        memory,
        device: (attr.device != NO_DEVICE).then_some(attr.device),
        timeout: seconds("attr.timeout_s", attr.timeout_s)?,
        init_timeout: seconds("attr.init_timeout_s", attr.init_timeout_s)?,
        ..InitAttr::default()
    })
}

fn seconds(argument: &'static str, seconds: f64) -> Result<Option<Duration>> {
    if !(0.0..=1e9).contains(&seconds) {
        return Err(Error::InvalidValue {
            argument,
            value: seconds.to_string(),
            expected: "seconds: a number from 0 to 1000000000".into(),
        });
    }
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

/// A unique id from C.
pub(crate) fn unique_id(id: *const nvshmemrs_unique_id_t) -> Result<UniqueId> {
    if id.is_null() {
        return Err(null("id"));
    }
    // SAFETY: rule 1: valid for a read; the struct has no padding.
    let bytes = unsafe {
        id.cast::<[u8; size_of::<nvshmemrs_unique_id_t>()]>()
            .read_unaligned()
    };
    UniqueId::from_bytes(&bytes)
}

/// A unique id for C.
pub(crate) fn id_to_c(id: &UniqueId) -> nvshmemrs_unique_id_t {
    let mut internal = [0; 124];
    internal.copy_from_slice(&id.as_bytes()[4..]);
    nvshmemrs_unique_id_t {
        version: ID_VERSION,
        internal,
    }
}

/// Heap statistics for C.
pub(crate) fn stats_to_c(stats: &HeapStats) -> nvshmemrs_heap_stats_t {
    nvshmemrs_heap_stats_t {
        heap_bytes: stats.heap_bytes,
        used_bytes: stats.used_bytes,
        free_bytes: stats.free_bytes,
        largest_free_bytes: stats.largest_free_bytes,
        allocations: stats.allocations,
        released: stats.released,
    }
}

/// A memory kind for C.
pub(crate) fn memory_to_c(kind: MemoryKind) -> i32 {
    match kind {
        MemoryKind::Host => nvshmemrs_memory::NVSHMEMRS_MEMORY_HOST as i32,
        MemoryKind::Device => nvshmemrs_memory::NVSHMEMRS_MEMORY_DEVICE as i32,
    }
}

/// A team from C.
pub(crate) fn team(team: nvshmemrs_team_t) -> Team {
    Team::from_number(team)
}

/// A new team for C.
pub(crate) fn team_to_c(team: Option<Team>) -> nvshmemrs_team_t {
    team.unwrap_or(Team::INVALID).number()
}

const CONFIG_VERSION: u32 = (1 << 16) + size_of::<nvshmemrs_team_config_t>() as u32;

/// A team configuration that asks for nothing in particular.
pub(crate) fn default_team_config() -> nvshmemrs_team_config_t {
    nvshmemrs_team_config_t {
        version: CONFIG_VERSION,
        num_contexts: 0,
        uniqueid: 0,
        reserved: [0; 48],
    }
}

/// The fields of a team configuration that `mask` selects; NULL and mask 0 give the defaults.
pub(crate) fn team_config(config: *const nvshmemrs_team_config_t, mask: i64) -> Result<TeamConfig> {
    check_team_mask(mask)?;
    let mut found = TeamConfig::default();
    if config.is_null() {
        return match mask {
            0 => Ok(found),
            _ => Err(null("config")),
        };
    }
    // SAFETY: rule 1: valid for a read. The version word comes first, so that a shorter struct is not read past its end.
    let version = unsafe { config.cast::<u32>().read_unaligned() };
    if version != CONFIG_VERSION {
        return Err(wrong_version("config", version, CONFIG_VERSION));
    }
    // SAFETY: the version word says that it is this struct, whole.
    let config = unsafe { config.read_unaligned() };
    if config.reserved != [0; 48] {
        return Err(Error::InvalidValue {
            argument: "config.reserved",
            value: "not all 0".into(),
            expected: "0: fill the struct with nvshmemrs_team_config_default first".into(),
        });
    }
    if mask & NUM_CONTEXTS != 0 {
        if config.num_contexts < 0 {
            return Err(Error::InvalidValue {
                argument: "config.num_contexts",
                value: config.num_contexts.to_string(),
                expected: "at least 0".into(),
            });
        }
        found.num_contexts = config.num_contexts;
    }
    if mask & UNIQUEID != 0 {
        found.unique_id = config.uniqueid;
    }
    Ok(found)
}

const NUM_CONTEXTS: i64 = nvshmemrs_team_config_mask::NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS as i64;
const UNIQUEID: i64 = nvshmemrs_team_config_mask::NVSHMEMRS_TEAM_CONFIG_UNIQUEID as i64;

fn check_team_mask(mask: i64) -> Result<()> {
    if mask & !(NUM_CONTEXTS | UNIQUEID) == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        argument: "config_mask",
        value: format!("{mask:#x}"),
        expected: "an or of nvshmemrs_team_config_mask: 1, 2".into(),
    })
}

/// The configuration for team_init, which needs a unique id.
pub(crate) fn team_init_config(
    config: *const nvshmemrs_team_config_t,
    mask: i64,
) -> Result<TeamConfig> {
    let found = team_config(config, mask)?;
    if mask & UNIQUEID == 0 || matches!(found.unique_id, 0 | u64::MAX) {
        return Err(Error::InvalidValue {
            argument: "config.uniqueid",
            value: match mask & UNIQUEID {
                0 => "left out by config_mask".into(),
                _ => found.unique_id.to_string(),
            },
            expected:
                "the number that one member got from team_unique_id, and a mask with UNIQUEID"
                    .into(),
        });
    }
    Ok(found)
}

/// A team's configuration for C; fields that `mask` leaves out have their defaults.
pub(crate) fn team_config_to_c(config: &TeamConfig, mask: i64) -> Result<nvshmemrs_team_config_t> {
    check_team_mask(mask)?;
    let mut found = default_team_config();
    if mask & NUM_CONTEXTS != 0 {
        found.num_contexts = config.num_contexts;
    }
    if mask & UNIQUEID != 0 {
        found.uniqueid = config.unique_id;
    }
    Ok(found)
}

/// A comparison from C.
pub(crate) fn cmp(cmp: i32) -> Result<Cmp> {
    Cmp::from_number(cmp)
}

/// A signal update from C.
pub(crate) fn signal_op(op: i32) -> Result<SignalOp> {
    SignalOp::from_number(op)
}

/// A host function from C, as work for a stream.
pub(crate) fn host_function(
    function: nvshmemrs_host_function_t,
    user: *mut c_void,
) -> Result<impl FnOnce(&Runtime) -> Result<()> + Send + 'static> {
    let function = function.ok_or_else(|| null("function"))?;
    // The pointer travels as a number: it is the caller's, and only handed back.
    let user = user as usize;
    Ok(move |_: &Runtime| match function(user as *mut c_void) {
        SUCCESS => Ok(()),
        result => Err(Error::System {
            call: "a host function on a stream",
            message: format!("it returned {result}"),
        }),
    })
}

/// What a program does to memory, from C.
pub(crate) fn access(access: i32) -> Result<Access> {
    match access {
        0 => Ok(Access::Load),
        1 => Ok(Access::Store),
        2 => Ok(Access::AtomicLoad),
        3 => Ok(Access::AtomicStore),
        other => Err(Error::InvalidValue {
            argument: "access",
            value: other.to_string(),
            expected: "one of nvshmemrs_access: 0, 1, 2 or 3".into(),
        }),
    }
}

/// A hook from C.
pub(crate) fn hook(
    hook: nvshmemrs_interrupt_hook_t,
    user: *mut c_void,
) -> Option<nvshmem_core::InterruptHook> {
    // The pointer travels as a number: it is the caller's, and only handed back.
    let user = user as usize;
    hook.map(|hook| -> nvshmem_core::InterruptHook {
        Arc::new(move || hook(user as *mut c_void) != SUCCESS)
    })
}

/// Bytes for the place that a hook names.
const PLACE_BYTES: usize = 512;

/// A hook that names places, from C.
pub(crate) fn site_hook(hook: nvshmemrs_site_hook_t, user: *mut c_void) -> Option<SiteHook> {
    // The pointer travels as a number: it is the caller's, and only handed back.
    let user = user as usize;
    hook.map(|hook| -> SiteHook {
        Arc::new(move |address| {
            let mut text = [0_u8; PLACE_BYTES];
            let pointer = text.as_mut_ptr().cast();
            let answer = hook(
                user as *mut c_void,
                address as *const c_void,
                pointer,
                PLACE_BYTES,
            );
            // What a hook writes without a NUL behind it is cut.
            let end = text
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(PLACE_BYTES);
            let text = String::from_utf8_lossy(&text[..end]);
            (answer == SUCCESS && end > 0).then(|| text.into_owned())
        })
    })
}

/// Static texts.
pub(crate) mod text {
    use nvshmem_core::Error;
    use std::ffi::{CStr, CString};
    use std::sync::OnceLock;

    pub(crate) const EMPTY: &CStr = c"";
    pub(crate) const NAME: &CStr = match CStr::from_bytes_with_nul(
        concat!("nvshmemrs ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
    ) {
        Ok(name) => name,
        Err(_) => panic!("the name has a NUL inside"),
    };

    /// One sentence for a status, made once for each.
    pub(crate) fn status(status: i32) -> &'static CStr {
        static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
        let texts = TEXTS.get_or_init(|| {
            (0..=100)
                .map(|status| CString::new(Error::describe(status)).unwrap_or_default())
                .collect()
        });
        let unknown = texts.last().map_or(EMPTY, |text| text);
        usize::try_from(status)
            .ok()
            .and_then(|index| texts.get(index))
            .map_or(unknown, |text| text)
    }
}
