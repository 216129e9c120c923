//! What is to be sent to other hosts: whoever adds a record sees to it that it leaves, or that another thread lets it leave.

use super::super::sync::Ordering::{AcqRel, Acquire};
use super::super::sync::{AtomicU64, Mutex, MutexGuard, spawn};
use crate::weak::weak;
use std::sync::Arc;

type Pe = i32;

include!(concat!(env!("OUT_DIR"), "/sending.rs"));

/// What is to be sent to a PE: how much, and whether it is pending.
type Out = Mutex<(u64, bool)>;

struct Net {
    pending: Pending,
    out: [Out; 2],
    /// How much has left.
    engine: Mutex<u64>,
}

/// Mirrors net/mod.rs and net/out.rs.
impl Net {
    fn try_engine(&self) -> Option<MutexGuard<'_, u64>> {
        self.engine.try_lock().ok()
    }

    fn flush(&self, left: &mut u64) {
        self.pending.take(|pe| {
            let mut out = self.out[pe as usize].lock().unwrap();
            out.1 = false;
            *left += std::mem::take(&mut out.0);
        });
    }

    fn post(&self, pe: Pe) {
        let mut out = self.out[pe as usize].lock().unwrap();
        out.0 += 1;
        if !std::mem::replace(&mut out.1, true) {
            self.pending.add(pe);
        }
    }
}

/// Each thread sends records to some PEs, and looks after nothing later.
pub(crate) fn nothing_stays_behind(threads: &[&'static [Pe]]) {
    let net = Arc::new(Net {
        pending: Pending::new(2),
        out: Default::default(),
        engine: Mutex::new(0),
    });
    let send = |net: &Net, pes: &[Pe]| {
        for &pe in pes {
            net.post(pe);
            net.kick();
        }
    };
    let threads: Vec<_> = threads
        .iter()
        .map(|&pes| {
            let net = Arc::clone(&net);
            let count = pes.len() as u64;
            (count, spawn(move || send(&net, pes)))
        })
        .collect();
    let mut records = 0;
    for (count, thread) in threads {
        thread.join().unwrap();
        records += count;
    }
    assert!(net.pending.is_empty(), "a PE is to be sent something");
    assert_eq!(*net.engine.lock().unwrap(), records, "records stay behind");
}
