//! Queries of reports: the waits and the teams of remote PEs, which are sent on request.

use super::control_messages::Kind;
use super::{RemoteHosts, TEAMS, state};
use crate::Pe;
use crate::block::{Control, MAX_TEAMS, NAME_WORDS, TEXT_WORDS, WAIT_SLOTS, WaitSlot};
use crate::clock::now_ns;
use crate::lock::lock;
use crate::published::{called_words, text_words};
use crate::shared_words::{self, WaitFields};
use crate::state::State;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// How long an answer may take. Without an answer a report shows the previous state.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// Words of a wait in a message: its fields, its texts, and the name of its call; zeros stand for none.
const FIELDS: usize = 17;
const WAIT: usize = FIELDS + 2 * TEXT_WORDS + NAME_WORDS;

/// The number of hosts that have not answered a query, by its number, which is the time when it was sent.
#[derive(Default)]
pub(super) struct Queries(Mutex<(u64, HashMap<u64, usize>)>);

impl RemoteHosts {
    /// Queries the waits of the other hosts' PEs, and writes them to the block; times out soon.
    pub fn refresh_reports(&self, control: &Control) {
        let live = |pe: &Pe| matches!(state(control.pe(*pe)), State::Active | State::Finalizing);
        let receivers = self.hosts.others().map(|host| self.hosts.receiver(host));
        let receivers: Vec<Pe> = receivers.filter(live).collect();
        let number = {
            let mut queries = lock(&self.queries.0);
            let number = now_ns().max(queries.0 + 1);
            queries.0 = number;
            queries.1.insert(number, receivers.len());
            number
        };
        for pe in receivers {
            self.channel.send(pe, &[Kind::Query as u64, number]);
        }
        let until = Instant::now() + ANSWER_TIMEOUT;
        let missing = || {
            lock(&self.queries.0)
                .1
                .get(&number)
                .is_some_and(|left| *left > 0)
        };
        while missing() && Instant::now() < until {
            self.channel.progress();
            std::thread::yield_now();
        }
        lock(&self.queries.0).1.remove(&number);
    }

    /// Answers a query of a remote PE.
    pub(super) fn answer_query(&self, control: &Control, to: Pe, number: u64) {
        for &pe in self.hosts.local_pes() {
            // Waits are read before arrivals: a PE that has not arrived then had not arrived during the wait.
            let waits = waits(control, pe, number);
            let teams: Vec<[u64; 4]> = (0..MAX_TEAMS as u32)
                .filter_map(|team| {
                    let block = control.team(team, pe);
                    let n_pes = block.n_pes.load(Acquire);
                    let next = u64::from(block.next.load(Relaxed));
                    let head = u64::from(team) | u64::from(n_pes) << 32;
                    let row = control.row(team);
                    let arrived = |parity: u64| {
                        let epoch = control.slot(row, pe, parity).epoch.load(Acquire);
                        // A slot that is advanced for a new team has an epoch of the other one.
                        if epoch & 1 == parity { epoch } else { 0 }
                    };
                    let last = arrived(0).max(arrived(1));
                    (n_pes > 0).then(|| [head, next, block.calls.load(Relaxed), last])
                })
                .collect();
            for some in teams.chunks(TEAMS) {
                let mut message = vec![Kind::Teams as u64, pe as u64];
                message.extend(some.as_flattened());
                self.channel.send(to, &message);
            }
            // They come last: their number says that the teams are there, too.
            self.channel.send(to, &waits);
        }
        self.channel.send(to, &[Kind::QueryAnswered as u64, number]);
    }

    /// A host has answered.
    pub(super) fn query_answered(&self, number: u64) {
        if let Some(left) = lock(&self.queries.0).1.get_mut(&number) {
            *left = left.saturating_sub(1);
        }
    }
}

/// A message with the waits of a PE, which answers a query.
fn waits(control: &Control, pe: Pe, query: u64) -> Vec<u64> {
    let block = control.pe(pe);
    let mut message = vec![
        Kind::Waits as u64,
        pe as u64,
        query,
        now_ns(),
        block.progress.load(Relaxed),
    ];
    for (index, slot) in block.waits.iter().enumerate() {
        let id = slot.id.load(Acquire);
        if id == 0 || id == u64::MAX {
            continue;
        }
        let words: [u64; FIELDS] = [
            id,
            slot.operation.load(Relaxed).into(),
            slot.thread.load(Relaxed).into(),
            slot.kind.load(Relaxed).into(),
            slot.dtype.load(Relaxed).into(),
            slot.cmp.load(Relaxed).into(),
            slot.team.load(Relaxed).into(),
            slot.epoch.load(Relaxed),
            slot.offset.load(Relaxed),
            slot.bytes.load(Relaxed),
            slot.index.load(Relaxed),
            slot.expected.load(Relaxed),
            slot.actual.load(Relaxed),
            slot.since.load(Relaxed),
            slot.limit.load(Relaxed).into(),
            slot.until.load(Relaxed),
            slot.ended.load(Relaxed),
        ];
        message.extend(words);
        // Texts of an earlier wait in the slot are left out.
        let texts = text_words(slot, id).unwrap_or_default();
        message.extend(texts.as_flattened());
        message.extend(called_words(control, pe, index, id).unwrap_or_default());
    }
    message
}

/// Mirrors the waits of a remote PE from a message; `host` makes their numbers differ from those of other hosts.
pub(super) fn apply_waits(control: &Control, pe: Pe, host: usize, words: &[u64]) -> Option<()> {
    let [query, now, progress, waits @ ..] = words else {
        return None;
    };
    let waits = waits.chunks(WAIT);
    (waits.len() <= WAIT_SLOTS).then_some(())?;
    let block = control.pe(pe);
    shared_words::set_reported(block, 0);
    // Each host has a clock of its own.
    let here = now_ns();
    let shift = |moment: u64| here.saturating_add(moment).saturating_sub(*now);
    let mut slots = block.waits.iter();
    for (wait, called) in waits.zip(&control.called_names(pe).slots) {
        let slot: &WaitSlot = slots.next()?;
        let (wait, texts) = wait.split_at_checked(FIELDS)?;
        let (line, texts) = texts.split_first_chunk::<TEXT_WORDS>()?;
        let (allocation, name) = texts.split_first_chunk::<TEXT_WORDS>()?;
        let name = *<&[u64; NAME_WORDS]>::try_from(name).ok()?;
        let [
            id,
            operation,
            thread,
            kind,
            dtype,
            cmp,
            team,
            epoch,
            offset,
            bytes,
            index,
            expected,
            actual,
            since,
            limit,
            until,
            _,
        ] = *<&[u64; FIELDS]>::try_from(wait).ok()?;
        let words = WaitFields {
            operation: operation as u32,
            thread: thread as u32,
            kind: kind as u32,
            team: team as u32,
            dtype: dtype as u32,
            cmp: cmp as u32,
            epoch,
            offset,
            bytes,
            expected,
            since: shift(since),
            limit: limit as u32,
            until: shift(until),
        };
        let id = (id & 0xffff_ffff_ffff) | (host as u64 + 1) << 48;
        shared_words::publish_called(called, id, name);
        shared_words::publish_wait(slot, id, &words);
        shared_words::publish_seen(slot, Some((index, expected)), actual);
        shared_words::publish_texts(slot, id, line, allocation);
    }
    shared_words::mirror_no_waits(block, slots, *progress);
    shared_words::set_reported(block, *query);
    Some(())
}

/// Mirrors the teams of a remote PE from a message.
pub(super) fn apply_teams(control: &Control, pe: Pe, words: &[u64]) -> Option<()> {
    for team in words.chunks(4) {
        let [head, next, calls, epoch] = *<&[u64; 4]>::try_from(team).ok()?;
        let (index, n_pes) = (head as u32, Pe::try_from(head >> 32).ok()?);
        let next = Pe::try_from(next).ok()?;
        let there = (index as usize) < MAX_TEAMS && next < control.n_pes();
        (there && n_pes <= control.n_pes()).then_some(())?;
        shared_words::mirror_membership(control.team(index, pe), next, n_pes, calls, epoch);
    }
    Some(())
}
