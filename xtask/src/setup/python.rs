//! The virtual environment `.venv`: pinned packages, and the nvshmemrs wheel.

use super::{Purpose, done, fingerprint, is_done, print_step};
use crate::bundle::empty;
use crate::install::layout::Layout;
use crate::tree::Tree;
use crate::{run, wheel};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `.venv` and installs the pinned packages for `purpose`.
pub(crate) fn packages(tree: &Tree, purpose: Purpose) -> Result<()> {
    let name = match purpose {
        Purpose::Bench | Purpose::Plugins => "requirements.txt",
        Purpose::Demo => "requirements-demo.txt",
        Purpose::Site => "requirements-site.txt",
        Purpose::Test => "requirements-test.txt",
        Purpose::Wheel => "requirements-wheel.txt",
    };
    if !run::works(Command::new(tree.python()).args(["-m", "pip", "--version"])) {
        print_step("making .venv");
        run::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(tree.venv()),
        )?;
    }
    if matches!(purpose, Purpose::Test) {
        nvcc(tree)?;
    }
    // The longer files include the shorter ones, so a hash over all of them detects any change.
    let files = [
        "requirements.txt",
        "requirements-demo.txt",
        "requirements-site.txt",
        "requirements-test.txt",
        "requirements-wheel.txt",
    ];
    let print = fingerprint("", &files.map(|file| tree.root.join(file)))?;
    let stamp = tree.venv().join(name).with_extension("stamp");
    if is_done(&stamp, &print) {
        return Ok(());
    }
    print_step(&format!("installing {name} into .venv"));
    run::run(wheel::pip(tree, "install").args(["--requirement", name]))?;
    done(&stamp, &print)
}

/// Installs nvcc, in a folder of its own.
fn nvcc(tree: &Tree) -> Result<()> {
    let name = "requirements-nvcc.txt";
    let folder = tree.venv().join("nvcc");
    let print = fingerprint("", &[tree.root.join(name)])?;
    let stamp = folder.join("stamp");
    if is_done(&stamp, &print) {
        return Ok(());
    }
    print_step("installing nvcc into .venv/nvcc");
    empty(&folder)?;
    let mut command = wheel::pip(tree, "install");
    command.args(["--no-deps", "--requirement", name, "--target"]);
    run::run(command.arg(&folder))?;
    done(&stamp, &print)
}

/// Builds the wheel of `bindings/python` around the library just built and installs it into `.venv`, unless the same wheel is
/// installed.
pub(crate) fn wheel(tree: &Tree) -> Result<()> {
    let package = tree.root.join("bindings/python");
    let mut files = vec![
        tree.library(),
        tree.launcher(),
        tree.release().join("nvshmemrs-info"),
        tree.release().join("nvshmemrs-top"),
        tree.release().join("nvshmemrs-perf"),
        tree.release().join("libnvshmemrs_shmem.so"),
        tree.release().join("libnvshmemrs_jax.so"),
        tree.root.join("Cargo.toml"),
        tree.root.join("packaging/files.json"),
        package.join("pyproject.toml"),
    ];
    for (header, _) in Layout::read(tree)?.headers(tree)? {
        files.push(header);
    }
    let bitcode = tree.images().join(crate::bitcode::FILE);
    files.extend(Some(bitcode).filter(|file| file.exists()));
    for extra in ["hatch_build.py", "README.md"] {
        files.extend(Some(package.join(extra)).filter(|file| file.exists()));
    }
    for folder in ["src", "extension"] {
        sources(&package.join(folder), &mut files)?;
    }
    files.sort();
    let print = fingerprint("", &files)?;
    let stamp = tree.venv().join("wheel.stamp");
    // The build folder may have been emptied since.
    if is_done(&stamp, &print) && wheel_folder(tree)?.is_dir() {
        return Ok(());
    }
    print_step("installing nvshmemrs into .venv");
    let out = wheel_folder(tree)?;
    empty(&out)?;
    let made = wheel::make(tree, &tree.release(), &out)?;
    run::run(
        wheel::pip(tree, "install")
            .args(["--no-deps", "--no-index", "--force-reinstall"])
            .arg(made),
    )?;
    done(&stamp, &print)
}

/// The folder with the wheel that is installed in `.venv`.
pub(crate) fn wheel_folder(tree: &Tree) -> Result<PathBuf> {
    Ok(tree.scratch("wheel")?.join("own"))
}

/// The source files of the package below `folder`: no libraries, no byte code.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let made = path
            .file_name()
            .is_some_and(|name| name == "__pycache__" || name == "lib" || name == "include")
            || path
                .extension()
                .is_some_and(|extension| extension == "egg-info");
        if made {
            continue;
        }
        if path.is_dir() {
            sources(&path, into)?
        } else {
            into.push(path)
        }
    }
    Ok(())
}
