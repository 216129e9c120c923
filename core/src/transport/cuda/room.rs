//! How much is on a stream of the program's: what does not fit makes the driver wait, which nothing ends, and other threads' calls to the
//! driver may wait with it (on an H200, from 1022 pieces of work behind a wait on; streams that share a queue share that). So each call
//! counts, and every so many pieces are marked; the next ones wait until the mark before is reached, with the PE's limits.
//!
//! What the program itself puts there is not counted, nor are functions, nor what is captured into graphs.

use super::CudaTransport;
use super::lanes::PER_THREAD;
use super::streams::CudaEvent;
use crate::Result;
use crate::transport::Lane;
use crate::wait::{Operation, Target, Wait};
use cudarc::driver::sys::CUstream;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Pieces of work between two marks: up to twice as many are on a stream.
const APART: u64 = 400;
/// Bytes of pageable memory that are as much as one more piece: the driver copies them away, and a stream has room for 4 MiB of them.
const PIECE: usize = 4 << 10;

/// By stream.
#[derive(Default)]
pub(super) struct Rooms(Mutex<HashMap<u64, Room>>);

#[derive(Default)]
struct Room {
    /// Pieces since the latest mark.
    taken: u64,
    mark: Option<CudaEvent>,
}

/// The pieces that a piece of work is for which the driver copies so many bytes away.
pub(super) fn pieces(bytes: usize) -> u64 {
    1 + (bytes / PIECE) as u64
}

impl Rooms {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Room>> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// So many pieces more were put on a stream, for which its next call may wait.
    pub(super) fn count(&self, stream: u64, pieces: u64) {
        self.lock().entry(stream).or_default().taken += pieces;
    }

    /// The next stream of the number is another one.
    pub(super) fn forget(&self, stream: u64) {
        let forgotten = self.lock().remove(&stream);
        drop(forgotten);
    }
}

impl CudaTransport {
    /// Before something is put on a lane; on the library's own, others count (`own.rs`).
    #[inline]
    pub(crate) fn take_room(&self, lane: Lane, operation: Operation, pieces: u64) -> Result<()> {
        let Lane::Stream(stream) = lane else {
            return Ok(());
        };
        let mut rooms = self.rooms.lock();
        let room = rooms.entry(stream).or_default();
        room.taken += pieces;
        if room.taken < APART {
            return Ok(());
        }
        room.taken = 0;
        let mark = room.mark.take();
        drop(rooms);
        self.mark_room(stream, operation, mark)
    }

    #[cold]
    fn mark_room(&self, stream: u64, operation: Operation, mark: Option<CudaEvent>) -> Result<()> {
        // Another thread's mark would be in another stream, and a graph's pieces are on none.
        if stream == PER_THREAD || self.device.is_captured(stream as CUstream)? {
            self.keep(stream, 0, mark);
            return Ok(());
        }
        if let Some(before) = mark {
            let target = Target::Stream { goal: 0 };
            if let Err(error) = self.wait(Wait { operation, target }, &|| before.query()) {
                // The next call waits, too.
                self.keep(stream, APART, Some(before));
                return Err(error);
            }
            self.give_mark_back(before);
        }
        let mark = self.mark_here(stream as CUstream)?;
        self.keep(stream, 0, Some(mark));
        Ok(())
    }

    fn keep(&self, stream: u64, taken: u64, mark: Option<CudaEvent>) {
        let mut rooms = self.rooms.lock();
        let room = rooms.entry(stream).or_default();
        room.taken += taken;
        // Of two threads' marks, one will do.
        let other = std::mem::replace(&mut room.mark, mark);
        drop(rooms);
        drop(other);
    }
}
