//! Debian 13's torch in `.torch`, with its own Python, for tests of features that Debian 12's torch, 1.13, lacks, such as
//! `torch.compile`.

use super::debian::{Packages, multiarch, script};
use super::{done, is_done, print_step};
use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Packages of the closure that Python and torch do not need.
const LEFT_OUT: &[&str] = &[
    "adduser",
    "base-passwd",
    "ca-certificates",
    "debconf",
    "dpkg",
    "libaudit-common",
    "libdebconfclient0",
    "libpam-modules",
    "libpam-modules-bin",
    "libpam0g",
    "libsemanage-common",
    "libsemanage2",
    "libsepol2",
    "libtorch-test",
    "login.defs",
    "netbase",
    "openssl",
    "openssl-provider-legacy",
    "passwd",
    "tar",
];

/// Must change when this file unpacks different packages.
const RECIPE: &str = "torch from trixie, 1";

/// Unpacks torch and writes the script that starts its Python. Does nothing if `NVSHMEMRS_TORCH` names a Python that has torch.
pub(crate) fn install(tree: &Tree) -> Result<()> {
    if std::env::var_os("NVSHMEMRS_TORCH").is_some() {
        return works(&tree.torch());
    }
    let home = tree.root.join(".torch");
    let stamp = home.join("stamp");
    if is_done(&stamp, RECIPE) {
        return Ok(());
    }
    print_step("unpacking Debian 13's torch into .torch (190 MB)");
    let packages = Packages {
        suite: "trixie",
        wanted: "python3-torch",
        left_out: LEFT_OUT,
    };
    packages
        .unpack(&home)
        .context("set NVSHMEMRS_TORCH to the path of a Python with torch to go on without")?;
    write_script(&home)?;
    works(&tree.torch())?;
    done(&stamp, RECIPE)
}

fn works(python: &Path) -> Result<()> {
    let mut command = Command::new(python);
    run::output(command.args(["-c", "import numpy, torch"])).map(drop)
}

/// Writes `home/bin/python-torch`. It starts Python with the dynamic linker of the unpacked release, because this machine's C
/// library is older.
fn write_script(home: &Path) -> Result<()> {
    let triplet = multiarch(home, "libc.so.6")?;
    let text = format!(
        r#"#!/bin/sh
# Starts the Python below ../root, which has torch, with its own libraries.
home=$(cd "$(dirname "$0")/.." && pwd) || exit 1
usr=$home/root/usr
lib=$usr/lib/{triplet}
PYTHONHOME=$usr
PYTHONNOUSERSITE=1
export PYTHONHOME PYTHONNOUSERSITE
exec "$lib"/ld-linux-*.so.* --library-path "$lib:$lib/blas:$lib/lapack" --argv0 "$usr/bin/python3" "$usr/bin/python3" "$@"
"#
    );
    script(home, "python-torch", &text)
}
