//! The stand-ins for libcuda, with the real kernels compiled for the host, for NVRTC and for NVML: machines without a GPU run the tests
//! of device memory against them.

use crate::{HANG, run, workspace};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The folder with the stand-ins, compiled once; LD_LIBRARY_PATH lets a program find them.
pub fn fakes() -> &'static Path {
    static FAKES: LazyLock<tempfile::TempDir> = LazyLock::new(compiled);
    FAKES.path()
}

fn compiled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("cannot make a folder");
    kernels(folder.path());
    for (source, name) in [
        ("fake_cuda.c", "libcuda.so.1"),
        ("fake_nvrtc.c", "libnvrtc.so.12"),
        ("fake_nvml.c", "libnvidia-ml.so.1"),
    ] {
        let source = workspace().join("tests/programs").join(source);
        compile(&source, &folder.path().join(name), &[]);
    }
    // The driver has both names, for one library.
    std::os::unix::fs::symlink("libcuda.so.1", folder.path().join("libcuda.so"))
        .expect("cannot make a link");
    folder
}

/// The GPU's kernels, which run on the host.
fn kernels(folder: &Path) {
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.args([
        "-Wno-unknown-pragmas",
        "-fno-strict-aliasing",
        "-ffp-contract=off",
    ]);
    compiler.args(["-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]);
    compiler.arg(workspace().join("tests/programs/kernels/library.cpp"));
    compiler.arg("-o").arg(folder.join("libfakekernels.so"));
    run(&mut compiler, HANG).assert_success();
}

/// A folder with an NVRTC, of an earlier version than the other one, that compiles nothing.
pub fn broken_nvrtc() -> &'static Path {
    static BROKEN: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("cannot make a folder");
        // The linker looks for it where it looks for all of them.
        std::os::unix::fs::symlink(
            fakes().join("libfakekernels.so"),
            folder.path().join("libfakekernels.so"),
        )
        .expect("cannot make a link");
        let source = workspace().join("tests/programs/fake_nvrtc.c");
        let library = folder.path().join("libnvrtc.so.12");
        compile(&source, &library, &["-DBROKEN"]);
        folder
    });
    BROKEN.path()
}

fn compile(source: &Path, library: &Path, options: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args([
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
    ]);
    compiler.args(options);
    compiler.arg(source).arg("-o").arg(library).arg("-pthread");
    let folder = library.parent().expect("a library is in a folder");
    compiler
        .arg("-L")
        .arg(folder)
        .args(["-lfakekernels", "-Wl,-rpath,$ORIGIN"]);
    run(&mut compiler, HANG).assert_success();
}
