//! The main example on real data: `examples/python/landscape.py` on four PEs.

use crate::run;
use crate::setup::{self, Purpose};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Sets up, builds, runs the example and prints the path of its picture.
pub(crate) fn demo(tree: &Tree, out: &Path) -> Result<()> {
    setup::all(tree, Purpose::Demo)?;
    // Relative to the user's folder, not to the root, where the example runs.
    let out = std::path::absolute(out).with_context(|| format!("not a path: {}", out.display()))?;
    let picture = out.join("landscape-jacksboro.png");
    let mut command = tree.launch(4);
    command
        .arg(tree.python())
        .arg("examples/python/landscape.py")
        .arg("--out")
        .arg(&out);
    run::run(&mut command)?;
    if !picture.exists() {
        bail!(
            "{} ended well but left no {}",
            run::line(&command),
            picture.display()
        );
    }
    println!("\nThe picture is {}", tree.short(&picture));
    Ok(())
}
