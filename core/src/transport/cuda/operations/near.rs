//! Copies between memory of GPUs and memory of the library's own on the host, for what goes to other hosts and comes from there.

use super::copies::What;
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::transport::Lane;
use crate::transport::cuda::CudaTransport;
use crate::{Pe, Result};
use cudarc::driver::sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;

impl CudaTransport {
    /// The address of `offset` of a PE of this host.
    pub(crate) fn address_of(&self, pe: Pe, offset: u64) -> u64 {
        self.layout.address(pe, offset)
    }

    /// Whether an address is one of a GPU's memory, which the CPU cannot use.
    pub(crate) fn is_of_gpu(&self, address: u64) -> Result<bool> {
        if self.layout.locate(address).is_some() {
            return Ok(true);
        }
        let _current = self.device.enter()?;
        Ok(What::MemoryType.of(address) == Some(CU_MEMORYTYPE_DEVICE as u64))
    }

    /// Copies memory of a GPU to `dest`, which is the host's; it is there when this returns.
    pub(crate) fn take_out(
        &self,
        operation: Operation,
        source: u64,
        dest: LocalDest<'_>,
    ) -> Result<()> {
        let way = (Lane::Blocking, operation);
        self.begin(way.0, operation)?;
        match self.begin_get(way, dest, source)? {
            true => Ok(()),
            false => self.finish(way.0, operation),
        }
    }

    /// Copies `source`, which is the host's, to memory of a GPU; it is there when this returns.
    pub(crate) fn bring_in(
        &self,
        operation: Operation,
        dest: u64,
        source: LocalSource<'_>,
    ) -> Result<()> {
        let way = (Lane::Blocking, operation);
        self.begin(way.0, operation)?;
        self.begin_put(way, dest, source)?;
        self.finish(way.0, operation)
    }
}
