//! The core's tests under ThreadSanitizer or AddressSanitizer, with the PEs as threads.
//!
//! The compiler is the stable one; it has the sanitizers' libraries, but no instrumented standard library. See `tests/tsan.supp` for
//! what follows from that. Tests run one after another: the memory of one job may lie where that of an earlier one was, which
//! the sanitizer cannot know, and only threads that were joined are ordered before the next test.

use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::process::Command;
use std::time::Duration;

/// What to look for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Sanitizer {
    /// Data races
    Thread,
    /// Accesses outside of objects, or after their end
    Address,
}

/// The exit status of a program in which the sanitizer has found something.
const FOUND: i32 = 66;
/// How long the tests may take under a sanitizer.
const LIMIT: Duration = Duration::from_secs(900);
/// Tests that make the difference: data, ordering, waiting.
const QUICK: [&str; 3] = ["--lib", "--test=rma", "--test=litmus"];
/// The races that must be found.
const PLANTED: [&str; 2] = ["puts_to_the_same_words", "a_flag_without_acquire"];

/// Runs the tests, and the planted races; gives what the tests printed.
pub(crate) fn sanitize(tree: &Tree, sanitizer: Sanitizer, quick: bool) -> Result<String> {
    let mut cargo = cargo(tree, sanitizer)?;
    match quick {
        true => cargo.args(QUICK),
        false => cargo.args(["--lib", "--tests"]),
    };
    cargo.args(["--no-fail-fast", "--", "--test-threads=1"]);
    let shown = run::tee(&mut cargo, LIMIT)?;
    shown.outcome?;
    if let Sanitizer::Thread = sanitizer {
        for name in PLANTED {
            planted(tree, name)?;
        }
        println!("the sanitizer has found both planted races");
    }
    Ok(shown.text)
}

/// Runs a race that is there on purpose.
fn planted(tree: &Tree, name: &str) -> Result<()> {
    let mut cargo = cargo(tree, Sanitizer::Thread)?;
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

/// `cargo test` of the core, instrumented, in a build folder of its own.
fn cargo(tree: &Tree, sanitizer: Sanitizer) -> Result<Command> {
    let (flag, folder) = match sanitizer {
        Sanitizer::Thread => ("thread", "sanitize-thread"),
        Sanitizer::Address => ("address", "sanitize-address"),
    };
    let suppressions = tree.root.join("tests/tsan.supp");
    ensure!(
        suppressions.is_file(),
        "{} is missing",
        suppressions.display()
    );
    let mut cargo = tree.cargo();
    cargo
        // The flag is one of the unstable ones; the sanitizers themselves come with the stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTFLAGS",
            format!("-Zsanitizer={flag} -Cunsafe-allow-abi-mismatch=sanitizer"),
        )
        .env("CARGO_TARGET_DIR", tree.scratch(folder)?)
        .env(
            "TSAN_OPTIONS",
            format!("suppressions={} exitcode={FOUND}", suppressions.display()),
        )
        .env("LITMUS_WITHOUT_FENCES", "1")
        // Memory that a failed test leaves behind is not what is looked for.
        .env("ASAN_OPTIONS", format!("detect_leaks=0 exitcode={FOUND}"))
        // Without a target, build scripts and procedural macros would be instrumented, too.
        .args([
            "test",
            "--release",
            "--package=nvshmemrs",
            "--target",
            &host()?,
        ]);
    Ok(cargo)
}

/// The machine's target triple.
fn host() -> Result<String> {
    let text = run::output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc -vV names no host")?;
    if !["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"].contains(&host) {
        bail!("the sanitizers are there for x86_64 and aarch64 Linux with glibc; this is {host}");
    }
    Ok(host.to_string())
}
