//! The one loop of all waits.
//!
//! A wait spins while the PEs fit the cores, yields at once when they do not, and after a millisecond sleeps on its PE's doorbell, a futex,
//! for at most 1 ms at a time (plain stores ring no doorbell). A GPU rings no doorbells, so with the heap in its memory a sleep is also at
//! most a twentieth of the time waited. A sleeping wait is published on the board (see [`crate::board`]); a short wait has no cost of the
//! board.
//!
//! A wait ends with an error when a PE is gone, when its deadline has passed, or when it is interrupted. The death of a PE does not end a
//! wait for work of this PE's own GPU.

use crate::clock::now_ns;
use crate::deadline;
use crate::job::block::Control;
use crate::job::cores;
use crate::job::interrupt::call_hook;
use crate::job::process::pid_of;
use crate::job::published::{Limit, Published, Seen, Target, Wait, publish_called_name};
use crate::job::state::State;
use crate::job::{shared_words, stops};
use crate::operation::Operation;
use crate::per_thread::{self, PerThread};
use crate::runtime::Inner;
use crate::sites::CodeAddress;
use crate::team::TeamState;
use crate::{Error, Result, board};
use rustix::io::Errno;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Pauses before the first yield, if every PE has a core of its own: some microseconds. With more, a PE that has to share a core would
/// spin for its whole time slice while the other cannot run.
const SPINS: u32 = 200;
/// The number of pauses between two polls of the network.
const PROGRESS_EVERY: u32 = 2;
/// The number of polls of the network before a wait yields, if every PE has a core of its own.
const YIELD_EVERY: u32 = 8;
/// How long a wait yields before it sleeps.
const YIELD_FOR: Duration = Duration::from_millis(1);
/// The shortest sleep at a time.
const FIRST_NAP: Duration = Duration::from_micros(50);
/// The longest sleep at a time.
const NAP: Duration = Duration::from_millis(1);
/// Without a doorbell, a sleep is at most this part of the time waited.
const NAP_PART: u32 = 20;
/// When a wait looks up the name by which the program has called its operation, which may read debug information.
const NAMED_AFTER: Duration = Duration::from_millis(100);
/// How often a sleeping wait calls the interrupt hook.
const HOOK_EVERY: Duration = Duration::from_millis(50);

/// The number of pauses before a wait yields: none when PEs share cores.
pub(crate) fn spins(control: &Control) -> u32 {
    match cores::are_enough(control, &control.local_pes(), 1) {
        true => SPINS,
        false => 0,
    }
}

thread_local! {
    /// The flag that ends the waits of this thread, if it runs a stream.
    static STOP: PerThread<Option<Arc<AtomicBool>>> = const { PerThread::new() };
    /// The limit of the long wait that this thread is in: its condition may wait, too.
    static OUTER: Cell<Option<(u64, Limit)>> = const { Cell::new(None) };
}

/// A long wait of this thread, for the waits within it.
struct Outer(Option<(u64, Limit)>);

impl Outer {
    fn new(until: Option<(u64, Limit)>) -> Outer {
        Outer(OUTER.replace(until))
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        OUTER.set(self.0);
    }
}

/// Makes this thread run a stream; `stop` ends its waits.
pub(crate) fn run_stream(stop: Arc<AtomicBool>) {
    per_thread::keep(&STOP, Some(stop));
}

/// Whether this thread runs a stream.
pub fn on_stream() -> bool {
    per_thread::with(&STOP, |stop| stop.is_some())
}

fn stopped() -> bool {
    per_thread::with(&STOP, |own| {
        own.as_ref().is_some_and(|stop| stop.load(Acquire))
    })
}

/// Whether this thread runs the stream whose waits `stop` ends.
pub(crate) fn runs(stop: &Arc<AtomicBool>) -> bool {
    per_thread::with(&STOP, |own| {
        own.as_ref().is_some_and(|own| Arc::ptr_eq(own, stop))
    })
}

/// How long to sleep after a sleep of `before`, in a wait that has taken `waited`. `rung`: the writer rings the doorbell.
fn next_nap(rung: bool, before: Duration, waited: Duration) -> Duration {
    match rung {
        true => (before * 2).min(NAP),
        false => (waited / NAP_PART).clamp(FIRST_NAP, NAP),
    }
}

impl Inner {
    /// An error if a member that has not arrived has called finalize, and so never will.
    fn check_members(&self, operation: Operation, team: &TeamState, epoch: u64) -> Result<()> {
        let members = team.members();
        for pe in (0..members.n_pes).map(|member| members.pe(member)) {
            let block = self.control.pe(pe);
            let state = State::from_number(block.state.load(Acquire));
            let slot = self.control.slot(team.row, pe, epoch);
            // From another host its arrival may come after the word that it finalizes.
            let last = self.control.block(team.row, pe).last.load(Acquire);
            let arrived = slot.epoch.load(Acquire).max(last) >= epoch;
            if !arrived && matches!(state, State::Finalizing | State::Finalized) {
                return Err(Error::PeDied {
                    pe,
                    pid: pid_of(&self.control, pe),
                    how: "has called finalize",
                    place: board::on_host(&self.control, pe),
                    operation: operation.name(),
                    me: self.my_pe,
                });
            }
        }
        Ok(())
    }

    /// Waits until `ready` returns a value; otherwise it returns its last observation, for the board.
    #[inline]
    pub(crate) fn wait<T, S: Into<Seen>>(
        &self,
        wait: Wait,
        mut ready: impl FnMut() -> std::result::Result<T, S>,
    ) -> Result<T> {
        if let Ok(value) = ready() {
            return Ok(value);
        }
        let remote = self.reaches_out(&wait);
        for spin in 0..self.spins_for(&wait) {
            std::hint::spin_loop();
            if let Ok(value) = ready() {
                return Ok(value);
            }
            if remote && spin % PROGRESS_EVERY == 0 {
                self.transport.progress();
            }
        }
        let mut found = None;
        loop {
            // Compiled once: the code before it is small enough to be compiled with each kind of wait.
            self.wait_long(wait, &mut || match ready() {
                Ok(value) => {
                    found = Some(value);
                    Ok(())
                }
                Err(seen) => Err(seen.into()),
            })?;
            if let Some(value) = found.take() {
                return Ok(value);
            }
        }
    }

    /// Waits until a stream or an event of the GPU is complete.
    pub(crate) fn wait_until_done(
        &self,
        operation: Operation,
        done: &dyn Fn() -> Result<bool>,
    ) -> Result<()> {
        let target = Target::Stream { goal: 0 };
        self.wait_for(Wait { operation, target }, done)
    }

    /// Waits until `done` returns true or an error. It may be called again after that.
    pub(crate) fn wait_for(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        self.wait(wait, || match done() {
            Ok(true) => Ok(Ok(())),
            Ok(false) => Err(0_u64),
            Err(error) => Ok(Err(error)),
        })??;
        match wait.target {
            Target::Stream { .. } => self.check_running(wait.operation),
            _ => Ok(()),
        }
    }

    /// The number of checks before the wait counts as long.
    #[inline]
    fn spins_for(&self, wait: &Wait) -> u32 {
        match (wait.target, self.transport.internal().polling_is_slow()) {
            // A look at a word of device memory is a copy, which takes as long as a thousand looks at a word of the host's.
            (
                Target::Word { .. } | Target::Stream { .. } | Target::Device | Target::Share { .. },
                true,
            ) => 0,
            _ => self.spins.load(Relaxed),
        }
    }

    /// Whether the wait polls the network. A wait for local PEs leaves that to the progress thread at first.
    #[inline]
    fn reaches_out(&self, wait: &Wait) -> bool {
        match (self.control.remote(), wait.target) {
            (None, _) => false,
            (Some(remote), Target::Team { index, .. }) => {
                !self.team_state(index).is_on_one_host(remote.hosts())
            }
            (Some(_), _) => true,
        }
    }

    /// The rest of a long wait.
    #[cold]
    #[inline(never)]
    fn wait_long(
        &self,
        wait: Wait,
        mut ready: &mut dyn FnMut() -> std::result::Result<(), Seen>,
    ) -> Result<()> {
        let (start, start_ns) = (Instant::now(), now_ns());
        let remote = self.reaches_out(&wait) && self.spins_for(&wait) > 0;
        while start.elapsed() < YIELD_FOR {
            for look in 1..=16 {
                if ready().is_ok() {
                    return Ok(());
                }
                self.transport.progress();
                // Another host may answer while this thread is in the kernel.
                if !remote || look % YIELD_EVERY == 0 {
                    rustix::thread::sched_yield();
                }
            }
        }
        let limit = self.limit(wait.operation, start_ns);
        let until = |(after, limit): (Duration, Limit)| {
            (start_ns.saturating_add(after.as_nanos() as u64), limit)
        };
        let _outer = Outer::new(limit.map(until));
        let published = Published::new(&self.control, self.my_pe, &wait, start_ns, limit);
        let interrupted = |seen: Seen| Error::Interrupted {
            operation: wait.operation.name(),
            me: self.my_pe,
            waited: start.elapsed(),
            detail: board::detail(&self.control, self.my_pe, &wait, seen, start_ns),
        };
        let rung = !self.transport.internal().polling_is_slow();
        let mut nap = FIRST_NAP;
        let mut hook_at = HOOK_EVERY;
        let mut line_at = Some(self.line_after());
        let mut named = false;
        loop {
            let Err(seen) = ready() else {
                return Ok(());
            };
            if let Some(slot) = published.slot {
                shared_words::publish_seen(slot, seen.element, seen.actual);
            }
            // First, so that an error which a look of this thread has noted is not reported again later.
            self.transport.internal().failure()?;
            match wait.target {
                // No other PE is waited for: operations on the GPU that wait for other PEs are told to end.
                Target::Device => {}
                _ => {
                    self.check_job(wait.operation)?;
                    stops::check(&self.control, self.my_pe, wait.operation)?;
                }
            }
            match wait.target {
                Target::Stream { .. } => self.check_stream_teams(wait.operation)?,
                // Over all PEs.
                Target::Share { .. } => self.check_team(wait.operation, self.team_state(0))?,
                _ => {}
            }
            let waited = start.elapsed();
            if let Target::Team { index, epoch } = wait.target {
                let team = self.team_state(index);
                self.check_team(wait.operation, team)?;
                if let Err(error) = self.check_members(wait.operation, team, epoch) {
                    // The last one may have arrived, and finalized, since `ready` was asked.
                    return ready().map_err(|_| error);
                }
            }
            if self.interrupted.load(Acquire) || stopped() {
                return Err(interrupted(seen));
            }
            if let Some((after, limit)) = limit
                && waited >= after
            {
                return Err(Error::Timeout {
                    operation: wait.operation.name(),
                    me: self.my_pe,
                    waited,
                    variable: limit.name(),
                    detail: board::detail(&self.control, self.my_pe, &wait, seen, start_ns),
                });
            }
            if line_at.is_some_and(|at| waited >= at) {
                line_at = None;
                self.publish_line(&published, &wait);
            }
            if !named && waited >= NAMED_AFTER {
                named = true;
                if let Some(name) = CodeAddress::standard_name() {
                    publish_called_name(&self.control, self.my_pe, &published, &name);
                }
            }
            self.transport.progress();
            let signalled = self.sleep(&wait, nap, &mut ready) == Err(Errno::INTR);
            nap = next_nap(rung, nap, waited);
            // The checker's own waits call no hook: it might call an operation, which takes the locks that this thread holds.
            let hooked = wait.operation != Operation::Check;
            if hooked && (signalled || waited >= hook_at) {
                hook_at = waited + HOOK_EVERY;
                let hook = crate::lock::lock(&self.hook).clone();
                if hook.is_some_and(|hook| call_hook(&*hook)) {
                    // A look before the sleep may have given up: its error is returned here.
                    let _ = self.transport.internal().failure();
                    return Err(interrupted(seen));
                }
            }
        }
    }

    /// How long a wait of this thread that began at `since_ns` may last, and the source of that limit.
    fn limit(&self, operation: Operation, since_ns: u64) -> Option<(Duration, Limit)> {
        // The checker waits for its tracker beyond the program's deadline: a call that fails ends the check.
        if operation == Operation::Check {
            return self.limits.timeout();
        }
        let own = match (operation, deadline::until()) {
            (Operation::Init, _) => Some(self.limits.of_init(since_ns)),
            (_, Some(until)) => {
                let left = Duration::from_nanos(until.saturating_sub(since_ns));
                Some((left, Limit::Deadline))
            }
            _ => self.limits.timeout(),
        };
        let outer = OUTER.get().map(|(until, limit)| {
            let left = Duration::from_nanos(until.saturating_sub(since_ns));
            (left, limit)
        });
        [own, outer]
            .into_iter()
            .flatten()
            .min_by_key(|limit| limit.0)
    }

    /// Sleeps until the doorbell rings, `nap` has passed or a signal handler has run.
    fn sleep<T, S>(
        &self,
        wait: &Wait,
        nap: Duration,
        ready: &mut impl FnMut() -> std::result::Result<T, S>,
    ) -> std::result::Result<(), Errno> {
        let bell = &self.control.pe(self.my_pe).bell;
        let header = self.control.header();
        let sleepers = match wait.target {
            Target::Word { .. } => &header.word_sleepers,
            Target::Team { .. }
            | Target::Join { .. }
            | Target::Stream { .. }
            | Target::Device
            | Target::Share { .. }
            | Target::Remote { .. }
            | Target::Job => &header.team_sleepers,
        };
        let rings = bell.rings.load(Acquire);
        shared_words::add_sleeper(bell, sleepers);
        // A PE that makes this ready from here on sees a sleeper and rings. An update that races with these lines may miss
        // it, which costs the rest of the nap.
        let result = match ready() {
            Ok(_) => Ok(()),
            Err(_) => {
                let timeout = rustix::time::Timespec {
                    tv_sec: 0,
                    tv_nsec: nap.subsec_nanos().into(),
                };
                shared_words::await_ring(bell, rings, &timeout)
            }
        };
        shared_words::remove_sleeper(bell, sleepers);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait without a wake-up ends late by no more than a twentieth of its time, but it does not keep the CPU busy.
    #[test]
    fn naps_are_a_part_of_the_time_waited_where_no_bell_is_rung() {
        for waited in [1, 2, 5, 10, 15].map(Duration::from_millis) {
            let nap = next_nap(false, FIRST_NAP, waited);
            assert!(
                nap <= waited / 20 && nap >= FIRST_NAP,
                "{waited:?}: {nap:?}"
            );
        }
        let long = next_nap(false, FIRST_NAP, Duration::from_secs(100));
        assert_eq!(long, NAP);
        let mut nap = FIRST_NAP;
        for _ in 0..5 {
            nap = next_nap(true, nap, Duration::ZERO);
        }
        assert_eq!(nap, NAP);
    }
}
