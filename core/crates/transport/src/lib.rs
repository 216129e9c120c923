//! The transport contract, which every kind of memory implements, and the checker around any of them.
//!
//! Callers check bounds, PE, team and alignment, once. A transport relies on that: an offset and its length lie within
//! `stride`, a PE is in the job, an atomic's offset is aligned to its width. It returns only errors of the machine.
//!
//! | file | contents |
//! |---|---|
//! | [`request`] | an operation as a value |
//! | [`hooks`] | collectives, waits on streams and streams that a transport implements itself; the PE that it belongs to |
//! | [`provider`] | provides the memory of a heap before the job exists; how a PE joins |
//! | [`observer`] | events for a transport that observes the program, besides the operations |
//! | [`host`] | memory of the host |
//! | [`device_memory`] | memory of GPUs, as the transport to other hosts uses it |
//! | [`traffic`] | a wrapper that counts the program's operations and bytes |
//! | [`trace`] | a wrapper that records the program's operations with their times |
//! | [`copy`] | the one copy primitive |
//! | [`device_state`] | the state for kernels of the program |
//!
//! Memory of GPUs (`cuda`), PEs of other hosts (`net`) and the checker (`check`) are crates that implement the contract. The library
//! chooses among them in `core/src/transport`. State that PEs share for every kind of memory is in `job`.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_diagnostics::sites;
use nvshmemrs_job as job;
use nvshmemrs_vocabulary::{
    Error, MemoryKind, Pe, Result, buffer, clock, config, dtype, lock, op, operation, strides,
    words,
};

/// The methods of a wrapper that forward to the transport in its field.
macro_rules! forwards_to {
    ($field:ident) => {
        fn inner(&self) -> Option<&dyn Transport> {
            Some(&*self.$field)
        }

        fn properties(&self) -> Properties {
            self.$field.properties()
        }

        fn memory(&self) -> &dyn Memory {
            self.$field.memory()
        }

        fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
            self.$field.local_ptr(pe, offset)
        }

        fn keep(&self, error: Error) {
            self.$field.keep(error);
        }
    };
}

pub mod copy;
mod device_memory;
pub mod device_state;
#[cfg(test)]
mod forwarding;
mod hooks;
pub mod host;
mod host_driven;
pub mod observer;
mod provider;
mod request;
mod service;
pub mod trace;
pub mod traffic;

pub use device_memory::{DeviceMemory, PinnedBuffer, TargetStream, VALUE_BYTES};
pub use device_state::{DeviceState, DeviceTables};
pub use hooks::{
    Collective, CollectiveShape, Collectives, Expected, Found, MatchMode, Meeting, Owner, Search,
    StreamHold, StreamLifetime, Streams, Task, TransportEvent, TransportStream,
};
pub use host_driven::HostDriven;
pub use observer::{Observer, Watch};
pub use provider::{HostAccess, JobPeers, Joined, LocalTransport, MemoryProvider};
pub use request::{
    Body, NOTHING, Reply, Request, bytes_of, execute_in_parts, execute_inlined, execute_internal,
};
pub use service::{PeerCalls, Service};

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::liveness::WatchdogTask;
use crate::op::SignalOp;
use crate::operation::Operation;
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

/// How an operation is submitted: blocking, or on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The operation completes, as its description says, before the call returns.
    Blocking,
    /// The operation is enqueued on the stream with this number of the transport, and the call returns.
    Stream(u64),
}

/// The number of a context of a PE: fence and quiet of one context do not order or complete the operations of another. 0 is the default
/// context, which operations without a context use.
pub type Context = u32;

/// How an operation is submitted, and in which context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issuer {
    pub submission: Submission,
    pub context: Context,
}

impl From<Submission> for Issuer {
    fn from(submission: Submission) -> Issuer {
        Issuer {
            submission,
            context: 0,
        }
    }
}

/// The width of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Bits32,
    Bits64,
}

/// An atomic operation; 32-bit operands are zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Fetch,
    Set(u64),
    Swap(u64),
    CompareSwap {
        cond: u64,
        value: u64,
    },
    /// Adds an integer, wrapping around.
    Add(u64),
    /// Adds a floating-point number, given as bits.
    AddFloat(u64),
    And(u64),
    Or(u64),
    Xor(u64),
}

impl Width {
    /// How many bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Width::Bits32 => 4,
            Width::Bits64 => 8,
        }
    }
}

impl Atomic {
    /// The fetching operation of this kind, or the only one.
    pub fn fetching(self) -> Operation {
        match self {
            Atomic::Fetch => Operation::AtomicFetch,
            Atomic::Set(_) => Operation::AtomicSet,
            Atomic::Swap(_) => Operation::AtomicSwap,
            Atomic::CompareSwap { .. } => Operation::AtomicCompareSwap,
            Atomic::Add(_) | Atomic::AddFloat(_) => Operation::AtomicFetchAdd,
            Atomic::And(_) => Operation::AtomicFetchAnd,
            Atomic::Or(_) => Operation::AtomicFetchOr,
            Atomic::Xor(_) => Operation::AtomicFetchXor,
        }
    }

    /// Its number for kernels, its operand, and its comparison value.
    pub fn parts(self) -> (u8, u64, u64) {
        match self {
            Atomic::Fetch => (0, 0, 0),
            Atomic::Set(value) => (1, value, 0),
            Atomic::Swap(value) => (2, value, 0),
            Atomic::CompareSwap { cond, value } => (3, value, cond),
            Atomic::Add(value) => (4, value, 0),
            Atomic::AddFloat(value) => (5, value, 0),
            Atomic::And(value) => (6, value, 0),
            Atomic::Or(value) => (7, value, 0),
            Atomic::Xor(value) => (8, value, 0),
        }
    }
}

/// A signal's update.
#[derive(Clone, Copy, Debug)]
pub struct SignalUpdate {
    pub offset: u64,
    pub value: u64,
    pub op: SignalOp,
}

/// Whether an operation may be incomplete when it returns; `lasts`: it may even use its local memory until quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nbi {
    No,
    Yes { lasts: bool },
}

/// An operation as the program calls it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub submission: Submission,
    pub context: Context,
    /// The name for the program, and the place of the call, for observers.
    pub called: Operation,
    pub at: &'static Location<'static>,
}

impl Call {
    /// The submission, and the name for the program.
    pub fn submitted(&self) -> (Submission, Operation) {
        (self.submission, self.called)
    }
}

/// A put of `source` to `dest` of a PE.
#[derive(Clone, Copy, Debug)]
pub struct PutRequest<'a> {
    pub pe: Pe,
    pub dest: u64,
    pub source: LocalSource<'a>,
}

/// A get from a PE to `dest`.
#[derive(Debug)]
pub struct GetRequest<'a> {
    pub pe: Pe,
    pub source: u64,
    pub dest: LocalDest<'a>,
}

/// An atomic operation on the word at `offset` of a PE.
#[derive(Clone, Copy, Debug)]
pub struct AtomicRequest {
    pub pe: Pe,
    pub offset: u64,
    pub width: Width,
    pub operation: Atomic,
    pub fetches: bool,
}

/// A copy from symmetric memory of `from` to symmetric memory of `to`.
#[derive(Clone, Copy, Debug)]
pub struct CopyRequest {
    pub to: Pe,
    pub dest: u64,
    pub from: Pe,
    pub source: u64,
    pub bytes: u64,
}

/// The properties of a kind of memory for the layers above.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// Where the heap lives.
    pub kind: MemoryKind,
    /// Registered buffers are multiples of this.
    pub page_bytes: u64,
    /// Whether this process can load and store its part of the heap.
    pub may_load: bool,
    /// Whether the heap is the machine's memory, so that one PE checks the available memory for all. Else each PE does so, in
    /// `commit`.
    pub takes_machine_memory: bool,
    /// Whether reading a word is slow, and a write to it rings no doorbell.
    pub polling_is_slow: bool,
    /// The calls that allocate memory which can be registered.
    pub makers_of_memory: &'static str,
    /// The GPU of this PE, by its number in this process.
    pub device: Option<i32>,
}

/// The memory behind this PE's part of the heap.
pub trait Memory {
    /// Commits memory for `range`, so that later accesses cannot fail.
    fn commit(&self, range: SymRange) -> Result<()>;

    /// Frees the memory of whole pages of `range`.
    fn decommit(&self, range: SymRange);

    /// Sets `range` to 0.
    fn zero(&self, range: SymRange) -> Result<()>;

    /// Checks that `bytes` bytes of the program's memory at `buffer` can become symmetric, and appear at `preferred` (0 for nowhere
    /// else), too.
    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()>;

    /// Checks that memory which `adopt` took can be given back now.
    fn check_give_back(&self) -> Result<()>;

    /// Makes memory of the program, which was checked, this PE's copy of `range`, with its contents.
    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// Makes memory which `adopt` took the program's own memory again, with its contents.
    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// Makes the executable's variables, which start at `start`, this PE's copy of `range`, with their contents.
    fn adopt_static(&self, _range: SymRange, _start: u64) -> Result<()> {
        Err(Error::NotSupported(
            "variables of the executable are host memory, and the heap is not: set NVSHMEMRS_MEMORY=host, or allocate with `malloc()`"
                .into(),
        ))
    }

    /// Makes the executable's variables, which `adopt_static` took, private memory again, with their contents.
    fn give_back_static(&self, _range: SymRange, _start: u64) -> Result<()> {
        Ok(())
    }
}

/// A kind of memory with its operations, or a wrapper around a transport. The module lists the checks that it may rely on.
///
/// A wrapper returns the wrapped transport from [`inner`](Transport::inner) and overrides some methods, most often
/// [`execute`](Transport::execute): every method with a default forwards to `inner`.
pub trait Transport: Any + Send + Sync {
    /// The transport to which the defaults of this trait forward. `None`: this is not a wrapper.
    fn inner(&self) -> Option<&dyn Transport> {
        None
    }

    /// Its properties for the layers above.
    fn properties(&self) -> Properties;

    /// The memory behind this PE's part of the heap.
    fn memory(&self) -> &dyn Memory;

    /// The address at which this process can load and store `offset` of `pe`, if it can.
    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64>;

    /// Executes a request. On [`Submission::Blocking`] it completes, as its [kind](Body) says, before the call returns.
    fn execute(&self, request: Request<'_>) -> Result<Reply>;

    /// Keeps an error for [`failure`](Transport::failure), unless there is one.
    fn keep(&self, error: Error);

    /// The error of an operation that could not return it; it stays.
    fn failure(&self) -> Result<()> {
        self.inner().map_or(Ok(()), Transport::failure)
    }

    /// The transport for internal operations of the library, if this transport is only for operations of the program.
    fn unwatched(&self) -> Option<&dyn Transport> {
        None
    }

    /// The observer of the program's calls, if this transport is one.
    fn observer(&self) -> Option<&dyn Observer> {
        self.inner()?.observer()
    }

    /// Called during a wait; delayed operations may be delivered meanwhile.
    fn progress(&self) {
        if let Some(inner) = self.inner() {
            inner.progress();
        }
    }

    /// The PE that this transport belongs to, which can wait from now on.
    fn owned_by(&self, owner: Arc<dyn Owner>) {
        if let Some(inner) = self.inner() {
            inner.owned_by(owner);
        }
    }

    /// Collectives that it runs itself.
    fn collectives(&self) -> Option<&dyn Collectives> {
        self.inner()?.collectives()
    }

    /// The tables for kernels of the program, if these can address the heap.
    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        self.inner()?.device_tables()
    }

    /// Enqueues a wait or a test on a native stream; `None`: the transport has no streams.
    fn search(&self, submission: Submission, search: &Search<'_>) -> Option<Result<Found>> {
        self.inner()?.search(submission, search)
    }

    /// Native streams.
    fn streams(&self) -> Option<&dyn Streams> {
        self.inner()?.streams()
    }

    /// The PE is in finalize: waits for operations that the program has left running, and tells the members of its teams, where they
    /// cannot see it, that it enters no further collective.
    fn drain(&self) -> Result<()> {
        self.inner().map_or(Ok(()), Transport::drain)
    }

    /// The PE leaves the job: its running operations end. If it has `gone` without an announcement, operations of others that wait for
    /// it end, too. Returns a message for the user, if any.
    fn leave(&self, gone: bool) -> Option<String> {
        self.inner()?.leave(gone)
    }

    /// The PE has left the job and has announced it: closes the connections. `finalized`: all others have left with it.
    fn disconnect(&self, finalized: bool) {
        if let Some(inner) = self.inner() {
            inner.disconnect(finalized);
        }
    }

    /// A task that the watchdog runs in each of its rounds.
    fn chore(&self) -> Option<WatchdogTask> {
        self.inner()?.chore()
    }

    /// A description for a message.
    fn about(&self) -> Option<String> {
        self.inner()?.about()
    }

    /// Keeps the heap's memory mapped, where the job's segment does not.
    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.inner()?.mapping()
    }
}
