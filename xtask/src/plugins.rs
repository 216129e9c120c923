//! `cargo xtask plugins`: the plugin for MPI. It is a workspace of its own, because only it needs MPI's headers and libclang.

use crate::run;
use crate::setup::{Purpose, system};
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;

/// The plugin's file, which the library looks for beside itself.
pub(crate) const FILE: &str = "libnvshmemrs_mpi.so";

/// Builds the plugin for the MPI whose compiler `mpicc` is, and puts it beside the library.
pub(crate) fn plugins(tree: &Tree) -> Result<()> {
    system::packages(Purpose::Plugins)?;
    build(tree)?;
    println!("made {}", tree.short(&tree.release().join(FILE)));
    Ok(())
}

/// Builds the plugin with what is there.
pub(crate) fn build(tree: &Tree) -> Result<()> {
    run::run(cargo(tree, "build").arg("--release"))?;
    let (made, place) = (tree.plugins().join("release").join(FILE), tree.release());
    // A process that has the old one open keeps it.
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
