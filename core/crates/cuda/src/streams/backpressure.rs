//! How much is on a stream of the program's: what does not fit makes the driver wait, which nothing ends, and other threads' calls to the
//! driver wait with it (on an H200, from 1022 pieces of work behind a wait on; streams that share a queue share that). So the library's
//! operations count, and every so many pieces are marked; the next ones wait until the mark before is reached, with the PE's limits.
//!
//! What the program itself puts there is not counted, nor are its events and functions, nor anything on the stream that each thread has of
//! its own. What is captured may count as if it were there.

use crate::Result;
use crate::job::published::{Target, Wait};
use crate::lock::lock;
use crate::operation::Operation;
use crate::transport::Submission;
use crate::{CudaEvent, CudaTransport, PER_THREAD};
use cudarc::driver::sys::CUstream;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Pieces of work between two marks: up to twice as many are on a stream.
const BETWEEN_MARKS: u64 = 400;
/// Bytes of pageable memory that are as much as one more piece: the driver copies them away, and a stream has room for 4 MiB of them.
pub(crate) const PIECE: usize = 4 << 10;

/// By stream.
#[derive(Default)]
pub(crate) struct Backpressure(Mutex<HashMap<u64, Backlog>>);

#[derive(Default)]
struct Backlog {
    /// Pieces since the latest mark.
    taken: u64,
    mark: Option<Arc<CudaEvent>>,
}

impl Backlog {
    /// Whether there is room for so many pieces before the next mark; then they are taken.
    fn take(&mut self, pieces: u64) -> bool {
        let fits = self.taken + pieces < BETWEEN_MARKS;
        if fits {
            self.taken += pieces;
        }
        fits
    }

    fn has(&self, mark: Option<&Arc<CudaEvent>>) -> bool {
        self.mark.as_ref().map(Arc::as_ptr) == mark.map(Arc::as_ptr)
    }
}

/// The pieces that bytes are which the driver copies away.
pub(crate) fn pieces(bytes: usize) -> u64 {
    (bytes / PIECE) as u64
}

impl Backpressure {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Backlog>> {
        lock(&self.0)
    }

    /// So many pieces more were put on a stream, for which its next call may wait.
    pub(crate) fn count(&self, stream: u64, pieces: u64) {
        self.lock().entry(stream).or_default().taken += pieces;
    }

    /// There is nothing on a stream.
    pub(crate) fn clear(&self, stream: u64) {
        let cleared = self.lock().remove(&stream);
        drop(cleared);
    }
}

impl CudaTransport {
    /// Before so many pieces are put on a stream; on the library's own, others count (`blocking.rs`).
    #[inline]
    pub(crate) fn apply_backpressure(
        &self,
        submission: Submission,
        operation: Operation,
        pieces: u64,
    ) -> Result<()> {
        let Submission::Stream(stream) = submission else {
            return Ok(());
        };
        if pieces == 0 {
            return Ok(());
        }
        let fits = self
            .backpressure
            .lock()
            .entry(stream)
            .or_default()
            .take(pieces);
        if fits {
            return Ok(());
        }
        self.await_backlog(stream, operation, pieces)
    }

    #[cold]
    fn await_backlog(&self, stream: u64, operation: Operation, pieces: u64) -> Result<()> {
        // Another thread's mark would be in another stream, and a graph's pieces are on none.
        if stream == PER_THREAD || self.device.is_captured(stream as CUstream)? {
            return Ok(());
        }
        loop {
            let before = {
                let mut backpressure = self.backpressure.lock();
                let backlog = backpressure.entry(stream).or_default();
                if backlog.take(pieces) {
                    return Ok(());
                }
                backlog.mark.clone()
            };
            if let Some(before) = &before {
                // Other threads wait for it, too.
                let target = Target::Stream { goal: 0 };
                self.wait(Wait { operation, target }, &|| before.query())?;
            }
            let mark = Some(Arc::new(self.mark_here(stream as CUstream)?));
            let mut backpressure = self.backpressure.lock();
            let backlog = backpressure.entry(stream).or_default();
            // Another thread may have been first; then its mark counts.
            if backlog.has(before.as_ref()) {
                let taken = pieces;
                *backlog = Backlog { taken, mark };
                drop(backpressure);
                before
                    .and_then(Arc::into_inner)
                    .into_iter()
                    .for_each(|mark| self.give_mark_back(mark));
                return Ok(());
            }
        }
    }
}
