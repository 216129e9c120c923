//! The other hosts of a job: control messages that mirror there the stores of [`shared_words`].
//!
//! Every host has a control block of the whole job, in which the words of PEs of other hosts are mirrors: so reading is a load everywhere. A
//! PE stores to the block of its own host, and sends a control message to one PE of each other host, whose progress thread stores the same
//! words there. Messages from one PE to one host are processed in order. Words that only reports read are sent on request.
//!
//! The states active and finalizing, which all PEs reach at about the same time, travel by [`dissemination`].
//!
//! A control message is a sequence of words: its kind, then its contents. [`open`] checks each part before it stores it: a PE may only change
//! mirrors of the PEs of its own host. Any other message is an error that names its sender.

mod control_messages;
mod dissemination;
mod reports;

pub use control_messages::{ArrivalMessage, open};

use super::block::{Control, JoinSlot, PeBlock};
use super::hosts::Hosts;
use super::shared_words::{SharedU32, SharedU64};
use super::state::State;
use crate::Pe;
use crate::clock::now_ns;
use control_messages::Kind;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// Teams in one message.
const TEAMS: usize = 64;
/// How much earlier other hosts learn of a death than the PEs of this host, so that calls return on all hosts at about the same time. mpirun
/// kills all PEs soon after the first has ended, and PEs that are in a call then cannot report why.
const LEAD_TIME: Duration = Duration::from_millis(1);

/// Sends control messages to PEs of other hosts.
pub trait ControlChannel: Send + Sync {
    /// Sends a message to a PE, after all earlier ones to that PE. Never waits.
    fn send(&self, to: Pe, message: &[u64]);

    /// Gives sent messages a moment to leave this process.
    fn flush_out(&self);

    /// Receives messages.
    fn progress(&self);
}

/// The other hosts, as one PE reaches them.
pub struct RemoteHosts {
    hosts: Hosts,
    channel: Arc<dyn ControlChannel>,
    queries: reports::Queries,
    finalize_records: dissemination::FinalizeRecords,
    has_met: AtomicBool,
    /// Whether this PE never announces itself (see [`dissemination`]).
    rounds_only: AtomicBool,
}

impl fmt::Debug for RemoteHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteHosts({:?})", self.hosts)
    }
}

/// Contiguous words of the block: the offset of the first, and their bytes.
#[derive(Clone, Copy)]
struct Span {
    offset: u64,
    bytes: u64,
}

impl Span {
    /// The words of a part of the block, which consists of [`SharedU32`] and [`SharedU64`].
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

impl RemoteHosts {
    pub fn new(hosts: Hosts, channel: Arc<dyn ControlChannel>) -> RemoteHosts {
        RemoteHosts {
            hosts,
            channel,
            queries: reports::Queries::default(),
            finalize_records: dissemination::FinalizeRecords::default(),
            has_met: AtomicBool::new(false),
            rounds_only: AtomicBool::new(false),
        }
    }

    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Sends a message to a host.
    pub fn send(&self, host: usize, message: &[u64]) {
        self.channel.send(self.hosts.receiver(host), message);
    }

    fn send_all(&self, message: &[u64]) {
        for host in self.hosts.others() {
            self.send(host, message);
        }
    }

    /// Sends that this PE has finalized, if a PE may wait for it. Earlier states travel by [`dissemination`].
    pub fn send_state(&self, control: &Control) {
        let block = control.pe(self.hosts.me());
        // A PE that has seen all PEs in finalize waits only for PE 0, in case PE 0 writes a list first.
        let writes = self.hosts.me() == 0 && block.unfreed[0].load(Relaxed) != 0;
        if state(block) == State::Finalized && (writes || !self.has_met()) {
            // A PE that has not met the others may not have announced this before.
            self.disseminate(State::Finalizing).announce(control);
            self.send_all(&words(control, &[Span::of(control, &block.state)]));
        }
    }

    /// All PEs have entered finalize.
    pub fn set_met(&self) {
        self.has_met.store(true, Relaxed);
    }

    /// Whether this PE has seen all PEs in finalize: none of them can be missing any more.
    #[inline]
    pub fn has_met(&self) -> bool {
        self.has_met.load(Relaxed)
    }

    /// Sends a heartbeat to one other host: the next one with PEs that are still in the job.
    pub fn send_heartbeat(&self, control: &Control) {
        let finalize_records = |&host: &usize| {
            let states = self.hosts.pes(host).iter().map(|&pe| state(control.pe(pe)));
            states
                .into_iter()
                .any(|state| matches!(state, State::Active | State::Finalizing))
        };
        if let Some(host) = self.hosts.others().find(finalize_records) {
            let block = control.pe(self.hosts.me());
            self.send(host, &words(control, &[Span::of(control, &block.beats)]));
        }
    }

    /// Sends a join slot: the team that its thread creates, its offer and its phase. The members are not known, so all hosts get it: each
    /// forwards it.
    pub fn send_join_slot(&self, control: &Control, slot: &JoinSlot) {
        let spans = [
            Span::from_to(control, &slot.unique_id, &slot.offer),
            Span::of(control, &slot.phase),
        ];
        let words = &words(control, &spans)[1..];
        self.forward(self.hosts.me(), self.hosts.count(), words);
    }

    /// Forwards words of a join slot to `span` hosts from this host on, which has them. The paths are always the same, so that later words
    /// arrive later.
    fn forward(&self, pe: Pe, mut span: usize, words: &[u64]) {
        let (count, mine) = (self.hosts.count(), self.hosts.mine());
        while span > 1 {
            let theirs = span / 2;
            span -= theirs;
            let head = [Kind::JoinSlot as u64, pe as u64, theirs as u64];
            self.send((mine + span) % count, &[&head, words].concat());
        }
    }

    /// Sends that a PE is gone, and waits until the messages have left.
    pub(crate) fn announce_gone(&self, control: &Control, pe: Pe, state: State) {
        self.send_gone(control, pe, state);
        self.channel.flush_out();
        std::thread::sleep(LEAD_TIME);
    }

    /// Sends that a PE is gone.
    pub fn send_gone(&self, control: &Control, pe: Pe, state: State) {
        let header = control.header();
        let (first, exit) = (header.first_gone.load(Acquire), header.exit.load(Acquire));
        let words = [u64::from(first), u64::from(exit)];
        self.send_all(&[&[Kind::Gone as u64, pe as u64, state as u64], &words[..]].concat());
    }

    /// Sends that a PE of this host has been stopped since `since`.
    pub(crate) fn send_stopped(&self, pe: Pe, since: u64) {
        // Each host has a clock of its own.
        let stopped_for = now_ns().saturating_sub(since);
        self.send_all(&[Kind::Stopped as u64, pe as u64, stopped_for]);
    }

    /// Sends that a PE of this host runs again.
    pub(crate) fn send_continued(&self, pe: Pe) {
        self.send_all(&[Kind::Continued as u64, pe as u64]);
    }

    /// Sends to a member on another host that its team is broken; false for a member of this host.
    pub fn send_broken(&self, team: u32, pe: Pe, mark: u64) -> bool {
        let remote = !self.hosts.is_local(pe);
        if remote {
            let message = [Kind::Broken as u64, u64::from(team), pe as u64, mark];
            self.send(self.hosts.of(pe), &message);
        }
        remote
    }
}

/// The activity of a PE.
#[inline]
pub fn state(block: &PeBlock) -> State {
    State::from_number(block.state.load(Acquire))
}

/// A message with the present values of words. They are stored in this order.
fn words(control: &Control, spans: &[Span]) -> Vec<u64> {
    let mut message = vec![Kind::Words as u64];
    for span in spans {
        message.push(control_messages::run(span.offset, span.bytes));
        for (offset, wide) in control_messages::steps(span.offset, span.bytes) {
            message.push(match wide {
                true => control.segment().view::<SharedU64>(offset).load(Relaxed),
                false => u64::from(control.segment().view::<SharedU32>(offset).load(Relaxed)),
            });
        }
    }
    message
}
