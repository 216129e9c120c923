//! The memory provider for GPUs: the choice of a PE's GPU, and the address range that PEs share if they are threads of one
//! process.

use super::device::{self, Device};
use super::tuning::loaded::Loaded;
use super::{CudaTransport, Segment, default_heap_bytes};
use crate::job::block::Control;
use crate::job::layout::HEAP_UNIT;
use crate::job::topology::Id;
use crate::lock::lock;
use crate::transport::{HostAccess, JobPeers, Joined, LocalTransport, MemoryProvider};
use crate::{Error, Pe, Result};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

/// The GPUs of the PEs of this process.
#[derive(Debug)]
pub struct CudaProvider {
    /// The GPU that the caller of init requested.
    asked: Option<i32>,
    /// The GPU opened for the first PE, until that PE joins, or the error.
    first: Mutex<Option<Result<Arc<Device>>>>,
    /// The tuning file, which is read once.
    tuning: Result<Loaded>,
    threads: Threads,
}

/// The address range that PEs share if they are threads of one process, once a PE has reserved it.
#[derive(Debug, Default)]
pub(super) struct Threads {
    segment: Mutex<Weak<Segment>>,
    /// The name of the GPU model of PE 0.
    model: String,
}

fn open(asked: Option<i32>, pe: Pe) -> Result<Arc<Device>> {
    Device::open(device::choose(asked, pe)?).map(Arc::new)
}

impl CudaProvider {
    /// The provider of PE `pe`, a process.
    pub fn of_process(asked: Option<i32>, pe: Pe) -> CudaProvider {
        CudaProvider {
            asked,
            first: Mutex::new(Some(open(asked, pe))),
            tuning: Loaded::load(),
            threads: Threads::default(),
        }
    }

    /// The provider of `n_pes` threads of this process; an error if they cannot have a GPU each.
    pub fn of_threads(asked: Option<i32>, n_pes: Pe) -> Result<CudaProvider> {
        let count = device::count()?;
        let why = match asked {
            Some(asked) if n_pes > 1 => {
                Some(format!("all of them have GPU {asked} as `device` of init"))
            }
            None if n_pes > count => Some(format!("this process sees {count}")),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Error::NotSupported(format!(
                "{n_pes} PEs that are threads of one process need a GPU each, but {why}: start fewer, or start processes, which may \
                 share a GPU"
            )));
        }
        let tuning = Ok(Loaded::load()?);
        let first = open(asked, 0)?;
        let threads = Threads {
            model: first.properties().name.clone(),
            ..Threads::default()
        };
        Ok(CudaProvider {
            asked,
            first: Mutex::new(Some(Ok(first))),
            tuning,
            threads,
        })
    }

    /// The GPU of PE `pe`.
    fn device(&self, pe: Pe, peers: &JobPeers) -> Result<Arc<Device>> {
        let mut first = lock(&self.first);
        if let JobPeers::Threads = peers {
            let ordinal = device::choose(self.asked, pe)?;
            first.take_if(|one| matches!(one, Ok(device) if device.ordinal() == ordinal))
        } else {
            first.take()
        }
        .unwrap_or_else(|| open(self.asked, pe))
    }
}

impl MemoryProvider for CudaProvider {
    fn default_heap(&self, n_pes: Pe) -> Result<u64> {
        match &*lock(&self.first) {
            Some(Ok(device)) => default_heap_bytes(device, n_pes),
            // The job fails later with this error.
            _ => Ok(HEAP_UNIT),
        }
    }

    fn gpu(&self) -> Option<Id> {
        let first = lock(&self.first);
        Some(first.as_ref()?.as_ref().ok()?.uuid())
    }

    fn exchanges(&self) -> bool {
        true
    }

    fn join(&self, control: &Control, me: Pe, peers: JobPeers, until: Instant) -> Result<Joined> {
        let device = self.device(me, &peers);
        let device = device.and_then(|device| Ok((device, self.tuning.clone()?)));
        let peers = (peers, &self.threads);
        let cuda = CudaTransport::join(control, me, device, peers, until)?;
        Ok(Joined {
            layout: cuda.layout,
            gpu: Some(cuda.device.uuid()),
            transport: LocalTransport::Device(Box::new(cuda)),
            access: HostAccess::default(),
        })
    }
}

impl Threads {
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The address range, extended to one more GPU.
    pub(super) fn segment(
        &self,
        device: &Arc<Device>,
        span: u64,
        alignment: u64,
    ) -> Result<Arc<Segment>> {
        let mut slot = lock(&self.segment);
        match slot.upgrade() {
            Some(segment) => {
                segment.attach(device)?;
                Ok(segment)
            }
            None => {
                let segment = Arc::new(Segment::reserve(device, span, alignment, 0)?);
                *slot = Arc::downgrade(&segment);
                Ok(segment)
            }
        }
    }
}
