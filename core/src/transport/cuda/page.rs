//! Host memory that the GPU's kernels reach: the abort words, the first error of a kernel, room for the results of operations that give
//! something back, and for arrays that a kernel gets. It is made at init, because making pinned memory may wait for kernels that run.
//!
//! The rules are those of [`driver`](super::driver).

use super::device::Device;
use super::driver::check;
use super::kernels::{ErrorRecord, WRITTEN};
use crate::heap::alloc::Allocator;
use crate::transport::host::control::MAX_TEAMS;
use crate::{Error, Result};
use cudarc::driver::sys;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where the room for arrays begins.
const SCRATCH: usize = 4096;
/// Bytes of that room.
const SCRATCH_BYTES: usize = 256 << 10;
/// Bytes of all.
const BYTES: usize = SCRATCH + SCRATCH_BYTES;
/// What the host writes to an abort word; kernels write what went wrong.
const ENDED: u32 = 1 << 16;
/// Places for results.
const SLOTS: usize = 128;

/// What is in the page.
#[repr(C)]
pub(crate) struct Contents {
    /// Not 0: kernels that wait shall end.
    abort: AtomicU32,
    reserved: [AtomicU32; 15],
    error: ErrorRecord,
    results: [[AtomicU64; 2]; SLOTS],
    /// Not 0: kernels of the collectives of this team shall end.
    teams: [AtomicU32; MAX_TEAMS],
}
const _: () =
    assert!(size_of::<Contents>() <= SCRATCH && std::mem::offset_of!(Contents, error) == 64);

/// The page of a PE.
pub(crate) struct Page {
    device: Arc<Device>,
    host: *mut Contents,
    /// Its address for kernels.
    address: u64,
    /// The places for results that nobody uses.
    unused: Mutex<Vec<usize>>,
    /// What of the room for arrays is in use.
    arrays: Mutex<Allocator>,
}

// SAFETY: the contents are atomics, the list is behind a lock.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    pub(super) fn new(device: &Arc<Device>) -> Result<Page> {
        let _current = device.enter()?;
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let mut host = std::ptr::null_mut();
        // SAFETY: rules 1 and 2; `drop` gives it back.
        let code = unsafe { sys::cuMemHostAlloc(&mut host, BYTES, flags) };
        check("cuMemHostAlloc", code)?;
        // SAFETY: it is that long, and nobody else knows it yet. Zeros are valid atomics.
        unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, BYTES) };
        let mut page = Page {
            device: Arc::clone(device),
            host: host.cast(),
            address: 0,
            unused: Mutex::new((0..SLOTS).rev().collect()),
            arrays: Mutex::new(Allocator::new(SCRATCH_BYTES as u64)),
        };
        // SAFETY: rules 1 to 3.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut page.address, host, 0) };
        check("cuMemHostGetDevicePointer", code)?;
        Ok(page)
    }

    fn contents(&self) -> &Contents {
        // SAFETY: `new` made it, it lives as long as `self`, and it is atomics only.
        unsafe { &*self.host }
    }

    /// The abort word's address for kernels.
    pub(crate) fn abort_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, abort) as u64
    }

    /// The record's address for kernels.
    pub(crate) fn error_address(&self) -> u64 {
        self.address + std::mem::offset_of!(Contents, error) as u64
    }

    /// The abort word's address for the collectives of a team.
    pub(super) fn team_address(&self, team: u32) -> u64 {
        let teams = std::mem::offset_of!(Contents, teams);
        self.address + (teams + team as usize * size_of::<u32>()) as u64
    }

    /// Ends the kernels that wait, now and later.
    pub(crate) fn abort(&self) {
        self.contents().abort.store(ENDED, SeqCst);
        for team in &self.contents().teams {
            team.store(ENDED, SeqCst);
        }
    }

    /// Ends the kernels of a team's collectives, now and until another team has the number.
    pub(super) fn end_team(&self, team: u32) {
        self.contents().teams[team as usize].store(ENDED, Release);
    }

    /// Lets the kernels of a new team wait.
    pub(super) fn let_team_wait(&self, team: u32) {
        let contents = self.contents();
        contents.teams[team as usize].store(0, SeqCst);
        // Who ends all kernels at the same time has set the one word before the other.
        if contents.abort.load(SeqCst) != 0 {
            self.end_team(team);
        }
    }

    /// What went wrong first in a kernel.
    pub(crate) fn error(&self) -> Option<&ErrorRecord> {
        let record = &self.contents().error;
        (record.state.load(Acquire) == WRITTEN).then_some(record)
    }

    /// A place of 16 bytes for the result of an operation, zero, for as long as the value lives.
    pub(crate) fn result(&self) -> ResultWord<'_> {
        loop {
            let mut unused = self
                .unused
                .lock()
                .unwrap_or_else(|poison| poison.into_inner());
            if let Some(index) = unused.pop() {
                for word in &self.contents().results[index] {
                    word.store(0, Relaxed);
                }
                return ResultWord { page: self, index };
            }
            drop(unused);
            // As many threads as there are places are inside operations, which end by themselves.
            std::thread::yield_now();
        }
    }
}

/// Room for an array that a kernel reads or writes, for as long as the value lives.
pub(crate) struct Scratch<'a> {
    page: &'a Page,
    offset: u64,
    bytes: u64,
}

impl Page {
    /// Room for `bytes` bytes, more than none; an error if there is none left.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<Scratch<'_>> {
        let block = self.arrays().allocate(bytes as u64, 64);
        let block = block.ok_or_else(|| {
            Error::NotSupported(format!(
                "{bytes} bytes of arrays for a kernel: of {SCRATCH_BYTES} bytes for that, not enough are free; pass fewer elements at a \
                 time"
            ))
        })?;
        Ok(Scratch {
            page: self,
            offset: block.offset,
            bytes: bytes as u64,
        })
    }

    fn arrays(&self) -> MutexGuard<'_, Allocator> {
        self.arrays
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Scratch<'_> {
    /// Its address for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.page.address + SCRATCH as u64 + self.offset
    }

    fn host(&self) -> *mut u8 {
        self.page
            .host
            .cast::<u8>()
            .wrapping_add(SCRATCH + self.offset as usize)
    }

    /// Fills it, before any kernel gets it.
    pub(crate) fn write(&self, bytes: &[u8]) {
        assert!(
            bytes.len() as u64 <= self.bytes,
            "an array that is too long"
        );
        // SAFETY: the room is mapped, this value's alone, and long enough (just checked).
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host(), bytes.len()) };
    }

    /// The first `count` words, once the kernel that writes them has ended.
    pub(crate) fn words(&self, count: usize) -> Vec<u64> {
        let bytes = count.saturating_mul(size_of::<u64>());
        assert!(bytes as u64 <= self.bytes, "more words than there are");
        let mut words = vec![0; count];
        // SAFETY: as in `write`; the kernel has ended.
        unsafe { std::ptr::copy_nonoverlapping(self.host(), words.as_mut_ptr().cast(), bytes) };
        words
    }

    /// Never gives it to another call, because the kernel may not have ended.
    pub(crate) fn give_up(self) {
        std::mem::forget(self);
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.page.arrays().free(self.offset);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if !self.device.is_ours() {
            return;
        }
        if let Ok(_current) = self.device.enter() {
            // SAFETY: rules 1 and 3; kernels that might use it have ended, because the stream is idle (`CudaTransport` sees to it).
            let _ = unsafe { sys::cuMemFreeHost(self.host.cast()) };
        }
    }
}

/// A place that a kernel, or a copy, writes a result to.
pub(crate) struct ResultWord<'a> {
    page: &'a Page,
    index: usize,
}

impl ResultWord<'_> {
    /// Its address for kernels.
    pub(crate) fn address(&self) -> u64 {
        let results = std::mem::offset_of!(Contents, results);
        self.page.address + (results + self.index * 2 * size_of::<u64>()) as u64
    }

    /// What the kernel, which has ended, has written; the rest is zero.
    pub(crate) fn value(&self) -> [u64; 2] {
        let words = &self.page.contents().results[self.index];
        [words[0].load(Acquire), words[1].load(Acquire)]
    }

    /// Never gives it to another operation, because the kernel may not have ended.
    pub(crate) fn give_up(self) {
        std::mem::forget(self);
    }
}

impl Drop for ResultWord<'_> {
    fn drop(&mut self) {
        let mut unused = self
            .page
            .unused
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        unused.push(self.index);
    }
}
