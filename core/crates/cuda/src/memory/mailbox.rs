//! The mailbox: host memory that kernels access. It has the abort words, the first error of a kernel, slots for results, scratch
//! memory for arrays of kernels, and stages for copies of borrowed slices. It is allocated at init, because pinning memory may
//! wait for running kernels.
//!
//! The rules are those of [`driver`](crate::driver).

use super::stage::{STAGE, STAGES, Stages};
use crate::allocator::Allocator;
use crate::job::block::MAX_TEAMS;
use crate::kernels::{ErrorRecord, WRITTEN};
use crate::lock::lock;
use crate::transport::device_state::DeviceReport;
use crate::{CudaEvent, Device, check};
use crate::{Error, Result};
use cudarc::driver::sys;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

/// Offset of the scratch memory.
const SCRATCH: usize = 8192;
/// Bytes of scratch memory.
const SCRATCH_BYTES: usize = 256 << 10;
/// Offset of the stages.
pub(super) const STAGED: usize = SCRATCH + SCRATCH_BYTES;
/// Bytes of the mailbox.
const BYTES: usize = STAGED + STAGES * STAGE;
/// The number of result slots.
const SLOTS: usize = 128;

/// The contents of the mailbox. `collectives/completion.rs` describes the words that end kernels and report their completion.
#[repr(C)]
pub(crate) struct Contents {
    /// Nonzero: waiting kernels must end.
    pub(crate) abort: AtomicU32,
    reserved: [AtomicU32; 15],
    error: ErrorRecord,
    results: [[AtomicU64; 2]; SLOTS],
    /// Per team; nonzero: the kernels of the team's collectives must end.
    pub(crate) teams: [AtomicU32; MAX_TEAMS],
    /// The ticket of the team's latest completed blocking collective.
    pub(crate) finished: [AtomicU64; MAX_TEAMS],
    /// The first invalid argument that a kernel of the program reported.
    pub(crate) device_report: DeviceReport,
    /// Always 0, a source for copies.
    zero: AtomicU64,
}
const _: () =
    assert!(size_of::<Contents>() <= SCRATCH && std::mem::offset_of!(Contents, error) == 64);

/// A result slot and scratch arrays, kept until a kernel has ended.
struct Retired {
    end: CudaEvent,
    index: usize,
    arrays: Vec<u64>,
}

/// The mailbox of a PE.
pub(crate) struct Mailbox {
    device: Arc<Device>,
    pub(super) host: *mut Contents,
    /// The mailbox's address on the GPU.
    pub(super) address: u64,
    /// The free result slots.
    unused: Mutex<Vec<usize>>,
    /// Slots and arrays that kernels may still write, although no call waits for them any more.
    retired: Mutex<Vec<Retired>>,
    /// The allocator of the scratch memory.
    arrays: Mutex<Allocator>,
    pub(super) stages: Stages,
}

// SAFETY: the contents are atomics, and the lists are behind locks.
unsafe impl Send for Mailbox {}
// SAFETY: as above.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Mailbox> {
        let _current = device.enter()?;
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let mut host = std::ptr::null_mut();
        // SAFETY: rules 1 and 2; `drop` gives it back.
        let code = unsafe { sys::cuMemHostAlloc(&mut host, BYTES, flags) };
        check("cuMemHostAlloc", code)?;
        // SAFETY: the allocation has this length and is not shared yet. Zeros are valid atomics.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, BYTES) };
        let mut mailbox = Mailbox {
            device: Arc::clone(device),
            host: host.cast(),
            address: 0,
            unused: Mutex::new((0..SLOTS).rev().collect()),
            retired: Mutex::default(),
            arrays: Mutex::new(Allocator::new(SCRATCH_BYTES as u64)),
            stages: Stages::new(),
        };
        // SAFETY: rules 1 to 3.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut mailbox.address, host, 0) };
        check("cuMemHostGetDevicePointer", code)?;
        Ok(mailbox)
    }

    pub(crate) fn contents(&self) -> &Contents {
        // SAFETY: `new` allocated it, it lives as long as `self`, and it consists of atomics.
        unsafe { &*self.host }
    }

    /// The abort word's address on the GPU.
    pub(crate) fn abort_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, abort) as u64
    }

    /// The error record's address on the GPU.
    pub(crate) fn error_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, error) as u64
    }

    /// The address of a team's abort word on the GPU.
    pub(crate) fn team_address(&self, team: u32) -> u64 {
        let teams = std::mem::offset_of!(Contents, teams);
        self.address + (teams + team as usize * size_of::<u32>()) as u64
    }

    /// The address on the GPU to which a team's blocking collective writes its ticket.
    pub(crate) fn finished_address(&self, team: u32) -> u64 {
        let finished = std::mem::offset_of!(Contents, finished);
        self.address + (finished + team as usize * size_of::<u64>()) as u64
    }

    /// The address on the GPU of the report of invalid arguments.
    pub(crate) fn device_report_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, device_report) as u64
    }

    /// The address on the GPU of eight zero bytes.
    pub(crate) fn zero_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, zero) as u64
    }

    /// The first error of a kernel.
    pub(crate) fn error(&self) -> Option<&ErrorRecord> {
        let record = &self.contents().error;
        (record.state.load(Acquire) == WRITTEN).then_some(record)
    }

    /// A zeroed slot of 16 bytes for the result of an operation, held until the value is dropped; `None` if all are in use. An
    /// error if all slots are held by kernels that calls have given up.
    pub(crate) fn result(&self) -> Result<Option<ResultWord<'_>>> {
        let mut index = lock(&self.unused).pop();
        if index.is_none() && self.take_back() {
            index = lock(&self.unused).pop();
        }
        let Some(index) = index else {
            return match lock(&self.retired).len() {
                SLOTS => Err(Error::NotSupported(format!(
                    "another operation that gives something back cannot begin: {SLOTS} of them have ended with an error, and the streams that they \
                     were on have not come to them; let those streams go on first"
                ))),
                _ => Ok(None),
            };
        };
        for word in &self.contents().results[index] {
            word.store(0, Relaxed);
        }
        Ok(Some(ResultWord {
            mailbox: self,
            index,
        }))
    }

    /// Withholds a slot and arrays from other operations until `end` is reached, because a kernel may still write to them; for
    /// good if there is no `end`.
    pub(crate) fn retire(
        &self,
        place: ResultWord<'_>,
        arrays: Vec<Scratch<'_>>,
        end: Option<CudaEvent>,
    ) {
        if let Some(end) = end {
            lock(&self.retired).push(Retired {
                end,
                index: place.index,
                arrays: arrays.iter().map(|array| array.offset).collect(),
            });
        }
        std::mem::forget(place);
        arrays.into_iter().for_each(std::mem::forget);
    }

    /// Reclaims the memory of kernels that have ended; returns whether there was any.
    fn take_back(&self) -> bool {
        let mut retired = lock(&self.retired);
        let before = retired.len();
        retired.retain(|one| {
            // After an error of the driver the end of the kernel is unknown, so the memory stays withheld.
            let ended = one.end.query().unwrap_or(false);
            if ended {
                lock(&self.unused).push(one.index);
                for &offset in &one.arrays {
                    self.arrays().free(offset);
                }
            }
            !ended
        });
        retired.len() < before
    }
}

/// Scratch memory for an array that a kernel reads or writes, held until the value is dropped.
pub(crate) struct Scratch<'a> {
    mailbox: &'a Mailbox,
    offset: u64,
    bytes: u64,
}

impl Mailbox {
    /// Allocates `bytes` bytes of scratch memory, at least 1; an error if none is left.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<Scratch<'_>> {
        let mut block = self.arrays().allocate(bytes as u64, 64);
        if block.is_none() && self.take_back() {
            block = self.arrays().allocate(bytes as u64, 64);
        }
        let block = block.ok_or_else(|| {
            Error::NotSupported(format!(
                "{bytes} bytes of arrays for a kernel are too many: of {SCRATCH_BYTES} bytes for that, not enough are free. Pass fewer elements at a \
                 time"
            ))
        })?;
        Ok(Scratch {
            mailbox: self,
            offset: block.offset,
            bytes: bytes as u64,
        })
    }

    fn arrays(&self) -> MutexGuard<'_, Allocator> {
        lock(&self.arrays)
    }
}

impl Scratch<'_> {
    /// The address on the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.mailbox.address + SCRATCH as u64 + self.offset
    }

    fn host(&self) -> *mut u8 {
        self.mailbox
            .host
            .cast::<u8>()
            .wrapping_add(SCRATCH + self.offset as usize)
    }

    /// Writes the contents, before a kernel gets the address.
    pub(crate) fn write(&self, bytes: &[u8]) {
        assert!(
            bytes.len() as u64 <= self.bytes,
            "an array larger than the scratch memory"
        );
        // SAFETY: the memory is mapped, owned by this value, and long enough (just checked).
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host(), bytes.len()) };
    }

    /// Reads the first `count` words; the kernel that writes them must have ended.
    pub(crate) fn words(&self, count: usize) -> Vec<u64> {
        let bytes = count.saturating_mul(size_of::<u64>());
        assert!(
            bytes as u64 <= self.bytes,
            "more words than the scratch memory has"
        );
        let mut words = vec![0; count];
        // SAFETY: as in `write`; the kernel has ended.
        unsafe { std::ptr::copy_nonoverlapping(self.host(), words.as_mut_ptr().cast(), bytes) };
        words
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.mailbox.arrays().free(self.offset);
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if !self.device.is_ours() {
            return;
        }
        if let Ok(_current) = self.device.enter() {
            // SAFETY: rules 1 and 3; kernels that might use it have ended, because the stream is idle (`CudaTransport` waits for
            // that).
            let _ = unsafe { sys::cuMemFreeHost(self.host.cast()) };
        }
    }
}

/// A result slot, which a kernel or a copy writes.
pub(crate) struct ResultWord<'a> {
    mailbox: &'a Mailbox,
    index: usize,
}

impl ResultWord<'_> {
    /// The slot's address on the GPU.
    pub(crate) fn address(&self) -> u64 {
        let results = std::mem::offset_of!(Contents, results);
        self.mailbox.address + (results + self.index * 2 * size_of::<u64>()) as u64
    }

    /// Reads the result; the kernel must have ended. Words that it did not write are 0.
    pub(crate) fn value(&self) -> [u64; 2] {
        let words = &self.mailbox.contents().results[self.index];
        [words[0].load(Acquire), words[1].load(Acquire)]
    }
}

impl Drop for ResultWord<'_> {
    fn drop(&mut self) {
        lock(&self.mailbox.unused).push(self.index);
    }
}
