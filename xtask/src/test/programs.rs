//! Runs the programs of `cargo test`, a few side by side: most of them wait for processes that they have started. Cargo runs one after
//! another.

use crate::run::{self, Shown};
use crate::show;
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many run side by side. Each runs as many tests at once as there are cores, and other steps run beside them.
const LANES: usize = 2;
/// How long a program may run, on a slow machine.
const LIMIT: Duration = Duration::from_secs(1200);
/// Programs that run for long. They start first, so that none of them runs alone at the end. A name that is wrong here does no harm.
const LONG: [&str; 14] = [
    "tests: check",
    "tests: device_header",
    "tests: device_hosts",
    "tests: kernels",
    "tests: device_streams",
    "tests: julia",
    DOCUMENTATION,
    "tests/conformance/suite: threads",
    "tests: suite",
    "tests: faults",
    "tests: conformance",
    "core: nvshmemrs",
    "core/crates/check: nvshmemrs_check",
    "core: litmus",
];
/// The name of the step for examples in the documentation.
const DOCUMENTATION: &str = "examples in the documentation";

/// A test program that cargo has built, or the examples in the documentation.
enum Program {
    Built {
        name: String,
        /// The folder of its package, in which cargo would run it.
        folder: PathBuf,
        file: PathBuf,
    },
    Documentation {
        quick: bool,
    },
}

/// A line of what cargo prints as JSON.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// `cargo test` of the workspace; `quick` leaves out the programs of the package `nvshmemrs-tests`.
pub(super) fn cargo(tree: &Tree, quick: bool) -> Command {
    let mut cargo = tree.cargo();
    cargo.args(["test", "--release", "--workspace"]);
    if quick {
        cargo.args(["--exclude", "nvshmemrs-tests"]);
    }
    cargo
}

/// Builds and runs all. Gives what all of them have printed, one after another.
pub(super) fn all(tree: &Tree, quick: bool, left_out: &Path) -> Result<Shown> {
    let mut build = cargo(tree, quick);
    build.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let mut programs = built(&tree.root, &run::output(&mut build)?)?;
    programs.push(Program::Documentation { quick });
    programs.sort_by_key(Program::rank);
    ensure!(programs.len() > 1, "cargo has built no test program");

    let rest = Mutex::new(programs.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let lane = || -> Result<Vec<Shown>> {
        std::iter::from_fn(next)
            .map(|program| show::in_one_piece(|| program.run(tree, left_out))?)
            .collect()
    };
    let lanes = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let ended = lanes.into_iter().map(|lane| lane.join());
        ended.collect::<Vec<_>>()
    });
    let mut text = String::new();
    let mut failures = Vec::new();
    for lane in lanes {
        let shown = lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for Shown { text: one, outcome } in shown {
            text += &one;
            failures.extend(outcome.err().map(|error| format!("{error:#}")));
        }
    }
    let outcome = match failures.is_empty() {
        true => Ok(()),
        false => Err(anyhow::anyhow!("{}", failures.join("; "))),
    };
    Ok(Shown { text, outcome })
}

/// Reads the test programs from cargo's messages.
fn built(root: &Path, messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Message = serde_json::from_str(line)
            .with_context(|| format!("cargo printed what is no message: {line}"))?;
        let (Some(manifest), Some(target), Some(profile), Some(file)) = (
            message.manifest_path,
            message.target,
            message.profile,
            message.executable,
        ) else {
            continue;
        };
        if !profile.test {
            continue;
        }
        let folder = manifest.parent().context("a manifest is in a folder")?;
        let package = folder.strip_prefix(root).unwrap_or(folder).display();
        programs.push(Program::Built {
            name: format!("{package}: {}", target.name),
            folder: folder.to_path_buf(),
            file,
        });
    }
    Ok(programs)
}

impl Program {
    fn name(&self) -> &str {
        match self {
            Program::Built { name, .. } => name,
            Program::Documentation { .. } => DOCUMENTATION,
        }
    }

    /// Those with a low one start first.
    fn rank(&self) -> usize {
        let long = LONG.iter().position(|long| self.name() == *long);
        long.unwrap_or(LONG.len())
    }

    fn run(&self, tree: &Tree, left_out: &Path) -> Result<Shown> {
        let start = Instant::now();
        show::line(format_args!("\n-- {}", self.name()));
        let mut command = self.command(tree)?;
        let mut shown = run::tee(command.env("TESTS_LEFT_OUT", left_out), LIMIT)?;
        let seconds = start.elapsed().as_secs_f64();
        let word = if shown.outcome.is_ok() {
            "ok"
        } else {
            "FAILED"
        };
        show::line(format_args!("-- {}: {word}, {seconds:.1} s", self.name()));
        shown.outcome = shown.outcome.with_context(|| self.name().to_string());
        Ok(shown)
    }

    /// With what cargo gives to a program that it runs.
    fn command(&self, tree: &Tree) -> Result<Command> {
        let (folder, file) = match self {
            Program::Built { folder, file, .. } => (folder, file),
            Program::Documentation { quick } => {
                let mut cargo = cargo(tree, *quick);
                cargo.args(["--no-fail-fast", "--doc"]);
                return Ok(cargo);
            }
        };
        let old = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let own = [tree.release().join("deps"), tree.release()];
        let old = std::env::split_paths(&old).filter(|folder| !folder.as_os_str().is_empty());
        let libraries = std::env::join_paths(own.into_iter().chain(old))?;
        let mut command = tree.with_contract(tree.command(file));
        command
            .current_dir(folder)
            .env("CARGO_MANIFEST_DIR", folder)
            .env("LD_LIBRARY_PATH", libraries);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_read_from_cargos_messages() -> Result<()> {
        let artifact = |name: &str, test: bool, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/{name}/Cargo.toml","target":{{"name":"check"}},"profile":{{"test":{test}}},"executable":{file}}}"#
            )
        };
        let messages = [
            artifact("core", true, r#""/t/a""#),
            artifact("tests", true, r#""/t/b""#),
            artifact("cli", false, r#""/t/c""#),
            artifact("cli", true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let mut programs = built(Path::new("/w"), &messages.join("\n"))?;
        programs.push(Program::Documentation { quick: false });
        programs.sort_by_key(Program::rank);
        let names: Vec<&str> = programs.iter().map(Program::name).collect();
        assert_eq!(names, ["tests: check", DOCUMENTATION, "core: check"]);
        assert!(built(Path::new("/w"), "error: no").is_err());
        Ok(())
    }
}
