//! A PE's end of the wire: what it sends, what it takes, and the thread that sees to both whatever the program does.
//!
//! What is to be sent to a PE is a record at the end of that PE's message ([`Link`]). Messages leave under the lock of the [`Engine`], so
//! that they leave in order. Whoever adds a record tries that lock; who holds it looks again after letting it go, so that nothing stays
//! behind. Puts that nobody waits for stay until there is something else to send, or the thread comes by. Answers of who holds the engine
//! leave before that, unless something for the same PE waits already.
//!
//! Records of one PE are done in the order in which it sent them, by whichever thread holds the engine, with the stores and atomic
//! instructions of the host transport. While a large put is coming by itself, what its sender has sent after it is held back, but for other
//! large puts: those are only after a fence. So fence sends nothing. The sender counts its records, and the receiver tells how many are done when it is asked: quiet.

mod lent;
mod near;
mod out;
mod pieces;
mod taking;
mod thread;

use super::desk::Desk;
use super::message::{self, Kind};
use super::wire::{Event, Wire};
use crate::buffer::LocalSource;
use crate::clock::now_ns;
use crate::job::block::Control;
use crate::job::far::{self, Courier, Far};
use crate::job::hosts::Hosts;
use crate::job::published::{Target, Wait};
use crate::job::state::State;
use crate::job::{fork, liveness, tell};
use crate::lock::lock;
use crate::operation::Operation;
use crate::transport::Owner;
use crate::{Error, Pe, Result};
use lent::Lent;
pub(super) use lent::{Post, Then};
pub(super) use near::{Near, Service};
use out::{Link, PeSet, Pending};
pub(super) use pieces::{PIECE, Piece};
use pieces::{Pool, has_room};
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most data that travels in a record. More comes by itself.
const EAGER: usize = 32 << 10;
/// So long after the last traffic the thread does not sleep.
const HOT_NS: u64 = 200_000;
/// The same while large transfers are under way: MPI may move them in parts, which both sides look after.
const HOT_LARGE_NS: u64 = 50_000_000;
/// While another thread makes progress, this one looks so often itself.
const LOOK: Duration = Duration::from_micros(200);
/// The longest time between two looks.
const LAST_LOOK: Duration = Duration::from_micros(500);
/// How often a wait looks by itself, before it waits as others do.
const LOOKS: u32 = 20;
/// How long the last words of a PE that leaves early may take.
const LEAVE: Duration = Duration::from_millis(500);
/// How long the others may take to close their ends, too.
const CLOSE: Duration = Duration::from_secs(10);

/// What has come from a PE.
#[derive(Default)]
struct Source {
    /// Counted records that are done.
    done: u64,
    /// Large puts that are coming.
    coming: u32,
    /// What came after them.
    held: VecDeque<Vec<u64>>,
}

/// The wire, and what only who holds it needs.
pub(super) struct Engine {
    wire: Box<dyn Wire>,
    state: Taking,
    /// Room for the next message that leaves.
    leaving: Vec<u64>,
    closed: bool,
}

/// What taking messages needs.
struct Taking {
    sources: Vec<Source>,
    tokens: HashMap<u64, Lent>,
    begin: Vec<(Pe, Post)>,
    lost: Vec<Pe>,
    /// Answers that leave when this look at the wire is over, and the PE that they go to.
    answers: (Pe, Vec<u64>),
}

/// What every look writes. It has cache lines of its own, so that calls to PEs of this host need not wait for what they read beside it.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

pub(super) struct Net {
    pub(super) me: Pe,
    pub(super) near: Near,
    /// Without a way to other hosts: what is written there is not told on.
    control: Control,
    far: Arc<Far>,
    hosts: Hosts,
    links: Vec<Link>,
    pending: Apart<Pending>,
    engine: Apart<Mutex<Engine>>,
    pub(super) desk: Desk,
    /// What has gone wrong, and whether there is any.
    kept: Mutex<Option<Error>>,
    keeps: AtomicBool,
    pub(super) owner: OnceLock<Arc<dyn Owner>>,
    /// The most data of a record, in words the longest message, and the largest tag.
    pub(super) eager: usize,
    longest: usize,
    tags: (AtomicU32, u32),
    /// Bytes of a PE's part that others may use.
    room: u64,
    /// Whether large transfers are under way.
    lends: AtomicBool,
    /// How often a thread other than the net's own has made progress.
    drives: AtomicU64,
    /// The fork generation of the process that it belongs to.
    born: u64,
    stop: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many counted records all PEs were sent that are not done, and the PEs that may have some.
    behind: AtomicU64,
    unfinished: PeSet,
    /// How many large puts there were, and how many before the last fence.
    large: (AtomicU64, AtomicU64),
    pool: Pool,
}

/// Brings letters by a net that is there.
struct ByNet(Weak<Net>);

impl Courier for ByNet {
    fn carry(&self, to: Pe, letter: &[u64]) {
        if let Some(net) = self.0.upgrade() {
            net.post(to, Kind::Letter, &[], LocalSource::from(letter));
            net.kick();
        }
    }

    fn progress(&self) {
        if let Some(net) = self.0.upgrade() {
            net.progress();
        }
    }

    fn see_off(&self) {
        if let Some(net) = self.0.upgrade() {
            net.see_off();
        }
    }
}

impl Net {
    /// The net of PE `me`, which does not run yet. Of `near` the net's own PE's part is used.
    pub(super) fn new(
        control: &Control,
        near: Near,
        wire: Box<dyn Wire>,
        hosts: Hosts,
    ) -> Arc<Net> {
        let n_pes = hosts.n_pes() as usize;
        let longest = wire.longest() / 8;
        let (eager, tag) = (
            EAGER.min((longest - message::room(0)) * 8),
            wire.largest_tag(),
        );
        Arc::new_cyclic(|net| Net {
            me: hosts.me(),
            near,
            control: control.clone().with_far(None),
            far: Arc::new(Far::new(hosts.clone(), Arc::new(ByNet(Weak::clone(net))))),
            links: (0..n_pes).map(|_| Link::default()).collect(),
            pending: Apart(Pending::new(n_pes)),
            engine: Apart(Mutex::new(Engine {
                wire,
                state: Taking {
                    sources: (0..n_pes).map(|_| Source::default()).collect(),
                    tokens: HashMap::new(),
                    begin: Vec::new(),
                    lost: Vec::new(),
                    answers: (0, Vec::new()),
                },
                leaving: Vec::new(),
                closed: false,
            })),
            desk: Desk::default(),
            kept: Mutex::default(),
            keeps: AtomicBool::new(false),
            owner: OnceLock::new(),
            eager,
            longest,
            tags: (AtomicU32::new(0), tag),
            room: control.heap_bytes() * 2,
            lends: AtomicBool::new(false),
            drives: AtomicU64::new(0),
            born: fork::generation(),
            stop: AtomicBool::new(false),
            thread: Mutex::default(),
            behind: AtomicU64::new(0),
            unfinished: PeSet::new(n_pes),
            large: (AtomicU64::new(0), AtomicU64::new(0)),
            pool: Pool::default(),
            hosts,
        })
    }

    /// The way to the other hosts, for what this PE tells.
    pub(super) fn far(&self) -> &Arc<Far> {
        &self.far
    }

    pub(super) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// A tag that no other body of this PE has for a while: even for what is sent, odd for what is asked for.
    pub(super) fn tag(&self, asked: bool) -> u32 {
        let (next, largest) = &self.tags;
        let pairs = (largest - 1) / 2;
        next.fetch_add(1, Relaxed) % pairs * 2 + u32::from(asked)
    }

    /// What comes later does not overtake what came before.
    pub(super) fn fence(&self) {
        let large = self.large.0.load(Relaxed);
        if self.large.1.load(Relaxed) < large {
            self.large.1.fetch_max(large, Relaxed);
        }
    }

    /// Whether so many more bytes may be on their way from or to a PE in pieces.
    pub(super) fn has_room(&self, pe: Pe, bytes: usize) -> bool {
        has_room(&self.links[pe as usize].pieces, bytes)
    }

    /// A piece for bytes from or to a PE.
    pub(super) fn piece(&self, pe: Pe, bytes: usize) -> Piece {
        self.pool.piece(bytes, &self.links[pe as usize].pieces)
    }

    /// Whether all have done what they were sent, and no answer is missing that quiet waits for.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.behind.load(Acquire) == 0 && self.desk.is_clear()
    }

    pub(super) fn keep(&self, error: Error) {
        let mut kept = lock(&self.kept);
        kept.get_or_insert(error);
        self.keeps.store(true, Release);
    }

    /// What has gone wrong. An error that says of one wait only that it was over early is said once.
    #[inline]
    pub(super) fn failure(&self) -> Result<()> {
        match self.keeps.load(Acquire) {
            false => Ok(()),
            true => self.said(),
        }
    }

    #[cold]
    fn said(&self) -> Result<()> {
        let mut kept = lock(&self.kept);
        let error = match &*kept {
            Some(Error::Timeout { .. } | Error::Interrupted { .. } | Error::PeStopped { .. }) => {
                self.keeps.store(false, Release);
                kept.take()
            }
            error => error.clone(),
        };
        error.map_or(Ok(()), Err)
    }

    /// Waits, for something of `pe`.
    pub(super) fn wait(&self, operation: Operation, pe: Pe, done: &dyn Fn() -> bool) -> Result<()> {
        for _ in 0..LOOKS {
            if done() {
                return Ok(());
            }
            self.progress();
        }
        let wait = Wait {
            operation,
            target: Target::Far { pe },
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

    /// Takes what has come, and sends what is to be sent; whether something had come. A thread that waits calls it.
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

    /// As [`drive`](Net::drive), by a thread of the program's.
    pub(super) fn progress(&self) {
        // No more than a hint to the thread: a lost count does not matter.
        let drives = self.drives.load(Relaxed);
        self.drives.store(drives.wrapping_add(1), Relaxed);
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
                Event::Done(token, bytes) => self.is_back(state, token, bytes),
                Event::Lost(pe) => state.lost.push(pe),
            }
        });
        if let Err(error) = polled {
            self.keep(error);
        }
        if !engine.state.answers.1.is_empty() {
            std::mem::swap(&mut engine.state.answers.1, &mut engine.leaving);
            self.send_leaving(engine, engine.state.answers.0);
        }
        found |= self.near.go_on(self, &mut engine.state);
        for (pe, post) in std::mem::take(&mut engine.state.begin) {
            self.begin(engine, pe, post);
        }
        for pe in std::mem::take(&mut engine.state.lost) {
            self.lost(pe);
        }
        let lends = !engine.state.tokens.is_empty();
        if self.lends.load(Relaxed) != lends {
            self.lends.store(lends, Relaxed);
        }
        found
    }

    /// Gives what was sent a moment to leave.
    fn see_off(&self) {
        let until = now_ns() + LEAVE.as_nanos() as u64;
        loop {
            self.drive();
            let left = self.try_engine().is_some_and(|engine| {
                engine.closed || (engine.wire.in_flight() == 0 && self.pending.is_empty())
            });
            self.kick_rest();
            if left || now_ns() > until {
                return;
            }
            rustix::thread::sched_yield();
        }
    }

    /// A PE of another host is gone, as this one knows for itself.
    fn lost(&self, pe: Pe) {
        if (0..self.hosts.n_pes()).contains(&pe) && !self.hosts.is_near(pe) {
            if matches!(
                far::state(self.control.pe(pe)),
                State::Active | State::Finalizing
            ) {
                tell::first_gone(self.control.header(), pe);
                self.far.pass_on(&self.control, pe, State::Dead);
            }
            liveness::mark_gone(&self.control, pe, State::Dead);
        }
    }
}
