//! The streams of host memory of a PE, for which finalize waits.

use super::{Inner, LEFT};
use crate::Result;
use crate::operation::Operation;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;

/// The queue of a stream of host memory.
pub(crate) trait WorkQueue: Send + Sync {
    /// Takes no more jobs; queued jobs still run.
    fn close(&self);

    /// Takes no more jobs, and drops jobs that have not begun.
    fn abandon(&self);

    /// Waits until the jobs submitted before have run.
    fn drain(&self, inner: &Inner, operation: Operation) -> Result<()>;

    /// The number of submitted jobs, the number that have run, and the error kept for the next synchronisation.
    fn position(&self) -> (u64, u64, Option<String>);
}

/// The streams that the end of a runtime concerns.
#[derive(Default)]
pub(crate) struct Streams {
    queues: Mutex<Vec<Weak<dyn WorkQueue>>>,
    /// The threads of streams that were dropped; finalize waits for them.
    dropped: Mutex<Vec<JoinHandle<()>>>,
}

impl Streams {
    /// In a forked child: the threads are the parent's and cannot be joined or detached there.
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

    /// Keeps the thread of a dropped stream running until its queue is empty.
    pub(crate) fn leave_running(&self, thread: JoinHandle<()>) {
        let mut threads = self.dropped_streams();
        threads.retain(|thread| !thread.is_finished());
        if self.live.load(Acquire) < LEFT {
            threads.push(thread);
        }
    }
}
