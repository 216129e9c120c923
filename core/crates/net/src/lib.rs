//! The transport of a job on several hosts: local PEs are reached through shared memory, remote PEs by messages.
//!
//! | file | contents |
//! |---|---|
//! | [`wire`] | the network as a plugin provides it: its table behind safe functions |
//! | [`message`] | the messages between PEs, as words |
//! | [`plugin`] | finding and loading the plugin |
//! | [`endpoint`] | a PE's endpoint: send queues, receiving, transfers in flight, calls of services, the progress thread |
//! | [`device`] | the transport of a PE whose heap is on a GPU |
//! | [`pending`] | requests that wait for an answer |
//! | [`contexts`] | the records of each context |
//! | [`heartbeat`] | heartbeats between hosts |
//! | [`transfers`] | puts and gets of remote PEs |
//!
//! Put, signal and non-fetching atomics return once the request is queued on the [`Endpoint`](endpoint::Endpoint). The target performs the
//! requests of one PE in order, in one of its own threads, with the stores and atomic instructions that PEs of its host use. Quiet sends a
//! flush to every PE with incomplete requests, and waits for the acknowledgements.
//!
//! # Rules of this module
//!
//! 1. The wire never gets the program's own memory: large transfers pass through bounce buffers of the [`Endpoint`](endpoint::Endpoint).
//! 2. The destination of an answer is released before the call that passed it returns, or before quiet returns if it lasts until quiet: by
//!    [`PendingRequests::forget`](pending::PendingRequests::forget), and by
//!    [`Endpoint::cancel_requests`](endpoint::Endpoint::cancel_requests) for memory of the heap that the wire uses.
//! 3. The heap stays mapped as long as the wire may use it.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_job as job;
use nvshmemrs_transport as transport;
use nvshmemrs_vocabulary::{Error, Pe, Result, buffer, clock, config, lock, op, operation};

mod contexts;
mod device;
mod endpoint;
mod heartbeat;
pub mod message;
mod pending;
pub mod plugin;
mod transfers;
mod wire;

use crate::buffer::{LocalDest, LocalSource};
use crate::job::block::Control;
use crate::job::hosts::Hosts;
use crate::operation::Operation;
use crate::transport::device_state::DeviceTables;
use crate::transport::host::HostTransport;
use crate::transport::{
    AtomicRequest, Body, Call, Context, CopyRequest, DeviceMemory, GetRequest, HostAccess,
    HostDriven, Joined, LocalTransport, Memory, NOTHING, Nbi, Owner, PeerCalls, Properties,
    PutRequest, Reply, Request, SignalUpdate, Transport, bytes_of,
};
use contexts::ContextRecords;
use device::DeviceTransport;
use endpoint::{DeviceTarget, Endpoint, LocalHeap};
pub use message::GAVE_UP;
use message::{Kind, nothing, of_atomic};
use pending::AnswerKind;
pub use plugin::Communicator;
use std::ops::Deref;
use std::sync::Arc;
use transfers::{PART_OF_CALL, PendingGet};
pub use wire::{Event, Table, Wire};

/// The most incomplete records of a PE, and how many it must complete before more are sent. The same limits apply to pending answers.
const MOST_BEHIND: u64 = 2048;
const CATCH_UP: u64 = 1024;

/// The transport of a PE that is connected to other hosts.
pub enum Connected {
    Host(NetTransport),
    Device(Box<dyn Transport>),
}

/// Which thread makes progress with the messages of a PE.
pub enum Progress {
    /// A thread of its own, also while the PE computes.
    Thread,
    /// The PE's own calls, as if the thread never ran: for tests.
    Calls,
}

/// Connects PE `hosts.me()`, which has joined its own host, to the other hosts, and announces it there.
///
/// `control` is the block of its host, `joined` its transport there. The ranks of the wire are the PEs.
pub fn join(
    control: Control,
    joined: Joined,
    wire: Box<dyn Wire>,
    hosts: Hosts,
    progress: Progress,
) -> Result<(Control, Joined<Connected>)> {
    let about = format!(
        "the PEs are on {} hosts, over {}",
        hosts.count(),
        wire.name()
    );
    let Joined {
        layout,
        transport,
        gpu,
        ..
    } = joined;
    let (local, local_heap) = match transport {
        LocalTransport::Host(host) => (Ok(host.clone()), LocalHeap::Host(host)),
        LocalTransport::Device(device) => {
            let device = HostDriven::new(device)?;
            let target = DeviceTarget::new(Arc::clone(device.target_stream()));
            (Err(device), LocalHeap::Device(target))
        }
    };
    let range = hosts.range();
    let endpoint = Endpoint::new(&control, local_heap, wire, hosts);
    let control = control.with_remote(Some(Arc::clone(endpoint.remote_hosts())));
    match progress {
        Progress::Thread => Endpoint::start(&endpoint)?,
        Progress::Calls => endpoint.remote_hosts().use_rounds_only(),
    }
    let hosts = endpoint.hosts().clone();
    let access = HostAccess {
        peer_calls: Some(Arc::clone(&endpoint) as Arc<dyn PeerCalls>),
        device: local.as_ref().err().map(|local| Arc::clone(local.device())),
    };
    let transport = match local {
        Ok(local) => {
            let remote = RemoteAccess {
                endpoint,
                contexts: ContextRecords::default(),
                device: None,
            };
            local.set_hosts(&hosts)?;
            Connected::Host(NetTransport {
                local,
                range,
                remote,
                about,
            })
        }
        Err(local) => {
            let device = Arc::clone(local.device());
            device.set_hosts(&hosts)?;
            let remote = RemoteAccess {
                endpoint,
                contexts: ContextRecords::default(),
                device: Some(device),
            };
            Connected::Device(Box::new(DeviceTransport::new(local, remote, about)))
        }
    };
    let joined = Joined {
        layout,
        transport,
        gpu,
        access,
    };
    Ok((control, joined))
}

/// Operations on remote PEs, for a heap in host or device memory.
pub struct RemoteAccess {
    endpoint: Arc<Endpoint>,
    contexts: ContextRecords,
    /// The transport to the GPUs of this host, if the heap is on a GPU: the program's own memory may be on a GPU, too.
    device: Option<Arc<dyn DeviceMemory>>,
}

/// The transport of a PE in a job on several hosts, with the heap in host memory.
pub struct NetTransport {
    /// The transport to the PEs of this host.
    local: HostTransport,
    /// The PEs of this host, if they are consecutive: the first and their count; else a count of 0.
    range: (Pe, u32),
    remote: RemoteAccess,
    about: String,
}

impl Deref for NetTransport {
    type Target = RemoteAccess;

    fn deref(&self) -> &RemoteAccess {
        &self.remote
    }
}

impl Drop for RemoteAccess {
    fn drop(&mut self) {
        self.endpoint.disconnect(false);
    }
}

impl NetTransport {
    #[inline(always)]
    pub fn local(&self) -> &HostTransport {
        &self.local
    }

    #[inline(always)]
    pub fn is_local(&self, pe: Pe) -> bool {
        let (first, count) = self.range;
        (pe.wrapping_sub(first) as u32) < count || (count == 0 && self.is_among_local(pe))
    }

    #[cold]
    fn is_among_local(&self, pe: Pe) -> bool {
        self.endpoint.hosts().is_local(pe)
    }

    /// The address of `offset` of a local PE.
    fn local_range(&self, pe: Pe, offset: u64, bytes: u64) -> (u64, usize) {
        let address = self.local().local_ptr(pe, offset);
        (address.unwrap_or(0), bytes as usize)
    }
}

impl RemoteAccess {
    /// Whether all requests to other hosts are complete.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.endpoint.is_idle()
    }

    /// Waits for an action of `pe`.
    fn wait(&self, operation: Operation, pe: Pe, done: &dyn Fn() -> bool) -> Result<()> {
        self.endpoint.wait(operation, pe, done)
    }

    /// Throttles the caller while a PE has too many incomplete records.
    fn throttle_puts(&self, call: Call, pe: Pe) -> Result<()> {
        if self.endpoint.behind(pe) <= MOST_BEHIND {
            return Ok(());
        }
        self.endpoint.flush_incomplete();
        let enough = self.endpoint.sent(pe) - CATCH_UP;
        self.wait(call.called, pe, &|| self.endpoint.has_completed(pe, enough))
    }

    /// Throttles the caller while too many non-blocking gets are pending.
    fn throttle_gets(&self, call: Call, pe: Pe) -> Result<()> {
        if self.endpoint.pending.nbi_count() <= MOST_BEHIND {
            return Ok(());
        }
        self.endpoint.kick();
        self.wait(call.called, pe, &|| {
            self.endpoint.pending.nbi_count() <= CATCH_UP
        })
    }

    fn post(&self, call: Call, pe: Pe, kind: Kind, words: &[u64], now: bool) -> Result<()> {
        match now {
            true => self.endpoint.post_now(pe, kind, words, nothing()),
            false => self.endpoint.post(pe, kind, words, nothing()),
        }
        self.throttle_puts(call, pe)
    }

    /// An atomic operation on the heap of a remote PE.
    fn atomic_remote(&self, call: Call, request: AtomicRequest) -> Result<u64> {
        let pe = request.pe;
        let [at, how, value, cond] = of_atomic(request.offset, request.width, request.operation);
        if !request.fetches {
            let words = [at, how, value, cond, 0];
            return self.post(call, pe, Kind::Atomic, &words, true).map(|()| 0);
        }
        let (request_id, answer) = self.endpoint.pending.register(pe, AnswerKind::Word, None);
        let words = [at, how, value, cond, request_id];
        self.endpoint.post_now(pe, Kind::Atomic, &words, nothing());
        let get = PendingGet {
            pe,
            request_id,
            answer,
        };
        self.answer(call.called, &get)
    }

    fn signal_remote(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        let SignalUpdate { offset, value, op } = update;
        let words = [offset, value, op as u64];
        self.post(call, pe, Kind::Signal, &words, true)
    }

    /// Waits until all requests to other hosts are complete.
    fn complete(&self, operation: Operation) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        self.endpoint.flush_incomplete();
        let mut result = Ok(());
        self.endpoint.unfinished(|pe| {
            let goal = self.endpoint.flushed(pe);
            if result.is_ok() && !self.endpoint.has_completed(pe, goal) {
                result = self.wait(operation, pe, &|| self.endpoint.has_completed(pe, goal));
            }
        });
        self.complete_answers(operation, None, result)
    }

    /// Waits until the requests of the call's context are complete.
    fn complete_context(&self, call: Call) -> Result<()> {
        if self.is_idle() || !self.contexts.are_several() {
            return self.complete(call.called);
        }
        // First, so that the awaited requests have been flushed.
        let records = self.contexts.records(call.context);
        self.endpoint.flush_incomplete();
        let result = records.iter().try_for_each(|&(pe, goal)| {
            self.wait(call.called, pe, &|| self.endpoint.has_completed(pe, goal))
        });
        if result.is_ok() {
            self.contexts.completed(call.context, &records);
        }
        self.complete_answers(call.called, Some(call.context), result)
    }

    /// Waits for the answers that only quiet of this context waits for, or of all contexts; after an error for none.
    fn complete_answers(
        &self,
        operation: Operation,
        of: Option<Context>,
        mut result: Result<()>,
    ) -> Result<()> {
        let pending = &self.endpoint.pending;
        if pending.has_no_nbi() {
            return result;
        }
        let last = pending.last();
        while let Some((request_id, pe)) = pending.first_outstanding(last, of) {
            self.endpoint.kick();
            let there = || pending.first_outstanding(request_id, of).is_none();
            result = result.and_then(|()| self.wait(operation, pe, &there));
            if result.is_err() {
                self.endpoint
                    .cancel_requests(&pending.all_outstanding(last, of));
            }
        }
        result
    }
}

impl NetTransport {
    /// Moves data of a collective, of which at least one PE is remote.
    fn copy(&self, call: Call, of: CopyRequest) -> Result<()> {
        let (pe, source) = (of.from, of.source);
        let get = |dest| GetRequest { pe, source, dest };
        let (pe, dest) = (of.to, of.dest);
        let put = |source| PutRequest { pe, dest, source };
        match (self.is_local(of.to), self.is_local(of.from)) {
            (true, _) => {
                let (address, len) = self.local_range(of.to, dest, of.bytes);
                // SAFETY: the range lies within a part of this host, which is mapped.
                let dest = unsafe { LocalDest::from_raw(address as *mut u8, len) };
                self.get_nbi(call, get(dest))
            }
            (false, true) => {
                let (address, len) = self.local_range(of.from, source, of.bytes);
                // SAFETY: as above.
                let source = unsafe { LocalSource::from_raw(address as *const u8, len) };
                self.put_remote(call, put(source), Nbi::Yes { lasts: true })?;
                self.throttle_puts(call, of.to)
            }
            (false, false) => {
                let bytes = of.bytes as usize;
                let mut data = vec![0_u64; bytes.div_ceil(8)];
                let data = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut data)[..bytes];
                self.get_remote(call.called, get(LocalDest::from(&mut *data)))?;
                self.put_remote(call, put(LocalSource::from(&*data)), Nbi::No)?;
                self.throttle_puts(call, of.to)
            }
        }
    }

    fn get_many(&self, call: Call, requests: Vec<GetRequest<'_>>) -> Result<()> {
        let mut requests = requests.into_iter().filter_map(|one| {
            if self.is_local(one.pe) {
                self.local().get(one.pe, one.source, one.dest);
                return None;
            }
            Some(one)
        });
        self.remote.get_many(call.called, &mut requests)
    }
}

impl RemoteAccess {
    /// Executes a request for a remote PE.
    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        let pe = body.target();
        let reply = self.execute_uncounted(Request { call, body });
        if let Some(pe) = pe {
            let sent = self.endpoint.sent(pe);
            (self.contexts).note(call.context, pe, sent, |each| {
                self.endpoint.incomplete(each);
            });
        }
        reply
    }

    fn execute_uncounted(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Put(put, nbi) => {
                self.put(call, put, nbi)?;
                self.throttle_puts(call, put.pe)?;
            }
            Body::PutValue {
                pe,
                dest,
                value,
                bytes,
            } => {
                let source = LocalSource::from(bytes_of(&value, bytes));
                self.put_remote(call, PutRequest { pe, dest, source }, Nbi::No)?;
                self.throttle_puts(call, pe)?;
            }
            Body::Get(get, nbi) => match nbi {
                _ if self.is_of_gpu(get.dest.address(), get.dest.is_borrowed())? => {
                    self.get_to_gpu(call.called, &get)?;
                }
                Nbi::Yes { lasts: true } => self.get_nbi(call, get)?,
                _ => self.get_remote(call.called, get)?,
            },
            Body::GetValue { pe, source, bytes } => {
                let mut words = NOTHING;
                let value = &mut bytemuck::bytes_of_mut(&mut words)[..bytes];
                let dest = LocalDest::from(value);
                self.get_remote(call.called, GetRequest { pe, source, dest })?;
                return Ok(words);
            }
            Body::PutBlocks(all, transfer) => {
                for block in all.blocks(transfer) {
                    self.put(call, block, PART_OF_CALL)?;
                    self.throttle_puts(call, block.pe)?;
                }
                self.endpoint.kick();
            }
            Body::GetBlocks(all, transfer) => {
                let of_gpu = self.is_of_gpu(all.dest.address(), all.dest.is_borrowed())?;
                let mut requests = all.blocks(transfer);
                match of_gpu {
                    true => requests.try_for_each(|one| self.get_to_gpu(call.called, &one))?,
                    false => self.get_many(call.called, &mut requests)?,
                }
            }
            Body::PutSignal(put, update, nbi) => {
                let lasts = matches!(nbi, Nbi::Yes { lasts: true });
                self.put(call, put, Nbi::Yes { lasts })?;
                self.signal_remote(call, put.pe, update)?;
            }
            Body::Atomic(request) => return Ok([self.atomic_remote(call, request)?, 0]),
            Body::Signal { pe, update } => self.signal_remote(call, pe, update)?,
            _ => {
                return Err(Error::Internal(format!(
                    "a request of `{}` has no PE of another host as its target",
                    call.called.name()
                )));
            }
        }
        Ok(NOTHING)
    }
}

impl Transport for NetTransport {
    fn inner(&self) -> Option<&dyn Transport> {
        Some(&self.local)
    }

    fn properties(&self) -> Properties {
        self.local.properties()
    }

    fn memory(&self) -> &dyn Memory {
        &self.local
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_local(pe) {
            true => self.local().local_ptr(pe, offset),
            false => None,
        }
    }

    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Fence => {
                self.local().fence();
                self.endpoint.fence();
            }
            Body::Quiet => {
                self.local().quiet();
                self.complete_context(call)?;
            }
            Body::QuietBeforeRelease => self.complete(call.called)?,
            Body::GetAll(requests) => self.get_many(call, requests)?,
            Body::Copy(of) if !(self.is_local(of.to) && self.is_local(of.from)) => {
                self.copy(call, of)?;
            }
            body if body.target().is_none_or(|pe| self.is_local(pe)) => {
                return self.local.execute(Request { call, body });
            }
            body => return self.remote.execute(Request { call, body }),
        }
        Ok(NOTHING)
    }

    #[inline]
    fn failure(&self) -> Result<()> {
        self.endpoint.failure()
    }

    fn keep(&self, error: Error) {
        self.endpoint.keep(error);
    }

    fn progress(&self) {
        self.endpoint.progress();
    }

    fn about(&self) -> Option<String> {
        Some(self.about.clone())
    }

    fn owned_by(&self, owner: Arc<dyn Owner>) {
        // Once, by the runtime that it is made for.
        let _ = self.endpoint.owner.set(owner);
    }

    fn disconnect(&self, finalized: bool) {
        self.endpoint.disconnect(finalized);
    }
}
