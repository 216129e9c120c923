//! Work on streams that the program may have destroyed: no event can be recorded behind it any more, and the stream cannot be queried.
//! Finalize waits for all work of the GPU's context instead, on a thread of its own.

use crate::job::signals;
use crate::lock::lock;
use crate::{Device, Error, Result};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, OnceLock};

/// How a wait has ended: true if the work is complete, false if a stream is captured into a graph.
type Ended = Arc<OnceLock<bool>>;

/// The streams that the program may have destroyed, taken together.
pub(crate) struct DestroyedStreams {
    device: Arc<Device>,
    /// Whether work may be on such streams.
    used: AtomicBool,
    /// Whether there have been several at a time.
    several: AtomicBool,
    /// The wait that has begun.
    wait: Mutex<Option<Ended>>,
}

impl DestroyedStreams {
    pub(crate) fn new(device: &Arc<Device>) -> DestroyedStreams {
        DestroyedStreams {
            device: Arc::clone(device),
            used: AtomicBool::new(false),
            several: AtomicBool::new(false),
            wait: Mutex::default(),
        }
    }

    /// Records that such a stream is used, beside others if `several`.
    pub(crate) fn add(&self, several: bool) {
        self.used.store(true, Release);
        self.several.fetch_or(several, Release);
        *lock(&self.wait) = None;
    }

    /// Whether there have been several at a time. Then a team's collectives may move from one to another, so an event is recorded behind
    /// each collective, while its stream exists.
    pub(crate) fn are_several(&self) -> bool {
        self.several.load(Acquire)
    }

    /// Records that their work is complete.
    pub(crate) fn clear(&self) {
        self.used.store(false, Release);
    }

    /// Whether their work is complete. The first call begins the wait.
    pub(crate) fn are_idle(&self) -> Result<bool> {
        if !self.used.load(Acquire) {
            return Ok(true);
        }
        let mut wait = lock(&self.wait);
        let ended = match &*wait {
            Some(ended) => ended,
            None => wait.insert(self.begin_wait()?),
        };
        match ended.get() {
            None => Ok(false),
            Some(true) => Ok(true),
            Some(false) => Err(Error::NotSupported(
                "the end of the work on streams is unknown while a stream is captured into a graph: end the capture first".into(),
            )),
        }
    }

    fn begin_wait(&self) -> Result<Ended> {
        let ended = Ended::default();
        let (device, result) = (Arc::clone(&self.device), Arc::clone(&ended));
        let builder = std::thread::Builder::new().name("nvshmemrs-streams".into());
        let started = signals::spawn(builder, move || {
            // After an error of the driver, no work runs any more.
            let _ = result.set(device.synchronize().unwrap_or(true));
        });
        match started {
            Ok(_) => Ok(ended),
            Err(error) => Err(Error::Internal(format!(
                "no thread can be started to wait for the GPU: {error}"
            ))),
        }
    }
}
