//! Streams, whose `State` is the models' own type.

use super::super::sync::Ordering::*;
use super::super::sync::{AtomicBool, AtomicU64, Condvar, JoinHandle, Mutex, MutexGuard, spawn};
use super::{Error, Inner, Operation, Result, Target, Wait, doorbell, lock, wait};
use crate::weak::{ordering, weak};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
include!(concat!(env!("OUT_DIR"), "/stream.rs"));

/// The checker is not modelled.
pub(crate) struct Watched;

impl Watched {
    fn wrap(&self, job: Job, _function: bool) -> Job {
        job
    }

    fn forgets(&self, _count: usize) {}

    fn done(&self) {}
}

#[derive(Default)]
pub(crate) struct WatchedMark {}

impl WatchedMark {
    fn reached(&self, _inner: &Inner) {}

    fn seen(&self, _inner: &Inner) {}
}

/// Deadlines of the caller's are not modelled.
fn carried<T>(job: T) -> T {
    job
}

/// Which job comes next.
fn next_job(jobs: &mut VecDeque<Job>) -> Option<Job> {
    if weak("stream: last in, first out") {
        jobs.pop_back()
    } else {
        jobs.pop_front()
    }
}

/// The runtime whose operations a stream calls.
#[derive(Clone)]
pub(crate) struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

impl QueueStream {
    fn check_caller(&self) -> Result<()> {
        Ok(())
    }
}

/// A stream and the runtime whose operations it calls.
pub(crate) struct Stream {
    inner: Arc<Inner>,
    kind: QueueStream,
}

impl Stream {
    /// Mirrors `QueueStream::start` of stream/queue.rs.
    pub(crate) fn new(inner: &Arc<Inner>) -> Stream {
        let queue = Arc::new(Queue {
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            completed: AtomicU64::new(0),
            stop: Arc::new(AtomicBool::new(false)),
            watched: Watched,
        });
        let view = Runtime {
            inner: Arc::clone(inner),
        };
        let served = Arc::clone(&queue);
        Stream {
            inner: Arc::clone(inner),
            kind: QueueStream {
                queue,
                thread: Some(spawn(move || served.serve(&view))),
            },
        }
    }

    pub(crate) fn submit(
        &self,
        job: impl FnOnce(&Runtime) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.kind.submit(Box::new(job))
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.kind.synchronize(&self.inner)
    }

    pub(crate) fn wait(&self, event: &Event) -> Result<()> {
        self.kind.wait(&event.marks)
    }

    /// Waits until all submitted jobs have run, with or without an error.
    pub(crate) fn drain(&self, inner: &Inner) -> Result<()> {
        self.kind.queue.drain(inner, Operation::StreamSynchronize)
    }

    pub(crate) fn abandon(&self) {
        self.kind.queue.abandon();
    }

    /// Mirrors `drop`: ends the stream once its queue is empty.
    pub(crate) fn end(mut self) {
        self.kind.queue.close();
        let thread = self.kind.thread.take().expect("a stream ends once");
        thread.join().unwrap();
    }
}

/// An event and the runtime that it waits on.
#[derive(Clone)]
pub(crate) struct Event {
    inner: Arc<Inner>,
    marks: Arc<QueueMarks>,
}

impl Event {
    pub(crate) fn new(inner: &Arc<Inner>) -> Event {
        Event {
            inner: Arc::clone(inner),
            marks: Arc::new(QueueMarks::new()),
        }
    }

    pub(crate) fn record(&self, stream: &Stream) -> Result<()> {
        self.marks.record(&stream.kind)
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.marks.synchronize(&self.inner)
    }
}
