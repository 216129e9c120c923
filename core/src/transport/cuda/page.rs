//! Host memory that the GPU's kernels reach: the abort words, the first error of a kernel, room for the results of operations that give
//! something back, for arrays that a kernel gets, and for copies of slices that are borrowed. It is made at init, because making pinned
//! memory may wait for kernels that run.
//!
//! The rules are those of [`driver`](super::driver).

mod stage;

pub(super) use stage::{STAGE, Stage};

use super::device::Device;
use super::driver::check;
use super::kernels::{ErrorRecord, WRITTEN};
use super::streams::CudaEvent;
use crate::heap::alloc::Allocator;
use crate::job::block::{Control, MAX_TEAMS};
use crate::team::breaks;
use crate::{Error, Pe, Result};
use cudarc::driver::sys;
use stage::{STAGES, Stages};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

/// Where the room for arrays begins.
const SCRATCH: usize = 8192;
/// Bytes of that room.
const SCRATCH_BYTES: usize = 256 << 10;
/// Where the room for copies of borrowed slices begins.
const STAGED: usize = SCRATCH + SCRATCH_BYTES;
/// Bytes of all.
const BYTES: usize = STAGED + STAGES * STAGE;
/// What the host writes to an abort word; kernels write what went wrong.
const ENDED: u32 = 1 << 16;
/// Places for results.
const SLOTS: usize = 128;
/// For a team without collectives on streams.
const UNWATCHED: u64 = u64::MAX;

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
    /// What the kernel of the team's latest blocking collective that is over was told to write here.
    finished: [AtomicU64; MAX_TEAMS],
}
const _: () =
    assert!(size_of::<Contents>() <= SCRATCH && std::mem::offset_of!(Contents, error) == 64);

/// A place for a result, and arrays, until a kernel has ended.
struct Retired {
    end: CudaEvent,
    index: usize,
    arrays: Vec<u64>,
}

/// The page of a PE.
pub(crate) struct Page {
    device: Arc<Device>,
    host: *mut Contents,
    /// Its address for kernels.
    address: u64,
    /// The places for results that nobody uses.
    unused: Mutex<Vec<usize>>,
    /// What a kernel may still write though nobody waits for it any more.
    retired: Mutex<Vec<Retired>>,
    /// What of the room for arrays is in use.
    arrays: Mutex<Allocator>,
    stages: Stages,
    /// By team number, the epoch after which the first one of a team comes that has collectives on streams, or [`UNWATCHED`].
    born: [AtomicU64; MAX_TEAMS],
}

// SAFETY: the contents are atomics, the list is behind a lock.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

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
            retired: Mutex::default(),
            arrays: Mutex::new(Allocator::new(SCRATCH_BYTES as u64)),
            stages: Stages::new(),
            born: [const { AtomicU64::new(UNWATCHED) }; MAX_TEAMS],
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

    /// Where, for kernels, a blocking collective of a team writes its ticket when it is over.
    pub(super) fn finished_address(&self, team: u32) -> u64 {
        let finished = std::mem::offset_of!(Contents, finished);
        self.address + (finished + team as usize * size_of::<u64>()) as u64
    }

    /// Whether the team's blocking collective with this ticket is over.
    pub(super) fn has_finished(&self, team: u32, ticket: u64) -> bool {
        self.contents().finished[team as usize].load(Acquire) == ticket
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

    /// A team, whose first epoch comes after `born`, has collectives on streams, for which no call of the program's need be waiting.
    pub(crate) fn watch_team(&self, team: u32, born: u64) {
        self.born[team as usize].store(born, Release);
    }

    /// Ends the kernels of collectives on streams for which a member of the team cannot come any more. For the watchdog.
    pub(crate) fn end_broken_teams(&self, control: &Control, me: Pe) {
        for (team, born) in (0..).zip(&self.born) {
            let born = born.load(Acquire);
            if born != UNWATCHED && breaks(control.team(team, me).broken.load(Acquire), born) {
                self.end_team(team);
            }
        }
    }

    /// Whether the kernels of a team's collectives shall end, by the host's word or by one of theirs.
    pub(super) fn is_ended(&self, team: u32) -> bool {
        self.contents().teams[team as usize].load(Acquire) != 0
    }

    /// Lets the kernels of a new team wait.
    pub(super) fn let_team_wait(&self, team: u32) {
        self.born[team as usize].store(UNWATCHED, Release);
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

    /// A place of 16 bytes for the result of an operation, zero, for as long as the value lives, if there is one now. An error if all are
    /// given up to kernels that have not ended.
    pub(crate) fn result(&self) -> Result<Option<ResultWord<'_>>> {
        let mut index = lock(&self.unused).pop();
        if index.is_none() && self.take_back() {
            index = lock(&self.unused).pop();
        }
        let Some(index) = index else {
            return match lock(&self.retired).len() {
                SLOTS => Err(Error::NotSupported(format!(
                    "another operation that gives something back: {SLOTS} of them have ended with an error, and the streams that they \
                     were on have not come to them; let those streams go on first"
                ))),
                _ => Ok(None),
            };
        };
        for word in &self.contents().results[index] {
            word.store(0, Relaxed);
        }
        Ok(Some(ResultWord { page: self, index }))
    }

    /// Keeps a place and arrays from other operations until `end` is reached, or for good if nobody will know, because a kernel may still
    /// write there.
    pub(super) fn retire(
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

    /// Takes back what kernels that have ended had; tells whether there was something.
    fn take_back(&self) -> bool {
        let mut retired = lock(&self.retired);
        let before = retired.len();
        retired.retain(|one| {
            // After an error of the driver nobody knows.
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

/// Room for an array that a kernel reads or writes, for as long as the value lives.
pub(crate) struct Scratch<'a> {
    page: &'a Page,
    offset: u64,
    bytes: u64,
}

impl Page {
    /// Room for `bytes` bytes, more than none; an error if there is none left.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<Scratch<'_>> {
        let mut block = self.arrays().allocate(bytes as u64, 64);
        if block.is_none() && self.take_back() {
            block = self.arrays().allocate(bytes as u64, 64);
        }
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
        lock(&self.arrays)
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
}

impl Drop for ResultWord<'_> {
    fn drop(&mut self) {
        lock(&self.page.unused).push(self.index);
    }
}
