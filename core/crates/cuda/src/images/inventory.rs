//! The images and compilers on this machine, for `nvshmemrs-info`.

use super::{Arch, Nvrtc, Search, SearchPaths, sources_hash, store};
use serde::Serialize;
use std::path::PathBuf;

/// A folder of images.
#[derive(Debug)]
pub struct Folder {
    /// The path of the folder.
    pub path: PathBuf,
    /// The architectures for which the folder has images of this version's kernels, such as `sm_90`, or `compute_80`
    /// (PTX, compiled by the driver).
    pub images: Vec<String>,
    /// Files, or the folder itself, that could not be read, and why.
    pub unreadable: Vec<String>,
}

/// NVRTC, which compiles the kernels if no image is found.
#[derive(Debug, Serialize)]
pub struct Compiler {
    /// NVRTC's version, such as "12.8".
    pub version: String,
    /// The file, or the name under which the dynamic linker found it.
    pub origin: String,
}

/// The folders that a job of this process would search, in that order. The user's own cache need not exist.
pub(crate) fn folders() -> Vec<Folder> {
    let paths = SearchPaths::of_this_process();
    let folder = |path: &std::path::Path| {
        let mut images = Vec::new();
        let mut unreadable = Vec::new();
        match store::list(path, sources_hash(), paths.trusts(path)) {
            Ok(entries) => {
                for entry in entries {
                    match store::read(&entry.path, paths.trusts_file(&entry.path)) {
                        Ok(_) => images.push(entry.target.to_string()),
                        Err(why) => unreadable.push(format!("{}: {why}", entry.path.display())),
                    }
                }
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => unreadable.push(why.to_string()),
        }
        Folder {
            path: path.to_path_buf(),
            images,
            unreadable,
        }
    };
    paths.folders().map(folder).collect()
}

/// NVRTC, or the names that were tried.
pub(crate) fn compiler() -> Result<Compiler, String> {
    let found = Nvrtc::find(&SearchPaths::of_this_process().compilers)?;
    Ok(Compiler {
        version: found.version().to_string(),
        origin: found.origin().to_string(),
    })
}

/// The source of the kernels for a GPU of this compute capability, as text; an error text if there is none.
pub(crate) fn source_for(major: i32, minor: i32) -> Result<String, String> {
    let gpu = Arch::new(major, minor);
    let mut search = Search::new(gpu);
    if let Some(image) = search.next_file() {
        return Ok(image.origin().to_string());
    }
    // If a shipped image fits, NVRTC is not needed.
    match search.next_compiler() {
        Some((nvrtc, target)) => Ok(format!(
            "{target}, which NVRTC {} compiles at the first job",
            nvrtc.version()
        )),
        None => Err(search.nothing().to_string()),
    }
}
