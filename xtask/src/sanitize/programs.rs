//! C programs of the tests under AddressSanitizer, UndefinedBehaviorSanitizer and valgrind, on two PEs.
//!
//! The programs are compiled by gcc, the library by rustc, and both are instrumented for AddressSanitizer: the library leaves the
//! sanitizer's runtime to the program, and gcc's runtime serves both, because they have the same version
//! (`__asan_version_mismatch_check_v8`; the loader reports a mismatch). rustc has no UndefinedBehaviorSanitizer: the library is
//! compiled with Rust's own checks of unsafe code instead. valgrind needs no instrumentation.

use crate::instrument;
use crate::run::{self, Shown};
use crate::show;
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{ADDRESS, CHECKS, FOUND};

/// The time limit of a program. valgrind slows it down about fifty times.
const LIMIT: Duration = Duration::from_secs(300);
/// The programs in `tests`: they end by themselves, with status 0 on success.
const PROGRAMS: [&str; 4] = [
    "conformance/ring.c",
    "conformance/model.c",
    "programs/waits_model.c",
    "programs/quiet.c",
];
/// The number of programs in a quick run.
const QUICK: usize = 2;

/// How C programs are built and run.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    /// AddressSanitizer in program and library, UndefinedBehaviorSanitizer in the program.
    Address,
    /// UndefinedBehaviorSanitizer in the program, Rust's checks in the library.
    Undefined,
    /// Without instrumentation, under memcheck.
    Valgrind,
}

impl How {
    fn flags(self) -> &'static [&'static str] {
        match self {
            How::Address => &[
                "-fsanitize=address,undefined",
                "-fno-sanitize-recover=undefined",
                "-fno-omit-frame-pointer",
            ],
            How::Undefined => &["-fsanitize=undefined", "-fno-sanitize-recover=undefined"],
            How::Valgrind => &[],
        }
    }

    /// rustc's flags for the library, if any.
    fn rustflags(self) -> Option<&'static [&'static str]> {
        match self {
            How::Address => Some(&ADDRESS),
            How::Undefined => Some(&CHECKS),
            How::Valgrind => None,
        }
    }

    /// The planted defects in `programs/planted.c`, with the words of the reports.
    fn planted(self) -> &'static [(&'static str, &'static str)] {
        match self {
            How::Address => &[
                ("overflow", "heap-buffer-overflow"),
                ("undefined", "signed integer overflow"),
                ("leak", "detected memory leaks"),
            ],
            How::Undefined => &[("undefined", "signed integer overflow")],
            How::Valgrind => &[("overflow", "Invalid read"), ("leak", "definitely lost")],
        }
    }

    fn folder(self) -> &'static str {
        match self {
            How::Address => "sanitize-address-c",
            How::Undefined => "sanitize-undefined-c",
            How::Valgrind => "sanitize-valgrind-c",
        }
    }
}

/// Builds the library if needed, then the programs; runs them, and checks that planted defects are found. Each program is a
/// check.
pub(super) fn programs(tree: &Tree, how: How, quick: bool) -> Result<Shown> {
    let library = library(tree, how, quick)?;
    let folder = tree.scratch(how.folder())?;
    let mut text = String::new();
    let mut outcome = Ok(());
    let names = &PROGRAMS[..if quick { QUICK } else { PROGRAMS.len() }];
    let mut check = |name: &str, result: Result<()>| {
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        show::line(format_args!("{name}: {word}"));
        let count = if result.is_ok() {
            "1 passed; 0 failed"
        } else {
            "0 passed; 1 failed"
        };
        text += &format!("test result: {count};\n");
        if let (Ok(()), Err(error)) = (&outcome, result) {
            outcome = Err(error.context(name.to_string()));
        }
    };
    for name in names {
        let run = || {
            let program = compile(tree, how, &library, name, &folder)?;
            clean(tree, how, &program)
        };
        check(name, run());
    }
    let planted = compile(tree, how, &library, "programs/planted.c", &folder);
    let planted = planted.and_then(|program| {
        how.planted()
            .iter()
            .try_for_each(|(mistake, words)| found(tree, how, &program, mistake, words))
    });
    check("planted mistakes are found", planted);
    Ok(Shown { text, outcome })
}

/// The library that the programs are linked to: instrumented, or the usual one.
fn library(tree: &Tree, how: How, quick: bool) -> Result<PathBuf> {
    // Rust's checks are for the tests of the core; a quick run uses the usual library.
    let flags = match how.rustflags() {
        Some(flags) if !(quick && how == How::Undefined) => flags,
        _ => {
            ensure!(
                tree.library().is_file(),
                "there is no library yet: `cargo xtask build` makes it"
            );
            return Ok(tree.library());
        }
    };
    let packages = [&instrument::LIBRARY[..], &["nvshmemrs-capi"]].concat();
    let mut cargo = instrument::cargo(tree, "build", &packages, flags)?;
    run::run(cargo.arg("--package=nvshmemrs-capi"))?;
    let library = instrument::built(tree)?.join("libnvshmemrs.so");
    if how == How::Address {
        let code = fs::read(&library).with_context(|| format!("no {}", library.display()))?;
        let report = b"__asan_report";
        ensure!(
            code.windows(report.len()).any(|part| part == report),
            "{} is not instrumented",
            library.display()
        );
    }
    ensure!(library.is_file(), "{} was not built", library.display());
    Ok(library)
}

/// The tests of the C ABI with hostile and wrong calls, with their programs and the library instrumented.
pub(super) fn tests(tree: &Tree, how: How) -> Result<Shown> {
    let library = library(tree, how, false)?;
    // cargo's LD_LIBRARY_PATH contains the folder of the uninstrumented library.
    let first = ["-Wl,--disable-new-dtags"];
    let flags = [how.flags(), &first].concat().join(" ");
    let mut cargo = tree.cargo();
    cargo.args(["test", "--release", "--package=nvshmemrs-tests"]);
    cargo
        .args(["--test=hostile", "--test=bad_input", "--test=operations"])
        .arg("--no-fail-fast")
        .env("NVSHMEMRS_LIBRARY", library)
        .env("NVSHMEMRS_TEST_CFLAGS", flags)
        .env("NVSHMEMRS_HOSTILE_CALLS", "20000")
        .env("ASAN_OPTIONS", format!("detect_leaks=1 exitcode={FOUND}"));
    run::tee(&mut cargo, run::LIMIT)
}

fn compile(tree: &Tree, how: How, library: &Path, name: &str, folder: &Path) -> Result<PathBuf> {
    let tests = tree.root.join("tests");
    let place = library.parent().context("a library is in a folder")?;
    let program = folder.join(name.replace(['/', '.'], "-"));
    let mut cc = tree.command("cc");
    cc.args([
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
    ])
    .args(how.flags())
    .arg("-I")
    .arg(tree.root.join("include"))
    .arg("-I")
    .arg(tests.join("programs"))
    .arg(tests.join(name))
    .arg("-o")
    .arg(&program)
    .arg(library)
    .arg(format!("-Wl,-rpath,{}", place.display()))
    .args(["-pthread", "-lm"]);
    run::run(&mut cc)?;
    Ok(program)
}

/// The launcher with the program on two PEs, or on one.
fn command(tree: &Tree, how: How, program: &Path, n_pes: u32) -> Command {
    let mut command = tree.launch(n_pes);
    if how == How::Valgrind {
        command.arg("valgrind").args([
            "--quiet",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect",
            &format!("--error-exitcode={FOUND}"),
        ]);
        let suppressions = tree.root.join("tests/valgrind.supp");
        command.arg(format!("--suppressions={}", suppressions.display()));
    }
    command
        .arg(program)
        .env("NVSHMEM_SYMMETRIC_SIZE", "64m")
        .env("ASAN_OPTIONS", format!("detect_leaks=1 exitcode={FOUND}"))
        .env("UBSAN_OPTIONS", "print_stacktrace=1");
    command
}

/// Runs a program that must have no finding.
fn clean(tree: &Tree, how: How, program: &Path) -> Result<()> {
    let log = program.with_extension("log");
    let file = fs::File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
    let mut command = command(tree, how, program, 2);
    let shown = run::tee(command.stderr(file), LIMIT)?;
    let errors = fs::read_to_string(&log).unwrap_or_default();
    shown.outcome.with_context(|| errors.clone())?;
    // valgrind prints only findings; its messages about large mappings are ignored.
    let words = [
        "ERROR: ",
        "runtime error",
        "lost: ",
        "Invalid ",
        "uninitialised",
    ];
    let said = words.iter().any(|word| errors.contains(word));
    ensure!(!said, "{errors}");
    Ok(())
}

/// Runs a program that must have a finding.
fn found(tree: &Tree, how: How, program: &Path, mistake: &str, words: &str) -> Result<()> {
    let mut command = command(tree, how, program, 1);
    let output = run::capture(command.arg(mistake).stdin(Stdio::null()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && errors.contains(words),
        "the planted mistake \"{mistake}\" was not found ({}): one elsewhere would be missed, too\n{errors}",
        output.status
    );
    Ok(())
}
