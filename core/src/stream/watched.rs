//! Reports to the checker on streams of host memory and on events: queued work, and waits for it.

use super::queue::Job;
use crate::runtime::Inner;
use crate::transport::Observer;
use crate::{Result, Runtime};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

/// A stream, as the checker knows it; nothing unless the job is checked.
pub(super) struct Watched(Option<WatchedStream>);

struct WatchedStream {
    runtime: Runtime,
    /// Its number, if the checker distinguishes it from the caller.
    number: Option<u32>,
}

impl Watched {
    pub(super) fn new(inner: &Arc<Inner>) -> Watched {
        let stream = inner.transport.observer().map(|observer| WatchedStream {
            // Streams of the GPU may be ordered by means that the library does not see, such as CUDA's own events.
            number: match inner.transport.streams() {
                None => observer.stream_made(),
                Some(_) => None,
            },
            runtime: Runtime::view(inner),
        });
        Watched(stream)
    }

    /// Calls `body` with the checker and the stream's number, if there are both.
    fn observe<T>(&self, body: impl FnOnce(&dyn Observer, u32) -> T) -> Option<T> {
        let stream = self.0.as_ref()?;
        let observer = stream.runtime.inner.transport.observer()?;
        Some(body(observer, stream.number?))
    }

    /// A job that is being queued. `function`: it is one of the program's.
    pub(super) fn wrap(&self, job: Job, function: bool) -> Job {
        let Some(stream) = &self.0 else {
            return job;
        };
        let number = stream.number;
        let known = self.observe(|observer, number| observer.stream_submits(number));
        let known = known.unwrap_or_default();
        Box::new(move |rt: &Runtime| -> Result<()> {
            let Some(observer) = rt.inner.transport.observer() else {
                return job(rt);
            };
            observer.stream_begins(number, &known, function);
            let result = catch_unwind(AssertUnwindSafe(|| job(rt)));
            if let Some(number) = number {
                observer.stream_ends(number);
            }
            result.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// So many jobs that were queued are forgotten.
    pub(super) fn forgets(&self, count: usize) {
        for _ in 0..count {
            self.observe(|observer, number| observer.stream_forgets(number));
        }
    }

    /// The program has found that all that was queued has run.
    pub(super) fn done(&self) {
        self.observe(|observer, number| observer.stream_done(number));
    }
}

/// An event in the checker: the knowledge of the stream that has come to it.
#[derive(Default)]
pub(super) struct WatchedMark(Mutex<Vec<u64>>);

impl WatchedMark {
    /// The stream of this thread has come to it.
    pub(super) fn reached(&self, inner: &Inner) {
        if let Some(observer) = inner.transport.observer() {
            *crate::lock::lock(&self.0) = observer.event_reached();
        }
    }

    /// This thread has seen that a stream has come to it.
    pub(super) fn seen(&self, inner: &Inner) {
        if let Some(observer) = inner.transport.observer() {
            observer.event_seen(&crate::lock::lock(&self.0));
        }
    }
}
