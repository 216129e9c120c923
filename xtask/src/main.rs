//! The project's own commands, run as `cargo xtask <command>` from anywhere in the checkout.
//!
//! * [`setup`] installs the requirements of a command: Debian packages, a `.venv`, Julia;
//! * [`demo`], [`test`] and [`bench`] set themselves up first, so each works in a fresh clone;
//! * [`tree`] has the paths of the checkout, [`run`] starts processes, [`show`] prints.
//!
//! There is one profile, `--release`, so nothing is compiled twice.

mod bench;
mod bitcode;
mod bundle;
mod count;
mod demo;
mod fuzz;
mod images;
mod install;
mod instrument;
mod plugins;
mod run;
mod sanitize;
mod setup;
mod show;
mod site;
mod soak;
mod test;
mod tree;
mod wheel;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use tree::Tree;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install the missing requirements of a command
    Setup {
        /// The command to prepare for
        #[arg(long = "for", value_enum, default_value = "test")]
        purpose: setup::Purpose,
    },
    /// Build the whole workspace in the release profile
    Build,
    /// Write the generated files (C header, low layers of the bindings) anew
    Generate {
        /// Only compare; fail if a file differs
        #[arg(long)]
        check: bool,
    },
    /// Count lines of code: hand-written, tests, generated
    Count,
    /// Write the bindings of nvshmemrs-inspect for Ruby, Kotlin or Swift
    InspectBindings {
        /// ruby, kotlin or swift
        language: String,
        /// The folder to write to; `target/xtask/inspect-bindings/LANGUAGE` if left out
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Run the conformance programs of all languages, and write their results into docs/languages.md
    Languages,
    /// Compile the GPU kernels for every architecture that is shipped; needs no GPU
    Images,
    /// Build the plugin with which PEs of several hosts reach each other over MPI
    Plugins {
        /// Make its wheels for Open MPI and MPICH instead, in `target/wheels`, beside that of `cargo xtask wheel`
        #[arg(long)]
        wheels: bool,
    },
    /// Build that plugin for MPICH too, and run jobs on two hosts under its mpiexec
    Mpich,
    /// Make Python's wheel for people without Rust, in `target/wheels`
    Wheel(wheel::Args),
    /// Make `dist/`, which runs on GPU nodes without Rust
    Bundle(bundle::Args),
    /// Install libraries, headers, tools and files for build systems, below a folder
    Install(install::Args),
    /// Build the documentation site in `target/site`; its search works without a network
    Site,
    /// Hillslope diffusion over a real elevation model on four PEs
    Demo {
        /// The folder of the picture
        #[arg(long, value_name = "DIR", default_value = "out")]
        out: PathBuf,
    },
    /// Every check of the project; the last line counts them
    Test {
        /// Leave out the programs in other languages, Julia, sanitizers, fuzz targets and the examples
        #[arg(long)]
        quick: bool,
    },
    /// The core's tests under a sanitizer
    Sanitize {
        /// Which one
        sanitizer: sanitize::Sanitizer,
        /// Only data, ordering and waiting, with the standard library as it comes
        #[arg(long)]
        quick: bool,
    },
    /// Hostile inputs for the C ABI, the bootstrap, the settings and the control block
    Fuzz(fuzz::Args),
    /// Operations drawn by lot for a set time, every result checked, memory and descriptors watched
    Soak(soak::Args),
    /// Measure
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// nvshmemrs and Open MPI's OSHMEM in turn, the same loops on both
    Peers {
        /// Two rounds instead of five
        #[arg(long)]
        quick: bool,
        /// Also write the figures to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match dispatch(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    run::end_children_on_signals()?;
    let tree = Tree::find()?;
    match command {
        Command::Setup { purpose } => setup::all(&tree, purpose)?,
        Command::Build => build(&tree)?,
        Command::Generate { check } => run::run(&mut generate(&tree, check))?,
        Command::Count => count::count(&tree)?,
        Command::InspectBindings { language, out } => {
            inspect_bindings(&tree, &language, out)?;
        }
        Command::Languages => languages(&tree)?,
        Command::Images => images::images(&tree)?,
        Command::Plugins { wheels: false } => plugins::plugins(&tree)?,
        Command::Plugins { wheels: true } => plugins::wheels(&tree)?,
        Command::Mpich => plugins::mpich(&tree)?,
        Command::Wheel(args) => wheel::wheel(&tree, &args)?,
        Command::Bundle(args) => bundle::bundle(&tree, &args)?,
        Command::Install(args) => install::install(&tree, &args)?,
        Command::Site => site::site(&tree)?,
        Command::Demo { out } => demo::demo(&tree, &out)?,
        Command::Test { quick } => return test::test(&tree, quick),
        Command::Sanitize { sanitizer, quick } => {
            sanitize::sanitize(&tree, sanitizer, quick)?.outcome?;
        }
        Command::Fuzz(args) => fuzz::sum(fuzz::fuzz(&tree, &args)?)?,
        Command::Soak(args) => soak::soak(&tree, &args)?,
        Command::Bench {
            what: Bench::Peers { quick, json },
        } => {
            bench::peers(&tree, quick, json.as_deref())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the workspace in the release profile.
fn build(tree: &Tree) -> Result<()> {
    build_only(tree, &[])
}

/// Builds these targets of the workspace. It is always the whole workspace: with a subset of packages, dependencies would have
/// other features and be compiled again.
fn build_only(tree: &Tree, targets: &[&str]) -> Result<()> {
    let mut cargo = tree.cargo();
    run::run(
        cargo
            .args(["build", "--release", "--workspace"])
            .args(targets),
    )
}

/// Writes the bindings of nvshmemrs-inspect for a language whose bindings are not committed.
fn inspect_bindings(tree: &Tree, language: &str, out: Option<PathBuf>) -> Result<()> {
    build(tree)?;
    let out = match out {
        Some(out) => out,
        None => tree.scratch("inspect-bindings")?.join(language),
    };
    let generator = tree.release().join("nvshmemrs-inspect-generator");
    let mut command = tree.command(generator);
    command.env("NVSHMEMRS_BIN_DIR", tree.release());
    run::run(command.arg(language).arg(out))
}

/// Runs the conformance programs, which write the table.
fn languages(tree: &Tree) -> Result<()> {
    build(tree)?;
    let test = ["--package", "nvshmemrs-tests", "--test", "conformance"];
    let mut command = tree.cargo();
    command.args(["test", "--release"]).args(test);
    command.args(["--", "--ignored", "--exact", "write_the_page"]);
    run::run(&mut command)
}

/// The command that writes or compares the generated files.
fn generate(tree: &Tree, check: bool) -> std::process::Command {
    let mut command = tree.cargo();
    command.args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "nvshmemrs-generator",
        "--",
    ]);
    if check {
        command.arg("--check");
    }
    command
}
