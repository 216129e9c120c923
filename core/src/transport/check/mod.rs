//! The synchronisation checker (`NVSHMEMRS_CHECK`): it holds operations back and delivers them late and out of order as far as the
//! standard allows, and tracks what orders them.
//!
//! [`delay`] decides when an operation is delivered, [`held`] delivers it, [`courier`] is the thread that does so when the program
//! makes no calls, [`lent`] knows the local buffers of operations without blocking, [`tracker`] the order of accesses.
//!
//! One lock guards what a PE holds back. It is held while operations are delivered, never while anything is waited for, and
//! findings are made outside of it.

pub(crate) mod area;
mod clocks;
mod courier;
mod decorator;
mod delay;
mod held;
mod lent;
mod memory;
mod operations;
pub(crate) mod report;
mod settings;
mod shadow;
mod sync;
mod tally;
pub(crate) mod tracker;

use super::{Call, Own, Transport, Watch};
use crate::buffer::SymRange;
use crate::job::block::Control;
use crate::job::layout::Layout;
pub(crate) use crate::sites::inside::{Inside, write};
use crate::sites::{Access, Sites};
use crate::{Pe, Result};
use courier::Courier;
pub(crate) use decorator::Checked;
use delay::{Queue, Random, Reach};
use held::{Held, Spare};
use lent::Lent;
use report::{Finding, Party, Place, Problem};
pub(crate) use settings::Settings;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use tracker::{Kind, Tracker};

/// Bytes that a PE holds back at most.
const HELD_BYTES: usize = 8 << 20;

/// What the lock guards.
struct State {
    queue: Queue<Held>,
    /// For what must not disturb the draws of the queue: when to deliver something early.
    chances: Random,
    /// Whether the courier has to be called.
    courier_sleeps: bool,
}

/// Memory of the program's that is symmetric where it is.
struct Adopted {
    address: u64,
    bytes: u64,
    offset: u64,
}

/// One PE's checker.
pub(crate) struct Checker {
    below: Box<dyn Transport>,
    control: Control,
    layout: Layout,
    me: Pe,
    tracker: Tracker,
    sites: Arc<Sites>,
    state: Mutex<State>,
    lent: Lent,
    /// Buffers for what is held back.
    spare: Spare,
    any_adopted: AtomicBool,
    adopted: RwLock<Vec<Adopted>>,
    /// Texts of findings that were made under the lock, and whether there are any.
    said: Mutex<String>,
    has_said: AtomicBool,
    courier: Mutex<Option<Courier>>,
    stop: AtomicBool,
}

impl Checker {
    /// Starts the checker of PE `me` of a checked job.
    pub(crate) fn start(
        control: &Control,
        layout: Layout,
        me: Pe,
        below: Box<dyn Transport>,
        sites: Arc<Sites>,
    ) -> Result<Arc<Checker>> {
        memory::check()?;
        let seed = control.check_seed().unwrap_or(0).wrapping_add(me as u64);
        let check = Arc::new(Checker {
            below,
            control: control.clone(),
            layout,
            me,
            tracker: Tracker::new(control, me, Arc::clone(&sites))?,
            sites,
            state: Mutex::new(State {
                queue: Queue::new(seed, control.n_pes(), HELD_BYTES),
                chances: Random::new(!seed),
                courier_sleeps: false,
            }),
            lent: Lent::new(),
            spare: Spare::default(),
            any_adopted: AtomicBool::new(false),
            adopted: RwLock::default(),
            said: Mutex::default(),
            has_said: AtomicBool::new(false),
            courier: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        *check.courier() = Some(Courier::start(&check)?);
        Ok(check)
    }

    /// Ends what the checker does on its own. What is held back, if anything, is forgotten.
    pub(crate) fn stop(&self) {
        self.state().queue.forget();
        let courier = self.courier().take();
        if let Some(courier) = courier {
            courier.stop(self);
        }
    }

    /// Lets go of the courier's thread, in a forked child, where it does not exist.
    pub(crate) fn abandon(&self) {
        if let Ok(mut courier) = self.courier.try_lock() {
            std::mem::forget(courier.take());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    fn courier(&self) -> MutexGuard<'_, Option<Courier>> {
        crate::lock::lock(&self.courier)
    }

    fn said(&self) -> MutexGuard<'_, String> {
        crate::lock::lock(&self.said)
    }

    /// Writes what was found while the lock was held. Without the lock.
    #[inline]
    fn say(&self) {
        if self.has_said.load(Relaxed) {
            self.has_said.store(false, Relaxed);
            let said = std::mem::take(&mut *self.said());
            write(&said);
        }
    }

    /// Asks, or tells, the tracker.
    pub(crate) fn track<T>(&self, body: impl FnOnce(&Tracker) -> T) -> T {
        let _inside = Inside::enter();
        body(&self.tracker)
    }

    /// What operations are delivered to.
    fn below(&self) -> Own<'_> {
        Own::Other(&*self.below)
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
            || self.lent.concerns(address, bytes)
            || self.any_adopted.load(Acquire);
        may && !crate::sites::inside::is_inside()
    }

    /// The program itself reads or writes memory of this process.
    pub(crate) fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16) {
        let _inside = Inside::enter();
        if access == Access::Unseen {
            if self.locate(address).is_some() {
                self.tracker.hands_out();
            }
            return;
        }
        let write = matches!(access, Access::Store | Access::AtomicStore);
        let lent = self.touch(address, bytes, write, site);
        let Some((pe, offset)) = self.locate(address).filter(|_| !lent) else {
            return;
        };
        match access {
            Access::Load => self.tracker.access(Kind::Load, pe, offset, bytes, site),
            Access::Store => self.tracker.access(Kind::Store, pe, offset, bytes, site),
            Access::AtomicLoad => {
                self.tracker
                    .access(Kind::AtomicLoad, pe, offset, bytes, site);
                let value = self.word(pe, offset, bytes);
                self.tracker.acquire(pe, offset, bytes, value, site);
            }
            Access::AtomicStore => {
                self.tracker
                    .access(Kind::AtomicFetch, pe, offset, bytes, site);
                let ticket = self.tracker.release(pe, offset, false);
                self.tracker.delivered(pe, offset, bytes, &ticket);
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
        if !self.touch(self.layout.address(self.me, offset), bytes, write, site) {
            self.tracker.access(kind, self.me, offset, bytes, site);
        }
    }

    /// Two PEs of a team have come to one collective with calls that do not match.
    pub(crate) fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String) {
        let _inside = Inside::enter();
        let party = |(pe, site)| Party {
            pe,
            does: "calls",
            bytes: 0,
            site,
        };
        self.tracker.found(Finding {
            problem: Problem::Unmatched,
            place: Place::Team { number: team },
            now: party(mine),
            other: party(theirs),
            why,
            remedy: String::new(),
        });
    }

    /// The program frees a block.
    pub(crate) fn freed(&self, range: SymRange, site: u16) {
        let _inside = Inside::enter();
        self.freed_while_lent(range.offset(), range.bytes(), site);
        self.tracker.freed(range, site);
    }

    /// The program is about to look at own words: signals to them that this PE itself has sent are delivered first.
    #[cold]
    pub(crate) fn look(&self, words: SymRange) {
        let _inside = Inside::enter();
        let reach = Reach {
            pe: self.me,
            offset: words.offset(),
            bytes: words.bytes(),
        };
        let mut state = self.state();
        let before = state.queue.before_fetch(reach, true);
        state.queue.deliver_until(before, |held| self.deliver(held));
        drop(state);
        self.say();
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
    }

    /// It has ended; `held`: with a value that holds, which was [acquired](Checker::acquired).
    pub(crate) fn unwatch(&self, watch: &Watch, held: bool) {
        let _inside = Inside::enter();
        self.tracker.wait_ends(watch.offset, held);
    }

    /// The program has seen the value of an own word that it waits for, tests or fetches.
    pub(crate) fn acquired(&self, element: SymRange, value: u64, site: u16) {
        let _inside = Inside::enter();
        let (offset, bytes) = (element.offset(), element.bytes());
        self.tracker.acquire(self.me, offset, bytes, value, site);
    }
}
