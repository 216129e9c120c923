//! The checker's part of a job's segment, behind the PEs' parts: where each table lies.
//!
//! ```text
//! 0        for each PE: its clocks, their history, the names of its sites
//!          arrivals that another PE than the memory's owner has noticed; which PE has pointers to which PE's memory
//!          sync objects: lines that were too short, keys, entries
//!          for each team number and PE: its publications in its last two meetings
//!          the keys of problems that were reported
//!          for each PE: one bit per word of its part, set if the word has had a sync object
//!          for each PE: the shadow, four cells per word of its part
//! ```
//!
//! All of it is 64-bit atomics, zero at first. Bits and shadow are committed with the allocations they belong to; the rest is backed
//! when touched, as the control block is. Only the keys of problems have a lock, which nobody waits for longer
//! than some milliseconds: every word is written in one go, clocks only grow, and an entry that
//! consists of several words has a checksum. So a PE that dies leaves nothing half done that another PE would wait for. A PE that
//! writes over the area falsifies reports, but causes no access outside of it: indices are bounded here or where they are read.
//!
//! # Rules of this module
//!
//! 1. The area lies within the segment, which is mapped as long as the `Area` lives; its words are given out as atomics only.

use crate::job::block::{Control, MAX_TEAMS};
use crate::job::segment::Segment;
use crate::{Pe, Result};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// PEs that a checked job can have: a cell names a PE with 8 bits.
pub(crate) const MAX_PES: Pe = 256;

const PAGE: u64 = 4096;
/// Bytes of symmetric memory for each word of shadow.
pub(super) const WORD: u64 = 8;
/// Cells of a word.
pub(super) const CELLS: usize = 4;
/// Words of a PE's block before its clocks.
pub(super) const CLOCK_HEAD: u64 = 16;
/// Tags that a PE's history holds, and words of each.
pub(super) const HISTORY: u64 = 1 << 14;
pub(super) const MOMENT: u64 = 4;
/// Sites of a PE, and bytes of a site's entry.
pub(super) const SITES: u64 = 4096;
pub(super) const NAME: u64 = 256;
/// In the first word of a site's entry: it frees.
const FREES: u64 = 1 << 63;
/// Sync objects of a job, how many share a line of keys, and words of one before its clocks.
pub(super) const SYNCS: u64 = 1 << 14;
pub(super) const WAYS: u64 = 8;
pub(super) const SYNC_HEAD: u64 = 96;
/// Keys of problems that some PE has reported.
const REPORTED: u64 = 1 << 12;

/// Where the tables lie, from the start of the area, in bytes.
#[derive(Clone, Copy, Debug)]
struct AreaLayout {
    n: u64,
    versions: u64,
    history: u64,
    clocks: u64,
    names: u64,
    block: u64,
    arrivals: u64,
    pointers: u64,
    crowded: u64,
    keys: u64,
    syncs: u64,
    sync: u64,
    meetings: u64,
    meeting: u64,
    reported: u64,
    bits: u64,
    bits_part: u64,
    shadow: u64,
    shadow_part: u64,
    end: u64,
}

fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE)
}

impl AreaLayout {
    /// For `n_pes` parts of `stride` bytes.
    fn new(n_pes: Pe, stride: u64) -> AreaLayout {
        let n = n_pes as u64;
        // Clocks that a history holds: about 1 MiB of them.
        let versions = 1 << ((1 << 20) / (24 * n)).clamp(64, 4096).ilog2();
        let history = pages((CLOCK_HEAD + 3 * n) * 8);
        let clocks = history + HISTORY * MOMENT * 8;
        let names = clocks + pages(versions * 3 * n * 8);
        let block = names + SITES * NAME;
        let arrivals = n * block;
        let pointers = arrivals + pages(n * n * 8);
        let crowded = pointers + pages(n * n * 8);
        let keys = crowded + pages(SYNCS / WAYS / 8);
        let syncs = keys + SYNCS * 8;
        let sync = ((SYNC_HEAD + 3 * n) * 8).next_multiple_of(64);
        let meetings = pages(syncs + SYNCS * sync);
        let meeting = ((3 + 2 * n) * 8).next_multiple_of(64);
        let reported = pages(meetings + MAX_TEAMS as u64 * n * 2 * meeting);
        let bits = pages(reported + (1 + REPORTED) * 8);
        let bits_part = pages(stride / WORD / 8);
        let shadow = bits.saturating_add(bits_part.saturating_mul(n));
        let shadow_part = stride.saturating_mul(CELLS as u64);
        let end = shadow.saturating_add(shadow_part.saturating_mul(n));
        AreaLayout {
            n,
            versions,
            history,
            clocks,
            names,
            block,
            arrivals,
            pointers,
            crowded,
            keys,
            syncs,
            sync,
            meetings,
            meeting,
            reported,
            bits,
            bits_part,
            shadow,
            shadow_part,
            end,
        }
    }
}

/// Bytes that the checker adds to a segment of `n_pes` parts of `stride` bytes each, a multiple of the page size.
pub(crate) fn bytes(n_pes: Pe, stride: u64) -> u64 {
    AreaLayout::new(n_pes, stride).end.next_multiple_of(PAGE)
}

/// The area of a job, mapped.
#[derive(Clone, Debug)]
pub(super) struct Area {
    segment: Arc<Segment>,
    /// Address of its first byte.
    base: u64,
    layout: AreaLayout,
}

/// Words of the area that are used so often that their place is kept.
#[derive(Clone, Debug)]
pub(super) struct Words {
    address: u64,
    count: usize,
    _segment: Arc<Segment>,
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: they were a slice of the area, which is mapped as long as the segment lives (rule 1).
        unsafe { std::slice::from_raw_parts(self.address as *const AtomicU64, self.count) }
    }
}

impl Area {
    /// `None` if the job is not checked, or its area has another size than this checker's.
    pub(super) fn new(control: &Control) -> Option<Area> {
        let offset = control.area_offset()?;
        let n_pes = control.n_pes();
        if control.area_bytes() != bytes(n_pes, Control::stride(n_pes, control.heap_bytes())) {
            return None;
        }
        let layout = AreaLayout::new(n_pes, Control::stride(n_pes, control.heap_bytes()));
        let segment = Arc::clone(control.segment());
        let base = segment.base() + offset;
        assert!(
            segment.contains(base, layout.end),
            "the area leaves the segment"
        );
        Some(Area {
            segment,
            base,
            layout,
        })
    }

    /// How many PEs.
    #[inline(always)]
    pub(super) fn n(&self) -> usize {
        self.layout.n as usize
    }

    #[inline(always)]
    fn words(&self, offset: u64, count: u64) -> &[AtomicU64] {
        let room = self.layout.end.saturating_sub(offset) / 8;
        if count > room || !offset.is_multiple_of(8) {
            outside();
        }
        let address = self.base + offset;
        // SAFETY: in bounds and aligned (just checked; the area starts at a page), mapped as long as `self`, atomics (rule 1).
        unsafe { std::slice::from_raw_parts(address as *const AtomicU64, count as usize) }
    }

    #[inline(always)]
    fn block(&self, pe: u64) -> u64 {
        pe * self.layout.block
    }

    /// A PE's head words, then its three clocks.
    #[inline(always)]
    pub(super) fn head(&self, pe: u64) -> &[AtomicU64] {
        self.words(self.block(pe), CLOCK_HEAD + 3 * self.layout.n)
    }

    /// The same, to be kept.
    pub(super) fn kept_head(&self, pe: u64) -> Words {
        let words = self.head(pe);
        Words {
            address: words.as_ptr() as u64,
            count: words.len(),
            _segment: Arc::clone(&self.segment),
        }
    }

    /// The knowledge that a PE could publish at a tag.
    #[inline(always)]
    pub(super) fn moment(&self, pe: u64, tag: u64) -> &[AtomicU64] {
        let slot = tag % HISTORY * MOMENT * 8;
        self.words(self.block(pe) + self.layout.history + slot, MOMENT)
    }

    /// A PE's three clocks, as they were.
    #[inline(always)]
    pub(super) fn version(&self, pe: u64, version: u64) -> &[AtomicU64] {
        let bytes = 3 * self.layout.n * 8;
        // A power of two.
        let slot = (version & (self.layout.versions - 1)) * bytes;
        self.words(self.block(pe) + self.layout.clocks + slot, bytes / 8)
    }

    /// A PE's entry of a site: its length, and whether it frees; its name.
    fn site(&self, pe: u64, site: u16) -> &[AtomicU64] {
        let slot = u64::from(site) % SITES * NAME;
        self.words(self.block(pe) + self.layout.names + slot, NAME / 8)
    }

    /// Publishes the name of a PE's site.
    pub(super) fn set_name(&self, pe: u64, site: u16, name: &str) {
        let entry = self.site(pe, site);
        let room = (NAME - 8) as usize;
        let bytes = &name.as_bytes()[..name.len().min(room)];
        for (word, part) in entry[1..].iter().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..part.len()].copy_from_slice(part);
            word.store(u64::from_le_bytes(value), Relaxed);
        }
        entry[0].fetch_or(bytes.len() as u64, Release);
    }

    /// The name of a PE's site, if that has published it.
    pub(super) fn name(&self, pe: u64, site: u16) -> Option<String> {
        let entry = self.site(pe, site);
        let len = (entry[0].load(Acquire) & !FREES).min(NAME - 8) as usize;
        let words = entry[1..].iter();
        let bytes: Vec<u8> = words
            .flat_map(|word| word.load(Relaxed).to_le_bytes())
            .take(len)
            .collect();
        // Another PE wrote it, and it goes to the terminal.
        let text = || String::from_utf8_lossy(&bytes).replace(char::is_control, "?");
        (len > 0).then(text)
    }

    /// Marks a site whose call frees memory.
    pub(super) fn set_frees(&self, pe: u64, site: u16) {
        self.site(pe, site)[0].fetch_or(FREES, Relaxed);
    }

    /// Whether a site of a PE frees.
    pub(super) fn frees(&self, pe: u64, site: u16) -> bool {
        self.site(pe, site)[0].load(Relaxed) & FREES != 0
    }

    /// Up to which tag puts of `writer` to `pe` have arrived, as another PE has noticed.
    #[inline(always)]
    pub(super) fn arrival(&self, pe: u64, writer: u64) -> &AtomicU64 {
        let index = pe * self.layout.n + writer;
        &self.words(self.layout.arrivals + index * 8, 1)[0]
    }

    /// Whether `holder` has a pointer to the memory of `pe`.
    pub(super) fn pointer(&self, pe: u64, holder: u64) -> &AtomicU64 {
        let index = pe * self.layout.n + holder;
        &self.words(self.layout.pointers + index * 8, 1)[0]
    }

    /// Whether the line with this first key was too short once; the word of that bit, and the bit.
    pub(super) fn crowded(&self, first: u64) -> (&AtomicU64, u64) {
        let line = first / WAYS;
        let offset = self.layout.crowded + line / 64 * 8;
        (&self.words(offset, 1)[0], 1 << (line % 64))
    }

    /// All keys of sync objects.
    pub(super) fn keys(&self) -> &[AtomicU64] {
        self.words(self.layout.keys, SYNCS)
    }

    /// The keys among which a word's can be, and the number of the first.
    #[inline(always)]
    pub(super) fn line(&self, pe: u64, word: u64) -> (u64, &[AtomicU64]) {
        let first = spread(word ^ pe << 40) % (SYNCS / WAYS) * WAYS;
        (first, self.words(self.layout.keys + first * 8, WAYS))
    }

    /// A sync object: its head, then three clocks.
    #[inline(always)]
    pub(super) fn sync(&self, number: u64) -> &[AtomicU64] {
        let offset = self.layout.syncs + number % SYNCS * self.layout.sync;
        self.words(offset, SYNC_HEAD + 3 * self.layout.n)
    }

    /// The publication of a PE in a meeting: its tag, its completed operations, two clocks; and the site of its call.
    pub(super) fn meeting(&self, team: u32, pe: u64, epoch: u64) -> &[AtomicU64] {
        let row = (u64::from(team) % MAX_TEAMS as u64 * self.layout.n + pe) * 2 + (epoch & 1);
        let offset = self.layout.meetings + row * self.layout.meeting;
        self.words(offset, 3 + 2 * self.layout.n)
    }

    /// The lock of the keys of reported problems, then the keys, which are written under it.
    pub(super) fn reported(&self) -> &[AtomicU64] {
        self.words(self.layout.reported, 1 + REPORTED)
    }

    /// The bits of 64 words of a PE, and which of them is `word`'s.
    #[inline(always)]
    pub(super) fn bit(&self, pe: u64, word: u64) -> (&AtomicU64, u64) {
        let offset = self.layout.bits + pe * self.layout.bits_part + word / 64 * 8;
        (&self.words(offset, 1)[0], 1 << (word % 64))
    }

    /// Whether a PE's part has these bytes: for numbers that another PE wrote.
    pub(super) fn has(&self, offset: u64, bytes: u64) -> bool {
        let part = self.layout.shadow_part / CELLS as u64;
        offset.checked_add(bytes).is_some_and(|end| end <= part)
    }

    /// The same, of a word that an atomic operation can have.
    pub(super) fn has_word(&self, offset: u64, bytes: u64) -> bool {
        matches!(bytes, 1 | 2 | 4 | 8) && self.has(offset, bytes)
    }

    /// The cells of `count` words of a PE, from `word` on.
    #[inline(always)]
    pub(super) fn cells(&self, pe: u64, word: u64, count: u64) -> &[[AtomicU64; CELLS]] {
        let bytes = WORD * CELLS as u64;
        let offset = self.layout.shadow + pe * self.layout.shadow_part + word * bytes;
        let words = self.words(offset, count * CELLS as u64);
        words.as_chunks().0
    }

    /// Backs bits and cells of `bytes` bytes at `offset` of a PE with memory; all zero afterwards.
    pub(super) fn commit(&self, pe: u64, offset: u64, bytes: u64) -> Result<()> {
        let (first, count) = (offset / WORD, bytes.div_ceil(WORD));
        let shadow = self.cells(pe, first, count);
        let (address, len) = (shadow.as_ptr() as u64, size_of_val(shadow) as u64);
        let bits = self.base + self.layout.bits + pe * self.layout.bits_part;
        self.segment.commit(bits + first / 8, count.div_ceil(8))?;
        // Pages without memory are not touched; memory given back in between is available again.
        self.segment.commit(address, len)?;
        self.decommit(pe, offset, bytes);
        self.segment.commit(address, len)
    }

    /// Gives that memory back, where whole pages allow, and clears the rest.
    pub(super) fn decommit(&self, pe: u64, offset: u64, bytes: u64) {
        let (first, count) = (offset / WORD, bytes.div_ceil(WORD));
        let shadow = self.cells(pe, first, count);
        let address = std::ptr::from_ref(shadow).cast::<u8>() as u64;
        let page = rustix::param::page_size() as u64;
        self.segment.decommit(address, size_of_val(shadow) as u64);
        // The pages at both ends, which neighbours may share.
        let end = address + size_of_val(shadow) as u64;
        let whole = address.next_multiple_of(page)..(end / page * page);
        for (index, cells) in shadow.iter().enumerate() {
            let at = address + index as u64 * WORD * CELLS as u64;
            if !whole.contains(&at) {
                cells.iter().for_each(|cell| cell.store(0, Relaxed));
            } else {
                break;
            }
        }
        for (index, cells) in shadow.iter().enumerate().rev() {
            let at = address + index as u64 * WORD * CELLS as u64;
            if !whole.contains(&at) {
                cells.iter().for_each(|cell| cell.store(0, Relaxed));
            } else {
                break;
            }
        }
        let mut word = first;
        while word < first + count {
            let (bits, bit) = self.bit(pe, word);
            let rest = first + count - word;
            if bit == 1 && rest >= 64 {
                bits.store(0, Relaxed);
                word += 64;
            } else {
                bits.fetch_and(!bit, Relaxed);
                word += 1;
            }
        }
    }
}

/// Begins to load words that are about to be changed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn prefetch(words: &[AtomicU64]) {
    use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
    /// The most lines that are loaded at once: a processor keeps track of ten or so.
    const PREFETCHED: usize = 8;
    for line in words.chunks(8).take(PREFETCHED) {
        // SAFETY: a hint, which costs time at most, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(line.as_ptr().cast()) };
    }
}

/// Other processors get no hint.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn prefetch(_words: &[AtomicU64]) {}

#[cold]
fn outside() -> ! {
    panic!("words outside the checker's area")
}

/// Spreads numbers that often lie powers of two apart.
#[inline(always)]
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}
