//! The one place that waits.
//!
//! A wait spins while the PEs fit the cores, yields at once when they do not, and after a millisecond sleeps on its PE's
//! doorbell, a futex, for at most 1 ms at a time (plain stores ring no bell). From then on it is published on the board
//! (see [`crate::board`]), so a wait that ends quickly costs nothing more.
//!
//! A wait ends with an error when a PE is gone, when its deadline has passed, or when it is interrupted.

use crate::board::State;
use crate::op::Cmp;
use crate::runtime::Inner;
use crate::transport::host::control::{Control, PeBlock, WAIT_SLOTS, WaitSlot};
use crate::{Error, Pe, Result};
use rustix::io::Errno;
use rustix::thread::futex;
use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

/// Pauses before the first yield, where every PE has a core of its own.
const SPINS: u32 = 2000;
/// How long a wait yields before it sleeps.
const YIELD_FOR: Duration = Duration::from_millis(1);
/// The longest sleep at a time.
const NAP: Duration = Duration::from_millis(1);
/// How often a sleeping wait calls the interrupt hook.
const HOOK_EVERY: Duration = Duration::from_millis(50);

/// An operation that can wait, by the number it has on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    Init = 1,
    Finalize = 2,
    Malloc = 3,
    Free = 4,
    Barrier = 5,
    Sync = 6,
    Broadcast = 7,
    Reduce = 8,
    SignalWait = 9,
    Check = 10,
}

impl Operation {
    const ALL: [Operation; 10] = [
        Operation::Init,
        Operation::Finalize,
        Operation::Malloc,
        Operation::Free,
        Operation::Barrier,
        Operation::Sync,
        Operation::Broadcast,
        Operation::Reduce,
        Operation::SignalWait,
        Operation::Check,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Init => "init",
            Operation::Finalize => "finalize",
            Operation::Malloc => "malloc",
            Operation::Free => "free",
            Operation::Barrier => "barrier",
            Operation::Sync => "sync",
            Operation::Broadcast => "broadcast",
            Operation::Reduce => "reduce",
            Operation::SignalWait => "signal_wait",
            Operation::Check => "runtime_check",
        }
    }

    pub(crate) fn from_number(number: u32) -> Option<Operation> {
        Self::ALL
            .into_iter()
            .find(|operation| *operation as u32 == number)
    }
}

/// What a wait waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// The members of a team, to arrive in an epoch.
    Team { index: u32, epoch: u64 },
    /// A word of this PE's symmetric memory.
    Word {
        offset: u64,
        cmp: Cmp,
        expected: u64,
    },
    /// Every PE, to join or to finalize.
    Job,
}

/// A wait, as the board shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) operation: Operation,
    pub(crate) target: Target,
}

/// The monotonic clock in ns, which all processes of a host share.
pub(crate) fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How many pauses a wait makes before it yields: none when PEs share cores.
pub(crate) fn spins(control: &Control) -> u32 {
    let mut cpus = [0u64; crate::transport::host::control::CPU_WORDS];
    for pe in 0..control.n_pes() {
        for (all, one) in cpus.iter_mut().zip(&control.pe(pe).cpus) {
            *all |= one.load(Relaxed);
        }
    }
    let cores: u32 = cpus.iter().map(|word| word.count_ones()).sum();
    if control.n_pes() as u32 <= cores {
        SPINS
    } else {
        0
    }
}

/// Publishes the CPUs that this thread may run on.
pub(crate) fn publish_cpus(block: &PeBlock) {
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        for (index, word) in block.cpus.iter().enumerate() {
            let bits = (0..64)
                .filter(|bit| index * 64 + bit < rustix::thread::CpuSet::MAX_CPU)
                .filter(|bit| set.is_set(index * 64 + bit))
                .fold(0u64, |bits, bit| bits | 1 << bit);
            word.store(bits, Relaxed);
        }
    }
}

/// Wakes the threads of `pe` that sleep until the word at `offset` changes.
#[inline(always)]
pub(crate) fn ring_word(control: &Control, pe: Pe, offset: u64) {
    // One line for all PEs, which nobody writes while nobody sleeps.
    if control.header().word_sleepers.load(Relaxed) != 0 {
        wake_word(control, pe, offset);
    }
}

#[cold]
fn wake_word(control: &Control, pe: Pe, offset: u64) {
    let waited_for = |slot: &WaitSlot| {
        slot.id.load(Acquire) != 0
            && slot.cmp.load(Relaxed) != 0
            && slot.offset.load(Relaxed) == offset
    };
    // A wait that found no slot sleeps out its nap.
    if control.pe(pe).waits.iter().any(waited_for) {
        wake(control, pe);
    }
}

/// Wakes every PE that sleeps until others arrive.
#[inline(always)]
pub(crate) fn ring_team(control: &Control) {
    if control.header().team_sleepers.load(Relaxed) != 0 {
        ring_everyone(control);
    }
}

/// Wakes every PE that sleeps.
#[cold]
pub(crate) fn ring_everyone(control: &Control) {
    for pe in 0..control.n_pes() {
        wake(control, pe);
    }
}

fn wake(control: &Control, pe: Pe) {
    let bell = &control.pe(pe).bell;
    if bell.sleepers.load(Relaxed) != 0 {
        bell.rings.fetch_add(1, Release);
        // A failed wake costs the sleeper the rest of its nap.
        let _ = futex::wake(&bell.rings, futex::Flags::empty(), i32::MAX as u32);
    }
}

/// A wait's entry on the board, for as long as the value lives.
struct Published<'a> {
    block: &'a PeBlock,
    slot: Option<&'a WaitSlot>,
}

impl<'a> Published<'a> {
    fn new(control: &'a Control, me: Pe, wait: &Wait, since_ns: u64) -> Published<'a> {
        let block = control.pe(me);
        let id = control.header().wait_ids.fetch_add(1, Relaxed) + 1;
        // A PE with more waiting threads than slots shows the first ones.
        let slot = (0..WAIT_SLOTS)
            .map(|index| &block.waits[index])
            .find(|slot| {
                slot.id.load(Relaxed) == 0
                    && slot
                        .id
                        .compare_exchange(0, u64::MAX, AcqRel, Relaxed)
                        .is_ok()
            });
        if let Some(slot) = slot {
            let (team, epoch, offset, cmp, expected) = match wait.target {
                Target::Team { index, epoch } => (index + 1, epoch, 0, 0, 0),
                Target::Word {
                    offset,
                    cmp,
                    expected,
                } => (0, 0, offset, cmp as u32 + 1, expected),
                Target::Job => (0, 0, 0, 0, 0),
            };
            slot.operation.store(wait.operation as u32, Relaxed);
            slot.thread.store(
                rustix::thread::gettid().as_raw_nonzero().get() as u32,
                Relaxed,
            );
            slot.team.store(team, Relaxed);
            slot.epoch.store(epoch, Relaxed);
            slot.offset.store(offset, Relaxed);
            slot.cmp.store(cmp, Relaxed);
            slot.expected.store(expected, Relaxed);
            slot.since.store(since_ns, Relaxed);
            slot.id.store(id, Release);
        }
        Published { block, slot }
    }
}

impl Drop for Published<'_> {
    fn drop(&mut self) {
        self.block.progress.fetch_add(1, Relaxed);
        if let Some(slot) = self.slot {
            slot.id.store(0, Release);
        }
    }
}

thread_local! {
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside an interrupt hook, hence inside a wait.
pub fn in_interrupt_hook() -> bool {
    IN_HOOK.get()
}

fn call_hook(hook: &dyn Fn() -> bool) -> bool {
    let before = IN_HOOK.replace(true);
    let answer = hook();
    IN_HOOK.set(before);
    answer
}

impl Inner {
    /// An error if a member that has not arrived has called finalize, and so never will.
    fn check_members(&self, operation: Operation, index: u32, epoch: u64) -> Result<()> {
        for pe in 0..self.n_pes {
            let block = self.control.pe(pe);
            let state = State::from_number(block.state.load(Acquire));
            let arrived = self
                .control
                .slot(index.into(), pe, epoch)
                .epoch
                .load(Acquire)
                == epoch;
            if !arrived && matches!(state, State::Finalizing | State::Finalized) {
                return Err(Error::PeDied {
                    pe,
                    pid: block.pid.load(Relaxed),
                    how: "has called finalize",
                    operation: operation.name(),
                    me: self.my_pe,
                });
            }
        }
        Ok(())
    }

    /// Waits until `ready` gives a value; it gives what it sees otherwise, for the board.
    #[inline]
    pub(crate) fn wait<T>(
        &self,
        wait: Wait,
        mut ready: impl FnMut() -> std::result::Result<T, u64>,
    ) -> Result<T> {
        if let Ok(value) = ready() {
            return Ok(value);
        }
        for _ in 0..self.spins.load(Relaxed) {
            std::hint::spin_loop();
            if let Ok(value) = ready() {
                return Ok(value);
            }
        }
        self.wait_long(wait, ready)
    }

    #[cold]
    #[inline(never)]
    fn wait_long<T>(
        &self,
        wait: Wait,
        mut ready: impl FnMut() -> std::result::Result<T, u64>,
    ) -> Result<T> {
        let (start, start_ns) = (Instant::now(), now_ns());
        while start.elapsed() < YIELD_FOR {
            for _ in 0..16 {
                if let Ok(value) = ready() {
                    return Ok(value);
                }
                rustix::thread::sched_yield();
            }
        }
        let published = Published::new(&self.control, self.my_pe, &wait, start_ns);
        let mut nap = Duration::from_micros(50);
        let mut hook_at = HOOK_EVERY;
        loop {
            let seen = match ready() {
                Ok(value) => return Ok(value),
                Err(seen) => seen,
            };
            if let Some(slot) = published.slot {
                slot.actual.store(seen, Relaxed);
            }
            self.check_job(wait.operation)?;
            let waited = start.elapsed();
            if let Target::Team { index, epoch } = wait.target {
                self.check_team(wait.operation, index)?;
                if let Err(error) = self.check_members(wait.operation, index, epoch) {
                    // The last one may have arrived, and finalized, since `ready` was asked.
                    return ready().map_err(|_| error);
                }
            }
            if self.interrupted.load(Acquire) {
                return Err(Error::Interrupted {
                    operation: wait.operation.name(),
                    me: self.my_pe,
                    waited,
                });
            }
            if let Some((limit, variable)) = self.limit(wait.operation)
                && waited >= limit
            {
                return Err(Error::Timeout {
                    operation: wait.operation.name(),
                    me: self.my_pe,
                    waited,
                    variable,
                    detail: crate::board::detail(&self.control, self.my_pe, &wait, seen),
                });
            }
            let signalled = self.sleep(&wait, nap, &mut ready) == Err(Errno::INTR);
            nap = (nap * 2).min(NAP);
            if signalled || waited >= hook_at {
                hook_at = waited + HOOK_EVERY;
                let hook = self
                    .hook
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner())
                    .clone();
                if hook.is_some_and(|hook| call_hook(&*hook)) {
                    return Err(Error::Interrupted {
                        operation: wait.operation.name(),
                        me: self.my_pe,
                        waited: start.elapsed(),
                    });
                }
            }
        }
    }

    /// The deadline that holds for an operation, and the setting it comes from.
    fn limit(&self, operation: Operation) -> Option<(Duration, &'static str)> {
        match operation {
            Operation::Init => Some((self.init_timeout, "NVSHMEMRS_INIT_TIMEOUT")),
            _ => self.timeout.map(|limit| (limit, "NVSHMEMRS_TIMEOUT")),
        }
    }

    /// Sleeps until the doorbell rings, `nap` has passed or a signal handler has run.
    fn sleep<T>(
        &self,
        wait: &Wait,
        nap: Duration,
        ready: &mut impl FnMut() -> std::result::Result<T, u64>,
    ) -> std::result::Result<(), Errno> {
        let bell = &self.control.pe(self.my_pe).bell;
        let header = self.control.header();
        let sleepers = match wait.target {
            Target::Word { .. } => &header.word_sleepers,
            Target::Team { .. } | Target::Job => &header.team_sleepers,
        };
        let rings = bell.rings.load(Acquire);
        bell.sleepers.fetch_add(1, SeqCst);
        sleepers.fetch_add(1, SeqCst);
        // Whoever makes this ready from here on sees a sleeper and rings. An update that races with these lines may miss
        // it, which costs the rest of the nap.
        let result = match ready() {
            Ok(_) => Ok(()),
            Err(_) => {
                let timeout = rustix::time::Timespec {
                    tv_sec: 0,
                    tv_nsec: nap.subsec_nanos().into(),
                };
                futex::wait(&bell.rings, futex::Flags::empty(), rings, Some(&timeout))
            }
        };
        sleepers.fetch_sub(1, Relaxed);
        bell.sleepers.fetch_sub(1, Relaxed);
        result
    }
}
