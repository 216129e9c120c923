//! The progress thread of an endpoint, and the end of the endpoint.

use super::{CLOSE, Endpoint, HOT_LARGE_NS, HOT_NS, LAST_LOOK, LEAVE, LOOK};
use crate::clock::now_ns;
use crate::heartbeat::Heartbeat;
use crate::job::state::State;
use crate::job::{cores, fork, remote, signals};
use crate::lock::lock;
use crate::{Error, Pe, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Backoff between two checks whether another thread still makes progress. The shared cache lines move from core to
/// core: with checks every few microseconds, a barrier took twice as long on 16 cores.
const BACKOFF: Duration = Duration::from_micros(30);
/// Spins between two reads of the clock.
const SPINS: u32 = 20;

/// After how many empty polls, some 10 us, a thread yields even if it has a core of its own. Messages that arrive meanwhile wait.
const YIELD_EVERY: u32 = 64;

impl Endpoint {
    /// Starts the thread.
    pub(crate) fn start(self: &Arc<Endpoint>) -> Result<()> {
        let endpoint = Arc::clone(self);
        let builder = std::thread::Builder::new()
            .name("nvshmemrs-net".into())
            .stack_size(256 << 10);
        let thread = signals::spawn(builder, move || endpoint.run());
        let thread = thread.map_err(|error| Error::system("starting the network thread", error))?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    fn run(&self) {
        let mut heartbeat = Heartbeat::new();
        let (mut looked, mut last, mut nap) = (0, now_ns(), Duration::ZERO);
        let (mut polls, mut has_core, mut looks) = (0, false, 0_u32);
        while !self.stop.load(Acquire) {
            let now = now_ns();
            if now.saturating_sub(looked) >= LOOK.as_nanos() as u64 {
                looked = now;
                // The other PEs may have come meanwhile.
                has_core = cores::are_enough(&self.control, self.hosts.sharing_cores(), 2);
                for pe in heartbeat.beat(&self.control, &self.remote_hosts) {
                    self.lost(pe);
                }
            }
            let before = std::mem::replace(&mut polls, self.polls.load(Relaxed));
            // A thread that sleeps in a wait makes progress once whenever it wakes, and no more.
            if polls.wrapping_sub(before) > 1 {
                match has_core {
                    true => self.watch(),
                    false => std::thread::park_timeout(LOOK),
                }
            }
            let has_transfers = self.has_transfers.load(Relaxed);
            let hot = if has_transfers { HOT_LARGE_NS } else { HOT_NS };
            if self.drive() {
                (last, nap) = (now_ns(), Duration::ZERO);
            } else if now.saturating_sub(last) >= hot {
                nap = (nap * 2).clamp(Duration::from_micros(20), LAST_LOOK);
                std::thread::park_timeout(nap);
            } else {
                looks += 1;
                if !has_core || has_transfers || looks % YIELD_EVERY == 0 {
                    rustix::thread::sched_yield();
                }
            }
        }
    }

    /// Stays idle while another thread makes progress, but no longer than [`LOOK`].
    fn watch(&self) {
        let since = now_ns();
        let mut polls = self.polls.load(Relaxed);
        while now_ns().saturating_sub(since) < LOOK.as_nanos() as u64 {
            let turn = now_ns();
            while now_ns().saturating_sub(turn) < BACKOFF.as_nanos() as u64 {
                (0..SPINS).for_each(|_| std::hint::spin_loop());
            }
            rustix::thread::sched_yield();
            let before = std::mem::replace(&mut polls, self.polls.load(Relaxed));
            if polls == before {
                return;
            }
        }
    }

    /// The PE has left the job: sends its last messages, then closes the wire. A PE that has `finalized` serves its host until all PEs
    /// there have finalized, and the PEs that call its service until they have left.
    pub(crate) fn disconnect(&self, finalized: bool) {
        if self.fork_generation != fork::generation() {
            // A forked child: the thread and the wire are the parent's.
            return;
        }
        let ends = |pe: &Pe| {
            let state = remote::state(self.control.pe(*pe));
            !matches!(state, State::Active | State::Finalizing)
        };
        // If not all have met in finalize, it was ended early, and the wait for others is short.
        let met = self.remote_hosts.has_met();
        let limit = if met { 2 * CLOSE } else { LEAVE };
        let since = now_ns();
        while finalized
            && !(self.hosts.local_pes().iter().all(ends) && self.served.all_have_left(ends))
            && now_ns() - since < limit.as_nanos() as u64
        {
            self.drive();
            std::thread::sleep(Duration::from_micros(200));
        }
        self.stop.store(true, Release);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            // It only ends by returning.
            let _ = thread.join();
        }
        if !finalized {
            // A PE that leaves early waits for no other PE, but announces it.
            self.flush_out();
        }
        let mut engine = lock(&self.engine);
        if !engine.closed {
            self.flush(&mut engine);
            engine.closed = true;
            // A PE that is gone, or has not come to finalize, does not close its end.
            let all = self.control.header().gone.load(Acquire) == 0 && met;
            engine.wire.close(match finalized && all {
                true => CLOSE,
                false => Duration::ZERO,
            });
            let tokens = std::mem::take(&mut engine.state.tokens);
            if !tokens.is_empty() {
                // The wire may still use the heap and bounce buffers.
                std::mem::forget(Arc::clone(self.control.segment()));
                std::mem::forget(tokens);
                self.local_heap.keep_pinned();
            }
        }
    }
}
