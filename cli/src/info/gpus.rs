//! The GPUs of this machine, those that a job would use, and missing requirements.

use anyhow::Result;
use nvshmemrs::gpus::{self, Survey};
use serde::Serialize;

/// What device memory would do for.
const DEVICE_MEMORY: &str = "device memory";

/// GPUs and what belongs to them.
#[derive(Debug, Serialize)]
pub struct Gpus {
    /// The version of CUDA that the driver is for, if there is a driver that serves.
    pub cuda: Option<String>,
    /// The driver's own version, as far as NVML tells.
    pub driver: Option<String>,
    /// Every GPU that this process sees.
    pub devices: Vec<Device>,
    /// How they reach each other's memory: every ordered pair.
    pub links: Vec<Link>,
    /// Where images of the kernels are looked for.
    pub images: Vec<Images>,
    /// The compiler of kernels, if it was found.
    pub nvrtc: Option<Nvrtc>,
    /// What does not work here, and the remedy.
    pub missing: Vec<Missing>,
}

/// A GPU.
#[derive(Debug, Serialize)]
pub struct Device {
    /// Its number in this process.
    pub ordinal: i32,
    /// Whether a job can use it.
    pub usable: bool,
    /// What it is, unless it lacks what every job needs.
    pub facts: Option<GpuDescription>,
}

/// What a GPU is.
#[derive(Debug, Serialize)]
pub struct GpuDescription {
    /// Its name.
    pub name: String,
    /// As `nvidia-smi -L` prints it.
    pub uuid: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Compute capability, such as "9.0".
    pub capability: String,
    /// How many multiprocessors it has.
    pub multiprocessors: i32,
    /// Where a job gets its kernels from.
    pub kernels: Option<String>,
}

/// How one GPU reaches another one's memory.
#[derive(Debug, Serialize)]
pub struct Link {
    /// The GPU that loads and stores.
    pub from: i32,
    /// The GPU whose memory it is.
    pub to: i32,
    /// Whether it can.
    pub access: bool,
    /// Whether atomic operations work there as on its own memory.
    pub atomics: bool,
    /// By what they are linked, if NVML tells.
    pub way: Option<&'static str>,
}

/// A folder of images.
#[derive(Debug, Serialize)]
pub struct Images {
    /// The folder.
    pub folder: String,
    /// For which architectures it has images.
    pub architectures: Vec<String>,
    /// Images that cannot be read, and why.
    pub unreadable: Vec<String>,
}

/// NVRTC.
#[derive(Debug, Serialize)]
pub struct Nvrtc {
    /// Its version.
    pub version: String,
    /// The file, or the name by which the dynamic linker knows it.
    pub origin: String,
}

/// Something that does not work here.
#[derive(Debug, Serialize)]
pub struct Missing {
    /// What does not work.
    pub what: String,
    /// Why, and what to do about it.
    pub why: String,
}

impl Gpus {
    /// Looks; no GPU is put to use.
    pub fn gather() -> Result<Self> {
        let survey = gpus::survey()?;
        let missing = missing(&survey);
        let device = |gpu: gpus::Gpu| Device {
            ordinal: gpu.ordinal,
            usable: gpu.facts.as_ref().is_ok_and(|facts| facts.kernels.is_ok()),
            facts: gpu.facts.ok().map(|facts| GpuDescription {
                name: facts.name,
                uuid: facts.uuid,
                memory_bytes: facts.memory_bytes,
                capability: format!("{}.{}", facts.capability.0, facts.capability.1),
                multiprocessors: facts.multiprocessors,
                kernels: facts.kernels.ok(),
            }),
        };
        let link = |link: gpus::Link| Link {
            from: link.from,
            to: link.to,
            access: link.access,
            atomics: link.atomics,
            way: link.way,
        };
        let images = |folder: gpus::Folder| Images {
            folder: folder.path.display().to_string(),
            architectures: folder.images,
            unreadable: folder.unreadable,
        };
        Ok(Self {
            cuda: survey.cuda.ok(),
            driver: survey.driver,
            devices: survey.gpus.into_iter().map(device).collect(),
            links: survey.links.into_iter().map(link).collect(),
            images: survey.folders.into_iter().map(images).collect(),
            nvrtc: survey.compiler.ok().map(|compiler| Nvrtc {
                version: compiler.version,
                origin: compiler.origin,
            }),
            missing,
        })
    }

    /// Why no job can have its heap in device memory here; `None` if one can.
    pub fn none(&self) -> Option<String> {
        if self.devices.iter().any(|device| device.usable) {
            return None;
        }
        let whys = self.missing.iter();
        let whys = whys.filter(|missing| missing.what.starts_with(DEVICE_MEMORY));
        let whys: Vec<&str> = whys.map(|missing| missing.why.as_str()).collect();
        Some(whys.join("; "))
    }
}

fn missing(survey: &Survey) -> Vec<Missing> {
    let mut all = Vec::new();
    let mut add = |what: String, why: String| all.push(Missing { what, why });
    match &survey.cuda {
        Err(why) => add(DEVICE_MEMORY.into(), why.clone()),
        Ok(_) if survey.gpus.is_empty() => add(
            DEVICE_MEMORY.into(),
            "there is a driver, but no NVIDIA GPU is visible to this process: look at `nvidia-smi` and CUDA_VISIBLE_DEVICES".into(),
        ),
        Ok(_) => {}
    }
    for gpu in &survey.gpus {
        let why = match &gpu.facts {
            Ok(facts) => facts.kernels.as_ref().err(),
            Err(why) => Some(why),
        };
        if let Some(why) = why {
            add(
                format!("{DEVICE_MEMORY} on GPU {}", gpu.ordinal),
                why.clone(),
            );
        }
    }
    for link in &survey.links {
        let back = survey.links.iter();
        let mut back = back.filter(|back| back.from == link.to && back.to == link.from);
        let both = |has: fn(&gpus::Link) -> bool| has(link) && back.clone().all(has);
        let why = if !both(|link| link.access) {
            "they cannot access each other's memory (`nvidia-smi topo -p2p r` shows more)"
        } else if !both(|link| link.atomics) {
            "between them there are no native atomic operations (`nvidia-smi topo -p2p a` shows more)"
        } else {
            continue;
        };
        // A pair is told once.
        if link.from < link.to || back.next().is_none() {
            add(
                format!("a job on GPUs {} and {}", link.from, link.to),
                format!(
                    "{why}: choose others by CUDA_VISIBLE_DEVICES, or use NVSHMEMRS_MEMORY=host"
                ),
            );
        }
    }
    for folder in &survey.folders {
        for file in &folder.unreadable {
            let what = format!("the images in {}", folder.path.display());
            add(
                what,
                format!("{file}: remove it, or install nvshmemrs again"),
            );
        }
    }
    if let Some(why) = &survey.without_nvml {
        let remedy = "libnvidia-ml.so.1 comes with the driver; in a container, let NVIDIA_DRIVER_CAPABILITIES contain utility";
        add(
            "telling NVLink from PCIe".into(),
            format!("{why}: {remedy}"),
        );
    }
    all
}
