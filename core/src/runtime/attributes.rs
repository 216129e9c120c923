//! What a job may be told at init, and what of it holds once the environment has been asked.

use crate::transport::CheckSettings;
#[cfg(test)]
use crate::transport::channel::Links;
use crate::{Error, MemoryKind, Result, config};
#[cfg(test)]
use std::sync::Arc;
use std::time::Duration;

/// What a job may be told at init. All PEs must agree on `heap_bytes`, `memory` and `check`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitAttr {
    /// Bytes of symmetric heap per PE; `None` takes `NVSHMEM_SYMMETRIC_SIZE`, else the machine's default.
    pub heap_bytes: Option<u64>,
    /// Where the heap lives; `None` takes `NVSHMEMRS_MEMORY`, else host.
    pub memory: Option<MemoryKind>,
    /// The GPU that this PE uses, if the heap is in device memory, as this process counts them; `None` takes the one of the calling
    /// thread's current CUDA context, else one by the PE's number.
    pub device: Option<i32>,
    /// How long a wait may last, at most 10^9 s; `None` takes `NVSHMEMRS_TIMEOUT`, else there is no limit.
    pub timeout: Option<Duration>,
    /// How long init may last, at most 10^9 s; `None` takes `NVSHMEMRS_INIT_TIMEOUT`, else a minute.
    pub init_timeout: Option<Duration>,
    /// Whether the job is checked for missing synchronisation; `None` takes `NVSHMEMRS_CHECK`, else it is not.
    pub check: Option<bool>,
    /// What the checker's choices follow from; `None` takes `NVSHMEMRS_CHECK_SEED`, else it is random.
    pub check_seed: Option<u64>,
}

/// What init goes by, once the environment has been asked.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) memory: MemoryKind,
    pub(crate) device: Option<i32>,
    pub(crate) heap_bytes: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) init_timeout: Duration,
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) track: bool,
    pub(crate) check: CheckSettings,
    /// How the PEs reach each other, if by messages only.
    #[cfg(test)]
    pub(crate) links: Option<Arc<Links>>,
}

impl InitAttr {
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let memory = match self.memory {
            Some(memory) => memory,
            None => config::memory()?,
        };
        let check = CheckSettings::of(self.check, self.check_seed)?;
        if memory == MemoryKind::Device && check.wanted() {
            return Err(Error::NotSupported(
                "the checker looks at host memory only: switch it off with NVSHMEMRS_CHECK=0, or set NVSHMEMRS_MEMORY=host".into(),
            ));
        }
        if let (MemoryKind::Host, Some(device)) = (memory, self.device) {
            return Err(Error::invalid(
                "device",
                device,
                "left out, because the heap is in host memory: set memory to device (NVSHMEMRS_MEMORY), too",
            ));
        }
        let timeout = match self.timeout {
            Some(limit) => Some(config::limit_from("timeout", limit)?),
            None => config::timeout()?,
        };
        let init_timeout = match self.init_timeout {
            Some(limit) => config::limit_from("init_timeout", limit)?,
            None => config::init_timeout()?,
        };
        let heap_bytes = match self.heap_bytes {
            Some(0) => return Err(Error::invalid("heap_bytes", 0, "at least 1 byte")),
            Some(bytes) => Some(bytes),
            None => config::symmetric_size()?,
        };
        // An error before the PEs meet; transports ask again.
        config::device_check()?;
        Ok(Resolved {
            memory,
            device: self.device,
            heap_bytes,
            timeout,
            init_timeout,
            stop_timeout: config::stop_timeout()?,
            track: config::track()?,
            check,
            #[cfg(test)]
            links: None,
        })
    }
}
