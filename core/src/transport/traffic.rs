//! Counts what the program moves, if a setting asks for it: a transport around another one. Without the setting there is no such
//! transport, so no operation pays for it.
//!
//! What the library does for its own ends, as the data of a collective, goes past it and is not counted.

use super::{
    Atomic, Call, Collectives, DeviceTables, Found, Lane, Nbi, Notes, Owner, Search, SignalUpdate,
    Streams, Transport, Width,
};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::liveness::Chore;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::{Error, MemoryKind, Pe, Result};
use std::any::Any;
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
    fn kind(&self) -> MemoryKind {
        self.below.kind()
    }

    fn page_bytes(&self) -> u64 {
        self.below.page_bytes()
    }

    fn may_load(&self) -> bool {
        self.below.may_load()
    }

    fn takes_machine_memory(&self) -> bool {
        self.below.takes_machine_memory()
    }

    fn looks_are_slow(&self) -> bool {
        self.below.looks_are_slow()
    }

    fn makers_of_memory(&self) -> &'static str {
        self.below.makers_of_memory()
    }

    fn failure(&self) -> Result<()> {
        self.below.failure()
    }

    fn keep(&self, error: Error) {
        self.below.keep(error);
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        self.below.commit(range)
    }

    fn decommit(&self, range: SymRange) {
        self.below.decommit(range);
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        self.below.zero(range)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.below.check_adopt(buffer, bytes, preferred)
    }

    fn check_give_back(&self) -> Result<()> {
        self.below.check_give_back()
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.below.adopt(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.below.give_back(range, buffer, preferred)
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        self.below.local_ptr(pe, offset)
    }

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

    fn read(&self, call: Call, me: Pe, source: SymRange, dest: LocalDest<'_>) -> Result<()> {
        self.below.read(call, me, source, dest)
    }

    fn write(&self, call: Call, me: Pe, dest: SymRange, source: LocalSource<'_>) -> Result<()> {
        self.below.write(call, me, dest, source)
    }

    fn fence(&self, lane: Lane) -> Result<()> {
        self.below.fence(lane)
    }

    fn quiet(&self, call: Call) -> Result<()> {
        self.below.quiet(call)
    }

    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.below.quiet_before_release(call)
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()> {
        self.below.copy(to, dest, from, source, bytes)
    }

    fn load(&self, called: Operation, offset: u64, bytes: usize) -> Result<u64> {
        self.below.load(called, offset, bytes)
    }

    fn wrapped(&self) -> Option<&dyn Transport> {
        Some(self.below.wrapped().unwrap_or(&*self.below))
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.below.notes()
    }

    fn progress(&self) {
        self.below.progress();
    }

    fn owned_by(&self, owner: Box<dyn Owner>) {
        self.below.owned_by(owner);
    }

    fn collectives(&self) -> Option<&dyn Collectives> {
        self.below.collectives()
    }

    fn device_tables(&self) -> Option<&dyn DeviceTables> {
        self.below.device_tables()
    }

    fn search(&self, lane: Lane, search: &Search<'_>) -> Option<Result<Found>> {
        self.below.search(lane, search)
    }

    fn streams(&self) -> Option<&dyn Streams> {
        self.below.streams()
    }

    fn drain(&self) -> Result<()> {
        self.below.drain()
    }

    fn leave(&self, gone: bool) -> Option<String> {
        self.below.leave(gone)
    }

    fn chore(&self) -> Option<Chore> {
        self.below.chore()
    }

    fn device(&self) -> Option<i32> {
        self.below.device()
    }

    fn about(&self) -> Option<String> {
        self.below.about()
    }

    fn mapping(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.below.mapping()
    }

    fn hang_up(&self, finalized: bool) {
        self.below.hang_up(finalized);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The methods of a block that begins with `head`.
    fn methods<'a>(text: &'a str, head: &str) -> BTreeSet<&'a str> {
        let block = text.split_once(head).unwrap().1;
        let block = block.split_once("\n}\n").unwrap().0;
        let heads = block
            .lines()
            .filter_map(|line| line.strip_prefix("    fn "));
        heads
            .filter_map(|head| Some(head.split_once('(')?.0))
            .collect()
    }

    /// A method that is left out would do what it does by default, whatever the transport below does.
    #[test]
    fn every_method_of_a_transport_is_passed_on() {
        let all = methods(include_str!("mod.rs"), "pub(crate) trait Transport");
        let passed_on = methods(include_str!("traffic.rs"), "impl Transport for Counted");
        assert!(!all.is_empty());
        assert_eq!(passed_on, all);
    }

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
