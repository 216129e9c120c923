//! The core's tests under ThreadSanitizer or AddressSanitizer, or with Rust's checks of unsafe code, with the PEs as threads; and C
//! programs of the tests under sanitizers and valgrind, with the PEs as processes ([`programs`]).
//!
//! The compiler is the stable one, which has the sanitizers' libraries. For ThreadSanitizer the standard library is built anew from
//! its sources, because what its locks and channels order cannot be seen otherwise; `--quick` does without, runs tests
//! that need few of them, and suppresses what is known to be false (`tests/tsan.supp`). Tests run one after another: the
//! memory of one job may lie where that of an earlier one was, which the sanitizer cannot know, and only threads that were joined
//! are ordered before the next test.

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

/// What to look for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Sanitizer {
    /// Data races
    Thread,
    /// Accesses outside of objects, or after their end; in C programs, lost memory, too
    Address,
    /// What the languages leave undefined: overflow, alignment, wrong values
    Undefined,
    /// Memory errors and lost memory in C programs, under memcheck
    Valgrind,
}

/// What is instrumented besides the library, but for a quick run.
const SUITE: &str = "nvshmemrs-suite";
/// Lets instrumented crates use others as they are.
const MIXED: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";
const ADDRESS: [&str; 2] = ["-Zsanitizer=address", MIXED];
/// Rust's own checks of unsafe code.
const CHECKS: [&str; 3] = [
    "-Zub-checks=yes",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];
/// The exit status of a program in which the sanitizer has found something.
const FOUND: i32 = 66;
/// How long the tests may take under a sanitizer: the quick form, and the full one.
const QUICK_LIMIT: Duration = Duration::from_secs(900);
const LIMIT: Duration = Duration::from_secs(1800);
/// Of the tests over random cases, which are many times slower here: what is looked for is seen in any run that comes by the place.
const CASES: &str = "2000";
/// Tests that make the difference: data, ordering, waiting.
const QUICK: [&str; 3] = ["--lib", "--test=rma", "--test=litmus"];
/// What threads do under the standard library's locks and channels, which the quick form does not see; the full form runs these tests.
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
/// What the full form leaves out: a program that is racy on purpose.
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

/// Brings the sources of the standard library.
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

/// Runs a race that is there on purpose.
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
        // Memory that a failed test leaves behind is not what is looked for.
        .env("ASAN_OPTIONS", format!("detect_leaks=0 exitcode={FOUND}"));
    Ok(cargo)
}
