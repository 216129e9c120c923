//! `cargo xtask plugins`: the plugin for MPI. It is a workspace of its own, because only it needs MPI's headers and libclang.

use crate::run;
use crate::setup::{Purpose, system};
use crate::tree::Tree;
use anyhow::{Context, Result};
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
