//! The landscape example in its six languages, in small, and the tutorial. Each checks its result against a single-process run of
//! its own; here the results of the landscape are compared, bit for bit.

use crate::tree::Tree;
use crate::{build_only, run};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

const N_PES: u32 = 4;
const STEPS: &str = "50";

/// `examples/python/landscape.py`, with its picture. Gives the fingerprint of the result.
pub(super) fn python(tree: &Tree) -> Result<String> {
    let out = tree.scratch("landscape")?;
    let picture = out.join("landscape-jacksboro.png");
    if picture.exists() {
        std::fs::remove_file(&picture)?;
    }
    let mut command = tree.launch(N_PES);
    command
        .arg(tree.python())
        .args(["examples/python/landscape.py", "--steps", STEPS, "--out"])
        .arg(out);
    let fingerprint = fingerprint(&mut command)?;
    ensure!(
        picture.exists(),
        "there is no picture {}",
        picture.display()
    );
    Ok(fingerprint)
}

/// `examples/python/tutorial.py`, which checks its own results, with its pictures.
pub(super) fn tutorial(tree: &Tree) -> Result<()> {
    let folder = tree.scratch("tutorial")?;
    let pictures = ["teams", "heap", "ring"].map(|name| folder.join(name).with_extension("png"));
    for n_pes in [1, 2, N_PES] {
        for picture in pictures.iter().filter(|picture| picture.exists()) {
            std::fs::remove_file(picture)?;
        }
        let mut command = tree.launch(n_pes);
        command
            .arg(tree.python())
            .args(["examples/python/tutorial.py", "--pictures"])
            .arg(&folder);
        let shown = run::tee(&mut command, run::LIMIT)?;
        shown.outcome?;
        ensure!(
            shown.text.contains("every check passed"),
            "with {n_pes} PEs the tutorial did not come to its end"
        );
        for picture in &pictures {
            ensure!(picture.exists(), "there is no {}", picture.display());
        }
    }
    Ok(())
}

/// `core/examples/landscape.rs`, which must come to `expected`.
pub(super) fn rust(tree: &Tree, expected: Option<&str>) -> Result<()> {
    build_only(tree, &["--example=landscape"])?;
    native(tree, tree.release().join("examples/landscape"), expected)
}

/// `examples/julia/landscape.jl`, which must come to `expected`.
pub(super) fn julia(tree: &Tree, expected: Option<&str>) -> Result<()> {
    let mut command = tree.with_contract(tree.launch(N_PES));
    command
        .arg(tree.julia())
        .args(["--startup-file=no", "--project=bindings/julia"])
        .arg("examples/julia/landscape.jl")
        .args([map(tree)?.as_os_str(), STEPS.as_ref()]);
    compare(&fingerprint(&mut command)?, expected)
}

/// `examples/c/landscape.c`, which must come to `expected`.
pub(super) fn c(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/c", expected)
}

/// `examples/c/landscape.c`, which [`c`] has built, on two hosts that this machine plays; it must come to `expected`.
pub(super) fn two_hosts(tree: &Tree, expected: Option<&str>) -> Result<()> {
    let (program, map) = (tree.root.join("examples/c/landscape"), map(tree)?);
    let mut command = tree.with_contract(tree.command("mpirun"));
    command.args(["--allow-run-as-root", "--oversubscribe"]);
    for (index, host) in ["a", "b"].into_iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        let pes = (N_PES / 2).to_string();
        command.args(["-n", &pes, "-x", &format!("NVSHMEMRS_HOST_ID={host}")]);
        command.arg(&program).arg(&map).arg(STEPS);
    }
    compare(&fingerprint(&mut command)?, expected)
}

/// `examples/cpp/landscape.cpp`, which must come to `expected`.
pub(super) fn cxx(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/cpp", expected)
}

/// `examples/fortran/landscape.f90`, which must come to `expected`.
pub(super) fn fortran(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/fortran", expected)
}

/// The landscape in a folder with a Makefile.
fn landscape(tree: &Tree, folder: &str, expected: Option<&str>) -> Result<()> {
    native(tree, made(tree, folder, "landscape")?, expected)
}

/// Makes a program in a folder with a Makefile.
pub(super) fn made(tree: &Tree, folder: &str, program: &str) -> Result<PathBuf> {
    let folder = tree.root.join(folder);
    let library = format!("LIBDIR={}", tree.release().display());
    run::run(tree.command("make").arg("-C").arg(&folder).args([
        "--always-make",
        &library,
        program,
    ]))?;
    Ok(folder.join(program))
}

fn native(tree: &Tree, program: PathBuf, expected: Option<&str>) -> Result<()> {
    let found = fingerprint(tree.launch(N_PES).arg(program).arg(map(tree)?).arg(STEPS))?;
    compare(&found, expected)
}

fn compare(found: &str, expected: Option<&str>) -> Result<()> {
    match expected {
        Some(expected) if found == expected => Ok(()),
        Some(expected) => bail!("the fingerprint is {found}, and {expected} in Python"),
        None => bail!("the Python example gave no fingerprint to compare with"),
    }
}

/// The elevation model as the programs in other languages than Python read it.
fn map(tree: &Tree) -> Result<PathBuf> {
    let file = tree.scratch("landscape")?.join("jacksboro.raw");
    let mut command = tree.command(tree.python());
    command
        .args(["examples/python/landscape.py", "--export"])
        .arg(&file);
    run::run(&mut command)?;
    Ok(file)
}

/// Runs `command`, which must succeed, and gives the fingerprint that it prints.
fn fingerprint(command: &mut Command) -> Result<String> {
    let shown = run::tee(command, run::LIMIT)?;
    shown.outcome?;
    shown
        .text
        .lines()
        .find_map(|line| line.strip_prefix("fingerprint: "))
        .map(str::to_owned)
        .with_context(|| format!("{} printed no fingerprint", run::line(command)))
}
