//! Memory of the net's own, which what is large passes through where it goes to memory of the program's, or comes from there.
//!
//! A transfer that has begun cannot be called back from a PE that is stopped. So the wire gets memory of the heap, which stays mapped, or
//! memory of this module, which it may keep for ever. A wait for either can end at any time.

use crate::buffer::LocalSource;
use crate::lock::lock;
use crate::transport::copy::copy;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};

/// The most bytes of one piece: it stays in a core's cache between the two copies.
pub(in crate::transport::remote) const PIECE: usize = 256 << 10;
/// The most bytes that are under way from or to a PE in pieces.
pub(in crate::transport::remote) const MOST: usize = 4 << 20;
/// Pieces that are kept for later.
const KEPT: usize = MOST / PIECE;

/// Where pieces come from.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Box<[u64]>>>>);

/// Some memory of the net's own. It counts as under way until it is dropped.
pub(in crate::transport::remote) struct Piece {
    memory: Box<[u64]>,
    bytes: usize,
    under_way: Arc<AtomicUsize>,
    pool: Pool,
}

impl Pool {
    /// A piece of so many bytes, at most [`PIECE`] but for what nobody wants any more.
    pub(super) fn piece(&self, bytes: usize, under_way: &Arc<AtomicUsize>) -> Piece {
        let kept = match bytes {
            ..=PIECE => lock(&self.0).pop(),
            _ => None,
        };
        let words = bytes.max(PIECE).div_ceil(8);
        under_way.fetch_add(bytes, Relaxed);
        Piece {
            memory: kept.unwrap_or_else(|| vec![0; words].into_boxed_slice()),
            bytes,
            under_way: Arc::clone(under_way),
            pool: self.clone(),
        }
    }
}

impl Piece {
    pub(in crate::transport::remote) fn address(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    /// Copies what it is to hold.
    pub(in crate::transport::remote) fn fill(&mut self, source: LocalSource<'_>) {
        assert!(source.bytes() == self.bytes, "a piece of its source");
        // SAFETY: the source is valid by the rules of `buffer`, and may lie in the heap; the memory has room for it.
        unsafe { copy::<false, true>(self.address(), source.address(), self.bytes) };
    }

    /// What it holds.
    pub(super) fn data(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.memory)[..self.bytes]
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.under_way.fetch_sub(self.bytes, Release);
        let memory = std::mem::take(&mut self.memory);
        let mut kept = lock(&self.pool.0);
        if memory.len() * 8 == PIECE && kept.len() < KEPT {
            kept.push(memory);
        }
    }
}

/// Whether so many more bytes may be under way.
pub(super) fn has_room(under_way: &AtomicUsize, bytes: usize) -> bool {
    let now = under_way.load(Acquire);
    now == 0 || now + bytes <= MOST
}
