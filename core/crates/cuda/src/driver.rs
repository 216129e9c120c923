//! The CUDA driver, loaded when the first job of this process asks for device memory, and its errors.
//!
//! # Rules of the files here
//!
//! 1. A function of the driver is called only after [`start`] has succeeded, which a [`Device`](super::device::Device)
//!    proves. (cudarc panics when it has to load a missing library.)
//! 2. A call reads and writes local variables, or memory that outlives the call.
//! 3. Handles of streams, contexts, mappings and memory come from the driver and have not been released.

use crate::job::signals;
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode};
use std::marker::PhantomData;
use std::sync::Mutex;

/// The oldest driver that loads the library's images: CUDA 12.0.
const OLDEST: i32 = 12_000;

/// Turns a driver's error code into an error.
#[inline]
pub(super) fn check(call: &'static str, code: CUresult) -> Result<()> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(failed(call, code)),
    }
}

/// The error for a driver's error code, with a remedy where there is one.
#[cold]
pub(super) fn failed(call: &'static str, code: CUresult) -> Error {
    let remedy = match code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            ": the GPU has no memory left; lower NVSHMEM_SYMMETRIC_SIZE, or end other processes that use it (`nvidia-smi` lists them)"
        }
        CUresult::CUDA_ERROR_NO_DEVICE => {
            ": no NVIDIA GPU is visible to this process; look at `nvidia-smi` and CUDA_VISIBLE_DEVICES"
        }
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            ": the libcuda that was found is the toolkit's stub; take its folder out of LD_LIBRARY_PATH"
        }
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY => {
            ": the GPUs are not ready; on NVSwitch machines the fabric manager must run"
        }
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            ": the kernel's driver and libcuda are of different versions; restart the machine, or repair the installation"
        }
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR => {
            ": a kernel of this process failed, of this or another library; the GPU's context cannot go on. compute-sanitizer finds it"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_CAPTURED_EVENT => {
            ": a stream is being captured into a graph, which forbids this call; make it before or after"
        }
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED | CUresult::CUDA_ERROR_INVALID_CONTEXT => {
            ": the GPU's primary context is gone; something called cudaDeviceReset before finalize"
        }
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => {
            ": another process has the GPU to itself (exclusive compute mode)"
        }
        _ => "",
    };
    Error::Cuda {
        call,
        code: code as i32,
        message: format!("{code:?}{remedy}"),
    }
}

/// Interprets the result of a query: whether the work is complete.
pub(super) fn done(call: &'static str, code: CUresult) -> Result<bool> {
    match code {
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        code => check(call, code).map(|()| true),
    }
}

/// While the value lives, calls of this thread that are not part of a graph do not invalidate a capture of the program.
/// Such calls must not wait for captured work.
pub(super) struct OutsideCapture {
    before: CUstreamCaptureMode,
    /// Bound to the thread that created it.
    here: PhantomData<*const ()>,
}

impl OutsideCapture {
    pub(super) fn new() -> Result<OutsideCapture> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: rules 1 and 2.
        let code = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
        check("cuThreadExchangeStreamCaptureMode", code)?;
        Ok(OutsideCapture {
            before: mode,
            here: PhantomData,
        })
    }
}

impl Drop for OutsideCapture {
    fn drop(&mut self) {
        // SAFETY: rules 1 and 2. It fails only where the driver has shut down.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.before) };
    }
}

/// Whether a release failed only because the driver or the context is already gone, and has released the object.
pub(super) fn too_late(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_DEINITIALIZED
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_NOT_INITIALIZED
    )
}

/// Checks the version of the driver against [`OLDEST`].
fn new_enough(version: i32) -> Result<()> {
    if version >= OLDEST {
        return Ok(());
    }
    let say = |version: i32| format!("{}.{}", version / 1000, version % 1000 / 10);
    Err(Error::NotSupported(format!(
        "device memory needs an NVIDIA driver for CUDA {} or later; this machine's is for CUDA {}. Install a newer driver, or use \
         NVSHMEMRS_MEMORY=host",
        say(OLDEST),
        say(version)
    )))
}

/// Loads and initialises the driver; returns its version, such as 12080. After a failure the next call tries again.
pub(super) fn start() -> Result<i32> {
    static STARTED: Mutex<Option<i32>> = Mutex::new(None);
    let mut started = crate::lock::lock(&STARTED);
    if let Some(version) = *started {
        return Ok(version);
    }
    // SAFETY: the call opens the library and looks up symbols; the library's initialisers are NVIDIA's.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NotSupported(
            "device memory needs the NVIDIA driver, but libcuda.so.1 was not found: install the driver, or in a container, start it with \
             the GPUs (`--gpus all`). Or use NVSHMEMRS_MEMORY=host"
                .into(),
        ));
    }
    // Signals are blocked, because the driver starts threads.
    // SAFETY: rules 1 (just seen) and 2.
    let code = signals::blocked(|| unsafe { sys::cuInit(0) });
    check("cuInit", code)?;
    let mut version = 0;
    // SAFETY: as above.
    let code = unsafe { sys::cuDriverGetVersion(&mut version) };
    check("cuDriverGetVersion", code)?;
    new_enough(version)?;
    *started = Some(version);
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_drivers_are_refused_by_name() {
        new_enough(12_000).unwrap();
        new_enough(13_010).unwrap();
        let why = new_enough(11_080).unwrap_err().to_string();
        assert!(why.contains("12.0") && why.contains("11.8"), "{why}");
    }

    #[test]
    fn errors_name_the_call_the_code_and_a_remedy() {
        check("cuInit", CUresult::CUDA_SUCCESS).unwrap();
        let error = check("cuMemCreate", CUresult::CUDA_ERROR_OUT_OF_MEMORY).unwrap_err();
        let text = error.to_string();
        for word in [
            "cuMemCreate",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "NVSHMEM_SYMMETRIC_SIZE",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(error.status(), 27);
    }
}
