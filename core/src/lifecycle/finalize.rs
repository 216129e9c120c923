//! The end of a PE's membership: finalize, with the others, or leaving without them.

use crate::debug::Level;
use crate::job::exit_registry::Progress;
use crate::job::published::{Target, Wait};
use crate::job::state::State;
use crate::job::{doorbell, liveness};
use crate::operation::Operation;
use crate::runtime::{ENDED, Inner, LEFT};
use crate::sites::inside::write;
use crate::{Error, Result, Runtime};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

/// How long finalize waits until the waits of other threads have ended.
const WAITS_END: Duration = Duration::from_secs(1);

impl Inner {
    fn finalize(&self) -> Result<()> {
        self.ready()?;
        let mut drained = Ok(());
        for stream in self.live_streams() {
            stream.close();
            drained = drained.and(stream.drain(self, Operation::Finalize));
        }
        drained = drained.and(self.transport.any().drain());
        let threads = std::mem::take(&mut *self.dropped_streams());
        if drained.is_ok() {
            for thread in threads {
                // Its queue is closed and empty, so it is about to return.
                let _ = thread.join();
            }
        }
        let completed = self.complete_earlier(Operation::Finalize);
        let report = self.publish_unfreed();
        // Before the others learn of it: the record has begun when they return.
        let span = self.span_of_job(Operation::Finalize);
        self.state(State::Finalizing);
        doorbell::ring_everyone(&self.control);
        let wait = Wait {
            operation: Operation::Finalize,
            target: Target::Job,
        };
        let result = self.wait_for_all(wait, State::Finalizing);
        drop(span);
        if let (Some(remote), Ok(())) = (self.control.remote(), &result) {
            remote.set_met();
        }
        if let Some(report) = report {
            self.write_unfreed(&report, result.is_ok());
        }
        let checked = self.check_findings();
        let kernels = self.check_kernels();
        if let Some(registry) = &self.registry {
            registry.set_part(Progress::Finalized);
        }
        self.end_waits();
        self.end(State::Finalized);
        if let Some(trace) = &self.trace {
            trace.close();
            // Where a PE is missing, the launcher merges, or the user does.
            if result.is_ok()
                && let Some(line) = trace.merge()
            {
                write(&line);
            }
        }
        self.debug.write(Level::Info, self.my_pe, || match &result {
            Ok(()) => "finalized".to_string(),
            Err(error) => format!("finalized, but {error}"),
        });
        drained.and(completed).and(result).and(checked).and(kernels)
    }

    /// Waits until all PEs have reached a state, and disseminates the state meanwhile.
    pub(super) fn wait_for_all(&self, wait: Wait, state: State) -> Result<()> {
        let mut dissemination = self
            .control
            .remote()
            .map(|remote| remote.disseminate(state));
        self.wait(wait, || {
            let all = liveness::all_are(&self.control, state);
            // After the look: the last one to come is told on, too.
            if let Some(dissemination) = &mut dissemination {
                dissemination.advance(&self.control);
            }
            all
        })
    }

    /// An error if the checker has findings on any PE in finalize.
    fn check_findings(&self) -> Result<()> {
        let Some(observer) = self.transport.observer() else {
            return Ok(());
        };
        if let Some(summary) = observer.summary() {
            write(&summary);
        }
        match observer.findings() {
            (_, 0) => Ok(()),
            (own, found) => Err(Error::CheckFailed {
                found,
                own,
                me: self.my_pe,
            }),
        }
    }

    /// Ends the long waits of this PE's other threads, so that none reads memory that is freed: a process may end while they wait.
    fn end_waits(&self) {
        let block = self.control.pe(self.my_pe);
        let waits = || block.waits.iter().any(|slot| slot.id.load(Acquire) != 0);
        if !waits() {
            return;
        }
        self.interrupted.store(true, Release);
        let start = Instant::now();
        while waits() && start.elapsed() < WAITS_END {
            doorbell::ring_everyone(&self.control);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn end(&self, state: State) {
        let live = match state {
            State::Left => LEFT,
            _ => ENDED,
        };
        self.live.store(live, Release);
        for stream in self.live_streams() {
            stream.abandon();
        }
        if let Some(observer) = self.transport.observer() {
            observer.stop();
        }
        if state == State::Left {
            // A PE that sees its own kernel ended sees the reason.
            liveness::mark_gone(&self.control, self.my_pe, state);
        }
        if let Some(warning) = self.transport.any().leave(state == State::Left) {
            self.debug.write(Level::Warn, self.my_pe, || warning);
        }
        self.forget_buffers();
        self.forget_static_data();
        if state != State::Left {
            self.state(state);
        }
        self.transport.any().disconnect(state != State::Left);
        let watchdog = crate::lock::lock(&self.watchdog).take();
        if let Some(watchdog) = watchdog {
            watchdog.stop();
        }
        drop(crate::lock::lock(&self.held).take());
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Arrays may outlive the runtime; the PE's membership must not.
        self.leave();
    }
}

impl Inner {
    /// Ends all processes of the job: this one at once.
    pub(crate) fn exit_all(&self, status: i32) -> ! {
        if let Some(registry) = &self.registry {
            registry.set_part(Progress::Finalized);
        }
        liveness::exit_all(&self.control, self.my_pe, status)
    }
}

impl Runtime {
    /// Leaves the job: completes outstanding operations, then waits for the other PEs. The runtime has ended afterwards, also
    /// when the result is an error.
    ///
    /// Collective over WORLD. OpenSHMEM 1.5 section 9.1.4.
    pub fn finalize(self) -> Result<()> {
        self.finalize_in_place()
    }

    /// As [`finalize`](Runtime::finalize), for a value that a signal handler must be able to [`interrupt`](Runtime::interrupt)
    /// meanwhile. One thread may call it, once.
    pub fn finalize_in_place(&self) -> Result<()> {
        if !self.member {
            return Err(Error::OnStream("`finalize`"));
        }
        self.inner.finalize()
    }

    /// Ends all processes of the job with `status`, of which a process keeps 8 bits: this one at once, the others within a second,
    /// at any point of their programs. Output in C streams is written; functions of `atexit` and destructors do not run.
    ///
    /// One-sided; any thread may call it. OpenSHMEM 1.5 section 9.1.5.
    pub fn global_exit(&self, status: i32) -> Result<std::convert::Infallible> {
        self.inner.ready()?;
        self.inner.exit_all(status)
    }

    /// Leaves the job without the other PEs, which get an error, as by dropping the runtime. Waits of this PE's own other threads end,
    /// too. Local; never waits for other PEs.
    pub fn leave(&self) {
        if self.member && self.inner.ready().is_ok() {
            self.inner.end(State::Left);
        }
    }
}
