//! The wire: a table of functions through which nvshmemrs reaches the processes of a job on other hosts.
//!
//! A plugin is a shared library that exports [`nvshmemrs_wire_open`](Open). `libnvshmemrs_mpi.so` is one, over MPI. The library
//! loads a plugin when a job has PEs on several hosts, and never before. This crate has definitions only, so that the library and
//! the plugins agree on every byte without linking each other.
//!
//! # Ranks
//! A wire joins `n_ranks` processes. The rank of a process is its number from 0 to `n_ranks - 1`.
//!
//! # Threads
//! Any thread may call a function of the table, but only one at a time: the caller holds a lock of its own around all calls of one
//! wire. [`Open`] and [`Wire::close`] may block, [`Wire::exchange`] until its time limit; all others return at once. What
//! [`Wire::send`] and the others have begun goes on in [`Wire::poll`]; some thread must call that again and again.
//!
//! # Order
//! Messages from one rank to another arrive in the order in which they were sent, each once. So do transfers of one tag: the first
//! [`Wire::send_from`] meets the first [`Wire::recv_into`] of the same pair and tag. Messages and transfers have no order among each
//! other, and neither have transfers of different tags.
//!
//! # Trust
//! The bytes of a message are what the peer has sent, and may be anything. A wire promises their length and who sent them, as far as
//! the network below it does. The receiver must check all that it reads.
//!
//! # Versions
//! A table begins with [`VERSION`] and its size in bytes. The version grows when a field changes its meaning or is removed. New fields come at the
//! end, and a reader looks at a field only if the size covers it.

use std::ffi::{c_char, c_void};

/// The version of these definitions.
pub const VERSION: u32 = 2;

/// The name of the one symbol that a plugin exports, of type [`Open`].
pub const SYMBOL: &str = "nvshmemrs_wire_open";

/// The status that a function of the table returns.
pub mod status {
    /// Done, or begun.
    pub const OK: i32 = 0;
    /// The caller speaks another [`VERSION`](crate::VERSION), or its table is too short.
    pub const VERSION: i32 = 1;
    /// An argument is wrong: no such rank, a message too long, a tag too large.
    pub const ARGUMENT: i32 = 2;
    /// The time limit has passed.
    pub const TIMEOUT: i32 = 3;
    /// The network below was started without the support for threads that the wire needs.
    pub const THREADS: i32 = 4;
    /// The plugin was built for another network library than the one that the process or its launcher uses.
    pub const MISMATCH: i32 = 5;
    /// The program has ended the network below while the wire was open. No other call than `close` succeeds any more.
    pub const ENDED: i32 = 6;
    /// The network below reports an error.
    pub const NETWORK: i32 = 7;
}

/// Which of the processes join a wire.
pub mod group {
    /// All processes that the launcher has started.
    pub const ALL: u32 = 0;
    /// Those of a communicator: `communicator` points to an `MPI_Comm`.
    pub const MPI_COMM: u32 = 1;
    /// Those of a communicator: `communicator` points to a Fortran handle, an `INTEGER` of 4 bytes.
    pub const MPI_FORTRAN: u32 = 2;
}

/// The arguments of [`Open`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpenArgs {
    /// [`VERSION`] of the caller.
    pub version: u32,
    /// Bytes of this struct, as the caller has it.
    pub size: u32,
    /// One of [`group`].
    pub group: u32,
    /// The rank that the launcher has told, or -1 if nobody has: another one is an error.
    pub rank: i32,
    /// The number of ranks that the launcher has told, or -1: another one is an error.
    pub n_ranks: i32,
    /// Filled with 0.
    pub reserved: u32,
    /// How long the processes may take to come together, in ms. The start of the network below may take longer.
    pub timeout_ms: u64,
    /// As [`group`] says; NULL for [`group::ALL`]. It is read before [`Open`] returns.
    pub communicator: *const c_void,
}

/// Opens a wire.
///
/// All processes of the group must call it. It may block for as long as the network below takes to start; a caller that has a time
/// limit calls it on a thread of its own. On success it writes the table to `*wire`, which lives until [`Wire::close`]. On failure it
/// writes the reason to `why`, a text of at most `why_len` bytes with its closing NUL, and returns one of [`status`].
///
/// # Safety
/// `args` points to an [`OpenArgs`] of the size that it says, `wire` to a pointer, `why` to `why_len` bytes that may be written.
pub type Open = unsafe extern "C" fn(
    args: *const OpenArgs,
    wire: *mut *const Wire,
    why: *mut c_char,
    why_len: usize,
) -> i32;

/// Kinds of [`Event`].
pub mod event {
    /// A message has come: `rank`, `bytes`, `len`.
    pub const MESSAGE: u32 = 1;
    /// The transfer of `token` is over. The wire no longer accesses its memory. For a receive `len` is the number of bytes that
    /// came: less than was asked for if the other side sent less or [`Wire::cancel`](crate::Wire::cancel) came first. For a send it is 0.
    pub const DONE: u32 = 2;
    /// The network below says that `rank` cannot be reached any more. It comes at most once for a rank. Not every network says so:
    /// a caller that must know of deaths in time needs heartbeats of its own.
    pub const LOST: u32 = 3;
}

/// A result of [`Wire::poll`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// One of [`event`].
    pub kind: u32,
    /// The other side.
    pub rank: i32,
    /// The token from [`Wire::send_from`] or [`Wire::recv_into`].
    pub token: u64,
    /// The message. It is valid until the next call of [`Wire::poll`] or [`Wire::close`], and aligned to 8 bytes.
    pub bytes: *const u8,
    /// Bytes of it.
    pub len: usize,
}

/// An open wire. The table lies in memory of the plugin, and nobody changes it while the wire is open.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// [`VERSION`] of the plugin.
    pub version: u32,
    /// Bytes of this struct, as the plugin has it.
    pub size: u32,
    /// The first argument of every function.
    pub ctx: *mut c_void,
    /// The name of the library below the wire, for messages, such as "Open MPI 4.1.4". It ends with a NUL.
    pub name: *const c_char,
    /// This process's rank.
    pub rank: i32,
    /// How many ranks there are.
    pub n_ranks: i32,
    /// The longest message that [`send`](Wire::send) takes, in bytes; at least 4,096.
    pub max_message: usize,
    /// The largest tag; at least 32,767.
    pub max_tag: u32,
    /// Filled with 0.
    pub reserved: u32,

    /// Gives every rank the `len` bytes at `mine` of each rank: rank r's come to `all + r * len`. `len` must be the same on all
    /// ranks. Collective over all ranks; for the start and the end of a job only. Other functions must not be called meanwhile.
    /// [`status::TIMEOUT`] if not all have come within `timeout_ms`; then no other exchange may follow. Messages still go to the ranks
    /// that are there.
    pub exchange: unsafe extern "C" fn(
        ctx: *mut c_void,
        mine: *const u8,
        len: usize,
        all: *mut u8,
        timeout_ms: u64,
    ) -> i32,

    /// Sends one message to a rank: the `head_len` bytes at `head`, and after them the `body_len` bytes at `body`, together at most
    /// `max_message`. Both are copied before it returns, so the caller may use the memory again. Either may be empty. It never
    /// waits and never refuses for lack of room: [`in_flight`](Wire::in_flight) tells who must hold back. An error is one of this
    /// message; that an earlier one could not be sent is told by [`event::LOST`].
    pub send: unsafe extern "C" fn(
        ctx: *mut c_void,
        to: i32,
        head: *const u8,
        head_len: usize,
        body: *const u8,
        body_len: usize,
    ) -> i32,

    /// How many messages that [`send`](Wire::send) took the network has not taken yet. Local.
    pub in_flight: unsafe extern "C" fn(ctx: *mut c_void) -> u64,

    /// Begins to send `len` bytes (at least 1) at `bytes` to a rank that calls [`recv_into`](Wire::recv_into) with the same tag. The
    /// bytes must stay as they are until [`poll`](Wire::poll) gives the token back in an [`event::DONE`]. They need not be copied.
    pub send_from: unsafe extern "C" fn(
        ctx: *mut c_void,
        to: i32,
        tag: u32,
        bytes: *const u8,
        len: usize,
        token: *mut u64,
    ) -> i32,

    /// Begins to receive what a rank sends with that tag into the `len` bytes (at least 1) at `bytes`. Never more than `len` bytes are
    /// written; if the other side sends more, the wire ends with [`status::NETWORK`]. The memory is the wire's until [`poll`](Wire::poll)
    /// gives the token back.
    pub recv_into: unsafe extern "C" fn(
        ctx: *mut c_void,
        from: i32,
        tag: u32,
        bytes: *mut u8,
        len: usize,
        token: *mut u64,
    ) -> i32,

    /// Asks to end what a token of [`recv_into`](Wire::recv_into) names, if nothing of it has come yet. The token still comes back from
    /// [`poll`](Wire::poll), with a `len` of 0 if it was ended. What has begun to arrive goes on. A token that is over is passed over.
    pub cancel: unsafe extern "C" fn(ctx: *mut c_void, token: u64) -> i32,

    /// Makes progress, and writes up to `room` events to `events` and their number to `found`. Returns at once if there are none. If it has
    /// found one, there may be more. Events that came before an error are written with it.
    pub poll: unsafe extern "C" fn(
        ctx: *mut c_void,
        events: *mut Event,
        room: usize,
        found: *mut usize,
    ) -> i32,

    /// The reason why the last call did not return [`status::OK`], as a text that ends with a NUL; empty if none has failed. It is valid
    /// until the next call on this wire.
    pub last_error: unsafe extern "C" fn(ctx: *mut c_void) -> *const c_char,

    /// Closes the wire; the table and `ctx` are gone afterwards, whatever it returns. It waits up to `timeout_ms` until all ranks have
    /// closed theirs, and then nothing of the wire is left. With a limit of 0 it does not wait, and after [`status::TIMEOUT`] messages
    /// may be lost. What has not come back as [`event::DONE`] then is given up; its memory must stay until the process ends.
    pub close: unsafe extern "C" fn(ctx: *mut c_void, timeout_ms: u64) -> i32,
}

/// The bytes of this version's table.
pub const TABLE_SIZE: u32 = size_of::<Wire>() as u32;
/// The bytes of this version's arguments.
pub const ARGS_SIZE: u32 = size_of::<OpenArgs>() as u32;
