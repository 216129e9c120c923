//! PEs of several hosts: those of this host are reached through shared memory, the others by messages.
//!
//! | file | what it holds |
//! |---|---|
//! | [`wire`] | what carries bytes: a plugin's table behind safe functions |
//! | [`message`] | what PEs say to each other, as words |
//! | [`plugin`] | finding and loading the plugin |
//! | [`net`] | a PE's end of the wire: what it sends, what it takes, its thread |
//! | [`device`] | the transport of a PE whose heap is on a GPU |
//! | [`desk`] | who waits for which answer |
//! | [`pulse`] | signs of life between hosts |
//! | [`transfers`] | puts and gets to PEs of other hosts |
//!
//! A put, a signal and an atomic operation whose old value nobody wants return when they have been given to the [`Net`](net::Net). Those of
//! one PE to another are done in order, by a thread of the target's, with the same stores and atomic instructions as those of PEs of
//! its own host. Quiet asks every PE that was sent something to say when it is done.
//!
//! # Rules of this module
//!
//! 1. Memory of the program's own is never lent to the wire: what is large passes through pieces of the [`Net`](net::Net)'s.
//! 2. Memory that an answer goes to is taken back before the call returns that gave it; if it lasts until quiet, before quiet returns.
//!    [`Desk::forget`](desk::Desk::forget) does it, and [`Net::let_go`](net::Net::let_go) for memory of the heap that the wire has.
//! 3. The heap stays mapped as long as the wire may use it.

mod desk;
mod device;
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
mod transfers;
mod wire;

use super::device_state::DeviceTables;
use super::host::HostTransport;
use super::{
    Body, Call, Joined, Memory, NOTHING, Nbi, Owner, Properties, Reply, Request, Route,
    SignalUpdate, Transport, Wanted, bytes_of, wanted_blocks,
};
use crate::buffer::{LocalDest, LocalSource};
use crate::job::block::Control;
use crate::job::hosts::Hosts;
use crate::operation::Operation;
use crate::{Error, Pe, Result};
use desk::Form;
use device::DeviceTransport;
pub(crate) use message::GAVE_UP;
use message::{Kind, nothing, of_atomic};
use net::Net;
pub use plugin::Communicator;
use std::ops::Deref;
use std::sync::Arc;
use transfers::{A_PART, Asked};
pub(crate) use wire::{Event, Table, Wire};

/// How many counted records a PE may be behind, and how many it has to do before it is sent more. As many answers may be waited for.
const MOST_BEHIND: u64 = 2048;
const CATCH_UP: u64 = 1024;

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
    let (near, cuda) = device::near(joined.transport)?;
    let about = format!(
        "the PEs are on {} hosts, over {}",
        hosts.count(),
        wire.name()
    );
    let range = hosts.range();
    let net = Net::new(&control, near, wire, hosts);
    let control = control.with_far(Some(Arc::clone(net.far())));
    start(&net)?;
    let way = Way { net };
    let transport = match (cuda, way.net.near.host().cloned()) {
        (Some(cuda), _) => Route::Other(Box::new(DeviceTransport::new(cuda, way, about)?)),
        (None, Some(near)) => {
            near.set_hosts(way.net.hosts())?;
            Route::Hosts(RemoteTransport {
                near,
                range,
                way,
                about,
            })
        }
        (None, None) => return Err(Error::Internal("a PE has no memory".into())),
    };
    let joined = Joined {
        transport,
        ..joined
    };
    Ok((control, joined))
}

/// The way to PEs of other hosts, whatever memory the heap is in.
pub(crate) struct Way {
    net: Arc<Net>,
}

/// The transport of a PE in a job on several hosts, on memory of the hosts.
pub(crate) struct RemoteTransport {
    /// The way to the PEs of this host.
    near: HostTransport,
    /// These, if they follow each other: the first one and how many there are; else none.
    range: (Pe, u32),
    way: Way,
    about: String,
}

impl Deref for RemoteTransport {
    type Target = Way;

    fn deref(&self) -> &Way {
        &self.way
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.net.hang_up(false);
    }
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

    /// Where `offset` of a PE of this host is.
    fn here(&self, pe: Pe, offset: u64, bytes: u64) -> (u64, usize) {
        let address = self.near().local_ptr(pe, offset);
        (address.unwrap_or(0), bytes as usize)
    }
}

impl Way {
    /// Whether the other hosts have done all that they were sent, and nothing is missing that was asked for.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.net.is_idle()
    }

    /// Waits, for something of `pe`.
    fn wait(&self, operation: Operation, pe: Pe, done: &dyn Fn() -> bool) -> Result<()> {
        self.net.wait(operation, pe, done)
    }

    /// Holds the caller back while a PE is far behind.
    fn sent(&self, call: Call, pe: Pe) -> Result<()> {
        if self.net.behind(pe) <= MOST_BEHIND {
            return Ok(());
        }
        self.net.ask_all();
        let enough = self.net.count(pe) - CATCH_UP;
        self.wait(call.called, pe, &|| self.net.has_done(pe, enough))
    }

    /// Holds the caller back while much is asked for that only quiet waits for.
    fn asked(&self, call: Call, pe: Pe) -> Result<()> {
        if self.net.desk.for_quiet() <= MOST_BEHIND {
            return Ok(());
        }
        self.net.kick();
        self.wait(call.called, pe, &|| self.net.desk.for_quiet() <= CATCH_UP)
    }

    fn post(&self, call: Call, pe: Pe, kind: Kind, words: &[u64], now: bool) -> Result<()> {
        match now {
            true => self.net.post_now(pe, kind, words, nothing()),
            false => self.net.post(pe, kind, words, nothing()),
        }
        self.sent(call, pe)
    }

    /// An atomic operation by a PE of another host.
    fn atomic_far(&self, call: Call, pe: Pe, what: [u64; 4], fetches: bool) -> Result<u64> {
        let [at, how, value, cond] = what;
        if !fetches {
            let words = [at, how, value, cond, 0];
            return self.post(call, pe, Kind::Atomic, &words, true).map(|()| 0);
        }
        let (ticket, answer) = self.net.desk.ticket(pe, Form::Word, false);
        let words = [at, how, value, cond, ticket];
        self.net.post_now(pe, Kind::Atomic, &words, nothing());
        let asked = Asked { pe, ticket, answer };
        self.answer(call.called, &asked)
    }

    fn signal_far(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let SignalUpdate { offset, value, op } = update;
        let words = [offset, value, op as u64];
        self.post(call, pe, Kind::Signal, &words, true)
    }

    /// Waits until the other hosts have done what they were sent, and what was asked for is there.
    fn complete(&self, operation: Operation) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        self.net.ask_all();
        let mut result = Ok(());
        self.net.unfinished(|pe| {
            let goal = self.net.asked(pe);
            if result.is_ok() && !self.net.has_done(pe, goal) {
                result = self.wait(operation, pe, &|| self.net.has_done(pe, goal));
            }
        });
        if self.net.desk.is_clear() {
            return result;
        }
        let last = self.net.desk.last();
        while let Some((ticket, pe)) = self.net.desk.missing(last) {
            self.net.kick();
            let there = || self.net.desk.missing(ticket).is_none();
            result = result.and_then(|()| self.wait(operation, pe, &there));
            if result.is_err() {
                self.net.let_go(&self.net.desk.all_missing(last));
            }
        }
        result
    }
}

impl RemoteTransport {
    /// The data of a collective, of which one PE at least is on another host.
    fn copy(
        &self,
        call: Call,
        (to, dest): (Pe, u64),
        (from, source): (Pe, u64),
        bytes: u64,
    ) -> Result<()> {
        match (self.is_near(to), self.is_near(from)) {
            (true, _) => {
                let (address, len) = self.here(to, dest, bytes);
                // SAFETY: the range lies within a part of this host, which is mapped.
                let dest = unsafe { LocalDest::from_raw(address as *mut u8, len) };
                self.get_later(call, from, source, dest)
            }
            (false, true) => {
                let (address, len) = self.here(from, source, bytes);
                // SAFETY: as above.
                let source = unsafe { LocalSource::from_raw(address as *const u8, len) };
                self.put_far(call, to, dest, source, Nbi::Yes { lasts: true })?;
                self.sent(call, to)
            }
            (false, false) => {
                let mut data = vec![0_u64; bytes.div_ceil(8) as usize];
                let data = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut data)[..bytes as usize];
                self.get_far(call.called, from, source, LocalDest::from(&mut *data))?;
                self.put_far(call, to, dest, LocalSource::from(&*data), Nbi::No)?;
                self.sent(call, to)
            }
        }
    }

    fn get_all(&self, call: Call, wanted: Vec<Wanted<'_>>) -> Result<()> {
        let mut far = wanted.into_iter().filter_map(|one| {
            if self.is_near(one.pe) {
                self.near().get(one.pe, one.source, one.dest);
                return None;
            }
            Some(one)
        });
        self.way.get_all(call.called, &mut far)
    }
}

impl Way {
    /// Executes a request for a PE of another host. Its local memory is memory of the host.
    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Put {
                pe,
                dest,
                source,
                nbi,
            } => {
                self.put_far(call, pe, dest, source, nbi)?;
                self.sent(call, pe)?;
            }
            Body::PutValue {
                pe,
                dest,
                value,
                bytes,
            } => {
                let source = LocalSource::from(bytes_of(&value, bytes));
                self.put_far(call, pe, dest, source, Nbi::No)?;
                self.sent(call, pe)?;
            }
            Body::Get {
                pe,
                source,
                dest,
                nbi,
            } => match nbi {
                Nbi::Yes { lasts: true } => self.get_later(call, pe, source, dest)?,
                _ => self.get_far(call.called, pe, source, dest)?,
            },
            Body::GetValue { pe, source, bytes } => {
                let mut words = NOTHING;
                let value = &mut bytemuck::bytes_of_mut(&mut words)[..bytes];
                self.get_far(call.called, pe, source, LocalDest::from(value))?;
                return Ok(words);
            }
            Body::PutBlocks {
                pe,
                dest,
                source,
                transfer,
            } => {
                let (_, block, _) = transfer.dest().parts();
                for (to, from) in transfer.blocks() {
                    let block = source.part(from as usize, block as usize);
                    self.put_far(call, pe, dest + to, block, A_PART)?;
                    self.sent(call, pe)?;
                }
                self.net.kick();
            }
            Body::GetBlocks {
                pe,
                source,
                dest,
                transfer,
            } => {
                let mut wanted = wanted_blocks(pe, source, dest, transfer);
                self.get_all(call.called, &mut wanted)?;
            }
            Body::PutSignal {
                pe,
                dest,
                source,
                update,
                nbi,
            } => {
                let lasts = matches!(nbi, Nbi::Yes { lasts: true });
                self.put_far(call, pe, dest, source, Nbi::Yes { lasts })?;
                self.signal_far(call, pe, update)?;
            }
            Body::Atomic {
                pe,
                offset,
                width,
                operation,
                fetches,
            } => {
                let old =
                    self.atomic_far(call, pe, of_atomic(offset, width, operation), fetches)?;
                return Ok([old, 0]);
            }
            Body::Signal { pe, update } => self.signal_far(call, pe, update)?,
            other => return Err(Error::Internal(format!("{other:?} is for no other host"))),
        }
        Ok(NOTHING)
    }
}

impl Transport for RemoteTransport {
    fn inner(&self) -> Option<&dyn Transport> {
        Some(&self.near)
    }

    fn properties(&self) -> Properties {
        self.near.properties()
    }

    fn memory(&self) -> &dyn Memory {
        &self.near
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_near(pe) {
            true => self.near().local_ptr(pe, offset),
            false => None,
        }
    }

    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Fence => {
                self.near().fence();
                self.net.fence();
            }
            Body::Quiet => {
                self.near().quiet();
                self.complete(call.called)?;
            }
            Body::QuietBeforeRelease => self.complete(call.called)?,
            Body::GetAll(wanted) => self.get_all(call, wanted)?,
            Body::Copy {
                to,
                dest,
                from,
                source,
                bytes,
            } if !(self.is_near(to) && self.is_near(from)) => {
                self.copy(call, (to, dest), (from, source), bytes)?;
            }
            body if body.target().is_none_or(|pe| self.is_near(pe)) => {
                return self.near.execute(Request { call, body });
            }
            body => return self.way.execute(Request { call, body }),
        }
        Ok(NOTHING)
    }

    fn failure(&self) -> Result<()> {
        self.net.failure()
    }

    fn keep(&self, error: Error) {
        self.net.keep(error);
    }

    fn progress(&self) {
        self.net.progress();
    }

    fn about(&self) -> Option<String> {
        Some(self.about.clone())
    }

    fn owned_by(&self, owner: Arc<dyn Owner>) {
        // Once, by the runtime that it is made for.
        let _ = self.net.owner.set(owner);
    }

    fn hang_up(&self, finalized: bool) {
        self.net.hang_up(finalized);
    }
}
