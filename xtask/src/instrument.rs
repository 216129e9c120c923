//! Builds with a sanitizer's or a fuzzer's flags, for `cargo xtask sanitize` and `cargo xtask fuzz`.
//!
//! The compiler is the stable one, which has the sanitizers' libraries. The flags are for our own packages only: what those depend on
//! is compiled as ever, once for all of these builds, in a folder that they share.

use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// How all of it is compiled: what is looked for is there without much optimisation, and the sanitizers advise as much; the fewer units,
/// the less is compiled twice. The names of functions stay, for reports.
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

/// The options are unstable ones; what they switch on comes with the stable compiler.
fn release(tree: &Tree, verb: &str) -> Result<Command> {
    let mut cargo = tree.cargo();
    cargo
        // With a target, procedural macros and other packages' build scripts are left alone.
        .args([verb, "--release", "--target", &host()?])
        .env("RUSTC_BOOTSTRAP", "1")
        // Our own build scripts may lose memory.
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

/// Where such a build leaves what it has made.
pub(crate) fn built(tree: &Tree) -> Result<std::path::PathBuf> {
    Ok(tree.scratch("instrumented")?.join(host()?).join("release"))
}
