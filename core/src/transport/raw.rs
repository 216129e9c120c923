//! The transport proper as one type: whatever kind of memory it is for.

use super::{Atomic, MemoryKind, Raw, Transport, Width};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::op::SignalOp;
use crate::{Pe, Result};

macro_rules! both {
    ($self:ident, $transport:ident => $call:expr) => {
        match $self {
            Raw::Host($transport) => $call,
            Raw::Cuda($transport) => $call,
        }
    };
}

impl Transport for Raw<'_> {
    #[inline(always)]
    fn kind(&self) -> MemoryKind {
        both!(self, it => it.kind())
    }

    #[inline(always)]
    fn page_bytes(&self) -> u64 {
        both!(self, it => it.page_bytes())
    }

    #[inline(always)]
    fn failure(&self) -> Result<()> {
        both!(self, it => Transport::failure(*it))
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        both!(self, it => it.commit(range))
    }

    fn decommit(&self, range: SymRange) {
        both!(self, it => it.decommit(range))
    }

    fn zero(&self, range: SymRange) {
        both!(self, it => it.zero(range))
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        both!(self, it => it.check_adopt(buffer, bytes, preferred))
    }

    fn check_give_back(&self) -> Result<()> {
        both!(self, it => it.check_give_back())
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        both!(self, it => it.adopt(range, buffer, preferred))
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        both!(self, it => it.give_back(range, buffer, preferred))
    }

    #[inline(always)]
    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        both!(self, it => it.local_ptr(pe, offset))
    }

    #[inline(always)]
    fn put(&self, pe: Pe, dest: u64, source: LocalSource<'_>) {
        both!(self, it => Transport::put(*it, pe, dest, source))
    }

    #[inline(always)]
    fn get(&self, pe: Pe, source: u64, dest: LocalDest<'_>) {
        both!(self, it => Transport::get(*it, pe, source, dest))
    }

    #[inline(always)]
    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) {
        both!(self, it => it.copy(to, dest, from, source, bytes))
    }

    #[inline(always)]
    fn atomic(&self, pe: Pe, offset: u64, width: Width, operation: Atomic) -> u64 {
        both!(self, it => it.atomic(pe, offset, width, operation))
    }

    #[inline(always)]
    fn load(&self, offset: u64, bytes: usize) -> u64 {
        both!(self, it => it.load(offset, bytes))
    }

    #[inline(always)]
    fn signal(&self, pe: Pe, offset: u64, value: u64, op: SignalOp) {
        both!(self, it => it.signal(pe, offset, value, op))
    }

    #[inline(always)]
    fn signal_fetch(&self, offset: u64) -> u64 {
        both!(self, it => it.signal_fetch(offset))
    }

    #[inline(always)]
    fn fence(&self) {
        both!(self, it => it.fence())
    }

    #[inline(always)]
    fn quiet(&self) {
        both!(self, it => Transport::quiet(*it))
    }

    #[inline(always)]
    fn quiet_before_release(&self) {
        both!(self, it => it.quiet_before_release())
    }
}
