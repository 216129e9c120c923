//! The transport of a PE whose heap is on a GPU, in a job on several hosts. Local PEs are reached by the transport for GPUs; data of remote
//! PEs passes through memory of the host. Their requests to this PE's GPU are in [`endpoint`](super::endpoint).
//!
//! All operations are blocking: a stream is a queue of the host, which runs an operation when the GPU's stream has come to it
//! (`stream/host_proxied.rs`). Collectives use meetings and copies, because kernels reach no remote PE.

use super::RemoteAccess;
use super::transfers::PART_OF_CALL;
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::{
    Body, Call, CopyRequest, GetRequest, HostDriven, Memory, NOTHING, Nbi, Owner, Properties,
    PutRequest, Reply, Request, Transport,
};
use crate::{Error, Pe, Result};
use std::sync::Arc;

/// The most bytes of a transfer in memory of the host at a time.
const BETWEEN: usize = 1 << 20;

pub(super) struct DeviceTransport {
    remote: RemoteAccess,
    /// The transport to the GPUs of this host.
    local: HostDriven,
    about: String,
}

impl RemoteAccess {
    /// Whether memory of the program is on a GPU. A borrowed slice never is.
    pub(super) fn is_of_gpu(&self, address: *const u8, borrowed: bool) -> Result<bool> {
        match &self.device {
            Some(device) if !borrowed => device.is_of_gpu(address as u64),
            _ => Ok(false),
        }
    }

    /// A put to a remote PE, of memory of the host or of a GPU. It is not throttled; a non-blocking put is not flushed.
    pub(super) fn put(&self, call: Call, put: PutRequest<'_>, nbi: Nbi) -> Result<()> {
        let PutRequest { pe, dest, source } = put;
        let device = match &self.device {
            Some(device) if self.is_of_gpu(source.address(), source.is_borrowed())? => device,
            _ => return self.put_remote(call, put, nbi),
        };
        in_parts(source.bytes(), |start, part| {
            let from = source.address() as u64 + start as u64;
            device.copy_to_host(call.called, from, LocalDest::from(&mut *part))?;
            let (dest, source) = (dest + start as u64, LocalSource::from(&*part));
            self.put_remote(call, PutRequest { pe, dest, source }, PART_OF_CALL)
        })?;
        if nbi == Nbi::No {
            self.endpoint.kick();
        }
        Ok(())
    }

    /// A get from a remote PE to memory of a GPU.
    pub(super) fn get_to_gpu(&self, operation: Operation, get: &GetRequest<'_>) -> Result<()> {
        let to = get.dest.address() as u64;
        self.get_to(operation, (get.pe, get.source), to, get.dest.bytes())
    }

    /// The same, to an address.
    fn get_to(
        &self,
        operation: Operation,
        (pe, source): (Pe, u64),
        to: u64,
        bytes: usize,
    ) -> Result<()> {
        let Some(device) = &self.device else {
            let why = "a heap in host memory has no address on a GPU";
            return Err(Error::Internal(why.into()));
        };
        in_parts(bytes, |start, part| {
            let (source, to) = (source + start as u64, to + start as u64);
            let dest = LocalDest::from(&mut *part);
            self.get_remote(operation, GetRequest { pe, source, dest })?;
            device.copy_from_host(operation, to, LocalSource::from(&*part))
        })
    }
}

impl DeviceTransport {
    pub(super) fn new(local: HostDriven, remote: RemoteAccess, about: String) -> DeviceTransport {
        DeviceTransport {
            remote,
            local,
            about,
        }
    }

    fn is_local(&self, pe: Pe) -> bool {
        self.remote.endpoint.hosts().is_local(pe)
    }
}

/// Performs a transfer in parts, each with a buffer of the host.
fn in_parts(bytes: usize, mut each: impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
    let mut between = vec![0; bytes.min(BETWEEN)];
    (0..bytes).step_by(BETWEEN).try_for_each(|start| {
        let bytes = BETWEEN.min(bytes - start);
        each(start, &mut between[..bytes])
    })
}

impl DeviceTransport {
    /// Moves data of a collective, of which at least one PE is remote.
    fn copy(&self, call: Call, of: CopyRequest) -> Result<()> {
        let CopyRequest { to, from, .. } = of;
        let (operation, source, bytes) = (call.called, of.source, of.bytes as usize);
        if self.is_local(to) {
            let to = self.local.device().address_of(to, of.dest);
            return self.remote.get_to(operation, (from, source), to, bytes);
        }
        in_parts(bytes, |start, part| {
            let start = start as u64;
            let (pe, source, dest) = (from, source + start, LocalDest::from(&mut *part));
            if self.is_local(pe) {
                let from = self.local.device().address_of(pe, source);
                self.local.device().copy_to_host(operation, from, dest)?;
            } else {
                (self.remote).get_remote(operation, GetRequest { pe, source, dest })?;
            }
            let (pe, dest, source) = (to, of.dest + start, LocalSource::from(&*part));
            (self.remote).put_remote(call, PutRequest { pe, dest, source }, PART_OF_CALL)
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
            if self.is_local(one.pe) {
                let body = Body::Get(one, Nbi::No);
                self.local.execute(Request { call, body })?;
            } else if (self.remote).is_of_gpu(one.dest.address(), one.dest.is_borrowed())? {
                self.remote.get_to_gpu(call.called, &one)?;
            } else {
                remote.push(one);
            }
        }
        self.remote.get_many(call.called, &mut remote.into_iter())
    }
}

impl Transport for DeviceTransport {
    fn inner(&self) -> Option<&dyn Transport> {
        Some(&self.local)
    }

    fn properties(&self) -> Properties {
        self.local.properties()
    }

    fn memory(&self) -> &dyn Memory {
        self.local.memory()
    }

    fn local_ptr(&self, pe: Pe, offset: u64) -> Option<u64> {
        match self.is_local(pe) {
            true => self.local.local_ptr(pe, offset),
            false => None,
        }
    }

    fn execute(&self, Request { call, body }: Request<'_>) -> Result<Reply> {
        match body {
            Body::Fence => {
                self.remote.endpoint.fence();
                self.local.execute(Request { call, body })
            }
            Body::Quiet => {
                self.local.execute(Request { call, body })?;
                self.remote.complete_context(call)?;
                Ok(NOTHING)
            }
            Body::QuietBeforeRelease => {
                self.local.execute(Request { call, body })?;
                self.remote.complete(call.called)?;
                Ok(NOTHING)
            }
            Body::GetAll(requests) => {
                self.get_many(call, requests.into_iter())?;
                Ok(NOTHING)
            }
            Body::Copy(of) if !(self.is_local(of.to) && self.is_local(of.from)) => {
                self.copy(call, of)?;
                Ok(NOTHING)
            }
            body if body.target().is_none_or(|pe| self.is_local(pe)) => {
                self.local.execute(Request { call, body })
            }
            body => self.remote.execute(Request { call, body }),
        }
    }

    fn failure(&self) -> Result<()> {
        self.local.failure()?;
        self.remote.endpoint.failure()
    }

    fn keep(&self, error: Error) {
        self.local.keep(error);
    }

    fn progress(&self) {
        self.remote.endpoint.progress();
    }

    fn owned_by(&self, owner: Arc<dyn Owner>) {
        self.local.owned_by(Arc::clone(&owner));
        // Once, by the runtime that it is made for.
        let _ = self.remote.endpoint.owner.set(owner);
    }

    fn disconnect(&self, finalized: bool) {
        self.remote.endpoint.disconnect(finalized);
    }

    fn about(&self) -> Option<String> {
        match self.local.about() {
            Some(device) => Some(format!("{}; {device}", self.about)),
            None => Some(self.about.clone()),
        }
    }
}
