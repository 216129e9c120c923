//! The landscape example in six languages at a small size, the tutorial, and the examples in two languages. Each program checks
//! its result against a single-process run; here the results are compared between languages.

use crate::tree::Tree;
use crate::{build_only, run, show};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

const N_PES: u32 = 4;
const STEPS: &str = "50";

/// Runs `examples/python/landscape.py` with its picture. Returns the fingerprint of the result.
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

/// Runs `core/examples/landscape.rs`, whose fingerprint must be `expected`.
pub(super) fn rust(tree: &Tree, expected: Option<&str>) -> Result<()> {
    build_only(tree, &["--example=landscape"])?;
    native(tree, tree.release().join("examples/landscape"), expected)
}

/// Runs `examples/julia/landscape.jl`, whose fingerprint must be `expected`.
pub(super) fn julia(tree: &Tree, expected: Option<&str>) -> Result<()> {
    let mut command = tree.with_contract(tree.launch(N_PES));
    command
        .arg(tree.julia())
        .args(["--startup-file=no", "--project=bindings/julia"])
        .arg("examples/julia/landscape.jl")
        .args([map(tree)?.as_os_str(), STEPS.as_ref()]);
    compare(&fingerprint(&mut command)?, expected)
}

/// Runs `examples/c/landscape.c`, whose fingerprint must be `expected`.
pub(super) fn c(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/c", expected)
}

/// Runs `examples/c/landscape.c`, which [`c`] has built, on two simulated hosts; its fingerprint must be `expected`.
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

/// Runs `examples/cpp/landscape.cpp`, whose fingerprint must be `expected`.
pub(super) fn cxx(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/cpp", expected)
}

/// Runs `examples/fortran/landscape.f90`, whose fingerprint must be `expected`.
pub(super) fn fortran(tree: &Tree, expected: Option<&str>) -> Result<()> {
    landscape(tree, "examples/fortran", expected)
}

/// Builds and runs the landscape in a folder with a Makefile.
fn landscape(tree: &Tree, folder: &str, expected: Option<&str>) -> Result<()> {
    native(tree, made(tree, folder, "landscape")?, expected)
}

/// Sample sort in Python and C.
pub(super) fn sample_sort(tree: &Tree) -> Result<()> {
    let mut c = tree.launch(N_PES);
    c.arg(made(tree, "examples/c", "sample_sort")?)
        .arg("200000");
    in_two_languages(tree, "sample_sort", &["--keys", "200000"], c)
}

/// PageRank in Python and Rust: on the graph of Debian's packages if apt has their lists, else on a generated graph, as a line
/// reports.
pub(super) fn pagerank(tree: &Tree) -> Result<()> {
    build_only(tree, &["--example=pagerank"])?;
    let file = tree.scratch("pagerank")?.join("graph");
    let export = |graph| {
        let mut command = tree.command(tree.python());
        command.args(["examples/python/pagerank.py", "--graph", graph, "--export"]);
        run::run(command.arg(&file))
    };
    if let Err(error) = export("debian") {
        show::line(format_args!(
            "pagerank: {error:#}; a generated graph takes the place of Debian's packages"
        ));
        export("generated")?;
    }
    let mut rust = tree.launch(N_PES);
    rust.arg(tree.release().join("examples/pagerank"))
        .arg(&file);
    let graph = file.to_string_lossy();
    in_two_languages(tree, "pagerank", &["--graph", &graph], rust)
}

/// The distributed FFT in Python and Fortran.
pub(super) fn fft(tree: &Tree) -> Result<()> {
    let mut fortran = tree.launch(N_PES);
    fortran
        .arg(made(tree, "examples/fortran", "fft")?)
        .arg("256");
    in_two_languages(tree, "fft", &["--size", "256"], fortran)
}

/// Work stealing in Python and C++.
pub(super) fn mandelbrot(tree: &Tree) -> Result<()> {
    let mut cxx = tree.launch(N_PES);
    cxx.arg(made(tree, "examples/cpp", "mandelbrot")?).arg("90");
    in_two_languages(tree, "mandelbrot", &["--height", "90"], cxx)
}

/// Conjugate gradient in Python and Julia.
pub(super) fn conjugate_gradient(tree: &Tree) -> Result<()> {
    let mut julia = tree.with_contract(tree.launch(N_PES));
    julia
        .arg(tree.julia())
        .args(["--startup-file=no", "--project=bindings/julia"])
        .args(["examples/julia/conjugate_gradient.jl", "64"]);
    in_two_languages(tree, "conjugate_gradient", &["--size", "64"], julia)
}

/// Runs an example in Python and in another language, which must print the same result.
fn in_two_languages(tree: &Tree, name: &str, arguments: &[&str], mut other: Command) -> Result<()> {
    let mut python = tree.launch(N_PES);
    python
        .arg(tree.python())
        .arg(format!("examples/python/{name}.py"))
        .args(arguments);
    let expected = printed(&mut python, "result: ")?;
    compare(&printed(&mut other, "result: ")?, Some(&expected))
}

/// Builds a program in a folder with a Makefile.
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
        Some(expected) => bail!("the result is {found}, and {expected} in Python"),
        None => bail!("the Python example gave no fingerprint to compare with"),
    }
}

/// The elevation model in the format of the programs in other languages than Python.
fn map(tree: &Tree) -> Result<PathBuf> {
    let file = tree.scratch("landscape")?.join("jacksboro.raw");
    let mut command = tree.command(tree.python());
    command
        .args(["examples/python/landscape.py", "--export"])
        .arg(&file);
    run::run(&mut command)?;
    Ok(file)
}

/// Runs `command`, which must succeed, and returns the fingerprint that it prints.
fn fingerprint(command: &mut Command) -> Result<String> {
    printed(command, "fingerprint: ")
}

/// Runs `command`, which must succeed, and returns the rest of the line that begins with `label`.
fn printed(command: &mut Command, label: &str) -> Result<String> {
    let shown = run::tee(command, run::LIMIT)?;
    shown.outcome?;
    let mut lines = shown.text.lines();
    let found = lines.find_map(|line| line.strip_prefix(label));
    found
        .map(str::to_owned)
        .with_context(|| format!("{} printed no line \"{label}\"", run::line(command)))
}
