//! Kernels without a GPU: programs that run them on the CPU, and NVRTC and nvcc, which compile them.

use crate::compile::{compile_as, programs};
use crate::reuse::kept;
use crate::{compile_c, launcher, program, run, workspace};
use std::fs;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Compilers may share the machine with all other tests.
pub const SLOW: Duration = Duration::from_secs(300);

/// Compiles `tests/programs/device/NAME.cpp` for the CPU, as `file`.
#[track_caller]
pub fn on_the_host(name: &str, file: &str, options: &[&str]) -> PathBuf {
    let source = program(&format!("device/{name}.cpp"));
    let all = ["-O0", "-g0", "-fno-strict-aliasing"];
    let options: Vec<&str> = all.iter().chain(options).copied().collect();
    compile_as(&source, file, &options)
}

/// A program passes with so many PEs.
#[track_caller]
pub fn passes(name: &str, file: &Path, counts: &[u32]) {
    for &n in counts {
        let output = run(launcher(n, &[]).arg(file), SLOW).succeeded();
        output.assert_each(0..n, |pe| format!("{name} ok PE {pe} of {n}\n"));
    }
}

/// NVRTC from `.venv`, where `cargo xtask images` installs it.
fn nvrtc_library() -> PathBuf {
    let wheels = fs::read_dir(workspace().join(".venv/lib"))
        .into_iter()
        .flatten()
        .flatten();
    let file = "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    let mut places = wheels.map(|one| one.path().join(file));
    let found = places.find(|place| place.exists());
    found.expect("no NVRTC in .venv: `cargo xtask images` installs it")
}

/// The PTX of a program. It is kept for the next run of the tests under the place of the call and the architecture.
#[track_caller]
pub fn ptx(text: &str, architecture: &str, options: &[&str]) -> String {
    static COMPILER: OnceLock<PathBuf> = OnceLock::new();
    let compiler = COMPILER.get_or_init(|| compile_c(&program("device/nvrtc.c")));
    let library = nvrtc_library();
    let version = fs::metadata(&library).expect("NVRTC is there").len();
    let folders = ["include", "tests/programs/device"].map(|folder| workspace().join(folder));
    let parts = workspace().join("include/nvshmemrs_device");
    let call = Location::caller();
    let file = Path::new(call.file()).file_stem().unwrap_or_default();
    let name = format!("{}-{}-{architecture}.ptx", file.display(), call.line());
    let command = format!("{text}\n{architecture} {options:?} {library:?} {version}");
    let result = kept(&programs().join(name), &command, |place| {
        let source = place.with_extension("cu");
        fs::write(&source, text).expect("cannot write a program");
        let mut command = Command::new(compiler);
        command.arg(&library).arg(&source).arg(place);
        command.arg(architecture);
        command.args(
            folders
                .iter()
                .map(|folder| format!("-I{}", folder.display())),
        );
        run(command.args(options), SLOW).assert_success();
        // NVRTC does not say which headers it has read.
        let headers = folders
            .iter()
            .chain([&parts])
            .flat_map(|folder| files(folder));
        headers.collect()
    });
    fs::read_to_string(&result).expect("the PTX")
}

/// The files of a folder, without those of the folders in it.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of headers").flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
}

/// The standard types that NVRTC lacks.
pub const STANDARD_TYPES: &str = "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n\
     typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned uint32_t;\n\
     typedef long int64_t; typedef unsigned long uint64_t;\n";

/// The PTX needs no other symbols than the driver's.
#[track_caller]
pub fn assert_nothing_undefined(ptx: &str) {
    let undefined = ptx.lines().filter(|line| line.contains(".extern"));
    let there = |line: &&str| line.contains("vprintf") || line.contains(".shared");
    let undefined: Vec<&str> = undefined.filter(|line| !there(line)).collect();
    assert!(undefined.is_empty(), "{undefined:?}");
}

/// The toolkit in `.venv/nvcc`, where `cargo xtask setup` installs it.
pub fn toolkit() -> PathBuf {
    let folder = workspace().join(".venv/nvcc/nvidia/cu13");
    let there = folder.join("bin/nvcc").exists();
    assert!(
        there,
        "no nvcc in .venv/nvcc: `cargo xtask setup` installs it"
    );
    folder
}

/// nvcc for programs with our headers.
pub fn nvcc() -> Command {
    let mut nvcc = Command::new(toolkit().join("bin/nvcc"));
    nvcc.args([
        "-std=c++17",
        "-Werror",
        "all-warnings",
        "-arch=sm_90",
        "-Xcompiler",
        "-fPIC,-Wall",
    ]);
    nvcc.arg("-I").arg(workspace().join("include"));
    nvcc.arg("-L").arg(toolkit().join("lib"));
    nvcc
}
