//! Builds with a sanitizer's or a fuzzer's flags, for `cargo xtask sanitize` and `cargo xtask fuzz`.
//!
//! The stable compiler has the sanitizers' libraries. The flags apply to the project's own packages only; dependencies are
//! compiled without them, once for all of these builds, in a shared folder.

use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The profile: little optimisation, which the sanitizers recommend, and few codegen units, so that less is compiled twice.
/// Function names are kept for reports.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "4"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
];

/// The packages of the library.
pub(crate) const LIBRARY: [&str; 8] = [
    "nvshmemrs",
    "nvshmemrs-check",
    "nvshmemrs-cuda",
    "nvshmemrs-diagnostics",
    "nvshmemrs-job",
    "nvshmemrs-net",
    "nvshmemrs-transport",
    "nvshmemrs-vocabulary",
];

/// `cargo <verb>` with `flags` for each of `packages`.
pub(crate) fn cargo(tree: &Tree, verb: &str, packages: &[&str], flags: &[&str]) -> Result<Command> {
    let mut cargo = release(tree, verb)?;
    cargo.arg("-Zprofile-rustflags");
    for package in packages {
        let flags = flags.join("\", \"");
        cargo.arg(format!(
            "--config=profile.release.package.{package}.rustflags=[\"{flags}\"]"
        ));
    }
    cargo.env("CARGO_TARGET_DIR", tree.scratch("instrumented")?);
    Ok(cargo)
}

/// `cargo <verb>` with `flags` for everything, also the standard library, in `folder`.
pub(crate) fn cargo_with_std(
    tree: &Tree,
    verb: &str,
    folder: &str,
    flags: &str,
) -> Result<Command> {
    let mut cargo = release(tree, verb)?;
    cargo
        .arg("-Zbuild-std=std,test,panic_unwind")
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", tree.scratch(folder)?);
    Ok(cargo)
}

/// The options are unstable, but the features behind them are in the stable compiler.
fn release(tree: &Tree, verb: &str) -> Result<Command> {
    let mut cargo = tree.cargo();
    cargo
        // With a target, the flags do not apply to procedural macros and build scripts.
        .args([verb, "--release", "--target", &host()?])
        .env("RUSTC_BOOTSTRAP", "1")
        // The project's own build scripts may leak memory.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .envs(PROFILE);
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

/// The output folder of such a build.
pub(crate) fn built(tree: &Tree) -> Result<std::path::PathBuf> {
    Ok(tree.scratch("instrumented")?.join(host()?).join("release"))
}
