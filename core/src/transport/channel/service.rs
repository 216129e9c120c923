//! The thread of a PE that takes the messages of the others and does to the PE's own memory what they say.

use super::Links;
use super::message::{Data, Kind, Message, to_atomic};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::bell;
use crate::job::block::Control;
use crate::lock::lock;
use crate::op::SignalOp;
use crate::transport::host::HostTransport;
use crate::transport::{Atomic, Transport, Width};
use crate::{Error, Pe, Result};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A PE's own memory. None of its methods reaches another's.
#[derive(Clone)]
pub(super) struct Near {
    host: HostTransport,
    me: Pe,
}

impl Near {
    pub(super) fn new(host: HostTransport, me: Pe) -> Near {
        Near { host, me }
    }

    /// What manages this PE's copies of ranges.
    pub(super) fn memory(&self) -> &dyn Transport {
        &self.host
    }

    pub(super) fn put(&self, dest: u64, source: LocalSource<'_>) {
        self.host.put(self.me, dest, source);
    }

    pub(super) fn get(&self, source: u64, dest: LocalDest<'_>) {
        self.host.get(self.me, source, dest);
    }

    /// A copy of so many bytes.
    pub(super) fn read(&self, source: u64, bytes: u64) -> Data {
        let mut data = Data::zeroed(bytes as usize);
        self.get(source, LocalDest::from(data.get_mut()));
        data
    }

    pub(super) fn atomic(&self, offset: u64, width: Width, operation: Atomic) -> u64 {
        self.host.atomic(self.me, offset, width, operation)
    }

    pub(super) fn signal(&self, offset: u64, value: u64, op: SignalOp) {
        self.host.signal(self.me, offset, value, op);
    }

    pub(super) fn address(&self, offset: u64) -> Option<u64> {
        self.host.local_ptr(self.me, offset)
    }

    pub(super) fn load(&self, offset: u64, bytes: usize) -> u64 {
        self.host.load(offset, bytes)
    }

    pub(super) fn fence(&self) {
        self.host.fence();
    }

    pub(super) fn quiet(&self) {
        self.host.quiet();
    }
}

/// What the service and the threads of its PE share: who waits for which answer, and what went wrong.
pub(super) struct Desk {
    waiting: Mutex<Waiting>,
    kept: Mutex<Option<Error>>,
}

struct Waiting {
    last: u64,
    holders: HashMap<u64, (u64, Sender<Data>)>,
    /// Which PEs take no messages any more.
    gone: Vec<bool>,
}

impl Desk {
    pub(super) fn new(n_pes: usize) -> Desk {
        Desk {
            waiting: Mutex::new(Waiting {
                last: 0,
                holders: HashMap::new(),
                gone: vec![false; n_pes],
            }),
            kept: Mutex::default(),
        }
    }

    /// A ticket for an answer of `pe`, and where the answer comes. Nothing comes from a PE that is gone.
    pub(super) fn ticket(&self, pe: Pe) -> (u64, Receiver<Data>) {
        let (holder, answer) = channel();
        let mut waiting = lock(&self.waiting);
        waiting.last += 1;
        let ticket = waiting.last;
        if !waiting.gone[pe as usize] {
            waiting.holders.insert(ticket, (pe as u64, holder));
        }
        (ticket, answer)
    }

    pub(super) fn answered(&self, ticket: u64, data: Data) {
        if let Some((_, holder)) = lock(&self.waiting).holders.remove(&ticket) {
            // Who has given up does not want it.
            let _ = holder.send(data);
        }
    }

    pub(super) fn gone(&self, pe: u64) {
        let mut waiting = lock(&self.waiting);
        if let Some(gone) = waiting.gone.get_mut(pe as usize) {
            *gone = true;
        }
        waiting.holders.retain(|_, (of, _)| *of != pe);
    }

    fn all_gone(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.gone.fill(true);
        waiting.holders.clear();
    }

    pub(super) fn keep(&self, error: Error) {
        lock(&self.kept).get_or_insert(error);
    }

    pub(super) fn failure(&self) -> Result<()> {
        lock(&self.kept).clone().map_or(Ok(()), Err)
    }
}

pub(super) struct Service {
    pub(super) near: Near,
    pub(super) inbox: Receiver<Vec<u8>>,
    pub(super) links: Arc<Links>,
    pub(super) desk: Arc<Desk>,
    pub(super) control: Control,
    /// The state of the draws.
    pub(super) draws: u64,
}

impl Drop for Service {
    /// Also if it panics: nobody waits for an answer that will not come.
    fn drop(&mut self) {
        // Whoever sends from here on learns of it from the channel.
        self.inbox = channel().1;
        self.desk.all_gone();
        for pe in 0..self.links.n_pes() {
            if pe != self.near.me {
                self.send(pe as u64, Kind::Gone, 0, Data::zeroed(0));
            }
        }
    }
}

impl Service {
    /// Takes messages until one says that the PE leaves.
    pub(super) fn run(mut self) {
        while let Ok(bytes) = self.inbox.recv() {
            self.dawdle();
            let stop = match Message::decode(&bytes) {
                Some(message) if message.kind == Kind::Stop => return,
                Some(message) => self.take(message),
                None => None,
            };
            if stop.is_none() {
                let text = "a message between PEs cannot be read".to_string();
                self.desk.keep(Error::Internal(text));
            }
        }
    }

    /// Is late now and then, so that what nobody has completed is seen to be missing.
    fn dawdle(&mut self) {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        match self.draws >> 32 & 63 {
            0 => std::thread::sleep(Duration::from_micros(100)),
            1..8 => std::thread::yield_now(),
            _ => {}
        }
    }

    /// Does what a message says; nothing for one that says nothing.
    fn take(&self, message: Message) -> Option<()> {
        let Message {
            kind,
            from,
            ticket,
            words,
            data,
        } = message;
        let [offset, second, third, _] = words;
        // What comes later is seen later, also by the threads of the PE.
        self.near.fence();
        match kind {
            Kind::Put => {
                let bytes = data.get();
                self.near.put(offset, LocalSource::from(bytes));
                self.ring(offset, bytes.len() as u64);
            }
            Kind::Get => self.send(from, Kind::Answer, ticket, self.near.read(offset, second)),
            Kind::Atomic => {
                let (offset, width, operation) = to_atomic(words)?;
                let old = self.near.atomic(offset, width, operation);
                self.ring(offset, width.bytes());
                if ticket != 0 {
                    let old = Data::of(LocalSource::from(&[old]));
                    self.send(from, Kind::Answer, ticket, old);
                }
            }
            Kind::Signal => {
                let op = SignalOp::from_number(i32::try_from(third).ok()?).ok()?;
                self.near.signal(offset, second, op);
                self.ring(offset, 8);
            }
            Kind::Flush => {
                self.near.quiet();
                self.send(from, Kind::Answer, ticket, Data::zeroed(0));
            }
            Kind::Answer => self.desk.answered(ticket, data),
            Kind::Gone => self.desk.gone(from),
            Kind::Stop => return None,
        }
        Some(())
    }

    /// Somebody may wait for what has just come: who sent it could ring too early only.
    fn ring(&self, offset: u64, bytes: u64) {
        bell::ring_words(&self.control, self.near.me, SymRange::new(offset, bytes));
    }

    fn send(&self, to: u64, kind: Kind, ticket: u64, data: Data) {
        let message = Message {
            kind,
            from: self.near.me as u64,
            ticket,
            words: [0; 4],
            data,
        };
        // A PE that is gone wants no answer.
        let _ = self.links.send(to as Pe, &message);
    }
}
