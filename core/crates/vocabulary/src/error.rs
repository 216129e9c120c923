//! The error type: the failure, its PE and argument, the value of the argument and the accepted ones.
//!
//! Every text is a whole sentence, without a capital and a full stop, so that a caller can put words before and after it. The
//! failure comes first; then the accepted values, or the remedy. The names of arguments, operations, types and functions stand in backticks,
//! functions to call as `name()`: the C ABI replaces them by those of the language that asks (`capi/src/words.rs`).

use crate::Pe;
use crate::words::{continued, counted, numbered, one_of_pes, subject};
use std::time::Duration;

/// A result with an nvshmemrs [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Unless a variant says otherwise, nothing was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument has a value that the call does not accept.
    #[error("{} is {value}; it must be {expected}", subject(argument))]
    InvalidValue {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// The value that was passed.
        value: String,
        /// The accepted values.
        expected: String,
    },
    /// A PE number outside the team or the job.
    #[error("{} is PE {pe}; it must be {}", subject(argument), one_of_pes(*n_pes))]
    PeRange {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// The value that was passed.
        pe: i64,
        /// How many PEs there are.
        n_pes: Pe,
    },
    /// An address that must be symmetric is not.
    #[error(
        "argument `{argument}` is {address:#x}; it must be a symmetric address of this PE, but {why}"
    )]
    NotSymmetric {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// The value that was passed.
        address: u64,
        /// The reason, as a sentence: where the address lies instead.
        why: String,
    },
    /// An access that runs past its allocation.
    #[error(
        "{bytes} bytes from byte {start} of argument `{argument}` run past the end of the allocation, which has {limit} bytes"
    )]
    OutOfBounds {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// Where the access starts, in bytes from the start of the allocation.
        start: u64,
        /// How many bytes it covers.
        bytes: u64,
        /// The size of the allocation in bytes.
        limit: u64,
    },
    /// A local buffer that begins outside the symmetric heap and ends in it.
    #[error(
        "argument `{argument}` must lie outside the symmetric heap or inside it: its {bytes} bytes from {address:#x} on begin outside and run into it"
    )]
    IntoHeap {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// Where the lowest byte is.
        address: u64,
        /// How many bytes it covers.
        bytes: u64,
    },
    /// The symmetric heap has no block of that size.
    #[error(
        "the symmetric heap cannot hold {requested} more bytes per PE: {free} of {heap} bytes are free, the largest \
         block is {largest}{pending}; NVSHMEM_SYMMETRIC_SIZE (or `heap_bytes` at init) must be more than {}", heap.max(requested)
    )]
    HeapFull {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        free: u64,
        /// Largest free block.
        largest: u64,
        /// Size of the heap.
        heap: u64,
        /// Allocations that some PEs have released and others not yet, as text after "; "; empty if there are none.
        pending: String,
    },
    /// The machine has not enough memory for the heap.
    #[error(
        "the machine cannot back {requested} bytes of symmetric memory ({n_pes} PEs): {available} bytes are available \
         ({limit})"
    )]
    MachineMemory {
        /// Bytes asked for, all PEs of the host together.
        requested: u64,
        /// PEs of the host.
        n_pes: Pe,
        /// Bytes available.
        available: u64,
        /// The source of the limit.
        limit: String,
    },
    /// The GPU has not enough memory.
    #[error(
        "PE {me} cannot have {requested} more bytes of memory of {device}: {free} of {total} bytes are free; lower \
         NVSHMEM_SYMMETRIC_SIZE (or `heap_bytes` at init), allocate less, or end other processes on the GPU (`nvidia-smi` lists them)"
    )]
    DeviceMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free.
        free: u64,
        /// Bytes the GPU has.
        total: u64,
        /// Which GPU.
        device: String,
        /// The PE that uses it.
        me: Pe,
    },
    /// Not offered by this build or this machine.
    #[error("{0}")]
    NotSupported(String),
    /// No live runtime.
    #[error("{0}")]
    NotInitialized(&'static str),
    /// A handle whose object is gone, or of another kind.
    #[error("argument `{argument}` is {found}; it must be a live {expected}")]
    BadHandle {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// The passed value, in words.
        found: String,
        /// The kind that it must have, and the possible fate of the object.
        expected: &'static str,
    },
    /// Members of a collective gave different arguments.
    #[error(
        "in `{operation}`: PE {pe} has {theirs}, but PE {other} has {ours}; all members must pass the same"
    )]
    Mismatch {
        /// The collective this PE is in.
        operation: &'static str,
        /// The member that differs from the first one.
        pe: Pe,
        /// Its arguments.
        theirs: String,
        /// The member compared with.
        other: Pe,
        /// The arguments of `other`.
        ours: String,
    },
    /// Another member of a collective has an invalid argument.
    #[error("in `{operation}`: PE {pe} reports: {why}")]
    PeerArgument {
        /// The collective this PE is in.
        operation: &'static str,
        /// The member that has the error.
        pe: Pe,
        /// Its own error, in its words.
        why: String,
    },
    /// A PE died, or left without finalize.
    #[error(
        "PE {pe} ({}) {how}{place}, during `{operation}` of PE {me}",
        numbered(*pid)
    )]
    PeDied {
        /// The PE that is gone.
        pe: Pe,
        /// Its process, as it is numbered here; 0 if it has no number here.
        pid: u32,
        /// How it left.
        how: &'static str,
        /// Where it was: " on host beta" if that is another host, " in barrier on WORLD" if it was waiting, or nothing.
        place: String,
        /// The call that noticed.
        operation: &'static str,
        /// The calling PE.
        me: Pe,
    },
    /// A PE has been stopped (SIGSTOP, Ctrl-Z) for longer than `NVSHMEMRS_STOP_TIMEOUT`. Waits work again when it continues; the
    /// team of a collective that ended so is broken.
    #[error(
        "PE {pe} ({}) has been stopped (SIGSTOP or Ctrl-Z) for {stopped_for:.1?}, during `{operation}` of PE {me}: \
         {} lets it go on; NVSHMEMRS_STOP_TIMEOUT sets how long a PE may be stopped, and 0 waits for ever",
        numbered(*pid), continued(*pid)
    )]
    PeStopped {
        /// The PE that is stopped.
        pe: Pe,
        /// Its process, as it is numbered here; 0 if it has no number here.
        pid: u32,
        /// For how long it has been.
        stopped_for: Duration,
        /// The call that ended.
        operation: &'static str,
        /// The calling PE.
        me: Pe,
    },
    /// A deadline passed.
    #[error(
        "`{operation}` of PE {me} gave up after {waited:.1?}, the limit that {variable} sets: {detail}"
    )]
    Timeout {
        /// The call that gave up.
        operation: &'static str,
        /// The calling PE.
        me: Pe,
        /// How long it waited.
        waited: Duration,
        /// The setting that limits it, or the caller's deadline.
        variable: &'static str,
        /// The word or the event that the wait was for.
        detail: String,
    },
    /// The wait was interrupted on this PE.
    #[error("`{operation}` of PE {me} was interrupted after {waited:.1?}: {detail}")]
    Interrupted {
        /// The call that ended.
        operation: &'static str,
        /// The calling PE.
        me: Pe,
        /// How long it had waited.
        waited: Duration,
        /// The word or the event that the wait was for.
        detail: String,
    },
    /// The PEs could not find or accept each other.
    #[error("init: {0}")]
    Bootstrap(String),
    /// A system call failed.
    #[error("{call} failed: {message}")]
    System {
        /// The call.
        call: &'static str,
        /// Its words.
        message: String,
    },
    /// A call of the CUDA driver failed.
    #[error("CUDA's {call} failed: {message}")]
    Cuda {
        /// The function of the driver.
        call: &'static str,
        /// Its number for the error (`CUresult`).
        code: i32,
        /// Its name, and the remedy.
        message: String,
    },
    /// The caller is a forked child.
    #[error(
        "this process is a forked child of PE {pe}; a child is not a PE, so it must not call \
         nvshmemrs: call it in the parent, or start the child with exec"
    )]
    Forked {
        /// The PE that forked.
        pe: Pe,
    },
    /// Not the start of a live allocation.
    #[error(
        "argument `{argument}` is {address:#x}; it must be the start of a live symmetric allocation, but {why}"
    )]
    BadFree {
        /// The argument's name in the C ABI.
        argument: &'static str,
        /// The value that was passed.
        address: u64,
        /// The value that is present.
        why: &'static str,
    },
    /// This PE is inside a collective on this team: another thread, or the caller itself in a handler or a hook.
    #[error(
        "`{operation}` cannot begin: PE {me} is inside a collective on team {team} already, and a PE must call them one at a time: another \
         thread has called it, or this call comes from a signal handler or an interrupt hook inside it"
    )]
    Busy {
        /// The call that was refused.
        operation: &'static str,
        /// The calling PE.
        me: Pe,
        /// The team.
        team: String,
    },
    /// Finalize or leave was called from an interrupt hook, that is, inside a wait.
    #[error("{0} was called from the interrupt hook, inside a wait; the wait must end first")]
    InHook(&'static str),
    /// Work that a stream runs called a function that only other threads may call.
    #[error("{0} was called by work that the stream itself runs; another thread must call it")]
    OnStream(&'static str),
    /// The team is broken: a member left a collective early.
    #[error(
        "`{operation}` cannot begin: PE {pe} left a collective on team {team} half-way (deadline, interrupt, a stopped PE, or an \
         error of its own), so the team cannot go on"
    )]
    TeamBroken {
        /// The call that was refused.
        operation: &'static str,
        /// The PE that left.
        pe: Pe,
        /// The team.
        team: String,
    },
    /// The checker has found problems, on any PE. All else was completed as usual.
    #[error(
        "the checker made {}; the PEs' standard error shows them", counted(*found, "report")
    )]
    CheckFailed {
        /// How many, on all PEs.
        found: u64,
        /// How many different findings this PE has, including findings that another PE has reported.
        own: u64,
        /// The calling PE.
        me: Pe,
    },
    /// A defect in nvshmemrs.
    #[error("internal error in nvshmemrs, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// The number this error has in the C ABI (`nvshmemrs_status`).
    pub fn status(&self) -> i32 {
        match self {
            Error::InvalidValue { .. } => 1,
            Error::HeapFull { .. } | Error::MachineMemory { .. } | Error::DeviceMemory { .. } => 2,
            Error::NotSupported(_) => 3,
            Error::NotSymmetric { .. } => 4,
            Error::Internal(_) => 7,
            Error::NotInitialized(_) => 10,
            Error::BadHandle { .. } => 11,
            Error::PeRange { .. } => 12,
            Error::OutOfBounds { .. } | Error::IntoHeap { .. } => 13,
            Error::Mismatch { .. } => 14,
            Error::PeDied { .. } => 15,
            Error::Timeout { .. } => 16,
            Error::Interrupted { .. } => 17,
            Error::Bootstrap(_) => 18,
            Error::System { .. } => 19,
            Error::Forked { .. } => 20,
            Error::BadFree { .. } => 21,
            Error::Busy { .. } | Error::InHook(_) | Error::OnStream(_) => 22,
            Error::TeamBroken { .. } => 23,
            Error::PeerArgument { .. } => 24,
            Error::CheckFailed { .. } => 25,
            Error::PeStopped { .. } => 26,
            Error::Cuda { .. } => 27,
        }
    }

    /// One sentence for a status number of the C ABI.
    pub fn describe(status: i32) -> &'static str {
        match status {
            0 => "success",
            1 => "an argument has a value that this call does not accept",
            2 => "there is not enough memory",
            3 => "this build or this machine does not support it",
            4 => "an address that must be symmetric is not",
            7 => "nvshmemrs has a defect",
            10 => "there is no runtime before init and after finalize",
            11 => "a handle is stale or of another kind",
            12 => "a PE number is out of range",
            13 => "an access runs past the end of its allocation",
            14 => "members of the collective gave different arguments",
            15 => "a PE died or left without finalize",
            16 => "a deadline passed",
            17 => "a wait was interrupted",
            18 => "the PEs could not find or accept each other",
            19 => "the operating system refused something",
            20 => "a forked child is not a PE",
            21 => "an address must be the start of a live allocation and is not",
            22 => "this PE is inside a collective on this team, or inside a wait",
            23 => "a member left a collective on this team half-way",
            24 => "another member of the collective had an argument that it could not accept",
            25 => "the checker has found problems",
            26 => "a PE is stopped (SIGSTOP or Ctrl-Z)",
            27 => "the CUDA driver refused something",
            99 => "nvshmemrs panicked",
            _ => "this is not a status of nvshmemrs",
        }
    }

    #[doc(hidden)]
    pub fn invalid(
        argument: &'static str,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Error {
        Error::InvalidValue {
            argument,
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// The same error, for a handle with another argument name.
    #[doc(hidden)]
    pub fn naming(self, name: &'static str) -> Error {
        match self {
            Error::BadHandle {
                found, expected, ..
            } => Error::BadHandle {
                argument: name,
                found,
                expected,
            },
            other => other,
        }
    }

    #[doc(hidden)]
    pub fn system(call: &'static str, error: impl std::fmt::Display) -> Error {
        Error::System {
            call,
            message: error.to_string(),
        }
    }
}

/// Checks that `pe` is one of `n_pes`.
#[inline(always)]
pub fn check_pe(argument: &'static str, pe: Pe, n_pes: Pe) -> Result<()> {
    // One comparison: a negative number becomes a large one.
    if (pe as u32) < n_pes as u32 {
        Ok(())
    } else {
        Err(out_of_range(argument, pe, n_pes))
    }
}

#[cold]
fn out_of_range(argument: &'static str, pe: Pe, n_pes: Pe) -> Error {
    Error::PeRange {
        argument,
        pe: i64::from(pe),
        n_pes,
    }
}
