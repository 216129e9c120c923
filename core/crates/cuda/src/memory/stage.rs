//! Stages: pinned memory for copies of slices that the program lends for a call. If the call gives up, the GPU holds only the
//! address of a stage, not of the program's memory.

use super::mailbox::{Mailbox, STAGED};
use crate::CudaEvent;
use crate::buffer::{LocalDest, LocalSource};
use crate::lock::lock;
use crate::transport::Submission;
use crate::transport::copy::copy;
use crate::{Error, Result};
use std::sync::Mutex;

/// Bytes of a stage.
pub(crate) const STAGE: usize = 256 << 10;
/// The number of stages.
pub(crate) const STAGES: usize = 8;
/// Stages reserved for the library's own streams: streams of the program may occupy theirs for a long time.
const KEPT: usize = 2;

/// The stages of a mailbox.
pub(crate) struct Stages {
    unused: Mutex<Vec<usize>>,
    /// Stages that copies may still use, although no call waits for them any more: each until its event is reached, or for good
    /// without an event.
    retired: Mutex<Vec<(Option<CudaEvent>, usize)>>,
}

impl Stages {
    pub(crate) fn new() -> Stages {
        Stages {
            unused: Mutex::new((0..STAGES).rev().collect()),
            retired: Mutex::default(),
        }
    }

    /// Reclaims the stages of completed copies; returns how many are still withheld.
    fn take_back(&self) -> usize {
        let mut retired = lock(&self.retired);
        retired.retain(|(end, index)| {
            // After an error of the driver the state of the copy is unknown, so the stage stays withheld.
            let ended = end.as_ref().is_some_and(|end| end.query().unwrap_or(false));
            if ended {
                lock(&self.unused).push(*index);
            }
            !ended
        });
        retired.len()
    }
}

/// A stage for copies of up to [`STAGE`] bytes, held until the value is dropped.
pub(crate) struct Stage<'a> {
    mailbox: &'a Mailbox,
    index: usize,
}

impl Mailbox {
    /// A stage for a submission; `None` if all are in use. An error if all are held by copies that calls have given up.
    pub(crate) fn stage(&self, submission: Submission) -> Result<Option<Stage<'_>>> {
        let stages = &self.stages;
        let kept = match submission {
            Submission::Blocking => 0,
            Submission::Stream(_) => KEPT,
        };
        let mut unused = lock(&stages.unused);
        let index = if unused.len() > kept {
            unused.pop()
        } else {
            None
        };
        drop(unused);
        if index.is_none() {
            let retired = stages.take_back();
            if retired >= STAGES - kept {
                return Err(Error::NotSupported(format!(
                    "another transfer from or to memory of the host cannot begin: {retired} of them have ended with an error, and the streams that \
                     they were on have not come to them; let those streams go on first"
                )));
            }
        }
        Ok(index.map(|index| Stage {
            mailbox: self,
            index,
        }))
    }
}

impl Stage<'_> {
    /// The address of `bytes` bytes at offset `at`.
    fn place(&self, at: usize, bytes: usize) -> *mut u8 {
        assert!(
            at <= STAGE && bytes <= STAGE - at,
            "more bytes than a stage holds"
        );
        let start = STAGED + self.index * STAGE + at;
        self.mailbox.host.cast::<u8>().wrapping_add(start)
    }

    /// The stage's address on the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.mailbox.address + (STAGED + self.index * STAGE) as u64
    }

    /// Copies a slice into the stage at offset `at`, before the GPU uses it.
    pub(crate) fn fill(&self, at: usize, source: &LocalSource<'_>) {
        let place = self.place(at, source.bytes());
        // SAFETY: the source is valid for reads (rule 2 of buffer.rs); the stage is mapped, owned by this value and long enough.
        unsafe { copy::<false, false>(place, source.address(), source.bytes()) };
    }

    /// Copies data from offset `at` of the stage, after the GPU has completed its copy.
    pub(crate) fn empty(&self, at: usize, dest: &mut LocalDest<'_>) {
        let place = self.place(at, dest.bytes());
        // SAFETY: as in `fill`; the destination is valid for writes.
        unsafe { copy::<false, false>(dest.address(), place, dest.bytes()) };
    }

    /// Withholds the stage until `end` is reached, because a copy may still use it; for good if there is no `end`.
    pub(crate) fn retire(self, end: Option<CudaEvent>) {
        lock(&self.mailbox.stages.retired).push((end, self.index));
        std::mem::forget(self);
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        lock(&self.mailbox.stages.unused).push(self.index);
    }
}
