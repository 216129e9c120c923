//! A kind of memory before there is a job on it: what init asks of it, and how a PE joins.
//!
//! A transport has one [`Origin`], in its folder, and is made in one line here.

use super::Route;
use super::cuda::CudaOrigin;
use super::host::HostOrigin;
use crate::job::block::Control;
use crate::job::layout::Layout;
use crate::job::places::Id;
use crate::job::wire::Links;
use crate::{MemoryKind, Pe, Result};
use std::time::Instant;

/// What a transport is before there is a job.
pub(crate) trait Origin: std::fmt::Debug + Send + Sync {
    /// The bytes of heap per PE if nobody says otherwise.
    fn default_heap(&self, n_pes: Pe) -> Result<u64>;

    /// The GPU that the calling process uses for its heap.
    fn gpu(&self) -> Option<Id> {
        None
    }

    /// Whether processes go on exchanging something over the connections that brought the job together.
    fn exchanges(&self) -> bool {
        false
    }

    /// Joins the heap of a job as PE `me`. What has gone wrong before, so that this PE cannot, is said here.
    ///
    /// Collective over all PEs of the host if they are processes that exchange something.
    fn join(&self, control: &Control, me: Pe, company: Company, until: Instant) -> Result<Joined>;
}

/// The PEs of a job.
pub(crate) enum Company {
    /// All are threads of this process, and use one [`Origin`].
    Threads,
    /// Each is a process: these of this host, in order.
    Processes(Vec<Pe>, Links),
}

/// A PE's way to the heap.
pub(crate) struct Joined {
    pub(crate) layout: Layout,
    pub(crate) transport: Route,
    /// The GPU that the PE uses.
    pub(crate) gpu: Option<Id>,
}

/// The origin of PE `pe`, a process. A PE without what it needs joins, and tells the others why it cannot go on.
pub(crate) fn of_process(memory: MemoryKind, device: Option<i32>, pe: Pe) -> Box<dyn Origin> {
    match memory {
        MemoryKind::Host => Box::new(HostOrigin),
        MemoryKind::Device => Box::new(CudaOrigin::of_process(device, pe)),
    }
}

/// The origin of `n_pes` PEs that are threads of this process.
pub(crate) fn of_threads(
    memory: MemoryKind,
    device: Option<i32>,
    n_pes: Pe,
) -> Result<Box<dyn Origin>> {
    Ok(match memory {
        MemoryKind::Host => Box::new(HostOrigin),
        MemoryKind::Device => Box::new(CudaOrigin::of_threads(device, n_pes)?),
    })
}
