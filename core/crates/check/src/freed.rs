//! Freed blocks whose memory is in quarantine, and later uses of them.
//!
//! A freed block is filled with a pattern, and its whole pages are protected, so that a load or a store there ends the process at once. When the
//! quarantine ends the pattern must be there still. Accesses that the program reports are known at once, by their address.
//!
//! # Rules of this module
//!
//! 1. A block that is freed has no user: its words are given out as atomics, and its pages are opened before its memory is used again.

use super::Checker;
use super::report::{AccessInfo, Finding, FindingPlace, Problem};
use crate::buffer::SymRange;
use crate::operation::Operation;
use rustix::mm::{MprotectFlags, mprotect};
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, MutexGuard};

/// The contents of a freed block.
const PATTERN: u64 = 0xfefe_fefe_fefe_fefe;

/// A freed block.
#[derive(Clone, Copy)]
struct FreedBlock {
    bytes: u64,
    /// Where it was freed; 0 if that is not known.
    site: u16,
    /// Whether it is filled and protected.
    guarded: bool,
    reported: bool,
}

#[derive(Default)]
struct State {
    /// By offset.
    blocks: BTreeMap<u64, FreedBlock>,
    /// Where blocks are freed that are not yet here.
    sites: HashMap<u64, u16>,
}

/// The freed blocks of a PE.
#[derive(Default)]
pub(super) struct FreedBlocks {
    any: AtomicBool,
    state: Mutex<State>,
}

impl FreedBlocks {
    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    /// The program frees the block at an offset.
    pub(super) fn freed_at(&self, offset: u64, site: u16) {
        self.lock().sites.insert(offset, site);
    }

    /// The freed block that some bytes lie in, and where it begins.
    fn find(&self, offset: u64) -> Option<(u64, FreedBlock)> {
        if !self.any.load(Relaxed) {
            return None;
        }
        let state = self.lock();
        let (&start, &block) = state.blocks.range(..=offset).next_back()?;
        (offset - start < block.bytes).then_some((start, block))
    }
}

/// The whole pages within some bytes: where they begin, and how long they are.
fn pages(address: u64, bytes: u64) -> (u64, u64) {
    let page = rustix::param::page_size() as u64;
    let (start, end) = (
        address.next_multiple_of(page),
        (address + bytes) / page * page,
    );
    (start, end.saturating_sub(start))
}

impl Checker {
    /// The address of this PE's own memory, if this process can load and store it.
    fn own_memory(&self, offset: u64) -> Option<u64> {
        let may_load = self.below.properties().may_load;
        self.below.local_ptr(self.me, offset).filter(|_| may_load)
    }

    /// A block of this PE's, whose memory is committed and which must not be used, is freed.
    pub(super) fn quarantined(&self, range: SymRange) {
        let (offset, bytes) = (range.offset(), range.bytes());
        let address = self.own_memory(offset);
        let guarded = address.is_some_and(|address| {
            words(address, bytes).for_each(|word| word.store(PATTERN, Relaxed));
            let (start, len) = pages(address, bytes);
            len == 0 || protect(start, len, MprotectFlags::empty()).is_ok()
        });
        let mut state = self.freed_blocks.lock();
        let site = state.sites.remove(&offset).unwrap_or(0);
        let block = FreedBlock {
            bytes,
            site,
            guarded,
            reported: false,
        };
        state.blocks.insert(offset, block);
        self.freed_blocks.any.store(true, Relaxed);
    }

    /// Its memory is about to be used again, or given back.
    pub(super) fn quarantine_ends(&self, range: SymRange, site: u16) {
        let block = {
            let mut state = self.freed_blocks.lock();
            state.blocks.remove(&range.offset())
        };
        if let Some(block) = block {
            self.open_and_look(range.offset(), block, site);
        }
    }

    /// Looks at all blocks in quarantine, at the end of the job.
    pub(super) fn look_at_freed(&self) {
        let blocks = std::mem::take(&mut self.freed_blocks.lock().blocks);
        let site = self.sites.here(Operation::Finalize, Location::caller());
        for (offset, block) in blocks {
            self.open_and_look(offset, block, site);
        }
    }

    /// Opens a block's pages, and checks whether they were written.
    fn open_and_look(&self, offset: u64, block: FreedBlock, site: u16) {
        let Some(address) = self.own_memory(offset) else {
            return;
        };
        if !block.guarded {
            return;
        }
        let (start, len) = pages(address, block.bytes);
        if len > 0
            && let Err(error) = protect(start, len, MprotectFlags::READ | MprotectFlags::WRITE)
        {
            let (me, name) = (self.me, self.sites.name(block.site));
            super::write(&format!(
                "nvshmemrs check: PE {me}: the pages of a freed block of {} bytes ({name}) cannot be opened again: {error}; the next \
                 access to them ends with a segmentation fault\n",
                block.bytes
            ));
            return;
        }
        let changed = words(address, block.bytes).position(|word| word.load(Relaxed) != PATTERN);
        if let Some(word) = changed.filter(|_| !block.reported) {
            let now = self.user("notices it in", 0, site);
            let why = "its bytes have changed since: something that reports no accesses has written to it";
            let at = offset + 8 * word as u64;
            self.tracker.found(self.freed_finding(at, block, now, why));
        }
    }

    fn user(&self, does: &'static str, bytes: u64, site: u16) -> AccessInfo {
        AccessInfo {
            pe: self.me,
            does,
            bytes,
            site,
        }
    }

    fn freed_finding(&self, offset: u64, block: FreedBlock, now: AccessInfo, why: &str) -> Finding {
        Finding {
            problem: Problem::Freed,
            place: FindingPlace::Symmetric {
                pe: self.me,
                offset,
            },
            now,
            other: self.user("frees", 0, block.site),
            why: why.into(),
            remedy: String::new(),
            unordered: false,
        }
    }

    /// The program uses memory of this process. Returns whether it was freed.
    #[inline]
    pub(super) fn uses_freed(&self, address: u64, bytes: u64, write: bool, site: u16) -> bool {
        self.freed_blocks.any.load(Relaxed) && self.uses_freed_block(address, bytes, write, site)
    }

    #[cold]
    fn uses_freed_block(&self, address: u64, bytes: u64, write: bool, site: u16) -> bool {
        let own = self.layout.locate(address).filter(|(pe, _)| *pe == self.me);
        let found = own.and_then(|(_, offset)| Some((offset, self.freed_blocks.find(offset)?)));
        let Some((offset, (start, block))) = found else {
            return false;
        };
        if let Some(block) = self.freed_blocks.lock().blocks.get_mut(&start) {
            block.reported = true;
        }
        let now = self.user(if write { "writes" } else { "reads" }, bytes, site);
        let why = "the block was freed before, and its memory may belong to somebody else";
        self.tracker
            .found(self.freed_finding(offset, block, now, why));
        true
    }
}

/// The words of a block of this PE's, which is mapped and committed.
fn words<'a>(address: u64, bytes: u64) -> impl Iterator<Item = &'a AtomicU64> {
    (0..bytes / 8).map(move |word| {
        // SAFETY: blocks begin at a multiple of 64, and their memory is mapped as long as the job lives (rule 1).
        unsafe { &*((address + 8 * word) as *const AtomicU64) }
    })
}

/// Changes the protection of whole pages of a block of this PE's.
fn protect(address: u64, bytes: u64, flags: MprotectFlags) -> rustix::io::Result<()> {
    // SAFETY: the pages lie within a block that is freed; `open_and_look` opens them before they are used (rule 1).
    unsafe { mprotect(address as *mut _, bytes as usize, flags) }
}
