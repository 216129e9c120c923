//! Parts that several operations share: puts and gets on a stream, and results that a stream writes.

use super::Submitted;
use super::blocking::GivenUp;
use crate::buffer::{LocalSource, SymRange};
use crate::memory::mailbox::{ResultWord, Scratch};
use crate::operation::Operation;
use crate::transport::{GetRequest, PutRequest, Submission};
use crate::{CudaTransport, check};
use crate::{Pe, Result};
use cudarc::driver::sys::{self, CUstream};

impl CudaTransport {
    /// A put of the library's own.
    pub(crate) fn put_on(
        &self,
        submission: Submission,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
    ) -> Result<()> {
        let put = PutRequest { pe, dest, source };
        self.put_bytes((submission, Operation::Put), put)
    }

    /// A put.
    pub(super) fn put_bytes(&self, submitted: Submitted, put: PutRequest<'_>) -> Result<()> {
        self.begin(submitted.0, submitted.1)?;
        self.begin_put(submitted, self.layout.address(put.pe, put.dest), put.source)?;
        self.finish(submitted.0, submitted.1)
    }

    /// A get.
    pub(super) fn get_bytes(&self, submitted: Submitted, get: GetRequest<'_>) -> Result<()> {
        self.begin(submitted.0, submitted.1)?;
        let from = self.layout.address(get.pe, get.source);
        match self.begin_get(submitted, get.dest, from)? {
            true => Ok(()),
            false => self.finish(submitted.0, submitted.1),
        }
    }

    /// A put that may be incomplete when it returns. `lasts`: the source stays valid until quiet.
    pub(super) fn put_nbi(
        &self,
        submitted: Submitted,
        put: PutRequest<'_>,
        lasts: bool,
    ) -> Result<()> {
        let PutRequest { pe, dest, source } = put;
        match (submitted.0, lasts) {
            (_, false) => return self.put_bytes(submitted, put),
            (Submission::Stream(_), true) => {
                // SAFETY: the request states that the memory stays valid until quiet.
                let source = unsafe { source.lasting() };
                return self.put_bytes(submitted, PutRequest { pe, dest, source });
            }
            (Submission::Blocking, true) => {}
        }
        self.begin(submitted.0, submitted.1)?;
        self.issue_put(submitted.1, self.layout.address(pe, dest), source)
    }

    /// A get that may be incomplete when it returns. `lasts`: `dest` stays valid until quiet.
    pub(super) fn get_nbi(
        &self,
        submitted: Submitted,
        get: GetRequest<'_>,
        lasts: bool,
    ) -> Result<()> {
        match (submitted.0, lasts) {
            (_, false) => return self.get_bytes(submitted, get),
            (Submission::Stream(_), true) => {
                let GetRequest { pe, source, dest } = get;
                // SAFETY: as above.
                let dest = unsafe { dest.lasting() };
                return self.get_bytes(submitted, GetRequest { pe, source, dest });
            }
            (Submission::Blocking, true) => {}
        }
        let to = get.dest.address() as u64;
        if self.layout.locate(to).is_none() && !self.is_known(to)? {
            // The driver's call would wait in this case.
            return self.get_bytes(submitted, get);
        }
        self.begin(submitted.0, submitted.1)?;
        let from = self.layout.address(get.pe, get.source);
        self.begin_copy(submitted.0, to, from, get.dest.bytes())?;
        self.issue();
        Ok(())
    }

    /// Reads up to 16 bytes of `pe`'s memory.
    pub(super) fn get_words(
        &self,
        submitted: Submitted,
        pe: Pe,
        source: u64,
        bytes: usize,
    ) -> Result<[u64; 2]> {
        let from = self.layout.address(pe, source);
        self.fetch(submitted, &mut Vec::new(), |_, place| {
            self.begin_copy(submitted.0, place.address(), from, bytes)
        })
    }

    /// Sets this PE's copy of a range to 0.
    pub(crate) fn set_zero(&self, range: SymRange, operation: Operation) -> Result<()> {
        let place = self.layout.address(self.me, range.offset());
        let stream = self.begin(Submission::Blocking, operation)?;
        let current = self.device.enter()?;
        let bytes = range.bytes() as usize;
        // SAFETY: rules 1 and 3 of driver.rs; the range lies within mapped memory of this PE.
        let code = unsafe { sys::cuMemsetD8Async(place, 0, bytes, stream) };
        check("cuMemsetD8Async", code)?;
        drop(current);
        self.await_blocking(operation)
    }

    /// Starts an operation that writes a result to a slot, waits for it and returns the result. `arrays` may be reused
    /// afterwards; if the operation has not ended, they are withheld with the slot.
    pub(crate) fn fetch<'a>(
        &'a self,
        (submission, operation): Submitted,
        arrays: &mut Vec<Scratch<'a>>,
        begin: impl FnOnce(CUstream, &ResultWord<'_>) -> Result<()>,
    ) -> Result<[u64; 2]> {
        let stream = self.begin(submission, operation)?;
        if submission != Submission::Blocking {
            self.device
                .check_capture(stream, "an operation with a result")?;
        }
        let place = self.take(operation, || self.mailbox.result())?;
        begin(stream, &place)?;
        match self.see_done(submission, operation) {
            Ok(()) => Ok(place.value()),
            Err(GivenUp { error, end }) => {
                self.mailbox.retire(place, std::mem::take(arrays), end);
                Err(error)
            }
        }
    }
}
