//! The control messages between hosts, and how the receiver processes them.

use super::{RemoteHosts, Span, dissemination, reports};
use crate::Pe;
use crate::block::{Control, MAX_TEAMS, PAYLOAD_WORDS};
use crate::clock::now_ns;
use crate::hosts::Hosts;
use crate::operation::ARGS;
use crate::shared_words::{self, Arrival};
use crate::state::State;
use crate::{doorbell, liveness};
use std::sync::atomic::Ordering::Relaxed;

/// The kind of a message. Each variant names the words that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Kind {
    /// Runs of words of the block: offset and number, then the words.
    Words = 1,
    /// A PE is gone: its number, how it ended, the first PE that was gone (plus 1), and the status of `global_exit` (plus 1), or 0.
    Gone = 2,
    /// A PE is stopped: its number, and for how long.
    Stopped = 3,
    /// A PE is not stopped any more.
    Continued = 4,
    /// A team is broken: its number, the receiving member, the mark.
    Broken = 5,
    /// Members have arrived in an epoch of a team: see [`ArrivalMessage`].
    Arrivals = 6,
    /// The sender requests the waits of the receiver's PEs: the number of the query.
    Query = 7,
    /// The waits of a PE: its number, the clock there, the number of ended waits, the waits.
    Waits = 8,
    /// The teams of a PE: its number; of each team its number and members, the next member, the number of collectives.
    Teams = 9,
    /// A query has been answered: its number.
    QueryAnswered = 10,
    /// PEs of other hosts than the receiver's have reached a state: see [`dissemination`](super::dissemination).
    Reached = 11,
    /// A join slot of `team_init`, which hosts forward: its PE, the number of hosts from the receiver on that must get it, then as
    /// [`Words`](Kind::Words).
    JoinSlot = 12,
}

const KINDS: [Kind; 12] = [
    Kind::Words,
    Kind::Gone,
    Kind::Stopped,
    Kind::Continued,
    Kind::Broken,
    Kind::Arrivals,
    Kind::Query,
    Kind::Waits,
    Kind::Teams,
    Kind::QueryAnswered,
    Kind::Reached,
    Kind::JoinSlot,
];

/// A run of words encoded in a word: its offset, and its length in units of 4 bytes.
pub(super) fn run(offset: u64, bytes: u64) -> u64 {
    ((bytes / 4) << 40) | offset
}

/// The offset of each word of a run, and whether it has 8 bytes; else 4.
pub(super) fn steps(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, bool)> {
    let end = offset + bytes;
    let next = move |at: &u64| {
        let wide = at.is_multiple_of(8) && end - at >= 8;
        Some(at + if wide { 8 } else { 4 })
    };
    std::iter::successors(Some(offset), next)
        .take_while(move |&at| at < end)
        .map(move |at| (at, at.is_multiple_of(8) && end - at >= 8))
}

/// The words of a message that have not been read.
struct Reader<'a>(&'a [u64]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u64]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn pe(&mut self, hosts: &Hosts) -> Option<Pe> {
        let pe = Pe::try_from(self.next()?).ok()?;
        (0..hosts.n_pes()).contains(&pe).then_some(pe)
    }
}

/// Writes the remaining runs of words, if `may` allows them.
fn apply_words(
    control: &Control,
    rest: &mut Reader<'_>,
    may: impl Fn(u64, u64) -> bool,
) -> Option<()> {
    while let Some(head) = rest.next() {
        let (offset, bytes) = (head & ((1 << 40) - 1), (head >> 40) * 4);
        may(offset, bytes).then_some(())?;
        let words = rest.take(steps(offset, bytes).count())?;
        shared_words::mirror(control, steps(offset, bytes).zip(words));
    }
    doorbell::ring_team(control);
    Some(())
}

/// The arrivals of members in an epoch of a team, as a message. It begins with a call: operation and status number, signature, arguments.
/// For each member follow its PE and the number of words of its payload, its call if that differs, and the payload.
pub struct ArrivalMessage;

/// Room, in words, for a message of some members without payload.
const SHORT: usize = 32;

/// The flag of a member whose call differs.
const OWN_CALL: u64 = 1 << 63;

impl ArrivalMessage {
    /// Begins a message about members of a team in an epoch, most of which have made `call`.
    pub fn begin(team: u32, epoch: u64, call: &Arrival<'_>) -> Vec<u64> {
        let mut message = Vec::with_capacity(SHORT);
        message.extend([Kind::Arrivals as u64, u64::from(team), epoch]);
        ArrivalMessage::add_call(&mut message, call);
        message
    }

    /// Adds a member.
    pub fn add(message: &mut Vec<u64>, pe: Pe, call: &Arrival<'_>, arrival: &Arrival<'_>) {
        let words = arrival.payload.len() as u64;
        let same = (call.signature, call.error) == (arrival.signature, arrival.error);
        let own = if same { 0 } else { OWN_CALL };
        message.push(pe as u64 | words << 32 | own);
        if !same {
            ArrivalMessage::add_call(message, arrival);
        }
        message.extend(arrival.payload);
    }

    fn add_call(message: &mut Vec<u64>, call: &Arrival<'_>) {
        let said = u64::from(call.operation) | u64::from(call.error) << 32;
        message.extend([said, call.signature]);
        message.extend(call.args);
    }

    /// Reads a call.
    fn call<'a>(rest: &mut Reader<'a>) -> Option<Arrival<'a>> {
        let (said, signature) = (rest.next()?, rest.next()?);
        Some(Arrival {
            operation: said as u32 & 0xffff,
            args: rest.take(ARGS)?.try_into().ok()?,
            error: (said >> 32) as u32,
            payload: &[],
            signature,
        })
    }
}

/// Processes a message that PE `from` has sent to this host. None: it is malformed, and the rest of it is ignored.
///
/// `control` must be without [`RemoteHosts`]: words stored here are not sent to other hosts again.
pub fn open(control: &Control, remote: &RemoteHosts, from: Pe, message: &[u64]) -> Option<()> {
    let hosts = remote.hosts();
    let theirs = hosts.of(from);
    if theirs == hosts.mine() {
        return None;
    }
    let is_theirs = |pe: Pe| hosts.of(pe) == theirs;
    let mut rest = Reader(message);
    let number = rest.next()?;
    match *KINDS.iter().find(|kind| **kind as u64 == number)? {
        Kind::Words => apply_words(control, &mut rest, |offset, bytes| {
            control.mirrors(offset, bytes).is_some_and(is_theirs)
        })?,
        Kind::JoinSlot => {
            let pe = rest.pe(hosts).filter(|&pe| !hosts.is_local(pe))?;
            let span = usize::try_from(rest.next()?).ok()?;
            (1..=hosts.count()).contains(&span).then_some(())?;
            let (words, slots) = (rest.0, Span::of(control, &control.pe(pe).joins));
            apply_words(control, &mut rest, |offset, bytes| {
                control.mirrors(offset, bytes) == Some(pe) && slots.holds(offset, bytes)
            })?;
            remote.forward(pe, span, words);
        }
        Kind::Gone => {
            let (pe, how, first) = (rest.pe(hosts)?, rest.next()?, rest.next()?);
            let state = State::from_number(u32::try_from(how).ok()?);
            matches!(state, State::Left | State::Dead).then_some(())?;
            // The sender has lost a PE of this host, which knows more about it: that PE may have given up in init, for one.
            if hosts.is_local(pe) {
                return Some(());
            }
            if let Some(first) = Pe::try_from(first).ok()?.checked_sub(1) {
                (first < hosts.n_pes()).then_some(())?;
                shared_words::set_first_gone(control.header(), first);
            }
            let exit = u32::try_from(rest.next()?).ok()?;
            if exit != 0 {
                shared_words::set_exit(control.header(), exit);
            }
            liveness::mark_gone(control, pe, state);
        }
        Kind::Stopped => {
            let (pe, stopped_for) = (rest.pe(hosts).filter(|&pe| is_theirs(pe))?, rest.next()?);
            let since = now_ns().saturating_sub(stopped_for).max(1);
            if shared_words::set_stopped(control, pe, since) {
                doorbell::ring_everyone(control);
            }
        }
        Kind::Continued => {
            let pe = rest.pe(hosts).filter(|&pe| is_theirs(pe))?;
            shared_words::clear_stopped(control, pe);
        }
        Kind::Broken => {
            let (team, pe, mark) = (rest.next()?, rest.pe(hosts)?, rest.next()?);
            let by = (mark & 0xf_ffff).checked_sub(1)?;
            let sound = team < MAX_TEAMS as u64 && hosts.is_local(pe) && by < hosts.n_pes() as u64;
            sound.then_some(())?;
            shared_words::mark_broken(control.team(team as u32, pe), mark);
            doorbell::ring_team(control);
        }
        Kind::Arrivals => {
            let (team, epoch) = (rest.next()?, rest.next()?);
            (team < MAX_TEAMS as u64 && epoch > 0).then_some(())?;
            let row = control.row(team as u32);
            let common = ArrivalMessage::call(&mut rest)?;
            while let Some(head) = rest.next() {
                let pe = Pe::try_from(head & 0xffff_ffff).ok()?;
                let count = (head >> 32 & 0x7fff_ffff) as usize;
                let there = (0..hosts.n_pes()).contains(&pe) && !hosts.is_local(pe);
                (there && count <= PAYLOAD_WORDS).then_some(())?;
                let call = match head & OWN_CALL {
                    0 => common,
                    _ => ArrivalMessage::call(&mut rest)?,
                };
                let arrival = Arrival {
                    payload: rest.take(count)?,
                    ..call
                };
                let slot = control.slot(row, pe, epoch);
                // Of an earlier team with this number, which was broken.
                if slot.epoch.load(Relaxed) > epoch {
                    continue;
                }
                // A PE that still looks at an earlier team's epoch here must see first that the slot is another team's now. No PE looks for this
                // number in this slot.
                shared_words::advance_slot(slot, epoch - 1);
                shared_words::publish_arrival(slot, epoch, arrival);
            }
            doorbell::ring_team(control);
        }
        Kind::Query => remote.answer_query(control, from, rest.next()?),
        Kind::Waits => {
            let pe = rest.pe(hosts).filter(|&pe| is_theirs(pe))?;
            reports::apply_waits(control, pe, theirs, std::mem::take(&mut rest.0))?;
        }
        Kind::Teams => {
            let pe = rest.pe(hosts).filter(|&pe| is_theirs(pe))?;
            reports::apply_teams(control, pe, std::mem::take(&mut rest.0))?;
        }
        Kind::QueryAnswered => remote.query_answered(rest.next()?),
        Kind::Reached => {
            dissemination::apply_reached(control, remote, std::mem::take(&mut rest.0))?;
            doorbell::ring_team(control);
        }
    }
    rest.0.is_empty().then_some(())
}
