//! The stand-ins for libcuda, with the real kernels compiled for the host, for NVRTC and for NVML: machines without a GPU run the tests
//! of device memory against them.

use crate::compile::{compile_to, programs};
use crate::{HANG, Output, compile_c_text, launcher, run, workspace};
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

/// The folder with the stand-ins, compiled once by each test program; LD_LIBRARY_PATH lets a program find them.
pub fn fakes() -> &'static Path {
    static FAKES: LazyLock<PathBuf> = LazyLock::new(|| made("fakes", compile_all));
    &FAKES
}

/// Lets a command see the stand-ins, and nothing of the user's.
pub fn with_fakes(command: &mut Command) -> &mut Command {
    command
        .env("LD_LIBRARY_PATH", fakes())
        .env("XDG_CACHE_HOME", fakes().join("cache"))
        .env("XDG_CONFIG_HOME", fakes().join("config"));
    for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command
}

/// Runs a part of a test program for GPUs by a launcher's command; the stand-in reports leaks.
pub fn run_part(
    mut command: Command,
    program: &Path,
    part: &str,
    settings: &[(&str, &str)],
) -> Output {
    with_fakes(&mut command)
        .arg(program)
        .arg(part)
        .stdin(Stdio::null())
        .env("NVSHMEMRS_TIMEOUT", "30")
        .env("FAKE_CUDA_LEAKS", "1")
        .envs(settings.iter().copied());
    run(&mut command, HANG)
}

/// Runs a part of a test program for GPUs with `n` PEs of the stand-in, which reports leaks and launches. Each PE must print that the part has
/// passed, as `LABEL ok: PART`.
pub fn part_passes(
    (program, label, part): (&Path, &str, &str),
    (n, options): (u32, &[&str]),
    settings: &[(&str, &str)],
) -> Output {
    let mut command = launcher(n, options);
    command.env("FAKE_CUDA_LAUNCHES", "1");
    let output = run_part(command, program, part, settings).succeeded();
    output.assert_times(n as usize, &format!("{label} ok: {part}\n"));
    output
}

/// A folder of this test program's beside the compiled programs, with the files of `fill` in place of its former contents.
fn made(name: &str, fill: fn(&Path)) -> PathBuf {
    let own = env::current_exe().expect("the test program's name");
    let own = own.file_name().expect("the test program's name");
    let folder = programs().join(name).join(own);
    // Files that tests have left there are of an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cannot make a folder");
    fill(&folder);
    folder
}

fn compile_all(folder: &Path) {
    kernels(folder);
    for (source, name) in [
        ("fake_cuda.c", "libcuda.so.1"),
        ("fake_nvrtc.c", "libnvrtc.so.12"),
        ("fake_nvml.c", "libnvidia-ml.so.1"),
    ] {
        compile(source, name, folder, &[]);
    }
    // The driver has both names, for one library.
    symlink("libcuda.so.1", folder.join("libcuda.so")).expect("cannot make a link");
}

/// Whether this machine has a driver: a program that has no LD_LIBRARY_PATH can load libcuda.
pub fn driver_is_here() -> bool {
    static HERE: LazyLock<bool> = LazyLock::new(|| {
        let text = "#include <dlfcn.h>\n\
                    int main(void) { return !dlopen(\"libcuda.so.1\", RTLD_LAZY) && !dlopen(\"libcuda.so\", RTLD_LAZY); }\n";
        let program = compile_c_text("loads-libcuda", text);
        let output = run(Command::new(program).env_remove("LD_LIBRARY_PATH"), HANG);
        assert!(output.code() <= 1, "{}", output.describe());
        output.code() == 0
    });
    *HERE
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
    let source = workspace().join("tests/programs/kernels/library.cpp");
    let library = programs().join("libfakekernels.so");
    compile_to(compiler, &library, &[source.into()]);
    symlink(&library, folder.join("libfakekernels.so")).expect("cannot make a link");
}

/// A folder with an NVRTC, of an earlier version than the other one, that compiles nothing.
pub fn broken_nvrtc() -> &'static Path {
    static BROKEN: LazyLock<PathBuf> = LazyLock::new(|| {
        made("broken-nvrtc", |folder| {
            // The linker looks for it where it looks for all of them.
            let kernels = "libfakekernels.so";
            symlink(fakes().join(kernels), folder.join(kernels)).expect("cannot make a link");
            compile("fake_nvrtc.c", "libnvrtc.so.12", folder, &["-DBROKEN"]);
        })
    });
    &BROKEN
}

/// Compiles a stand-in into `folder`. All test programs have the same file.
fn compile(source: &str, name: &str, folder: &Path, options: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.args(["-shared", "-fPIC"]).args(options);
    compiler.arg(workspace().join("tests/programs").join(source));
    compiler.arg("-L").arg(programs());
    let last = ["-lfakekernels", "-Wl,-rpath,$ORIGIN", "-pthread"].map(OsString::from);
    let kept = programs().join(format!("stand-in{}-{name}", options.concat()));
    let library = compile_to(compiler, &kept, &last);
    fs::copy(library, folder.join(name)).expect("cannot copy the compiled library");
}
