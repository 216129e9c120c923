//! The functions of the table, and how a wire opens and closes.

use crate::error::{Failure, Result, check};
use crate::messages::{MAX_MESSAGE, Messages, null, test};
use crate::start::{self, MpiGuard, lock_mpi};
use crate::transfers::Transfers;
use mpi::ffi;
use nvshmemrs_wire::{ARGS_SIZE, Event, OpenArgs, TABLE_SIZE, VERSION, Wire, event, group, status};
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long a step that waits for other ranks pauses between two looks.
const PAUSE: Duration = Duration::from_micros(50);

/// An open wire. Its address is the table's `ctx`.
struct Open {
    table: Wire,
    /// The table points to its text.
    _name: CString,
    why: CString,
    /// Ours: one for messages, one for transfers, so that their tags are apart.
    comms: [ffi::MPI_Comm; 2],
    messages: Messages,
    transfers: Transfers,
}

/// Opens a wire over MPI.
///
/// # Safety
/// As [`nvshmemrs_wire::Open`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvshmemrs_wire_open(
    args: *const OpenArgs,
    wire: *mut *const Wire,
    why: *mut c_char,
    why_len: usize,
) -> i32 {
    // SAFETY: the caller passes the arguments that the documentation asks for.
    let opened = guard(|| unsafe { open(args) });
    match opened {
        Ok(open) => {
            let open = Box::into_raw(open);
            // SAFETY: the box is not freed before `close`; the caller gives a place for the table's address.
            unsafe {
                (*open).table.ctx = open.cast();
                *wire = &raw const (*open).table;
            }
            status::OK
        }
        Err(failure) => {
            let text = failure.why.as_bytes();
            let len = text.len().min(why_len.saturating_sub(1));
            if why_len > 0 {
                // SAFETY: the caller gives `why_len` bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), why.cast(), len);
                    *why.add(len) = 0;
                }
            }
            failure.status
        }
    }
}

/// # Safety
/// `args` points to as many bytes as its size says.
unsafe fn open(args: *const OpenArgs) -> Result<Box<Open>> {
    // SAFETY: the first two fields are in every version.
    let (version, size) = unsafe { ((*args).version, (*args).size) };
    if version != VERSION || size < ARGS_SIZE {
        return Err(Failure::new(
            status::VERSION,
            format!(
                "this plugin, of nvshmemrs {}, speaks version {VERSION} of the wire with {ARGS_SIZE} bytes of arguments, the library version \
                 {version} with {size}",
                env!("CARGO_PKG_VERSION")
            ),
        ));
    }
    // SAFETY: the size covers all fields.
    let args = unsafe { *args };
    start::start()?;
    // SAFETY: MPI runs; the caller promises that the communicator is valid.
    let joined = unsafe { join(&args) };
    if joined.is_err() {
        // Other ranks may be waiting in MPI for this one.
        let mut guard = lock_mpi()?;
        guard.state().open -= 1;
        guard.state().disorderly = true;
    }
    joined
}

/// # Safety
/// The arguments are as [`OpenArgs`] says.
unsafe fn join(args: &OpenArgs) -> Result<Box<Open>> {
    // SAFETY: these are constants of MPI's, or the caller promises that the pointer leads to a communicator.
    let group = unsafe {
        match args.group {
            group::ALL => ffi::RSMPI_COMM_WORLD,
            group::MPI_COMM | group::MPI_FORTRAN if args.communicator.is_null() => {
                return Err(argument("the communicator is NULL"));
            }
            group::MPI_COMM => *args.communicator.cast::<ffi::MPI_Comm>(),
            group::MPI_FORTRAN => ffi::RSMPI_Comm_f2c(*args.communicator.cast()),
            other => return Err(argument(format!("there is no group {other}"))),
        }
    };
    // SAFETY: it is a constant of MPI's.
    if group == unsafe { ffi::RSMPI_COMM_NULL } {
        return Err(argument("the communicator is MPI_COMM_NULL"));
    }
    let (mut rank, mut n_ranks, mut inter): (c_int, c_int, c_int) = (0, 0, 0);
    {
        let _guard = lock_mpi()?;
        // SAFETY: MPI runs, and the caller has given a communicator.
        unsafe {
            check(
                ffi::MPI_Comm_test_inter(group, &mut inter),
                "MPI_Comm_test_inter",
            )?;
            check(ffi::MPI_Comm_rank(group, &mut rank), "MPI_Comm_rank")?;
            check(ffi::MPI_Comm_size(group, &mut n_ranks), "MPI_Comm_size")?;
        }
    }
    if inter != 0 {
        return Err(argument(
            "the communicator is an intercommunicator; merge it first",
        ));
    }
    let told = |told: i32, found| told >= 0 && told != found;
    if told(args.n_ranks, n_ranks) || told(args.rank, rank) {
        return Err(Failure::new(
            status::MISMATCH,
            format!(
                "the launcher says that this is process {} of {}, but {}, which the plugin uses, says process {rank} of {n_ranks}: \
                 start the job with the mpirun of that MPI, or take the plugin for the launcher's",
                args.rank,
                args.n_ranks,
                start::name()
            ),
        ));
    }
    let until = Instant::now() + Duration::from_millis(args.timeout_ms);
    let mut comms = [null_comm(); 2];
    for comm in &mut comms {
        *comm = duplicate(group, until)?;
    }
    let _guard = lock_mpi()?;
    let name = CString::new(start::name()).unwrap_or_default();
    let table = Wire {
        version: VERSION,
        size: TABLE_SIZE,
        ctx: std::ptr::null_mut(),
        name: name.as_ptr(),
        rank,
        n_ranks,
        max_message: MAX_MESSAGE,
        max_tag: max_tag(comms[1])?,
        reserved: 0,
        exchange,
        send,
        in_flight,
        send_from,
        recv_into,
        cancel,
        poll,
        last_error,
        close,
    };
    Ok(Box::new(Open {
        table,
        _name: name,
        why: CString::default(),
        comms,
        messages: Messages::new(comms[0])?,
        transfers: Transfers::new(comms[1]),
    }))
}

fn argument(why: impl Into<String>) -> Failure {
    Failure::new(status::ARGUMENT, why)
}

fn null_comm() -> ffi::MPI_Comm {
    // SAFETY: it is a constant of MPI's.
    unsafe { ffi::RSMPI_COMM_NULL }
}

/// A communicator of our own with the same ranks. Its errors are returned, and do not end the process.
fn duplicate(group: ffi::MPI_Comm, until: Instant) -> Result<ffi::MPI_Comm> {
    // MPI writes to it until the request is over, which it may never be.
    let new = Box::into_raw(Box::new(null_comm()));
    let mut request = null();
    let begun = {
        let _guard = lock_mpi()?;
        // SAFETY: MPI runs, and the new handle lives until the request is over.
        check(
            unsafe { ffi::MPI_Comm_idup(group, new, &mut request) },
            "MPI_Comm_idup",
        )
    };
    begun?;
    finish(&mut request, until, "duplicate the communicator")?;
    let _guard = lock_mpi()?;
    // SAFETY: the request is over, so the box is ours alone again, and it holds a communicator.
    unsafe {
        let new = *Box::from_raw(new);
        let set = ffi::MPI_Comm_set_errhandler(new, ffi::RSMPI_ERRORS_RETURN);
        check(set, "MPI_Comm_set_errhandler")?;
        Ok(new)
    }
}

/// Waits for other ranks, without holding the lock on MPI.
fn finish(request: &mut ffi::MPI_Request, until: Instant, what: &str) -> Result<()> {
    loop {
        let guard = lock_mpi()?;
        if test(request)?.is_some() {
            return Ok(());
        }
        drop(guard);
        if Instant::now() >= until {
            let why = format!("not all processes have come to {what} in time");
            return Err(Failure::new(status::TIMEOUT, why));
        }
        std::thread::sleep(PAUSE);
    }
}

fn max_tag(comm: ffi::MPI_Comm) -> Result<u32> {
    let mut value: *mut c_int = std::ptr::null_mut();
    let mut there: c_int = 0;
    // SAFETY: MPI runs; for this key it writes the address of an int, which stays.
    let most = unsafe {
        let key = ffi::MPI_TAG_UB as c_int;
        let asked = ffi::MPI_Comm_get_attr(comm, key, (&raw mut value).cast(), &mut there);
        check(asked, "MPI_Comm_get_attr")?;
        (there != 0 && !value.is_null()).then(|| *value)
    };
    Ok(most
        .and_then(|most| u32::try_from(most).ok())
        .unwrap_or(32_767))
}

/// Turns a panic into a failure.
fn guard<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let why = "the plugin has panicked: this is a mistake in it";
        Err(Failure::new(status::NETWORK, why))
    })
}

/// Runs a function of the table: without a panic, with the lock on MPI where `locks_mpi`, and keeps the reason of a failure.
///
/// # Safety
/// `ctx` is that of an open wire, and no other call on it is under way.
unsafe fn call(ctx: *mut c_void, body: impl FnOnce(&mut Open) -> Result<()>) -> i32 {
    // SAFETY: the caller promises that the wire is open and this the only call.
    let open = unsafe { &mut *ctx.cast::<Open>() };
    match guard(|| body(open)) {
        Ok(()) => {
            if !open.why.is_empty() {
                open.why = CString::default();
            }
            status::OK
        }
        Err(failure) => {
            open.why = CString::new(failure.why).unwrap_or_default();
            failure.status
        }
    }
}

/// As [`call`], with the right to call MPI.
///
/// # Safety
/// As for [`call`].
unsafe fn with_mpi(ctx: *mut c_void, body: impl FnOnce(&mut Open) -> Result<()>) -> i32 {
    let body = |open: &mut Open| {
        let _guard: MpiGuard = lock_mpi()?;
        body(open)
    };
    // SAFETY: the caller promises it.
    unsafe { call(ctx, body) }
}

impl Open {
    fn check_rank(&self, rank: i32) -> Result<()> {
        match (0..self.table.n_ranks).contains(&rank) {
            true => Ok(()),
            false => Err(argument(format!(
                "there is no rank {rank} of {}",
                self.table.n_ranks
            ))),
        }
    }

    fn check_transfer(&self, rank: i32, tag: u32, len: usize) -> Result<c_int> {
        self.check_rank(rank)?;
        if tag > self.table.max_tag {
            let why = format!("the tag {tag} is larger than {}", self.table.max_tag);
            return Err(argument(why));
        }
        if len == 0 {
            return Err(argument("a body has at least 1 byte"));
        }
        Ok(tag as c_int)
    }

    fn poll(&mut self, events: &mut impl FnMut(Event) -> bool) -> Result<()> {
        self.messages.take_back()?;
        // One at a time: a request for another message lets MPI look at all of its networks, which would delay the waiter for this message.
        if let Some(message) = self.messages.next()? {
            let room = events(Event {
                kind: event::MESSAGE,
                rank: message.from,
                token: 0,
                bytes: message.bytes,
                len: message.len,
            });
            if !room {
                return Ok(());
            }
        }
        self.messages.reap();
        while let Some(rank) = self.messages.lost() {
            let room = events(Event {
                kind: event::LOST,
                rank,
                token: 0,
                bytes: std::ptr::null(),
                len: 0,
            });
            if !room {
                return Ok(());
            }
        }
        let mut at = 0;
        while let Some(done) = self.transfers.next(&mut at)? {
            let room = events(Event {
                kind: event::DONE,
                rank: done.rank,
                token: done.token,
                bytes: std::ptr::null(),
                len: done.len,
            });
            if !room {
                return Ok(());
            }
        }
        Ok(())
    }
}

unsafe extern "C" fn exchange(
    ctx: *mut c_void,
    mine: *const u8,
    len: usize,
    all: *mut u8,
    timeout_ms: u64,
) -> i32 {
    let body = |open: &mut Open| {
        let until = Instant::now() + Duration::from_millis(timeout_ms);
        let count = c_int::try_from(len)
            .map_err(|_| argument(format!("{len} bytes are too many to exchange")))?;
        let n = open.table.n_ranks as usize;
        // MPI may write until the exchange is over, so an exchange in flight keeps its memory.
        let own = Box::into_raw(vec![0u8; len.max(1)].into_boxed_slice());
        let theirs = Box::into_raw(vec![0u8; (len * n).max(1)].into_boxed_slice());
        let mut request = null();
        {
            let _guard = lock_mpi()?;
            // SAFETY: the caller gives `len` bytes; the two boxes live until the request is over.
            let begun = unsafe {
                std::ptr::copy_nonoverlapping(mine, own.cast(), len);
                let (byte, comm) = (ffi::RSMPI_UINT8_T, open.comms[0]);
                ffi::MPI_Iallgather(
                    own.cast(),
                    count,
                    byte,
                    theirs.cast(),
                    count,
                    byte,
                    comm,
                    &mut request,
                )
            };
            check(begun, "MPI_Iallgather")?;
        }
        finish(&mut request, until, "an exchange")?;
        // SAFETY: the request is over, so the boxes are ours alone; the caller gives room for the bytes of all ranks.
        unsafe {
            std::ptr::copy_nonoverlapping(theirs.cast::<u8>(), all, len * n);
            drop(Box::from_raw(own));
            drop(Box::from_raw(theirs));
        }
        Ok(())
    };
    // SAFETY: the caller keeps the contract of the table.
    unsafe { call(ctx, body) }
}

unsafe extern "C" fn send(
    ctx: *mut c_void,
    to: i32,
    head: *const u8,
    head_len: usize,
    body: *const u8,
    body_len: usize,
) -> i32 {
    let body = |open: &mut Open| {
        open.check_rank(to)?;
        let len = head_len.saturating_add(body_len);
        if len > MAX_MESSAGE {
            let why = format!("a message of {len} bytes is longer than {MAX_MESSAGE}");
            return Err(argument(why));
        }
        // SAFETY: the caller gives both parts, and the length is checked.
        unsafe { open.messages.send(to, [(head, head_len), (body, body_len)]) }
    };
    // SAFETY: the caller keeps the contract of the table.
    unsafe { with_mpi(ctx, body) }
}

unsafe extern "C" fn in_flight(ctx: *mut c_void) -> u64 {
    // SAFETY: the caller keeps the contract of the table.
    unsafe { (*ctx.cast::<Open>()).messages.in_flight() as u64 }
}

unsafe extern "C" fn send_from(
    ctx: *mut c_void,
    to: i32,
    tag: u32,
    bytes: *const u8,
    len: usize,
    token: *mut u64,
) -> i32 {
    let body = |open: &mut Open| {
        let tag = open.check_transfer(to, tag, len)?;
        // SAFETY: the caller keeps the bytes until the token comes back, and gives a place for it.
        unsafe { *token = open.transfers.send(to, tag, bytes, len)? };
        Ok(())
    };
    // SAFETY: the caller keeps the contract of the table.
    unsafe { with_mpi(ctx, body) }
}

unsafe extern "C" fn recv_into(
    ctx: *mut c_void,
    from: i32,
    tag: u32,
    bytes: *mut u8,
    len: usize,
    token: *mut u64,
) -> i32 {
    let body = |open: &mut Open| {
        let tag = open.check_transfer(from, tag, len)?;
        // SAFETY: the caller leaves the bytes to the wire until the token comes back, and gives a place for it.
        unsafe { *token = open.transfers.receive(from, tag, bytes, len)? };
        Ok(())
    };
    // SAFETY: the caller keeps the contract of the table.
    unsafe { with_mpi(ctx, body) }
}

unsafe extern "C" fn cancel(ctx: *mut c_void, token: u64) -> i32 {
    // SAFETY: the caller keeps the contract of the table.
    unsafe { with_mpi(ctx, |open| open.transfers.cancel(token)) }
}

unsafe extern "C" fn poll(
    ctx: *mut c_void,
    events: *mut Event,
    room: usize,
    found: *mut usize,
) -> i32 {
    let mut count = 0;
    let body = |open: &mut Open| {
        if room == 0 {
            return Ok(());
        }
        open.poll(&mut |event| {
            // SAFETY: the caller gives `room` places, and the count is below that.
            unsafe { events.add(count).write(event) };
            count += 1;
            count < room
        })
    };
    // SAFETY: the caller keeps the contract of the table, and gives a place for the number.
    unsafe {
        let status = with_mpi(ctx, body);
        *found = count;
        status
    }
}

unsafe extern "C" fn last_error(ctx: *mut c_void) -> *const c_char {
    // SAFETY: the caller keeps the contract of the table.
    unsafe { (*ctx.cast::<Open>()).why.as_ptr() }
}

unsafe extern "C" fn close(ctx: *mut c_void, timeout_ms: u64) -> i32 {
    // SAFETY: the caller gives an open wire, and calls nothing on it any more.
    let open = unsafe { Box::from_raw(ctx.cast::<Open>()) };
    let closed = guard(|| shut(*open, timeout_ms));
    closed.map_or_else(|failure| failure.status, |()| status::OK)
}

/// Closes a wire. If not all ranks do, its communicators and the memory that MPI may still use are kept.
fn shut(mut open: Open, timeout_ms: u64) -> Result<()> {
    let mut met = Err(Failure::new(status::TIMEOUT, "nobody was waited for"));
    if timeout_ms > 0 {
        met = meet(
            &mut open,
            Instant::now() + Duration::from_millis(timeout_ms),
        );
    }
    let mut guard = match lock_mpi() {
        Ok(guard) => guard,
        Err(failure) => {
            open.messages.forget();
            return Err(failure);
        }
    };
    let state = guard.state();
    state.open -= 1;
    if met.is_err() || !open.transfers.is_empty() {
        state.disorderly = true;
        open.messages.forget();
        return met.and_then(|()| {
            let why = "transfers were in flight when the wire was closed";
            Err(Failure::new(status::TIMEOUT, why))
        });
    }
    open.messages.end()?;
    for comm in &mut open.comms {
        // SAFETY: all ranks have come to close, and nothing is under way on the communicator.
        check(unsafe { ffi::MPI_Comm_free(comm) }, "MPI_Comm_free")?;
    }
    Ok(())
}

/// Waits until all ranks close the wire and the messages of this one have left. Messages that come meanwhile are dropped.
fn meet(open: &mut Open, until: Instant) -> Result<()> {
    let mut request = null();
    {
        let _guard = lock_mpi()?;
        // SAFETY: MPI runs, and the communicator is ours.
        let begun = unsafe { ffi::MPI_Ibarrier(open.comms[0], &mut request) };
        check(begun, "MPI_Ibarrier")?;
    }
    let mut all = false;
    loop {
        {
            let _guard = lock_mpi()?;
            open.poll(&mut |_| true)?;
            all = all || test(&mut request)?.is_some();
        }
        if all && open.messages.in_flight() == 0 {
            return Ok(());
        }
        if Instant::now() >= until {
            let why = "not all ranks have closed their wires in time";
            return Err(Failure::new(status::TIMEOUT, why));
        }
        std::thread::sleep(PAUSE);
    }
}

// The layout that another compiler or another version of this crate might change.
const _: () = assert!(offset_of!(Wire, version) == 0 && offset_of!(Wire, size) == 4);
const _: () = assert!(offset_of!(OpenArgs, version) == 0 && offset_of!(OpenArgs, size) == 4);
