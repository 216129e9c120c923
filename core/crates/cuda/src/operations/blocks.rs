//! Strided blocks of memory, copied by a kernel where it can access both sides.

use super::Submitted;
use super::copies::PointerAttribute;
use crate::CudaTransport;
use crate::Result;
use crate::kernels::StridedArgs;
use crate::strides::Transfer;
use crate::transport::Submission;
use cudarc::driver::sys;

impl CudaTransport {
    /// The address at which this PE's kernels access memory outside the heap: on this PE's GPU, or pinned host memory. Memory of
    /// another GPU is left to the copy engine, which needs no peer access.
    fn reached_at(&self, address: u64) -> Option<u64> {
        let host = sys::CUmemorytype::CU_MEMORYTYPE_HOST as u64;
        let kind = PointerAttribute::MemoryType.of(address)?;
        (kind == host || self.is_own_memory(address))
            .then(|| PointerAttribute::AddressForKernels.of(address))
            .flatten()
    }

    /// Copies blocks by a kernel; `dest` and `source` are the addresses of the lowest blocks.
    pub(super) fn copy_blocks(
        &self,
        (submission, operation): Submitted,
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
        self.kernels.copy_strided(self.stream(submission), &args)?;
        self.finish(submission, operation)
    }

    /// The address at which an enqueued kernel may access memory of the program, if it may.
    pub(super) fn for_kernel(
        &self,
        (submission, operation): Submitted,
        borrowed: bool,
        address: u64,
    ) -> Result<Option<u64>> {
        self.begin(submission, operation)?;
        if self.layout.locate(address).is_some() {
            return Ok(Some(address));
        }
        if borrowed {
            return Ok(None);
        }
        let current = self.device.enter()?;
        let reached = self.reached_at(address);
        drop(current);
        if reached.is_some() && submission == Submission::Blocking && !self.has_turn() {
            self.kernels.fence(self.stream(submission))?;
            self.await_blocking(operation)?;
        }
        Ok(reached)
    }
}
