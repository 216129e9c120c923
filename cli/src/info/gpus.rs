//! The GPUs of this machine, their suitability for a job, and missing requirements.

use anyhow::Result;
pub use nvshmemrs::gpus::Link;
use nvshmemrs::gpus::{self, Compiler, GpuFacts, Survey};
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
    pub nvrtc: Option<Compiler>,
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
    pub facts: Option<GpuFacts>,
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
            facts: gpu.facts.ok(),
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
            links: survey.links,
            images: survey.folders.into_iter().map(images).collect(),
            nvrtc: survey.compiler.ok(),
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
