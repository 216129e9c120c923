//! The whole report of `nvshmemrs-info`, as one value.

use super::gpus::Gpus;
use super::launchers::{self, Launcher};
use super::machine::Machine;
use super::settings::Settings;
use anyhow::Result;
use serde::Serialize;

/// The whole report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of the library.
    pub version: &'static str,
    /// The machine.
    pub machine: Machine,
    /// The kinds of memory for symmetric heaps.
    pub memory_kinds: Vec<MemoryKind>,
    /// The GPUs.
    pub gpus: Gpus,
    /// Launchers and the variables that they have set.
    pub launchers: Vec<Launcher>,
    /// The settings.
    #[serde(flatten)]
    pub settings: Settings,
}

/// A kind of memory.
#[derive(Debug, Serialize)]
pub struct MemoryKind {
    /// Its name, as in `NVSHMEMRS_MEMORY`.
    pub name: &'static str,
    /// Whether a job can use it here.
    pub offered: bool,
    /// The missing requirement, if it is not offered.
    pub why: String,
}

impl Report {
    /// Collects the report.
    pub fn gather() -> Result<Self> {
        let gpus = Gpus::gather()?;
        let no_device_memory = gpus.none();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            machine: Machine::gather()?,
            memory_kinds: vec![
                MemoryKind {
                    name: "host",
                    offered: true,
                    why: String::new(),
                },
                MemoryKind {
                    name: "device",
                    offered: no_device_memory.is_none(),
                    why: no_device_memory.unwrap_or_default(),
                },
            ],
            gpus,
            launchers: launchers::all(),
            settings: Settings::gather(),
        })
    }
}
