//! The stand-ins for libcuda, with the real kernels compiled for the host, for NVRTC and for NVML: machines without a GPU run the tests
//! of device memory against them.

use crate::compile::programs;
use crate::{HANG, compile_c_text, run, workspace};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// A folder of this test program's beside the compiled programs, with what `fill` puts into it in place of what it had.
fn made(name: &str, fill: fn(&Path)) -> PathBuf {
    let own = env::current_exe().expect("the test program's name");
    let own = own.file_name().expect("the test program's name");
    let folder = programs().join(name).join(own);
    // What tests keep there is of an earlier run.
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
        let source = workspace().join("tests/programs").join(source);
        compile(&source, &folder.join(name), &[]);
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

/// The GPU's kernels, which run on the host. All test programs have them from the one that was the first.
fn kernels(folder: &Path) {
    let library = programs().join("libfakekernels.so");
    if !is_current(&library) {
        let own = format!("libfakekernels-{}", std::process::id());
        let made = programs().join(own);
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
        compiler.args([
            "-Wno-unknown-pragmas",
            "-fno-strict-aliasing",
            "-ffp-contract=off",
        ]);
        compiler.args(["-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-MD"]);
        compiler.arg(workspace().join("tests/programs/kernels/library.cpp"));
        compiler.arg("-o").arg(made.with_extension("so"));
        run(&mut compiler, 5 * HANG).assert_success();
        for kind in ["d", "so"] {
            let (from, to) = (made.with_extension(kind), library.with_extension(kind));
            fs::rename(from, to).expect("cannot rename what was compiled");
        }
    }
    symlink(&library, folder.join("libfakekernels.so")).expect("cannot make a link");
}

/// Whether a library is newer than all it was made from, as the compiler has listed it, and than this program, which says how.
fn is_current(library: &Path) -> bool {
    let time = |file: &Path| fs::metadata(file).and_then(|about| about.modified()).ok();
    let Some(made) = time(library) else {
        return false;
    };
    let listed = fs::read_to_string(library.with_extension("d")).unwrap_or_default();
    let own = env::current_exe().expect("the test program's name");
    let first = workspace().join("tests/programs/kernels/library.cpp");
    let (_, sources) = listed.split_once(": ").unwrap_or_default();
    let mut sources = sources
        .split([' ', '\n', '\\'])
        .filter(|word| !word.is_empty());
    let older = |file: &Path| time(file).is_some_and(|time| time < made);
    // Another checkout with this build folder has sources of its own.
    sources.clone().any(|source| Path::new(source) == first)
        && older(&own)
        && sources.all(|source| older(Path::new(source)))
}

/// A folder with an NVRTC, of an earlier version than the other one, that compiles nothing.
pub fn broken_nvrtc() -> &'static Path {
    static BROKEN: LazyLock<PathBuf> = LazyLock::new(|| {
        made("broken-nvrtc", |folder| {
            // The linker looks for it where it looks for all of them.
            let kernels = "libfakekernels.so";
            symlink(fakes().join(kernels), folder.join(kernels)).expect("cannot make a link");
            let source = workspace().join("tests/programs/fake_nvrtc.c");
            compile(&source, &folder.join("libnvrtc.so.12"), &["-DBROKEN"]);
        })
    });
    &BROKEN
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
    run(&mut compiler, 5 * HANG).assert_success();
}
