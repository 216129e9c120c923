//! The thread that delivers held operations of a PE that makes no calls.

use super::tracker::Standing;
use super::{Checker, Inside, State};
use crate::job::signals;
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval of its looks. Operations that were held at the last look are delivered, so none is held for much longer than twice that.
const EVERY: Duration = Duration::from_millis(1);
/// For how many looks a PE is patient, when it is: then its held operations stay until no PE gets on, or so long.
const PATIENCE: [u32; 2] = [4, 12];
/// How many looks a PE is patient in, in all.
pub(super) const PATIENT_LOOKS: u32 = 500;
/// Looks without anything held back, after which it sleeps until it is called.
const IDLE_AFTER: u32 = 20;

/// The thread's handle.
pub(super) struct DeliveryThread(JoinHandle<()>);

impl DeliveryThread {
    pub(super) fn start(check: &Arc<Checker>) -> Result<DeliveryThread> {
        let check = Arc::clone(check);
        let builder = std::thread::Builder::new()
            .name("nvshmemrs-check".into())
            .stack_size(256 << 10);
        let thread = signals::spawn(builder, move || check.run_delivery_thread())
            .map_err(|error| Error::system("starting the checker's thread", error))?;
        Ok(DeliveryThread(thread))
    }

    /// Wakes it.
    pub(super) fn wake(&self) {
        self.0.thread().unpark();
    }

    /// Ends the thread.
    pub(super) fn stop(self, check: &Checker) {
        check.stop.store(true, Release);
        self.wake();
        // It only ends by returning.
        let _ = self.0.join();
    }
}

impl State {
    /// Draws the time for which the next operations are held back: now and then a long one.
    fn draw_patience(&mut self) {
        let drawn = self.chances.next();
        self.patience = match drawn & 1 == 1 && self.patience_left > 0 {
            true => PATIENCE[(drawn >> 8) as usize % PATIENCE.len()],
            false => 0,
        };
    }
}

impl Checker {
    fn run_delivery_thread(&self) {
        let (mut seen, mut idle, mut looks) = (0, 0, 0);
        loop {
            match idle {
                IDLE_AFTER => std::thread::park(),
                _ => std::thread::park_timeout(EVERY),
            }
            if self.stop.load(Acquire) {
                return;
            }
            let _inside = Inside::enter();
            let mut state = self.state();
            looks += 1;
            let stuck = || self.tracker.is_standing(Standing::Waits) && self.tracker.others_stand();
            if !self.stands_still() && (looks > state.patience || stuck()) {
                state
                    .queue
                    .deliver_issued_until(seen, |held| self.deliver(held));
                self.publish_held(&mut state);
            }
            seen = state.queue.now();
            idle = match state.queue.is_empty() {
                true => (idle + 1).min(IDLE_AFTER),
                false => 0,
            };
            if idle > 0 {
                looks = 0;
                state.draw_patience();
            } else {
                state.patience_left = state.patience_left.saturating_sub(state.patience.min(1));
            }
            // Under the lock: a thread that holds an operation back from here on sees it.
            state.delivery_sleeps = idle == IDLE_AFTER;
            drop(state);
            self.write_findings();
        }
    }
}
