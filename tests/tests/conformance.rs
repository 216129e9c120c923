//! The conformance programs: the same scenario in every language, under `nvshmemrs-run`. A program checks everything itself and
//! prints one line on each PE when all is well.

use nvshmemrs_tests::{
    HANG, Output, bin_dir, compile_c, compile_cxx, compile_fortran, launcher, library, run,
    workspace,
};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Julia compiles as it goes, on every PE, and the machine may have few cores.
const SLOW: Duration = Duration::from_secs(240);

/// How many PEs a scenario runs with.
const RING: [u32; 4] = [1, 2, 3, 4];
/// A mismatch takes two; programs that can do without say so by running with one.
const MISUSE: [u32; 2] = [2, 3];
const MISUSE_ALONE: [u32; 3] = [1, 2, 3];

/// Runs a program with each number of PEs; each PE must print its line once, and nothing else must be said.
#[track_caller]
fn conforms(scenario: &str, language: &str, counts: &[u32], words: &[OsString]) {
    for &n_pes in counts {
        let mut command = launcher(n_pes, &[]);
        command
            .args(words)
            .env("NVSHMEMRS_LIBRARY", library())
            .stdin(Stdio::null());
        let output = run(&mut command, SLOW);
        output.assert_success();
        assert_every_pe(&output, scenario, language, n_pes);
    }
}

#[track_caller]
fn assert_every_pe(output: &Output, scenario: &str, language: &str, n_pes: u32) {
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..n_pes)
        .map(|pe| format!("{scenario} ok PE {pe} of {n_pes} ({language})"))
        .collect();
    assert_eq!(lines, expected, "{}", output.describe());
    assert_eq!(output.stderr, "", "{}", output.describe());
}

#[track_caller]
fn source(scenario: &str, extension: &str) -> PathBuf {
    let file = workspace().join(format!("tests/conformance/{scenario}.{extension}"));
    assert!(
        file.is_file(),
        "the conformance program {} is missing",
        file.display()
    );
    file
}

/// An interpreter: what the variable names, else its place in the checkout.
#[track_caller]
fn interpreter(variable: &str, place: &str, name: &str) -> OsString {
    let file = env::var_os(variable).unwrap_or_else(|| workspace().join(place).into());
    assert!(
        Path::new(&file).is_file(),
        "{name} is missing: {} is no file. `cargo xtask test` sets it up; {variable} names another one",
        Path::new(&file).display()
    );
    file
}

fn python(scenario: &str) -> Vec<OsString> {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    vec![python, source(scenario, "py").into()]
}

fn julia(scenario: &str) -> Vec<OsString> {
    let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
    vec![
        julia,
        "--startup-file=no".into(),
        source(scenario, "jl").into(),
    ]
}

#[test]
fn ring_in_c() {
    conforms(
        "ring",
        "C",
        &RING,
        &[compile_c(&source("ring", "c")).into()],
    );
}

#[test]
fn misuse_in_c() {
    let program = compile_c(&source("misuse", "c"));
    conforms("misuse", "C", &MISUSE, &[program.into()]);
}

#[test]
fn ring_in_cxx() {
    let program = compile_cxx(&source("ring", "cpp"));
    conforms("ring", "C++", &RING, &[program.into()]);
}

#[test]
fn misuse_in_cxx() {
    let program = compile_cxx(&source("misuse", "cpp"));
    conforms("misuse", "C++", &MISUSE, &[program.into()]);
}

#[test]
fn ring_in_fortran() {
    let program = compile_fortran(&source("ring", "f90"));
    conforms("ring", "Fortran", &RING, &[program.into()]);
}

#[test]
fn misuse_in_fortran() {
    let program = compile_fortran(&source("misuse", "f90"));
    conforms("misuse", "Fortran", &MISUSE, &[program.into()]);
}

#[test]
fn ring_in_julia() {
    conforms("ring", "Julia", &RING, &julia("ring"));
}

#[test]
fn misuse_in_julia() {
    conforms("misuse", "Julia", &MISUSE, &julia("misuse"));
}

#[test]
fn ring_in_python() {
    conforms("ring", "Python", &RING, &python("ring"));
}

#[test]
fn misuse_in_python() {
    conforms("misuse", "Python", &MISUSE_ALONE, &python("misuse"));
}

#[test]
fn ring_in_rust() {
    let program = env!("CARGO_BIN_EXE_conformance-ring");
    conforms("ring", "Rust", &RING, &[program.into()]);
}

#[test]
fn misuse_in_rust() {
    let program = env!("CARGO_BIN_EXE_conformance-misuse");
    conforms("misuse", "Rust", &MISUSE_ALONE, &[program.into()]);
}

#[test]
fn ring_with_the_static_library() {
    let archive = library().with_extension("a");
    assert!(
        archive.is_file(),
        "{} is missing: `cargo xtask test` builds it",
        archive.display()
    );
    let folder = bin_dir().join("nvshmemrs-tests");
    fs::create_dir_all(&folder).expect("a folder for programs");
    let program = folder.join("ring-c-static");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-I").arg(workspace().join("include"));
    compiler.arg(source("ring", "c")).arg(archive);
    compiler
        .args(["-lm", "-ldl", "-pthread", "-o"])
        .arg(&program);
    run(&mut compiler, HANG).assert_success();

    let needed = run(Command::new("ldd").arg(&program), HANG);
    needed.assert_success();
    assert!(!needed.stdout.contains("nvshmem"), "{}", needed.describe());
    conforms("ring", "C", &RING, &[program.into()]);
}

/// All scenarios exist in all languages, and each has its tests above.
#[test]
fn every_scenario_exists_in_every_language() {
    let folder = workspace().join("tests/conformance");
    let entries = fs::read_dir(&folder).expect("the conformance programs");
    let files: BTreeSet<(String, String)> = entries
        .map(|entry| entry.expect("a conformance program").path())
        .filter_map(|path| {
            let part = |part: Option<&std::ffi::OsStr>| Some(part?.to_string_lossy().into_owned());
            Some((part(path.file_stem())?, part(path.extension())?))
        })
        .collect();
    let expected = ["ring", "misuse"].into_iter().flat_map(|scenario| {
        ["c", "cpp", "f90", "jl", "py", "rs"]
            .map(|extension| (scenario.to_string(), extension.to_string()))
    });
    assert_eq!(files, expected.collect());
}
