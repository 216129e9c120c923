//! NVML, a library that comes with the driver: it reports the driver's version and the link between two GPUs.
//!
//! # Rules of this module
//!
//! 1. The functions have the types that NVIDIA's documentation gives them since driver 410; they are called only while the library is
//!    open and started.
//! 2. Output goes to local variables or to buffers of the length passed; input texts are NUL-terminated and
//!    outlive the call.

use super::device::Uuid;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

type Device = *mut c_void;
type Pair = unsafe extern "C" fn(Device, Device, *mut c_int) -> c_int;

/// `NVML_P2P_CAPS_INDEX_NVLINK` and `NVML_P2P_STATUS_OK`.
const BY_NVLINK: c_int = 2;
const IS_OK: c_int = 0;
/// `nvmlGpuTopologyLevel_t`, as `nvidia-smi topo -m` names the levels.
const WAYS: [(c_int, &str); 6] = [
    (0, "PCIe, same board"),
    (10, "PCIe, one switch"),
    (20, "PCIe, several switches"),
    (30, "PCIe, host bridge"),
    (40, "PCIe, same NUMA node"),
    (50, "PCIe, across NUMA nodes"),
];

/// An initialised NVML.
pub(super) struct Nvml {
    stop: Symbol<unsafe extern "C" fn() -> c_int>,
    version: Symbol<unsafe extern "C" fn(*mut c_char, c_uint) -> c_int>,
    by_uuid: Symbol<unsafe extern "C" fn(*const c_char, *mut Device) -> c_int>,
    p2p: Symbol<unsafe extern "C" fn(Device, Device, c_int, *mut c_int) -> c_int>,
    ancestor: Symbol<Pair>,
    /// Dropped last: the symbols refer to it.
    _library: Library,
}

impl Nvml {
    /// Opens and initialises NVML.
    pub(super) fn start() -> Result<Nvml, String> {
        let say = |error: libloading::Error| format!("NVML: {error}");
        // SAFETY: the library's initialisers are NVIDIA's.
        let library = unsafe { Library::open(Some("libnvidia-ml.so.1"), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(say)?;
        // SAFETY: rule 1; `library` lives as long as the symbols.
        let (start, nvml) = unsafe {
            let start: Symbol<unsafe extern "C" fn() -> c_int> =
                library.get(b"nvmlInit_v2\0").map_err(say)?;
            let nvml = Nvml {
                stop: library.get(b"nvmlShutdown\0").map_err(say)?,
                version: library.get(b"nvmlSystemGetDriverVersion\0").map_err(say)?,
                by_uuid: library.get(b"nvmlDeviceGetHandleByUUID\0").map_err(say)?,
                p2p: library.get(b"nvmlDeviceGetP2PStatus\0").map_err(say)?,
                ancestor: library
                    .get(b"nvmlDeviceGetTopologyCommonAncestor\0")
                    .map_err(say)?,
                _library: library,
            };
            (start, nvml)
        };
        // SAFETY: rule 1.
        match unsafe { start() } {
            0 => Ok(nvml),
            // `drop` also shuts down an NVML whose initialisation failed: NVML then returns an error and does nothing.
            code => Err(format!("NVML: nvmlInit_v2 answers {code}")),
        }
    }

    /// The driver's version, such as "570.86.15".
    pub(super) fn driver_version(&self) -> Option<String> {
        let mut text: [c_char; 96] = [0; 96];
        // SAFETY: rules 1 and 2; the length is that of the array.
        let code = unsafe { (self.version)(text.as_mut_ptr(), text.len() as c_uint) };
        if code != 0 {
            return None;
        }
        // SAFETY: NVML terminates the text with NUL, and the array was zeroed before.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Some(text.to_string_lossy().into_owned())
    }

    /// The link between two GPUs, as text; `None` if NVML does not know.
    pub(super) fn link(&self, one: &Uuid, other: &Uuid) -> Option<&'static str> {
        let (one, other) = (self.device(one)?, self.device(other)?);
        let (mut status, mut level) = (-1, -1);
        // SAFETY: rules 1 and 2.
        let code = unsafe { (self.p2p)(one, other, BY_NVLINK, &mut status) };
        if code == 0 && status == IS_OK {
            return Some("NVLink");
        }
        // SAFETY: rules 1 and 2.
        let code = unsafe { (self.ancestor)(one, other, &mut level) };
        let way = WAYS.iter().find(|(of, _)| code == 0 && *of == level);
        way.map(|(_, words)| *words)
    }

    fn device(&self, uuid: &Uuid) -> Option<Device> {
        let mut device = ptr::null_mut();
        let text = CString::new(super::survey::uuid_text(uuid)).ok()?;
        // SAFETY: rules 1 and 2.
        let code = unsafe { (self.by_uuid)(text.as_ptr(), &mut device) };
        (code == 0).then_some(device)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: rule 1. An error is ignored: NVML is not used afterwards.
        let _ = unsafe { (self.stop)() };
    }
}
