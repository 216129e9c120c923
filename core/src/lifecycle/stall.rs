//! The report of a job in which nothing moves: `NVSHMEMRS_STALL_AFTER`. The watchdog of PE 0 writes it, so that jobs of
//! other launchers (torchrun, mpirun, srun) report their waits, too.

use crate::board::{Board, Monitor, Position};
use crate::runtime::Inner;
use crate::sites::inside::write;
use std::time::{Duration, Instant};

/// Looks now and then where the job stands.
pub(super) struct StallReport {
    after: Duration,
    monitor: Monitor,
    next: Instant,
}

impl StallReport {
    pub(super) fn new(after: Duration) -> StallReport {
        let now = Instant::now();
        StallReport {
            after,
            monitor: Monitor::new(after, now),
            next: now,
        }
    }

    /// Called each time that the watchdog looks. Writes the report when it is due.
    pub(super) fn look(&mut self, inner: &Inner) {
        let now = Instant::now();
        let Some(interval) = self.monitor.interval().filter(|_| now >= self.next) else {
            return;
        };
        self.next = now + interval;
        let board = Board::of_job(&inner.control);
        if self.monitor.stalled(Some(Position::of(&board)), now) {
            // The other PEs are asked for theirs; this thread cannot ask itself.
            inner.describe_waits();
            write(&format!(
                "nvshmemrs [PE {}, pid {}] nothing has moved for {} s\n{}\n",
                inner.my_pe,
                std::process::id(),
                self.after.as_secs_f64(),
                board.report().trim_end()
            ));
        }
    }
}
