//! `cargo xtask bundle`: a folder `dist/` that runs on GPU nodes without Rust: library, programs, Python package, kernel images,
//! tests. It refers to no path outside, so it can be copied anywhere. Its programs need this machine's processor architecture,
//! and a glibc that is not older.

pub(crate) mod content;

use crate::setup::{Purpose, python};
use crate::tree::Tree;
use crate::{build_only, images, run, wheel};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::io::Read;
use std::num::NonZero;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The limit for compiling the kernels of numba-cuda-mlir.
const COMPILING: Duration = Duration::from_secs(3600);

/// The maximum size of a bundle in bytes: some nodes have a slow connection.
const MOST: u64 = 76 << 20;

/// The number of this machine in an ELF header.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};

/// The parts that can be omitted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out the kernels of numba-cuda-mlir, which take over 20 minutes of processor time to compile at first
    #[arg(long)]
    without_numba_mlir: bool,
}

/// Creates `dist/`, replacing an existing one.
pub(crate) fn bundle(tree: &Tree, args: &Args) -> Result<()> {
    build_only(tree, &["--lib", "--bins", "--example=landscape"])?;
    images::images(tree)?;

    let dist = tree.root.join("dist");
    let made = tree.scratch("bundle")?.join("dist");
    empty(&made)?;
    content::natives(tree, &made)?;
    content::images(tree, &made)?;
    wheel(tree, &made)?;
    content::texts(tree, &made)?;
    cute(tree, &made)?;
    if !args.without_numba_mlir {
        numba_mlir(tree, &made)?;
    }
    c_programs(tree, &made)?;
    for file in files(&made)? {
        strip(&file)?;
    }
    works(&made)?;

    let bytes = weight(&made)?;
    ensure!(
        bytes <= MOST,
        "the bundle has {bytes} bytes, {} more than it may have",
        bytes - MOST
    );
    if dist.exists() {
        fs::remove_dir_all(&dist).context("cannot remove the old dist")?;
    }
    // `cp`, because a rename does not cross file systems and the build folder may be on another one.
    run::run(Command::new("cp").arg("-a").args([&made, &dist]))?;
    println!(
        "{} has {:.1} MiB; on a machine with GPUs: dist/run-gpu-tests, dist/run-gpu-bench",
        tree.short(&dist),
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// Builds the wheel from the bundled files and unpacks it, so that `PYTHONPATH=dist/python` works without pip. The wheel itself
/// would contain the library a second time; `cargo xtask wheel` makes one.
fn wheel(tree: &Tree, dist: &Path) -> Result<()> {
    python::packages(tree, Purpose::Bench)?;
    let out = tree.scratch("bundle")?.join("wheel");
    empty(&out)?;
    let wheel = wheel::make(tree, &tree.release(), &out)?;
    let mut unpack = tree.command(tree.python());
    let python = dist.join("python");
    unpack.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&python);
    run::run(&mut unpack)?;
    // Libraries, headers, programs and images are in the bundle already.
    let scripts = files(&python)?
        .into_iter()
        .find(|file| file.ends_with("scripts/nvshmemrs-run"));
    for folder in scripts.iter().filter_map(|file| file.parent()) {
        fs::remove_dir_all(folder)?;
    }
    for folder in ["lib", "include"] {
        let inside = python.join("nvshmemrs").join(folder);
        fs::remove_dir_all(&inside)?;
        symlink(format!("../../{folder}"), inside).context("cannot link the package's files")?;
    }
    Ok(())
}

/// Compiles the kernels of CuTe, because GPU nodes lack its compiler.
fn cute(tree: &Tree, dist: &Path) -> Result<()> {
    python::packages(tree, Purpose::Test)?;
    for program in [
        "bindings/python/tests/cute/build.py",
        "bindings/python/tests/cute/names_build.py",
        "examples/cute/ring_build.py",
    ] {
        let mut build = tree.command(tree.python());
        build.args(["-W", "ignore"]).arg(tree.root.join(program));
        build.arg(dist.join("share/nvshmemrs/cute"));
        build.env("PYTHONPATH", dist.join("python"));
        // CuTe writes files to its working folder.
        build.current_dir(tree.scratch("cute")?);
        run::run(&mut build)?;
    }
    Ok(())
}

/// Compiles the kernels of numba-cuda-mlir, which is too large for some GPU nodes. That takes over twenty minutes of processor
/// time, so kernels of unchanged sources are kept in the build folder.
fn numba_mlir(tree: &Tree, dist: &Path) -> Result<()> {
    let kept = tree.scratch("numba-mlir")?;
    let program = "bindings/python/tests/programs/numba_mlir_build.py";
    let mut build = tree.command(tree.python());
    build.args(["-W", "ignore"]).arg(tree.root.join(program));
    build.arg(&kept).env("PYTHONPATH", dist.join("python"));
    let jobs = thread::available_parallelism().map_or(1, NonZero::get);
    build.args(["--jobs", &jobs.to_string()]);
    println!(
        "kernels of numba-cuda-mlir: over 20 minutes of processor time at first; they are kept in {}",
        tree.short(&kept)
    );
    run::run_within(&mut build, COMPILING)?;
    for file in files(&kept)? {
        let name = file.file_name().context("a file without a name")?;
        // The text form of a kernel is for tests on this machine.
        if file.extension().is_some_and(|end| end == "cubin") || name == "kernels.json" {
            content::copy(&file, &dist.join("share/nvshmemrs/numba-mlir").join(name))?;
        }
    }
    Ok(())
}

/// Compiles the programs in C against the bundle's own header and library.
fn c_programs(tree: &Tree, dist: &Path) -> Result<()> {
    for (program, sources) in content::C_PROGRAMS {
        let mut compiler = tree.command("cc");
        compiler.args([
            "-std=c11",
            // The results of the examples are compared bit by bit.
            "-ffp-contract=off",
            "-D_GNU_SOURCE",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
        ]);
        compiler.arg(dist.join("include")).args(sources);
        compiler.arg("-o").arg(dist.join(program));
        compiler.arg("-L").arg(dist.join("lib"));
        compiler.args([
            "-lnvshmemrs",
            "-Wl,-rpath,$ORIGIN/../lib",
            "-pthread",
            "-lm",
            "-ldl",
        ]);
        run::run(&mut compiler)?;
    }
    Ok(())
}

/// Removes debug information, if the file is a program or a library of this machine.
pub(crate) fn strip(file: &Path) -> Result<()> {
    if is_own_elf(file)? {
        run::run(Command::new("strip").arg("--strip-unneeded").arg(file))?;
    }
    Ok(())
}

/// Whether it is a program, a library or an object file of this machine. Kernels for GPUs are ELF files, too.
fn is_own_elf(file: &Path) -> Result<bool> {
    let mut start = Vec::new();
    fs::File::open(file)
        .and_then(|opened| opened.take(20).read_to_end(&mut start))
        .with_context(|| format!("cannot read {}", file.display()))?;
    let is_own = start.get(18..20) == Some(&MACHINE.to_le_bytes());
    Ok(start.starts_with(b"\x7fELF") && is_own)
}

/// Checks that the bundled programs start, without files of the checkout.
fn works(dist: &Path) -> Result<()> {
    let bundled = |program: &str| {
        let mut command = Command::new(dist.join(program));
        command
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command
    };
    for (program, scenario) in [("tests/conformance", "ring"), ("tests/ring-c", "")] {
        let mut launch = bundled("bin/nvshmemrs-run");
        launch.args(["-n", "2", "--"]).arg(dist.join(program));
        let said = run::output(launch.arg(scenario))?;
        ensure!(
            said.matches("ring ok").count() == 2,
            "{program} says {said:?}"
        );
    }
    run::output(bundled("bin/nvshmemrs-info").arg("--help"))?;
    for script in ["run-gpu-tests", "run-gpu-bench"] {
        run::output(bundled(script).arg("--help"))?;
    }
    Ok(())
}

pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// All files below `folder`; links are not followed.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            all.append(&mut files(&entry.path())?);
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
    Ok(all)
}

fn weight(folder: &Path) -> Result<u64> {
    let sizes = files(folder)?
        .into_iter()
        .map(|file| Ok(fs::metadata(file)?.len()));
    sizes.sum()
}

/// Makes a file executable for all users.
pub(crate) fn executable(file: &Path) -> Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", file.display()))
}
