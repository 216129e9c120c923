//! A job for the models: stand-ins replace mapped memory, the kernel and the clock; the rest is the core's code.

use super::sync::Ordering::*;
use super::sync::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, Mutex, MutexGuard, RwLock, fence, yield_now,
};
use crate::weak::{ordering, weak};
use rustix::io::Errno;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Pe = i32;
/// The record of a call.
type Span<'a> = &'a ();
pub(crate) type Result<T> = std::result::Result<T, Error>;

// As in control.rs, but few: loom explores every one of them.
const WAIT_SLOTS: usize = 1;
const CPU_WORDS: usize = 1;
const ARGS: usize = 5;
const PAYLOAD_WORDS: usize = 2;
const GRANULE: u64 = 64;
const TEAM_WORDS: usize = 1;
const MAX_TEAMS: usize = 64;
const JOIN_SLOTS: usize = 1;
const UNFREED_WORDS: usize = 1;
const TEXT_WORDS: usize = 1;

use shared_words::{Arrival, SharedU32, SharedU64, WaitFields};

include!(concat!(env!("OUT_DIR"), "/control.rs"));
include!(concat!(env!("OUT_DIR"), "/state.rs"));
include!(concat!(env!("OUT_DIR"), "/cmp.rs"));
include!(concat!(env!("OUT_DIR"), "/dtype.rs"));
include!(concat!(env!("OUT_DIR"), "/error.rs"));
include!(concat!(env!("OUT_DIR"), "/range.rs"));
include!(concat!(env!("OUT_DIR"), "/operation.rs"));
include!(concat!(env!("OUT_DIR"), "/published.rs"));
include!(concat!(env!("OUT_DIR"), "/bell.rs"));
include!(concat!(env!("OUT_DIR"), "/wait.rs"));
include!(concat!(env!("OUT_DIR"), "/calls.rs"));
include!(concat!(env!("OUT_DIR"), "/lookup.rs"));
include!(concat!(env!("OUT_DIR"), "/alloc.rs"));
include!(concat!(env!("OUT_DIR"), "/meeting.rs"));
include!(concat!(env!("OUT_DIR"), "/team.rs"));
include!(concat!(env!("OUT_DIR"), "/teams.rs"));
include!(concat!(env!("OUT_DIR"), "/making.rs"));
include!(concat!(env!("OUT_DIR"), "/marks.rs"));
include!(concat!(env!("OUT_DIR"), "/numbers.rs"));
include!(concat!(env!("OUT_DIR"), "/split.rs"));
include!(concat!(env!("OUT_DIR"), "/join.rs"));
include!(concat!(env!("OUT_DIR"), "/releases.rs"));
include!(concat!(env!("OUT_DIR"), "/runtime.rs"));
include!(concat!(env!("OUT_DIR"), "/liveness.rs"));

/// The functions that write the words of the control block.
mod shared_words {
    use super::super::sync::Ordering;
    use super::super::sync::Ordering::*;
    use super::*;
    use crate::weak::{ordering, weak};
    include!(concat!(env!("OUT_DIR"), "/shared_words.rs"));
}

/// A panic ends a model, so no lock is poisoned.
mod lock {
    use super::super::sync::{Mutex, MutexGuard, RwLock};
    use std::ops::{Deref, DerefMut};

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }

    pub(super) fn read<T>(lock: &RwLock<T>) -> impl Deref<Target = T> {
        lock.read().unwrap()
    }

    pub(super) fn write<T>(lock: &RwLock<T>) -> impl DerefMut<Target = T> {
        lock.write().unwrap()
    }
}

/// The names by which the core's files call each other.
mod doorbell {
    pub(super) use super::{ring_everyone, ring_pe, ring_team};
}

/// Mirrors job/stops.rs: nobody is stopped here.
mod stops {
    use super::{Control, Operation, Pe, Result};

    pub(super) fn check(_control: &Control, _me: Pe, _operation: Operation) -> Result<()> {
        Ok(())
    }

    pub(super) fn forward(_control: &Control) {}
}

mod wait {
    use std::sync::Arc;

    /// The model has nothing that ends a stream's waits from outside.
    pub(super) fn run_stream<T>(_stop: Arc<T>) {}
}

use board::pid_of;

pub(crate) mod board;
pub(crate) mod stream;

mod team {
    pub(super) use super::{breaks, broken};

    pub(super) fn name(_index: u32) -> String {
        String::new()
    }

    pub(super) fn short_name(_index: u32) -> String {
        String::new()
    }
}
use team::name;

mod error {
    use super::{Pe, Result};

    pub(super) fn check_pe(_argument: &'static str, pe: Pe, n_pes: Pe) -> Result<()> {
        assert!((0..n_pes).contains(&pe));
        Ok(())
    }
}

fn now_ns() -> u64 {
    0
}

fn round_up(value: u64, to: u64) -> Option<u64> {
    Some(value.next_multiple_of(to))
}

/// The text of an error needs no words here.
fn error_words(_error: &Error) -> [u64; PAYLOAD_WORDS] {
    [0; PAYLOAD_WORDS]
}

/// Mirrors `Row` of job/block/mod.rs: the team's number stands for its place.
#[derive(Clone, Copy)]
pub(crate) struct Row(u32);

/// Mirrors `Control` of job/block/mod.rs: the views of the segment.
pub(crate) struct Control {
    header: Header,
    pes: Vec<PeBlock>,
    /// By team number and PE.
    teams: Vec<Vec<(TeamBlock, [Slot; 2])>>,
}

/// Mirrors `Hosts` of job/hosts.rs: a model has one host.
pub(crate) struct Hosts;

impl Hosts {
    fn holds(&self, _: (Pe, Pe)) -> bool {
        true
    }
}

/// Mirrors `RemoteHosts` of job/remote/mod.rs: a model has one host.
pub(crate) enum RemoteHosts {}

impl RemoteHosts {
    fn send_state(&self, _: &Control) {}
    fn announce_gone(&self, _: &Control, _: Pe, _: State) {}
    fn send_join_slot(&self, _: &Control, _: &JoinSlot) {}
    fn send_broken(&self, _: u32, _: Pe, _: u64) -> bool {
        false
    }
}

/// Mirrors `Relay` of collectives/hosts.rs.
struct Relay;

impl Relay {
    fn step(&mut self) {}
}

impl CollectiveCall<'_> {
    fn relay(&self, _: u64) -> Option<Relay> {
        None
    }

    fn site(&self) -> u16 {
        self.site
    }
}

impl Control {
    /// A model has no descriptors.
    fn check_descriptor(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn remote(&self) -> Option<&RemoteHosts> {
        None
    }

    pub(crate) fn n_pes(&self) -> Pe {
        self.pes.len() as Pe
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn pe(&self, pe: Pe) -> &PeBlock {
        &self.pes[pe as usize]
    }

    pub(crate) fn row(&self, team: u32) -> Row {
        Row(team)
    }

    pub(crate) fn team(&self, team: u32, pe: Pe) -> &TeamBlock {
        self.block(self.row(team), pe)
    }

    pub(crate) fn block(&self, row: Row, pe: Pe) -> &TeamBlock {
        &self.teams[row.0 as usize][pe as usize].0
    }

    pub(crate) fn slot(&self, row: Row, pe: Pe, epoch: u64) -> &Slot {
        let turn = if weak("slots: one instead of two") {
            0
        } else {
            epoch & 1
        };
        &self.teams[row.0 as usize][pe as usize].1[turn as usize]
    }
}

/// Mirrors `Heap` and its `State` of heap/mod.rs, over the core's own allocator.
pub(crate) struct Heap {
    state: Mutex<HeapState>,
}

pub(crate) struct HeapState {
    pub(crate) allocator: Allocator,
    released: HashSet<u32>,
    /// The allocations that this PE has freed, in order.
    pub(crate) freed: Vec<u64>,
}

impl Heap {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HeapState> {
        self.state.lock().unwrap()
    }
}

impl HeapState {
    fn owned(&self, offset: u64, _address: u64) -> Result<Block> {
        Ok(*self.allocator.find(offset).expect("the block is live"))
    }
}

/// A transport that does collectives by itself, which no model has.
pub(crate) enum Collectives {}

impl Collectives {
    fn clear_team(&self, _index: u32) -> Result<()> {
        match *self {}
    }

    fn make_team(&self, _index: u32, _pes: &[Pe], _me: Pe, _born: u64) {
        match *self {}
    }

    fn end_team(&self, _index: u32) {
        match *self {}
    }

    fn give_up_team(&self, _index: u32) -> bool {
        match *self {}
    }

    fn begun(&self, _index: u32) -> u64 {
        match *self {}
    }

    fn await_team(&self, _operation: Operation, _index: u32) -> Option<Result<()>> {
        match *self {}
    }
}

/// The teams' tables for kernels, which no model has.
pub(crate) enum DeviceTables {}

impl DeviceTables {
    fn clear_team(&self, _index: u32) -> Result<()> {
        match *self {}
    }

    fn make_team(&self, _index: u32, _generation: u32, _pes: &[Pe], _me: Pe) {
        match *self {}
    }

    fn end_team(&self, _index: u32) {
        match *self {}
    }
}

/// The transport of a job that is not checked.
pub(crate) struct Unchecked;

/// The checker, which such a job lacks.
pub(crate) enum Checker {}

impl Unchecked {
    pub(crate) fn observer(&self) -> Option<&Checker> {
        None
    }

    fn collectives(&self) -> Option<&Collectives> {
        None
    }

    fn internal(&self) -> &Unchecked {
        self
    }

    fn any(&self) -> &Unchecked {
        self
    }

    fn device_tables(&self) -> Option<&DeviceTables> {
        None
    }

    /// Operations on host memory cannot fail.
    fn failure(&self) -> Result<()> {
        Ok(())
    }
}

/// Mirrors the part of `Inner` that the protocols use.
pub(crate) struct Inner {
    pub(crate) my_pe: Pe,
    pub(crate) n_pes: Pe,
    pub(crate) transport: Unchecked,
    pub(crate) control: Arc<Control>,
    pub(crate) teams: Teams,
    pub(crate) heap: Heap,
    /// After how many looks a wait's deadline has passed.
    pub(crate) patience: Option<u32>,
}

impl Inner {
    /// A model has no launcher.
    fn blame(&self, _: Pe) {}

    /// No PE of a model asks all processes to exit.
    fn exit_if_asked(&self) {}
}

/// The team numbers of a job, all but the last given to a team of all PEs; its handle is [`all`].
pub(crate) struct Numbers {
    pub(crate) taken: u32,
    pub(crate) free: u32,
}

/// The handle of the team of all PEs that has a number from the start.
pub(crate) fn all(number: u32) -> Team {
    Team(1 << 32 | u64::from(number))
}

/// A job's PEs, with one team of all of them.
pub(crate) fn job(n_pes: Pe, blocks: usize) -> Vec<Arc<Inner>> {
    job_with(n_pes, blocks, Numbers { taken: 1, free: 0 })
}

/// A job's PEs, with `blocks` allocations of 64 bytes.
pub(crate) fn job_with(n_pes: Pe, blocks: usize, numbers: Numbers) -> Vec<Arc<Inner>> {
    let member = |_| (TeamBlock::default(), Default::default());
    let teams = |_| (0..n_pes).map(member).collect();
    let count = numbers.taken + numbers.free;
    let control = Arc::new(Control {
        header: Header::default(),
        pes: (0..n_pes).map(|_| PeBlock::default()).collect(),
        teams: (0..count).map(teams).collect(),
    });
    for pe in 0..n_pes {
        control
            .pe(pe)
            .state
            .overwrite(State::Active as u32, Relaxed);
    }
    let inner = |my_pe| {
        let mut allocator = Allocator::new(1 << 12);
        for _ in 0..blocks {
            allocator
                .allocate(GRANULE, GRANULE)
                .expect("the heap has room");
        }
        let states: Box<[TeamState]> = (0..count)
            .map(|number| TeamState::free(&control, number))
            .collect();
        for number in 0..numbers.taken {
            states[number as usize].set(
                &control,
                all(number),
                &Members::strided(0, 1, n_pes),
                my_pe,
                0,
            );
        }
        Arc::new(Inner {
            my_pe,
            n_pes,
            transport: Unchecked,
            control: Arc::clone(&control),
            teams: Teams {
                states,
                pool: Mutex::new(Pool {
                    used: [!(((1 << numbers.free) - 1) << numbers.taken)],
                    lost: 0,
                    generation: 1,
                }),
            },
            heap: Heap {
                state: Mutex::new(HeapState {
                    allocator,
                    released: HashSet::new(),
                    freed: Vec::new(),
                }),
            },
            patience: None,
        })
    };
    (0..n_pes).map(inner).collect()
}

impl Inner {
    /// Begins a collective on the team of all PEs.
    pub(crate) fn collective(&self) -> CollectiveCall<'_> {
        self.enter(all(0), Operation::Barrier)
            .expect("the team is whole")
    }

    fn site(&self, _called: Operation) -> u16 {
        0
    }

    /// Calls are not recorded here.
    fn span_of_collective(
        &self,
        _: Operation,
        _: u32,
        _: impl FnOnce() -> u64,
    ) -> Option<Span<'_>> {
        None
    }

    /// Mirrors `wait_long` of wait.rs without its timed sleeps: polls, and checks the conditions that may end a wait.
    fn wait<T>(
        &self,
        wait: Wait,
        mut ready: impl FnMut() -> std::result::Result<T, u64>,
    ) -> Result<T> {
        let mut looks = 0;
        loop {
            if let Ok(value) = ready() {
                return Ok(value);
            }
            self.check_job(wait.operation)?;
            if let Target::Team { index, .. } = wait.target {
                self.check_team(wait.operation, self.team_state(index))?;
            }
            if self.patience == Some(looks) {
                return Err(self.timeout(wait.operation));
            }
            looks += 1;
            yield_now();
        }
    }

    /// Mirrors `ready` of runtime/mod.rs: nobody forks or finalizes here.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn timeout(&self, operation: Operation) -> Error {
        Error::Timeout {
            operation: operation.name(),
            me: self.my_pe,
            waited: Duration::ZERO,
            variable: "",
            detail: String::new(),
        }
    }

    /// Mirrors `drop_block` of memory_management/mod.rs.
    fn drop_block(&self, state: &mut HeapState, offset: u64, _site: u16) {
        if let Some(block) = state.allocator.free(offset) {
            state.released.remove(&block.id);
            state.freed.push(block.offset);
        }
    }
}

impl CollectiveCall<'_> {
    fn meet_checked(
        &self,
        check: &Checker,
        _operation: Operation,
        _args: [u64; ARGS],
        _payload: &[u64],
    ) -> Result<u64> {
        match *check {}
    }

    /// The words of a mismatch need not be found here.
    fn explain(&self, _operation: Operation, epoch: u64) -> Error {
        Error::Internal(format!("mismatch in epoch {epoch}"))
    }
}

impl Line {
    pub(crate) fn new() -> Line {
        Line::default()
    }
}

/// The barrier that wakers do without, and the sleeper's part of it.
fn full_barrier() {
    weak("doorbell: as it is");
    if weak("doorbell: full barriers") {
        fence(SeqCst);
    }
}

/// The sleeper's second look.
fn looks_again<T, S>(
    ready: &mut impl FnMut() -> std::result::Result<T, S>,
) -> std::result::Result<(), ()> {
    full_barrier();
    if weak("doorbell: no second look") {
        return Err(());
    }
    ready().map(drop).map_err(drop)
}

/// The ring count that the futex compares.
fn late(early: u32, rings: &SharedU32) -> u32 {
    if weak("doorbell: rings read late") {
        rings.load(Acquire)
    } else {
        early
    }
}

pub(crate) mod futex;
