//! The state that the program passes to its own kernels, so that they communicate.

use crate::transport::{DeviceState, DeviceTables};
use crate::{Error, Result, Runtime};

impl Runtime {
    fn device_tables(&self) -> Result<&dyn DeviceTables> {
        self.inner.ready()?;
        let tables = self.inner.transport.any().device_tables();
        tables.ok_or_else(|| {
            Error::NotSupported(
                "kernels cannot use the heap of this job, because the parts of other PEs have no addresses there"
                    .into(),
            )
        })
    }

    /// The job as kernels of this PE see it: the first argument of the functions of `nvshmemrs_device.cuh`.
    ///
    /// It is valid until [`finalize`](Runtime::finalize), for kernels of this PE only. On device memory its addresses are those of
    /// this PE's GPU. On host memory they are those of this process, for the same functions compiled for the CPU. It also shows teams
    /// that are created or destroyed later.
    ///
    /// Kernels reach PEs of their own host only. A put to another PE ends the kernel, and [`check`](Runtime::check) names that PE.
    ///
    /// In a checked job only kernels run that are compiled with `NVSHMEMRS_DEVICE_RECORD`, and record their operations for the checker.
    /// Another kernel ends at its first call, and [`check`](Runtime::check) says why.
    ///
    /// Local. NVSHMEM: the device state that `nvshmemx_cumodule_init` writes.
    ///
    /// # Errors
    /// [`Error::NotSupported`] if kernels cannot use the heap.
    ///
    /// ```
    /// nvshmemrs::local::run(2, |rt| {
    ///     let state = rt.device_state()?;
    ///     assert_eq!((state.my_pe, state.n_pes), (rt.my_pe(), 2));
    ///     let x = rt.array::<i32>(1)?;
    ///     let own = state.base + rt.my_pe() as u64 * state.stride + x.all().range().offset();
    ///     assert_eq!(rt.ptr(own, rt.my_pe())?, Some(own));
    ///     rt.finalize()
    /// })
    /// .unwrap();
    /// ```
    pub fn device_state(&self) -> Result<DeviceState> {
        self.device_tables()?.state()
    }

    /// The address, for kernels of this PE, of a copy of [`device_state`](Runtime::device_state): for frontends that take one pointer.
    ///
    /// It is valid as long as the state. Local. Errors: as [`device_state`](Runtime::device_state).
    pub fn device_state_address(&self) -> Result<u64> {
        self.device_tables()?.state_address()
    }
}
