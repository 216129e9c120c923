//! `cargo xtask bench`: builds `nvshmemrs-perf` and runs it.

use crate::run;
use crate::setup::{self, Purpose};
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;

/// Measures what has a target beside OSHMEM, prints the tables, and writes the figures to `json` if asked. Missing a
/// target is no failure.
pub(crate) fn peers(tree: &Tree, quick: bool, json: Option<&Path>) -> Result<()> {
    setup::all(tree, Purpose::Bench)?;
    let mut perf = tree.command(tree.release().join("nvshmemrs-perf"));
    perf.args(["--peer", "oshmem", "--targets", "--python"])
        .arg(tree.python());
    if quick {
        perf.arg("--quick");
    }
    if let Some(file) = json {
        // The command runs at the root; the user meant the folder that they are in.
        perf.arg("--json").arg(std::path::absolute(file)?);
    }
    run::run(&mut perf)
}
