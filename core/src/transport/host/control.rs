//! The control block at the start of a job's segment: what the PEs of a host share besides the heap.
//!
//! ```text
//! 0            Header
//! 4 KiB        PeBlock of each PE, one page each
//!              TeamBlock of each team in the pool, each followed by two slots per PE
//!              release counts of the live allocations
//! heap_offset  heap of PE 0, heap of PE 1, ... (stride bytes each)
//! ```
//!
//! All of it is atomics, zero at first, backed by memory when touched.

use super::segment::{AllAtomic, Segment};
use crate::heap::layout::MAX_ALIGNMENT;
use crate::{Error, Pe, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

const PAGE: u64 = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"nvshmRS\x01");
const VERSION: u32 = 1;

/// Teams a job can have at a time.
pub(crate) const MAX_TEAMS: u64 = 256;
/// Live allocations a job can have at a time.
pub(crate) const MAX_ALLOCATIONS: u32 = 1 << 20;
/// Released allocations that one collective allocation frees at most.
pub(crate) const MAX_FREED: usize = 256;
/// Waits that one PE's threads can publish at a time.
pub(crate) const WAIT_SLOTS: usize = 8;
/// Arguments that the members of a collective compare.
pub(crate) const ARGS: usize = 5;
/// Words of payload that a collective can carry with its arrival.
pub(crate) const PAYLOAD_WORDS: usize = 248;
/// CPUs whose affinity is published.
pub(crate) const CPU_WORDS: usize = 16;

/// Facts of the job.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU32,
    pub(crate) n_pes: AtomicU32,
    pub(crate) stride: AtomicU64,
    /// How many PEs are gone (dead or left); waits look at it.
    pub(crate) gone: AtomicU32,
    /// The first PE that was gone, plus 1.
    pub(crate) first_gone: AtomicU32,
    /// How many threads sleep until others arrive: members of a team, or all PEs.
    pub(crate) team_sleepers: AtomicU32,
    /// How many threads sleep until a word changes.
    pub(crate) word_sleepers: AtomicU32,
    /// Allocations that all PEs have released so far.
    pub(crate) released: AtomicU32,
    /// Numbers for waits.
    pub(crate) wait_ids: AtomicU64,
    /// What PE 0 decided to free, by parity of WORLD's epoch: a count, then ids.
    pub(crate) freed: [Freed; 2],
}
/// Ids of allocations to free.
#[repr(C)]
pub(crate) struct Freed {
    pub(crate) count: AtomicU32,
    pub(crate) ids: [AtomicU32; MAX_FREED],
}
const _: () = assert!(size_of::<Header>() as u64 <= PAGE);

/// One published wait.
#[repr(C)]
pub(crate) struct WaitSlot {
    /// 0: free; otherwise the wait's number.
    pub(crate) id: AtomicU64,
    pub(crate) operation: AtomicU32,
    pub(crate) thread: AtomicU32,
    pub(crate) cmp: AtomicU32,
    pub(crate) team: AtomicU32,
    pub(crate) epoch: AtomicU64,
    pub(crate) offset: AtomicU64,
    pub(crate) expected: AtomicU64,
    pub(crate) actual: AtomicU64,
    /// Monotonic clock, in ns.
    pub(crate) since: AtomicU64,
}

/// One PE.
#[repr(C, align(128))]
pub(crate) struct PeBlock {
    pub(crate) state: AtomicU32,
    pub(crate) pid: AtomicU32,
    /// A random number of the PE's process: pids may mean different things to different PEs.
    pub(crate) process: AtomicU64,
    /// Grows whenever a wait that was published ends.
    pub(crate) progress: AtomicU64,
    /// CPUs this PE may run on.
    pub(crate) cpus: [AtomicU64; CPU_WORDS],
    pub(crate) bell: Bell,
    pub(crate) waits: [WaitSlot; WAIT_SLOTS],
}
const _: () = assert!(size_of::<PeBlock>() as u64 <= PAGE);

/// A futex that a sleeping PE waits on, and how many of its threads do.
#[repr(C, align(128))]
pub(crate) struct Bell {
    pub(crate) rings: AtomicU32,
    pub(crate) sleepers: AtomicU32,
}

/// What the members of a team share besides their slots.
#[repr(C)]
pub(crate) struct TeamBlock {
    /// 1 + the PE that left a collective half-way.
    pub(crate) broken: AtomicU32,
}
const _: () = assert!(size_of::<TeamBlock>() as u64 <= PAGE);

/// What a member brings to one epoch. There are two per member, used in turn. What every member reads comes first, on one
/// cache line for small payloads; the rest is read when signatures differ.
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) epoch: AtomicU64,
    /// Stands for operation, arguments and error.
    pub(crate) signature: AtomicU64,
    pub(crate) payload: [AtomicU64; PAYLOAD_WORDS],
    pub(crate) args: [AtomicU64; ARGS],
    pub(crate) operation: AtomicU32,
    /// Status number of the member's own error, or 0.
    pub(crate) error: AtomicU32,
}

/// Bytes from one member's slots to the next one's: whole lines, and not a multiple of a page, so that the members' first
/// lines do not compete for one set of the cache.
const SLOTS_STRIDE: u64 = 2 * size_of::<Slot>() as u64 + 128;
const _: () = assert!(SLOTS_STRIDE.is_multiple_of(64) && !SLOTS_STRIDE.is_multiple_of(PAGE));

/// How many PEs have released an allocation.
#[repr(C)]
pub(crate) struct ReleaseCount {
    pub(crate) count: AtomicU32,
}

// SAFETY: repr(C), atomic integers only, alignment at most 128.
unsafe impl AllAtomic for Header {}
// SAFETY: as above.
unsafe impl AllAtomic for PeBlock {}
// SAFETY: as above.
unsafe impl AllAtomic for TeamBlock {}
// SAFETY: as above.
unsafe impl AllAtomic for Slot {}
// SAFETY: as above.
unsafe impl AllAtomic for ReleaseCount {}

/// A segment seen as a job.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    segment: Arc<Segment>,
    n_pes: u64,
}

impl Control {
    #[inline(always)]
    fn team_bytes(n_pes: u64) -> u64 {
        PAGE + (n_pes * SLOTS_STRIDE).next_multiple_of(PAGE)
    }

    fn releases_offset(n_pes: u64) -> u64 {
        PAGE * (1 + n_pes) + MAX_TEAMS * Control::team_bytes(n_pes)
    }

    /// Where the heap starts in a job of `n_pes` PEs.
    pub(crate) fn heap_offset(n_pes: Pe) -> u64 {
        let releases = u64::from(MAX_ALLOCATIONS) * size_of::<ReleaseCount>() as u64;
        (Control::releases_offset(n_pes as u64) + releases).next_multiple_of(MAX_ALIGNMENT)
    }

    /// The length of a segment; an error if it does not fit an address space.
    pub(crate) fn segment_len(n_pes: Pe, stride: u64) -> Result<u64> {
        stride
            .checked_mul(n_pes as u64)
            .and_then(|heap| heap.checked_add(Control::heap_offset(n_pes)))
            .filter(|&len| len < 1 << 46)
            .ok_or_else(|| {
                Error::invalid(
                    "heap_bytes",
                    stride,
                    format!("a size that {n_pes} times fits an address space of 64 TiB"),
                )
            })
    }

    /// Makes the job's segment.
    pub(crate) fn create(n_pes: Pe, stride: u64) -> Result<Control> {
        let segment = Segment::create(Control::segment_len(n_pes, stride)?)?;
        let control = Control {
            segment: Arc::new(segment),
            n_pes: n_pes as u64,
        };
        let header = control.header();
        use std::sync::atomic::Ordering::{Relaxed, Release};
        header.version.store(VERSION, Relaxed);
        header.n_pes.store(n_pes as u32, Relaxed);
        header.stride.store(stride, Relaxed);
        header.magic.store(MAGIC, Release);
        Ok(control)
    }

    /// Takes a mapped segment for a job of `n_pes` PEs, if it is one.
    pub(crate) fn attach(segment: Segment) -> Result<Control> {
        use std::sync::atomic::Ordering::{Acquire, Relaxed};
        let refuse = |why: String| Err(Error::Bootstrap(why));
        if segment.len() < PAGE {
            return refuse("the job's memory is too short to be one of nvshmemrs".into());
        }
        let segment = Arc::new(segment);
        let probe = Control {
            segment: Arc::clone(&segment),
            n_pes: 1,
        };
        let header = probe.header();
        let version = header.version.load(Relaxed);
        if header.magic.load(Acquire) != MAGIC || version != VERSION {
            return refuse(format!(
                "the job's memory has layout version {version}, this library has {VERSION}: all PEs must load the same \
                 version of nvshmemrs"
            ));
        }
        let n_pes = header.n_pes.load(Relaxed);
        let stride = header.stride.load(Relaxed);
        let sound = (1..=65535).contains(&n_pes)
            && Control::segment_len(n_pes as Pe, stride).is_ok_and(|len| len == segment.len());
        if !sound {
            return refuse(format!(
                "the job's memory has {} bytes, which does not fit {n_pes} PEs with heaps of {stride}",
                segment.len()
            ));
        }
        Ok(Control {
            segment,
            n_pes: u64::from(n_pes),
        })
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(crate) fn n_pes(&self) -> Pe {
        self.n_pes as Pe
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        self.segment.view(0)
    }

    #[inline(always)]
    pub(crate) fn pe(&self, pe: Pe) -> &PeBlock {
        self.segment.view(PAGE * (1 + pe as u64))
    }

    #[inline(always)]
    pub(crate) fn team(&self, index: u64) -> &TeamBlock {
        self.segment
            .view(PAGE * (1 + self.n_pes) + index * Control::team_bytes(self.n_pes))
    }

    /// The slot of member `member` of a team for an epoch.
    #[inline(always)]
    pub(crate) fn slot(&self, index: u64, member: Pe, epoch: u64) -> &Slot {
        let team = PAGE * (1 + self.n_pes) + index * Control::team_bytes(self.n_pes);
        let slots = team + PAGE + member as u64 * SLOTS_STRIDE;
        self.segment
            .view(slots + (epoch & 1) * size_of::<Slot>() as u64)
    }

    #[inline(always)]
    pub(crate) fn releases(&self, id: u32) -> &ReleaseCount {
        self.segment.view(
            Control::releases_offset(self.n_pes) + u64::from(id) * size_of::<ReleaseCount>() as u64,
        )
    }
}
