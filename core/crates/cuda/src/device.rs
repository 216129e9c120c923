//! The GPU of a PE: which GPU it is, its primary context, its properties, and the library's own stream.
//!
//! The rules are those of [`driver`](super::driver).

use super::driver::{self, OutsideCapture, check};
use crate::job::{fork, signals};
use crate::transport::Submission;
use crate::{Error, Pe, Result};
use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUresult, CUstream, CUstreamCaptureStatus,
};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::marker::PhantomData;

/// Identifies a GPU of the host; the same in every process, unlike its ordinal.
pub(super) type Uuid = [u8; 16];

/// A GPU with its primary context, which is retained as long as the value lives.
pub(crate) struct Device {
    /// The GPU's ordinal in this process.
    ordinal: i32,
    device: CUdevice,
    context: CUcontext,
    /// The library's own stream: it runs copies in order, and does not synchronise with the program's default stream.
    stream: CUstream,
    properties: GpuProperties,
    /// Blocks of a collective kernel that can be resident at the same time, beside those of other collectives.
    blocks: i32,
    /// The fork generation of the process that opened the device: a forked child does not touch the GPU.
    generation: u64,
}

/// The properties of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GpuProperties {
    pub(crate) name: String,
    pub(super) uuid: Uuid,
    /// Bytes of memory.
    pub(crate) total: u64,
    /// Major and minor compute capability, such as (9, 0).
    pub(crate) capability: (i32, i32),
    pub(crate) multiprocessors: i32,
    /// The granularity of mappings, in bytes.
    pub(super) granularity: u64,
    /// Whether the GPU accesses pageable host memory itself, so that the driver copies none of it.
    pub(super) reads_pages: bool,
}

// SAFETY: a context and a stream of the driver may be used from any thread.
unsafe impl Send for Device {}
// SAFETY: as above; the driver's calls are thread-safe.
unsafe impl Sync for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {} ({})", self.ordinal, self.properties.name)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The inputs to the choice of a PE's GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// The ordinal that was passed to init.
    pub(super) asked: Option<i32>,
    /// The GPU of the calling thread's current context.
    pub(super) current: Option<i32>,
    /// The PE's number among those of this host.
    pub(super) local: Pe,
    /// The number of GPUs that this process sees.
    pub(super) count: i32,
}

impl Choice {
    /// The ordinal: the requested one, else the one of the current context, else one derived from the PE's number.
    pub(super) fn decide(self) -> Result<i32> {
        if self.count < 1 {
            return Err(Error::NotSupported(
                "device memory was asked for, but no NVIDIA GPU is visible to this process: look at `nvidia-smi` and \
                 CUDA_VISIBLE_DEVICES, or use NVSHMEMRS_MEMORY=host"
                    .into(),
            ));
        }
        match (self.asked, self.current) {
            (Some(asked), _) if (0..self.count).contains(&asked) => Ok(asked),
            (Some(asked), _) => Err(Error::invalid(
                "device",
                asked,
                format!(
                    "from 0 to {}, because this process sees no more GPUs: CUDA_VISIBLE_DEVICES sets which",
                    self.count - 1
                ),
            )),
            (None, Some(current)) => Ok(current),
            (None, None) => Ok(self.local % self.count),
        }
    }
}

/// The GPU of the calling thread's current context, if there is one.
fn current() -> Result<Option<i32>> {
    let mut context: CUcontext = std::ptr::null_mut();
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuCtxGetCurrent(&mut context) };
    check("cuCtxGetCurrent", code)?;
    if context.is_null() {
        return Ok(None);
    }
    let mut device = 0;
    // SAFETY: as above.
    let code = unsafe { sys::cuCtxGetDevice(&mut device) };
    check("cuCtxGetDevice", code)?;
    Ok(Some(device))
}

/// Whether one GPU can load from and store to the memory of another GPU.
pub(super) fn can_access(device: CUdevice, peer: CUdevice) -> Result<bool> {
    let mut can = 0;
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuDeviceCanAccessPeer(&mut can, device, peer) };
    check("cuDeviceCanAccessPeer", code)?;
    Ok(can != 0)
}

/// Whether atomic operations of one GPU on the memory of another are native.
pub(super) fn has_native_atomics(device: CUdevice, peer: CUdevice) -> Result<bool> {
    let asked = sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    let mut has = 0;
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuDeviceGetP2PAttribute(&mut has, asked, device, peer) };
    check("cuDeviceGetP2PAttribute", code)?;
    Ok(has != 0)
}

fn attribute(device: CUdevice, attribute: CUdevice_attribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
    check("cuDeviceGetAttribute", code)?;
    Ok(value)
}

/// The properties of an allocation for the heap: it is located on the GPU and can be exported to other processes.
pub(super) fn allocation_properties(device: CUdevice) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes:
            sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        location: location(device),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// The memory of a GPU, as a location for the driver.
pub(super) fn location(device: CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation {
        type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        id: device,
    }
}

/// Reads the properties of a GPU; an error if a feature that the heap needs is missing.
pub(super) fn properties(ordinal: i32, device: CUdevice) -> Result<GpuProperties> {
    use CUdevice_attribute::*;
    let mut name: [c_char; 128] = [0; 128];
    // SAFETY: rules 1 and 2; the length is that of the array, and the driver ends the name with NUL.
    let name = unsafe {
        let code = sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device);
        check("cuDeviceGetName", code)?;
        CStr::from_ptr(name.as_ptr())
    };
    let name = name.to_string_lossy().into_owned();
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, device) };
    check("cuDeviceGetUuid", code)?;
    let mut total = 0;
    // SAFETY: rules 1 and 2.
    let code = unsafe { sys::cuDeviceTotalMem_v2(&mut total, device) };
    check("cuDeviceTotalMem", code)?;
    for (needed, what) in [
        (
            CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED,
            "virtual memory management",
        ),
        (
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
            "sharing memory by file descriptors",
        ),
        (CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified addressing"),
    ] {
        if attribute(device, needed)? == 0 {
            return Err(Error::NotSupported(format!(
                "GPU {ordinal} ({name}) does not offer {what}, which the symmetric heap needs: choose another GPU (`device` at \
                 init, CUDA_VISIBLE_DEVICES) or use NVSHMEMRS_MEMORY=host"
            )));
        }
    }
    let mut granularity = 0;
    let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: rules 1 and 2.
    let code = unsafe {
        sys::cuMemGetAllocationGranularity(
            &mut granularity,
            &allocation_properties(device),
            minimum,
        )
    };
    check("cuMemGetAllocationGranularity", code)?;
    Ok(GpuProperties {
        name,
        uuid: uuid.bytes.map(|byte| byte as u8),
        total: total as u64,
        capability: (
            attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        granularity: granularity as u64,
        reads_pages: attribute(
            device,
            CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
        )? != 0,
    })
}

/// The number of GPUs of the host, as the driver lists them: a process may see fewer (CUDA_VISIBLE_DEVICES).
pub(super) fn on_host() -> i32 {
    let entries = std::fs::read_dir("/proc/driver/nvidia/gpus");
    entries.map_or(0, |entries| entries.flatten().count() as i32)
}

/// The number of GPUs that this process sees.
pub(super) fn count() -> Result<i32> {
    driver::start()?;
    let mut count = 0;
    // SAFETY: rules 1 (`start`) and 2.
    let code = unsafe { sys::cuDeviceGetCount(&mut count) };
    check("cuDeviceGetCount", code)?;
    Ok(count)
}

/// The ordinal of the GPU for PE `local` of this host; see [`Choice::decide`].
pub(crate) fn choose(asked: Option<i32>, local: Pe) -> Result<i32> {
    let count = count()?;
    let choice = Choice {
        asked,
        current: current()?,
        local,
        count,
    };
    choice.decide()
}

impl Device {
    /// Opens the GPU with this ordinal.
    pub(crate) fn open(ordinal: i32) -> Result<Device> {
        fork::watch();
        driver::start()?;
        let mut device = 0;
        // SAFETY: rules 1 and 2.
        let code = unsafe { sys::cuDeviceGet(&mut device, ordinal) };
        check("cuDeviceGet", code)?;
        let properties = properties(ordinal, device)?;
        let mut context = std::ptr::null_mut();
        // The driver starts threads with a context.
        // SAFETY: rules 1 and 2; `drop` gives it back.
        let retain = || unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) };
        let code = signals::blocked(retain);
        check("cuDevicePrimaryCtxRetain", code)?;
        let mut opened = Device {
            ordinal,
            device,
            context,
            stream: std::ptr::null_mut(),
            blocks: crate::tuning::blocks::most(properties.multiprocessors)?,
            properties,
            generation: fork::generation(),
        };
        opened.stream = opened.new_stream()?;
        Ok(opened)
    }

    /// Creates a stream that does not synchronise with the default stream. The caller destroys it.
    pub(super) fn new_stream(&self) -> Result<CUstream> {
        let _current = self.enter()?;
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: rules 1 and 2.
        let code = unsafe { sys::cuStreamCreate(&mut stream, flags) };
        check("cuStreamCreate", code)?;
        Ok(stream)
    }

    /// The GPU's ordinal in this process.
    pub(crate) fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// The driver's handle of the GPU.
    pub(super) fn raw(&self) -> CUdevice {
        self.device
    }

    /// The primary context, in which the user's streams must be.
    pub(crate) fn context(&self) -> CUcontext {
        self.context
    }

    /// The library's own stream.
    pub(crate) fn stream(&self) -> CUstream {
        self.stream
    }

    /// The stream of a submission.
    pub(crate) fn stream_of(&self, submission: Submission) -> CUstream {
        match submission {
            Submission::Blocking => self.stream,
            Submission::Stream(stream) => stream as CUstream,
        }
    }

    /// The GPU's UUID, the same in every process.
    pub(crate) fn uuid(&self) -> Uuid {
        self.properties.uuid
    }

    pub(crate) fn properties(&self) -> &GpuProperties {
        &self.properties
    }

    /// Blocks of a collective kernel that can be resident at the same time, beside as many other collectives as the
    /// settings allow.
    pub(super) fn blocks(&self) -> i32 {
        self.blocks
    }

    /// Whether this process opened the device, rather than the parent that it was forked from.
    pub(super) fn is_ours(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Makes the context current for the calling thread, until the value is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Current> {
        let mut now: CUcontext = std::ptr::null_mut();
        // SAFETY: rules 1 and 2.
        let code = unsafe { sys::cuCtxGetCurrent(&mut now) };
        check("cuCtxGetCurrent", code)?;
        if now == self.context {
            return Ok(Current::new(false));
        }
        // SAFETY: rules 1 and 3.
        let code = unsafe { sys::cuCtxPushCurrent_v2(self.context) };
        check("cuCtxPushCurrent", code)?;
        Ok(Current::new(true))
    }

    /// Bytes of GPU memory that are free now.
    pub(crate) fn free(&self) -> Result<u64> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: rules 1 and 2.
        let code = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        check("cuMemGetInfo", code)?;
        Ok(free as u64)
    }

    /// Whether a stream of this context is empty.
    pub(super) fn is_idle(&self, stream: CUstream) -> Result<bool> {
        let (_current, _outside) = (self.enter()?, OutsideCapture::new()?);
        // SAFETY: rules 1 and 3.
        driver::done("cuStreamQuery", unsafe { sys::cuStreamQuery(stream) })
    }

    /// As [`is_idle`](Device::is_idle), polled without a pause until the stream is empty or `again` returns false.
    pub(super) fn is_idle_soon(&self, stream: CUstream, again: impl Fn() -> bool) -> Result<bool> {
        let (_current, _outside) = (self.enter()?, OutsideCapture::new()?);
        loop {
            // SAFETY: rules 1 and 3.
            let code = unsafe { sys::cuStreamQuery(stream) };
            if driver::done("cuStreamQuery", code)? {
                return Ok(true);
            }
            if !again() {
                return Ok(false);
            }
            std::hint::spin_loop();
        }
    }

    /// The driver's id of a stream of this context, which no other stream gets later; `None` while the stream is captured, because the
    /// driver refuses the query then.
    pub(super) fn stream_id(&self, stream: CUstream) -> Result<Option<u64>> {
        if self.is_captured(stream)? {
            return Ok(None);
        }
        let (_current, _outside) = (self.enter()?, OutsideCapture::new()?);
        let mut id = 0;
        // SAFETY: rules 1 to 3.
        let code = unsafe { sys::cuStreamGetId(stream, &mut id) };
        check("cuStreamGetId", code).map(|()| Some(id))
    }

    /// Waits for all work of this context, which may take any time; false: a stream of the context is captured, so the call did not wait.
    pub(super) fn synchronize(&self) -> Result<bool> {
        let (_current, _outside) = (self.enter()?, OutsideCapture::new()?);
        // SAFETY: rule 1.
        match unsafe { sys::cuCtxSynchronize() } {
            CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => Ok(false),
            code => check("cuCtxSynchronize", code).map(|()| true),
        }
    }

    /// Whether a stream of this context is being captured into a graph.
    pub(super) fn is_captured(&self, stream: CUstream) -> Result<bool> {
        let _current = self.enter()?;
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: rules 1 to 3.
        let code = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
        if code == CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT {
            // This is the default stream, while a stream that synchronises with it is captured.
            return Ok(true);
        }
        check("cuStreamIsCapturing", code)?;
        Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// The id of the capture that a stream of this context is in, if there is one.
    pub(super) fn capture(&self, stream: CUstream) -> Result<Option<u64>> {
        let _current = self.enter()?;
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let mut number = 0;
        // SAFETY: rules 1 to 3; the driver does not write outputs that are null.
        let code = unsafe {
            sys::cuStreamGetCaptureInfo_v2(
                stream,
                &mut status,
                &mut number,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        check("cuStreamGetCaptureInfo", code)?;
        Ok((status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE).then_some(number))
    }

    /// An error while a stream is captured into a graph; `what` names the operation that a capture does not allow.
    pub(super) fn check_capture(&self, stream: CUstream, what: &str) -> Result<()> {
        match self.is_captured(stream)? {
            false => Ok(()),
            true => Err(Error::NotSupported(format!(
                "{what} is not possible while the stream is captured into a graph: do it before or after"
            ))),
        }
    }

    /// Why this GPU cannot load from and store to another GPU of this host, if the driver can answer. A GPU that this
    /// process does not see (CUDA_VISIBLE_DEVICES) may be reachable all the same: then mapping its memory decides.
    pub(super) fn cannot_reach(&self, other: &Uuid) -> Result<Option<String>> {
        if *other == self.properties.uuid {
            return Ok(None);
        }
        for ordinal in 0..count()? {
            let (mut peer, mut uuid) = (0, sys::CUuuid { bytes: [0; 16] });
            // SAFETY: rules 1 and 2.
            let code = unsafe { sys::cuDeviceGet(&mut peer, ordinal) };
            check("cuDeviceGet", code)?;
            // SAFETY: rules 1 and 2.
            let code = unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, peer) };
            check("cuDeviceGetUuid", code)?;
            if uuid.bytes.map(|byte| byte as u8) != *other {
                continue;
            }
            if !can_access(self.device, peer)? {
                return Ok(Some(format!(
                    "GPU {} cannot access the memory of GPU {ordinal} (cuDeviceCanAccessPeer; `nvidia-smi topo -p2p r` shows more)",
                    self.ordinal
                )));
            }
            // Without native atomics, signals and atomic operations would be lost without an error.
            return Ok((!has_native_atomics(self.device, peer)?).then(|| {
                format!(
                    "GPU {} has no native atomic operations in the memory of GPU {ordinal} \
                     (CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED; `nvidia-smi topo -p2p a` shows more), as over PCIe; GPUs that NVLink \
                     connects have",
                    self.ordinal
                )
            }));
        }
        Ok(None)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.is_ours() {
            return;
        }
        if let Ok(_current) = self.enter() {
            // SAFETY: rules 1 and 3; every user of the stream holds the `Device`, and keeps it for good if its work may
            // still run. An error is ignored: the process is ending, or the context is gone.
            unsafe {
                if !self.stream.is_null() {
                    let _ = sys::cuStreamDestroy_v2(self.stream);
                }
            }
        }
        // SAFETY: rules 1 and 3: `open` retained it once.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Keeps a device's context current for the calling thread. `pushed`: another context was current before, and returns
/// when the value is dropped.
pub(crate) struct Current {
    pushed: bool,
    /// Bound to the thread that created it.
    here: PhantomData<*const ()>,
}

impl Current {
    fn new(pushed: bool) -> Current {
        Current {
            pushed,
            here: PhantomData,
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = std::ptr::null_mut();
            // SAFETY: rules 1 and 2; `enter` pushed a context on this thread, and the value cannot move to another
            // thread.
            let code = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
            debug_assert!(
                code == CUresult::CUDA_SUCCESS || driver::too_late(code),
                "{code:?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpu_is_the_one_asked_for_else_the_current_one_else_by_number() {
        let choice = Choice {
            asked: None,
            current: None,
            local: 5,
            count: 4,
        };
        assert_eq!(choice.decide().unwrap(), 1);
        let current = Choice {
            current: Some(3),
            ..choice
        };
        assert_eq!(current.decide().unwrap(), 3);
        let asked = Choice {
            asked: Some(2),
            ..current
        };
        assert_eq!(asked.decide().unwrap(), 2);
        for wrong in [-1, 4, i32::MAX] {
            let choice = Choice {
                asked: Some(wrong),
                ..choice
            };
            let why = choice.decide().unwrap_err().to_string();
            assert!(why.contains("`device`") && why.contains("0 to 3"), "{why}");
        }
        let none = Choice { count: 0, ..asked };
        let why = none.decide().unwrap_err().to_string();
        assert!(why.contains("CUDA_VISIBLE_DEVICES"), "{why}");
    }
}
