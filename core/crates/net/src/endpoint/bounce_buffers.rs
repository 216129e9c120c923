//! Bounce buffers: memory of the endpoint through which large transfers pass to and from memory of the program.
//!
//! A transfer that has begun cannot be cancelled while the other PE is stopped. So the wire gets memory of the heap, which stays mapped, or
//! a bounce buffer, which it may keep for ever. A wait for either can end at any time.

use crate::buffer::LocalSource;
use crate::lock::lock;
use crate::transport::copy::copy;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};

/// The most bytes of one bounce buffer: it stays in a core's cache between the two copies.
pub(crate) const BOUNCE_BYTES: usize = 256 << 10;
/// The most bytes in flight from or to a PE through bounce buffers.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Buffers that the pool keeps.
const MAX_POOLED: usize = MAX_BYTES / BOUNCE_BYTES;

/// Unused bounce buffers.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Box<[u64]>>>>);

/// A bounce buffer. It counts as in flight until it is dropped.
pub(crate) struct BounceBuffer {
    memory: Box<[u64]>,
    bytes: usize,
    in_flight: Arc<AtomicUsize>,
    pool: Pool,
}

impl Pool {
    /// A buffer of so many bytes: at most [`BOUNCE_BYTES`], except for a cancelled receive.
    pub(super) fn bounce_buffer(&self, bytes: usize, in_flight: &Arc<AtomicUsize>) -> BounceBuffer {
        let kept = match bytes {
            ..=BOUNCE_BYTES => lock(&self.0).pop(),
            _ => None,
        };
        let words = bytes.max(BOUNCE_BYTES).div_ceil(8);
        in_flight.fetch_add(bytes, Relaxed);
        BounceBuffer {
            memory: kept.unwrap_or_else(|| vec![0; words].into_boxed_slice()),
            bytes,
            in_flight: Arc::clone(in_flight),
            pool: self.clone(),
        }
    }
}

impl BounceBuffer {
    pub(crate) fn address(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    /// Fills the buffer.
    pub(crate) fn fill(&mut self, source: LocalSource<'_>) {
        assert!(source.bytes() == self.bytes, "a buffer of its source");
        // SAFETY: the source is valid by the rules of `buffer`, and may lie in the heap; the memory has room for it.
        unsafe { copy::<false, true>(self.address(), source.address(), self.bytes) };
    }

    /// The contents.
    pub(super) fn data(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.memory)[..self.bytes]
    }
}

impl Drop for BounceBuffer {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(self.bytes, Release);
        let memory = std::mem::take(&mut self.memory);
        let mut kept = lock(&self.pool.0);
        if memory.len() * 8 == BOUNCE_BYTES && kept.len() < MAX_POOLED {
            kept.push(memory);
        }
    }
}

/// Whether so many more bytes may be in flight.
pub(super) fn has_room(in_flight: &AtomicUsize, bytes: usize) -> bool {
    let now = in_flight.load(Acquire);
    now == 0 || now + bytes <= MAX_BYTES
}
