//! PEs that are stopped (SIGSTOP, Ctrl-Z): they remain in the job and do not run.
//!
//! A watchdog that has seen a PE stopped for longer than the limit sets a mark in the PE's block, and every wait of the others ends with an
//! error while the mark is set. The PE's own watchdog clears it as soon as the PE runs. So a stop is not final, unlike a death; but a
//! collective that ended by the stop has left a broken team.
//!
//! Only time in which the watching process runs counts, so stopping and continuing the whole job has no effect.

use super::block::Control;
use super::process::{pid_of, state_letter};
use super::remote::RemoteHosts;
use super::{doorbell, shared_words};
use crate::clock::now_ns;
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// A watchdog's state of stopped PEs.
pub(super) struct Stops {
    /// None: stops are ignored.
    limit: Option<Duration>,
    /// How long this process has been running, and when that was last measured.
    ran: Duration,
    last: Instant,
    /// By PE: when it was first seen stopped, in running time of this process, and its heartbeats then.
    since: HashMap<Pe, (Duration, u64)>,
}

impl Stops {
    pub(super) fn new(limit: Option<Duration>) -> Stops {
        Stops {
            limit,
            ran: Duration::ZERO,
            last: Instant::now(),
            since: HashMap::new(),
        }
    }

    /// Measures the running time of this process, which is PE `me`.
    pub(super) fn tick(&mut self, control: &Control, me: Pe) {
        let Some(limit) = self.limit else { return };
        // After a longer time it has been stopped itself, or kept waiting for a CPU as others may have been.
        let most = limit / 3;
        self.ran += self.last.elapsed().min(most);
        self.last = Instant::now();
        shared_words::count_heartbeat(control.pe(me));
        let was_stopped = shared_words::clear_stopped(control, me);
        if let (true, Some(remote)) = (was_stopped, control.remote()) {
            remote.send_continued(me);
        }
    }

    /// Checks `pe`, which is process `pid` in this pid namespace.
    pub(super) fn look(&mut self, control: &Control, pe: Pe, pid: u32) {
        let Some(limit) = self.limit else { return };
        if state_letter(&format!("/proc/{pid}")) != Some('T') {
            self.since.remove(&pe);
            return;
        }
        // A PE that is stopped and continued again and again (cpulimit) may be seen stopped each time, but has run in between.
        let beats = control.pe(pe).beats.load(Relaxed);
        let first = self.since.entry(pe).or_insert((self.ran, beats));
        if first.1 != beats {
            *first = (self.ran, beats);
        }
        let stopped_for = self.ran - first.0;
        if stopped_for < limit {
            return;
        }
        let since = now_ns().saturating_sub(stopped_for.as_nanos() as u64);
        if shared_words::set_stopped(control, pe, since.max(1)) {
            doorbell::ring_everyone(control);
            if let Some(remote) = control.remote() {
                send_stopped_to_others(control, remote, pe, since);
            }
        }
    }
}

/// Tells the other hosts that a PE of this host is stopped. If it continues meanwhile, its own message may arrive before this one: so a
/// further message that it runs follows.
fn send_stopped_to_others(control: &Control, remote: &RemoteHosts, pe: Pe, since: u64) {
    remote.send_stopped(pe, since);
    if control.pe(pe).stopped.load(Acquire) == 0 {
        remote.send_continued(pe);
    }
}

/// Tells the other hosts which PEs of this host are stopped, before errors that follow from it. The watchdog that has seen it may be about
/// to do so.
pub fn forward(control: &Control) {
    let Some(remote) = control.remote() else {
        return;
    };
    for &pe in remote.hosts().local_pes() {
        let since = control.pe(pe).stopped.load(Acquire);
        if since != 0 {
            send_stopped_to_others(control, remote, pe, since);
        }
    }
}

/// An error if another PE than `me` has been stopped for too long.
#[inline(always)]
pub fn check(control: &Control, me: Pe, operation: Operation) -> Result<()> {
    match control.header().stopped.load(Acquire) {
        0 => Ok(()),
        _ => find(control, me, operation),
    }
}

#[cold]
fn find(control: &Control, me: Pe, operation: Operation) -> Result<()> {
    for pe in (0..control.n_pes()).filter(|&pe| pe != me) {
        let since = control.pe(pe).stopped.load(Acquire);
        if since != 0 {
            return Err(Error::PeStopped {
                pe,
                pid: pid_of(control, pe),
                stopped_for: Duration::from_nanos(now_ns().saturating_sub(since)),
                operation: operation.name(),
                me,
            });
        }
    }
    Ok(())
}
