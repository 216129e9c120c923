//! Backpressure on streams of the program. When a stream is full, the driver blocks the caller without a limit, and other
//! threads' calls to the driver with it (on an H200, from 1022 pieces of work behind a wait; streams that share a hardware queue
//! share its capacity). So the library counts its operations and records an event every so many pieces; before it enqueues more,
//! it waits for the previous event within the PE's limits.
//!
//! Work that the program itself enqueues is not counted, nor are its events and host functions, nor work on the per-thread
//! default stream. Captured work may be counted as if it were on the stream.

use crate::Result;
use crate::job::published::{Target, Wait};
use crate::lock::lock;
use crate::operation::Operation;
use crate::transport::Submission;
use crate::{CudaEvent, CudaTransport, PER_THREAD};
use cudarc::driver::sys::CUstream;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Pieces of work between two events: a stream holds at most twice as many.
const BETWEEN_MARKS: u64 = 400;
/// Bytes of pageable memory that count as one piece: the driver buffers them, and a stream has room for 4 MiB.
pub(crate) const PIECE: usize = 4 << 10;

/// The backlog of each stream.
#[derive(Default)]
pub(crate) struct Backpressure(Mutex<HashMap<u64, Backlog>>);

#[derive(Default)]
struct Backlog {
    /// Pieces since the latest event.
    taken: u64,
    mark: Option<Arc<CudaEvent>>,
}

impl Backlog {
    /// Takes `pieces` pieces if they fit before the next event; returns whether they fit.
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

/// The number of pieces that buffered bytes count as.
pub(crate) fn pieces(bytes: usize) -> u64 {
    (bytes / PIECE) as u64
}

impl Backpressure {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Backlog>> {
        lock(&self.0)
    }

    /// Counts further pieces on a stream, for which its next call may wait.
    pub(crate) fn count(&self, stream: u64, pieces: u64) {
        self.lock().entry(stream).or_default().taken += pieces;
    }

    /// Records that a stream is empty.
    pub(crate) fn clear(&self, stream: u64) {
        let cleared = self.lock().remove(&stream);
        drop(cleared);
    }
}

impl CudaTransport {
    /// Waits, if necessary, before `pieces` pieces are enqueued. The library's own stream has other counters (`blocking.rs`).
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
        // An event of another thread would be on another stream, and the pieces of a graph are on no stream.
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
                // Other threads may wait for this event, too.
                let target = Target::Stream { goal: 0 };
                self.wait(Wait { operation, target }, &|| before.query())?;
            }
            let mark = Some(Arc::new(self.mark_here(stream as CUstream)?));
            let mut backpressure = self.backpressure.lock();
            let backlog = backpressure.entry(stream).or_default();
            // If another thread recorded an event first, that event counts.
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
