//! Counts what the program moves, if a setting asks for it: a transport around another one. Without the setting there is no such
//! transport, so no operation pays for it.
//!
//! What the library does for its own ends, as the data of a collective, goes past it and is not counted.

use super::pass_on::pass_on;
use super::{Atomic, Call, Nbi, SignalUpdate, Transport, Width};
use crate::buffer::{LocalDest, LocalSource};
use crate::strides::Transfer;
use crate::{Pe, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Operations of one kind, and the bytes that they have moved.
#[derive(Debug, Default)]
struct Count {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    fn add(&self, bytes: u64) {
        self.calls.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.bytes.load(Relaxed))
    }
}

/// What a PE has moved to and from another one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Pair {
    puts: Count,
    gets: Count,
    atomics: AtomicU64,
    signals: AtomicU64,
}

/// What a PE has moved to and from another one, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) pe: Pe,
    /// Calls and bytes.
    pub(crate) puts: (u64, u64),
    pub(crate) gets: (u64, u64),
    pub(crate) atomics: u64,
    pub(crate) signals: u64,
}

/// What a PE has moved.
#[derive(Debug)]
pub(crate) struct Traffic(Box<[Pair]>);

impl Traffic {
    /// Of a PE in a job of `n_pes` PEs that has moved nothing.
    pub(crate) fn new(n_pes: Pe) -> Traffic {
        Traffic((0..n_pes).map(|_| Pair::default()).collect())
    }

    fn with(&self, pe: Pe) -> &Pair {
        &self.0[pe as usize]
    }

    /// The PEs with which anything was moved.
    pub(crate) fn read(&self) -> Vec<Moved> {
        let moved = self.0.iter().zip(0..).map(|(pair, pe)| Moved {
            pe,
            puts: pair.puts.read(),
            gets: pair.gets.read(),
            atomics: pair.atomics.load(Relaxed),
            signals: pair.signals.load(Relaxed),
        });
        let any = |one: &Moved| one.puts.0 + one.gets.0 + one.atomics + one.signals > 0;
        moved.filter(any).collect()
    }
}

/// A transport whose operations are counted.
pub(crate) struct Counted {
    pub(crate) below: Box<dyn Transport>,
    pub(crate) traffic: Arc<Traffic>,
}

/// The bytes that a strided transfer moves.
fn moved(transfer: &Transfer) -> u64 {
    let (_, block, count) = transfer.dest().parts();
    block * count
}

impl Transport for Counted {
    pass_on!(self => &*self.below;
        kind, page_bytes, may_load, takes_machine_memory, looks_are_slow, makers_of_memory,
        failure, keep, commit, decommit, zero, check_adopt, check_give_back, adopt, give_back,
        local_ptr, read, get_all, write, fence, quiet, quiet_before_release, copy, load, notes,
        progress, owned_by, collectives, device_tables, search, streams, drain, leave, hang_up,
        chore, device, about, mapping
    );

    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()> {
        self.traffic.with(pe).puts.add(source.bytes() as u64);
        self.below.put(call, pe, dest, source, nbi)
    }

    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()> {
        self.traffic.with(pe).gets.add(dest.bytes() as u64);
        self.below.get(call, pe, source, dest, nbi)
    }

    fn put_value(&self, call: Call, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        self.traffic.with(pe).puts.add(value.len() as u64);
        self.below.put_value(call, pe, dest, value)
    }

    fn get_value(&self, call: Call, pe: Pe, source: u64, bytes: usize) -> Result<[u64; 2]> {
        self.traffic.with(pe).gets.add(bytes as u64);
        self.below.get_value(call, pe, source, bytes)
    }

    fn put_blocks(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        self.traffic.with(pe).puts.add(moved(transfer));
        self.below.put_blocks(call, pe, dest, source, transfer)
    }

    fn get_blocks(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        self.traffic.with(pe).gets.add(moved(transfer));
        self.below.get_blocks(call, pe, source, dest, transfer)
    }

    fn put_signal(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        nbi: Nbi,
    ) -> Result<()> {
        let pair = self.traffic.with(pe);
        pair.puts.add(source.bytes() as u64);
        pair.signals.fetch_add(1, Relaxed);
        self.below.put_signal(call, pe, dest, source, update, nbi)
    }

    fn atomic(
        &self,
        call: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64> {
        self.traffic.with(pe).atomics.fetch_add(1, Relaxed);
        self.below
            .atomic(call, pe, offset, width, operation, fetches)
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        self.traffic.with(pe).signals.fetch_add(1, Relaxed);
        self.below.signal(call, pe, update)
    }

    fn wrapped(&self) -> Option<&dyn Transport> {
        Some(self.below.wrapped().unwrap_or(&*self.below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pes_with_traffic_are_told() {
        let traffic = Traffic::new(3);
        assert_eq!(traffic.read(), []);
        traffic.with(2).puts.add(100);
        traffic.with(2).puts.add(28);
        traffic.with(0).signals.fetch_add(1, Relaxed);
        let told = traffic.read();
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].pe, told[0].signals), (0, 1));
        assert_eq!(
            (told[1].pe, told[1].puts, told[1].gets),
            (2, (2, 128), (0, 0))
        );
    }
}
