//! Counts the program's operations and bytes, if a setting asks for it: a wrapper around a transport. Without the setting there is no
//! wrapper, and no cost.
//!
//! Internal operations of the library, such as the data of a collective, bypass the wrapper.

use super::{
    AtomicRequest, Body, GetRequest, Memory, Properties, PutRequest, Reply, Request, Transport,
};
use crate::{Error, Pe, Result};
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

/// The operations of a PE on one target.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Pair {
    puts: Count,
    gets: Count,
    atomics: AtomicU64,
    signals: AtomicU64,
}

/// The operations of a PE on one target, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub pe: Pe,
    /// Calls and bytes.
    pub puts: (u64, u64),
    pub gets: (u64, u64),
    pub atomics: u64,
    pub signals: u64,
}

/// The operations of a PE.
#[derive(Debug)]
pub struct Traffic(Box<[Pair]>);

impl Traffic {
    /// The counts of a PE in a job of `n_pes` PEs, all 0.
    pub fn new(n_pes: Pe) -> Traffic {
        Traffic((0..n_pes).map(|_| Pair::default()).collect())
    }

    fn with(&self, pe: Pe) -> &Pair {
        &self.0[pe as usize]
    }

    /// The counts of all targets with operations.
    pub fn read(&self) -> Vec<Moved> {
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
pub struct Counted {
    pub below: Box<dyn Transport>,
    pub traffic: Arc<Traffic>,
}

impl Counted {
    fn count(&self, body: &Body<'_>) {
        let with = |pe: Pe| self.traffic.with(pe);
        match *body {
            Body::Put(PutRequest { pe, .. }, _)
            | Body::PutValue { pe, .. }
            | Body::PutBlocks(PutRequest { pe, .. }, _) => with(pe).puts.add(body.moved()),
            Body::Get(GetRequest { pe, .. }, _)
            | Body::GetValue { pe, .. }
            | Body::GetBlocks(GetRequest { pe, .. }, _) => with(pe).gets.add(body.moved()),
            Body::PutSignal(PutRequest { pe, .. }, ..) => {
                with(pe).puts.add(body.moved());
                with(pe).signals.fetch_add(1, Relaxed);
            }
            Body::Atomic(AtomicRequest { pe, .. }) => drop(with(pe).atomics.fetch_add(1, Relaxed)),
            Body::Signal { pe, .. } => drop(with(pe).signals.fetch_add(1, Relaxed)),
            // Memory of this PE's own, the data of collectives, and requests that move nothing.
            Body::GetAll(_)
            | Body::Read { .. }
            | Body::Write { .. }
            | Body::Copy(_)
            | Body::Load { .. }
            | Body::Fence
            | Body::Quiet
            | Body::QuietBeforeRelease => {}
        }
    }
}

impl Transport for Counted {
    forwards_to!(below);

    fn unwatched(&self) -> Option<&dyn Transport> {
        Some(self.below.unwatched().unwrap_or(&*self.below))
    }

    fn execute(&self, request: Request<'_>) -> Result<Reply> {
        self.count(&request.body);
        self.below.execute(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pes_with_traffic_are_listed() {
        let traffic = Traffic::new(3);
        assert_eq!(traffic.read(), []);
        traffic.with(2).puts.add(100);
        traffic.with(2).puts.add(28);
        traffic.with(0).signals.fetch_add(1, Relaxed);
        let moved = traffic.read();
        assert_eq!(moved.len(), 2);
        assert_eq!((moved[0].pe, moved[0].signals), (0, 1));
        assert_eq!(
            (moved[1].pe, moved[1].puts, moved[1].gets),
            (2, (2, 128), (0, 0))
        );
    }
}
