//! The search paths for kernel images and NVRTC.
//!
//! # Rule of this module
//!
//! Its one call of libc reads only the address that it is given, and writes to a local variable.

use crate::config;
use std::env;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names of NVRTC for the dynamic linker, which finds an installed toolkit or a library that the process has loaded.
const NVRTC_NAMES: [&str; 3] = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"];
/// The paths of NVRTC in NVIDIA's Python packages, below `site-packages`.
const NVRTC_IN_PYTHON: [&str; 2] = [
    "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "nvidia/cu13/lib/libnvrtc.so.13",
];

/// The search paths of a process.
pub(super) struct SearchPaths {
    /// Folders of shipped images.
    pub(super) shipped: Vec<PathBuf>,
    /// The cache of the user.
    pub(super) cache: Option<PathBuf>,
    /// Candidate files of NVRTC, and names for the dynamic linker.
    pub(super) compilers: Vec<PathBuf>,
}

impl SearchPaths {
    /// The paths derived from the environment of this process and from the library's own folder.
    pub(super) fn of_this_process() -> SearchPaths {
        let library = own_file();
        let folder = library.as_deref().and_then(Path::parent);
        let variable = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        SearchPaths {
            shipped: match config::set("NVSHMEMRS_IMAGES") {
                Some(folder) => vec![folder.into()],
                None => folder.map_or_else(Vec::new, beside),
            },
            cache: cache(variable("XDG_CACHE_HOME"), variable("HOME")),
            compilers: compilers(
                folder,
                ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable),
                variable("VIRTUAL_ENV"),
            ),
        }
    }

    /// The folders, shipped ones first.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.shipped.iter().chain(&self.cache).map(PathBuf::as_path)
    }

    /// Whether a folder was installed, or named by the user, so that its owner is not checked.
    pub(super) fn trusts(&self, folder: &Path) -> bool {
        self.cache.as_deref() != Some(folder)
    }

    /// As [`trusts`](SearchPaths::trusts), for the folder of a file.
    pub(super) fn trusts_file(&self, path: &Path) -> bool {
        path.parent().is_none_or(|folder| self.trusts(folder))
    }
}

/// The file that contains this code: libnvshmemrs.so, or the program.
fn own_file() -> Option<PathBuf> {
    let mut facts = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here = own_file as *const libc::c_void;
    // SAFETY: the rule of this module.
    if unsafe { libc::dladdr(here, &mut facts) } == 0 || facts.dli_fname.is_null() {
        return env::current_exe().ok();
    }
    // SAFETY: the dynamic linker keeps the name as long as the file is loaded, which it is now.
    let name = unsafe { CStr::from_ptr(facts.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    // For a program, dladdr returns its first argument.
    std::fs::canonicalize(path)
        .ok()
        .or_else(|| env::current_exe().ok())
}

/// The image folders for a library in `folder`: an installation, a wheel or bundle, and a test program, which is one
/// folder deeper.
fn beside(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.join("nvshmemrs-images")];
    if let Some(above) = folder.parent() {
        folders.push(above.join("share/nvshmemrs/images"));
        folders.push(above.join("nvshmemrs-images"));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The user's cache, by the XDG Base Directory specification.
fn cache(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = xdg
        .filter(absolute)
        .or_else(|| home.filter(absolute).map(|home| home.join(".cache")))?;
    Some(base.join("nvshmemrs"))
}

/// Candidates for NVRTC: names for the linker, a toolkit, the `site-packages` of the library, a virtual environment.
fn compilers(
    folder: Option<&Path>,
    toolkits: impl Iterator<Item = PathBuf>,
    environment: Option<PathBuf>,
) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = NVRTC_NAMES.iter().map(PathBuf::from).collect();
    for toolkit in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        all.push(toolkit.join("lib64/libnvrtc.so"));
    }
    let mut packages: Vec<PathBuf> = Vec::new();
    if let Some(folder) = folder {
        let above = folder.ancestors();
        packages.extend(
            above
                .filter(|path| path.ends_with("site-packages") || path.ends_with("dist-packages"))
                .map(Path::to_path_buf),
        );
    }
    if let Some(versions) = environment.and_then(|path| std::fs::read_dir(path.join("lib")).ok()) {
        packages.extend(
            versions
                .flatten()
                .map(|entry| entry.path().join("site-packages")),
        );
    }
    for package in packages {
        all.extend(NVRTC_IN_PYTHON.iter().map(|file| package.join(file)));
    }
    // A bare name is left to the dynamic linker.
    all.retain(|path| path.components().count() == 1 || path.exists());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_xdg_says_and_never_relative() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(cache(path("/x"), path("/h")), path("/x/nvshmemrs"));
        assert_eq!(cache(path("x"), path("/h")), path("/h/.cache/nvshmemrs"));
        assert_eq!(cache(None, path("/h")), path("/h/.cache/nvshmemrs"));
        assert_eq!(cache(None, path("h")), None);
        assert_eq!(cache(None, None), None);
    }

    #[test]
    fn this_code_is_in_a_file() {
        let file = own_file().unwrap();
        assert!(file.is_absolute() && file.is_file(), "{}", file.display());
    }
}
