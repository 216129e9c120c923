//! Installs the requirements of a command. Installed requirements are not changed, so a second run needs no network; outside the
//! checkout only Debian packages are installed, and only as root.

mod debian;
pub(crate) mod julia;
pub(crate) mod python;
pub(crate) mod system;
pub(crate) mod torch;

use crate::plugins;
use crate::tree::Tree;
use anyhow::{Context, Result};
use clap::ValueEnum;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The command that the machine is prepared for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// `cargo xtask demo`
    Demo,
    /// `cargo xtask site`
    Site,
    /// `cargo xtask test`
    Test,
    /// `cargo xtask bench`
    Bench,
    /// `cargo xtask wheel`
    Wheel,
    /// `cargo xtask plugins`
    Plugins,
}

/// Prepares for `purpose`.
pub(crate) fn all(tree: &Tree, purpose: Purpose) -> Result<()> {
    system::packages(purpose)?;
    system::rust_components(purpose)?;
    if purpose == Purpose::Plugins {
        return plugins::build(tree);
    }
    if purpose == Purpose::Test {
        julia::install(tree)?;
        torch::install(tree)?;
    }
    python::packages(tree, purpose)?;
    // The default members: library, launcher, and the parts of the wheel.
    crate::run::run(tree.cargo().args(["build", "--release"]))?;
    python::wheel(tree)
}

/// A hash over the contents of `files` and over `text`, to detect changes.
fn fingerprint(text: &str, files: &[PathBuf]) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(text);
    for file in files {
        let contents = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        hash.update(file.as_os_str().as_encoded_bytes());
        hash.update(contents.len().to_le_bytes());
        hash.update(contents);
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Whether `stamp` records that the work described by `fingerprint` was done.
fn is_done(stamp: &Path, fingerprint: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|text| text == fingerprint)
}

/// Records in `stamp` that the work described by `fingerprint` is done.
fn done(stamp: &Path, fingerprint: &str) -> Result<()> {
    fs::write(stamp, fingerprint).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Announces a step that takes a while.
pub(crate) fn print_step(what: &str) {
    eprintln!("setup: {what}");
}
