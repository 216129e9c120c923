//! The transport below the checker, as the checker uses it for its own ends. Errors are kept there, as those of collectives are.

use crate::Pe;
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::{
    Atomic, AtomicRequest, Body, GetRequest, Nbi, PutRequest, SignalUpdate, Transport, Width,
    execute_inlined,
};

#[derive(Clone, Copy)]
pub(crate) struct Below<'a>(pub(crate) &'a dyn Transport);

impl Below<'_> {
    /// See [`Body::Put`].
    pub(crate) fn put(self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        let put = PutRequest { pe, dest, source };
        execute_inlined(self.0, Operation::Put, Body::Put(put, Nbi::No));
    }

    /// See [`Body::Get`].
    pub(crate) fn get(self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        let get = GetRequest { pe, source, dest };
        execute_inlined(self.0, Operation::Get, Body::Get(get, Nbi::No));
    }

    /// See [`Body::Atomic`].
    pub(crate) fn atomic(self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64 {
        let request = AtomicRequest {
            pe,
            offset,
            width,
            operation,
            fetches: true,
        };
        execute_inlined(self.0, operation.fetching(), Body::Atomic(request))[0]
    }

    /// See [`Body::Signal`].
    pub(crate) fn signal(self, pe: Pe, update: SignalUpdate) {
        execute_inlined(self.0, Operation::SignalOp, Body::Signal { pe, update });
    }

    /// See [`Body::Fence`].
    pub(crate) fn fence(self) {
        execute_inlined(self.0, Operation::Fence, Body::Fence);
    }

    /// See [`Body::Quiet`].
    pub(crate) fn quiet(self) {
        execute_inlined(self.0, Operation::Quiet, Body::Quiet);
    }
}
