//! Blocks of memory at equal steps: by a kernel, where one reaches all of it.

use super::Way;
use super::copies::What;
use crate::Result;
use crate::strides::Transfer;
use crate::transport::Lane;
use crate::transport::cuda::CudaTransport;
use crate::transport::cuda::kernels::StridedArgs;
use cudarc::driver::sys;

impl CudaTransport {
    /// Where this PE's kernels reach an address outside the heap: on this PE's GPU or in pinned memory of the host. Memory of another
    /// GPU is left to the copy engine, which needs no access between the two.
    fn reached_at(&self, address: u64) -> Option<u64> {
        let host = sys::CUmemorytype::CU_MEMORYTYPE_HOST as u64;
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u64;
        let reached = match What::MemoryType.of(address)? {
            kind if kind == host => true,
            kind if kind == device => What::Device.of(address)? == self.device.raw() as u64,
            _ => false,
        };
        reached
            .then(|| What::AddressForKernels.of(address))
            .flatten()
    }

    /// Copies blocks by a kernel; `dest` and `source` are where the lowest of them are.
    pub(super) fn copy_blocks(
        &self,
        (lane, operation): Way,
        (dest, source): (u64, u64),
        transfer: &Transfer,
    ) -> Result<()> {
        let (dest_step, block, count) = transfer.dest().parts();
        let (source_step, ..) = transfer.source().parts();
        let args = StridedArgs {
            dest: dest + transfer.dest().first(),
            source: source + transfer.source().first(),
            dest_step,
            source_step,
            block,
            count,
        };
        self.kernels.copy_strided(self.stream(lane), &args)?;
        self.finish(lane, operation)
    }

    /// Where a kernel that is put on a lane may use memory of the program's.
    pub(super) fn for_kernel(
        &self,
        (lane, operation): Way,
        borrowed: bool,
        address: u64,
    ) -> Result<Option<u64>> {
        self.begin(lane, operation)?;
        if self.layout.locate(address).is_some() {
            return Ok(Some(address));
        }
        if borrowed {
            return Ok(None);
        }
        let current = self.device.enter()?;
        let reached = self.reached_at(address);
        drop(current);
        if reached.is_some() && lane == Lane::Blocking && !self.has_turn() {
            self.kernels.fence(self.stream(lane))?;
            self.await_blocking(operation)?;
        }
        Ok(reached)
    }
}
