//! Copies between GPU memory and the library's host memory, for data of other hosts.

use super::copies::PointerAttribute;
use crate::CudaTransport;
use crate::buffer::{LocalDest, LocalSource};
use crate::operation::Operation;
use crate::target_stream::CudaTargetStream;
use crate::transport::{DeviceMemory, Submission, TargetStream};
use crate::{Pe, Result};
use cudarc::driver::sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
use std::sync::Arc;

impl DeviceMemory for CudaTransport {
    fn address_of(&self, pe: Pe, offset: u64) -> u64 {
        self.layout.address(pe, offset)
    }

    fn is_of_gpu(&self, address: u64) -> Result<bool> {
        if self.layout.locate(address).is_some() {
            return Ok(true);
        }
        let _current = self.device.enter()?;
        Ok(PointerAttribute::MemoryType.of(address) == Some(CU_MEMORYTYPE_DEVICE as u64))
    }

    fn copy_to_host(&self, operation: Operation, source: u64, dest: LocalDest<'_>) -> Result<()> {
        let submitted = (Submission::Blocking, operation);
        self.begin(submitted.0, operation)?;
        match self.begin_get(submitted, dest, source)? {
            true => Ok(()),
            false => self.finish(submitted.0, operation),
        }
    }

    fn copy_from_host(
        &self,
        operation: Operation,
        dest: u64,
        source: LocalSource<'_>,
    ) -> Result<()> {
        let submitted = (Submission::Blocking, operation);
        self.begin(submitted.0, operation)?;
        self.begin_put(submitted, dest, source)?;
        self.finish(submitted.0, operation)
    }

    fn target_stream(self: Arc<Self>) -> Result<Arc<dyn TargetStream>> {
        Ok(Arc::new(CudaTargetStream::new(self)?))
    }
}
