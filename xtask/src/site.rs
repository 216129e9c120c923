//! The documentation site: the pages below `docs`, the README of each language, and reference pages generated from the sources.

use crate::setup::{Purpose, python, system};
use crate::tree::Tree;
use crate::{build_only, run};
use anyhow::{Context, Result};
use std::fs;

/// Installs the requirements of the site, and builds it.
pub(crate) fn site(tree: &Tree) -> Result<()> {
    system::packages(Purpose::Site)?;
    python::packages(tree, Purpose::Site)?;
    build_only(tree, &["--bin=nvshmemrs-generator"])?;
    make(tree)
}

/// Builds the site with the installed packages. A warning of Sphinx, a broken link, and an operation or a status without a page
/// are errors.
pub(crate) fn make(tree: &Tree) -> Result<()> {
    let generator = tree.release().join("nvshmemrs-generator");
    // Fortran's names and arguments are in modules that are not committed.
    run::run(tree.command(&generator).arg("fortran"))?;
    let model = tree.scratch("site")?.join("reference.json");
    let printed = run::output(tree.command(&generator).arg("reference"))?;
    fs::write(&model, printed).with_context(|| format!("cannot write {}", model.display()))?;
    let mut command = tree.command(tree.python());
    command.args(["-B", "docs/site/build.py"]);
    run::run(command.args([&tree.root, &model, &tree.site()]))
}
