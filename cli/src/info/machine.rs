//! The resources of the machine.

use anyhow::{Context, Result};
use nvshmemrs::machine;
use serde::Serialize;
use std::thread;

/// Host, cores and memory.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel and its release.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Cores that this process may use, within its affinity and control group.
    pub usable_cores: usize,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Memory that symmetric heaps may take now, in bytes.
    pub available_bytes: u64,
    /// The limit that determines `available_bytes`.
    pub available_limit: String,
    /// The control group's memory limit in bytes, if it has one.
    pub cgroup_limit_bytes: Option<u64>,
    /// The used part of that limit, in bytes.
    pub cgroup_used_bytes: Option<u64>,
    /// The default heap sizes per PE.
    pub default_heaps: Vec<DefaultHeap>,
}

/// The default heap of a job.
#[derive(Debug, Serialize)]
pub struct DefaultHeap {
    /// PEs of the job, all on this host.
    pub n_pes: i32,
    /// Symmetric heap per PE, in bytes.
    pub bytes_per_pe: u64,
}

impl Machine {
    /// Reads the resources of this machine.
    pub fn gather() -> Result<Self> {
        let name = rustix::system::uname();
        let lossy = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let memory = rustix::system::sysinfo();
        let usable_cores = thread::available_parallelism()
            .context("cannot count cores")?
            .get();
        let (available_bytes, available_limit) = machine::available();
        let (limit, used) = machine::cgroup().unzip();
        let mut sizes = vec![1, i32::try_from(usable_cores)?];
        sizes.dedup();
        let heap = |n_pes| DefaultHeap {
            n_pes,
            bytes_per_pe: machine::default_heap_bytes(n_pes),
        };
        Ok(Self {
            host: lossy(name.nodename()),
            kernel: format!("{} {}", lossy(name.sysname()), lossy(name.release())),
            architecture: lossy(name.machine()),
            usable_cores,
            memory_bytes: memory.totalram * u64::from(memory.mem_unit),
            available_bytes,
            available_limit,
            cgroup_limit_bytes: limit,
            cgroup_used_bytes: used,
            default_heaps: sizes.into_iter().map(heap).collect(),
        })
    }
}
