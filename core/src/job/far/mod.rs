//! The other hosts of a job: what is told there besides the store that [`tell`] makes here.
//!
//! Every host has a control block of the whole job. The words of PEs of other hosts are mirrors there, so reading is a load everywhere.
//! What a PE tells it writes to the block of its own host, and sends a letter to one PE of each other host, whose network thread
//! writes the same to the block there. Letters from one PE to one host are opened in order. What only reports read is not sent.
//!
//! That a PE is there, and that it finalizes, travel in [`rounds`], as all PEs tell it at about the same time.
//!
//! A letter is a few words: what it is, then its contents. [`open`] checks each part before it writes it: a PE may only change what mirrors the PEs
//! of its own host, and a letter that says anything else is an error that names its sender.

mod letters;
mod reports;
mod rounds;

pub(crate) use letters::{Arrived, open};

use super::block::{Control, JoinSlot, PeBlock};
use super::hosts::Hosts;
use super::state::State;
use super::tell::{Told32, Told64};
use crate::Pe;
use crate::clock::now_ns;
use letters::Kind;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// Teams in one letter.
const TEAMS: usize = 64;
/// How much earlier other hosts hear of a death than the PEs of this one, so that calls return on all hosts at about the same time. mpirun
/// ends all PEs soon after the first has ended, and those that are in a call then do not say why.
const EARLIER: Duration = Duration::from_millis(1);

/// What brings letters to PEs of other hosts.
pub(crate) trait Courier: Send + Sync {
    /// Brings a letter to a PE, after those that it was given for that PE before. Never waits.
    fn carry(&self, to: Pe, letter: &[u64]);

    /// Gives letters that are on their way a moment to leave this process.
    fn see_off(&self);

    /// Takes what has come.
    fn progress(&self);
}

/// The way of a PE to the other hosts.
pub(crate) struct Far {
    hosts: Hosts,
    courier: Arc<dyn Courier>,
    asked: reports::Asked,
    heard: rounds::Heard,
    met: AtomicBool,
    /// Whether this PE waits for rounds as long as they take.
    patient: AtomicBool,
}

impl fmt::Debug for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Far({:?})", self.hosts)
    }
}

/// Words of the block that follow each other: where the first is, and how many bytes they are.
#[derive(Clone, Copy)]
struct Span {
    offset: u64,
    bytes: u64,
}

impl Span {
    /// The words of a part of the block, which consists of [`Told32`] and [`Told64`].
    fn of<T>(control: &Control, part: &T) -> Span {
        Span {
            offset: std::ptr::from_ref(part) as u64 - control.segment().base(),
            bytes: size_of::<T>() as u64,
        }
    }

    /// Whether some bytes are among them.
    fn holds(&self, offset: u64, bytes: u64) -> bool {
        offset >= self.offset && offset + bytes <= self.offset + self.bytes
    }

    /// From the first part to the end of the last.
    fn from_to<A, B>(control: &Control, first: &A, last: &B) -> Span {
        let (first, last) = (Span::of(control, first), Span::of(control, last));
        Span {
            offset: first.offset,
            bytes: last.offset + last.bytes - first.offset,
        }
    }
}

impl Far {
    pub(crate) fn new(hosts: Hosts, courier: Arc<dyn Courier>) -> Far {
        Far {
            hosts,
            courier,
            asked: reports::Asked::default(),
            heard: rounds::Heard::default(),
            met: AtomicBool::new(false),
            patient: AtomicBool::new(false),
        }
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Brings a letter to a host.
    pub(crate) fn send(&self, host: usize, letter: &[u64]) {
        self.courier.carry(self.hosts.receiver(host), letter);
    }

    fn send_all(&self, letter: &[u64]) {
        for host in self.hosts.others() {
            self.send(host, letter);
        }
    }

    /// Tells that this PE has finalized, where somebody may wait for it. What it came to before, all hear of in [`rounds`].
    pub(crate) fn state(&self, control: &Control) {
        let block = control.pe(self.hosts.me());
        // Who has seen all PEs in finalize waits for PE 0 only, if that writes a list first.
        let writes = self.hosts.me() == 0 && block.unfreed[0].load(Relaxed) != 0;
        if state(block) == State::Finalized && (writes || !self.has_met()) {
            // Who has not met the others may not have said so before.
            self.rounds(State::Finalizing).tell_all(control);
            self.send_all(&words(control, &[Span::of(control, &block.state)]));
        }
    }

    /// All PEs have come to finalize.
    pub(crate) fn meets(&self) {
        self.met.store(true, Relaxed);
    }

    /// Whether all PEs have come to finalize, as this one has seen: none of them is missed any more.
    pub(crate) fn has_met(&self) -> bool {
        self.met.load(Relaxed)
    }

    /// Tells one other host that this PE runs: the next one on which there are PEs to hear it.
    pub(crate) fn beat(&self, control: &Control) {
        let heard = |&host: &usize| {
            let states = self.hosts.pes(host).iter().map(|&pe| state(control.pe(pe)));
            states
                .into_iter()
                .any(|state| matches!(state, State::Active | State::Finalizing))
        };
        if let Some(host) = self.hosts.others().find(heard) {
            let block = control.pe(self.hosts.me());
            self.send(host, &words(control, &[Span::of(control, &block.beats)]));
        }
    }

    /// Tells what the thread in a seat looks for, offers, and how far it has come. Nobody knows who waits for it, so all hosts hear of it:
    /// each tells it on.
    pub(crate) fn seat(&self, control: &Control, seat: &JoinSlot) {
        let spans = [
            Span::from_to(control, &seat.unique_id, &seat.offer),
            Span::of(control, &seat.phase),
        ];
        let words = &words(control, &spans)[1..];
        self.tell_on(self.hosts.me(), self.hosts.count(), words);
    }

    /// Tells words of a seat of a PE to so many hosts from this one on, which has them. Always by the same ways, so that what is told later
    /// comes later.
    fn tell_on(&self, pe: Pe, mut span: usize, words: &[u64]) {
        let (count, mine) = (self.hosts.count(), self.hosts.mine());
        while span > 1 {
            let theirs = span / 2;
            span -= theirs;
            let head = [Kind::Seat as u64, pe as u64, theirs as u64];
            self.send((mine + span) % count, &[&head, words].concat());
        }
    }

    /// Tells that a PE is gone, and sees to it that the letters leave.
    pub(crate) fn gone(&self, control: &Control, pe: Pe, state: State) {
        self.pass_on(control, pe, state);
        self.courier.see_off();
        std::thread::sleep(EARLIER);
    }

    /// Tells that a PE is gone.
    pub(crate) fn pass_on(&self, control: &Control, pe: Pe, state: State) {
        let first = control.header().first_gone.load(Acquire);
        self.send_all(&[Kind::Gone as u64, pe as u64, state as u64, u64::from(first)]);
    }

    /// Tells that a PE of this host has been stopped since a moment.
    pub(crate) fn stopped(&self, pe: Pe, since: u64) {
        // Each host has a clock of its own.
        let stopped_for = now_ns().saturating_sub(since);
        self.send_all(&[Kind::Stopped as u64, pe as u64, stopped_for]);
    }

    /// Takes back that a PE of this host is stopped.
    pub(crate) fn goes_on(&self, pe: Pe) {
        self.send_all(&[Kind::GoesOn as u64, pe as u64]);
    }

    /// Tells a member on another host that its team is broken; false for one of this host.
    pub(crate) fn broken(&self, team: u32, pe: Pe, mark: u64) -> bool {
        let far = !self.hosts.is_near(pe);
        if far {
            let letter = [Kind::Broken as u64, u64::from(team), pe as u64, mark];
            self.send(self.hosts.of(pe), &letter);
        }
        far
    }
}

/// What a PE is doing.
pub(crate) fn state(block: &PeBlock) -> State {
    State::from_number(block.state.load(Acquire))
}

/// A letter with words as they are now. They are written in this order.
fn words(control: &Control, spans: &[Span]) -> Vec<u64> {
    let mut letter = vec![Kind::Words as u64];
    for span in spans {
        letter.push(letters::run(span.offset, span.bytes));
        for (offset, wide) in letters::steps(span.offset, span.bytes) {
            letter.push(match wide {
                true => control.segment().view::<Told64>(offset).load(Relaxed),
                false => u64::from(control.segment().view::<Told32>(offset).load(Relaxed)),
            });
        }
    }
    letter
}
