//! PEs of several hosts: those of this host are reached through shared memory, the others by messages.
//!
//! | file | what it holds |
//! |---|---|
//! | [`wire`] | what carries bytes: a plugin's table behind safe functions |
//! | [`message`] | what PEs say to each other, as words |
//! | [`plugin`] | finding and loading the plugin |
//! | [`net`] | a PE's end of the wire: what it sends, what it takes, its thread |
//! | [`desk`] | who waits for which answer |
//! | [`pulse`] | signs of life between hosts |
//!
//! A put, a signal and an atomic operation whose old value nobody wants return when they have been given to the [`Net`](net::Net). Those of
//! one PE to another are done in order, by a thread of the target's, with the same stores and atomic instructions as those of PEs of
//! its own host. Quiet asks every PE that was sent something to say when it is done.
//!
//! # Rules of this module
//!
//! 1. Memory of the program's that is lent to the wire, or that an answer goes to, is taken back before the call returns that
//!    lent it; if it lasts until quiet, before quiet returns. [`Net::let_go`](net::Net::let_go) and [`Desk::forget`](desk::Desk::forget) do it.
//! 2. The heap stays mapped as long as the wire may use it.

mod desk;
mod message;
mod net;
pub(crate) mod plugin;
mod pulse;
#[cfg(test)]
#[allow(
    clippy::duplicate_mod,
    reason = "each file of core/tests has its own copy of what several use"
)]
pub(crate) mod tests;
mod wire;

use super::host::HostTransport;
use super::{Atomic, Call, Joined, Lane, Nbi, Owner, Route, SignalUpdate, Transport, Width};
use crate::buffer::{LocalDest, LocalSource, SymRange};
use crate::job::block::Control;
use crate::job::hosts::Hosts;
use crate::job::published::{Target, Wait};
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::{Error, MemoryKind, Pe, Result};
use desk::{Answer, Place};
use message::{Kind, of_atomic};
use net::{Net, Post, Then};
pub use plugin::Communicator;
use std::sync::Arc;
pub(crate) use wire::{Table, Wire};

/// How many counted records a PE may be behind, and how many it has to do before it is sent more.
const MOST_BEHIND: u64 = 2048;
const CATCH_UP: u64 = 1024;
/// How often a wait looks by itself, before it waits as others do.
const LOOKS: u32 = 20;

/// Gives PE `hosts.me()`, which has its place on its own host, the way to the other hosts, and tells them that it is there.
///
/// `control` is the block of its host, `joined` its way to the PEs there. The ranks of the wire are the PEs.
pub(crate) fn join(
    control: Control,
    joined: Joined,
    wire: Box<dyn Wire>,
    hosts: Hosts,
) -> Result<(Control, Joined)> {
    join_and(control, joined, wire, hosts, Net::start)
}

/// As [`join`]; `start` makes the thread that makes progress.
fn join_and(
    control: Control,
    joined: Joined,
    wire: Box<dyn Wire>,
    hosts: Hosts,
    start: impl FnOnce(&Arc<Net>) -> Result<()>,
) -> Result<(Control, Joined)> {
    if control.area_offset().is_some() {
        return Err(Error::NotSupported(
            "the checker looks at jobs on one host only: switch it off with NVSHMEMRS_CHECK=0, or start all PEs on one host".into(),
        ));
    }
    let Route::Host(near) = joined.transport else {
        return Err(Error::NotSupported(
            "a job on several hosts has its heap in host memory only: set NVSHMEMRS_MEMORY=host, or start all PEs on one host".into(),
        ));
    };
    let about = format!(
        "the PEs are on {} hosts, over {}",
        hosts.count(),
        wire.name()
    );
    let range = hosts.range();
    let net = Net::new(&control, near.clone(), wire, hosts);
    let control = control.with_far(Some(Arc::clone(net.far())));
    start(&net)?;
    let joined = Joined {
        transport: Route::Hosts(RemoteTransport {
            near,
            range,
            net,
            about,
        }),
        ..joined
    };
    Ok((control, joined))
}

/// The transport of a PE in a job on several hosts.
pub(crate) struct RemoteTransport {
    /// The way to the PEs of this host.
    near: HostTransport,
    /// These, if they follow each other: the first one and how many there are; else none.
    range: (Pe, u32),
    net: Arc<Net>,
    about: String,
}

impl Drop for RemoteTransport {
    fn drop(&mut self) {
        self.net.hang_up(false);
    }
}

/// No data.
fn nothing() -> LocalSource<'static> {
    LocalSource::from(&[0_u8; 0])
}

/// A get that is under way.
struct Asked {
    pe: Pe,
    ticket: u64,
    answer: Arc<Answer>,
    /// Whether the data comes by itself.
    large: bool,
}

impl RemoteTransport {
    #[inline(always)]
    pub(super) fn near(&self) -> &HostTransport {
        &self.near
    }

    #[inline(always)]
    pub(super) fn is_near(&self, pe: Pe) -> bool {
        let (first, count) = self.range;
        (pe.wrapping_sub(first) as u32) < count || (count == 0 && self.is_among_near(pe))
    }

    #[cold]
    fn is_among_near(&self, pe: Pe) -> bool {
        self.net.hosts().is_near(pe)
    }

    /// Whether the other hosts have done all that they were sent, and nothing is missing that was asked for.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.net.is_idle()
    }

    /// Waits, for something of `pe`.
    fn wait(&self, operation: Operation, pe: Pe, done: &dyn Fn() -> bool) -> Result<()> {
        for _ in 0..LOOKS {
            if done() {
                return Ok(());
            }
            self.net.progress();
        }
        let wait = Wait {
            operation,
            target: Target::Far { pe },
        };
        match self.net.owner.get() {
            Some(owner) => owner.wait(wait, &|| Ok(done())),
            None => Err(Error::Internal(
                "a PE in init waits for another host".into(),
            )),
        }
    }

    /// Sends what a PE is to be sent, unless it may wait. Holds the caller back while the PE is far behind.
    fn sent(&self, call: Call, pe: Pe, now: bool) -> Result<()> {
        if now {
            self.net.kick();
        }
        let (sent, done) = self.net.count(pe);
        if sent - done <= MOST_BEHIND {
            return Ok(());
        }
        self.net.ask_all();
        let enough = sent - CATCH_UP;
        self.wait(call.called, pe, &|| self.net.has_done(pe, enough))
    }

    fn post(&self, call: Call, pe: Pe, kind: Kind, words: &[u64], now: bool) -> Result<()> {
        self.net.post(pe, kind, words, nothing());
        self.sent(call, pe, now)
    }

    /// A put to a PE of another host, without waiting for room there. `lasts`: the source may be read until quiet.
    fn put_far(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        lasts: bool,
    ) -> Result<()> {
        let bytes = source.bytes();
        if bytes <= self.net.eager {
            if bytes > 0 {
                self.net.post(pe, Kind::Put, &[dest], source);
            }
            return Ok(());
        }
        let tag = self.net.tag(false);
        let (ticket, answer) = self.net.desk.ticket(pe, None, false);
        let post = Post::Send {
            tag,
            address: source.address(),
            bytes,
            then: Then::Came(ticket),
        };
        let words = [dest, bytes as u64, u64::from(tag)];
        self.net
            .post_with(pe, Kind::PutLarge, &words, nothing(), Some(post));
        self.net.kick();
        if lasts {
            // It has been read once quiet knows that it has arrived.
            return Ok(());
        }
        let waited = self.wait(call.called, pe, &|| answer.is_there());
        if waited.is_err() {
            self.net.let_go(pe, ticket);
        }
        waited
    }

    /// Asks a PE of another host for data.
    fn ask(&self, pe: Pe, source: u64, dest: &LocalDest<'_>, nbi: bool) -> Asked {
        let bytes = dest.bytes();
        let large = bytes > self.net.eager;
        let place = (!large).then(|| Place::of(dest));
        let (ticket, answer) = self.net.desk.ticket(pe, place, nbi);
        if large {
            let tag = self.net.tag(true);
            let post = Post::Receive {
                tag,
                address: dest.address(),
                bytes,
                then: Then::Came(ticket),
            };
            let words = [source, bytes as u64, u64::from(tag)];
            self.net
                .post_with(pe, Kind::GetLarge, &words, nothing(), Some(post));
        } else {
            let words = [source, bytes as u64, ticket];
            self.net.post(pe, Kind::Get, &words, nothing());
        }
        Asked {
            pe,
            ticket,
            answer,
            large,
        }
    }

    /// Waits for what was asked for. If the wait ends early, nothing is written any more.
    fn answer(&self, operation: Operation, asked: &Asked) -> Result<u64> {
        let waited = self.wait(operation, asked.pe, &|| asked.answer.is_there());
        if waited.is_err() {
            self.take_back(asked.pe, asked.ticket, asked.large);
        }
        waited.map(|()| asked.answer.value())
    }

    fn take_back(&self, pe: Pe, ticket: u64, large: bool) {
        match large {
            true => self.net.let_go(pe, ticket),
            false => self.net.desk.forget(ticket),
        }
    }

    fn get_far(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        dest: &LocalDest<'_>,
    ) -> Result<()> {
        if dest.bytes() == 0 {
            return Ok(());
        }
        let asked = self.ask(pe, source, dest, false);
        self.net.kick();
        self.answer(operation, &asked).map(drop)
    }

    /// Waits until the other hosts have done what they were sent, and what was asked for is there.
    fn complete(&self, operation: Operation) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        let last = self.net.desk.last();
        let mut result = Ok(());
        if self.net.unfinished().is_some() {
            self.net.ask_all();
            let goals: Vec<(Pe, u64)> = self.net.all_sent();
            for (pe, goal) in goals {
                result =
                    result.and_then(|()| self.wait(operation, pe, &|| self.net.has_done(pe, goal)));
            }
        }
        while let Some((ticket, pe)) = self.net.desk.missing(last) {
            self.net.kick();
            let there = || self.net.desk.missing(ticket).is_none();
            result = result.and_then(|()| self.wait(operation, pe, &there));
            if result.is_err() {
                self.net.let_go(pe, ticket);
            }
        }
        result
    }

    /// Where `offset` of a PE of this host is.
    fn here(&self, pe: Pe, offset: u64, bytes: u64) -> (u64, usize) {
        let address = self.near().local_ptr(pe, offset);
        (address.unwrap_or(0), bytes as usize)
    }
}

impl Transport for RemoteTransport {
    fn kind(&self) -> MemoryKind {
        self.near().kind()
    }

    fn page_bytes(&self) -> u64 {
        self.near().page_bytes()
    }

    fn failure(&self) -> Result<()> {
        self.net.failure()
    }

    fn keep(&self, error: Error) {
        self.net.keep(error);
    }

    fn commit(&self, range: SymRange) -> Result<()> {
        self.near().commit(range)
    }

    fn decommit(&self, range: SymRange) {
        self.near().decommit(range);
    }

    fn zero(&self, range: SymRange) -> Result<()> {
        Transport::zero(self.near(), range)
    }

    fn check_adopt(&self, buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
        self.near().check_adopt(buffer, bytes, preferred)
    }

    fn check_give_back(&self) -> Result<()> {
        self.near().check_give_back()
    }

    fn adopt(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.near().adopt(range, buffer, preferred)
    }

    fn give_back(&self, range: SymRange, buffer: u64, preferred: u64) -> Result<()> {
        self.near().give_back(range, buffer, preferred)
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_near(pe) {
            true => self.near().local_ptr(pe, offset),
            false => None,
        }
    }

    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()> {
        if self.is_near(pe) {
            self.near().put(pe, dest, source);
            return Ok(());
        }
        let lasts = matches!(nbi, Nbi::Yes { lasts: true });
        self.put_far(call, pe, dest, source, lasts)?;
        self.sent(call, pe, nbi == Nbi::No)
    }

    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()> {
        if self.is_near(pe) {
            self.near().get(pe, source, dest);
            return Ok(());
        }
        if matches!(nbi, Nbi::Yes { lasts: true }) && dest.bytes() > 0 {
            self.ask(pe, source, &dest, true);
            return Ok(());
        }
        self.get_far(call.called, pe, source, &dest)
    }

    fn put_blocks(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        if self.is_near(pe) {
            self.near().put_blocks(pe, dest, source, transfer);
            return Ok(());
        }
        let (_, block, _) = transfer.dest().parts();
        for (to, from) in transfer.blocks() {
            let block = source.part(from as usize, block as usize);
            self.put_far(call, pe, dest + to, block, false)?;
            self.sent(call, pe, false)?;
        }
        self.net.kick();
        Ok(())
    }

    fn get_blocks(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        mut dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        if self.is_near(pe) {
            self.near().get_blocks(pe, source, dest, transfer);
            return Ok(());
        }
        let (_, block, _) = transfer.dest().parts();
        let mut under_way: Vec<Asked> = Vec::new();
        let mut result = Ok(());
        let blocks: Vec<(u64, u64)> = transfer.blocks().filter(|_| block > 0).collect();
        for some in blocks.chunks(CATCH_UP as usize) {
            for &(to, from) in some {
                let part = dest.part(to as usize, block as usize);
                under_way.push(self.ask(pe, source + from, &part, false));
            }
            self.net.kick();
            for asked in under_way.drain(..) {
                match &result {
                    Ok(()) => result = self.answer(call.called, &asked).map(drop),
                    Err(_) => self.take_back(pe, asked.ticket, asked.large),
                }
            }
        }
        result
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
        if !self.is_near(pe) {
            let lasts = matches!(nbi, Nbi::Yes { lasts: true });
            self.put_far(call, pe, dest, source, lasts)?;
            return self.signal(call, pe, update);
        }
        self.near().put(pe, dest, source);
        self.signal(call, pe, update)
    }

    fn atomic(
        &self,
        call: Call,
        pe: Pe,
        offset: u64,
        width: Width,
        operation: Atomic,
        fetches: bool,
    ) -> Result<u64> {
        if self.is_near(pe) {
            return Ok(self.near().atomic(pe, offset, width, operation));
        }
        let [at, how, value, cond] = of_atomic(offset, width, operation);
        if !fetches {
            let words = [at, how, value, cond, 0];
            return self.post(call, pe, Kind::Atomic, &words, true).map(|()| 0);
        }
        let (ticket, answer) = self.net.desk.ticket(pe, None, false);
        let words = [at, how, value, cond, ticket];
        self.net.post(pe, Kind::Atomic, &words, nothing());
        self.net.kick();
        let asked = Asked {
            pe,
            ticket,
            answer,
            large: false,
        };
        self.answer(call.called, &asked)
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let SignalUpdate { offset, value, op } = update;
        if self.is_near(pe) {
            self.near().signal(pe, offset, value, op);
            return Ok(());
        }
        let words = [offset, value, op as u64];
        self.post(call, pe, Kind::Signal, &words, true)
    }

    fn fence(&self, _: Lane) -> Result<()> {
        // What goes to other hosts is in order by itself.
        self.near().fence();
        Ok(())
    }

    fn quiet(&self, call: Call) -> Result<()> {
        self.near().quiet();
        self.complete(call.called)
    }

    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.complete(call.called)
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()> {
        let operation = Operation::Get;
        let call = super::route::here(Lane::Blocking, operation);
        match (self.is_near(to), self.is_near(from)) {
            (true, true) => self.near().copy(to, dest, from, source, bytes),
            (true, false) => {
                let (address, len) = self.here(to, dest, bytes);
                // SAFETY: the range lies within a part of this host, which is mapped.
                let dest = unsafe { LocalDest::from_raw(address as *mut u8, len) };
                self.get_far(operation, from, source, &dest)?;
            }
            (false, true) => {
                let (address, len) = self.here(from, source, bytes);
                // SAFETY: as above.
                let source = unsafe { LocalSource::from_raw(address as *const u8, len) };
                self.put(call, to, dest, source, Nbi::No)?;
            }
            (false, false) => {
                let mut data = vec![0_u64; bytes.div_ceil(8) as usize];
                let data = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut data)[..bytes as usize];
                self.get_far(operation, from, source, &LocalDest::from(&mut *data))?;
                self.put(call, to, dest, LocalSource::from(&*data), Nbi::No)?;
            }
        }
        Ok(())
    }

    fn load(&self, _: Operation, offset: u64, bytes: usize) -> Result<u64> {
        Ok(self.near().load(offset, bytes))
    }

    fn progress(&self) {
        self.net.progress();
    }

    fn about(&self) -> Option<String> {
        Some(self.about.clone())
    }

    fn owned_by(&self, owner: Box<dyn Owner>) {
        // Once, by the runtime that it is made for.
        let _ = self.net.owner.set(owner);
    }

    fn hang_up(&self, finalized: bool) {
        self.net.hang_up(finalized);
    }
}
