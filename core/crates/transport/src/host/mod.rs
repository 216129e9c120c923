//! Host memory: the heap of every PE of the host is one range of shared memory that each process maps once.
//!
//! Every operation is a load, a store or a copy by this CPU, so blocking and non-blocking forms are the same, and quiet is a
//! memory barrier.

mod adopt;
mod device_tables;
mod hold;
mod provider;
mod static_data;

pub use provider::HostProvider;

use super::device_state::DeviceTables;
use super::{
    Atomic, Body, Memory, NOTHING, Properties, Reply, Request, SignalUpdate, Transport, Width,
    copy::copy, execute_in_parts,
};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::block::Control;
use crate::job::layout::Layout;
use crate::job::segment::Segment;
use crate::op::SignalOp;
use crate::strides::Transfer;
use crate::{Error, MemoryKind, Pe, Result};
use device_tables::Tables;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::*, fence};

/// The transport of PE `me` over a mapped segment.
#[derive(Clone)]
pub struct HostTransport {
    segment: Arc<Segment>,
    layout: Layout,
    me: Pe,
    tables: Arc<Tables>,
}

impl HostTransport {
    /// `layout` must describe the heap part of the segment: its base lies in the mapping, and `n_pes * stride` bytes follow. `check`:
    /// kernels check their arguments.
    pub fn new(control: &Control, layout: Layout, me: Pe, check: bool) -> HostTransport {
        let segment = Arc::clone(control.segment());
        assert!(
            segment.contains(layout.base, layout.span),
            "the layout leaves the segment"
        );
        static_data::watch_forks();
        HostTransport {
            segment,
            layout,
            me,
            tables: Arc::new(Tables::new(control, check)),
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

    #[inline(always)]
    fn atomic16(&self, pe: Pe, offset: u64) -> &AtomicU16 {
        // SAFETY: as in `atomic64`, with 2 bytes.
        unsafe { AtomicU16::from_ptr(self.pointer(pe, offset).cast()) }
    }

    #[inline(always)]
    fn atomic8(&self, pe: Pe, offset: u64) -> &AtomicU8 {
        // SAFETY: as in `atomic64`, with 1 byte.
        unsafe { AtomicU8::from_ptr(self.pointer(pe, offset)) }
    }
}

/// Performs an operation on an atomic word and returns the old value. The compiler takes the cheaper instruction where it is unused.
macro_rules! atomically {
    ($word:expr, $bits:ty, $float:ty, $operation:expr) => {{
        let word = $word;
        match $operation {
            Atomic::Fetch => word.load(Acquire),
            Atomic::Set(value) => {
                word.store(value as $bits, Release);
                0
            }
            Atomic::Swap(value) => word.swap(value as $bits, AcqRel),
            Atomic::CompareSwap { cond, value } => word
                .compare_exchange(cond as $bits, value as $bits, AcqRel, Acquire)
                .unwrap_or_else(|old| old),
            Atomic::Add(value) => word.fetch_add(value as $bits, AcqRel),
            Atomic::AddFloat(value) => {
                let value = <$float>::from_bits(value as $bits);
                let mut old = word.load(Relaxed);
                loop {
                    let sum = (<$float>::from_bits(old) + value).to_bits();
                    match word.compare_exchange_weak(old, sum, AcqRel, Relaxed) {
                        Ok(old) => break old,
                        Err(now) => old = now,
                    }
                }
            }
            Atomic::And(value) => word.fetch_and(value as $bits, AcqRel),
            Atomic::Or(value) => word.fetch_or(value as $bits, AcqRel),
            Atomic::Xor(value) => word.fetch_xor(value as $bits, AcqRel),
        }
    }};
}

impl HostTransport {
    /// Whether bytes lie within the mapped heap of any PE.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let Layout { base, span, .. } = self.layout;
        bytes <= span && address.wrapping_sub(base) <= span - bytes
    }

    #[inline(always)]
    pub fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        // SAFETY: the destination lies within the mapped part of `pe` (checked above this layer), the source is valid by
        // the rules of `buffer`.
        unsafe { copy::<true, false>(self.pointer(pe, dest), source.address(), source.bytes()) }
    }

    #[inline(always)]
    pub fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        // SAFETY: as in `put`, the other way round.
        unsafe { copy::<false, true>(dest.address(), self.pointer(pe, source), dest.bytes()) }
    }

    #[inline]
    pub fn put_blocks(&self, pe: Pe, dest: u64, source: LocalSource<'_>, transfer: &Transfer) {
        let (_, block, _) = transfer.dest().parts();
        for (to, from) in transfer.blocks() {
            self.put(pe, dest + to, source.part(from as usize, block as usize));
        }
    }

    #[inline]
    pub fn get_blocks(&self, pe: Pe, source: u64, dest: LocalDest<'_>, transfer: &Transfer) {
        let (_, block, _) = transfer.dest().parts();
        for (to, from) in transfer.blocks() {
            self.get(pe, source + from, dest.part(to as usize, block as usize));
        }
    }

    pub fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) {
        // SAFETY: both ranges lie within mapped parts (checked above this layer).
        unsafe {
            copy::<true, true>(
                self.pointer(to, dest),
                self.pointer(from, source),
                bytes as usize,
            )
        }
    }

    pub fn zero(&self, range: SymRange) {
        // SAFETY: the range lies within this PE's part, which is mapped; no reference to it exists.
        unsafe {
            std::ptr::write_bytes(
                self.pointer(self.me, range.offset()),
                0,
                range.bytes() as usize,
            );
        }
    }

    #[inline(always)]
    pub fn atomic(&self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64 {
        match width {
            Width::Bits32 => u64::from(atomically!(self.atomic32(pe, offset), u32, f32, operation)),
            Width::Bits64 => atomically!(self.atomic64(pe, offset), u64, f64, operation),
        }
    }

    #[inline(always)]
    pub fn load(&self, offset: u64, bytes: usize) -> u64 {
        match bytes {
            1 => u64::from(self.atomic8(self.me, offset).load(Acquire)),
            2 => u64::from(self.atomic16(self.me, offset).load(Acquire)),
            4 => u64::from(self.atomic32(self.me, offset).load(Acquire)),
            _ => self.atomic64(self.me, offset).load(Acquire),
        }
    }

    #[inline(always)]
    pub fn signal(&self, pe: Pe, offset: u64, value: u64, op: SignalOp) {
        match op {
            SignalOp::Set => self.atomic64(pe, offset).store(value, Release),
            SignalOp::Add => {
                self.atomic64(pe, offset).fetch_add(value, AcqRel);
            }
        }
    }

    #[inline(always)]
    pub fn fence(&self) {
        fence(Release);
    }

    #[inline(always)]
    pub fn quiet(&self) {
        fence(SeqCst);
    }
}

impl Memory for HostTransport {
    fn commit(&self, range: SymRange) -> Result<()> {
        let address = self.layout.address(self.me, range.offset());
        self.segment.commit(address, range.bytes())?;
        self.segment.populate(address, range.bytes());
        Ok(())
    }

    fn decommit(&self, range: SymRange) {
        self.segment
            .decommit(self.layout.address(self.me, range.offset()), range.bytes());
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        HostTransport::zero(self, range);
        Ok(())
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        adopt::check(buffer, bytes, preferred)
    }

    fn check_give_back(&self) -> Result<()> {
        adopt::check_give_back()
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        let offset = self.layout.address(self.me, range.offset()) - self.segment.base();
        adopt::adopt(&self.segment, offset, range.bytes(), buffer, preferred)
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        let offset = self.layout.address(self.me, range.offset()) - self.segment.base();
        adopt::give_back(&self.segment, offset, range.bytes(), buffer, preferred)
    }

    fn adopt_static(&self, range: SymRange, start: u64) -> Result<()> {
        let offset = self.layout.address(self.me, range.offset()) - self.segment.base();
        static_data::adopt(&self.segment, offset, start, range.bytes())
    }

    fn give_back_static(&self, range: SymRange, start: u64) -> Result<()> {
        let offset = self.layout.address(self.me, range.offset()) - self.segment.base();
        static_data::give_back(&self.segment, offset, start, range.bytes())
    }
}

impl Transport for HostTransport {
    fn properties(&self) -> Properties {
        Properties {
            kind: MemoryKind::Host,
            page_bytes: rustix::param::page_size() as u64,
            may_load: true,
            takes_machine_memory: true,
            polling_is_slow: false,
            makers_of_memory: "mmap and posix_memalign give such memory",
            device: None,
        }
    }

    fn memory(&self) -> &dyn Memory {
        self
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        Some(self.layout.address(pe, offset))
    }

    fn execute(&self, request: Request<'_>) -> Result<Reply> {
        let signal = |pe, SignalUpdate { offset, value, op }| self.signal(pe, offset, value, op);
        match request.body {
            Body::Put(put, _) => self.put(put.pe, put.dest, put.source),
            Body::Get(get, _) => self.get(get.pe, get.source, get.dest),
            Body::PutBlocks(put, transfer) => {
                self.put_blocks(put.pe, put.dest, put.source, transfer);
            }
            Body::GetBlocks(get, transfer) => {
                self.get_blocks(get.pe, get.source, get.dest, transfer);
            }
            Body::PutSignal(put, update, _) => {
                self.put(put.pe, put.dest, put.source);
                signal(put.pe, update);
            }
            Body::Atomic(of) => {
                return Ok([self.atomic(of.pe, of.offset, of.width, of.operation), 0]);
            }
            Body::Signal { pe, update } => signal(pe, update),
            Body::Copy(of) => self.copy(of.to, of.dest, of.from, of.source, of.bytes),
            Body::Load { offset, bytes } => return Ok([self.load(offset, bytes), 0]),
            Body::Fence => self.fence(),
            Body::Quiet => self.quiet(),
            // The release itself orders the stores that came before it.
            Body::QuietBeforeRelease => {}
            Body::PutValue { .. }
            | Body::GetValue { .. }
            | Body::GetAll(_)
            | Body::Read { .. }
            | Body::Write { .. } => return execute_in_parts(self, request),
        }
        Ok(NOTHING)
    }

    fn keep(&self, _: Error) {
        // Loads and stores do not fail.
    }

    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        Some(self)
    }
}
