//! A transport for memory of GPUs, as the transport to other hosts needs it: copies between GPU and host, and a stream for the requests
//! of other hosts. It is independent of CUDA.

use super::{
    Atomic, DeviceTables, StreamHold, Streams, Submission, Transport, TransportEvent, Width,
};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::operation::Operation;
use crate::{Pe, Result};
use std::sync::Arc;

/// The most bytes of a value that a kernel gets as an argument and stores.
pub const VALUE_BYTES: usize = 16;

/// The transport of a PE whose heap is memory of a GPU.
pub trait DeviceMemory: Transport + Streams + DeviceTables {
    /// The address of `offset` of a PE of this host.
    fn address_of(&self, pe: Pe, offset: u64) -> u64;

    /// Whether an address is in memory of a GPU, which the CPU cannot use.
    fn is_of_gpu(&self, address: u64) -> Result<bool>;

    /// Copies memory of a GPU to `dest`, which is the host's. The copy is complete on return.
    fn copy_to_host(&self, operation: Operation, source: u64, dest: LocalDest<'_>) -> Result<()>;

    /// Copies `source`, which is the host's, to memory of a GPU. The copy is complete on return.
    fn copy_from_host(
        &self,
        operation: Operation,
        dest: u64,
        source: LocalSource<'_>,
    ) -> Result<()>;

    /// A stream for requests of other hosts.
    fn target_stream(self: Arc<Self>) -> Result<Arc<dyn TargetStream>>;
}

/// A buffer in the pinned memory of a [`TargetStream`], until it is freed.
#[derive(Debug)]
pub struct PinnedBuffer {
    pub offset: u64,
    pub bytes: usize,
}

/// A stream on which a PE's GPU performs requests of other hosts, and pinned memory of the host for their data.
///
/// The calling thread must not wait, so each call enqueues its work and returns. Offsets are in this PE's part of the heap.
pub trait TargetStream: Send + Sync {
    /// Whether all of a range of this PE's part has memory behind it.
    fn is_backed(&self, range: SymRange) -> bool;

    /// A buffer for some bytes, if there is room.
    fn buffer(&self, bytes: usize) -> Option<PinnedBuffer>;

    /// Frees a buffer that is no longer in use.
    fn give_back(&self, buffer: PinnedBuffer);

    /// The address of a buffer.
    fn address(&self, buffer: &PinnedBuffer) -> *mut u8;

    /// The contents of a buffer, which must not be written to meanwhile.
    fn data(&self, buffer: &PinnedBuffer) -> &[u8];

    /// Fills a buffer.
    fn fill(&self, buffer: &PinnedBuffer, data: &[u8]);

    /// The word at the beginning of a buffer, once the GPU has written it.
    fn word(&self, buffer: &PinnedBuffer, width: Width) -> u64;

    /// Stores a value of at most [`VALUE_BYTES`]; it needs no buffer, because the kernel gets it as an argument.
    fn put_value(&self, offset: u64, value: &[u8]) -> Result<()>;

    /// Copies the contents of a buffer to this PE's part.
    fn put(&self, offset: u64, buffer: &PinnedBuffer) -> Result<()>;

    /// Copies this PE's part to a buffer.
    fn get(&self, buffer: &PinnedBuffer, offset: u64) -> Result<()>;

    /// Performs an atomic operation in this PE's part; the buffer, if any, gets the old value.
    fn atomic(
        &self,
        offset: u64,
        width: Width,
        operation: Atomic,
        buffer: Option<&PinnedBuffer>,
    ) -> Result<()>;

    /// Updates a signal in this PE's part.
    fn signal(&self, offset: u64, value: u64, op: SignalOp) -> Result<()>;

    /// An event behind the work on the stream.
    fn mark(&self) -> Result<Box<dyn TransportEvent>>;

    /// Takes back an event of [`mark`](TargetStream::mark) that was reached.
    fn give_mark_back(&self, mark: Box<dyn TransportEvent>);

    /// The wire may use buffers for ever: the pinned memory is never freed.
    fn keep_pinned(&self);

    /// Holds for a stream of the program whose operations a queue of the host runs.
    fn stream_hold(self: Arc<Self>, submission: Submission) -> Result<Arc<dyn StreamHold>>;
}
