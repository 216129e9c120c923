//! An operation as a value, which a [`Transport`] executes.
//!
//! On host memory most operations are inlined and never become a request (see `route.rs` of the library). Everywhere else an operation
//! is built in a cold branch, and passes through the wrappers to the transport that executes it.

use super::{Atomic, Call, GetRequest, Nbi, SignalUpdate, Submission, Transport, Width};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::{Error, Pe, Result};
use std::panic::Location;

/// An operation of a PE, or of the library on its behalf.
#[derive(Debug)]
pub struct Request<'a> {
    pub call: Call,
    pub body: Body<'a>,
}

/// The value that a request fetches: of an atomic operation or a load in the first word, of [`Body::GetValue`] up to 16 bytes. Zero if it
/// fetches nothing.
pub type Reply = [u64; 2];

/// The reply of a request that fetches nothing.
pub const NOTHING: Reply = [0; 2];

/// The kind of a request with its arguments. Offsets count from the beginning of a PE's part of the heap.
#[derive(Debug)]
pub enum Body<'a> {
    /// Copies `source` to `dest` of `pe`. Completes when `source` may be reused; with [`Nbi::Yes`] it may be in use until quiet if it
    /// lasts.
    Put {
        pe: Pe,
        dest: u64,
        source: LocalSource<'a>,
        nbi: Nbi,
    },
    /// Copies from `source` of `pe` to `dest`. Completes when the data has arrived; with [`Nbi::Yes`] it may be incomplete until quiet if
    /// `dest` lasts.
    Get {
        pe: Pe,
        source: u64,
        dest: LocalDest<'a>,
        nbi: Nbi,
    },
    /// As [`Put`](Body::Put), of the first `bytes` bytes of `value`, which belongs to the library.
    PutValue {
        pe: Pe,
        dest: u64,
        value: [u64; 2],
        bytes: usize,
    },
    /// As [`Get`](Body::Get), of `bytes` bytes, at most 16, which the reply holds.
    GetValue { pe: Pe, source: u64, bytes: usize },
    /// As [`Put`](Body::Put), of the blocks of a transfer; `source` covers their span.
    PutBlocks {
        pe: Pe,
        dest: u64,
        source: LocalSource<'a>,
        transfer: &'a Transfer,
    },
    /// As [`Get`](Body::Get), of the blocks of a transfer; `dest` covers their span.
    GetBlocks {
        pe: Pe,
        source: u64,
        dest: LocalDest<'a>,
        transfer: &'a Transfer,
    },
    /// As [`Get`](Body::Get), of several PEs. The transport may have all of them in flight at the same time.
    GetAll(Vec<GetRequest<'a>>),
    /// A put, then an update of a signal that is seen after the put's data.
    PutSignal {
        pe: Pe,
        dest: u64,
        source: LocalSource<'a>,
        update: SignalUpdate,
        nbi: Nbi,
    },
    /// Performs `operation` at `offset` of `pe`. The reply holds the old value; 0 for `Set`, and if nothing is fetched.
    Atomic {
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    },
    /// Updates the signal at `update.offset` of `pe`, after all earlier puts of this PE to `pe`.
    Signal { pe: Pe, update: SignalUpdate },
    /// Copies from this PE's own part for the program.
    Read {
        me: Pe,
        source: SymRange,
        dest: LocalDest<'a>,
    },
    /// Copies to this PE's own part for the program.
    Write {
        me: Pe,
        dest: SymRange,
        source: LocalSource<'a>,
    },
    /// Copies symmetric memory of `from` to symmetric memory of `to`, both at most once per byte: data of a collective. It has arrived
    /// when [`QuietBeforeRelease`](Body::QuietBeforeRelease) completes.
    Copy {
        to: Pe,
        dest: u64,
        from: Pe,
        source: u64,
        bytes: u64,
    },
    /// Reads `bytes` (1, 2, 4 or 8) aligned bytes of this PE's part, zero-extended, with acquire: the word of a wait.
    Load { offset: u64, bytes: usize },
    /// Orders this PE's earlier puts, atomics and signals before its later ones, for each PE.
    Fence,
    /// Completes this PE's earlier operations, visibly for all PEs.
    Quiet,
    /// Completes this PE's earlier operations, visibly for every PE that sees a later release of this PE, as a barrier needs it.
    QuietBeforeRelease,
}

impl Body<'_> {
    /// The PE whose part of the heap the request accesses, if it is one PE.
    pub fn target(&self) -> Option<Pe> {
        match *self {
            Body::Put { pe, .. }
            | Body::Get { pe, .. }
            | Body::PutValue { pe, .. }
            | Body::GetValue { pe, .. }
            | Body::PutBlocks { pe, .. }
            | Body::GetBlocks { pe, .. }
            | Body::PutSignal { pe, .. }
            | Body::Atomic { pe, .. }
            | Body::Signal { pe, .. } => Some(pe),
            Body::Read { me, .. } | Body::Write { me, .. } => Some(me),
            Body::Copy { to, from, .. } if to == from => Some(to),
            Body::GetAll(_)
            | Body::Copy { .. }
            | Body::Load { .. }
            | Body::Fence
            | Body::Quiet
            | Body::QuietBeforeRelease => None,
        }
    }

    /// The bytes of data that it moves for the program.
    pub(crate) fn moved(&self) -> u64 {
        match self {
            Body::Put { source, .. } | Body::PutSignal { source, .. } => source.bytes() as u64,
            Body::Get { dest, .. } => dest.bytes() as u64,
            Body::PutValue { bytes, .. } | Body::GetValue { bytes, .. } => *bytes as u64,
            Body::PutBlocks { transfer, .. } | Body::GetBlocks { transfer, .. } => {
                let (_, block, count) = transfer.dest().parts();
                block * count
            }
            Body::Atomic { width, .. } => width.bytes(),
            _ => 0,
        }
    }
}

/// The bytes of a value of the library's own.
pub fn bytes_of(value: &[u64; 2], bytes: usize) -> &[u8] {
    &bytemuck::bytes_of(value)[..bytes]
}

/// Executes a request as several simpler requests of the same transport, for a transport that does not implement it. A request that is
/// simple already is an internal error.
pub fn execute_in_parts(
    transport: &dyn Transport,
    Request { call, body }: Request<'_>,
) -> Result<Reply> {
    let simple = |body: Body<'_>| transport.execute(Request { call, body });
    let nbi = Nbi::No;
    let put = |pe: Pe, dest: u64, source: LocalSource<'_>| {
        simple(Body::Put {
            pe,
            dest,
            source,
            nbi,
        })
    };
    let get = |GetRequest { pe, source, dest }: GetRequest<'_>| {
        simple(Body::Get {
            pe,
            source,
            dest,
            nbi,
        })
    };
    match body {
        Body::PutValue {
            pe,
            dest,
            value,
            bytes,
        } => put(pe, dest, LocalSource::from(bytes_of(&value, bytes))),
        Body::GetValue { pe, source, bytes } => {
            let mut words = NOTHING;
            let dest = LocalDest::from(&mut bytemuck::bytes_of_mut(&mut words)[..bytes]);
            get(GetRequest { pe, source, dest })?;
            Ok(words)
        }
        Body::PutBlocks {
            pe,
            dest,
            source,
            transfer,
        } => {
            let (_, bytes, _) = transfer.dest().parts();
            for (to, from) in transfer.blocks() {
                put(pe, dest + to, source.part(from as usize, bytes as usize))?;
            }
            Ok(NOTHING)
        }
        Body::GetBlocks {
            pe,
            source,
            dest,
            transfer,
        } => {
            get_requests(pe, source, dest, transfer).try_for_each(|one| get(one).map(drop))?;
            Ok(NOTHING)
        }
        Body::GetAll(wanted) => {
            wanted.into_iter().try_for_each(|one| get(one).map(drop))?;
            Ok(NOTHING)
        }
        Body::Read { me, source, dest } => {
            let (pe, source) = (me, source.offset());
            get(GetRequest { pe, source, dest })
        }
        Body::Write { me, dest, source } => put(me, dest.offset(), source),
        Body::QuietBeforeRelease => simple(Body::Quiet),
        _ => Err(Error::Internal(format!(
            "a request of `{}` consists of no simpler ones",
            call.called.name()
        ))),
    }
}

/// Executes a blocking internal request. The transport keeps its error; the reply is zero then.
#[cold]
#[inline(never)]
#[track_caller]
pub fn execute_internal(transport: &dyn Transport, called: Operation, body: Body<'_>) -> Reply {
    execute_inlined(transport, called, body)
}

/// As [`execute_internal`], for callers to which the request is the common case: the body is not copied once more.
#[inline(always)]
#[track_caller]
pub fn execute_inlined(transport: &dyn Transport, called: Operation, body: Body<'_>) -> Reply {
    let call = Call {
        submission: Submission::Blocking,
        context: 0,
        called,
        at: Location::caller(),
    };
    let reply = transport.execute(Request { call, body });
    reply.unwrap_or_else(|error| {
        transport.keep(error);
        NOTHING
    })
}

/// The blocks of a transfer from `source` of a PE; `dest` covers their span.
pub fn get_requests<'a>(
    pe: Pe,
    source: u64,
    dest: LocalDest<'a>,
    transfer: &'a Transfer,
) -> impl Iterator<Item = GetRequest<'a>> {
    let (_, block, _) = transfer.dest().parts();
    transfer.blocks().map(move |(to, from)| GetRequest {
        pe,
        source: source + from,
        dest: dest.part(to as usize, block as usize),
    })
}
