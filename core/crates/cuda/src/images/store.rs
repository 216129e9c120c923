//! Image files: their names, contents and folders.
//!
//! A file begins with [`MAGIC`] and the SHA-256 of the code that follows. A file is written under a temporary name and
//! then renamed, so readers never see a partial file.

use super::{Arch, Target};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const MAGIC: &[u8; 16] = b"nvshmemrs image\n";
const DIGEST: usize = 32;
/// The maximum size of the code.
const LONGEST: u64 = 64 << 20;

/// Code for the driver.
pub(crate) struct Image {
    bytes: Vec<u8>,
    origin: String,
}

impl Image {
    /// Wraps `bytes`, which were read from `origin`.
    pub(super) fn new(mut bytes: Vec<u8>, origin: String) -> Image {
        // PTX is text, which the driver reads up to a NUL; a trailing NUL does no harm to a cubin.
        bytes.push(0);
        Image { bytes, origin }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The origin of the code, for messages.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }
}

/// A file and the properties in its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) target: Target,
    /// The compiler's version, such as (12, 8).
    pub(super) compiler: (u32, u32),
}

/// The name of the file for `sources`, a hash.
fn file_name(sources: &str, target: Target, compiler: &str) -> String {
    let end = match target {
        Target::Real(_) => "cubin",
        Target::Virtual(_) => "ptx",
    };
    format!("{sources}-{target}-nvrtc{compiler}.{end}")
}

/// The path of the image for `sources` in a folder.
pub(super) fn path(folder: &Path, sources: &str, target: Target, compiler: &str) -> PathBuf {
    folder.join(file_name(sources, target, compiler))
}

/// The properties in the name of a file, if it is an image of `sources`.
fn parse(name: &str, sources: &str) -> Option<(Target, (u32, u32))> {
    let rest = name.strip_prefix(sources)?.strip_prefix('-')?;
    let (target, compiler) = rest.split_once("-nvrtc")?;
    let (target, compiler) = if let Some(number) = target.strip_prefix("sm_") {
        let arch = Arch::from_number(number.parse().ok()?);
        (Target::Real(arch), compiler.strip_suffix(".cubin")?)
    } else {
        let arch = Arch::from_number(target.strip_prefix("compute_")?.parse().ok()?);
        (Target::Virtual(arch), compiler.strip_suffix(".ptx")?)
    };
    let (major, minor) = compiler.split_once('.')?;
    Some((target, (major.parse().ok()?, minor.parse().ok()?)))
}

/// Lists the images of `sources` in a folder. Unless `trusted`, the folder must be writable for this user only.
pub(super) fn list(folder: &Path, sources: &str, trusted: bool) -> io::Result<Vec<Entry>> {
    if !trusted {
        check_own(folder)?;
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some((target, compiler)) = name.and_then(|name| parse(name, sources)) {
            found.push(Entry {
                path,
                target,
                compiler,
            });
        }
    }
    // Sorted, because directories have no defined order.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::other(why.into())
}

/// Reads an image. Unless its folder is `trusted`, the file must belong to this user.
pub(super) fn read(path: &Path, trusted: bool) -> io::Result<Image> {
    let follow = if trusted {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | follow;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = file.metadata()?;
    if !facts.is_file() || facts.len() > LONGEST {
        return Err(refused("not an image"));
    }
    if !trusted && (facts.uid() != user() || facts.mode() & 0o022 != 0) {
        return Err(refused("other users may have written it"));
    }
    let mut bytes = Vec::with_capacity(facts.len() as usize);
    file.take(LONGEST).read_to_end(&mut bytes)?;
    let code = bytes
        .strip_prefix(MAGIC)
        .and_then(|rest| rest.split_at_checked(DIGEST))
        .filter(|(digest, code)| Sha256::digest(code).as_slice() == *digest)
        .map(|(_, code)| code.to_vec())
        .ok_or_else(|| refused("damaged"))?;
    Ok(Image::new(code, path.display().to_string()))
}

/// Writes an image atomically.
pub(super) fn write(
    folder: &Path,
    sources: &str,
    target: Target,
    compiler: &str,
    code: &[u8],
) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let path = path(folder, sources, target, compiler);
    let unique = format!(".{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    let draft = folder.join(unique);
    let written = File::create_new(&draft).and_then(|mut file| {
        file.write_all(MAGIC)?;
        file.write_all(&Sha256::digest(code))?;
        file.write_all(code)?;
        fs::rename(&draft, &path)
    });
    if let Err(error) = written {
        // The draft need not exist.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(path)
}

/// Removes the images of other sources.
pub(super) fn clear(folder: &Path, sources: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let other = name.get(..sources.len()).unwrap_or("");
        let hash = other.len() == sources.len() && other.chars().all(|c| c.is_ascii_hexdigit());
        if hash && other != sources && parse(name, other).is_some() {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Creates a folder that is writable for this user only, or checks an existing folder.
pub(super) fn own_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.raw_os_error() != Some(Errno::EXIST.raw_os_error()) => Err(error),
        _ => check_own(folder),
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks that only this user can have written to the folder.
fn check_own(folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(folder)?;
    if facts.is_dir() && facts.uid() == user() && facts.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(refused("not a folder that only this user can write to"))
}
