//! Julia 1.5.3 in `.julia`, from Debian 11's packages, because Debian 12 has no Julia; see [`debian`](super::debian).

use super::debian::{Packages, multiarch, script};
use super::{done, is_done, print_step};
use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

const VERSION: &str = "1.5.3";

/// Packages of the closure that must not replace the machine's own: the C and C++ run time, and packages that matter only to an
/// installed system.
const LEFT_OUT: &[&str] = &[
    "debconf",
    "dpkg",
    "gcc-10-base",
    "libc6",
    "libcrypt1",
    "libgcc-s1",
    "libstdc++6",
    "perl-base",
    "tar",
];

/// Must change when this file unpacks different packages.
const RECIPE: &str = "julia 1.5.3 from bullseye, 1";

/// Unpacks Julia and writes the script that starts it. Does nothing if `NVSHMEMRS_JULIA` names a Julia.
pub(crate) fn install(tree: &Tree) -> Result<()> {
    if std::env::var_os("NVSHMEMRS_JULIA").is_some() {
        return version(&tree.julia()).map(drop);
    }
    let home = tree.root.join(".julia");
    let stamp = home.join("stamp");
    if is_done(&stamp, RECIPE) {
        return Ok(());
    }
    print_step(&format!("unpacking Julia {VERSION} into .julia"));
    let packages = Packages {
        suite: "bullseye",
        wanted: "julia",
        left_out: LEFT_OUT,
    };
    packages
        .unpack(&home)
        .context("set NVSHMEMRS_JULIA to the path of a Julia of your own to go on without")?;
    write_script(&home)?;
    let found = version(&tree.julia())?;
    if found != VERSION {
        bail!(
            "{} is version {found}, not {VERSION}",
            tree.julia().display()
        );
    }
    done(&stamp, RECIPE)
}

/// Precompiles the package once, so that parallel programs do not all do it, and prints the load time.
pub(crate) fn package(tree: &Tree) -> Result<()> {
    for program in [
        "using NVSHMEMRS",
        "println(\"loading NVSHMEMRS takes \", round(@elapsed(using NVSHMEMRS), digits = 2), \" s\")",
    ] {
        let mut julia = tree.with_contract(tree.command(tree.julia()));
        julia.args([
            "--startup-file=no",
            "--project=bindings/julia",
            "-e",
            program,
        ]);
        run::run(&mut julia)?;
    }
    Ok(())
}

/// The version of the Julia at `program`.
fn version(program: &Path) -> Result<String> {
    let mut julia = Command::new(program);
    let text = run::output(julia.args(["--startup-file=no", "-e", "print(VERSION)"]))?;
    Ok(text.trim().to_owned())
}

/// Writes `home/bin/julia-nvshmemrs`.
fn write_script(home: &Path) -> Result<()> {
    let triplet = multiarch(home, "julia/sys.so")?;
    let text = format!(
        r#"#!/bin/sh
# Starts the Julia below ../root with its own libraries and its own depot.
home=$(cd "$(dirname "$0")/.." && pwd) || exit 1
lib=$home/root/usr/lib/{triplet}
LD_LIBRARY_PATH=$lib/julia:$lib:$home/root/lib/{triplet}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
JULIA_DEPOT_PATH=${{JULIA_DEPOT_PATH:-$home/depot}}
export LD_LIBRARY_PATH JULIA_DEPOT_PATH
exec "$home/root/usr/bin/julia" "$@"
"#
    );
    script(home, "julia-nvshmemrs", &text)
}
