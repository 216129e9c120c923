//! The streams of a PE, as far as its membership is concerned: finalize waits for what is on them.

use super::{ENDED, Inner};
use crate::Result;
use crate::operation::Operation;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;

/// The queue of a stream of host memory.
pub(crate) trait WorkQueue: Send + Sync {
    /// Takes no more jobs; what is queued still runs.
    fn close(&self);

    /// Takes no more jobs, and forgets those that have not begun.
    fn abandon(&self);

    /// Waits until the jobs submitted before have run.
    fn drain(&self, inner: &Inner, operation: Operation) -> Result<()>;
}

/// A stream of the GPU.
pub(crate) trait DeviceStream: Send + Sync {
    /// The `cudaStream_t`.
    fn raw(&self) -> u64;

    /// The capture that it was in when it was made.
    fn made_in(&self) -> Option<u64>;

    /// Whether the program made it, and may destroy it once it has dropped ours.
    fn is_foreign(&self) -> bool;

    /// Whether everything on it has run; an error while it is captured.
    fn query(&self) -> Result<bool>;
}

/// The streams that the end of a runtime concerns.
#[derive(Default)]
pub(crate) struct Streams {
    queues: Mutex<Vec<Weak<dyn WorkQueue>>>,
    /// The threads of streams that were dropped; finalize waits for them.
    dropped: Mutex<Vec<JoinHandle<()>>>,
    /// The streams of the GPU that finalize waits for.
    gpu: Mutex<Vec<Arc<dyn DeviceStream>>>,
}

impl Streams {
    /// In a forked child: the threads are the parent's and cannot be joined or let go there.
    pub(super) fn forget_threads(&mut self) {
        let dropped = self
            .dropped
            .get_mut()
            .unwrap_or_else(|poison| poison.into_inner());
        std::mem::forget(std::mem::take(dropped));
    }
}

impl Inner {
    /// The streams of this PE, to add one to.
    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<Weak<dyn WorkQueue>>> {
        let mut streams = crate::lock::lock(&self.streams.queues);
        streams.retain(|stream| stream.strong_count() > 0);
        streams
    }

    /// The streams that still exist.
    pub(crate) fn live_streams(&self) -> Vec<Arc<dyn WorkQueue>> {
        self.streams().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn dropped_streams(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        crate::lock::lock(&self.streams.dropped)
    }

    /// Lets the thread of a stream that was dropped go on until its queue is empty.
    pub(crate) fn leave_running(&self, thread: JoinHandle<()>) {
        let mut threads = self.dropped_streams();
        threads.retain(|thread| !thread.is_finished());
        if self.live.load(Acquire) != ENDED {
            threads.push(thread);
        }
    }

    pub(crate) fn gpu_streams(&self) -> MutexGuard<'_, Vec<Arc<dyn DeviceStream>>> {
        crate::lock::lock(&self.streams.gpu)
    }

    /// Adds a stream to those that finalize waits for. Of those that were dropped, the idle ones are forgotten.
    pub(crate) fn add_gpu_stream(&self, stream: Arc<dyn DeviceStream>) {
        let mut streams = self.gpu_streams();
        streams.retain(|stream| Arc::strong_count(stream) > 1 || !stream.query().unwrap_or(true));
        streams.push(stream);
    }

    /// The program drops a stream. One of its own it may destroy now, so that is not touched any more; ours goes on until it is idle.
    /// What is on it is waited for by finalize.
    pub(crate) fn let_gpu_stream_go(&self, stream: Arc<dyn DeviceStream>) {
        if self.ready().is_err() {
            // A forked child; or the runtime has ended, and has let go of all streams.
            return;
        }
        if let Some(cuda) = self.transport.cuda() {
            cuda.let_go(stream.raw(), stream.made_in());
        }
        if stream.is_foreign() {
            self.gpu_streams().retain(|one| !Arc::ptr_eq(one, &stream));
        }
    }
}
