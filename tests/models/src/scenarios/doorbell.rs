//! The doorbell: a waiter that sleeps, and a thread that fulfils its condition.

use super::super::job::{
    Cmp, Dtype, Inner, Operation, Published, SymRange, Target, Wait, futex, job, ring_team,
    ring_words,
};
use super::super::sync::Ordering::{Acquire, Relaxed, Release};
use super::super::sync::{AtomicU64, spawn};
use std::sync::Arc;
use std::time::Duration;

/// The end of `wait_long` of wait.rs: published, the waiter looks and sleeps in turn.
fn wait_asleep(pe: &Inner, wait: &Wait, mut ready: impl FnMut() -> Result<(), u64>) {
    let _published = Published::new(&pe.control, pe.my_pe, wait, 0, None);
    while ready().is_err() {
        let _ = pe.sleep(wait, Duration::from_millis(1), &mut ready);
    }
}

fn nobody_sleeps(pe: &Inner) {
    let header = pe.control.header();
    assert_eq!(
        (
            header.word_sleepers.load(Relaxed),
            header.team_sleepers.load(Relaxed)
        ),
        (0, 0),
        "sleepers left"
    );
    assert_eq!(
        pe.control.pe(pe.my_pe).bell.sleepers.load(Relaxed),
        0,
        "sleepers left at the bell"
    );
}

/// A waiter for a word, and a signal: a release store, then `ring_words`.
pub(crate) fn a_signal_ends_the_wait() {
    let pe = job(1, 0).remove(0);
    let word = Arc::new(AtomicU64::new(0));
    let waiter = spawn({
        let (pe, word) = (Arc::clone(&pe), Arc::clone(&word));
        move || {
            let wait = Wait {
                operation: Operation::SignalWait,
                target: Target::Word {
                    offset: 64,
                    dtype: Dtype::Uint64,
                    count: 1,
                    cmp: Cmp::Ne,
                    expected: 0,
                    ahead: None,
                },
            };
            wait_asleep(&pe, &wait, || match word.load(Acquire) {
                0 => Err(0),
                _ => Ok(()),
            });
        }
    });
    word.store(1, Release);
    ring_words(&pe.control, 0, SymRange::new(64, 8));
    futex::last_bell();
    waiter.join().unwrap();
    nobody_sleeps(&pe);
    assert!(!futex::lost(), "a bell was lost");
}

/// Waiters for a team: each arrival is a release store, then `ring_team`.
pub(crate) fn an_arrival_ends_the_wait(waiters: i32) {
    let pes = job(waiters + 1, 0);
    let epoch = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = pes[1..]
        .iter()
        .map(|pe| {
            let (pe, epoch) = (Arc::clone(pe), Arc::clone(&epoch));
            spawn(move || {
                let wait = Wait {
                    operation: Operation::Barrier,
                    target: Target::Team { index: 0, epoch: 1 },
                };
                wait_asleep(&pe, &wait, || match epoch.load(Acquire) {
                    0 => Err(0),
                    _ => Ok(()),
                });
            })
        })
        .collect();
    epoch.store(1, Release);
    ring_team(&pes[0].control);
    futex::last_bell();
    for thread in threads {
        thread.join().unwrap();
    }
    pes.iter().for_each(|pe| nobody_sleeps(pe));
    assert!(!futex::lost(), "a bell was lost");
}
