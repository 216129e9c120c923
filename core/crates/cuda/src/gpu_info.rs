//! GPU properties that PEs exchange at init to check that each GPU can reach the others.

use super::device::{Device, Uuid};
use super::tuning::Link;
use super::tuning::loaded::Digest;
use crate::{Error, Pe, Result};

/// The properties of a PE's GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GpuInfo {
    uuid: Uuid,
    granularity: u64,
    /// Blocks of a collective kernel that can be resident at the same time.
    pub(super) blocks: i32,
    /// The digest of the tuning file.
    tuning: Digest,
    /// The name of the GPU model.
    pub(super) model: String,
    /// The GPU's name in messages.
    name: String,
}

impl GpuInfo {
    pub(super) fn of(device: &Device, tuning: Digest) -> GpuInfo {
        let properties = device.properties();
        GpuInfo {
            uuid: properties.uuid,
            granularity: properties.granularity,
            blocks: device.blocks(),
            tuning,
            model: properties.name.clone(),
            name: device.to_string(),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        [
            &self.uuid[..],
            &self.granularity.to_le_bytes(),
            &self.blocks.to_le_bytes(),
            &self.tuning,
            &(self.model.len() as u32).to_le_bytes(),
            self.model.as_bytes(),
            self.name.as_bytes(),
        ]
        .concat()
    }

    pub(super) fn read(bytes: &[u8], pe: Pe) -> Result<GpuInfo> {
        let parts = || {
            let (uuid, rest) = bytes.split_first_chunk()?;
            let (granularity, rest) = rest.split_first_chunk()?;
            let (blocks, rest) = rest.split_first_chunk()?;
            let (tuning, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let (model, name) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some(GpuInfo {
                uuid: *uuid,
                granularity: u64::from_le_bytes(*granularity),
                blocks: i32::from_le_bytes(*blocks),
                tuning: *tuning,
                model: String::from_utf8_lossy(model).into_owned(),
                name: String::from_utf8_lossy(name).into_owned(),
            })
        };
        parts().ok_or_else(|| {
            Error::Bootstrap(format!("PE {pe} did not publish the number of its GPU"))
        })
    }

    /// How the GPUs of the PEs are linked.
    pub(super) fn link(all: &[GpuInfo]) -> Link {
        match all.windows(2).all(|two| two[0].uuid == two[1].uuid) {
            true => Link::Shared,
            false => Link::Nvlink,
        }
    }

    /// An error unless PE `pe`, whose properties these are, has the same tuning file as PE `me`: otherwise the PEs
    /// would choose different algorithms and deadlock.
    pub(super) fn check_tuning(&self, me: Pe, tuning: Digest, pe: Pe) -> Result<()> {
        match self.tuning == tuning {
            true => Ok(()),
            false => Err(Error::Bootstrap(format!(
                "PE {me} and PE {pe} have different tuning files, and would choose different algorithms: let NVSHMEMRS_TUNING_FILE name \
                 the same file for all PEs of a host, or none, and look whether only some of them find nvshmemrs/tuning.json in \
                 XDG_CONFIG_HOME or ~/.config"
            ))),
        }
    }

    /// An error if PE `me`'s GPU cannot access the GPU of PE `pe`, whose properties these are, or if their mapping
    /// granularities differ.
    pub(super) fn check(&self, me: Pe, device: &Device, pe: Pe) -> Result<()> {
        let why = if self.granularity != device.properties().granularity {
            Some("their memory has pages of different sizes".to_string())
        } else {
            device.cannot_reach(&self.uuid)?
        };
        match why {
            None => Ok(()),
            Some(why) => Err(Error::NotSupported(format!(
                "PE {me} on {device} cannot reach the memory of PE {pe} on {}: {why}. Start the job on GPUs that reach each other \
                 (`nvidia-smi topo -m`; CUDA_VISIBLE_DEVICES), or use NVSHMEMRS_MEMORY=host",
                self.name
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_infos_go_there_and_back() {
        let one = GpuInfo {
            uuid: *b"0123456789abcdef",
            granularity: 2 << 20,
            blocks: 132,
            tuning: [7; 32],
            model: "a name".into(),
            name: "GPU 3 (a name)".into(),
        };
        let bytes = one.bytes();
        assert_eq!(GpuInfo::read(&bytes, 1).unwrap(), one);
        for short in 0..70 {
            let why = GpuInfo::read(&bytes[..short], 7).unwrap_err();
            assert!(why.to_string().contains("PE 7"), "{why}");
        }
    }
}
