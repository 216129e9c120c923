//! What a PE does with what comes from other hosts.

use super::{Near, Net, Post, Taking, Then};
use crate::buffer::{LocalSource, SymRange};
use crate::job::{bell, far};
use crate::transport::Transport;
use crate::transport::remote::message::{self, Kind, Record};
use crate::{Error, Pe};
use std::sync::atomic::Ordering::{Relaxed, Release};

impl Net {
    pub(super) fn message(&self, state: &mut Taking, from: Pe, bytes: &[u8]) {
        let known = (0..self.hosts.n_pes()).contains(&from) && from != self.me;
        let words = bytemuck::try_cast_slice::<u8, u64>(bytes);
        match words {
            // This PE was late, and has come so far all the same.
            _ if known && bytes.starts_with(&message::GAVE_UP) => state.lost.push(from),
            Ok(words) if known => self.take(state, from, words),
            _ if known => self.refuse(from),
            _ => self.keep(Error::Internal(format!(
                "a message has come from rank {from}, which is no PE of another host"
            ))),
        }
    }

    /// Does what a message says, or keeps it for later.
    fn take(&self, state: &mut Taking, from: Pe, words: &[u64]) {
        let source = &mut state.sources[from as usize];
        if !source.held.is_empty() {
            source.held.push_back(words.to_vec());
            return;
        }
        let rest = self.records(state, from, words);
        if !rest.is_empty() {
            state.sources[from as usize].held.push_back(rest.to_vec());
        }
    }

    /// Does one record after the other; gives those that must wait.
    fn records<'a>(&self, state: &mut Taking, from: Pe, mut words: &'a [u64]) -> &'a [u64] {
        while !words.is_empty() {
            let start = words;
            let record = message::read(&mut words);
            let waits = |record: &Record<'_>| {
                let overtakes = record.kind == Kind::PutLarge && record.words[3] == 0;
                state.sources[from as usize].coming > 0 && !overtakes
            };
            if record.as_ref().is_some_and(waits) {
                return start;
            }
            if record
                .and_then(|record| self.record(state, from, &record))
                .is_none()
            {
                self.refuse(from);
                return &[];
            }
        }
        words
    }

    /// Tells a PE that what it has sent makes no sense, and the program of this PE.
    pub(super) fn refuse(&self, from: Pe) {
        self.keep(Error::Internal(format!(
            "PE {from}, on another host, has sent a message that makes no sense"
        )));
        let why = format!("PE {} cannot make sense of a message of this PE", self.me);
        self.post(from, Kind::Refused, &[], LocalSource::from(why.as_bytes()));
    }

    /// Does what was held back of a PE, while nothing it must wait for is coming.
    pub(super) fn go_on(&self, state: &mut Taking, from: Pe) {
        while state.sources[from as usize].coming == 0 {
            let Some(held) = state.sources[from as usize].held.pop_front() else {
                break;
            };
            let rest = self.records(state, from, &held);
            if !rest.is_empty() {
                let rest = rest.to_vec();
                state.sources[from as usize].held.push_front(rest);
            }
        }
    }

    /// The range of this PE's part that a record names, if it may be used.
    pub(super) fn range(&self, offset: u64, bytes: u64) -> Option<SymRange> {
        let end = offset.checked_add(bytes)?;
        (end <= self.room).then(|| SymRange::new(offset, bytes))
    }

    /// As [`range`](Net::range), of a word.
    pub(super) fn word(&self, offset: u64, bytes: u64) -> Option<SymRange> {
        offset.is_multiple_of(bytes).then_some(())?;
        self.range(offset, bytes)
    }

    fn address(&self, offset: u64) -> Option<*mut u8> {
        let address = self.near.host()?.local_ptr(self.me, offset)?;
        Some(address as *mut u8)
    }

    /// Does what a record says; none if it makes no sense.
    fn record(&self, state: &mut Taking, from: Pe, record: &Record<'_>) -> Option<()> {
        let Record { kind, words, data } = record;
        let [offset, second, third, ..] = *words;
        if let Near::Device(service) = &self.near
            && kind.is_of_memory()
        {
            return service.take(self, state, from, record);
        }
        // What comes later is seen later, also by the threads of the PE.
        let near = self.near.host();
        near.inspect(|near| near.fence());
        match kind {
            Kind::Put => {
                let range = self.range(offset, data.len() as u64)?;
                near?.put(self.me, offset, LocalSource::from(*data));
                bell::ring_words(&self.control, self.me, range);
            }
            Kind::PutLarge => {
                let range = self.range(offset, second).filter(|_| second > 0)?;
                let post = Post::Receive {
                    tag: self.tag_of(third, false)?,
                    address: self.address(offset)?,
                    bytes: second as usize,
                    then: Then::Put(from, range),
                };
                state.begin.push((from, post));
                state.sources[from as usize].coming += 1;
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
                let post = Post::Send {
                    tag: self.tag_of(third, true)?,
                    address: self.address(offset)?,
                    bytes: second as usize,
                    then: Then::Nothing,
                };
                state.begin.push((from, post));
            }
            Kind::Atomic => {
                let (offset, width, operation) = message::to_atomic(words)?;
                let range = self.word(offset, width.bytes())?;
                let old = near?.atomic(self.me, offset, width, operation);
                bell::ring_words(&self.control, self.me, range);
                if let ticket @ 1.. = words[4] {
                    self.answer(
                        state,
                        from,
                        Kind::Answer,
                        &[ticket],
                        LocalSource::from(&[old]),
                    );
                }
            }
            Kind::Signal => {
                let (offset, value, op) = message::to_signal(words)?;
                let range = self.word(offset, size_of::<u64>() as u64)?;
                near?.signal(self.me, offset, value, op);
                bell::ring_words(&self.control, self.me, range);
            }
            Kind::Letter => {
                let letter = bytemuck::try_cast_slice(data).ok()?;
                far::open(&self.control, &self.far, from, letter)?;
            }
            Kind::Flush => {
                let done = state.sources[from as usize].done;
                near?.quiet();
                self.answer(state, from, Kind::Done, &[done], message::nothing());
            }
            Kind::Done => {
                (offset <= self.count(from)).then_some(())?;
                // Nobody else writes it.
                let known = &self.links[from as usize].done;
                let before = known.load(Relaxed);
                if offset > before {
                    known.store(offset, Release);
                    self.behind.fetch_sub(offset - before, Release);
                }
                bell::ring_pe(&self.control, self.me);
            }
            Kind::Answer => {
                self.desk.answered(from, offset, data)?;
                bell::ring_pe(&self.control, self.me);
            }
            Kind::Refused => {
                let why: String = String::from_utf8_lossy(data)
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(200)
                    .collect();
                self.keep(Error::Internal(format!("another host says: {why}")));
            }
        }
        state.sources[from as usize].done += u64::from(kind.counts());
        Some(())
    }

    /// The tag in a record, which tells who has chosen it.
    pub(super) fn tag_of(&self, word: u64, asked: bool) -> Option<u32> {
        let tag = u32::try_from(word).ok()?;
        (tag <= self.tags.1 && (tag % 2 == 1) == asked).then_some(tag)
    }
}
