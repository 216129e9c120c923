//! The kernel's futexes: waiters are woken by address; the value is compared under the lock that wakers take.

use super::super::sync::Ordering::Acquire;
use super::super::sync::{AtomicU32, Condvar, Mutex, lazy_static, yield_now};
use crate::weak::naps_end;
use rustix::io::Errno;

#[derive(Default)]
struct State {
    /// Address of the futex, and whether it was woken.
    sleepers: Vec<(usize, bool)>,
    /// Nobody rings any more.
    last_bell: bool,
    /// Somebody slept when no bell was to come.
    lost: bool,
}

lazy_static! {
    static ref STATE: Mutex<State> = Mutex::new(State::default());
    static ref BELL: Condvar = Condvar::new();
}

pub(crate) struct Flags;

impl Flags {
    pub(crate) fn empty() -> Flags {
        Flags
    }
}

pub(crate) fn wait<T>(
    futex: &AtomicU32,
    _: Flags,
    expected: u32,
    _: Option<&T>,
) -> Result<(), Errno> {
    let address = std::ptr::from_ref(futex) as usize;
    let mut state = STATE.lock().unwrap();
    if futex.load(Acquire) != expected {
        return Err(Errno::AGAIN);
    }
    if naps_end() {
        drop(state);
        yield_now();
        return Err(Errno::TIMEDOUT);
    }
    if state.last_bell {
        state.lost = true;
        return Err(Errno::TIMEDOUT);
    }
    state.sleepers.push((address, false));
    loop {
        state = BELL.wait(state).unwrap();
        let woken = state
            .sleepers
            .iter()
            .position(|&sleeper| sleeper == (address, true));
        if let Some(index) = woken {
            state.sleepers.swap_remove(index);
            return Ok(());
        }
    }
}

pub(crate) fn wake(futex: &AtomicU32, _: Flags, _count: u32) -> Result<(), Errno> {
    let address = std::ptr::from_ref(futex) as usize;
    let mut state = STATE.lock().unwrap();
    let ours = state
        .sleepers
        .iter_mut()
        .filter(|sleeper| sleeper.0 == address);
    ours.for_each(|sleeper| sleeper.1 = true);
    BELL.notify_all();
    Ok(())
}

/// All wake-ups have been sent: a thread that still sleeps, or falls asleep, has lost a wake-up. Its timed wait ends.
pub(crate) fn last_bell() {
    let mut state = STATE.lock().unwrap();
    state.last_bell = true;
    state.lost |= state.sleepers.iter().any(|sleeper| !sleeper.1);
    state
        .sleepers
        .iter_mut()
        .for_each(|sleeper| sleeper.1 = true);
    BELL.notify_all();
}

/// Whether a bell was lost.
pub(crate) fn lost() -> bool {
    STATE.lock().unwrap().lost
}
