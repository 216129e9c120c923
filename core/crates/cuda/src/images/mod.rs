//! The image of the kernels: a shipped image, an image in the user's cache, or the output of NVRTC, which then compiles
//! the kernels.
//!
//! An image is a cubin for one real architecture (sm_90), or PTX for that architecture and all later ones (compute_80;
//! the driver compiles PTX and caches the result). The name of the file has the hash of the sources, the architecture
//! and the compiler's version; a digest in the file detects truncation.

mod frames;
pub(super) mod inventory;
mod nvrtc;
mod search_paths;
mod store;

pub(crate) use store::Image;

use crate::job::signals;
use crate::{Error, Result};
use nvrtc::Nvrtc;
use search_paths::SearchPaths;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

macro_rules! sources {
    ($($folder:literal: $($name:literal)*;)*) => {
        &[$($(($name, include_str!(concat!($folder, $name))),)*)*]
    };
}

/// The device code, by the names that its `#include` lines use.
#[rustfmt::skip]
pub(super) const SOURCES: &[(&str, &str)] = sources! {
    "../../include/":
        "nvshmemrs_device.cuh"
        "nvshmemrs_device/types.cuh"
        "nvshmemrs_device/accesses.cuh"
        "nvshmemrs_device/state.cuh"
        "nvshmemrs_device/rma.cuh"
        "nvshmemrs_device/signals.cuh"
        "nvshmemrs_device/atomics.cuh"
        "nvshmemrs_device/waits.cuh"
        "nvshmemrs_device/collectives.cuh"
        "nvshmemrs_device/reductions.cuh"
        "nvshmemrs_device/typed.cuh"
        "nvshmemrs_device/functions.cuh"
        "nvshmemrs_device/names.cuh";
    "../kernels/":
        "ptx.cuh" "access.cuh" "state.cuh" "common.cuh" "copy.cuh" "team.cuh" "fold.cuh" "lamport.cuh"
        "rma.cu" "atomics.cu" "wait.cu" "sync.cu" "moves.cu" "reduce.cu";
};

/// The compiler's options besides the architecture.
const OPTIONS: [&str; 2] = ["-std=c++17", "-fmad=false"];

/// The real architectures with shipped images; the shipped PTX is for the first of them.
const SHIPPED: [Arch; 3] = [Arch::new(8, 0), Arch::new(9, 0), Arch::new(10, 0)];

/// A compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arch {
    major: i32,
    minor: i32,
}

impl Arch {
    pub(super) const fn new(major: i32, minor: i32) -> Arch {
        Arch { major, minor }
    }

    /// From NVRTC's notation, such as 90.
    fn from_number(number: i32) -> Arch {
        Arch::new(number / 10, number % 10)
    }

    fn number(self) -> i32 {
        self.major * 10 + self.minor
    }
}

/// The kind of code in an image, and its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// For GPUs of the same major version and an equal or higher minor version.
    Real(Arch),
    /// For GPUs of this compute capability and all later ones.
    Virtual(Arch),
}

impl Target {
    fn runs_on(self, gpu: Arch) -> bool {
        match self {
            Target::Real(arch) => arch.major == gpu.major && arch.minor <= gpu.minor,
            Target::Virtual(arch) => arch <= gpu,
        }
    }

    /// A larger rank is preferred: code for the GPU itself before PTX.
    fn rank(self) -> (bool, Arch) {
        match self {
            Target::Real(arch) => (true, arch),
            Target::Virtual(arch) => (false, arch),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Real(arch) => write!(f, "sm_{}", arch.number()),
            Target::Virtual(arch) => write!(f, "compute_{}", arch.number()),
        }
    }
}

/// The first 16 digits of a hash over the sources and the options.
fn sources_hash() -> &'static str {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let mut hash = Sha256::new();
        for part in SOURCES
            .iter()
            .flat_map(|(name, text)| [*name, *text])
            .chain(OPTIONS)
        {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    });
    &HASH
}

/// The program text that includes all kernels.
fn program() -> String {
    // nvshmemrs_device.cuh includes the files of its folder.
    let files = SOURCES.iter().filter(|(name, _)| !name.contains('/'));
    files
        .map(|(name, _)| format!("#include \"{name}\"\n"))
        .collect()
}

/// The search for an image that the driver accepts, in order of preference.
pub(super) struct Search {
    gpu: Arch,
    paths: SearchPaths,
    /// Files not tried yet.
    files: VecDeque<PathBuf>,
    /// Locations of NVRTC not tried yet, and the versions already tried.
    compilers: VecDeque<PathBuf>,
    versions: Vec<String>,
    /// The locations without a usable image, for the error message.
    tried: Vec<String>,
}

impl Search {
    /// Starts the search for a GPU of this architecture.
    pub(super) fn new(gpu: Arch) -> Search {
        Search::within(gpu, SearchPaths::of_this_process())
    }

    fn within(gpu: Arch, paths: SearchPaths) -> Search {
        let mut tried = Vec::new();
        let mut found = Vec::new();
        for (order, folder) in paths.folders().enumerate() {
            match store::list(folder, sources_hash(), paths.trusts(folder)) {
                Ok(entries) => {
                    let before = found.len();
                    let fits = entries
                        .into_iter()
                        .filter(|entry| entry.target.runs_on(gpu));
                    found.extend(fits.map(|entry| (order, entry)));
                    if found.len() == before {
                        tried.push(format!("{} has no image for it", folder.display()));
                    }
                }
                Err(why) => tried.push(format!("{}: {why}", folder.display())),
            }
        }
        // Preferred code first; equal code is ordered by location, then by the latest compiler.
        found.sort_by(|(a_order, a), (b_order, b)| {
            let (a_rank, b_rank) = (a.target.rank(), b.target.rank());
            b_rank
                .cmp(&a_rank)
                .then(a_order.cmp(b_order))
                .then(b.compiler.cmp(&a.compiler))
        });
        Search {
            gpu,
            files: found.into_iter().map(|(_, entry)| entry.path).collect(),
            compilers: paths.compilers.iter().cloned().collect(),
            versions: Vec::new(),
            paths,
            tried,
        }
    }

    /// The next candidate. When there are none left, the error lists all locations searched.
    pub(super) fn next_image(&mut self) -> Result<Image> {
        if let Some(image) = self.next_file() {
            return Ok(image);
        }
        while let Some((nvrtc, target)) = self.next_compiler() {
            match self.compile(&nvrtc, target) {
                Ok(image) => return Ok(image),
                Err(error) => self.tried.push(error.to_string()),
            }
        }
        Err(self.nothing())
    }

    /// The next image from a file.
    fn next_file(&mut self) -> Option<Image> {
        while let Some(path) = self.files.pop_front() {
            match store::read(&path, self.paths.trusts_file(&path)) {
                Ok(image) => return Some(image),
                Err(why) => self.tried.push(format!("{}: {why}", path.display())),
            }
        }
        None
    }

    /// The next NVRTC of a new version that compiles for the GPU.
    fn next_compiler(&mut self) -> Option<(Nvrtc, Target)> {
        while let Some(place) = self.compilers.pop_front() {
            let nvrtc = match Nvrtc::open(&place) {
                Ok(nvrtc) => nvrtc,
                Err(error) => {
                    self.tried.push(error.to_string());
                    continue;
                }
            };
            if self.versions.iter().any(|known| known == nvrtc.version()) {
                continue;
            }
            self.versions.push(nvrtc.version().to_string());
            match nvrtc.target_for(self.gpu) {
                Some(target) => return Some((nvrtc, target)),
                None => self.tried.push(format!(
                    "NVRTC {} ({}) does not support that compute capability",
                    nvrtc.version(),
                    nvrtc.origin()
                )),
            }
        }
        None
    }

    /// The error that no image was found, with all locations searched.
    fn nothing(&self) -> Error {
        Error::NotSupported(format!(
            "there is no image of the GPU kernels for compute capability {}.{} (sources {}) that the driver takes, and no NVRTC that makes \
             one; looked at: {}. Install nvidia-cuda-nvrtc-cu12 with pip or the CUDA toolkit, or let NVSHMEMRS_IMAGES name the folder \
             with the images",
            self.gpu.major,
            self.gpu.minor,
            sources_hash(),
            self.tried.join("; ")
        ))
    }

    /// Records that the driver rejected an image.
    pub(super) fn refused(&mut self, image: &Image, why: &str) {
        self.tried
            .push(format!("{}: the driver refuses it: {why}", image.origin()));
    }

    /// Compiles for the GPU, and stores the image in the cache.
    fn compile(&self, nvrtc: &Nvrtc, target: Target) -> Result<Image> {
        let code = nvrtc.compile(target)?;
        let bytes = match target {
            Target::Real(_) => code.cubin,
            Target::Virtual(_) => code.ptx,
        };
        // A failure to store it is ignored: the next job compiles again.
        if let Some(cache) = &self.paths.cache
            && store::own_folder(cache).is_ok()
        {
            let _ = store::write(cache, sources_hash(), target, nvrtc.version(), &bytes);
        }
        let origin = format!("{target} by NVRTC {} ({})", nvrtc.version(), nvrtc.origin());
        Ok(Image::new(bytes, origin))
    }
}

/// A newly compiled image.
#[derive(Debug)]
pub struct Made {
    /// The path of the image.
    pub path: PathBuf,
    /// Bytes of code.
    pub bytes: usize,
}

/// Compiles the kernels with the NVRTC library at `nvrtc` for all shipped architectures that lack an image, writes the
/// images to `folder`, and removes images of other sources. `cargo xtask images` calls this function.
pub fn make(nvrtc: &Path, folder: &Path) -> Result<Vec<Made>> {
    let nvrtc = Nvrtc::open(nvrtc)?;
    let internal = |error: std::io::Error| {
        Error::Internal(format!(
            "kernel images cannot be written to {}: {error}",
            folder.display()
        ))
    };
    std::fs::create_dir_all(folder).map_err(internal)?;
    store::clear(folder, sources_hash()).map_err(internal)?;
    let targets = SHIPPED
        .map(Target::Real)
        .into_iter()
        .chain([Target::Virtual(SHIPPED[0])]);
    let places: Vec<_> = targets
        .map(|target| {
            (
                target,
                store::path(folder, sources_hash(), target, nvrtc.version()),
            )
        })
        .collect();
    // PTX is generated together with the cubin of its architecture.
    let missing = |arch| {
        let same = |target| matches!(target, Target::Real(of) | Target::Virtual(of) if of == arch);
        let mut images = places.iter().filter(|(target, _)| same(*target));
        images.any(|(_, path)| store::read(path, true).is_err())
    };
    let missing: Vec<Arch> = SHIPPED.into_iter().filter(|arch| missing(*arch)).collect();
    let compile = |arch| -> Result<()> {
        let code = nvrtc.compile(Target::Real(arch))?;
        check_frames(Target::Real(arch), &code.cubin)?;
        let write = |target, bytes: &[u8]| {
            store::write(folder, sources_hash(), target, nvrtc.version(), bytes).map_err(internal)
        };
        write(Target::Real(arch), &code.cubin)?;
        if arch == SHIPPED[0] {
            write(Target::Virtual(arch), &code.ptx)?;
        }
        Ok(())
    };
    // Two threads at a time, so that other builds on the machine still progress.
    std::thread::scope(|scope| {
        let (first, rest) = missing.split_at(missing.len().min(1));
        let run = || rest.iter().copied().try_for_each(compile);
        let other = signals::blocked(|| scope.spawn(run));
        first.iter().copied().try_for_each(compile)?;
        other
            .join()
            .map_err(|_| Error::Internal("NVRTC panicked".into()))?
    })?;
    let made = places.into_iter().map(|(_, path)| {
        let bytes = store::read(&path, true).map_err(internal)?.bytes().len();
        Ok(Made { path, bytes })
    });
    made.collect()
}

/// An error if a kernel has a stack frame; see [`frames`].
fn check_frames(target: Target, cubin: &[u8]) -> Result<()> {
    let why = match frames::frames(cubin) {
        Some((with_frame, functions)) if with_frame.is_empty() && functions > 0 => return Ok(()),
        Some((with_frame, _)) if !with_frame.is_empty() => with_frame
            .iter()
            .map(|(name, bytes)| format!("{name} has a stack frame of {bytes} bytes"))
            .collect::<Vec<_>>()
            .join(", "),
        _ => "it does not list the stack frames of its functions".into(),
    };
    Err(Error::Internal(format!(
        "the kernels' code for {target} cannot be used: {why}"
    )))
}

#[cfg(test)]
mod tests;
