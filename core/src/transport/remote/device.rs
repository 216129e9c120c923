//! The transport of a PE whose heap is on a GPU, in a job on several hosts. To PEs of its host it is the one for GPUs; what goes to others,
//! and comes from there, passes through memory of the host. What they ask of this PE's GPU is in [`net`](super::net).
//!
//! All of it is blocking: a stream is a queue that runs what is put on it when the GPU's stream has come there (`stream/gated.rs`).
//! Collectives are those of any memory, because kernels reach no PE of another host.

use super::Way;
use super::message::of_atomic;
use super::net::{Near, Service};
use super::transfers::A_PART;
use crate::buffer::{LocalDest, LocalSource};
use crate::job::published::Wait;
use crate::operation::Operation;
use crate::strides::Transfer;
use crate::transport::cuda::CudaTransport;
use crate::transport::cuda::served::{Served, StreamGate};
use crate::transport::pass_on::pass_on;
use crate::transport::{
    Atomic, Call, DeviceTables, Gate, Lane, Nbi, Owner, Route, SignalUpdate, Streams, Transport,
    TransportEvent, TransportStream, Wanted, Width, route, wanted_blocks,
};
use crate::{Error, Pe, Result};
use std::any::Any;
use std::sync::Arc;

/// How much of a transfer is in memory of the host at a time.
const BETWEEN: usize = 1 << 20;

/// What a PE has joined with its host, and its transport if that is one for GPUs.
pub(super) fn near(joined: Route) -> Result<(Near, Option<Cuda>)> {
    let other: Box<dyn Any> = match joined {
        Route::Host(near) => return Ok((Near::Host(near), None)),
        other => other.boxed(),
    };
    let unknown = |_| Error::Internal("a kind of memory that is not known on several hosts".into());
    let cuda: Box<CudaTransport> = other.downcast().map_err(unknown)?;
    let cuda: Arc<CudaTransport> = Arc::from(cuda);
    let served = Arc::new(Served::new(Arc::clone(&cuda))?);
    let service = Service::new(Arc::clone(&served));
    Ok((Near::Device(service), Some(Cuda { cuda, served })))
}

/// The way to the GPUs of a PE's host.
pub(super) struct Cuda {
    cuda: Arc<CudaTransport>,
    served: Arc<Served>,
}

pub(super) struct DeviceTransport {
    way: Way,
    served: Arc<Served>,
    cuda: Arc<CudaTransport>,
    about: String,
}

/// The PE, for both ways.
struct Shared(Arc<dyn Owner>);

impl Owner for Shared {
    fn wait(&self, wait: Wait, done: &dyn Fn() -> Result<bool>) -> Result<()> {
        self.0.wait(wait, done)
    }

    fn check(&self, operation: Operation) -> Result<()> {
        self.0.check(operation)
    }

    fn check_team(&self, operation: Operation, team: u32) -> Result<()> {
        self.0.check_team(operation, team)
    }

    fn break_team(&self, team: u32) {
        self.0.break_team(team);
    }
}

impl DeviceTransport {
    pub(super) fn new(near: Cuda, way: Way, about: String) -> Result<DeviceTransport> {
        let Cuda { cuda, served } = near;
        cuda.set_hosts(way.net.hosts())?;
        Ok(DeviceTransport {
            way,
            served,
            cuda,
            about,
        })
    }

    fn is_near(&self, pe: Pe) -> bool {
        self.way.net.hosts().is_near(pe)
    }

    /// Whether memory of the program's is a GPU's. A borrowed slice never is.
    fn is_of_gpu(&self, address: *const u8, borrowed: bool) -> Result<bool> {
        match borrowed {
            true => Ok(false),
            false => self.cuda.is_of_gpu(address as u64),
        }
    }

    /// A put to a PE of another host, without waiting for room there.
    fn put_far(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        nbi: Nbi,
    ) -> Result<()> {
        if !self.is_of_gpu(source.address(), source.is_borrowed())? {
            return self.way.put_far(call, pe, dest, source, nbi);
        }
        in_parts(source.bytes(), |start, part| {
            let from = source.address() as u64 + start as u64;
            self.cuda
                .take_out(call.called, from, LocalDest::from(&mut *part))?;
            let part = LocalSource::from(&*part);
            self.way
                .put_far(call, pe, dest + start as u64, part, A_PART)
        })
    }

    /// A get from a PE of another host to memory of the GPU.
    fn get_far(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        to: u64,
        bytes: usize,
    ) -> Result<()> {
        in_parts(bytes, |start, part| {
            let (from, to) = (source + start as u64, to + start as u64);
            self.way
                .get_far(operation, pe, from, LocalDest::from(&mut *part))?;
            self.cuda.bring_in(operation, to, LocalSource::from(&*part))
        })
    }
}

/// Does a transfer of so many bytes in parts, each with memory of the host's for it.
fn in_parts(bytes: usize, mut each: impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
    let mut between = vec![0; bytes.min(BETWEEN)];
    (0..bytes).step_by(BETWEEN).try_for_each(|start| {
        let bytes = BETWEEN.min(bytes - start);
        each(start, &mut between[..bytes])
    })
}

impl Streams for DeviceTransport {
    fn make(&self) -> Result<Arc<dyn TransportStream>> {
        Streams::make(&*self.cuda)
    }

    unsafe fn adopt(&self, stream: u64) -> Result<Arc<dyn TransportStream>> {
        // SAFETY: the caller vouches for the stream.
        unsafe { Streams::adopt(&*self.cuda, stream) }
    }

    fn let_go(&self, stream: &Arc<dyn TransportStream>) {
        Streams::let_go(&*self.cuda, stream);
    }

    fn event(&self) -> Result<Box<dyn TransportEvent>> {
        self.cuda.event()
    }

    fn gate(&self, stream: &Arc<dyn TransportStream>) -> Result<Option<Arc<dyn Gate>>> {
        let gate = StreamGate::new(&self.served, stream.lane())?;
        Ok(Some(Arc::new(gate)))
    }
}

impl Transport for DeviceTransport {
    pass_on!(self => &*self.cuda;
        kind, page_bytes, may_load, takes_machine_memory, looks_are_slow, makers_of_memory, keep,
        commit, decommit, zero, check_adopt, check_give_back, adopt, give_back, read, write,
        load, device_tables, drain, leave, chore, device, mapping
    );

    fn failure(&self) -> Result<()> {
        self.cuda.failure()?;
        self.way.net.failure()
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_near(pe) {
            true => self.cuda.local_ptr(pe, offset),
            false => None,
        }
    }

    fn put(&self, call: Call, pe: Pe, dest: u64, source: LocalSource<'_>, nbi: Nbi) -> Result<()> {
        if self.is_near(pe) {
            return self.cuda.put(call, pe, dest, source, nbi);
        }
        self.put_far(call, pe, dest, source, nbi)?;
        if nbi == Nbi::No {
            self.way.net.kick();
        }
        self.way.sent(call, pe)
    }

    fn get(&self, call: Call, pe: Pe, source: u64, dest: LocalDest<'_>, nbi: Nbi) -> Result<()> {
        if self.is_near(pe) {
            return self.cuda.get(call, pe, source, dest, nbi);
        }
        if self.is_of_gpu(dest.address(), dest.is_borrowed())? {
            let (to, bytes) = (dest.address() as u64, dest.bytes());
            return self.get_far(call.called, pe, source, to, bytes);
        }
        match nbi {
            Nbi::Yes { lasts: true } => self.way.get_later(call, pe, source, dest),
            _ => self.way.get_far(call.called, pe, source, dest),
        }
    }

    fn put_value(&self, call: Call, pe: Pe, dest: u64, value: &[u8]) -> Result<()> {
        match self.is_near(pe) {
            true => self.cuda.put_value(call, pe, dest, value),
            false => self.put(call, pe, dest, LocalSource::from(value), Nbi::No),
        }
    }

    fn get_value(&self, call: Call, pe: Pe, source: u64, bytes: usize) -> Result<[u64; 2]> {
        if self.is_near(pe) {
            return self.cuda.get_value(call, pe, source, bytes);
        }
        let mut words = [0; 2];
        let value = &mut bytemuck::bytes_of_mut(&mut words)[..bytes];
        self.way
            .get_far(call.called, pe, source, LocalDest::from(value))?;
        Ok(words)
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
            return self.cuda.put_blocks(call, pe, dest, source, transfer);
        }
        let (_, block, _) = transfer.dest().parts();
        for (to, from) in transfer.blocks() {
            let block = source.part(from as usize, block as usize);
            self.put_far(call, pe, dest + to, block, A_PART)?;
            self.way.sent(call, pe)?;
        }
        self.way.net.kick();
        Ok(())
    }

    fn get_all(&self, call: Call, wanted: &mut dyn Iterator<Item = Wanted<'_>>) -> Result<()> {
        let mut far = Vec::new();
        for one in wanted {
            let Wanted { pe, source, dest } = one;
            if self.is_near(pe) || self.is_of_gpu(dest.address(), dest.is_borrowed())? {
                self.get(call, pe, source, dest, Nbi::No)?;
            } else {
                far.push(Wanted { pe, source, dest });
            }
        }
        self.way.get_all(call.called, &mut far.into_iter())
    }

    fn get_blocks(
        &self,
        call: Call,
        pe: Pe,
        source: u64,
        dest: LocalDest<'_>,
        transfer: &Transfer,
    ) -> Result<()> {
        match self.is_near(pe) {
            true => self.cuda.get_blocks(call, pe, source, dest, transfer),
            false => self.get_all(call, &mut wanted_blocks(pe, source, dest, transfer)),
        }
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
        if self.is_near(pe) {
            return self.cuda.put_signal(call, pe, dest, source, update, nbi);
        }
        self.put_far(call, pe, dest, source, A_PART)?;
        self.way.signal_far(call, pe, update)
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
        match self.is_near(pe) {
            true => self
                .cuda
                .atomic(call, pe, offset, width, operation, fetches),
            false => self
                .way
                .atomic_far(call, pe, of_atomic(offset, width, operation), fetches),
        }
    }

    fn signal(&self, call: Call, pe: Pe, update: SignalUpdate) -> Result<()> {
        match self.is_near(pe) {
            true => self.cuda.signal(call, pe, update),
            false => self.way.signal_far(call, pe, update),
        }
    }

    fn fence(&self, lane: Lane) -> Result<()> {
        self.way.net.fence();
        self.cuda.fence(lane)
    }

    fn quiet(&self, call: Call) -> Result<()> {
        self.cuda.quiet(call)?;
        self.way.complete(call.called)
    }

    fn quiet_before_release(&self, call: Call) -> Result<()> {
        self.cuda.quiet_before_release(call)?;
        self.way.complete(call.called)
    }

    fn copy(&self, to: Pe, dest: u64, from: Pe, source: u64, bytes: u64) -> Result<()> {
        let operation = Operation::Get;
        let call = route::here(Lane::Blocking, operation);
        let bytes_here = bytes as usize;
        match (self.is_near(to), self.is_near(from)) {
            (true, true) => self.cuda.copy(to, dest, from, source, bytes),
            (true, false) => {
                let to = self.cuda.address_of(to, dest);
                self.get_far(operation, from, source, to, bytes_here)
            }
            (false, near) => {
                in_parts(bytes_here, |start, part| {
                    let start = start as u64;
                    let between = LocalDest::from(&mut *part);
                    match near {
                        true => {
                            let from = self.cuda.address_of(from, source + start);
                            self.cuda.take_out(operation, from, between)?;
                        }
                        false => {
                            self.way.get_far(operation, from, source + start, between)?;
                        }
                    }
                    let part = LocalSource::from(&*part);
                    self.way.put_far(call, to, dest + start, part, A_PART)
                })?;
                self.way.net.kick();
                self.way.sent(call, to)
            }
        }
    }

    fn progress(&self) {
        self.way.net.progress();
    }

    fn owned_by(&self, owner: Box<dyn Owner>) {
        let owner: Arc<dyn Owner> = Arc::from(owner);
        self.cuda.owned_by(Box::new(Shared(Arc::clone(&owner))));
        // Once, by the runtime that it is made for.
        let _ = self.way.net.owner.set(Box::new(Shared(owner)));
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    fn hang_up(&self, finalized: bool) {
        self.way.net.hang_up(finalized);
    }

    fn about(&self) -> Option<String> {
        match self.cuda.about() {
            Some(cuda) => Some(format!("{}; {cuda}", self.about)),
            None => Some(self.about.clone()),
        }
    }
}
