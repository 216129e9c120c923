//! Records for other hosts: the thread that adds a record ensures that this thread or another thread sends the record.

use super::super::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::super::sync::{AtomicBool, AtomicU64, Mutex, spawn};
use crate::weak::weak;
use std::sync::Arc;

type Pe = i32;

include!(concat!(env!("OUT_DIR"), "/sending.rs"));

/// The records to send to a PE: their number, and whether the PE is queued.
#[derive(Default)]
struct PeerState {
    queue: Mutex<u64>,
    queued: AtomicBool,
}

/// The lock of the engine, and the number of sent records. `try_lock` of loom's own Mutex blocks if another thread takes it meanwhile.
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

struct Endpoint {
    queued: QueuedPeers,
    /// Of PEs 0 and 64, which share a bit, and of PE 1.
    peers: [PeerState; 3],
    engine: Engine,
}

/// The number of PEs of which the model has some.
const N_PES: usize = 65;

/// Mirrors net/endpoint/mod.rs and net/endpoint/send_queue.rs.
impl Endpoint {
    fn try_engine(&self) -> Option<Held<'_>> {
        let taken = self
            .engine
            .held
            .compare_exchange(false, true, Acquire, Relaxed);
        taken.ok().map(|_| Held(&self.engine))
    }

    fn peer(&self, pe: Pe) -> &PeerState {
        &self.peers[[0, 64, 1].iter().position(|one| *one == pe).unwrap()]
    }

    fn flush(&self, engine: &mut Held<'_>) {
        self.queued.take(|pe| {
            let peer = self.peer(pe);
            if !peer.queued.load(Relaxed) {
                return;
            }
            let mut queue = peer.queue.lock().unwrap();
            peer.queued.store(false, Relaxed);
            let records = std::mem::take(&mut *queue);
            drop(queue);
            engine.send(records);
        });
    }

    fn mark(&self, peer: &PeerState, pe: Pe) {
        if !peer.queued.load(Relaxed) {
            peer.queued.store(true, Relaxed);
            self.queued.add(pe);
        }
    }

    fn post(&self, pe: Pe) {
        let peer = self.peer(pe);
        let mut queue = peer.queue.lock().unwrap();
        *queue += 1;
        self.mark(peer, pe);
    }

    fn post_now(&self, pe: Pe) {
        let peer = self.peer(pe);
        let mut queue = peer.queue.lock().unwrap();
        *queue += 1;
        match self.try_engine() {
            Some(engine) => {
                let records = std::mem::take(&mut *queue);
                drop(queue);
                engine.send(records);
                drop(engine);
                self.kick_rest();
            }
            None => {
                self.mark(peer, pe);
                drop(queue);
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
    let endpoint = Arc::new(Endpoint {
        queued: QueuedPeers::new(N_PES),
        peers: Default::default(),
        engine: Engine::default(),
    });
    let send = |endpoint: &Endpoint, records: &[Send]| {
        for record in records {
            match *record {
                Send::Added(pe) => {
                    endpoint.post(pe);
                    endpoint.kick();
                }
                Send::Now(pe) => endpoint.post_now(pe),
            }
        }
    };
    let threads: Vec<_> = threads
        .iter()
        .map(|&thread| {
            let endpoint = Arc::clone(&endpoint);
            let count = thread.len() as u64;
            (count, spawn(move || send(&endpoint, thread)))
        })
        .collect();
    let mut records = 0;
    for (count, thread) in threads {
        thread.join().unwrap();
        records += count;
    }
    assert!(endpoint.queued.is_empty(), "a PE is to be sent something");
    let left = endpoint.engine.left.load(Relaxed);
    assert_eq!(left, records, "records stay behind");
}
