//! Collectives on private memory: on a stream of a GPU, a buffer need not be symmetric if the transport moves the data without accesses to
//! the buffers of other members.

use super::CollectiveCall;
use crate::buffer::{PrivateAddress, SymRange};
use crate::operation::Operation;
use crate::symmetric::Symmetric;
use crate::transport::Submission;
use crate::{Error, Result, Runtime, Team};

/// A buffer of a collective that takes private memory.
#[derive(Clone, Copy, Debug)]
pub enum CollectiveBuffer {
    /// Symmetric memory.
    Symmetric(Symmetric),
    /// An address of symmetric memory or, on a stream of a GPU, of private memory of this PE's GPU.
    OrPrivate(PrivateAddress),
}

impl<T> From<T> for CollectiveBuffer
where
    Symmetric: From<T>,
{
    #[inline(always)]
    fn from(buffer: T) -> CollectiveBuffer {
        CollectiveBuffer::Symmetric(buffer.into())
    }
}

impl From<PrivateAddress> for CollectiveBuffer {
    #[inline(always)]
    fn from(address: PrivateAddress) -> CollectiveBuffer {
        CollectiveBuffer::OrPrivate(address)
    }
}

impl CollectiveCall<'_> {
    /// The `bytes` bytes of a buffer; private memory begins beyond the heap.
    #[inline(always)]
    pub(super) fn resolve(
        &self,
        submission: Submission,
        buffer: CollectiveBuffer,
        argument: &'static str,
        bytes: u64,
    ) -> Result<SymRange> {
        match buffer {
            CollectiveBuffer::Symmetric(buffer) => buffer.resolve(self.inner, argument, bytes),
            CollectiveBuffer::OrPrivate(address) => {
                match self.inner.symmetric(argument, address.get(), bytes) {
                    Err(error @ Error::NotSymmetric { .. }) => {
                        self.private(submission, address, bytes).ok_or(error)
                    }
                    found => found,
                }
            }
        }
    }

    #[cold]
    fn private(
        &self,
        submission: Submission,
        address: PrivateAddress,
        bytes: u64,
    ) -> Option<SymRange> {
        let collectives = self.inner.transport.collectives()?;
        let on_stream = matches!(submission, Submission::Stream(_));
        let offset = on_stream.then(|| collectives.private_offset(address.get(), bytes))?;
        Some(SymRange::new(offset?, bytes))
    }
}

impl Runtime {
    /// The most bytes, of the message or of a part where each member has one, with which `collective` over `team` takes private memory of this
    /// PE's GPU as `dest` and `source`, when it is on a stream. 0: it takes symmetric memory only.
    ///
    /// Local; the same on all members.
    pub fn private_bytes(&self, team: Team, collective: Operation) -> Result<u64> {
        let inner = &*self.inner;
        inner.ready()?;
        let team = inner.team(team)?.index;
        match inner.transport.collectives() {
            Some(own) => own.private_bytes(team, collective),
            None => Ok(0),
        }
    }
}
