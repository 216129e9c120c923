//! Another user of the machine.

use crate::{job, library};
use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use tempfile::TempDir;

/// Its number.
pub const UID: u32 = 65534;

/// The user `nobody`, and copies of programs that it can start.
#[derive(Debug)]
pub struct Nobody(TempDir);

impl Nobody {
    /// None where this process may not act as another user: only root may. The test is then one that was left out, and is put down as
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
        fs::copy(from, &to).expect("a copy");
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

/// Adds the running test, and why it could not run, to the file that `cargo xtask test` names by this variable.
fn left_out(why: &str) {
    println!("left out: {why}");
    let Some(list) = env::var_os("TESTS_LEFT_OUT") else {
        return;
    };
    let thread = thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    let list = OpenOptions::new().create(true).append(true).open(list);
    list.and_then(|mut list| list.write_all(line.as_bytes()))
        .expect("the list of tests that were left out");
}

fn readable() -> Permissions {
    Permissions::from_mode(0o755)
}
