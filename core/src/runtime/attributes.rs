//! The attributes of init, and the values in force together with the environment.

use crate::clock::now_ns;
use crate::config::{SETTINGS, Source, Value};
use crate::job::published::Limit;
use crate::transport::CheckSettings;
use crate::{Error, MemoryKind, Result, config};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The attributes of init. All PEs must agree on `heap_bytes`, `memory` and `check`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitAttr {
    /// Bytes of symmetric heap per PE; `None` takes `NVSHMEM_SYMMETRIC_SIZE`, else the machine's default.
    pub heap_bytes: Option<u64>,
    /// Where the heap lives; `None` takes `NVSHMEMRS_MEMORY`, else host.
    pub memory: Option<MemoryKind>,
    /// The GPU of this PE, if the heap is in device memory, by its number in this process; `None` takes the GPU of the calling
    /// thread's current CUDA context, else a GPU by the PE's number.
    pub device: Option<i32>,
    /// How long a wait may last, at most 10^9 s; `None` takes `NVSHMEMRS_TIMEOUT`, else there is no limit.
    pub timeout: Option<Duration>,
    /// How long init may last, at most 10^9 s; `None` takes `NVSHMEMRS_INIT_TIMEOUT`, else a minute.
    pub init_timeout: Option<Duration>,
    /// Whether the job is checked for missing synchronisation; `None` takes `NVSHMEMRS_CHECK`, else it is not.
    pub check: Option<bool>,
    /// The seed of the checker's choices; `None` takes `NVSHMEMRS_CHECK_SEED`, else it is random.
    pub check_seed: Option<u64>,
}

/// The attributes in force, together with the environment.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) memory: MemoryKind,
    pub(crate) device: Option<i32>,
    pub(crate) heap_bytes: Option<u64>,
    pub(crate) timeout: Option<(Duration, Limit)>,
    pub(crate) init_timeout: (Duration, Limit),
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) stall_after: Option<Duration>,
    pub(crate) track: bool,
    pub(crate) traffic: bool,
    /// The file of the timeline.
    pub(crate) trace: Option<PathBuf>,
    /// The settings in force.
    pub(crate) settings: Arc<[Value]>,
    pub(crate) check: CheckSettings,
}

impl InitAttr {
    /// All settings, from the environment and these attributes.
    fn settings(&self) -> Arc<[Value]> {
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64().to_string());
        let said = [
            (
                "NVSHMEM_SYMMETRIC_SIZE",
                self.heap_bytes.map(|bytes| bytes.to_string()),
            ),
            (
                "NVSHMEMRS_MEMORY",
                self.memory.map(|memory| memory.to_string()),
            ),
            ("NVSHMEMRS_TIMEOUT", seconds(self.timeout)),
            ("NVSHMEMRS_INIT_TIMEOUT", seconds(self.init_timeout)),
            (
                "NVSHMEMRS_CHECK",
                self.check.map(|on| u8::from(on).to_string()),
            ),
            (
                "NVSHMEMRS_CHECK_SEED",
                self.check_seed.map(|seed| seed.to_string()),
            ),
        ];
        let value = |setting: &config::Setting| {
            let found = config::lookup(setting.name);
            let value = said.iter().find(|(name, _)| *name == setting.name);
            match value.and_then(|(_, value)| value.clone()) {
                Some(value) => Value {
                    value,
                    source: Source::Init,
                    ..found
                },
                None => found,
            }
        };
        SETTINGS.iter().map(value).collect()
    }

    /// How long init may last, and the source of that limit.
    pub(crate) fn init_limit(&self) -> Result<(Duration, Limit)> {
        Ok(match self.init_timeout {
            Some(limit) => (
                config::limit_from("init_timeout", limit)?,
                Limit::InitTimeoutOfInit,
            ),
            None => (config::init_timeout()?, Limit::InitTimeout),
        })
    }

    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let memory = match self.memory {
            Some(memory) => memory,
            None => config::memory()?,
        };
        let check = CheckSettings::of(self.check, self.check_seed)?;
        if let (MemoryKind::Host, Some(device)) = (memory, self.device) {
            return Err(Error::invalid(
                "device",
                device,
                "left out, because the heap is in host memory: set memory to device (NVSHMEMRS_MEMORY), too",
            ));
        }
        let timeout = match self.timeout {
            Some(limit) => Some((config::limit_from("timeout", limit)?, Limit::TimeoutOfInit)),
            None => config::timeout()?.map(|limit| (limit, Limit::Timeout)),
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
            init_timeout: self.init_limit()?,
            stop_timeout: config::stop_timeout()?,
            stall_after: config::stall_after()?,
            track: config::track()?,
            traffic: config::traffic()?,
            trace: config::trace(),
            settings: self.settings(),
            check,
        })
    }
}

/// How long the waits of a PE may last without a deadline, and the source of that limit.
pub(crate) struct Limits {
    timeout: Option<(Duration, Limit)>,
    /// When init times out, on the monotonic clock in ns.
    init: (u64, Limit),
}

impl Limits {
    /// The limits of a PE in init.
    pub(crate) fn new(attr: &Resolved, until: Instant) -> Limits {
        let left = until.saturating_duration_since(Instant::now());
        let until = now_ns().saturating_add(left.as_nanos() as u64);
        Limits {
            timeout: attr.timeout,
            init: (until, attr.init_timeout.1),
        }
    }

    /// For every wait but those of init.
    pub(crate) fn timeout(&self) -> Option<(Duration, Limit)> {
        self.timeout
    }

    /// The limit of a wait in init that begins at `since`, on the monotonic clock in ns.
    pub(crate) fn of_init(&self, since: u64) -> (Duration, Limit) {
        let (until, limit) = self.init;
        (Duration::from_nanos(until.saturating_sub(since)), limit)
    }
}
