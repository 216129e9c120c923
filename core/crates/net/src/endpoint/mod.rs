//! The endpoint of a PE: its send queues, receiving, and the thread that makes progress while the program computes.
//!
//! A request is a record at the end of the target's next message ([`PeerState`]). Messages are sent under the lock of the [`Engine`], so
//! that they leave in order. A thread that has queued a record tries that lock; a thread that unlocks it polls the queues once more, so that
//! no record is left behind. A non-blocking put stays queued until the next send or the next turn of the progress thread. The holder of the
//! engine sends its own answers first, unless records for the same PE are queued already.
//!
//! The records of one PE are performed in the order of their sending, by the thread that holds the engine, with the stores and atomic
//! instructions of the host transport. While the data of a large put is in flight, later records of its sender are deferred, except large
//! puts before the next fence. So fence sends nothing. The sender counts its records, and the receiver returns the count of completed ones
//! when it receives a flush: quiet sends one.

mod bounce_buffers;
mod calls;
mod in_flight;
mod local_heap;
mod progress_thread;
mod receive;
mod send_queue;

use super::message::{self, Kind};
use super::pending::PendingRequests;
use super::wire::{Event, Wire};
use crate::buffer::LocalSource;
use crate::clock::now_ns;
use crate::job::block::Control;
use crate::job::hosts::Hosts;
use crate::job::published::{Target, Wait};
use crate::job::remote::{self, ControlChannel, RemoteHosts};
use crate::job::state::State;
use crate::job::{fork, liveness, shared_words};
use crate::lock::lock;
use crate::operation::Operation;
use crate::transport::Owner;
use crate::{Error, Pe, Result};
pub(super) use bounce_buffers::{BOUNCE_BYTES, BounceBuffer};
use bounce_buffers::{Pool, has_room};
use in_flight::InFlight;
pub(super) use in_flight::{Completion, LargeTransfer};
pub(super) use local_heap::{DeviceTarget, LocalHeap};
use send_queue::{PeSet, PeerState, QueuedPeers};
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Eager limit: the most data that travels in a record. Larger data is a transfer of its own.
const EAGER: usize = 32 << 10;
/// How long after the last message the thread polls without sleeping.
const HOT_NS: u64 = 200_000;
/// The same while large transfers are in flight: MPI may move them in parts, for which both sides must poll.
const HOT_LARGE_NS: u64 = 50_000_000;
/// How often the progress thread polls while another thread makes progress.
const LOOK: Duration = Duration::from_micros(200);
/// The longest time between two polls.
const LAST_LOOK: Duration = Duration::from_micros(500);
/// Polls of a wait before it waits like all other waits.
const LOOKS: u32 = 20;
/// How long the last messages of a PE that leaves early may take.
const LEAVE: Duration = Duration::from_millis(500);
/// How long the others may take to close their ends, too.
const CLOSE: Duration = Duration::from_secs(10);

/// The state of receiving from a PE.
#[derive(Default)]
struct Inbound {
    /// Completed counted records.
    done: u64,
    /// Large puts whose data is in flight.
    large_puts: u32,
    /// Messages deferred until they are complete.
    deferred: VecDeque<Vec<u64>>,
}

/// The wire, and the state that only the holder of its lock uses.
pub(super) struct Engine {
    wire: Box<dyn Wire>,
    state: ReceiveState,
    /// The buffer of the next message to be sent.
    leaving: Vec<u64>,
    closed: bool,
}

/// The state of receiving.
struct ReceiveState {
    inbound: Vec<Inbound>,
    tokens: HashMap<u64, InFlight>,
    begin: Vec<(Pe, LargeTransfer)>,
    lost: Vec<Pe>,
    /// PEs that have called this PE's service before it was offered.
    early_callers: Vec<Pe>,
    /// Answers that are sent after this poll, and the PE that receives them.
    answers: (Pe, Vec<u64>),
}

/// A field that every poll writes, in cache lines of its own: calls to PEs of this host read its neighbours.
#[repr(align(128))]
struct CachePadded<T>(T);

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

pub(super) struct Endpoint {
    pub(super) me: Pe,
    pub(super) local_heap: LocalHeap,
    /// Without the other hosts: writes of this endpoint there are not forwarded.
    control: Control,
    remote_hosts: Arc<RemoteHosts>,
    hosts: Hosts,
    peers: Vec<PeerState>,
    queued: CachePadded<QueuedPeers>,
    engine: CachePadded<Mutex<Engine>>,
    pub(super) pending: PendingRequests,
    /// The first error, and whether there is one.
    error: Mutex<Option<Error>>,
    has_error: AtomicBool,
    pub(super) owner: OnceLock<Arc<dyn Owner>>,
    served: calls::Served,
    /// The most data of a record in bytes, the longest message in words, and the largest tag.
    pub(super) eager: usize,
    longest: usize,
    tags: (AtomicU32, u32),
    /// Bytes of a PE's part that remote PEs may use.
    part_bytes: u64,
    /// Whether large transfers are in flight.
    has_transfers: AtomicBool,
    /// How often a thread other than the endpoint's own has made progress.
    polls: AtomicU64,
    /// The fork generation of the endpoint's process.
    fork_generation: u64,
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The number of incomplete counted records of all PEs, and the PEs that may have some.
    behind: AtomicU64,
    unfinished: PeSet,
    /// The number of large puts, and their number before the last fence.
    large: (AtomicU64, AtomicU64),
    pool: Pool,
}

/// Sends control messages through an endpoint that still exists.
struct EndpointChannel(Weak<Endpoint>);

impl ControlChannel for EndpointChannel {
    fn send(&self, to: Pe, message: &[u64]) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.post(to, Kind::Control, &[], LocalSource::from(message));
            endpoint.kick();
        }
    }

    fn progress(&self) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.progress();
        }
    }

    fn flush_out(&self) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.flush_out();
        }
    }
}

impl Endpoint {
    /// The endpoint of PE `me`, not started yet. Of `local_heap` only this PE's part is used.
    pub(super) fn new(
        control: &Control,
        local_heap: LocalHeap,
        wire: Box<dyn Wire>,
        hosts: Hosts,
    ) -> Arc<Endpoint> {
        let n_pes = hosts.n_pes() as usize;
        let longest = wire.longest() / 8;
        let (eager, tag) = (
            EAGER.min((longest - message::room(0)) * 8),
            wire.largest_tag(),
        );
        Arc::new_cyclic(|endpoint| Endpoint {
            me: hosts.me(),
            local_heap,
            control: control.clone().with_remote(None),
            remote_hosts: Arc::new(RemoteHosts::new(
                hosts.clone(),
                Arc::new(EndpointChannel(Weak::clone(endpoint))),
            )),
            peers: (0..n_pes).map(|_| PeerState::default()).collect(),
            queued: CachePadded(QueuedPeers::new(n_pes)),
            engine: CachePadded(Mutex::new(Engine {
                wire,
                state: ReceiveState {
                    inbound: (0..n_pes).map(|_| Inbound::default()).collect(),
                    tokens: HashMap::new(),
                    begin: Vec::new(),
                    lost: Vec::new(),
                    early_callers: Vec::new(),
                    answers: (0, Vec::new()),
                },
                leaving: Vec::new(),
                closed: false,
            })),
            pending: PendingRequests::default(),
            error: Mutex::default(),
            has_error: AtomicBool::new(false),
            owner: OnceLock::new(),
            served: calls::Served::default(),
            eager,
            longest,
            tags: (AtomicU32::new(0), tag),
            part_bytes: control.heap_bytes() * 2,
            has_transfers: AtomicBool::new(false),
            polls: AtomicU64::new(0),
            fork_generation: fork::generation(),
            stop: AtomicBool::new(false),
            thread: Mutex::default(),
            behind: AtomicU64::new(0),
            unfinished: PeSet::new(n_pes),
            large: (AtomicU64::new(0), AtomicU64::new(0)),
            pool: Pool::default(),
            hosts,
        })
    }

    /// The other hosts, for the shared words that this PE writes.
    pub(super) fn remote_hosts(&self) -> &Arc<RemoteHosts> {
        &self.remote_hosts
    }

    pub(super) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// A tag that no other transfer of this PE uses for a while: even for sends, odd for gets.
    pub(super) fn tag(&self, asked: bool) -> u32 {
        let (next, largest) = &self.tags;
        let pairs = (largest - 1) / 2;
        next.fetch_add(1, Relaxed) % pairs * 2 + u32::from(asked)
    }

    /// Later large puts do not overtake earlier ones.
    pub(super) fn fence(&self) {
        let large = self.large.0.load(Relaxed);
        if self.large.1.load(Relaxed) < large {
            self.large.1.fetch_max(large, Relaxed);
        }
    }

    /// Whether bounce buffers of a PE have room for so many more bytes.
    pub(super) fn has_room(&self, pe: Pe, bytes: usize) -> bool {
        has_room(&self.peers[pe as usize].bounce_bytes, bytes)
    }

    /// A bounce buffer for bytes from or to a PE.
    pub(super) fn bounce_buffer(&self, pe: Pe, bytes: usize) -> BounceBuffer {
        self.pool
            .bounce_buffer(bytes, &self.peers[pe as usize].bounce_bytes)
    }

    /// Whether all records are complete, and no answer is pending that quiet waits for.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.behind.load(Acquire) == 0 && self.pending.has_no_nbi()
    }

    pub(super) fn keep(&self, error: Error) {
        let mut error_slot = lock(&self.error);
        error_slot.get_or_insert(error);
        self.has_error.store(true, Release);
    }

    /// The error of the endpoint. An error that only ended one wait early is returned once.
    #[inline]
    pub(super) fn failure(&self) -> Result<()> {
        match self.has_error.load(Acquire) {
            false => Ok(()),
            true => self.take_error(),
        }
    }

    #[cold]
    fn take_error(&self) -> Result<()> {
        let mut error_slot = lock(&self.error);
        let error = match &*error_slot {
            Some(Error::Timeout { .. } | Error::Interrupted { .. } | Error::PeStopped { .. }) => {
                self.has_error.store(false, Release);
                error_slot.take()
            }
            error => error.clone(),
        };
        error.map_or(Ok(()), Err)
    }

    /// Waits for an action of `pe`.
    pub(super) fn wait(&self, operation: Operation, pe: Pe, done: &dyn Fn() -> bool) -> Result<()> {
        for _ in 0..LOOKS {
            if done() {
                return Ok(());
            }
            self.progress();
        }
        let wait = Wait {
            operation,
            target: Target::Remote { pe },
        };
        match self.owner.get() {
            Some(owner) => owner.wait(wait, &|| Ok(done())),
            None => Err(Error::Internal(
                "a PE in init waits for another host".into(),
            )),
        }
    }

    fn try_engine(&self) -> Option<MutexGuard<'_, Engine>> {
        match self.engine.try_lock() {
            Ok(engine) => Some(engine),
            Err(TryLockError::Poisoned(poison)) => Some(poison.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Receives messages and sends queued ones; returns whether any was received. Called by a thread that waits.
    pub(super) fn drive(&self) -> bool {
        let found = match self.try_engine() {
            Some(mut engine) => {
                let found = self.poll(&mut engine);
                self.flush(&mut engine);
                found
            }
            None => false,
        };
        self.kick_rest();
        found
    }

    /// As [`drive`](Endpoint::drive), by a thread of the program.
    pub(super) fn progress(&self) {
        // No more than a hint to the thread: a lost count does not matter.
        let polls = self.polls.load(Relaxed);
        self.polls.store(polls.wrapping_add(1), Relaxed);
        self.drive();
    }

    fn poll(&self, engine: &mut Engine) -> bool {
        if engine.closed {
            return false;
        }
        let Engine { wire, state, .. } = engine;
        let mut found = false;
        let polled = wire.poll(&mut |event| {
            found = true;
            match event {
                Event::Message(from, bytes) => self.message(state, from, bytes),
                Event::Done(token, bytes) => self.on_completion(state, token, bytes),
                Event::Lost(pe) => state.lost.push(pe),
            }
        });
        if let Err(error) = polled {
            self.keep(error);
        }
        self.resume_early_callers(&mut engine.state);
        if !engine.state.answers.1.is_empty() {
            std::mem::swap(&mut engine.state.answers.1, &mut engine.leaving);
            self.send_leaving(engine, engine.state.answers.0);
        }
        found |= self.local_heap.resume(self, &mut engine.state);
        for (pe, transfer) in std::mem::take(&mut engine.state.begin) {
            self.begin(engine, pe, transfer);
        }
        for pe in std::mem::take(&mut engine.state.lost) {
            self.lost(pe);
        }
        let has_transfers = !engine.state.tokens.is_empty();
        if self.has_transfers.load(Relaxed) != has_transfers {
            self.has_transfers.store(has_transfers, Relaxed);
        }
        found
    }

    /// Gives sent messages a moment to leave this process.
    fn flush_out(&self) {
        let until = now_ns() + LEAVE.as_nanos() as u64;
        loop {
            self.drive();
            let left = self.try_engine().is_some_and(|engine| {
                engine.closed || (engine.wire.in_flight() == 0 && self.queued.is_empty())
            });
            self.kick_rest();
            if left || now_ns() > until {
                return;
            }
            rustix::thread::sched_yield();
        }
    }

    /// A remote PE is gone, as this PE has noticed itself.
    fn lost(&self, pe: Pe) {
        if (0..self.hosts.n_pes()).contains(&pe) && !self.hosts.is_local(pe) {
            if matches!(
                remote::state(self.control.pe(pe)),
                State::Active | State::Finalizing
            ) {
                shared_words::set_first_gone(self.control.header(), pe);
                self.remote_hosts.send_gone(&self.control, pe, State::Dead);
            }
            liveness::mark_gone(&self.control, pe, State::Dead);
        }
    }
}
