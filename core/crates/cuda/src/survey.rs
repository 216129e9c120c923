//! The GPUs that this process sees, and what they offer to jobs with the heap in device memory.
//!
//! Looking makes no context and takes no GPU memory, so it disturbs nobody who uses the GPUs.
//!
//! The rules are those of [`driver`](super::driver).

use super::device::{self, Uuid};
use super::driver::{self, check};
use super::images::inventory;
use super::nvml::Nvml;
use crate::Result;
use cudarc::driver::sys;

pub use super::images::inventory::{Compiler, Folder};

/// The result of a survey.
#[derive(Debug)]
pub struct Survey {
    /// The version of CUDA that the driver is for, such as "12.8"; or why there is no driver that serves, and what to do.
    pub cuda: std::result::Result<String, String>,
    /// The driver's own version, such as "570.86.15", as far as NVML tells.
    pub driver: Option<String>,
    /// The GPUs, by their number in this process.
    pub gpus: Vec<Gpu>,
    /// Every ordered pair of different GPUs.
    pub links: Vec<Link>,
    /// Where images of the kernels are looked for.
    pub folders: Vec<Folder>,
    /// NVRTC, or where it was looked for in vain.
    pub compiler: std::result::Result<Compiler, String>,
    /// Why NVML does not tell how the GPUs are linked.
    pub without_nvml: Option<String>,
}

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    /// Its number in this process.
    pub ordinal: i32,
    /// Its properties, or the feature that the symmetric heap needs and that it lacks.
    pub facts: std::result::Result<GpuFacts, String>,
}

/// The properties of a GPU.
#[derive(Debug)]
pub struct GpuFacts {
    /// The name that its driver gives it.
    pub name: String,
    /// As `nvidia-smi -L` prints it.
    pub uuid: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Major and minor compute capability.
    pub capability: (i32, i32),
    /// How many multiprocessors it has.
    pub multiprocessors: i32,
    /// Where a job would get its kernels from; or why it would not, and what to do.
    pub kernels: std::result::Result<String, String>,
}

/// How one GPU reaches another one's memory.
#[derive(Debug)]
pub struct Link {
    /// Number of the GPU that loads and stores.
    pub from: i32,
    /// Number of the GPU whose memory it is.
    pub to: i32,
    /// Whether it can at all; a job on both needs that in both directions.
    pub access: bool,
    /// Whether atomic operations work there as on its own memory.
    pub atomics: bool,
    /// By what they are linked, such as "NVLink"; `None` if NVML does not tell.
    pub way: Option<&'static str>,
}

/// Looks. An error of the driver in the middle, which ought not to happen, is returned.
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

/// As `nvidia-smi -L` prints it.
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
