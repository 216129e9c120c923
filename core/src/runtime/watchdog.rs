//! Notices PEs of other processes that end without finalize.
//!
//! Each process watches the next PE that is still there, often, and all PEs, seldom: so a death is noticed quickly, also when
//! several PEs die at once, and the cost does not grow with the square of the PEs.

use super::Inner;
use crate::board::State;
use crate::transport::host::control::Control;
use crate::transport::host::locks;
use crate::{Error, Pe, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the next PE is looked at.
const EVERY: Duration = Duration::from_millis(50);
/// How many such looks come between two at all PEs.
const ALL_EVERY: u32 = 10;

/// The thread that watches.
pub(super) struct Watchdog {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watchdog {
    /// Starts watching on behalf of PE `me`.
    pub(super) fn start(control: Control, me: Pe) -> Result<Watchdog> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("nvshmemrs-watch".into())
            .stack_size(128 << 10)
            .spawn(move || watch(&control, me, &seen))
            .map_err(|error| Error::system("starting the watchdog thread", error))?;
        Ok(Watchdog { stop, thread })
    }

    /// Ends the thread.
    pub(super) fn stop(self) {
        self.stop.store(true, Release);
        self.thread.thread().unpark();
        // It only ends by returning.
        let _ = self.thread.join();
    }
}

fn watch(control: &Control, me: Pe, stop: &AtomicBool) {
    let n_pes = control.n_pes();
    let mut round = 0;
    while !stop.load(Acquire) {
        std::thread::park_timeout(EVERY);
        round += 1;
        let others = (1..n_pes)
            .map(|step| (me + step) % n_pes)
            .filter(|&pe| is_active(control, pe));
        let count = if round % ALL_EVERY == 0 {
            n_pes as usize
        } else {
            1
        };
        for pe in others.take(count) {
            let own = control.pe(pe).pid.load(Relaxed) == std::process::id();
            if own || locks::held_by_other(control.segment().fd(), pe) {
                continue;
            }
            // It may have finalized between the two looks.
            if is_active(control, pe) {
                Inner::mark_gone(control, pe, State::Dead);
            }
        }
    }
}

fn is_active(control: &Control, pe: Pe) -> bool {
    control.pe(pe).state.load(Acquire) == State::Active as u32
}
