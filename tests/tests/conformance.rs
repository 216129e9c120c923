//! The conformance programs: the same scenario in every language, under `nvshmemrs-run`. A program checks everything itself and
//! prints one line on each PE when all is well.

use nvshmemrs_tests::{
    HANG, INTERPRETER, Output, bin_dir, compile_c, compile_cxx, compile_fortran, interpreter,
    launcher, library, run, workspace,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Julia compiles as it goes, on every PE, and the machine may have few cores.
const SLOW: Duration = Duration::from_secs(900);

/// How many PEs a scenario runs with.
const RING: [u32; 4] = [1, 2, 3, 4];
const MODEL: [u32; 4] = [1, 2, 3, 4];
/// Julia compiles every program anew, on every PE, which takes longer than all else; many PEs have it interpret them. With 3 PEs the checker
/// runs them (check.rs).
const COMPILED: [u32; 1] = [2];
const INTERPRETED: [u32; 1] = [4];
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

#[track_caller]
fn compiled(compile: fn(&Path) -> PathBuf, scenario: &str, extension: &str) -> Vec<OsString> {
    vec![compile(&source(scenario, extension)).into()]
}

fn python(scenario: &str) -> Vec<OsString> {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    vec![python, source(scenario, "py").into()]
}

fn julia(scenario: &str, options: &[&str]) -> Vec<OsString> {
    let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
    let mut words = vec![julia, "--startup-file=no".into()];
    words.extend(options.iter().map(OsString::from));
    words.push(source(scenario, "jl").into());
    words
}

/// One test for each scenario in each language: what makes the words of the command, and with how many PEs.
macro_rules! scenarios {
    ($($test:ident: $scenario:literal in $language:literal, $counts:expr, $words:expr;)*) => { $(
        #[test]
        fn $test() {
            conforms($scenario, $language, &$counts, &$words);
        }
    )* };
}

scenarios! {
    ring_in_c: "ring" in "C", RING, compiled(compile_c, "ring", "c");
    ring_in_cxx: "ring" in "C++", RING, compiled(compile_cxx, "ring", "cpp");
    ring_in_fortran: "ring" in "Fortran", RING, compiled(compile_fortran, "ring", "f90");
    ring_in_julia: "ring" in "Julia", COMPILED, julia("ring", &[]);
    ring_in_julia_interpreted: "ring" in "Julia", INTERPRETED, julia("ring", &INTERPRETER);
    ring_in_python: "ring" in "Python", RING, python("ring");
    ring_in_rust: "ring" in "Rust", RING, [env!("CARGO_BIN_EXE_conformance").into(), "ring".into()];

    model_in_c: "model" in "C", MODEL, compiled(compile_c, "model", "c");
    model_in_cxx: "model" in "C++", MODEL, compiled(compile_cxx, "model", "cpp");
    model_in_fortran: "model" in "Fortran", MODEL, compiled(compile_fortran, "model", "f90");
    model_in_julia: "model" in "Julia", COMPILED, julia("model", &[]);
    model_in_julia_interpreted: "model" in "Julia", INTERPRETED, julia("model", &INTERPRETER);
    model_in_python: "model" in "Python", MODEL, python("model");
    model_in_rust: "model" in "Rust", MODEL, [env!("CARGO_BIN_EXE_conformance").into(), "model".into()];

    misuse_in_c: "misuse" in "C", MISUSE, compiled(compile_c, "misuse", "c");
    misuse_in_cxx: "misuse" in "C++", MISUSE, compiled(compile_cxx, "misuse", "cpp");
    misuse_in_fortran: "misuse" in "Fortran", MISUSE, compiled(compile_fortran, "misuse", "f90");
    misuse_in_julia: "misuse" in "Julia", MISUSE, julia("misuse", &[]);
    misuse_in_python: "misuse" in "Python", MISUSE_ALONE, python("misuse");
    misuse_in_rust: "misuse" in "Rust", MISUSE_ALONE, [env!("CARGO_BIN_EXE_conformance").into(), "misuse".into()];
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
        // What starts a scenario in Rust.
        .filter(|path| !path.ends_with("main.rs"))
        .filter_map(|path| {
            let part = |part: Option<&std::ffi::OsStr>| Some(part?.to_string_lossy().into_owned());
            Some((part(path.file_stem())?, part(path.extension())?))
        })
        .collect();
    let expected = ["ring", "model", "misuse"]
        .into_iter()
        .flat_map(|scenario| {
            ["c", "cpp", "f90", "jl", "py", "rs"]
                .map(|extension| (scenario.to_string(), extension.to_string()))
        });
    assert_eq!(files, expected.collect());
}
