//! The watchdog thread, which notices PEs of other processes that end without finalize, or are stopped (see [`stops`](super::stops)), and
//! the marks of PEs that are gone.
//!
//! Each process tests the lock of the next live PE often, and all locks seldom. So a death is noticed quickly, also when several PEs die at
//! once, and the cost does not grow with the square of the PEs. A PE is gone when its lock was free twice in a row; in between, a live PE
//! takes its lock again, if the program has closed a descriptor of the file.
//!
//! An observer may wake the thread between two rounds: then it writes the PE's status file (see [`status_file`](super::status_file)),
//! independent of the PE's other threads.

use super::block::Control;
use super::locks::Holder;
use super::state::State;
use super::stops::Stops;
use super::{doorbell, locks, machine, process, shared_words, signals};
use crate::{Error, Pe, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval between two tests of the next PE.
const EVERY: Duration = Duration::from_millis(50);
/// The number of such tests between two tests of all PEs.
const ALL_EVERY: u32 = 10;
/// The time until a lock that was free is tested again.
const AGAIN_AFTER: Duration = Duration::from_millis(75);

/// How long the end of the thread is waited for before it is woken again.
const STOP_AGAIN: Duration = Duration::from_micros(50);

/// A further task of the thread: in each round, or on each request.
pub type WatchdogTask = Box<dyn FnMut() + Send>;

/// Marks `pe` as gone for all PEs. A PE that ends inside finalize keeps its state: PEs that only wait for its arrival there
/// continue.
pub fn mark_gone(control: &Control, pe: Pe, state: State) {
    let block = control.pe(pe);
    let was_active = shared_words::end_active(block, state);
    let header = control.header();
    let finalizing = block.state.load(Acquire) == State::Finalizing as u32;
    if was_active || (finalizing && header.gone.load(Acquire) == 0) {
        if let Some(remote) = control.remote() {
            // First, because a PE that learns of it here may end its process at once.
            shared_words::set_first_gone(header, pe);
            remote.announce_gone(control, pe, state);
        }
        shared_words::count_gone(header, pe);
        doorbell::ring_everyone(control);
    }
}

/// Asks every process of the job to exit with `status`, this one included.
pub fn exit_all(control: &Control, me: Pe, status: i32) -> ! {
    // A process exits with 8 bits of its status.
    let status = status & 0xff;
    shared_words::set_exit(control.header(), status as u32 + 1);
    mark_gone(control, me, State::Left);
    process::exit(status)
}

/// `Ok` once every PE is at least in `state`; otherwise the number of PEs that are.
#[inline]
pub fn all_are(control: &Control, state: State) -> std::result::Result<(), u64> {
    let n_pes = control.n_pes();
    let there = (0..n_pes)
        .filter(|&pe| control.pe(pe).state.load(Acquire) >= state as u32)
        .filter(|&pe| control.pe(pe).state.load(Acquire) <= State::Finalized as u32)
        .count();
    if there == n_pes as usize {
        Ok(())
    } else {
        Err(there as u64)
    }
}

/// The watchdog thread.
pub struct Watchdog {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    control: Control,
    me: Pe,
}

/// Further tasks of the thread.
pub struct WatchdogTasks {
    /// In each round.
    pub chore: Option<WatchdogTask>,
    /// On each request of an observer.
    pub answer: WatchdogTask,
    /// Once, when a PE is gone.
    pub gone: Option<WatchdogTask>,
}

impl Watchdog {
    /// Starts watching on behalf of PE `me`; a PE may be stopped for `stop_timeout`.
    pub fn start(
        control: Control,
        me: Pe,
        stop_timeout: Option<Duration>,
        tasks: WatchdogTasks,
    ) -> Result<Watchdog> {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            control: control.clone(),
            me,
            tasks,
            stop: Arc::clone(&stop),
        };
        let builder = std::thread::Builder::new()
            .name("nvshmemrs-watch".into())
            .stack_size(256 << 10);
        let thread = signals::spawn(builder, move || {
            let mut watch = watch;
            watch.run(Stops::new(stop_timeout));
        })
        .map_err(|error| Error::system("starting the watchdog thread", error))?;
        Ok(Watchdog {
            stop,
            thread,
            control,
            me,
        })
    }

    /// Ends the thread.
    pub fn stop(self) {
        self.stop.store(true, Release);
        while !self.thread.is_finished() {
            // It may have been about to sleep, and then it would sleep on.
            shared_words::wake_watchdog(self.control.pe(self.me));
            std::thread::sleep(STOP_AGAIN);
        }
        // It only ends by returning.
        let _ = self.thread.join();
    }
}

/// The state of the thread.
struct Watch {
    control: Control,
    me: Pe,
    tasks: WatchdogTasks,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// Sleeps for a time, and answers requests meanwhile. False: the thread must end.
    fn sleep(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let asked = shared_words::await_wake(self.control.pe(self.me), left);
            if self.stop.load(Acquire) {
                return false;
            }
            if asked {
                (self.tasks.answer)();
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    /// Runs the task for a PE that is gone, once.
    fn run_gone_task(&mut self) {
        if self.control.header().gone.load(Acquire) != 0
            && let Some(mut gone) = self.tasks.gone.take()
        {
            gone();
        }
        process::exit_if_asked(&self.control);
    }

    fn run(&mut self, mut stops: Stops) {
        let (control, me) = (self.control.clone(), self.me);
        // Those of other hosts are watched by the PEs there.
        let local = control.local_pes();
        let place = local.iter().take_while(|&&pe| pe != me).count();
        let mut round = 0;
        while self.sleep(EVERY) {
            round += 1;
            self.run_gone_task();
            if let Some(chore) = &mut self.tasks.chore {
                chore();
            }
            stops.tick(&control, me);
            if locks::hold(control.segment(), me).is_err() {
                // The program has closed the descriptor, and the lock with it: nobody would notice the end of this PE.
                mark_gone(&control, me, State::Left);
                self.run_gone_task();
            }
            let others = (1..local.len())
                .map(|step| local[(place + step) % local.len()])
                .filter(|&pe| is_watched(&control, pe));
            let count = if round % ALL_EVERY == 0 {
                local.len()
            } else {
                1
            };
            let missed: Vec<Pe> = others
                .take(count)
                .enumerate()
                .filter(|&(step, pe)| match locks::holder(control.segment(), pe) {
                    Holder::Nobody => true,
                    Holder::Other(pid) => {
                        // Reading /proc costs too much to do it for all PEs; each has somebody whose next one it is.
                        if step == 0 {
                            stops.look(&control, pe, pid);
                        }
                        false
                    }
                    Holder::Unknown => false,
                })
                .map(|(_, pe)| pe)
                .collect();
            if missed.is_empty() {
                continue;
            }
            if !self.sleep(AGAIN_AFTER) {
                return;
            }
            for pe in missed {
                // It may have finalized between the two looks.
                let held = locks::holder(control.segment(), pe);
                if is_watched(&control, pe) && held == Holder::Nobody {
                    mark_gone(&control, pe, State::Dead);
                    self.run_gone_task();
                }
            }
        }
    }
}

/// Whether the end of a PE would matter.
fn is_watched(control: &Control, pe: Pe) -> bool {
    let block = control.pe(pe);
    let state = State::from_number(block.state.load(Acquire));
    let own = block.process.load(Relaxed) == machine::process_token();
    matches!(state, State::Active | State::Finalizing) && !own
}
