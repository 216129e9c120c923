//! An operation as a value, which a [`Transport`] executes.
//!
//! On host memory most operations are inlined and never become a request (see `route.rs` of the library). Everywhere else an operation
//! is built in a cold branch, and passes through the wrappers to the transport that executes it.

use super::{
    AtomicRequest, Call, CopyRequest, GetRequest, Nbi, PutRequest, SignalUpdate, Submission,
    Transport,
};
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
    /// Completes when the source may be reused; with [`Nbi::Yes`] it may be in use until quiet if it lasts.
    Put(PutRequest<'a>, Nbi),
    /// Completes when the data has arrived; with [`Nbi::Yes`] it may be incomplete until quiet if the destination lasts.
    Get(GetRequest<'a>, Nbi),
    /// As [`Put`](Body::Put), of the first `bytes` bytes of `value`, which belongs to the library.
    PutValue {
        pe: Pe,
        dest: u64,
        value: [u64; 2],
        bytes: usize,
    },
    /// As [`Get`](Body::Get), of `bytes` bytes, at most 16, which the reply holds.
    GetValue { pe: Pe, source: u64, bytes: usize },
    /// As [`Put`](Body::Put), of the blocks of a transfer; the source covers their span.
    PutBlocks(PutRequest<'a>, &'a Transfer),
    /// As [`Get`](Body::Get), of the blocks of a transfer; the destination covers their span.
    GetBlocks(GetRequest<'a>, &'a Transfer),
    /// As [`Get`](Body::Get), of several PEs. The transport may have all of them in flight at the same time.
    GetAll(Vec<GetRequest<'a>>),
    /// A put, then an update of a signal that is seen after the put's data.
    PutSignal(PutRequest<'a>, SignalUpdate, Nbi),
    /// The reply holds the old value; 0 for `Set`, and if nothing is fetched.
    Atomic(AtomicRequest),
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
    /// Accesses each byte at most once: data of a collective. It has arrived when [`QuietBeforeRelease`](Body::QuietBeforeRelease)
    /// completes.
    Copy(CopyRequest),
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
            Body::Put(PutRequest { pe, .. }, _)
            | Body::Get(GetRequest { pe, .. }, _)
            | Body::PutValue { pe, .. }
            | Body::GetValue { pe, .. }
            | Body::PutBlocks(PutRequest { pe, .. }, _)
            | Body::GetBlocks(GetRequest { pe, .. }, _)
            | Body::PutSignal(PutRequest { pe, .. }, ..)
            | Body::Atomic(AtomicRequest { pe, .. })
            | Body::Signal { pe, .. } => Some(pe),
            Body::Read { me, .. } | Body::Write { me, .. } => Some(me),
            Body::Copy(CopyRequest { to, from, .. }) if to == from => Some(to),
            Body::GetAll(_)
            | Body::Copy(_)
            | Body::Load { .. }
            | Body::Fence
            | Body::Quiet
            | Body::QuietBeforeRelease => None,
        }
    }

    /// The bytes of data that it moves for the program.
    pub(crate) fn moved(&self) -> u64 {
        match self {
            Body::Put(put, _) | Body::PutSignal(put, ..) => put.source.bytes() as u64,
            Body::Get(get, _) => get.dest.bytes() as u64,
            Body::PutValue { bytes, .. } | Body::GetValue { bytes, .. } => *bytes as u64,
            Body::PutBlocks(_, transfer) | Body::GetBlocks(_, transfer) => {
                let (_, block, count) = transfer.dest().parts();
                block * count
            }
            Body::Atomic(atomic) => atomic.width.bytes(),
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
    let put = |put: PutRequest<'_>| simple(Body::Put(put, Nbi::No));
    let get = |get: GetRequest<'_>| simple(Body::Get(get, Nbi::No));
    match body {
        Body::PutValue {
            pe,
            dest,
            value,
            bytes,
        } => {
            let source = LocalSource::from(bytes_of(&value, bytes));
            put(PutRequest { pe, dest, source })
        }
        Body::GetValue { pe, source, bytes } => {
            let mut words = NOTHING;
            let dest = LocalDest::from(&mut bytemuck::bytes_of_mut(&mut words)[..bytes]);
            get(GetRequest { pe, source, dest })?;
            Ok(words)
        }
        Body::PutBlocks(all, transfer) => {
            all.blocks(transfer)
                .try_for_each(|one| put(one).map(drop))?;
            Ok(NOTHING)
        }
        Body::GetBlocks(all, transfer) => {
            all.blocks(transfer)
                .try_for_each(|one| get(one).map(drop))?;
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
        Body::Write { me, dest, source } => {
            let (pe, dest) = (me, dest.offset());
            put(PutRequest { pe, dest, source })
        }
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

impl<'a> PutRequest<'a> {
    /// The puts of the blocks of a transfer, whose span the source covers.
    pub fn blocks(self, transfer: &'a Transfer) -> impl Iterator<Item = PutRequest<'a>> {
        let (_, block, _) = transfer.dest().parts();
        transfer.blocks().map(move |(to, from)| PutRequest {
            pe: self.pe,
            dest: self.dest + to,
            source: self.source.part(from as usize, block as usize),
        })
    }
}

impl<'a> GetRequest<'a> {
    /// The gets of the blocks of a transfer, whose span the destination covers.
    pub fn blocks(self, transfer: &'a Transfer) -> impl Iterator<Item = GetRequest<'a>> {
        let (_, block, _) = transfer.dest().parts();
        transfer.blocks().map(move |(to, from)| GetRequest {
            pe: self.pe,
            source: self.source + from,
            dest: self.dest.part(to as usize, block as usize),
        })
    }
}
