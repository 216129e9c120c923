//! Receiving: a PE performs the records of other hosts.

use super::{Completion, Endpoint, LargeTransfer, LocalHeap, ReceiveState};
use crate::buffer::{LocalSource, SymRange};
use crate::job::{doorbell, remote};
use crate::message::{self, Kind, Record};
use crate::transport::Transport;
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Words of a malformed message in its error.
const SHOWN: usize = 6;

impl Endpoint {
    pub(super) fn message(&self, state: &mut ReceiveState, from: Pe, bytes: &[u8]) {
        let known = (0..self.hosts.n_pes()).contains(&from) && from != self.me;
        let words = bytemuck::try_cast_slice::<u8, u64>(bytes);
        match words {
            // This PE was late, and has come so far all the same.
            _ if known && bytes.starts_with(&message::GAVE_UP) => state.lost.push(from),
            Ok(words) if known => self.receive(state, from, words),
            _ if known => self.refuse(from, &[]),
            _ => self.keep(Error::Internal(format!(
                "a message has come from rank {from}, which is no PE of another host"
            ))),
        }
    }

    /// Performs the records of a message, or defers them.
    fn receive(&self, state: &mut ReceiveState, from: Pe, words: &[u64]) {
        let source = &mut state.inbound[from as usize];
        if !source.deferred.is_empty() {
            source.deferred.push_back(words.to_vec());
            return;
        }
        let rest = self.records(state, from, words);
        if !rest.is_empty() {
            state.inbound[from as usize]
                .deferred
                .push_back(rest.to_vec());
        }
    }

    /// Performs one record after the other; returns the records that must be deferred.
    fn records<'a>(&self, state: &mut ReceiveState, from: Pe, mut words: &'a [u64]) -> &'a [u64] {
        while !words.is_empty() {
            let start = words;
            let record = message::read(&mut words);
            let waits = |record: &Record<'_>| {
                let overtakes = record.kind == Kind::PutLarge && record.words[3] == 0;
                state.inbound[from as usize].large_puts > 0 && !overtakes
            };
            if record.as_ref().is_some_and(waits) {
                return start;
            }
            let is_call = record
                .as_ref()
                .is_some_and(|record| record.kind == Kind::Call);
            if is_call && self.awaits_service() {
                if !state.early_callers.contains(&from) {
                    state.early_callers.push(from);
                }
                return start;
            }
            if record
                .and_then(|record| self.record(state, from, &record))
                .is_none()
            {
                self.refuse(from, start);
                return &[];
            }
        }
        words
    }

    /// Reports a malformed message to its sender, and to the program of this PE, which gets the first words for a report to us.
    pub(super) fn refuse(&self, from: Pe, words: &[u64]) {
        let first = &words[..words.len().min(SHOWN)];
        self.keep(Error::Internal(format!(
            "PE {from}, on another host, has sent a message that makes no sense: {first:x?}, of {} words",
            words.len()
        )));
        let why = format!("PE {} cannot make sense of a message of this PE", self.me);
        self.post(from, Kind::Refused, &[], LocalSource::from(why.as_bytes()));
    }

    /// Performs deferred records of a PE, until one must be deferred again.
    pub(super) fn resume(&self, state: &mut ReceiveState, from: Pe) {
        while state.inbound[from as usize].large_puts == 0 {
            let Some(deferred) = state.inbound[from as usize].deferred.pop_front() else {
                break;
            };
            let rest = self.records(state, from, &deferred);
            if !rest.is_empty() {
                let rest = rest.to_vec();
                state.inbound[from as usize].deferred.push_front(rest);
                break;
            }
        }
    }

    /// The range of this PE's part in a record, if it is valid.
    pub(super) fn range(&self, offset: u64, bytes: u64) -> Option<SymRange> {
        let end = offset.checked_add(bytes)?;
        (end <= self.part_bytes).then(|| SymRange::new(offset, bytes))
    }

    /// As [`range`](Endpoint::range), of a word.
    pub(super) fn word(&self, offset: u64, bytes: u64) -> Option<SymRange> {
        offset.is_multiple_of(bytes).then_some(())?;
        self.range(offset, bytes)
    }

    fn address(&self, offset: u64) -> Option<*mut u8> {
        let address = self.local_heap.host()?.local_ptr(self.me, offset)?;
        Some(address as *mut u8)
    }

    /// Performs a record; none if it is malformed.
    fn record(&self, state: &mut ReceiveState, from: Pe, record: &Record<'_>) -> Option<()> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        if let LocalHeap::Device(target) = &self.local_heap
            && kind.is_of_memory()
        {
            return target.take(self, state, from, record);
        }
        // Later data is seen later, also by the threads of the PE.
        let heap = self.local_heap.host();
        heap.inspect(|heap| heap.fence());
        match kind {
            Kind::Put => {
                let range = self.range(offset, data.len() as u64)?;
                heap?.put(self.me, offset, LocalSource::from(*data));
                doorbell::ring_words(&self.control, self.me, range);
            }
            Kind::PutLarge => {
                let range = self.range(offset, second).filter(|_| second > 0)?;
                let transfer = LargeTransfer::Receive {
                    tag: self.tag_of(third, false)?,
                    address: self.address(offset)?,
                    bytes: second as usize,
                    completion: Completion::PutArrived(from, range),
                };
                state.begin.push((from, transfer));
                state.inbound[from as usize].large_puts += 1;
                return Some(());
            }
            Kind::Get => {
                self.range(offset, second)
                    .filter(|_| second <= self.eager as u64)?;
                let address = self.address(offset)?;
                // SAFETY: the range lies within this PE's part, which is mapped.
                let source = unsafe { LocalSource::from_raw(address, second as usize) };
                self.answer(state, from, Kind::Answer, &[third], source);
            }
            Kind::GetLarge => {
                self.range(offset, second).filter(|_| second > 0)?;
                let transfer = LargeTransfer::Send {
                    tag: self.tag_of(third, true)?,
                    address: self.address(offset)?,
                    bytes: second as usize,
                    completion: Completion::Ignored,
                };
                state.begin.push((from, transfer));
            }
            Kind::Atomic => {
                let (offset, width, operation) = message::to_atomic(words)?;
                let range = self.word(offset, width.bytes())?;
                let old = heap?.atomic(self.me, offset, width, operation);
                doorbell::ring_words(&self.control, self.me, range);
                if let request_id @ 1.. = words[4] {
                    self.answer(
                        state,
                        from,
                        Kind::Answer,
                        &[request_id],
                        LocalSource::from(&[old]),
                    );
                }
            }
            Kind::Signal => {
                let (offset, value, op) = message::to_signal(words)?;
                let range = self.word(offset, size_of::<u64>() as u64)?;
                heap?.signal(self.me, offset, value, op);
                doorbell::ring_words(&self.control, self.me, range);
            }
            Kind::Control => {
                let message = bytemuck::try_cast_slice(data).ok()?;
                remote::open(&self.control, &self.remote_hosts, from, message)?;
            }
            Kind::Flush => {
                let done = state.inbound[from as usize].done;
                heap?.quiet();
                self.answer(state, from, Kind::Done, &[done], message::nothing());
            }
            Kind::Done => {
                (offset <= self.sent(from)).then_some(())?;
                // Nobody else writes it.
                let known = &self.peers[from as usize].done;
                let before = known.load(Relaxed);
                if offset > before {
                    known.store(offset, Release);
                    self.behind.fetch_sub(offset - before, Release);
                }
                doorbell::ring_pe(&self.control, self.me);
            }
            Kind::Answer => {
                self.pending.answered(from, offset, data)?;
                doorbell::ring_pe(&self.control, self.me);
            }
            Kind::Call => self.called(state, from, offset, data)?,
            Kind::Refused => {
                let why: String = String::from_utf8_lossy(data)
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(200)
                    .collect();
                self.keep(Error::Internal(format!("another host says: {why}")));
            }
        }
        state.inbound[from as usize].done += u64::from(kind.counts());
        Some(())
    }

    /// The tag in a record; its parity tells which side has chosen it.
    pub(super) fn tag_of(&self, word: u64, asked: bool) -> Option<u32> {
        let tag = u32::try_from(word).ok()?;
        (tag <= self.tags.1 && (tag % 2 == 1) == asked).then_some(tag)
    }
}
