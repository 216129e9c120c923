//! The transport contract: what every kind of memory implements, and the checker around any of them.
//!
//! Callers above have checked bounds, PE, team and alignment, once. A transport takes them for granted: an offset and
//! its length lie within `stride`, a PE is one of the job, an atomic's offset is aligned to its width. It reports
//! only what the machine refuses.
//!
//! | file | what it holds |
//! |---|---|
//! | [`route`] | the way of an operation: host memory inlined, all else by one cold call |
//! | [`hooks`] | what a transport may do by itself: collectives, waits on streams, streams; what it may ask of its PE |
//! | [`origin`] | a kind of memory before there is a job on it; how a PE joins |
//! | [`notes`] | what a transport that watches the program is told |
//! | [`host`], [`cuda`] | memory of the host, memory of GPUs |
//! | [`remote`] | PEs of several hosts, which wraps either |
//! | [`check`] | the checker, which wraps another transport |
//! | [`traffic`] | counts what the program moves, as a wrapper, too |
//! | [`pass_on`] | methods of those that wrap a transport |
//! | [`copy`] | the one copy primitive |
//! | [`device_state`] | what kernels of the program's get |
//!
//! What the PEs share whatever the memory kind is in [`crate::job`].

pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod cuda;
pub(crate) mod device_state;
mod hooks;
pub(crate) mod host;
pub(crate) mod notes;
mod origin;
mod pass_on;
pub(crate) mod remote;
mod route;
pub(crate) mod traffic;

pub(crate) use check::Settings as CheckSettings;
pub use cuda::images::{Made as KernelImage, make as make_kernel_images};
pub use cuda::streams::CudaStreamRef;
pub use cuda::survey as gpus;
pub use device_state::DeviceState;
pub(crate) use device_state::DeviceTables;
pub(crate) use hooks::{
    Collective, Collectives, Expected, Form, Found, Gate, Goal, Meeting, Owner, Search, Streams,
    Task, TransportEvent, TransportStream,
};
pub(crate) use notes::{Notes, Watch};
pub(crate) use origin::{Company, Joined, Origin, of_process, of_threads};
pub(crate) use route::{Own, Route};

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::liveness::Chore;
use crate::op::SignalOp;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::{Error, MemoryKind, Pe, Result};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

/// Where an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// It is done as its description says when the call returns.
    Blocking,
    /// It is put on the stream that the transport knows by this number, and the call returns.
    Stream(u64),
}

/// The width of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Bits32,
    Bits64,
}

/// An atomic operation; operands of 32-bit ones are zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Fetch,
    Set(u64),
    Swap(u64),
    CompareSwap {
        cond: u64,
        value: u64,
    },
    /// Adds an integer, wrapping around.
    Add(u64),
    /// Adds a floating-point number, whose bits these are.
    AddFloat(u64),
    And(u64),
    Or(u64),
    Xor(u64),
}

impl Width {
    /// How many bytes.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Width::Bits32 => 4,
            Width::Bits64 => 8,
        }
    }
}

impl Atomic {
    /// The operation that does it and gives the old value, or the only one that does it.
    fn fetching(self) -> Operation {
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

    /// Its number for kernels, its operand, and what it compares with.
    fn parts(self) -> (u8, u64, u64) {
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
pub(crate) struct SignalUpdate {
    pub(crate) offset: u64,
    pub(crate) value: u64,
    pub(crate) op: SignalOp,
}

/// Whether an operation may be incomplete when it returns; `lasts`: it may even use its local memory until quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nbi {
    No,
    Yes { lasts: bool },
}

/// An operation as the program calls it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) lane: Lane,
    /// What the program knows it as, and where it is called: for what watches the program.
    pub(crate) called: Operation,
    pub(crate) at: &'static Location<'static>,
}

/// Data of a PE that is to come to `dest`.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) pe: Pe,
    pub(crate) source: u64,
    pub(crate) dest: LocalDest<'a>,
}

/// The blocks of a transfer from `source` of a PE; `dest` covers their span.
fn wanted_blocks<'a>(
    pe: Pe,
    source: u64,
    dest: LocalDest<'a>,
    transfer: &'a Transfer,
) -> impl Iterator<Item = Wanted<'a>> {
    let (_, block, _) = transfer.dest().parts();
    transfer.blocks().map(move |(to, from)| Wanted {
        pe,
        source: source + from,
        dest: dest.part(to as usize, block as usize),
    })
}

/// What a kind of memory does, and whatever wraps one. See the module for what it may take for granted.
///
/// A lane that is [`Lane::Blocking`] means that the operation is done, as its description says, when the call returns.
pub(crate) trait Transport: Any + Send + Sync {
    /// Where the heap lives.
    fn kind(&self) -> MemoryKind;

    /// Memory of the program's becomes symmetric in multiples of this.
    fn page_bytes(&self) -> u64;

    /// Whether this process can load and store its part of the heap.
    fn may_load(&self) -> bool {
        true
    }

    /// Whether the heap takes the machine's memory, so that one PE asks for what all need. Else each asks for its own, in `commit`.
    fn takes_machine_memory(&self) -> bool {
        true
    }

    /// Whether a look at a word takes long, and who writes it rings no bell.
    fn looks_are_slow(&self) -> bool {
        false
    }

    /// What gives the program memory that can become symmetric.
    fn makers_of_memory(&self) -> &'static str {
        "mmap and posix_memalign give such memory"
    }

    /// What went wrong in an operation that could not say so itself; it stays.
    fn failure(&self) -> Result<()> {
        Ok(())
    }

    /// Keeps an error for [`failure`](Transport::failure), unless there is one.
    fn keep(&self, error: Error);

    /// Backs this PE's copy of `range` with memory, so that later accesses cannot fail.
    fn commit(&self, range: SymRange) -> Result<()>;

    /// Gives back memory that backs this PE's copy of `range`, where whole pages allow.
    fn decommit(&self, range: SymRange);

    /// Sets this PE's copy of `range` to 0.
    fn zero(&self, range: SymRange) -> Result<()>;

    /// Checks that `bytes` bytes of the program's memory at `buffer` can become symmetric, and appear at `preferred` (0 for nowhere
    /// else), too.
    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()>;

    /// Checks that what `adopt` took can be given back now.
    fn check_give_back(&self) -> Result<()>;

    /// Makes memory of the program's, which was checked, this PE's copy of `range`, with its contents.
    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// Makes what `adopt` took the program's own memory again, with its contents.
    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// The address at which this process can load and store `offset` of `pe`, if it can.
    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64>;

    /// Copies `source` to `dest` bytes of `pe`. Returns when `source` may be reused; with [`Nbi::Yes`] it may be in use until
    /// [`quiet`](Transport::quiet) if it lasts.
    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()>;

    /// Copies from `source` of `pe` to `dest`. Returns when the data is there; with [`Nbi::Yes`] it may be incomplete until
    /// [`quiet`](Transport::quiet) if `dest` lasts.
    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()>;

    /// As [`get`](Transport::get), of all that is wanted.
    fn get_all(&self, call: Call, wanted: &mut dyn Iterator<Item = Wanted<'_>>) -> Result<()> {
        for Wanted { pe, source, dest } in wanted {
            self.get(call, pe, source, dest, Nbi::No)?;
        }
        Ok(())
    }

    /// As [`put`](Transport::put), of a value of the library's own, of at most 16 bytes.
    fn put_value(&self, call: Call, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        self.put(call, pe, dest, LocalSource::from(value), Nbi::No)
    }

    /// As [`get`](Transport::get), of a value of `bytes` bytes, at most 16.
    fn get_value(&self, call: Call, pe: Pe, source: u64, bytes: usize) -> Result<[u64; 2]> {
        let mut words = [0; 2];
        let value = &mut bytemuck::bytes_of_mut(&mut words)[..bytes];
        self.get(call, pe, source, LocalDest::from(value), Nbi::No)?;
        Ok(words)
    }

    /// As [`put`](Transport::put), of the blocks of a transfer; `source` covers their span.
    fn put_blocks(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        let (_, block, _) = transfer.dest().parts();
        transfer.blocks().try_for_each(|(to, from)| {
            let block = source.part(from as usize, block as usize);
            self.put(call, pe, dest + to, block, Nbi::No)
        })
    }

    /// As [`get`](Transport::get), of the blocks of a transfer; `dest` covers their span.
    fn get_blocks(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        self.get_all(call, &mut wanted_blocks(pe, source, dest, transfer))
    }

    /// A put, then an update of a signal that is seen after the put's data.
    fn put_signal(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        nbi: Nbi,
    ) -> Result<()>;

    /// Does `operation` at `offset` of `pe` and returns the old value; 0 for `Set`, and if nobody `fetches` it.
    fn atomic(
        &self,
        call: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64>;

    /// Updates the signal at `update.offset` of `pe`, after all earlier puts of this PE to `pe`.
    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()>;

    /// Copies from this PE's own memory for the program.
    fn read(&self, call: Call, me: Pe, source: SymRange, dest: LocalDest<'_>) -> Result<()> {
        self.get(call, me, source.offset(), dest, Nbi::No)
    }

    /// Copies to this PE's own memory for the program.
    fn write(&self, call: Call, me: Pe, dest: SymRange, source: LocalSource<'_>) -> Result<()> {
        self.put(call, me, dest.offset(), source, Nbi::No)
    }

    /// Orders this PE's earlier puts, atomics and signals before its later ones, for each PE.
    fn fence(&self, lane: Lane) -> Result<()>;

    /// Completes this PE's earlier operations, visibly for all PEs.
    fn quiet(&self, call: Call) -> Result<()>;

    /// Completes this PE's earlier operations, visibly for whoever sees a later release of this PE: all that a meeting needs.
    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.quiet(call)
    }

    /// Copies symmetric memory of `from` to symmetric memory of `to`, both at most once per byte: the data of a collective. It is there
    /// when [`quiet_before_release`](Transport::quiet_before_release) has returned.
    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()>;

    /// Reads `bytes` (1, 2, 4 or 8) aligned bytes of this PE's copy at `offset`, zero-extended; what was put before them is
    /// visible afterwards: a word that is waited for.
    fn load(&self, called: Operation, offset: u64, bytes: usize) -> Result<u64>;

    /// The transport that this one wraps: what the library does for its own ends goes there.
    fn wrapped(&self) -> Option<&dyn Transport> {
        None
    }

    /// What is to be told of the program, if this transport watches it.
    fn notes(&self) -> Option<&dyn Notes> {
        None
    }

    /// A wait goes on; what is held back may be delivered meanwhile.
    fn progress(&self) {}

    /// The PE that this transport belongs to, which can wait from now on.
    fn owned_by(&self, _owner: Box<dyn Owner>) {}

    /// Collectives that it does by itself.
    fn collectives(&self) -> Option<&dyn Collectives> {
        None
    }

    /// What it keeps for kernels of the program's, if those can address the heap.
    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        None
    }

    /// Puts a wait or a test on a lane that is a stream of its own; `None`: it has none.
    fn search(&self, _lane: Lane, _search: &Search<'_>) -> Option<Result<Found>> {
        None
    }

    /// Streams of its own.
    fn streams(&self) -> Option<&dyn Streams> {
        None
    }

    /// The PE is in finalize: waits for what the program has left running, and tells the members of its teams, where that is not seen,
    /// that it comes to no further collective.
    fn drain(&self) -> Result<()> {
        Ok(())
    }

    /// The PE leaves the job: what it has left running ends. So does what others have running that waits for it, if it has
    /// `gone` without a word. Gives what the user may want to know.
    fn leave(&self, _gone: bool) -> Option<String> {
        None
    }

    /// The PE has left the job, and has told so: nothing more is told. `finalized`: with all others.
    fn hang_up(&self, _finalized: bool) {}

    /// What the watchdog is to do with each of its looks.
    fn chore(&self) -> Option<Chore> {
        None
    }

    /// The GPU that this PE uses, as this process counts them.
    fn device(&self) -> Option<i32> {
        None
    }

    /// What it works with, for a message.
    fn about(&self) -> Option<String> {
        None
    }

    /// What keeps the heap's memory mapped, where the job's segment does not.
    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
}
