//! Host memory: the heap of every PE of the host is one range of shared memory that each process maps once.
//!
//! Every operation is a load, a store or a copy by this CPU, so blocking and non-blocking forms are the same, and quiet is a
//! memory barrier.

pub(crate) mod control;
pub(crate) mod fork;
pub(crate) mod locks;
pub(crate) mod segment;
pub(crate) mod signals;

use super::{Atomic, MemoryKind, Transport, Width, copy::copy};
use crate::heap::layout::Layout;
use crate::heap::sym::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::{Pe, Result};
use segment::Segment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};

/// The transport of PE `me` over a mapped segment.
pub(crate) struct HostTransport {
    segment: Arc<Segment>,
    layout: Layout,
    me: Pe,
}

impl HostTransport {
    /// `layout` must describe the heap part of `segment`: its base lies in the mapping, and `n_pes * stride` bytes follow.
    pub(crate) fn new(segment: Arc<Segment>, layout: Layout, me: Pe) -> HostTransport {
        assert!(
            segment.contains(layout.base, layout.stride * layout.n_pes as u64),
            "the layout leaves the segment"
        );
        HostTransport {
            segment,
            layout,
            me,
        }
    }

    #[inline(always)]
    fn pointer(&self, pe: Pe, offset: u64) -> *mut u8 {
        self.layout.address(pe, offset) as *mut u8
    }

    #[inline(always)]
    fn atomic64(&self, pe: Pe, offset: u64) -> &AtomicU64 {
        // SAFETY: `new` checked that every PE's part is mapped; the caller above checked that 8 aligned bytes lie within
        // it; the mapping outlives `self`. An atomic may be shared with other PEs.
        unsafe { AtomicU64::from_ptr(self.pointer(pe, offset).cast()) }
    }

    #[inline(always)]
    fn atomic32(&self, pe: Pe, offset: u64) -> &AtomicU32 {
        // SAFETY: as in `atomic64`, with 4 bytes.
        unsafe { AtomicU32::from_ptr(self.pointer(pe, offset).cast()) }
    }
}

impl Transport for HostTransport {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        self.segment
            .commit(self.layout.address(self.me, range.offset()), range.bytes())
    }

    fn decommit(&self, range: SymRange) {
        self.segment
            .decommit(self.layout.address(self.me, range.offset()), range.bytes());
    }

    fn zero(&self, range: SymRange) {
        // SAFETY: the range lies within this PE's part, which is mapped; no reference to it exists.
        unsafe {
            std::ptr::write_bytes(
                self.pointer(self.me, range.offset()),
                0,
                range.bytes() as usize,
            );
        }
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        Some(self.layout.address(pe, offset))
    }

    #[inline(always)]
    fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        // SAFETY: the destination lies within the mapped part of `pe` (checked above this layer), the source is valid by
        // the rules of `heap::sym`.
        unsafe { copy::<true, false>(self.pointer(pe, dest), source.address(), source.bytes()) }
    }

    #[inline(always)]
    fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        // SAFETY: as in `put`, the other way round.
        unsafe { copy::<false, true>(dest.address(), self.pointer(pe, source), dest.bytes()) }
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) {
        // SAFETY: both ranges lie within mapped parts (checked above this layer).
        unsafe {
            copy::<true, true>(
                self.pointer(to, dest),
                self.pointer(from, source),
                bytes as usize,
            )
        }
    }

    #[inline(always)]
    fn atomic(&self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64 {
        match (width, operation) {
            (Width::Bits64, Atomic::FetchAdd(value)) => {
                self.atomic64(pe, offset).fetch_add(value, AcqRel)
            }
            (Width::Bits32, Atomic::FetchAdd(value)) => {
                u64::from(self.atomic32(pe, offset).fetch_add(value as u32, AcqRel))
            }
            (Width::Bits64, Atomic::CompareSwap { cond, value }) => self
                .atomic64(pe, offset)
                .compare_exchange(cond, value, AcqRel, Acquire)
                .unwrap_or_else(|old| old),
            (Width::Bits32, Atomic::CompareSwap { cond, value }) => u64::from(
                self.atomic32(pe, offset)
                    .compare_exchange(cond as u32, value as u32, AcqRel, Acquire)
                    .unwrap_or_else(|old| old),
            ),
        }
    }

    #[inline(always)]
    fn signal(&self, pe: Pe, offset: u64, value: u64, op: SignalOp) {
        match op {
            SignalOp::Set => self.atomic64(pe, offset).store(value, Release),
            SignalOp::Add => {
                self.atomic64(pe, offset).fetch_add(value, AcqRel);
            }
        }
    }

    #[inline(always)]
    fn signal_fetch(&self, offset: u64) -> u64 {
        self.atomic64(self.me, offset).load(Acquire)
    }

    #[inline(always)]
    fn fence(&self) {
        fence(Release);
    }

    #[inline(always)]
    fn quiet(&self) {
        fence(SeqCst);
    }

    #[inline(always)]
    fn quiet_before_release(&self) {
        // The release itself orders the stores that came before it.
    }
}
