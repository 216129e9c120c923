//! Ranges of NVTX, which NVIDIA's profilers show above the kernels and copies of a GPU. Without a profiler they do nothing.
//!
//! # Rule of this module
//!
//! The functions have the types of NVTX's documentation, and are called only while the library is open.

use crate::operation::Operation;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};

/// The library of ranges, open.
pub(super) struct Nvtx {
    push: Symbol<unsafe extern "C" fn(*const c_char) -> c_int>,
    pop: Symbol<unsafe extern "C" fn() -> c_int>,
    /// "nvshmemrs put", by the number of the operation.
    names: HashMap<u8, CString>,
    /// Closed last.
    _library: Library,
}

impl std::fmt::Debug for Nvtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nvtx")
    }
}

impl Nvtx {
    /// Opens it, if it is there.
    pub(super) fn open() -> Option<Nvtx> {
        // SAFETY: the library's initialisers are NVIDIA's.
        let library = unsafe { Library::open(Some("libnvToolsExt.so.1"), RTLD_NOW | RTLD_LOCAL) };
        let library = library.ok()?;
        let names = Operation::ALL.iter().filter_map(|&operation| {
            let name = CString::new(format!("nvshmemrs {}", operation.name()));
            Some((operation as u8, name.ok()?))
        });
        // SAFETY: the rule; `library` lives as long as the symbols.
        unsafe {
            Some(Nvtx {
                push: library.get(b"nvtxRangePushA\0").ok()?,
                pop: library.get(b"nvtxRangePop\0").ok()?,
                names: names.collect(),
                _library: library,
            })
        }
    }

    /// Begins a range of this thread.
    pub(super) fn begin(&self, operation: u8) {
        let name = self.names.get(&operation).map_or(c"nvshmemrs", |name| name);
        // SAFETY: the rule; the text outlives the call.
        let _ = unsafe { (self.push)(name.as_ptr()) };
    }

    /// Ends the last range that this thread has begun.
    pub(super) fn end(&self) {
        // SAFETY: the rule.
        let _ = unsafe { (self.pop)() };
    }
}
