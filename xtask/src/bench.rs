//! `cargo xtask bench`: builds `nvshmemrs-perf` and runs it.

use crate::run;
use crate::setup::{self, Purpose};
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;

/// Measures all operations with targets beside OSHMEM, prints the tables, and writes the figures to `json` if requested. A missed
/// target is not a failure.
pub(crate) fn peers(tree: &Tree, quick: bool, json: Option<&Path>) -> Result<()> {
    setup::all(tree, Purpose::Bench)?;
    let mut perf = tree.command(tree.release().join("nvshmemrs-perf"));
    perf.args(["--peer", "oshmem", "--targets", "--python"])
        .arg(tree.python());
    if quick {
        perf.arg("--quick");
    }
    if let Some(file) = json {
        // The command runs at the root of the checkout; the path is relative to the user's folder.
        perf.arg("--json").arg(std::path::absolute(file)?);
    }
    run::run(&mut perf)
}
