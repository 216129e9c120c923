//! The survey of the GPUs that this process sees, and of their suitability for a heap in device memory.
//!
//! The survey creates no context and allocates no GPU memory, so it does not disturb other processes.
//!
//! The rules are those of [`driver`](super::driver).

use super::device::{self, Uuid};
use super::driver::{self, check};
use super::images::inventory;
use super::nvml::Nvml;
use crate::Result;
use cudarc::driver::sys;
use serde::{Serialize, Serializer};

pub use super::images::inventory::{Compiler, Folder};

/// The result of a survey.
#[derive(Debug)]
pub struct Survey {
    /// The CUDA version that the driver supports, such as "12.8"; or why there is no usable driver, and a remedy.
    pub cuda: std::result::Result<String, String>,
    /// The driver's own version, such as "570.86.15", if NVML reports it.
    pub driver: Option<String>,
    /// The GPUs, by their ordinal in this process.
    pub gpus: Vec<Gpu>,
    /// Every ordered pair of different GPUs.
    pub links: Vec<Link>,
    /// The folders that are searched for images of the kernels.
    pub folders: Vec<Folder>,
    /// NVRTC, or the names that were tried.
    pub compiler: std::result::Result<Compiler, String>,
    /// Why NVML does not report the links of the GPUs.
    pub without_nvml: Option<String>,
}

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    /// The GPU's ordinal in this process.
    pub ordinal: i32,
    /// The GPU's properties, or the missing feature that the symmetric heap needs.
    pub facts: std::result::Result<GpuFacts, String>,
}

/// The properties of a GPU.
#[derive(Debug, Serialize)]
pub struct GpuFacts {
    /// The name that the driver reports.
    pub name: String,
    /// The UUID in the format of `nvidia-smi -L`.
    pub uuid: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Major and minor compute capability.
    #[serde(serialize_with = "dotted")]
    pub capability: (i32, i32),
    /// The number of multiprocessors.
    pub multiprocessors: i32,
    /// The source of the kernels for this GPU; or why there is none, and a remedy.
    #[serde(serialize_with = "success")]
    pub kernels: std::result::Result<String, String>,
}

/// Serializes a compute capability as text, such as "9.0".
fn dotted<S: Serializer>(
    (major, minor): &(i32, i32),
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{major}.{minor}"))
}

/// Serializes a success, and null for an error.
fn success<S: Serializer>(
    result: &std::result::Result<String, String>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    result.as_ref().ok().serialize(serializer)
}

/// The access of one GPU to another GPU's memory.
#[derive(Debug, Serialize)]
pub struct Link {
    /// Ordinal of the GPU that loads and stores.
    pub from: i32,
    /// Ordinal of the GPU whose memory is accessed.
    pub to: i32,
    /// Whether access is possible; a job on both GPUs needs access in both directions.
    pub access: bool,
    /// Whether atomic operations are native.
    pub atomics: bool,
    /// The link between the GPUs, such as "NVLink"; `None` if NVML does not report it.
    pub way: Option<&'static str>,
}

/// Performs the survey. An unexpected error of the driver is returned.
pub fn survey() -> Result<Survey> {
    let mut seen = Survey {
        cuda: driver::start()
            .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10))
            .map_err(|error| error.to_string()),
        driver: None,
        gpus: Vec::new(),
        links: Vec::new(),
        folders: inventory::folders(),
        compiler: inventory::compiler(),
        without_nvml: None,
    };
    if seen.cuda.is_err() {
        return Ok(seen);
    }
    let nvml = match Nvml::start() {
        Ok(nvml) => Some(nvml),
        Err(why) => {
            seen.without_nvml = Some(why);
            None
        }
    };
    seen.driver = nvml.as_ref().and_then(Nvml::driver_version);
    let mut known: Vec<(i32, sys::CUdevice, Uuid)> = Vec::new();
    for ordinal in 0..device::count()? {
        let mut raw = 0;
        // SAFETY: rules 1 and 2.
        check("cuDeviceGet", unsafe {
            sys::cuDeviceGet(&mut raw, ordinal)
        })?;
        let facts = device::properties(ordinal, raw).map(|facts| {
            known.push((ordinal, raw, facts.uuid));
            let (major, minor) = facts.capability;
            GpuFacts {
                name: facts.name,
                uuid: uuid_text(&facts.uuid),
                memory_bytes: facts.total,
                capability: (major, minor),
                multiprocessors: facts.multiprocessors,
                kernels: inventory::source_for(major, minor),
            }
        });
        let facts = facts.map_err(|error| error.to_string());
        seen.gpus.push(Gpu { ordinal, facts });
    }
    for &(from, one, ref uuid) in &known {
        for &(to, other, ref peer) in &known {
            if from != to {
                seen.links.push(Link {
                    from,
                    to,
                    access: device::can_access(one, other)?,
                    atomics: device::has_native_atomics(one, other)?,
                    way: nvml.as_ref().and_then(|nvml| nvml.link(uuid, peer)),
                });
            }
        }
    }
    Ok(seen)
}

/// The UUID in the format of `nvidia-smi -L`.
pub(super) fn uuid_text(uuid: &Uuid) -> String {
    let mut text = String::from("GPU");
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::uuid_text;

    #[test]
    fn uuids_read_as_in_nvidia_smi() {
        let uuid = std::array::from_fn(|i| 0x10 * i as u8 + i as u8);
        let text = "GPU-00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(uuid_text(&uuid), text);
    }
}
