//! The choice of a transport for a job's memory, and the dispatch of each operation to it.
//!
//! | module | contents |
//! |---|---|
//! | [`route`] | the dispatch of operations: host memory inlined, any other transport by one cold call |
//! | [`cuda`] | memory of GPUs |
//! | [`net`] | PEs of several hosts |
//! | `pretended` | tests on pretended hosts |
//! | [`check`] | the checker, which wraps another transport |
//!
//! The contract and host memory are in the crate `transport`, which this module re-exports.

#[cfg(test)]
#[allow(
    clippy::duplicate_mod,
    reason = "each file of core/tests has its own copy of the shared parts"
)]
pub(crate) mod pretended;
mod route;

pub(crate) use check::Settings as CheckSettings;
pub(crate) use nvshmemrs_check as check;
pub(crate) use nvshmemrs_cuda as cuda;
pub use nvshmemrs_cuda::streams::CudaStreamRef;
pub(crate) use nvshmemrs_net as net;
pub use nvshmemrs_transport::DeviceState;
pub(crate) use nvshmemrs_transport::*;
pub(crate) use route::{Internal, Issued, Route};

use crate::{MemoryKind, Pe, Result};
use cuda::CudaProvider;
use host::HostProvider;

/// The origin of PE `pe`, a process. A PE without a requirement joins, and sends the others the reason why it cannot go on.
pub(crate) fn of_process(
    memory: MemoryKind,
    device: Option<i32>,
    pe: Pe,
) -> Box<dyn MemoryProvider> {
    match memory {
        MemoryKind::Host => Box::new(HostProvider),
        MemoryKind::Device => Box::new(CudaProvider::of_process(device, pe)),
    }
}

/// The origin of `n_pes` PEs that are threads of this process.
pub(crate) fn of_threads(
    memory: MemoryKind,
    device: Option<i32>,
    n_pes: Pe,
) -> Result<Box<dyn MemoryProvider>> {
    Ok(match memory {
        MemoryKind::Host => Box::new(HostProvider),
        MemoryKind::Device => Box::new(CudaProvider::of_threads(device, n_pes)?),
    })
}
