//! Programs of the operating system: Debian packages, and rustup's components.

use super::{Purpose, print_step};
use crate::run;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// A required program, and the Debian packages that contain it.
struct Need {
    program: &'static str,
    packages: &'static [&'static str],
}

/// Includes venv and pip, which Debian packages separately.
const PYTHON: Need = Need::new("python3", &["python3", "python3-venv"]);
const CC: Need = Need::new("cc", &["gcc", "libc6-dev"]);
const CXX: Need = Need::new("c++", &["g++"]);
const PKG_CONFIG: Need = Need::new("pkg-config", &["pkg-config"]);
const GFORTRAN: Need = Need::new("gfortran", &["gfortran"]);
/// Checks the documentation of the headers.
const DOXYGEN: Need = Need::new("doxygen", &["doxygen"]);
const MAKE: Need = Need::new("make", &["make"]);
const KILL: Need = Need::new("kill", &["procps"]);
const MPIRUN: Need = Need::new("mpirun", &["openmpi-bin"]);
const OSHRUN: Need = Need::new("oshrun", &["openmpi-bin"]);
const OSHCC: Need = Need::new("oshcc", &["gcc", "libopenmpi-dev"]);

const MPICC: Need = Need::new("mpicc", &["gcc", "libopenmpi-dev"]);
/// A second compiler for the headers. Without it, its test is omitted.
const CLANG: Need = Need::new("clang", &["clang"]);
/// Assembles bitcode from clang's textual output.
const LLVM: Need = Need::new("llvm-as", &["llvm"]);
/// The controller of Slurm; its packages include the daemons and commands of its test.
const SLURM: Need = Need::new(
    "slurmctld",
    &["slurmctld", "slurmd", "slurm-client", "munge"],
);
/// bindgen reads MPI's header with it.
const LIBCLANG: Need = Need::new("libclang", &["libclang-dev"]);

/// torch for Debian's Python; a program of the Python tests uses it.
const TORCH: Need = Need::new(
    "/usr/bin/python3",
    &["python3", "python3-torch", "python3-numpy"],
);
const VALGRIND: Need = Need::new("valgrind", &["valgrind"]);
/// Compares the C ABI with an earlier one.
const ABIDIFF: Need = Need::new("abidiff", &["abigail-tools"]);
/// With its package for foreign functions, which the bindings of nvshmemrs-inspect need.
const RUBY: Need = Need::new("ruby", &["ruby", "ruby-ffi"]);
/// Runs a program as another user.
const SETPRIV: Need = Need::new("setpriv", &["util-linux"]);

impl Need {
    const fn new(program: &'static str, packages: &'static [&'static str]) -> Need {
        Need { program, packages }
    }

    fn name(&self) -> &'static str {
        if self.program == PYTHON.program {
            "python3 with venv and ensurepip"
        } else if self.program == TORCH.program {
            "torch for Debian's Python"
        } else if self.program == RUBY.program {
            "ruby with ffi"
        } else {
            self.program
        }
    }

    fn is_met(&self) -> bool {
        let imports = |modules: &str| {
            run::works(Command::new(self.program).args(["-c", &format!("import {modules}")]))
        };
        if self.program == LIBCLANG.program {
            return has_libclang();
        }
        // MPICC names the compiler of another MPI for the plugin's build.
        if self.program == MPICC.program && std::env::var_os("MPICC").is_some() {
            return true;
        }
        run::exists(self.program)
            && (self.program != PYTHON.program || imports("ensurepip, venv"))
            && (self.program != TORCH.program || imports("numpy, torch"))
            && (self.program != RUBY.program
                || run::works(Command::new(self.program).args(["-e", "require 'ffi'"])))
    }
}

/// Whether libclang is in `LIBCLANG_PATH` or in the folder of Debian's packages.
fn has_libclang() -> bool {
    let versions = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten();
    let mut folders =
        versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    std::env::var_os("LIBCLANG_PATH").is_some()
        || folders.any(|entry| entry.path().join("lib/libclang.so").exists())
}

fn needs(purpose: Purpose) -> &'static [Need] {
    match purpose {
        Purpose::Demo | Purpose::Site => &[PYTHON],
        Purpose::Test => &[
            PYTHON, CC, CXX, GFORTRAN, DOXYGEN, MAKE, KILL, MPIRUN, MPICC, LIBCLANG, VALGRIND,
            ABIDIFF, SETPRIV, PKG_CONFIG, RUBY, TORCH,
        ],
        Purpose::Bench => &[PYTHON, CC, OSHRUN, OSHCC],
        Purpose::Wheel => &[PYTHON, CC, PKG_CONFIG],
        Purpose::Plugins => &[CC, MPICC, LIBCLANG],
    }
}

/// Optional programs.
fn wishes(purpose: Purpose) -> &'static [Need] {
    match purpose {
        Purpose::Test => &[CLANG, LLVM, SLURM],
        Purpose::Demo | Purpose::Site | Purpose::Bench | Purpose::Wheel | Purpose::Plugins => &[],
    }
}

fn unmet(needs: &'static [Need]) -> Vec<&'static Need> {
    needs.iter().filter(|need| !need.is_met()).collect()
}

/// Installs the Debian packages of missing programs as root; other users get a message with the packages. Optional programs are
/// installed if possible.
pub(crate) fn packages(purpose: Purpose) -> Result<()> {
    must_have(&unmet(needs(purpose)))?;
    let wished = unmet(wishes(purpose));
    if !wished.is_empty()
        && is_root()
        && run::exists("apt-get")
        && let Err(why) = install(&wished)
    {
        print_step(&format!("going on without {}: {why:#}", names(&wished)));
    }
    Ok(())
}

fn names(needs: &[&Need]) -> String {
    let names: Vec<&str> = needs.iter().map(|need| need.name()).collect();
    names.join(", ")
}

fn packages_of(needs: &[&Need]) -> Vec<&'static str> {
    let packages = needs.iter().flat_map(|need| need.packages);
    packages.copied().collect()
}

/// Installs missing programs, or fails with a message that lists them.
fn must_have(missing: &[&Need]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let what = names(missing);
    if !run::exists("apt-get") {
        bail!(
            "missing: {what}. This machine has no apt-get to bring them; install them and run this again"
        );
    }
    if !is_root() {
        bail!(
            "missing: {what}. Install them as root and run this again:\n  apt-get update && apt-get install -y {}",
            packages_of(missing).join(" ")
        );
    }
    install(missing)
}

/// Installs the packages of missing programs, as root.
fn install(missing: &[&Need]) -> Result<()> {
    let packages = packages_of(missing);
    print_step(&format!("installing {}", packages.join(" ")));
    run::output(apt_get().args(["-q", "update"]))?;
    let install = ["-q", "install", "-y", "--no-install-recommends"];
    run::output(apt_get().args(install).args(&packages))?;
    if let Some(need) = missing.iter().find(|need| !need.is_met()) {
        bail!(
            "{} is still missing after installing {}",
            need.name(),
            need.packages.join(" ")
        );
    }
    Ok(())
}

/// Installs rustfmt and clippy, which the tests run and minimal installations of Rust lack.
pub(crate) fn rust_components(purpose: Purpose) -> Result<()> {
    if purpose != Purpose::Test {
        return Ok(());
    }
    let missing: Vec<&str> = [("rustfmt", "fmt"), ("clippy", "clippy")]
        .iter()
        .filter(|(_, sub)| !run::works(Command::new("cargo").args([sub, "--version"])))
        .map(|(component, _)| *component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    rustup_add("component", &missing)
}

/// Installs the standard library for a target, which a toolchain has for its own machine only.
pub(crate) fn rust_target(target: &str) -> Result<()> {
    let print = ["--print", "target-libdir", "--target", target];
    let folder = run::output(Command::new("rustc").args(print))?;
    match Path::new(folder.trim()).is_dir() {
        true => Ok(()),
        false => rustup_add("target", &[target]),
    }
}

fn rustup_add(kind: &str, names: &[&str]) -> Result<()> {
    let all = names.join(" and ");
    if !run::exists("rustup") {
        bail!("the Rust toolchain lacks {all} and there is no rustup to add them");
    }
    print_step(&format!("adding {all} to the Rust toolchain"));
    run::run(Command::new("rustup").args([kind, "add"]).args(names))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // Another apt may be running on a machine that has just started.
    command.args(["-o", "DPkg::Lock::Timeout=300"]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    run::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
