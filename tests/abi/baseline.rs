//! The C ABI against a committed one, `baseline.abi`: every function with its arguments, every struct and every number that a program
//! may have been compiled with. An addition breaks no program; a removed or changed item breaks programs that use it.
//!
//! The library has no debug information, and Rust's would say nothing of C's types. So a library of stubs is made from the header;
//! another test ensures that the real library exports all functions that the header declares.

use super::statements;
use nvshmemrs_tests::{HANG, Output, left_out, run, workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the baseline is made anew, after a change that is meant.
const RENEW: &str =
    "cargo test --release -p nvshmemrs-tests --test abi -- --ignored renews_the_baseline";

fn baseline() -> PathBuf {
    workspace().join("tests/abi/baseline.abi")
}

fn header() -> String {
    fs::read_to_string(workspace().join("include/nvshmemrs.h")).expect("the header")
}

/// A library of functions as `header` declares them, which do nothing, with the header's enums and structs in its debug information.
#[track_caller]
fn stubs(header: &str, folder: &Path) -> PathBuf {
    let mut text = "#include \"nvshmemrs.h\"\n".to_owned();
    for (_, declaration) in statements(header) {
        text += &format!("{declaration} {{ __builtin_trap(); }}\n");
    }
    // No function has an enum as its argument, and not every struct is reached from one.
    for line in header.lines() {
        let name = |start, end| Some(line.strip_prefix(start)?.strip_suffix(end)?.trim());
        if let Some(name) = name("enum ", "") {
            text += &format!("enum {name} number_{name};\n");
        } else if let Some(name) = name("} nvshmemrs_", ";") {
            text += &format!("nvshmemrs_{name} struct_{name};\n");
        }
    }
    let library = folder.join("libstubs.so");
    fs::write(folder.join("nvshmemrs.h"), header).expect("cannot write a header");
    fs::write(folder.join("stubs.c"), text).expect("cannot write a source file");
    // Its debug information, hence the baseline, names the source as the compiler is told it.
    let mut compiler = Command::new("cc");
    compiler.args([
        "-std=c11", "-Wall", "-Werror", "-g", "-O0", "-shared", "-fPIC",
    ]);
    compiler.arg("stubs.c").arg("-o").arg(&library);
    compiler.current_dir(folder);
    run(&mut compiler, HANG).assert_success();
    library
}

/// The parts of the ABI of `header` that are gone or different. The status is 0 if nothing is.
#[track_caller]
fn changes(header: &str) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = stubs(header, folder.path());
    let mut abidiff = Command::new("abidiff");
    abidiff.arg("--no-added-syms").arg(baseline()).arg(library);
    run(&mut abidiff, HANG)
}

/// The baseline names the machine, whose types have other sizes elsewhere.
fn is_made_elsewhere() -> bool {
    let elsewhere = !cfg!(target_arch = "x86_64");
    if elsewhere {
        left_out("the baseline of the C ABI is one for x86_64");
    }
    elsewhere
}

#[test]
fn nothing_of_the_baseline_is_gone_or_different() {
    if is_made_elsewhere() {
        return;
    }
    let output = changes(&header());
    assert_eq!(
        output.code(),
        0,
        "programs that were compiled before no longer fit the library. If that is meant: a new ABI version, and `{RENEW}`\n{}",
        output.describe()
    );
}

/// Parts that are not in the baseline may change later without notice.
#[test]
fn the_baseline_has_all_of_the_header() {
    let header = header();
    let known = fs::read_to_string(baseline()).expect("the baseline");
    let functions = statements(&header).into_iter();
    let functions = functions.map(|(name, _)| format!("<elf-symbol name='{name}' "));
    let code = header
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let numbers = code.clone().filter_map(|line| {
        let (name, _) = line.strip_prefix("    NVSHMEMRS_")?.split_once(" = ")?;
        Some(format!("<enumerator name='NVSHMEMRS_{name}' "))
    });
    let structs = code.filter_map(|line| {
        let name = line.strip_prefix("} ")?.strip_suffix(';')?;
        Some(format!("<class-decl name='{name}' "))
    });
    let all: Vec<String> = functions.chain(numbers).chain(structs).collect();
    assert!(all.len() > 250, "the header was not understood: {all:?}");
    let missing = all.iter().filter(|entry| !known.contains(entry.as_str()));
    let missing: Vec<&String> = missing.collect();
    assert!(
        missing.is_empty(),
        "not in the baseline: run `{RENEW}`\n{missing:#?}"
    );
}

/// A change of the header's text, and its report; the report is empty where the change breaks no program.
struct Planted {
    from: &'static str,
    to: &'static str,
    report: Option<&'static str>,
}

#[rustfmt::skip]
const PLANTED: [Planted; 7] = [
    Planted { from: "int32_t nvshmemrs_barrier(", to: "int32_t nvshmemrs_another(", report: Some("nvshmemrs_barrier") },
    Planted { from: "const uint32_t *source,", to: "const uint64_t *source,", report: Some("'const uint32_t*' changed") },
    Planted { from: "    uint64_t heap_bytes;", to: "    uint32_t heap_bytes;", report: Some("'uint64_t heap_bytes' changed") },
    Planted { from: "    int32_t device;", to: "    int32_t other, device;", report: Some("'int32_t device' offset changed") },
    Planted { from: "NVSHMEMRS_ERROR_BAD_HANDLE = 11", to: "NVSHMEMRS_ERROR_BAD_HANDLE = 9", report: Some("from value '11' to '9'") },
    Planted { from: "    NVSHMEMRS_SUCCESS = 0,", to: "    NVSHMEMRS_SUCCESS = 0, NVSHMEMRS_NEW = 9999,", report: None },
    Planted { from: "int32_t nvshmemrs_barrier(", to: "int32_t nvshmemrs_new(int32_t pe);\nint32_t nvshmemrs_barrier(", report: None },
];

#[test]
fn what_breaks_programs_is_found_and_what_is_new_is_none() {
    if is_made_elsewhere() {
        return;
    }
    let header = header();
    for Planted { from, to, report } in PLANTED {
        assert!(header.contains(from), "the header has no {from:?}");
        let output = changes(&header.replacen(from, to, 1));
        match report {
            None => assert_eq!(output.code(), 0, "{to}: {}", output.describe()),
            Some(report) => {
                assert_ne!(output.code(), 0, "{to}: {}", output.describe());
                output.assert_stdout(report);
            }
        }
    }
}

/// No check: it writes the baseline, where a change of the ABI is meant.
#[test]
#[ignore = "writes the baseline of the C ABI"]
fn renews_the_baseline() {
    assert!(!is_made_elsewhere(), "only on x86_64");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = stubs(&header(), folder.path());
    let mut abidw = Command::new("abidw");
    // Without places of files and lines: only the ABI is compared.
    abidw.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]);
    abidw.arg("--out-file").arg(baseline()).arg(library);
    run(&mut abidw, HANG).assert_success();
}
