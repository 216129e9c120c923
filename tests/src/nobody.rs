//! Another user of the machine.

use crate::{job, left_out, library};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Its number.
pub const UID: u32 = 65534;

/// The user `nobody`, and copies of programs that it can start.
#[derive(Debug)]
pub struct Nobody(TempDir);

impl Nobody {
    /// None where this process may not act as another user: only root may. The test is then left out, and is recorded as
    /// such for `cargo xtask test`.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            left_out("acting as another user takes root");
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder");
        let nobody = Self(folder);
        fs::set_permissions(nobody.0.path(), readable()).expect("an open folder");
        nobody.copy(&library(), "libnvshmemrs.so.0");
        Some(nobody)
    }

    fn copy(&self, from: &Path, name: &str) -> PathBuf {
        let to = self.0.path().join(name);
        // By another process: a child that a thread of this one forks meanwhile would have the copy open for writing, and then the kernel
        // starts no program from it.
        let copied = Command::new("cp").arg(from).arg(&to).status();
        assert!(copied.expect("cp starts").success());
        fs::set_permissions(&to, readable()).expect("a readable copy");
        to
    }

    /// The command, as this user; its program is copied to where everybody can read it, with the library.
    pub fn runs(&self, command: &Command) -> Command {
        let program = Path::new(command.get_program());
        let name = program.file_name().expect("a program has a name");
        let copy = self.copy(program, &name.to_string_lossy());
        let mut other = job::clean("setpriv");
        other
            .arg(format!("--reuid={UID}"))
            .arg(format!("--regid={UID}"))
            .args(["--clear-groups", "--"])
            .arg(copy)
            .args(command.get_args())
            .env("LD_LIBRARY_PATH", self.0.path());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                other.env(name, value);
            }
        }
        other
    }
}

fn readable() -> Permissions {
    Permissions::from_mode(0o755)
}
