//! The transport contract: what each kind of memory implements.
//!
//! Callers above have checked bounds, PE, team and alignment, once. A transport takes them for granted: an offset and
//! its length lie within `stride`, a PE is one of the job, an atomic's offset is aligned to its width. It reports
//! only what the machine refuses.
//!
//! `active.rs` is the transport as the program's operations see it: itself, or behind the checker of `check/`. What the
//! PEs share whatever the memory kind is in [`crate::job`].

mod active;
pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod cuda;
pub(crate) mod host;
mod raw;

pub(crate) use active::{Active, Nbi, SignalUpdate};

use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::{MemoryKind, Pe, Result};

/// Where an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// It is done as its description says when the call returns.
    Blocking,
    /// It is put on this stream of the GPU, a `cudaStream_t`, and the call returns.
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
    /// Its parts: passed in registers where the whole would be passed in memory.
    #[inline(always)]
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

    /// The operation with these parts.
    fn from_parts((number, value, cond): (u8, u64, u64)) -> Atomic {
        match number {
            0 => Atomic::Fetch,
            1 => Atomic::Set(value),
            2 => Atomic::Swap(value),
            3 => Atomic::CompareSwap { cond, value },
            4 => Atomic::Add(value),
            5 => Atomic::AddFloat(value),
            6 => Atomic::And(value),
            7 => Atomic::Or(value),
            _ => Atomic::Xor(value),
        }
    }
}

/// The transport proper of a runtime. Not behind a table of functions: an 8-byte put takes a few nanoseconds, and an indirect call
/// would be a good part of them.
#[derive(Clone, Copy)]
pub(crate) enum Raw<'a> {
    Host(&'a host::HostTransport),
    Cuda(&'a cuda::CudaTransport),
}

/// What a kind of memory does. See the module for what it may take for granted.
pub(crate) trait Transport: Send + Sync {
    /// Where the heap lives.
    fn kind(&self) -> MemoryKind;

    /// Memory of the program's becomes symmetric in multiples of this.
    fn page_bytes(&self) -> u64;

    /// What went wrong in an operation that does not say so itself; it stays.
    fn failure(&self) -> Result<()>;

    /// Backs this PE's copy of `range` with memory, so that later accesses cannot fail.
    fn commit(&self, range: SymRange) -> Result<()>;

    /// Gives back memory that backs this PE's copy of `range`, where whole pages allow.
    fn decommit(&self, range: SymRange);

    /// Sets this PE's copy of `range` to 0.
    fn zero(&self, range: SymRange);

    /// Checks that `bytes` bytes of the program's memory at `buffer` can become symmetric, and appear at `preferred` (0 for nowhere
    /// else), too.
    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()>;

    /// Makes memory of the program's, which was checked, this PE's copy of `range`, with its contents.
    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// An error if what `adopt` took cannot be given back now.
    fn check_give_back(&self) -> Result<()>;

    /// Makes what `adopt` took the program's own memory again, with its contents.
    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()>;

    /// The address at which this process can load and store `offset` of `pe`, if it can.
    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64>;

    /// Copies `source` to `dest` bytes of `pe`; returns when `source` may be reused.
    fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>);

    /// Copies from `source` of `pe` to `dest`; returns when the data is there.
    fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>);

    /// As `put`; `source` may be in use until `quiet`.
    fn put_nbi(&self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        self.put(pe, dest, source);
    }

    /// As `get`; `dest` may be incomplete until `quiet`.
    fn get_nbi(&self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        self.get(pe, source, dest);
    }

    /// Copies symmetric memory of `from` to symmetric memory of `to`, both at most once per byte.
    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64);

    /// Does `operation` at `offset` of `pe` and returns the old value; 0 for `Set`. Inlined, it costs what the operation that
    /// does not fetch costs if nobody uses the result.
    fn atomic(&self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64;

    /// Reads `bytes` (1, 2, 4 or 8) aligned bytes of this PE's copy at `offset`, zero-extended; what was put before them is
    /// visible afterwards.
    fn load(&self, offset: u64, bytes: usize) -> u64;

    /// Updates the signal at `offset` of `pe`, after all earlier puts of this PE to `pe`.
    fn signal(&self, pe: Pe, offset: u64, value: u64, op: SignalOp);

    /// Reads this PE's copy of the signal at `offset`; what was put before it is visible afterwards.
    fn signal_fetch(&self, offset: u64) -> u64;

    /// Orders this PE's earlier puts, atomics and signals before its later ones, for each PE.
    fn fence(&self);

    /// Completes this PE's earlier operations, visibly for all PEs.
    fn quiet(&self);

    /// Completes this PE's earlier operations, visibly for whoever sees a later release of this PE: all that a meeting needs.
    fn quiet_before_release(&self) {
        self.quiet();
    }
}
