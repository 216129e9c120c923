//! Copies on a stream, for all kinds of memory of the program.
//!
//! The driver accesses memory that it knows (of a GPU, managed, pinned) when the stream reaches the copy. It buffers a small
//! amount of pageable memory at once. For more, and for a copy to pageable memory, its call returns only when the copy is
//! complete, and no limit ends that call: on an H200 such a call waited for other streams, although an event before it had been
//! reached. Therefore larger copies pass through pinned memory of the library (stages) in parts; each part is waited for within
//! the PE's limits.
//!
//! A borrowed slice belongs to the caller again when the call returns, also with an error. So on a stream the GPU never gets its
//! address: data that it might use later passes through a stage, which stays the GPU's if the call gives up.
//!
//! A blocking operation that times out leaves its copy on the blocking stream. Therefore small copies, and memory that the GPU
//! accesses itself although it is borrowed or pageable, pass through memory of the library. Larger copies begin once the stream
//! can run work: waiting streams then no longer hold it up, except streams that occupied the last queue in the microseconds since.
//! An event does not prove that for work of another kind (on an H200 an event was reached, and a kernel behind it was held up). A
//! piece of the same kind does: for pinned memory the first bytes are copied through a stage first, and for a kernel another
//! kernel runs first. One case remains: in those microseconds, and with private GPU memory (from which a small put begins at
//! once, for speed), the GPU may access GPU memory and pinned memory after the error, until a quiet returns.

use super::Submitted;
use crate::Result;
use crate::buffer::{LocalDest, LocalSource};
use crate::memory::segment::mapping_of;
use crate::operation::Operation;
use crate::streams::backpressure::{PIECE, pieces};
use crate::transport::Submission;
use crate::transport::copy::copy;
use crate::{CudaTransport, GivenUp, STAGE, Stage, check};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// The amount of pageable memory that the driver buffers at once.
const AT_ONCE: usize = 64 << 10;
/// Borrowed slices up to this many bytes are copied to the call's own stack; of pinned memory, this many bytes are copied first.
const LITTLE: usize = 4 << 10;
/// The driver's memory type for GPU memory.
const OF_GPU: u64 = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u64;

/// The operation that a captured stream refuses, for an error.
const BORROWED: &str = "a transfer with a slice that is borrowed for the call";

/// A pointer attribute of the driver.
#[derive(Clone, Copy)]
pub(crate) enum PointerAttribute {
    MemoryType,
    Device,
    AddressForKernels,
}

/// `CU_DEVICE_INVALID`, in 4 bytes.
const NO_DEVICE: u64 = -2_i32 as u32 as u64;

impl PointerAttribute {
    /// The attribute of an address; `None` if the driver does not know the address. The device's context must be current.
    pub(crate) fn of(self, address: u64) -> Option<u64> {
        PointerAttribute::all([self], address).map(|[value]| value)
    }

    /// As [`of`](PointerAttribute::of), for several attributes by one call of the driver.
    fn all<const N: usize>(which: [PointerAttribute; N], address: u64) -> Option<[u64; N]> {
        use sys::CUpointer_attribute::*;
        let kinds = which.map(|one| match one {
            PointerAttribute::MemoryType => (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0),
            PointerAttribute::Device => (CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, NO_DEVICE),
            PointerAttribute::AddressForKernels => (CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 0),
        });
        let (mut values, mut attributes) = ([0_u64; N], kinds.map(|(attribute, _)| attribute));
        let mut places = values
            .each_mut()
            .map(|value| (&raw mut *value).cast::<c_void>());
        // Unlike cuPointerGetAttribute, this call does not fail for an address that the driver does not know.
        // SAFETY: rules 1 and 2 of driver.rs: the driver writes 4 bytes for the first two attributes, 8 for the last.
        let code = unsafe {
            let (attributes, places) = (attributes.as_mut_ptr(), places.as_mut_ptr());
            sys::cuPointerGetAttributes(N as u32, attributes, places, address)
        };
        let known = values
            .iter()
            .zip(kinds)
            .all(|(value, (_, nothing))| *value != nothing);
        (code == CUresult::CUDA_SUCCESS && known).then_some(values)
    }
}

impl CudaTransport {
    /// Whether an address is memory of this PE's GPU, mapped as part of a heap or not. The device's context must be current.
    pub(crate) fn is_own_memory(&self, address: u64) -> bool {
        let which = [PointerAttribute::MemoryType, PointerAttribute::Device];
        PointerAttribute::all(which, address) == Some([OF_GPU, self.device.raw() as u64])
    }

    /// Whether all bytes from `start` up to `end` are memory of this PE's GPU outside of the heap. They may lie in several allocations, without
    /// a hole between them. The device's context must be current.
    pub(crate) fn is_private_memory(&self, start: u64, end: u64) -> bool {
        let is_private = |at| self.layout.locate(at).is_none() && self.is_own_memory(at);
        let mut at = start;
        while at < end {
            if !is_private(at) {
                return false;
            }
            at = match mapping_of(at) {
                Ok((base, bytes)) if base.saturating_add(bytes) > at => base.saturating_add(bytes),
                // Memory without a known extent, such as memory of another API that the program has mapped: then the last byte decides.
                _ => return is_private(end - 1),
            };
        }
        true
    }

    /// Enqueues a copy on a stream.
    pub(crate) fn begin_copy(
        &self,
        submission: Submission,
        dest: u64,
        source: u64,
        bytes: usize,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if dest.abs_diff(source) < bytes as u64 {
            // Both sides are in the heap. The copy engine does not support ranges that overlap.
            return self
                .kernels
                .copy(self.stream(submission), dest, source, bytes as u64);
        }
        let _current = self.device.enter()?;
        // SAFETY: rules 1 and 3 of driver.rs. One side lies within mapped memory of the heap (checked above this layer). The
        // other side does too, or is memory that `LocalSource` and `LocalDest` vouch for until the operation is complete, or is a
        // stage, which has no other user before the copy is complete.
        let code = unsafe { sys::cuMemcpyAsync(dest, source, bytes, self.stream(submission)) };
        check("cuMemcpyAsync", code)
    }

    /// Enqueues a copy from memory of the program. A borrowed slice is read before this returns.
    pub(crate) fn begin_put(
        &self,
        submitted: Submitted,
        to: u64,
        source: LocalSource<'_>,
    ) -> Result<()> {
        let submission = submitted.0;
        let (from, bytes) = (source.address() as u64, source.bytes());
        if self.layout.locate(from).is_some() {
            return self.begin_copy(submission, to, from, bytes);
        }
        if source.is_borrowed() {
            return self.put_borrowed(submitted, to, source);
        }
        match submission {
            Submission::Blocking => self.put_blocking(submitted.1, to, source),
            Submission::Stream(_) if bytes <= AT_ONCE => {
                let away = self.copied_away(from, bytes)?;
                self.apply_backpressure(submission, submitted.1, pieces(away))?;
                self.begin_copy(submission, to, from, bytes)
            }
            Submission::Stream(_) => {
                match self.is_known(from)? || self.device.is_captured(self.stream(submission))? {
                    true => self.begin_copy(submission, to, from, bytes),
                    false => self.put_staged(submitted, to, source),
                }
            }
        }
    }

    fn put_borrowed(&self, submitted: Submitted, to: u64, source: LocalSource<'_>) -> Result<()> {
        let submission = submitted.0;
        let (from, bytes) = (source.address() as u64, source.bytes());
        if let Submission::Stream(stream) = submission {
            self.device
                .check_capture(stream as sys::CUstream, BORROWED)?;
        }
        if self.device.properties().reads_pages {
            return self.put_staged(submitted, to, source);
        }
        if bytes <= LITTLE {
            let mut away = [MaybeUninit::<u8>::uninit(); LITTLE];
            let away = away.as_mut_ptr().cast();
            // SAFETY: the source is valid for reads (rule 2 of buffer.rs); `away` is long enough (just checked) and not shared.
            unsafe { copy::<false, false>(away, source.address(), bytes) };
            return self.begin_copy(submission, to, away as u64, bytes);
        }
        if submission == Submission::Blocking {
            return self.put_blocking(submitted.1, to, source);
        }
        if bytes > AT_ONCE {
            return self.put_staged(submitted, to, source);
        }
        self.apply_backpressure(submission, submitted.1, pieces(bytes))?;
        if !self.is_known(from)? {
            return self.begin_copy(submission, to, from, bytes);
        }
        let mut away = vec![0_u8; bytes];
        // SAFETY: the source is valid for reads (rule 2 of buffer.rs); `away` has the same length and is not shared.
        unsafe { copy::<false, false>(away.as_mut_ptr(), source.address(), bytes) };
        self.begin_copy(submission, to, away.as_ptr() as u64, bytes)
    }

    /// Enqueues a copy from memory outside the heap on the blocking stream.
    fn put_blocking(&self, operation: Operation, to: u64, source: LocalSource<'_>) -> Result<()> {
        let submitted = (Submission::Blocking, operation);
        let (from, bytes) = (source.address() as u64, source.bytes());
        let (little, borrowed) = (bytes <= AT_ONCE, source.is_borrowed());
        let reads_pages = self.device.properties().reads_pages;
        let mut first = 0;
        if !little || borrowed || reads_pages || !self.has_turn() {
            match self.kind_of(from)? {
                // The driver buffers the data.
                None if !reads_pages && little => {}
                Some(OF_GPU) if little && !borrowed => {}
                Some(OF_GPU) if !borrowed => self.await_turn(operation)?,
                Some(_) if !little && !borrowed && self.has_turn() => {}
                Some(_) if !little && !borrowed => {
                    first = LITTLE;
                    self.put_staged(submitted, to, source.part(0, first))?;
                }
                _ => return self.put_staged(submitted, to, source),
            }
        }
        let (to, from) = (to + first as u64, from + first as u64);
        self.begin_copy(Submission::Blocking, to, from, bytes - first)
    }

    /// Enqueues a copy on the blocking stream without a wait; the source must stay valid until quiet.
    pub(super) fn issue_put(
        &self,
        operation: Operation,
        to: u64,
        source: LocalSource<'_>,
    ) -> Result<()> {
        let (from, bytes) = (source.address() as u64, source.bytes());
        let of_heap = self.layout.locate(from).is_some();
        let away = match of_heap || self.device.properties().reads_pages {
            true => 0,
            false => self.copied_away(from, bytes)?,
        };
        if away > AT_ONCE {
            return self.put_staged((Submission::Blocking, operation), to, source);
        }
        self.begin_copy(Submission::Blocking, to, from, bytes)?;
        self.issue_copied(away);
        Ok(())
    }

    /// The number of bytes at an address that the driver buffers; 0 for an amount too small to matter.
    fn copied_away(&self, from: u64, bytes: usize) -> Result<usize> {
        Ok(match bytes < PIECE || self.is_known(from)? {
            true => 0,
            false => bytes,
        })
    }

    /// Copies host memory through stages in parts, once the stream can run work.
    fn put_staged(&self, submitted: Submitted, to: u64, source: LocalSource<'_>) -> Result<()> {
        self.await_turn_on(submitted)?;
        for start in (0..source.bytes()).step_by(STAGE) {
            let part = source.part(start, STAGE.min(source.bytes() - start));
            let stage = self.stage(submitted)?;
            stage.fill(0, &part);
            self.through_stage(submitted, stage, |at| {
                self.begin_copy(submitted.0, to + start as u64, at, part.bytes())
            })?;
        }
        Ok(())
    }

    /// Enqueues a copy to memory of the program. A borrowed slice is written before this returns. Returns whether the copy is
    /// complete.
    pub(crate) fn begin_get(
        &self,
        submitted: Submitted,
        dest: LocalDest<'_>,
        from: u64,
    ) -> Result<bool> {
        let (submission, operation) = submitted;
        let (to, bytes) = (dest.address() as u64, dest.bytes());
        if self.layout.locate(to).is_none() {
            let Submission::Stream(stream) = submission else {
                return self.get_blocking(operation, dest, from);
            };
            let stream = stream as sys::CUstream;
            let borrowed = dest.is_borrowed();
            if borrowed {
                self.device.check_capture(stream, BORROWED)?;
            }
            if borrowed || !self.is_known(to)? && !self.device.is_captured(stream)? {
                return self.get_staged(submitted, dest, from).map(|()| true);
            }
        }
        self.begin_copy(submission, to, from, bytes).map(|()| false)
    }

    /// Enqueues a copy to memory outside the heap on the blocking stream. Returns whether the copy is complete.
    fn get_blocking(&self, operation: Operation, dest: LocalDest<'_>, from: u64) -> Result<bool> {
        let submitted = (Submission::Blocking, operation);
        let (to, bytes) = (dest.address() as u64, dest.bytes());
        let little = bytes <= AT_ONCE;
        if dest.is_borrowed() && little {
            return self.get_staged(submitted, dest, from).map(|()| true);
        }
        let mut first = 0;
        match self.kind_of(to)? {
            Some(OF_GPU) if !dest.is_borrowed() => self.await_turn(operation)?,
            Some(_) if !little && !dest.is_borrowed() => {
                if !self.has_turn() {
                    first = LITTLE;
                    self.get_staged(submitted, dest.part(0, first), from)?;
                }
            }
            _ => return self.get_staged(submitted, dest, from).map(|()| true),
        }
        let (to, from) = (to + first as u64, from + first as u64);
        self.begin_copy(Submission::Blocking, to, from, bytes - first)
            .map(|()| false)
    }

    /// Fills host memory through stages in parts, once the stream can run work.
    fn get_staged(&self, submitted: Submitted, dest: LocalDest<'_>, from: u64) -> Result<()> {
        self.await_turn_on(submitted)?;
        for start in (0..dest.bytes()).step_by(STAGE) {
            let bytes = STAGE.min(dest.bytes() - start);
            let stage = self.stage(submitted)?;
            let stage = self.through_stage(submitted, stage, |at| {
                self.begin_copy(submitted.0, at, from + start as u64, bytes)
            })?;
            stage.empty(0, &mut dest.part(start, bytes));
        }
        Ok(())
    }

    /// Waits before a transfer in parts: stages are few, and waiting streams of the program must not hold them up.
    pub(crate) fn await_turn_on(&self, (submission, operation): Submitted) -> Result<()> {
        match submission {
            Submission::Blocking => Ok(()),
            Submission::Stream(_) => self.await_here(submission, operation),
        }
    }

    /// A stage for a submission; waits until another thread releases one.
    pub(crate) fn stage(&self, (submission, operation): Submitted) -> Result<Stage<'_>> {
        self.take(operation, || self.mailbox.stage(submission))
    }

    /// Starts a copy from or to a stage, and waits until it is complete. If the wait fails, the stage is withheld until the copy
    /// is complete.
    pub(crate) fn through_stage<'a>(
        &'a self,
        (submission, operation): Submitted,
        stage: Stage<'a>,
        begin: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Stage<'a>> {
        begin(stage.address())?;
        match self.see_done(submission, operation) {
            Ok(()) => Ok(stage),
            Err(GivenUp { error, end }) => {
                stage.retire(end);
                Err(error)
            }
        }
    }

    /// Whether the driver knows an address: memory of a GPU, managed memory, or pinned host memory.
    pub(crate) fn is_known(&self, address: u64) -> Result<bool> {
        Ok(self.kind_of(address)?.is_some())
    }

    fn kind_of(&self, address: u64) -> Result<Option<u64>> {
        let _current = self.device.enter()?;
        Ok(PointerAttribute::MemoryType.of(address))
    }
}
