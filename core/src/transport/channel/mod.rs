//! A transport whose PEs reach each other by messages only, as those of different hosts do. The core's tests use it: what they pass
//! on it asks nothing of a transport but the contract.
//!
//! Each PE has a thread, its service, that takes byte messages and does to the PE's own memory what they say ([`service`]). A put, a
//! signal and an atomic whose old value nobody wants return when the message is sent. Messages of one PE to another stay in order, so
//! fence has nothing to do; quiet asks every PE that was sent something to say when it is done.
//!
//! A job gets it if a file of the tests in this folder, or of `core/tests`, makes it ([`Links::wanted`]).

mod message;
mod service;
#[allow(
    clippy::duplicate_mod,
    reason = "each file of core/tests has its own copy of what several use"
)]
mod tests;

use super::host::HostTransport;
use super::{Atomic, Call, Lane, Nbi, Route, SignalUpdate, Transport, Width};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::block::Control;
use crate::lock::lock;
use crate::operation::Operation;
use crate::{Error, MemoryKind, Pe, Result};
use message::{Data, Kind, Message, of_atomic};
use service::{Desk, Near, Service};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The channels between the PEs of a job.
#[derive(Debug)]
pub(crate) struct Links {
    to: Vec<Sender<Vec<u8>>>,
    inboxes: Mutex<Vec<Option<Receiver<Vec<u8>>>>>,
    /// How many messages were sent.
    messages: AtomicU64,
}

impl Links {
    /// The links of a job that is made at `place`, if it is to have some. Unit tests compile files of `core/tests` for this transport
    /// only.
    pub(crate) fn wanted(n_pes: Pe, place: &Location<'_>) -> Option<Arc<Links>> {
        let file = place.file();
        (file.contains("transport/channel/") || file.contains("core/tests/")).then(|| {
            let (to, inboxes) = (0..n_pes).map(|_| channel()).unzip();
            let inboxes: Vec<_> = Vec::into_iter(inboxes).map(Some).collect();
            Arc::new(Links {
                to,
                inboxes: Mutex::new(inboxes),
                messages: AtomicU64::new(0),
            })
        })
    }

    fn n_pes(&self) -> Pe {
        self.to.len() as Pe
    }

    fn send(&self, pe: Pe, message: &Message) -> Result<()> {
        self.messages.fetch_add(1, Relaxed);
        let to = self.to.get(pe as usize).ok_or_else(|| gone(pe))?;
        to.send(message.encode()).map_err(|_| gone(pe))
    }
}

fn gone(pe: Pe) -> Error {
    Error::Internal(format!("PE {pe} takes no messages any more"))
}

/// How much this PE has sent to another, and how much of it is done.
#[derive(Default)]
struct Progress {
    sent: Mutex<u64>,
    done: AtomicU64,
}

/// An answer that is under way.
struct Pending {
    pe: Pe,
    answer: Receiver<Data>,
    /// What had been sent when it was asked for.
    sent: u64,
}

/// The transport of PE `me`.
pub(crate) struct ChannelTransport {
    me: Pe,
    near: Near,
    links: Arc<Links>,
    desk: Arc<Desk>,
    progress: Vec<Progress>,
    service: Mutex<Option<JoinHandle<()>>>,
}

impl ChannelTransport {
    /// The way of a job with `links`; of one without, what it is.
    pub(crate) fn over(
        proper: Route,
        links: Option<&Arc<Links>>,
        control: &Control,
        me: Pe,
    ) -> Result<Route> {
        match (links, proper) {
            (Some(links), Route::Host(host)) => {
                let channel = ChannelTransport::start(links, host, control, me)?;
                Ok(Route::Other(Box::new(channel)))
            }
            (_, proper) => Ok(proper),
        }
    }

    /// Starts the service of PE `me`. Of `host` only the PE's own part is used.
    fn start(
        links: &Arc<Links>,
        host: HostTransport,
        control: &Control,
        me: Pe,
    ) -> Result<ChannelTransport> {
        let inbox = lock(&links.inboxes)[me as usize].take();
        let inbox = inbox.ok_or_else(|| Error::Internal(format!("PE {me} joins twice")))?;
        let desk = Arc::new(Desk::new(links.to.len()));
        let near = Near::new(host, me);
        let service = Service {
            near: near.clone(),
            inbox,
            links: Arc::clone(links),
            desk: Arc::clone(&desk),
            control: control.clone(),
            draws: 0x9e37_79b9_7f4a_7c15 ^ me as u64,
        };
        let thread = std::thread::Builder::new()
            .name(format!("service of PE {me}"))
            .spawn(move || service.run())
            .map_err(|error| Error::Internal(format!("the service has no thread: {error}")))?;
        Ok(ChannelTransport {
            me,
            near,
            links: Arc::clone(links),
            desk,
            progress: links.to.iter().map(|_| Progress::default()).collect(),
            service: Mutex::new(Some(thread)),
        })
    }

    fn message(&self, kind: Kind, ticket: u64, words: [u64; 4], data: Data) -> Message {
        Message {
            kind,
            from: self.me as u64,
            ticket,
            words,
            data,
        }
    }

    /// Sends what is not answered.
    fn post(&self, pe: Pe, kind: Kind, words: [u64; 4], data: Data) -> Result<()> {
        let mut sent = lock(&self.progress[pe as usize].sent);
        *sent += 1;
        self.links.send(pe, &self.message(kind, 0, words, data))
    }

    /// Sends what is answered.
    fn ask(&self, pe: Pe, kind: Kind, words: [u64; 4]) -> Result<Pending> {
        let (ticket, answer) = self.desk.ticket(pe);
        let sent = lock(&self.progress[pe as usize].sent);
        self.links
            .send(pe, &self.message(kind, ticket, words, Data::zeroed(0)))?;
        Ok(Pending {
            pe,
            answer,
            sent: *sent,
        })
    }

    /// Waits for an answer: all that was sent before the question is done then.
    fn answer(&self, pending: Pending) -> Result<Data> {
        let data = pending.answer.recv().map_err(|_| gone(pending.pe))?;
        let done = &self.progress[pending.pe as usize].done;
        done.fetch_max(pending.sent, Relaxed);
        Ok(data)
    }

    /// A copy of memory of `pe`.
    fn fetch(&self, pe: Pe, source: u64, bytes: u64) -> Result<Data> {
        if pe == self.me {
            return Ok(self.near.read(source, bytes));
        }
        let asked = self.ask(pe, Kind::Get, [source, bytes, 0, 0])?;
        self.answer(asked)
    }

    /// Ends the service, which does before that what it was sent.
    fn stop(&self) {
        let service = lock(&self.service).take();
        if let Some(service) = service {
            let stop = self.message(Kind::Stop, 0, [0; 4], Data::zeroed(0));
            // It may have panicked, which its thread has said.
            let _ = self.links.send(self.me, &stop);
            let _ = service.join();
        }
    }
}

impl Drop for ChannelTransport {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Transport for ChannelTransport {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Host
    }

    fn page_bytes(&self) -> u64 {
        self.near.memory().page_bytes()
    }

    fn failure(&self) -> Result<()> {
        self.desk.failure()
    }

    fn keep(&self, error: Error) {
        self.desk.keep(error);
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        self.near.memory().commit(range)
    }

    fn decommit(&self, range: SymRange) {
        self.near.memory().decommit(range);
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        self.near.memory().zero(range)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.near.memory().check_adopt(buffer, bytes, preferred)
    }

    fn check_give_back(&self) -> Result<()> {
        self.near.memory().check_give_back()
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.near.memory().adopt(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.near.memory().give_back(range, buffer, preferred)
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        (pe == self.me).then(|| self.near.address(offset)).flatten()
    }

    fn put(&self, _: Call, pe: Pe, dest: u64, source: LocalSource<'_>, _: Nbi) -> Result<()> {
        if pe == self.me {
            self.near.put(dest, source);
            return Ok(());
        }
        self.post(pe, Kind::Put, [dest, 0, 0, 0], Data::of(source))
    }

    fn get(&self, _: Call, pe: Pe, source: u64, dest: LocalDest<'_>, _: Nbi) -> Result<()> {
        if pe == self.me {
            self.near.get(source, dest);
            return Ok(());
        }
        self.fetch(pe, source, dest.bytes() as u64)
            .map(|data| data.give(&dest))
    }

    fn put_signal(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        update: SignalUpdate,
        nbi: Nbi,
    ) -> Result<()> {
        self.put(call, pe, dest, source, nbi)?;
        self.signal(call, pe, update)
    }

    fn atomic(
        &self,
        _: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64> {
        if pe == self.me {
            return Ok(self.near.atomic(offset, width, operation));
        }
        let words = of_atomic(offset, width, operation);
        if !fetches {
            self.post(pe, Kind::Atomic, words, Data::zeroed(0))?;
            return Ok(0);
        }
        let asked = self.ask(pe, Kind::Atomic, words)?;
        let mut old = [0];
        self.answer(asked)?.give(&LocalDest::from(&mut old));
        Ok(old[0])
    }

    fn signal(&self, _: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let SignalUpdate { offset, value, op } = update;
        if pe == self.me {
            self.near.signal(offset, value, op);
            return Ok(());
        }
        self.post(
            pe,
            Kind::Signal,
            [offset, value, op as u64, 0],
            Data::zeroed(0),
        )
    }

    fn fence(&self, _: Lane) -> Result<()> {
        self.near.fence();
        Ok(())
    }

    fn quiet(&self, _: Call) -> Result<()> {
        self.near.quiet();
        let unfinished = |pe: &Pe| {
            let progress = &self.progress[*pe as usize];
            *lock(&progress.sent) > progress.done.load(Relaxed)
        };
        let asked: Result<Vec<Pending>> = (0..self.links.n_pes())
            .filter(unfinished)
            .map(|pe| self.ask(pe, Kind::Flush, [0; 4]))
            .collect();
        asked?
            .into_iter()
            .try_for_each(|asked| self.answer(asked).map(drop))
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()> {
        let data = self.fetch(from, source, bytes)?;
        if to == self.me {
            self.near.put(dest, LocalSource::from(data.get()));
            return Ok(());
        }
        self.post(to, Kind::Put, [dest, 0, 0, 0], data)
    }

    fn load(&self, _: Operation, offset: u64, bytes: usize) -> Result<u64> {
        Ok(self.near.load(offset, bytes))
    }

    fn leave(&self, _gone: bool) -> Option<String> {
        self.stop();
        None
    }
}
