//! Pinned memory through which passes what the program has lent for a call: whatever ends the call, the GPU has no address of the
//! program's.

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
/// How many there are.
pub(crate) const STAGES: usize = 8;
/// Those that streams of the program's leave to the library's own: they may keep what they have had for long.
const KEPT: usize = 2;

/// The stages of a mailbox.
pub(crate) struct Stages {
    unused: Mutex<Vec<usize>>,
    /// What a copy may still use though nobody waits for it any more, each until its event, or for good if it has none.
    retired: Mutex<Vec<(Option<CudaEvent>, usize)>>,
}

impl Stages {
    pub(crate) fn new() -> Stages {
        Stages {
            unused: Mutex::new((0..STAGES).rev().collect()),
            retired: Mutex::default(),
        }
    }

    /// Takes back what copies that are done had; tells how many are left.
    fn take_back(&self) -> usize {
        let mut retired = lock(&self.retired);
        retired.retain(|(end, index)| {
            // After an error of the driver nobody knows.
            let ended = end.as_ref().is_some_and(|end| end.query().unwrap_or(false));
            if ended {
                lock(&self.unused).push(*index);
            }
            !ended
        });
        retired.len()
    }
}

/// A part of a mailbox for copies of up to [`STAGE`] bytes, for as long as the value lives.
pub(crate) struct Stage<'a> {
    mailbox: &'a Mailbox,
    index: usize,
}

impl Mailbox {
    /// A stage for a submission if there is one now; an error if all are given up to copies that have not been done.
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
    /// Where `bytes` bytes from byte `at` on are.
    fn place(&self, at: usize, bytes: usize) -> *mut u8 {
        assert!(
            at <= STAGE && bytes <= STAGE - at,
            "more than a stage holds"
        );
        let start = STAGED + self.index * STAGE + at;
        self.mailbox.host.cast::<u8>().wrapping_add(start)
    }

    /// Its address for the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.mailbox.address + (STAGED + self.index * STAGE) as u64
    }

    /// Copies a slice into it from byte `at` on, before the GPU gets it.
    pub(crate) fn fill(&self, at: usize, source: &LocalSource<'_>) {
        let place = self.place(at, source.bytes());
        // SAFETY: the source is valid for reads (rule 2 of buffer.rs); the stage is mapped, this value's alone and long enough.
        unsafe { copy::<false, false>(place, source.address(), source.bytes()) };
    }

    /// Copies out of it, from byte `at` on, what the GPU, which is done with it, has written.
    pub(crate) fn empty(&self, at: usize, dest: &mut LocalDest<'_>) {
        let place = self.place(at, dest.bytes());
        // SAFETY: as in `fill`; the destination is valid for writes.
        unsafe { copy::<false, false>(dest.address(), place, dest.bytes()) };
    }

    /// Keeps it from others until `end` is reached, or for good if nobody will know, because a copy may still use it.
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
