//! The control block at the start of a job's segment: the words that the PEs of a host share besides the heap.
//!
//! ```text
//! 0            Header
//! 4 KiB        PeBlock of each PE, one page each
//!              for each team number and PE: TeamBlock, then the PE's two slots
//! heap_offset  part of PE 0, part of PE 1, ... (stride bytes each: the heap, then a window of that size for registered buffers, then
//!              the tables and flags of kernels, see device_area.rs)
//! area_offset  in a checked job: the checker's area (`area.rs` of the crate `check`)
//! ```
//!
//! In a job whose heap is in GPU memory the segment ends at heap_offset, unless the job is checked; the parts are in a range of GPU addresses
//! (`memory/segment.rs` of the crate `cuda`).
//!
//! The block consists of atomics, zero at first, backed by memory when touched. Every module may read them; only [`shared_words`] writes them.

#[cfg(fuzzing)]
pub mod corrupt;

use super::segment::{AllAtomic, Segment};
use super::shared_words::{self, HeaderFields, SharedU32, SharedU64};
use crate::device_area::DeviceArea;
use crate::layout::{self, HEAP_UNIT};
use crate::machine::{self, Id};
use crate::operation::ARGS;
use crate::remote::RemoteHosts;
use crate::{Error, MemoryKind, Pe, Result};
use std::mem::offset_of;
use std::sync::Arc;

const PAGE: u64 = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"nvshmRS\x01");
pub const VERSION: u32 = 10;

/// The most PEs a job on one host can have.
pub const MAX_PES: Pe = 4096;
pub use crate::layout::MAX_TEAMS;
/// Words of a bitmap of team numbers.
pub const TEAM_WORDS: usize = MAX_TEAMS / 64;
/// Threads of a PE that can be in team_init at a time.
pub const JOIN_SLOTS: usize = 4;
/// Live allocations a job can have at a time.
pub const MAX_ALLOCATIONS: u32 = 1 << 20;
/// Waits that a PE's threads can publish at a time.
pub(crate) const WAIT_SLOTS: usize = 8;
/// Words of a called name.
pub(crate) const NAME_WORDS: usize = 5;
/// Words of payload that a collective can carry with its arrival.
pub const PAYLOAD_WORDS: usize = 248;
/// Words of a text of a wait: UTF-8, with zeros behind it.
pub const TEXT_WORDS: usize = 12;
/// Words of digests of a PE's allocations not freed.
pub(crate) const UNFREED_WORDS: usize = 32;
/// CPUs whose affinity is published.
pub(crate) const CPU_WORDS: usize = 16;

/// Properties of the job.
#[repr(C)]
pub struct Header {
    pub magic: SharedU64,
    pub version: SharedU32,
    pub n_pes: SharedU32,
    /// Bytes of heap per PE.
    pub heap_bytes: SharedU64,
    /// Bytes of the checker's area behind the PEs' parts; 0 if the job is not checked.
    pub area_bytes: SharedU64,
    /// The seed of the checker's choices.
    pub check_seed: SharedU64,
    /// The memory of the heap: 0: host memory, in this segment; 1: memory of GPUs.
    pub memory: SharedU32,
    /// The number of PEs that are gone (dead or left); waits read it.
    pub gone: SharedU32,
    /// The first PE that was gone, plus 1.
    pub first_gone: SharedU32,
    /// The number of threads that sleep until others arrive: members of a team, or all PEs.
    pub team_sleepers: SharedU32,
    /// The number of threads that sleep until a word changes.
    pub word_sleepers: SharedU32,
    /// The number of PEs that have been stopped for too long; long waits read it.
    pub stopped: SharedU32,
    /// The number of the host that this memory is on (see [`topology`](super::topology)).
    pub host: [SharedU64; 2],
    /// Numbers for waits.
    pub(crate) wait_ids: SharedU64,
    /// The status of a `global_exit`, plus 1; 0: there was none.
    pub exit: SharedU32,
}
const _: () = assert!(size_of::<Header>() as u64 <= PAGE);

/// One published wait.
#[repr(C)]
pub struct WaitSlot {
    /// 0: free; otherwise the wait's number.
    pub id: SharedU64,
    pub operation: SharedU32,
    pub thread: SharedU32,
    /// The kind of the wait; it says which of the words below are valid.
    pub kind: SharedU32,
    pub dtype: SharedU32,
    pub cmp: SharedU32,
    /// The team's number; or of an element that belongs to a lock: the PE ahead in the lock's queue, plus 1.
    pub team: SharedU32,
    pub epoch: SharedU64,
    /// The offset of the elements that the wait compares, and their bytes.
    pub offset: SharedU64,
    pub bytes: SharedU64,
    /// The first element that does not match, the expected value and the actual value.
    pub index: SharedU64,
    pub expected: SharedU64,
    pub actual: SharedU64,
    /// When it began, on the monotonic clock in ns.
    pub since: SharedU64,
    /// The kind of its time limit, and when it expires.
    pub limit: SharedU32,
    pub until: SharedU64,
    /// In a free slot: when the last wait in it ended.
    pub ended: SharedU64,
    /// The instruction of the program to which the call returns, for the PE itself to put into words; 0 if it is not known.
    pub caller: SharedU64,
    /// The wait that the texts below belong to: its line in the program, and the allocation in which it waits for an element.
    pub described: SharedU64,
    pub line: [SharedU64; TEXT_WORDS],
    pub allocation: [SharedU64; TEXT_WORDS],
}

/// One PE.
#[repr(C, align(128))]
pub struct PeBlock {
    pub state: SharedU32,
    pub pid: SharedU32,
    /// A random number of the PE's process.
    pub process: SharedU64,
    /// The pid namespace that `pid` is from: in others it may name another process.
    pub namespace: SharedU64,
    /// Incremented whenever a published wait ends.
    pub progress: SharedU64,
    /// Incremented while the PE's watchdog runs.
    pub beats: SharedU64,
    /// Since when the PE has been stopped, on the monotonic clock in ns, if that is too long; 0 otherwise.
    pub stopped: SharedU64,
    /// For a remote PE: the time, on the monotonic clock in ns, of the query whose answer the waits below mirror; 0 while they are written.
    pub reported: SharedU64,
    /// In finalize: a digest of the list of allocations not freed, 0 if the list is empty; then digests of its first lines.
    pub unfreed: [SharedU64; UNFREED_WORDS],
    /// CPUs this PE may run on.
    pub(crate) cpus: [SharedU64; CPU_WORDS],
    /// The number of the PE's host, and the UUID of its GPU, 0 if it has none.
    pub host: [SharedU64; 2],
    pub gpu: [SharedU64; 2],
    pub bell: Bell,
    pub waits: [WaitSlot; WAIT_SLOTS],
    pub joins: [JoinSlot; JOIN_SLOTS],
}
/// The name under which the program has called the operation of a wait, if it is not the operation's own: up to 40 bytes, then zeros. It
/// belongs to the wait with number `id`, and is written after the wait has lasted some time.
#[repr(C)]
pub(crate) struct CalledName {
    pub(crate) id: SharedU64,
    pub(crate) name: [SharedU64; NAME_WORDS],
}

/// The names of a PE's waits, by their slots, at the end of the PE's page.
#[repr(C)]
pub(crate) struct CalledNames {
    pub(crate) slots: [CalledName; WAIT_SLOTS],
}

const NAMES_START: u64 = PAGE - size_of::<CalledNames>() as u64;
const _: () = assert!(size_of::<PeBlock>() as u64 <= NAMES_START);

/// A futex on which a PE sleeps, and the number of its sleeping threads.
#[repr(C, align(128))]
pub struct Bell {
    pub rings: SharedU32,
    pub sleepers: SharedU32,
}

/// A thread in `team_init`: the members know each other by a unique id only.
#[repr(C)]
pub struct JoinSlot {
    /// 0: free. 1: in use.
    pub taken: SharedU32,
    /// The phase of the thread; the words below are written before it.
    pub phase: SharedU32,
    pub unique_id: SharedU64,
    /// The number of members that it expects, and its own number.
    pub n_pes: SharedU32,
    pub member: SharedU32,
    pub offer: TeamOffer,
}

/// A PE's contribution to the choice of a team number.
#[repr(C)]
pub struct TeamOffer {
    /// A bitmap of the team numbers that the PE does not use.
    pub free: [SharedU64; TEAM_WORDS],
    /// Whether it has reserved the chosen number, and the last epoch it has used there.
    pub claimed: SharedU64,
    pub epoch: SharedU64,
}

/// A PE's state of a team. The members are linked into a ring, so that an observer finds them.
#[repr(C, align(128))]
pub struct TeamBlock {
    /// The mark of a broken team: the epoch of the collective, then 20 bits with 1 + the PE of the member that left it.
    pub broken: SharedU64,
    pub n_pes: SharedU32,
    /// The PE that is the next member.
    pub next: SharedU32,
    /// Collectives that the PE has begun on the team.
    pub calls: SharedU64,
    /// For a remote PE that has called finalize: the last epoch that it has entered.
    pub last: SharedU64,
    /// For a remote PE that has answered a query: the last epoch in which it had arrived then.
    pub reported: SharedU64,
    /// In a checked job, the call site of the PE's collective, by the epoch's parity.
    pub sites: [SharedU32; 2],
}

/// The words of a member in one epoch. Each member has two slots, used in turn. The words that every member reads come first, on one cache
/// line for small payloads; the rest is read when signatures differ.
#[repr(C)]
pub struct Slot {
    pub epoch: SharedU64,
    /// A hash of operation, arguments and error.
    pub signature: SharedU64,
    pub payload: [SharedU64; PAYLOAD_WORDS],
    pub args: [SharedU64; ARGS],
    /// The operation, and above 16 bits the number of words of payload.
    pub operation: SharedU32,
    /// Status number of the member's own error, or 0.
    pub error: SharedU32,
}

impl Slot {
    /// The operation, and the number of words of payload.
    #[inline]
    pub fn operation_and_length(&self) -> (u32, usize) {
        use std::sync::atomic::Ordering::Relaxed;
        let both = self.operation.load(Relaxed);
        (both & 0xffff, (both >> 16) as usize)
    }
}

/// Where a team number's blocks and slots begin, so that finding one takes a multiplication.
#[derive(Clone, Copy, Debug)]
pub struct Row(u64);

/// Bytes of a PE's block and slots of a team. Whole lines, and not a multiple of a page, so that the members' first lines do not compete for
/// one set of the cache.
const MEMBER_BYTES: u64 = size_of::<TeamBlock>() as u64 + 2 * size_of::<Slot>() as u64;
const _: () = assert!(MEMBER_BYTES.is_multiple_of(128) && !MEMBER_BYTES.is_multiple_of(PAGE));

// SAFETY: repr(C), atomic integers only (`SharedU32` and `SharedU64` are transparent ones), alignment at most 128.
unsafe impl AllAtomic for Header {}
// SAFETY: as above.
unsafe impl AllAtomic for PeBlock {}
// SAFETY: atomics only.
unsafe impl AllAtomic for CalledNames {}
// SAFETY: as above.
unsafe impl AllAtomic for TeamBlock {}
// SAFETY: as above.
unsafe impl AllAtomic for Slot {}
// SAFETY: as above.
unsafe impl AllAtomic for SharedU32 {}
// SAFETY: as above.
unsafe impl AllAtomic for SharedU64 {}

/// Further properties of a checked job.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// The seed of the checker's choices.
    pub seed: u64,
    /// Bytes of the checker's area behind the PEs' parts, a multiple of the page size.
    pub area_bytes: u64,
}

/// A segment seen as a job.
#[derive(Clone, Debug)]
pub struct Control {
    segment: Arc<Segment>,
    n_pes: u64,
    /// As checked when the segment was mapped; the header may change later.
    heap_bytes: u64,
    area_bytes: u64,
    memory: MemoryKind,
    /// The other hosts of the job, if it has any.
    remote: Option<Arc<RemoteHosts>>,
}

impl Control {
    #[inline(always)]
    fn team_bytes(n_pes: u64) -> u64 {
        (n_pes * MEMBER_BYTES).next_multiple_of(PAGE)
    }

    /// Where the heap starts in a job of `n_pes` PEs.
    pub fn heap_offset(n_pes: Pe) -> u64 {
        let n_pes = n_pes as u64;
        (PAGE * (1 + n_pes) + MAX_TEAMS as u64 * Control::team_bytes(n_pes))
            .next_multiple_of(HEAP_UNIT)
    }

    /// Bytes from one PE's part to the next. Behind the window is the area for kernels.
    pub fn stride(n_pes: Pe, heap_bytes: u64) -> u64 {
        let area = Control::device_area(n_pes, heap_bytes).bytes();
        layout::stride(heap_bytes, area)
    }

    /// The area for kernels of a heap in this memory.
    pub fn device_area(n_pes: Pe, heap_bytes: u64) -> DeviceArea {
        DeviceArea::new(heap_bytes.saturating_mul(2), n_pes, PAGE)
    }

    /// The length of a segment with `area` bytes behind the PEs' parts; an error if it does not fit an address space.
    pub(crate) fn segment_len(n_pes: Pe, heap_bytes: u64, area: u64) -> Result<u64> {
        Control::stride(n_pes, heap_bytes)
            .checked_mul(n_pes as u64)
            .and_then(|heap| heap.checked_add(Control::heap_offset(n_pes)))
            .and_then(|len| len.checked_add(area))
            .filter(|&len| len < 1 << 46)
            .ok_or_else(|| {
                Error::invalid(
                    "heap_bytes",
                    heap_bytes,
                    format!("a size with which {n_pes} times as much, two or three times, fits an address space of 64 TiB"),
                )
            })
    }

    /// The length of a job's segment, with `area` bytes for the checker; an error if the heap does not fit an address space.
    fn length(n_pes: Pe, heap_bytes: u64, memory: MemoryKind, area: u64) -> Result<u64> {
        let with_parts = Control::segment_len(n_pes, heap_bytes, area)?;
        // The checker's area has its place behind the parts, which are not used if the heap is in GPU memory.
        Ok(match memory.is_in_segment() || area > 0 {
            true => with_parts,
            false => Control::heap_offset(n_pes),
        })
    }

    /// Makes the job's segment; with the checker's area if the job is to be checked, and its seed.
    pub fn create(
        n_pes: Pe,
        heap_bytes: u64,
        memory: MemoryKind,
        check: Option<Checked>,
    ) -> Result<Control> {
        Control::create_on(machine::host(), n_pes, heap_bytes, memory, check)
    }

    /// As [`create`](Control::create), on a host of this number.
    pub fn create_on(
        host: Id,
        n_pes: Pe,
        heap_bytes: u64,
        memory: MemoryKind,
        check: Option<Checked>,
    ) -> Result<Control> {
        let area_bytes = check.map_or(0, |check| check.area_bytes);
        let length = Control::length(n_pes, heap_bytes, memory, area_bytes)?;
        let segment = Segment::create(length)?;
        let control = Control::aligned(segment, n_pes, heap_bytes, area_bytes, memory)?;
        let fields = HeaderFields {
            version: VERSION,
            n_pes: n_pes as u32,
            heap_bytes,
            area_bytes,
            check_seed: check.map_or(0, |check| check.seed),
            memory: memory.number(),
            host: machine::words(host),
        };
        shared_words::publish_header(control.header(), &fields, MAGIC);
        Ok(control)
    }

    /// The layout that this library knows.
    pub fn version() -> u32 {
        VERSION
    }

    /// The layout version of a job's memory, if it differs from this library's.
    pub fn other_version(segment: &Segment) -> Option<u32> {
        use std::sync::atomic::Ordering::{Acquire, Relaxed};
        let header: &Header = segment.start();
        let is_job = header.magic.load(Acquire) == MAGIC;
        let version = header.version.load(Relaxed);
        (is_job && version != VERSION).then_some(version)
    }

    /// Takes a mapped segment for a job of `n_pes` PEs, if it is one.
    pub fn attach(segment: Segment) -> Result<Control> {
        use std::sync::atomic::Ordering::{Acquire, Relaxed};
        let refuse = |why: String| Err(Error::Bootstrap(why));
        let header: &Header = segment.start();
        let version = header.version.load(Relaxed);
        if header.magic.load(Acquire) != MAGIC || version != VERSION {
            return refuse(format!(
                "the job's memory has layout version {version}, but this library has {VERSION}: all PEs must load the same \
                 version of nvshmemrs"
            ));
        }
        let n_pes = header.n_pes.load(Relaxed);
        let heap_bytes = header.heap_bytes.load(Relaxed);
        let area_bytes = header.area_bytes.load(Relaxed);
        let memory: MemoryKind = header.memory.load(Relaxed).into();
        let expected = |n_pes| Control::length(n_pes, heap_bytes, memory, area_bytes);
        let sound = (1..=MAX_PES as u32).contains(&n_pes)
            && heap_bytes > 0
            && heap_bytes.is_multiple_of(HEAP_UNIT)
            && Control::segment_len(n_pes as Pe, heap_bytes, 0).is_ok()
            && area_bytes.is_multiple_of(PAGE)
            && expected(n_pes as Pe).is_ok_and(|len| len == segment.bytes());
        if !sound {
            return refuse(format!(
                "the job's memory has {} bytes, which does not fit {n_pes} PEs with heaps of {heap_bytes}",
                segment.bytes()
            ));
        }
        Control::aligned(segment, n_pes as Pe, heap_bytes, area_bytes, memory)
    }

    /// A segment seen as a job, mapped so that the PEs' parts in it are aligned.
    fn aligned(
        segment: Segment,
        n_pes: Pe,
        heap_bytes: u64,
        area_bytes: u64,
        memory: MemoryKind,
    ) -> Result<Control> {
        let segment = match memory.is_in_segment() {
            true => segment.aligned(
                Control::heap_offset(n_pes),
                layout::max_alignment(heap_bytes),
            )?,
            false => segment,
        };
        Ok(Control {
            segment: Arc::new(segment),
            n_pes: n_pes as u64,
            heap_bytes,
            area_bytes,
            memory,
            remote: None,
        })
    }

    /// The same, with the other hosts of the job; none: no control messages are sent.
    pub fn with_remote(self, remote: Option<Arc<RemoteHosts>>) -> Control {
        Control { remote, ..self }
    }

    /// The other hosts of the job, if it has any.
    #[inline(always)]
    pub fn remote(&self) -> Option<&RemoteHosts> {
        self.remote.as_deref()
    }

    /// The PEs on the host of this block, in order.
    pub fn local_pes(&self) -> Vec<Pe> {
        match self.remote() {
            Some(remote) => remote.hosts().local_pes().to_vec(),
            None => (0..self.n_pes()).collect(),
        }
    }

    /// The PE that owns the words of a range of the block, if they are mirrored on all hosts.
    pub(crate) fn mirrors(&self, offset: u64, bytes: u64) -> Option<Pe> {
        let whole = offset.is_multiple_of(4) && bytes > 0 && bytes <= PAGE;
        let end = offset.checked_add(bytes).filter(|_| whole)?;
        let within = |start: u64, size: usize| offset >= start && end <= start + size as u64;
        let first = PAGE;
        let pe = offset.checked_sub(first)? / PAGE;
        if pe >= self.n_pes {
            return None;
        }
        // The bell is for the PE's own host.
        let start = first + pe * PAGE;
        let bell = start + offset_of!(PeBlock, bell) as u64;
        let rings = offset < bell + size_of::<Bell>() as u64 && bell < end;
        (within(start, size_of::<PeBlock>()) && !rings).then_some(pe as Pe)
    }

    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// An error if the program has closed the descriptor of the job's memory.
    pub fn check_descriptor(&self) -> Result<()> {
        self.segment.fd().map(drop)
    }

    pub fn n_pes(&self) -> Pe {
        self.n_pes as Pe
    }

    /// Bytes of heap per PE.
    pub fn heap_bytes(&self) -> u64 {
        self.heap_bytes
    }

    /// Where the heap lives.
    pub fn memory(&self) -> MemoryKind {
        self.memory
    }

    /// Bytes of the checker's area; 0 if the job is not checked. A user of the area must compare them with the size that it needs.
    pub fn area_bytes(&self) -> u64 {
        self.area_bytes
    }

    /// The offset of the checker's area, if the job is checked.
    pub fn area_offset(&self) -> Option<u64> {
        let parts = self.n_pes * Control::stride(self.n_pes(), self.heap_bytes);
        (self.area_bytes != 0).then(|| Control::heap_offset(self.n_pes()) + parts)
    }

    /// The seed of the checker's choices, in a checked job.
    #[inline]
    pub fn check_seed(&self) -> Option<u64> {
        use std::sync::atomic::Ordering::Relaxed;
        let seed = self.header().check_seed.load(Relaxed);
        self.area_offset().map(|_| seed)
    }

    #[inline(always)]
    pub fn header(&self) -> &Header {
        self.segment.start()
    }

    #[inline(always)]
    pub fn pe(&self, pe: Pe) -> &PeBlock {
        self.segment.view(PAGE * (1 + pe as u64))
    }

    /// The names under which `pe` has called the operations of its waits.
    pub(crate) fn called_names(&self, pe: Pe) -> &CalledNames {
        self.segment.view(PAGE * (1 + pe as u64) + NAMES_START)
    }

    /// Where the blocks and slots of a team number begin.
    pub fn row(&self, team: u32) -> Row {
        Row(PAGE * (1 + self.n_pes) + u64::from(team) * Control::team_bytes(self.n_pes))
    }

    /// The state of `pe` for the team with number `team`.
    pub fn team(&self, team: u32, pe: Pe) -> &TeamBlock {
        self.block(self.row(team), pe)
    }

    /// As [`team`](Control::team), for a caller that has the row.
    #[inline(always)]
    pub fn block(&self, row: Row, pe: Pe) -> &TeamBlock {
        self.segment.view(row.0 + pe as u64 * MEMBER_BYTES)
    }

    /// The slot of `pe` in a team, for an epoch.
    #[inline(always)]
    pub fn slot(&self, row: Row, pe: Pe, epoch: u64) -> &Slot {
        let slots = row.0 + pe as u64 * MEMBER_BYTES + size_of::<TeamBlock>() as u64;
        self.segment
            .view(slots + (epoch & 1) * size_of::<Slot>() as u64)
    }
}
