//! Deaths: which PEs have died, which PE died first, and the errors of the waiting PEs.

use super::super::job::{Error, Inner, Operation, Pe, State, all_are, job, mark_gone};
use super::super::sync::Ordering::Acquire;
use super::super::sync::{spawn, yield_now};
use std::sync::Arc;

/// Two watchdogs mark two PEs dead; every PE learns of the death, and the PE that is named to it is dead.
pub(crate) fn the_one_named_is_dead() {
    let pes = job(3, 0);
    let control = Arc::clone(&pes[0].control);
    let watchdogs: Vec<_> = [1, 2]
        .map(|pe: Pe| {
            let control = Arc::clone(&control);
            spawn(move || mark_gone(&control, pe, State::Dead))
        })
        .into();
    let check = |pe: &Inner| match pe.check_job(Operation::Check) {
        Ok(()) => false,
        Err(Error::PeDied { pe: 1 | 2, how, .. }) => {
            assert_eq!(
                how, "ended without finalize",
                "the state of the dead PE was not seen"
            );
            true
        }
        Err(other) => panic!("names a PE that lives: {other:?}"),
    };
    check(&pes[0]);
    for watchdog in watchdogs {
        watchdog.join().unwrap();
    }
    assert!(check(&pes[0]), "a death went unseen");
    assert!(control.header().gone.load(Acquire) >= 1);
}

/// A PE ends inside finalize, or just before, while another PE waits there: the wait ends either way.
pub(crate) fn a_death_around_finalize_strands_nobody() {
    let pes = job(2, 0);
    let (waiter, dying) = (Arc::clone(&pes[0]), Arc::clone(&pes[1]));
    // The dying PE's own thread, and the watchdog of the other process once the kernel has dropped its lock.
    let dies = spawn(move || {
        let enters = spawn({
            let dying = Arc::clone(&dying);
            move || dying.state(State::Finalizing)
        });
        mark_gone(&dying.control, 1, State::Dead);
        enters.join().unwrap();
    });
    waiter.state(State::Finalizing);
    // As `wait_long` does: looks, then asks whether the job is whole.
    while all_are(&waiter.control, State::Finalizing).is_err()
        && waiter.check_job(Operation::Finalize).is_ok()
    {
        yield_now();
    }
    dies.join().unwrap();
}
