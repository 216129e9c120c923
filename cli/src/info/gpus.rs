//! The GPUs of this machine, their suitability for a job, and missing requirements.

use anyhow::Result;
use nvshmemrs::gpus::{self, Survey};
use serde::Serialize;

/// The feature that GPUs provide, for the list of missing requirements.
const DEVICE_MEMORY: &str = "device memory";

/// The GPUs and the software for them.
#[derive(Debug, Serialize)]
pub struct Gpus {
    /// The CUDA version that the driver supports, if there is a usable driver.
    pub cuda: Option<String>,
    /// The driver's own version, if NVML reports it.
    pub driver: Option<String>,
    /// Every GPU that this process sees.
    pub devices: Vec<Device>,
    /// The access of every GPU to the memory of every other GPU.
    pub links: Vec<Link>,
    /// The folders that are searched for images of the kernels.
    pub images: Vec<Images>,
    /// NVRTC, if it was found.
    pub nvrtc: Option<Nvrtc>,
    /// The features that do not work here, with remedies.
    pub missing: Vec<Missing>,
}

/// A GPU.
#[derive(Debug, Serialize)]
pub struct Device {
    /// The GPU's ordinal in this process.
    pub ordinal: i32,
    /// Whether a job can use it.
    pub usable: bool,
    /// The GPU's properties, unless it lacks a feature that every job needs.
    pub facts: Option<GpuDescription>,
}

/// The properties of a GPU.
#[derive(Debug, Serialize)]
pub struct GpuDescription {
    /// Its name.
    pub name: String,
    /// The UUID in the format of `nvidia-smi -L`.
    pub uuid: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Compute capability, such as "9.0".
    pub capability: String,
    /// The number of multiprocessors.
    pub multiprocessors: i32,
    /// The source of the kernels for this GPU.
    pub kernels: Option<String>,
}

/// The access of one GPU to another GPU's memory.
#[derive(Debug, Serialize)]
pub struct Link {
    /// The GPU that loads and stores.
    pub from: i32,
    /// The GPU whose memory it is.
    pub to: i32,
    /// Whether access is possible.
    pub access: bool,
    /// Whether atomic operations are native.
    pub atomics: bool,
    /// The link between the GPUs, if NVML reports it.
    pub way: Option<&'static str>,
}

/// A folder of images.
#[derive(Debug, Serialize)]
pub struct Images {
    /// The folder.
    pub folder: String,
    /// The architectures for which the folder has images.
    pub architectures: Vec<String>,
    /// Images that could not be read, and why.
    pub unreadable: Vec<String>,
}

/// NVRTC.
#[derive(Debug, Serialize)]
pub struct Nvrtc {
    /// Its version.
    pub version: String,
    /// The file, or the name under which the dynamic linker found it.
    pub origin: String,
}

/// A feature that does not work here.
#[derive(Debug, Serialize)]
pub struct Missing {
    /// The feature.
    pub what: String,
    /// The reason and the remedy.
    pub why: String,
}

impl Gpus {
    /// Surveys the GPUs, without using any.
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

    /// Why no job can have its heap in device memory here; `None` if device memory works.
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
        // Each pair is listed once.
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
