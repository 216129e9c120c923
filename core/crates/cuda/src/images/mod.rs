//! Where the kernels' image comes from: one that was shipped, one from the user's cache, or NVRTC, which compiles it now.
//!
//! An image serves a real architecture (a cubin: sm_90) or every later one (PTX: compute_80, which the driver compiles itself, and
//! keeps). Its file's name says for which sources, architecture and compiler version it is; its digest says that it is whole.

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

/// The device code, by the names that it includes itself by.
pub(super) const SOURCES: [(&str, &str); 14] = [
    (
        "nvshmemrs_device.cuh",
        include_str!("../../include/nvshmemrs_device.cuh"),
    ),
    ("ptx.cuh", include_str!("../kernels/ptx.cuh")),
    ("access.cuh", include_str!("../kernels/access.cuh")),
    ("state.cuh", include_str!("../kernels/state.cuh")),
    ("common.cuh", include_str!("../kernels/common.cuh")),
    ("copy.cuh", include_str!("../kernels/copy.cuh")),
    ("team.cuh", include_str!("../kernels/team.cuh")),
    ("fold.cuh", include_str!("../kernels/fold.cuh")),
    ("rma.cu", include_str!("../kernels/rma.cu")),
    ("atomics.cu", include_str!("../kernels/atomics.cu")),
    ("wait.cu", include_str!("../kernels/wait.cu")),
    ("sync.cu", include_str!("../kernels/sync.cu")),
    ("moves.cu", include_str!("../kernels/moves.cu")),
    ("reduce.cu", include_str!("../kernels/reduce.cu")),
];

/// How they are compiled; the architecture comes on top.
const OPTIONS: [&str; 2] = ["-std=c++17", "-fmad=false"];

/// The real architectures that images are shipped for; PTX is that of the first.
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

    /// As NVRTC numbers it, such as 90.
    fn from_number(number: i32) -> Arch {
        Arch::new(number / 10, number % 10)
    }

    fn number(self) -> i32 {
        self.major * 10 + self.minor
    }
}

/// The kind of an image's code, and its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// For GPUs of the same major number whose minor number is not lower.
    Real(Arch),
    /// For all GPUs from that one on.
    Virtual(Arch),
}

impl Target {
    fn runs_on(self, gpu: Arch) -> bool {
        match self {
            Target::Real(arch) => arch.major == gpu.major && arch.minor <= gpu.minor,
            Target::Virtual(arch) => arch <= gpu,
        }
    }

    /// The better one is larger: code for the GPU itself, then code that the driver must compile.
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

/// The program that includes all kernels.
fn program() -> String {
    SOURCES
        .iter()
        .map(|(name, _)| format!("#include \"{name}\"\n"))
        .collect()
}

/// A search for an image that the driver takes: the best first.
pub(super) struct Search {
    gpu: Arch,
    paths: SearchPaths,
    /// Files that are still to be tried.
    files: VecDeque<PathBuf>,
    /// Places of NVRTC that are still to be tried, and the versions that were.
    compilers: VecDeque<PathBuf>,
    versions: Vec<String>,
    /// The places that had no image, for the error.
    tried: Vec<String>,
}

impl Search {
    /// A search for a GPU of this architecture.
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
                        tried.push(format!("{} has none for it", folder.display()));
                    }
                }
                Err(why) => tried.push(format!("{}: {why}", folder.display())),
            }
        }
        // Better code first; of equal ones that of the earlier place, and of the later compiler.
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

    /// The next image to try. An error, which says where all was looked, if there is no more.
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

    /// The next image that is in a file.
    fn next_file(&mut self) -> Option<Image> {
        while let Some(path) = self.files.pop_front() {
            match store::read(&path, self.paths.trusts_file(&path)) {
                Ok(image) => return Some(image),
                Err(why) => self.tried.push(format!("{}: {why}", path.display())),
            }
        }
        None
    }

    /// The next NVRTC that compiles for the GPU, of a version that was not tried before.
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
                    "NVRTC {} ({}) compiles for no GPU of that capability",
                    nvrtc.version(),
                    nvrtc.origin()
                )),
            }
        }
        None
    }

    /// That no image was found, with all that was looked at.
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

    /// Notes that the driver did not take an image.
    pub(super) fn refused(&mut self, image: &Image, why: &str) {
        self.tried
            .push(format!("{}: the driver says {why}", image.origin()));
    }

    /// Compiles for the GPU, and keeps the image for the next time.
    fn compile(&self, nvrtc: &Nvrtc, target: Target) -> Result<Image> {
        let code = nvrtc.compile(target)?;
        let bytes = match target {
            Target::Real(_) => code.cubin,
            Target::Virtual(_) => code.ptx,
        };
        // Without a cache it is compiled again the next time.
        if let Some(cache) = &self.paths.cache
            && store::own_folder(cache).is_ok()
        {
            let _ = store::write(cache, sources_hash(), target, nvrtc.version(), &bytes);
        }
        let origin = format!("{target} by NVRTC {} ({})", nvrtc.version(), nvrtc.origin());
        Ok(Image::new(bytes, origin))
    }
}

/// An image that was made for shipping.
#[derive(Debug)]
pub struct Made {
    /// The file.
    pub path: PathBuf,
    /// Bytes of code.
    pub bytes: usize,
}

/// Compiles the kernels with the NVRTC library at `nvrtc` for every GPU that is shipped for, unless that was done, writes the images to
/// `folder` and takes away those of other sources. `cargo xtask images` calls this.
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
    // PTX comes with the code of its architecture.
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
    // Two at a time; a thread each would hold up whatever else the machine does.
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

/// An error if a kernel has a stack frame, which [`frames`] says must not be.
fn check_frames(target: Target, cubin: &[u8]) -> Result<()> {
    let why = match frames::frames(cubin) {
        Some((with_frame, functions)) if with_frame.is_empty() && functions > 0 => return Ok(()),
        Some((with_frame, _)) if !with_frame.is_empty() => with_frame
            .iter()
            .map(|(name, bytes)| format!("{name} has a stack frame of {bytes} bytes"))
            .collect::<Vec<_>>()
            .join(", "),
        _ => "it does not have the stack frames of its functions".into(),
    };
    Err(Error::Internal(format!(
        "the kernels' code for {target} cannot be used: {why}"
    )))
}

#[cfg(test)]
mod tests;
