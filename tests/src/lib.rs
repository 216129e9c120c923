//! Shared by the integration tests: built files, compilers, processes with a time limit.
//!
//! Everything here panics when something is missing or fails, naming it: a test that cannot run has failed.

mod cases;
pub mod compile;
pub mod fakes;
pub mod findings;
pub mod held;
pub mod hosts;
pub mod job;
pub mod kernels;
mod left_out;
pub mod leftovers;
pub mod names;
pub mod nobody;
pub mod process;
pub mod promise;
pub mod rendezvous;
mod reuse;
pub mod standard;

pub use compile::{
    compile_c, compile_c_text, compile_cxx, compile_fortran, compile_mpi, compile_shared,
};
pub use held::Held;
pub use left_out::left_out;
pub use leftovers::Leftovers;
pub use process::{Output, Running, alive, info, kill, launch, launcher, run, spawn};

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a test waits before it takes a program for hung. Generous: machines are slow and shared.
pub const HANG: Duration = Duration::from_secs(60);

/// Locks a mutex, also after a test has failed under the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The root of the checkout.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests lie inside the workspace")
        .to_path_buf()
}

/// Where the built programs and libraries are: `NVSHMEMRS_BIN_DIR`, else the workspace's `target/release`.
pub fn bin_dir() -> PathBuf {
    match env::var_os("NVSHMEMRS_BIN_DIR") {
        Some(folder) => folder.into(),
        None => workspace().join("target/release"),
    }
}

/// A built program, such as `nvshmemrs-run`.
#[track_caller]
pub fn bin(name: &str) -> PathBuf {
    built(bin_dir().join(name))
}

/// The shared library: `NVSHMEMRS_LIBRARY`, else the one beside the programs.
#[track_caller]
pub fn library() -> PathBuf {
    built(match env::var_os("NVSHMEMRS_LIBRARY") {
        Some(file) => file.into(),
        None => bin_dir().join("libnvshmemrs.so"),
    })
}

/// One of the programs in `tests/programs`.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    let file = workspace().join("tests/programs").join(name);
    assert!(
        file.is_file(),
        "there is no test program {}",
        file.display()
    );
    file
}

/// Has Julia compile next to nothing, which is faster for programs as short as those of the tests.
pub const INTERPRETER: [&str; 2] = ["--compile=min", "-O0"];

/// The path of an interpreter: the variable's value, otherwise its place in the checkout.
#[track_caller]
pub fn interpreter(variable: &str, place: &str, name: &str) -> OsString {
    let file = env::var_os(variable).unwrap_or_else(|| workspace().join(place).into());
    assert!(
        Path::new(&file).is_file(),
        "{name} is missing: {} is no file. `cargo xtask test` sets it up; {variable} names another one",
        Path::new(&file).display()
    );
    file
}

#[track_caller]
fn built(file: PathBuf) -> PathBuf {
    assert!(
        file.is_file(),
        "{} is missing: run the tests with `cargo xtask test`, which builds it (NVSHMEMRS_BIN_DIR and \
         NVSHMEMRS_LIBRARY name other places)",
        file.display()
    );
    file
}
