//! Provides the memory of a job's heap: properties that init reads before the job exists, and how a PE joins the heap.
//!
//! A transport has one [`MemoryProvider`].

use super::host::HostTransport;
use super::{DeviceMemory, PeerCalls};
use crate::job::block::Control;
use crate::job::layout::Layout;
use crate::job::topology::Id;
use crate::job::wire::Links;
use crate::{Pe, Result};
use std::sync::Arc;
use std::time::Instant;

/// The memory of a heap before the job exists.
pub trait MemoryProvider: std::fmt::Debug + Send + Sync {
    /// The default size of the heap per PE, in bytes.
    fn default_heap(&self, n_pes: Pe) -> Result<u64>;

    /// The GPU that the calling process uses for its heap.
    fn gpu(&self) -> Option<Id> {
        None
    }

    /// Whether processes keep using the connections of the bootstrap.
    fn exchanges(&self) -> bool {
        false
    }

    /// Joins the heap of a job as PE `me`. An earlier failure of this PE is returned here.
    ///
    /// Collective over all PEs of the host if they are processes that exchange data.
    fn join(&self, control: &Control, me: Pe, peers: JobPeers, until: Instant) -> Result<Joined>;
}

/// The PEs of a job.
pub enum JobPeers {
    /// All are threads of this process, and use one [`MemoryProvider`].
    Threads,
    /// Each is a process: these of this host, in order.
    Processes(Vec<Pe>, Links),
}

/// The transport to the PEs of a host.
pub enum LocalTransport {
    Host(HostTransport),
    Device(Box<dyn DeviceMemory>),
}

/// A PE that has joined the heap.
pub struct Joined<T = LocalTransport> {
    pub layout: Layout,
    pub transport: T,
    /// The GPU that the PE uses.
    pub gpu: Option<Id>,
    pub access: HostAccess,
}

/// Ways past the transport, for a wrapper that observes operations.
#[derive(Clone, Default)]
pub struct HostAccess {
    /// The calls to PEs of other hosts, if there are any.
    pub peer_calls: Option<Arc<dyn PeerCalls>>,
    /// The copies between GPU and host, if the heap is on a GPU and the host runs the operations.
    pub device: Option<Arc<dyn DeviceMemory>>,
}

impl<T> Joined<T> {
    /// The same with another transport, made of this one.
    pub fn with<U>(self, transport: impl FnOnce(T) -> U) -> Joined<U> {
        Joined {
            layout: self.layout,
            transport: transport(self.transport),
            gpu: self.gpu,
            access: self.access,
        }
    }
}

impl<T> Joined<Result<T>> {
    /// The error, if the transport could not be made.
    pub fn transpose(self) -> Result<Joined<T>> {
        Ok(Joined {
            layout: self.layout,
            transport: self.transport?,
            gpu: self.gpu,
            access: self.access,
        })
    }
}
