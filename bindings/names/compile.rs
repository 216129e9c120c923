//! Compiles a library of a standard's names from C files, into cargo's output folder beside `libnvshmemrs.so`. Used by build
//! scripts.
//!
//! A crate of type cdylib would export only functions of Rust.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of this folder that all these libraries contain.
#[allow(dead_code, reason = "a library without names includes this file, too")]
pub(crate) const SHARED: &[&str] = &["memory.c", "report.c", "teams.c"];
/// The SONAME that `capi/build.rs` sets.
const CORE_SONAME: &str = "libnvshmemrs.so.0";

/// Compiles the library `name` from files of `src` and of this folder, with headers of `include` and further options.
pub(crate) fn library(
    name: &str,
    sources: &[&str],
    shared: &[&str],
    headers: &[&str],
    options: &[&str],
) {
    for path in ["src", "build.rs", "../names"] {
        println!("cargo:rerun-if-changed={path}");
    }
    for header in headers {
        println!("cargo:rerun-if-changed=../../include/{header}");
    }
    println!("cargo:rerun-if-env-changed=CC");
    // OUT_DIR is <output folder>/build/<package>-<hash>/out.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let folder = out
        .ancestors()
        .nth(3)
        .expect("OUT_DIR is in cargo's output folder");
    let soname = format!("{name}.0");
    let stand_in = stand_in(&out);
    let made = out.join(name);
    let mut compiler = compiler();
    compiler.args([
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-O2",
        "-g",
        "-fPIC",
        "-shared",
        "-pthread",
        "-Wall",
        "-Wextra",
        "-Isrc",
    ]);
    compiler.args(["-fasynchronous-unwind-tables", "-fno-omit-frame-pointer"]);
    // The program has the version of the header that it includes, not the library.
    compiler.arg("-DNVSHMEMRS_NAMES_LIBRARY");
    compiler.args(options);
    // The option saves a jump between functions of this library. The linker of zig does not support it.
    if target_compiler().is_none() {
        compiler.arg("-Wl,-Bsymbolic-functions");
    }
    compiler.args([
        &format!("-Wl,-soname,{soname}"),
        "-Wl,-rpath,$ORIGIN",
        "-Wl,--no-as-needed",
        "-o",
    ]);
    compiler
        .arg(&made)
        .args(sources.iter().map(|source| Path::new("src").join(source)))
        .args(
            shared
                .iter()
                .map(|source| Path::new("../names").join(source)),
        )
        .arg(stand_in);
    run(compiler);
    // Processes that have the old file open keep it.
    let fresh = folder.join(format!("{name}.new"));
    std::fs::copy(&made, &fresh)
        .and_then(|_| std::fs::rename(&fresh, folder.join(name)))
        .expect("cannot leave the library");
    let link = folder.join(soname);
    if link.symlink_metadata().is_err()
        && let Err(error) = std::os::unix::fs::symlink(name, &link)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        println!("cargo:warning=cannot make {}: {error}", link.display());
    }
}

/// An empty library with the SONAME of the core's library, which cargo may not have built yet.
fn stand_in(out: &Path) -> PathBuf {
    let (source, made) = (out.join("empty.c"), out.join("libnvshmemrs.so"));
    std::fs::write(&source, "typedef int empty;\n").expect("cannot write to OUT_DIR");
    let mut compiler = compiler();
    compiler
        .args([
            "-shared",
            "-fPIC",
            &format!("-Wl,-soname,{CORE_SONAME}"),
            "-o",
        ])
        .arg(&made)
        .arg(&source);
    run(compiler);
    made
}

/// The compiler set for the target, for example by `cargo zigbuild`.
fn target_compiler() -> Option<OsString> {
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    std::env::var_os(format!("CC_{}", target.replace('-', "_")))
}

fn compiler() -> Command {
    let named = target_compiler().or_else(|| std::env::var_os("CC"));
    Command::new(named.unwrap_or_else(|| "cc".into()))
}

fn run(mut command: Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}
