//! Properties of their GPUs that the PEs exchange at init, to check that each can reach the others.

use super::device::{Device, Uuid};
use crate::{Error, Pe, Result};

/// The properties of a PE's GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GpuInfo {
    uuid: Uuid,
    granularity: u64,
    /// Blocks of a collective that it runs at the same time.
    pub(super) blocks: i32,
    /// The GPU, for people.
    name: String,
}

impl GpuInfo {
    pub(super) fn of(device: &Device) -> GpuInfo {
        let properties = device.properties();
        GpuInfo {
            uuid: properties.uuid,
            granularity: properties.granularity,
            blocks: device.blocks(),
            name: device.to_string(),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        [
            &self.uuid[..],
            &self.granularity.to_le_bytes(),
            &self.blocks.to_le_bytes(),
            self.name.as_bytes(),
        ]
        .concat()
    }

    pub(super) fn read(bytes: &[u8], pe: Pe) -> Result<GpuInfo> {
        let parts = || {
            let (uuid, rest) = bytes.split_first_chunk()?;
            let (granularity, rest) = rest.split_first_chunk()?;
            let (blocks, name) = rest.split_first_chunk()?;
            Some(GpuInfo {
                uuid: *uuid,
                granularity: u64::from_le_bytes(*granularity),
                blocks: i32::from_le_bytes(*blocks),
                name: String::from_utf8_lossy(name).into_owned(),
            })
        };
        parts().ok_or_else(|| Error::Bootstrap(format!("PE {pe} did not say what GPU it uses")))
    }

    /// An error if PE `me`'s GPU cannot reach the one of PE `pe`, of which this is said, or has other pages.
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
            name: "GPU 3 (a name)".into(),
        };
        let bytes = one.bytes();
        assert_eq!(GpuInfo::read(&bytes, 1).unwrap(), one);
        for short in 0..28 {
            let why = GpuInfo::read(&bytes[..short], 7).unwrap_err();
            assert!(why.to_string().contains("PE 7"), "{why}");
        }
    }
}
