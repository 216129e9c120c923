//! The core's tests under ThreadSanitizer or AddressSanitizer, or with Rust's checks of unsafe code, with the PEs as threads; and C
//! programs of the tests under sanitizers and valgrind, with the PEs as processes ([`programs`]).
//!
//! The stable compiler has the sanitizers' libraries. For ThreadSanitizer the standard library is rebuilt from its sources,
//! because the sanitizer must see the order that its locks and channels establish; `--quick` omits that, runs tests that use few
//! of them, and suppresses known false reports (`tests/tsan.supp`). Tests run one after another: the memory of a job may be
//! reused by the next job, and the sanitizer only orders threads that were joined before the next test.

mod programs;

use crate::instrument;
use crate::run::{self, Shown};
use crate::show;
use crate::tree::Tree;
use anyhow::{Result, bail, ensure};
use programs::How;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The kind of defect to detect.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Sanitizer {
    /// Data races
    Thread,
    /// Accesses outside of objects, or after their end; in C programs, lost memory, too
    Address,
    /// Undefined behaviour of the languages: overflow, alignment, wrong values
    Undefined,
    /// Memory errors and lost memory in C programs, under memcheck
    Valgrind,
}

/// The instrumented package besides the library, except in a quick run.
const SUITE: &str = "nvshmemrs-suite";
/// Lets instrumented crates use uninstrumented ones.
const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";
const ADDRESS: [&str; 2] = ["-Zsanitizer=address", MIXED];
/// Rust's own checks of unsafe code.
const CHECKS: [&str; 3] = [
    "-Zub-checks=yes",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];
/// The exit status of a program with a finding.
const FOUND: i32 = 66;
/// The time limits of the tests under a sanitizer: quick and full.
const QUICK_LIMIT: Duration = Duration::from_secs(900);
const LIMIT: Duration = Duration::from_secs(1800);
/// The number of random cases, reduced because they run many times slower: a defect shows in any run that reaches its place.
const CASES: &str = "2000";
/// The tests of a quick run: data, ordering, waiting.
const QUICK: [&str; 3] = ["--lib", "--test=rma", "--test=litmus"];
/// Tests of threads that use the standard library's locks and channels: only a full run has them.
const LOCKED: [&str; 10] = [
    "sites::",
    "delay::",
    "held::",
    "tracker::",
    "in_checked_jobs",
    "transport::pretended::",
    "pending::",
    "send_queue::",
    "trace::part::",
    "a_state_that_differs_does_not_compile",
];
/// Tests that the full run omits: a program that is racy on purpose.
const RACY: [&str; 1] = ["a_flag_overtakes_data_without_a_fence"];
/// The races that must be found.
const PLANTED: [&str; 2] = ["puts_to_the_same_words", "a_flag_without_acquire"];

/// Runs the tests, and the planted races.
pub(crate) fn sanitize(tree: &Tree, sanitizer: Sanitizer, quick: bool) -> Result<Shown> {
    let how = match sanitizer {
        Sanitizer::Thread => return core(tree, sanitizer, quick),
        Sanitizer::Address => How::Address,
        Sanitizer::Undefined => How::Undefined,
        Sanitizer::Valgrind => How::Valgrind,
    };
    let programs = programs::programs(tree, how, quick)?;
    if quick || how == How::Valgrind {
        return Ok(programs);
    }
    let tests = programs::tests(tree, how)?;
    let core = core(tree, sanitizer, false)?;
    Ok(Shown {
        text: programs.text + &tests.text + &core.text,
        outcome: programs.outcome.and(tests.outcome).and(core.outcome),
    })
}

/// Runs the core's tests, and the planted races.
fn core(tree: &Tree, sanitizer: Sanitizer, quick: bool) -> Result<Shown> {
    if let (Sanitizer::Thread, false) = (sanitizer, quick) {
        rust_sources()?;
    }
    let mut cargo = cargo(tree, sanitizer, quick)?;
    match quick {
        true => cargo.args(QUICK),
        false => cargo.args(["--lib", "--tests"]),
    };
    cargo.args(["--no-fail-fast", "--", "--test-threads=1"]);
    if let Sanitizer::Thread = sanitizer {
        let left_out = if quick { &LOCKED[..] } else { &RACY };
        cargo.args(left_out.iter().flat_map(|name| ["--skip", name]));
    }
    let mut shown = run::tee(&mut cargo, if quick { QUICK_LIMIT } else { LIMIT })?;
    if let (Ok(()), Sanitizer::Thread) = (&shown.outcome, sanitizer) {
        shown.outcome = PLANTED
            .iter()
            .try_for_each(|name| planted(tree, name, quick));
        if shown.outcome.is_ok() {
            show::line("the sanitizer has found both planted races");
        }
    }
    Ok(shown)
}

/// Installs the sources of the standard library.
fn rust_sources() -> Result<()> {
    let sysroot = run::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let lock = "lib/rustlib/src/rust/library/Cargo.lock";
    if Path::new(sysroot.trim_end()).join(lock).is_file() {
        return Ok(());
    }
    ensure!(
        run::exists("rustup"),
        "{} has no sources of the standard library ({lock}), and there is no rustup to add them; --quick does without",
        sysroot.trim_end()
    );
    run::run(Command::new("rustup").args(["component", "add", "rust-src"]))
}

/// Runs a planted race.
fn planted(tree: &Tree, name: &str, quick: bool) -> Result<()> {
    let mut cargo = cargo(tree, Sanitizer::Thread, quick)?;
    cargo.args([
        "--test=planted_races",
        "--",
        "--test-threads=1",
        "--ignored",
        "--exact",
        name,
    ]);
    let output = run::capture(&mut cargo)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    ensure!(
        text.contains("running 1 test"),
        "the planted race {name} did not run:\n{text}"
    );
    ensure!(
        !output.status.success() && text.contains("WARNING: ThreadSanitizer: data race"),
        "the sanitizer did not report the planted race {name}: it would miss one in the library, too\n{text}"
    );
    Ok(())
}

/// `cargo test` of the core, instrumented.
fn cargo(tree: &Tree, sanitizer: Sanitizer, quick: bool) -> Result<Command> {
    let mut packages = instrument::LIBRARY.to_vec();
    packages.extend((!quick).then_some(SUITE));
    let own = |flags: &[&str]| instrument::cargo(tree, "test", &packages, flags);
    let mut cargo = match (sanitizer, quick) {
        (Sanitizer::Thread, false) => {
            instrument::cargo_with_std(tree, "test", "sanitize-thread", "-Zsanitizer=thread")?
        }
        (Sanitizer::Thread, true) => own(&["-Zsanitizer=thread", MIXED])?,
        (Sanitizer::Address, _) => own(&ADDRESS)?,
        (Sanitizer::Undefined, _) => own(&CHECKS)?,
        (Sanitizer::Valgrind, _) => bail!("valgrind is for C programs"),
    };
    for package in &packages {
        cargo.args(["--package", package]);
    }
    let mut options = format!("exitcode={FOUND}");
    if quick {
        let suppressions = tree.root.join("tests/tsan.supp");
        ensure!(
            suppressions.is_file(),
            "{} is missing",
            suppressions.display()
        );
        options += &format!(" suppressions={}", suppressions.display());
    }
    cargo
        .env("TSAN_OPTIONS", options)
        .env("LITMUS_WITHOUT_FENCES", "1")
        .env("NVSHMEMRS_CASES", CASES)
        // Leaks after a failed test are not findings.
        .env("ASAN_OPTIONS", format!("detect_leaks=0 exitcode={FOUND}"));
    Ok(cargo)
}
