//! The tuning file of this process: its path, and the messages about it.

use super::file::{self, TuningFile};
use super::{Link, Tuning};
use crate::config;
use crate::job::debug::Level;
use crate::{Error, Pe, Result};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The maximum size of the file.
const MOST_BYTES: u64 = 1 << 20;

/// The path of the user's tuning file, `nvshmemrs/tuning.json`, if the environment has a folder for settings.
pub fn user_path() -> Option<PathBuf> {
    let folder = |name| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let folder = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(folder.join("nvshmemrs/tuning.json"))
}

/// The SHA-256 digest of a file's bytes.
pub(crate) type Digest = [u8; 32];

/// The tuning file of this process: the file that NVSHMEMRS_TUNING_FILE names, else the user's, if it exists.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    file: TuningFile,
    /// The digest of the file's text; of an empty text without a file.
    pub(crate) digest: Digest,
    /// The line for NVSHMEM_DEBUG.
    line: Option<(Level, String)>,
}

impl Loaded {
    pub(crate) fn load() -> Result<Loaded> {
        let asked = config::tuning_file();
        if asked.as_deref() == Some("none") {
            return Ok(Loaded::of("", TuningFile::default(), None));
        }
        let Some(path) = asked.clone().map(PathBuf::from).or_else(user_path) else {
            return Ok(Loaded::of("", TuningFile::default(), None));
        };
        let wrong = |why: String| {
            Error::Bootstrap(format!(
                "the tuning file {}: {why}; write it anew with `nvshmemrs-perf --tune`, or set NVSHMEMRS_TUNING_FILE to another file, or to \
                 none",
                path.display()
            ))
        };
        let name = path.display();
        match read(&path) {
            Ok(text) => {
                let file = TuningFile::parse(&text).map_err(wrong)?;
                let line = format!("collectives: their algorithms are those of {name}");
                Ok(Loaded::of(&text, file, Some((Level::Info, line))))
            }
            // The user's file was not requested, and this process may not be allowed to read its folder.
            Err(error) if asked.is_none() && error.kind() != ErrorKind::InvalidData => {
                let line =
                    format!("collectives: {name} is not used, as it cannot be read: {error}");
                let line = (error.kind() != ErrorKind::NotFound).then_some((Level::Warn, line));
                Ok(Loaded::of("", TuningFile::default(), line))
            }
            Err(error) => Err(wrong(format!("it cannot be read: {error}"))),
        }
    }

    fn of(text: &str, file: TuningFile, line: Option<(Level, String)>) -> Loaded {
        Loaded {
            file,
            digest: Sha256::digest(text).into(),
            line,
        }
    }

    /// Prints the source of the choices of PE `me`, if NVSHMEM_DEBUG asks for it.
    pub(crate) fn log_source(&self, me: Pe) {
        if let Some((level, line)) = &self.line {
            Level::from_environment().write(*level, me, || line.clone());
        }
    }

    /// The choices for a GPU model: the library's, replaced by the file's where it has any.
    pub(crate) fn tuning(&self, gpu: &str, link: Link) -> Tuning {
        let shipped = file::shipped();
        let tables = shipped.tables_for(gpu, link);
        Tuning::new(tables.chain(self.file.tables_for(gpu, link)))
    }
}

/// The text of a file; an error if it is longer than [`MOST_BYTES`].
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    // Limited while reading, because a device has no known length.
    File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::new(
            ErrorKind::InvalidData,
            format!("it has more than {MOST_BYTES} bytes"),
        ));
    }
    Ok(text)
}
