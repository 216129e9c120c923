//! What is to be sent to other hosts: whoever adds a record sees to it that it leaves, or that another thread lets it leave.

use super::super::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::super::sync::{AtomicBool, AtomicU64, Mutex, spawn};
use crate::weak::weak;
use std::sync::Arc;

type Pe = i32;

include!(concat!(env!("OUT_DIR"), "/sending.rs"));

/// What is to be sent to a PE: how much, and whether it is pending.
#[derive(Default)]
struct Link {
    out: Mutex<u64>,
    pending: AtomicBool,
}

/// The lock of the engine, and how much has left. Whoever tries loom's own Mutex waits for it if another thread takes it meanwhile.
#[derive(Default)]
struct Engine {
    held: AtomicBool,
    left: AtomicU64,
}

struct Held<'a>(&'a Engine);

impl Held<'_> {
    fn send(&self, records: u64) {
        let before = self.0.left.load(Relaxed);
        self.0.left.store(before + records, Relaxed);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.store(false, Release);
    }
}

struct Net {
    pending: Pending,
    /// Of PEs 0 and 64, which share a bit, and of PE 1.
    links: [Link; 3],
    engine: Engine,
}

/// The number of PEs of which the model has some.
const N_PES: usize = 65;

/// Mirrors net/mod.rs and net/out.rs.
impl Net {
    fn try_engine(&self) -> Option<Held<'_>> {
        let taken = self
            .engine
            .held
            .compare_exchange(false, true, Acquire, Relaxed);
        taken.ok().map(|_| Held(&self.engine))
    }

    fn link(&self, pe: Pe) -> &Link {
        &self.links[[0, 64, 1].iter().position(|one| *one == pe).unwrap()]
    }

    fn flush(&self, engine: &mut Held<'_>) {
        self.pending.take(|pe| {
            let link = self.link(pe);
            if !link.pending.load(Relaxed) {
                return;
            }
            let mut out = link.out.lock().unwrap();
            link.pending.store(false, Relaxed);
            let records = std::mem::take(&mut *out);
            drop(out);
            engine.send(records);
        });
    }

    fn mark(&self, link: &Link, pe: Pe) {
        if !link.pending.load(Relaxed) {
            link.pending.store(true, Relaxed);
            self.pending.add(pe);
        }
    }

    fn post(&self, pe: Pe) {
        let link = self.link(pe);
        let mut out = link.out.lock().unwrap();
        *out += 1;
        self.mark(link, pe);
    }

    fn post_now(&self, pe: Pe) {
        let link = self.link(pe);
        let mut out = link.out.lock().unwrap();
        *out += 1;
        match self.try_engine() {
            Some(engine) => {
                let records = std::mem::take(&mut *out);
                drop(out);
                engine.send(records);
                drop(engine);
                self.kick_rest();
            }
            None => {
                self.mark(link, pe);
                drop(out);
                self.kick();
            }
        }
    }
}

/// How a record is sent to a PE.
#[derive(Clone, Copy)]
pub(crate) enum Send {
    /// Added, then sent with others.
    Added(Pe),
    /// At once if that can be.
    Now(Pe),
}

/// Each thread sends records to some PEs, and looks after nothing later.
pub(crate) fn nothing_stays_behind(threads: &[&'static [Send]]) {
    let net = Arc::new(Net {
        pending: Pending::new(N_PES),
        links: Default::default(),
        engine: Engine::default(),
    });
    let send = |net: &Net, records: &[Send]| {
        for record in records {
            match *record {
                Send::Added(pe) => {
                    net.post(pe);
                    net.kick();
                }
                Send::Now(pe) => net.post_now(pe),
            }
        }
    };
    let threads: Vec<_> = threads
        .iter()
        .map(|&thread| {
            let net = Arc::clone(&net);
            let count = thread.len() as u64;
            (count, spawn(move || send(&net, thread)))
        })
        .collect();
    let mut records = 0;
    for (count, thread) in threads {
        thread.join().unwrap();
        records += count;
    }
    assert!(net.pending.is_empty(), "a PE is to be sent something");
    let left = net.engine.left.load(Relaxed);
    assert_eq!(left, records, "records stay behind");
}
