//! The synchronisation checker (`NVSHMEMRS_CHECK`): it holds operations back and delivers them late and out of order as far as the
//! standard allows, and tracks their order.
//!
//! [`delay`] decides when an operation is delivered, [`held`] delivers it, [`delivery_thread`] does so when the program
//! makes no calls, [`in_flight`] knows the local buffers of non-blocking operations, [`tracker`] the order of accesses.
//!
//! One lock guards the held operations of a PE. It is held while operations are delivered, never during a wait, and
//! findings are made outside of it.
//!
//! [`kernels`] enters the records of the program's kernels.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_diagnostics::sites;
use nvshmemrs_job as job;
use nvshmemrs_transport as transport;
use nvshmemrs_vocabulary::{Error, Pe, Result, buffer, config, dtype, lock, op, operation};

mod actors;
pub(crate) mod area;
mod below;
mod clocks;
mod contexts;
mod decorator;
mod delay;
mod delivery_thread;
mod freed;
mod held;
mod hosts;
mod in_flight;
mod kernels;
mod memory;
mod operations;
pub(crate) mod report;
mod report_json;
mod settings;
mod shadow;
mod stalls;
mod sync;
mod tally;
pub(crate) mod tracker;
mod two_puts;

use crate::buffer::SymRange;
use crate::job::block::Control;
use crate::job::layout::Layout;
pub(crate) use crate::sites::inside::{Inside, write};
use crate::sites::{Access, Sites};
use crate::transport::{Call, DeviceMemory, HostAccess, PeerCalls, Transport, Watch};
use actors::Actors;
use below::Below;
use contexts::Contexts;
pub use decorator::Checked;
use delay::{Queue, Random, TargetRange};
use delivery_thread::DeliveryThread;
use freed::FreedBlocks;
use held::{BufferPool, HeldOperation};
use hosts::{RemoteTracker, TrackerService, Tracking};
use in_flight::InFlightBuffers;
use kernels::Kernels;
use report::{AccessInfo, Finding, FindingPlace, Problem};
pub use settings::Settings;
use stalls::Stalls;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use tally::Seen;
use tracker::{Kind, Standing, Tracker};

/// Bytes that a PE holds back at most.
const HELD_BYTES: usize = 8 << 20;

/// The state that the lock guards.
struct State {
    queue: Queue<HeldOperation>,
    /// For draws that must not disturb those of the queue: when to deliver an operation early.
    chances: Random,
    /// Whether the delivery thread has to be woken.
    delivery_sleeps: bool,
    /// For how many of the delivery thread's looks operations may be held back; drawn anew whenever nothing is.
    patience: u32,
    /// How many looks it may still be patient in.
    patience_left: u32,
    /// Whether the other PEs know that something is held back.
    holds: bool,
}

/// Memory of the program's that is symmetric where it is.
struct Adopted {
    address: u64,
    bytes: u64,
    offset: u64,
}

/// One PE's checker.
pub struct Checker {
    below: Box<dyn Transport>,
    /// The copies between GPU and host, if the heap is on a GPU.
    device: Option<Arc<dyn DeviceMemory>>,
    control: Control,
    layout: Layout,
    me: Pe,
    tracker: Tracking,
    sites: Arc<Sites>,
    state: Mutex<State>,
    stalls: Stalls,
    /// Whether the caller is in a wait for a word, or in a meeting.
    waits: AtomicBool,
    actors: Actors,
    freed_blocks: FreedBlocks,
    in_flight: InFlightBuffers,
    contexts: Contexts,
    /// Buffers for held operations.
    pool: BufferPool,
    any_adopted: AtomicBool,
    adopted: RwLock<Vec<Adopted>>,
    /// Texts of findings that were made under the lock, and whether there are any.
    unwritten: Mutex<String>,
    has_unwritten: AtomicBool,
    delivery_thread: Mutex<Option<DeliveryThread>>,
    kernels: Kernels,
    stop: AtomicBool,
}

impl Checker {
    /// Starts the checker of PE `me` of a checked job.
    pub fn start(
        control: &Control,
        layout: Layout,
        me: Pe,
        below: Box<dyn Transport>,
        access: HostAccess,
        sites: Arc<Sites>,
    ) -> Result<Arc<Checker>> {
        memory::check()?;
        let tracker = Checker::tracker_of(control, me, access.peer_calls, &sites)?;
        let seed = control.check_seed().unwrap_or(0).wrapping_add(me as u64);
        if access.device.is_some() {
            tracker.note(Seen::Gpus);
        }
        let check = Arc::new(Checker {
            below,
            device: access.device,
            control: control.clone(),
            layout,
            me,
            tracker,
            sites,
            state: Mutex::new(State {
                queue: Queue::new(seed, control.n_pes(), HELD_BYTES),
                chances: Random::new(!seed),
                delivery_sleeps: false,
                patience: 0,
                patience_left: delivery_thread::PATIENT_LOOKS,
                holds: false,
            }),
            stalls: Stalls::new(seed ^ 0x5354_414c_4c53),
            waits: AtomicBool::new(false),
            actors: Actors::default(),
            freed_blocks: FreedBlocks::default(),
            in_flight: InFlightBuffers::new(),
            contexts: Contexts::default(),
            pool: BufferPool::default(),
            any_adopted: AtomicBool::new(false),
            adopted: RwLock::default(),
            unwritten: Mutex::default(),
            has_unwritten: AtomicBool::new(false),
            delivery_thread: Mutex::default(),
            kernels: Kernels::default(),
            stop: AtomicBool::new(false),
        });
        *check.delivery_thread() = Some(DeliveryThread::start(&check)?);
        Ok(check)
    }

    /// The tracker of PE `me`. Where the job has several hosts, a PE on that of PE 0 runs those of PEs elsewhere, too.
    fn tracker_of(
        control: &Control,
        me: Pe,
        peer_calls: Option<Arc<dyn PeerCalls>>,
        sites: &Arc<Sites>,
    ) -> Result<Tracking> {
        let sites = Arc::clone(sites);
        match peer_calls {
            Some(calls) if calls.hosts().mine() != 0 => {
                let tracker = RemoteTracker::new(me, sites, calls)?;
                Ok(Tracking::There(Box::new(tracker)))
            }
            calls => {
                let tracker = Tracker::new(control, me, sites)?;
                if let Some(calls) = calls {
                    let service = TrackerService::new(control, tracker.tally())?;
                    calls.offer(Arc::new(service));
                }
                Ok(Tracking::Here(Box::new(tracker)))
            }
        }
    }

    /// Ends the checker's own work. Operations that are still held back are dropped.
    pub(crate) fn stop(&self) {
        self.state().queue.forget();
        let delivery_thread = self.delivery_thread().take();
        if let Some(delivery_thread) = delivery_thread {
            delivery_thread.stop(self);
        }
        self.kernels.join();
        self.tracker.leave();
    }

    /// Forgets the delivery thread, in a forked child, where it does not exist.
    pub(crate) fn abandon(&self) {
        if let Ok(mut delivery_thread) = self.delivery_thread.try_lock() {
            std::mem::forget(delivery_thread.take());
        }
        self.kernels.abandon();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    fn delivery_thread(&self) -> MutexGuard<'_, Option<DeliveryThread>> {
        crate::lock::lock(&self.delivery_thread)
    }

    fn unwritten(&self) -> MutexGuard<'_, String> {
        crate::lock::lock(&self.unwritten)
    }

    /// Writes the findings made while the lock was held. Without the lock.
    #[inline]
    fn write_findings(&self) {
        if self.has_unwritten.load(Relaxed) {
            self.has_unwritten.store(false, Relaxed);
            let said = std::mem::take(&mut *self.unwritten());
            write(&said);
        }
    }

    /// Calls the tracker.
    pub(crate) fn track<T>(&self, body: impl FnOnce(&Tracking) -> T) -> T {
        let _inside = Inside::enter();
        body(&self.tracker)
    }

    /// The GPU's memory, if an address lies there.
    fn gpu_with(&self, address: u64) -> Option<&dyn DeviceMemory> {
        let device = &**self.device.as_ref()?;
        device.is_of_gpu(address).unwrap_or(false).then_some(device)
    }

    /// Whether an address lies in memory of a GPU, which is copied at once: accesses of kernels to it meanwhile are not seen.
    fn is_on_gpu(&self, address: u64) -> bool {
        self.gpu_with(address).is_some()
    }

    /// The transport to which operations are delivered.
    fn below(&self) -> Below<'_> {
        Below(&*self.below)
    }

    /// The site of an operation.
    #[inline]
    fn site_of(&self, call: Call) -> u16 {
        self.sites.here(call.called, call.at)
    }

    /// The PE and offset of an address of this process, if it is symmetric.
    fn locate(&self, address: u64) -> Option<(Pe, u64)> {
        self.layout.locate(address).or_else(|| {
            if !self.any_adopted.load(Acquire) {
                return None;
            }
            let adopted = crate::lock::read(&self.adopted);
            adopted.iter().find_map(|place| {
                let distance = address.checked_sub(place.address)?;
                (distance < place.bytes).then_some((self.me, place.offset + distance))
            })
        })
    }

    /// Memory of the program's has become symmetric, at one or two addresses; 0 is none.
    pub(crate) fn adopt(&self, range: SymRange, addresses: [u64; 2]) {
        let mut adopted = crate::lock::write(&self.adopted);
        let addresses = addresses.into_iter().filter(|&address| address != 0);
        adopted.extend(addresses.map(|address| Adopted {
            address,
            bytes: range.bytes(),
            offset: range.offset(),
        }));
        self.any_adopted.store(true, Release);
    }

    /// It is the program's own again.
    pub(crate) fn give_back(&self, range: SymRange) {
        let mut adopted = crate::lock::write(&self.adopted);
        adopted.retain(|place| place.offset != range.offset());
        self.any_adopted.store(!adopted.is_empty(), Release);
    }

    /// Whether an access of the program's own to memory of this process may be of interest.
    #[inline(always)]
    pub(crate) fn concerns(&self, address: u64, bytes: u64) -> bool {
        let may = address.wrapping_sub(self.layout.base) < self.layout.span
            || self.in_flight.concerns(address, bytes)
            || self.actors.is_active()
            || self.any_adopted.load(Acquire);
        may && !crate::sites::inside::is_inside()
    }

    /// The program itself reads or writes memory of this process.
    pub(crate) fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16) {
        let _inside = Inside::enter();
        if access == Access::Unseen {
            if self.locate(address).is_some() {
                self.tracker.note(Seen::HandedOut);
            }
            return;
        }
        let write = matches!(access, Access::Store | Access::AtomicStore);
        if self.uses_freed(address, bytes, write, site) {
            return;
        }
        let in_flight = self.touch(address, bytes, write, site);
        let kind = match access {
            Access::Load | Access::Unseen => Kind::Load,
            Access::Store => Kind::Store,
            Access::AtomicLoad => Kind::AtomicLoad,
            Access::AtomicStore => Kind::AtomicFetch,
        };
        self.acts(address, bytes, kind, true, site);
        let Some((pe, offset)) = self.locate(address).filter(|_| !in_flight) else {
            return;
        };
        match access {
            Access::Load => self.tracker.access(Kind::Load, pe, offset, bytes, site),
            Access::Store => self.tracker.access(Kind::Store, pe, offset, bytes, site),
            Access::AtomicLoad => {
                self.tracker
                    .access(Kind::AtomicLoad, pe, offset, bytes, site);
                let value = self.word(pe, offset, bytes);
                let echo = self.tracker.acquire(pe, offset, bytes, value, site);
                self.actors.receives_echo(echo);
            }
            Access::AtomicStore => {
                self.tracker
                    .access(Kind::AtomicFetch, pe, offset, bytes, site);
                let stamp = self.tracker.release(pe, offset, false);
                self.actors.releases(stamp.tag);
                self.tracker.delivered(pe, offset, bytes, stamp);
            }
            Access::Unseen => {}
        }
    }

    /// A block on this PE's own memory is read or written by the program, or by a collective for it.
    pub(crate) fn own(&self, write: bool, range: SymRange, site: u16) {
        let (offset, bytes) = (range.offset(), range.bytes());
        if bytes == 0 {
            return;
        }
        let _inside = Inside::enter();
        let kind = if write { Kind::Store } else { Kind::Load };
        self.acts_on(self.me, offset, bytes, kind, site);
        if !self.touch(self.layout.address(self.me, offset), bytes, write, site) {
            self.tracker.access(kind, self.me, offset, bytes, site);
        }
    }

    /// Two PEs of a team have come to one collective with calls that do not match.
    pub(crate) fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String) {
        let _inside = Inside::enter();
        let party = |(pe, site)| AccessInfo {
            pe,
            does: "calls",
            bytes: 0,
            site,
        };
        self.tracker.found(Finding {
            problem: Problem::Unmatched,
            place: FindingPlace::Team { number: team },
            now: party(mine),
            other: party(theirs),
            why,
            remedy: String::new(),
            unordered: false,
        });
    }

    /// The program frees a block.
    pub(crate) fn freed(&self, range: SymRange, site: u16) {
        let _inside = Inside::enter();
        self.freed_while_in_flight(range.offset(), range.bytes(), site);
        self.freed_blocks.freed_at(range.offset(), site);
        self.forget_acts(self.layout.address(self.me, range.offset()), range.bytes());
        self.tracker.freed(range, site);
    }

    /// The program is about to look at own words: signals to them that this PE itself has sent are delivered first.
    #[cold]
    pub(crate) fn look(&self, words: SymRange) {
        let _inside = Inside::enter();
        let target_range = TargetRange {
            pe: self.me,
            offset: words.offset(),
            bytes: words.bytes(),
        };
        let mut state = self.state();
        let before = state.queue.before_fetch(target_range, true);
        state.queue.deliver_until(before, |held| self.deliver(held));
        drop(state);
        self.write_findings();
    }

    /// A wait begins.
    pub(crate) fn watch(&self, watch: &Watch) {
        let _inside = Inside::enter();
        let &Watch {
            offset,
            dtype,
            cmp,
            expected,
            site,
        } = watch;
        self.tracker.wait_begins(offset, dtype, cmp, expected, site);
        self.wait_begins();
    }

    /// It has ended; `held`: with a value that holds, which was [acquired](Checker::acquired).
    pub(crate) fn unwatch(&self, watch: &Watch, held: bool) {
        let _inside = Inside::enter();
        self.wait_ends();
        self.tracker.wait_ends(watch.offset, held);
        if held {
            self.stall();
        }
    }

    /// This PE is about to arrive at a meeting.
    pub(crate) fn arrive(&self, team: u32, epoch: u64, completes: bool, site: u16) {
        let _inside = Inside::enter();
        self.actors.releases(self.tracker.tag());
        self.tracker.arrive(team, epoch, completes, site);
        self.wait_begins();
    }

    /// The caller begins to wait. For the other PEs it waits once it has looked in vain: see [`progress`](Checker::progress).
    fn wait_begins(&self) {
        if actors::is_caller() {
            self.waits.store(true, Relaxed);
        }
    }

    /// Its wait has ended. Comes before calls of the tracker, which may last: they go to another host, perhaps.
    fn wait_ends(&self) {
        if actors::is_caller() {
            self.waits.store(false, Relaxed);
            self.tracker.stand(Standing::Runs);
        }
    }

    /// The members have met.
    pub(crate) fn met(
        &self,
        team: u32,
        members: &mut dyn Iterator<Item = Pe>,
        epoch: u64,
        site: u16,
    ) {
        let _inside = Inside::enter();
        self.wait_ends();
        let echo = self.tracker.met(team, members, epoch, site);
        self.actors.receives_echo(echo);
        self.stall();
    }

    /// The program has seen the value of an own word that it waits for, tests or fetches.
    pub(crate) fn acquired(&self, element: SymRange, value: u64, site: u16) {
        let _inside = Inside::enter();
        let (offset, bytes) = (element.offset(), element.bytes());
        let echo = self.tracker.acquire(self.me, offset, bytes, value, site);
        self.actors.receives_echo(echo);
    }
}
