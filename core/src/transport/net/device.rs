//! The transport of a PE whose heap is on a GPU, in a job on several hosts. To PEs of its host it is the one for GPUs; what goes to others,
//! and comes from there, passes through memory of the host. What they ask of this PE's GPU is in [`endpoint`](super::endpoint).
//!
//! All of it is blocking: a stream is a queue that runs what is put on it when the GPU's stream has come there (`stream/host_proxied.rs`).
//! Collectives are those of any memory, because kernels reach no PE of another host.

use super::RemoteAccess;
use super::endpoint::{DeviceTarget, LocalHeap};
use super::transfers::PART_OF_CALL;
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::cuda::CudaTransport;
use crate::transport::cuda::target_stream::{CudaStreamHold, TargetStream};
use crate::transport::{
    Body, Call, Collectives, DeviceTables, Found, GetRequest, Memory, NOTHING, Nbi, Owner,
    Properties, Reply, Request, Route, Search, StreamHold, Streams, Submission, Transport,
    TransportEvent, TransportStream, get_requests,
};
use crate::{Error, Pe, Result};
use std::any::Any;
use std::sync::Arc;

/// How much of a transfer is in memory of the host at a time.
const BETWEEN: usize = 1 << 20;

/// What a PE has joined with its host, and its transport if that is one for GPUs.
pub(super) fn local_heap(joined: Route) -> Result<(LocalHeap, Option<Cuda>)> {
    let other: Box<dyn Any> = match joined {
        Route::Host(host) => return Ok((LocalHeap::Host(host), None)),
        other => other.boxed(),
    };
    let unknown = |_| Error::Internal("a kind of memory that is not known on several hosts".into());
    let cuda: Box<CudaTransport> = other.downcast().map_err(unknown)?;
    let cuda: Arc<CudaTransport> = Arc::from(cuda);
    let target_stream = Arc::new(TargetStream::new(Arc::clone(&cuda))?);
    let target = DeviceTarget::new(Arc::clone(&target_stream));
    Ok((
        LocalHeap::Device(target),
        Some(Cuda {
            cuda,
            target_stream,
        }),
    ))
}

/// The transport to the GPUs of a PE's host.
pub(super) struct Cuda {
    cuda: Arc<CudaTransport>,
    target_stream: Arc<TargetStream>,
}

pub(super) struct DeviceTransport {
    remote: RemoteAccess,
    target_stream: Arc<TargetStream>,
    cuda: Arc<CudaTransport>,
    about: String,
}

impl DeviceTransport {
    pub(super) fn new(local: Cuda, remote: RemoteAccess, about: String) -> Result<DeviceTransport> {
        let Cuda {
            cuda,
            target_stream,
        } = local;
        cuda.set_hosts(remote.endpoint.hosts())?;
        Ok(DeviceTransport {
            remote,
            target_stream,
            cuda,
            about,
        })
    }

    fn is_local(&self, pe: Pe) -> bool {
        self.remote.endpoint.hosts().is_local(pe)
    }

    /// Whether memory of the program's is a GPU's. A borrowed slice never is.
    fn is_of_gpu(&self, address: *const u8, borrowed: bool) -> Result<bool> {
        match borrowed {
            true => Ok(false),
            false => self.cuda.is_of_gpu(address as u64),
        }
    }

    /// A put to a PE of another host, which is not throttled.
    fn put_remote(
        &self,
        call: Call,
        pe: Pe,
        dest: u64,
        source: LocalSource<'_>,
        nbi: Nbi,
    ) -> Result<()> {
        if !self.is_of_gpu(source.address(), source.is_borrowed())? {
            return self.remote.put_remote(call, pe, dest, source, nbi);
        }
        in_parts(source.bytes(), |start, part| {
            let from = source.address() as u64 + start as u64;
            self.cuda
                .copy_to_host(call.called, from, LocalDest::from(&mut *part))?;
            let part = LocalSource::from(&*part);
            self.remote
                .put_remote(call, pe, dest + start as u64, part, PART_OF_CALL)
        })
    }

    /// A get from a PE of another host to memory of the GPU.
    fn get_remote(
        &self,
        operation: Operation,
        pe: Pe,
        source: u64,
        to: u64,
        bytes: usize,
    ) -> Result<()> {
        in_parts(bytes, |start, part| {
            let (from, to) = (source + start as u64, to + start as u64);
            self.remote
                .get_remote(operation, pe, from, LocalDest::from(&mut *part))?;
            self.cuda
                .copy_from_host(operation, to, LocalSource::from(&*part))
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

    fn stream_hold(
        &self,
        stream: &Arc<dyn TransportStream>,
    ) -> Result<Option<Arc<dyn StreamHold>>> {
        let hold = CudaStreamHold::new(&self.target_stream, stream.submission())?;
        Ok(Some(Arc::new(hold)))
    }
}

impl DeviceTransport {
    /// The data of a collective, of which one PE at least is on another host.
    fn copy(
        &self,
        call: Call,
        (to, dest): (Pe, u64),
        (from, source): (Pe, u64),
        bytes: usize,
    ) -> Result<()> {
        let operation = call.called;
        if self.is_local(to) {
            let to = self.cuda.address_of(to, dest);
            return self.get_remote(operation, from, source, to, bytes);
        }
        in_parts(bytes, |start, part| {
            let start = start as u64;
            let between = LocalDest::from(&mut *part);
            match self.is_local(from) {
                true => {
                    let from = self.cuda.address_of(from, source + start);
                    self.cuda.copy_to_host(operation, from, between)?;
                }
                false => self
                    .remote
                    .get_remote(operation, from, source + start, between)?,
            }
            let part = LocalSource::from(&*part);
            self.remote
                .put_remote(call, to, dest + start, part, PART_OF_CALL)
        })?;
        self.remote.endpoint.kick();
        self.remote.throttle_puts(call, to)
    }

    fn get_many<'a>(
        &self,
        call: Call,
        requests: impl Iterator<Item = GetRequest<'a>>,
    ) -> Result<()> {
        let mut remote = Vec::new();
        for one in requests {
            let GetRequest { pe, source, dest } = one;
            if self.is_local(pe) || self.is_of_gpu(dest.address(), dest.is_borrowed())? {
                let nbi = Nbi::No;
                self.execute(Request {
                    call,
                    body: Body::Get {
                        pe,
                        source,
                        dest,
                        nbi,
                    },
                })?;
            } else {
                remote.push(GetRequest { pe, source, dest });
            }
        }
        self.remote.get_many(call.called, &mut remote.into_iter())
    }

    /// Executes a request for a PE of another host, where its local memory may be a GPU's.
    fn execute_far(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Put {
                pe,
                dest,
                source,
                nbi,
            } => {
                self.put_remote(call, pe, dest, source, nbi)?;
                if nbi == Nbi::No {
                    self.remote.endpoint.kick();
                }
                self.remote.throttle_puts(call, pe)?;
            }
            Body::Get {
                pe, source, dest, ..
            } if self.is_of_gpu(dest.address(), dest.is_borrowed())? => {
                let (to, bytes) = (dest.address() as u64, dest.bytes());
                self.get_remote(call.called, pe, source, to, bytes)?;
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
                    self.put_remote(call, pe, dest + to, block, PART_OF_CALL)?;
                    self.remote.throttle_puts(call, pe)?;
                }
                self.remote.endpoint.kick();
            }
            Body::GetBlocks {
                pe,
                source,
                dest,
                transfer,
            } => {
                self.get_many(call, get_requests(pe, source, dest, transfer))?;
            }
            Body::PutSignal {
                pe,
                dest,
                source,
                update,
                ..
            } => {
                self.put_remote(call, pe, dest, source, PART_OF_CALL)?;
                self.remote.signal_remote(call, pe, update)?;
            }
            body => return self.remote.execute(Request { call, body }),
        }
        Ok(NOTHING)
    }
}

impl Transport for DeviceTransport {
    fn inner(&self) -> Option<&dyn Transport> {
        Some(&*self.cuda)
    }

    fn properties(&self) -> Properties {
        self.cuda.properties()
    }

    fn memory(&self) -> &dyn Memory {
        self.cuda.memory()
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_local(pe) {
            true => self.cuda.local_ptr(pe, offset),
            false => None,
        }
    }

    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Fence => {
                self.remote.endpoint.fence();
                self.cuda.execute(Request { call, body })
            }
            Body::Quiet | Body::QuietBeforeRelease => {
                self.cuda.execute(Request { call, body })?;
                self.remote.complete(call.called)?;
                Ok(NOTHING)
            }
            Body::GetAll(requests) => {
                self.get_many(call, requests.into_iter())?;
                Ok(NOTHING)
            }
            Body::Copy {
                to,
                dest,
                from,
                source,
                bytes,
            } if !(self.is_local(to) && self.is_local(from)) => {
                self.copy(call, (to, dest), (from, source), bytes as usize)?;
                Ok(NOTHING)
            }
            body if body.target().is_none_or(|pe| self.is_local(pe)) => {
                self.cuda.execute(Request { call, body })
            }
            body => self.execute_far(Request { call, body }),
        }
    }

    fn failure(&self) -> Result<()> {
        self.cuda.failure()?;
        self.remote.endpoint.failure()
    }

    fn keep(&self, error: Error) {
        self.cuda.keep(error);
    }

    fn progress(&self) {
        self.remote.endpoint.progress();
    }

    fn owned_by(&self, owner: Arc<dyn Owner>) {
        self.cuda.owned_by(Arc::clone(&owner));
        // Once, by the runtime that it is made for.
        let _ = self.remote.endpoint.owner.set(owner);
    }

    // Kernels reach no PE of another host, so the library does these itself.

    fn collectives(&self) -> Option<&dyn Collectives> {
        None
    }

    fn search(&self, _: Submission, _: &Search<'_>) -> Option<Result<Found>> {
        None
    }

    fn streams(&self) -> Option<&dyn Streams> {
        Some(self)
    }

    fn disconnect(&self, finalized: bool) {
        self.remote.endpoint.disconnect(finalized);
    }

    fn about(&self) -> Option<String> {
        match self.cuda.about() {
            Some(cuda) => Some(format!("{}; {cuda}", self.about)),
            None => Some(self.about.clone()),
        }
    }
}
