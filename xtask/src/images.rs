//! `cargo xtask images`: compiles the GPU kernels for every shipped architecture, with NVRTC from PyPI, and the header for
//! kernels to bitcode. No GPU is needed.

use crate::setup::{Purpose, python};
use crate::tree::Tree;
use crate::{bitcode, build_only, run};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;

/// The requirements file, with the one package at a fixed version.
const REQUIREMENTS: &str = "requirements-images.txt";

/// Creates the missing images beside the library, where it looks for them.
pub(crate) fn images(tree: &Tree) -> Result<()> {
    let nvrtc = nvrtc(tree)?;
    build_only(tree, &["--example=kernel_images"])?;
    let mut make = tree.command(tree.release().join("examples/kernel_images"));
    make.arg(nvrtc).arg(tree.images());
    run::run(&mut make)?;
    bitcode::bitcode(tree)
}

/// The path of NVRTC's library in `.venv`, where it is installed if this version is missing.
fn nvrtc(tree: &Tree) -> Result<PathBuf> {
    python::packages(tree, Purpose::Bench)?;
    let text = fs::read_to_string(tree.root.join(REQUIREMENTS))
        .with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let line = text.lines().find(|line| line.contains("=="));
    let line = line.with_context(|| format!("{REQUIREMENTS} names no version"))?;
    let info = line.replace('-', "_").replace("==", "-") + ".dist-info";
    let packages = run::output(tree.command(tree.python()).args([
        "-c",
        "import sysconfig; print(sysconfig.get_path('platlib'), end='')",
    ]))?;
    let packages = PathBuf::from(packages);
    if !packages.join(&info).exists() {
        eprintln!("setup: installing {REQUIREMENTS} into .venv");
        let mut pip = tree.command(tree.python());
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        pip.args(["--requirement", REQUIREMENTS]);
        run::run(pip.env("PIP_ROOT_USER_ACTION", "ignore"))?;
    }
    let library = packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    ensure!(
        library.exists(),
        "{line} has brought no {}",
        library.display()
    );
    Ok(library)
}
