//! The paths of the checkout, and the environment of processes that are started there.

use crate::{run, show};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout and its build folder.
pub(crate) struct Tree {
    /// The root of the workspace.
    pub(crate) root: PathBuf,
    /// Cargo's build folder.
    target: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

impl Tree {
    /// Asks cargo, which knows about `CARGO_TARGET_DIR` and configuration files.
    pub(crate) fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let mut cargo = Command::new(cargo());
        cargo
            .args(["metadata", "--format-version=1", "--no-deps"])
            .current_dir(manifest);
        let metadata: Metadata = serde_json::from_str(&run::output(&mut cargo)?)
            .context("cargo metadata printed no JSON that names the workspace")?;
        Ok(Self {
            root: metadata.workspace_root,
            target: metadata.target_directory,
        })
    }

    /// Where the release profile's results are.
    pub(crate) fn release(&self) -> PathBuf {
        self.target.join("release")
    }

    /// Where the release profile's results for another target are, named as rustc names it.
    pub(crate) fn release_for(&self, target: &str) -> PathBuf {
        self.target.join(target).join("release")
    }

    /// Where the plugins are built, each a workspace of its own.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.target.join("plugins")
    }

    /// Where wheels for others are.
    pub(crate) fn wheels(&self) -> PathBuf {
        self.target.join("wheels")
    }

    /// Where the documentation site is.
    pub(crate) fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// A folder below the build folder for the files that the xtask itself makes.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.target.join("xtask").join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// The library that everything is tested with.
    pub(crate) fn library(&self) -> PathBuf {
        self.release().join("libnvshmemrs.so")
    }

    /// The images of the GPU kernels, where the library looks for them.
    pub(crate) fn images(&self) -> PathBuf {
        self.release().join("nvshmemrs-images")
    }

    /// The launcher.
    pub(crate) fn launcher(&self) -> PathBuf {
        self.release().join("nvshmemrs-run")
    }

    /// The virtual environment with the pinned packages and the wheel.
    pub(crate) fn venv(&self) -> PathBuf {
        self.root.join(".venv")
    }

    /// The Python of [`Tree::venv`].
    pub(crate) fn python(&self) -> PathBuf {
        self.venv().join("bin/python")
    }

    /// The script that starts Julia with its own libraries; `NVSHMEMRS_JULIA` names another one.
    pub(crate) fn julia(&self) -> PathBuf {
        env::var_os("NVSHMEMRS_JULIA").map_or_else(
            || self.root.join(".julia/bin/julia-nvshmemrs"),
            PathBuf::from,
        )
    }

    /// A Python with a torch that has `torch.compile`; `NVSHMEMRS_TORCH` names another one.
    pub(crate) fn torch(&self) -> PathBuf {
        env::var_os("NVSHMEMRS_TORCH")
            .map_or_else(|| self.root.join(".torch/bin/python-torch"), PathBuf::from)
    }

    /// A command that runs at the root, with the built programs first in `PATH`.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("PATH", self.path());
        show::of(&mut command);
        command
    }

    /// Cargo, with the variables of the tests in its environment.
    pub(crate) fn cargo(&self) -> Command {
        self.with_contract(self.command(cargo()))
    }

    /// `command`, which finds the library just built, Python and Julia through its environment.
    pub(crate) fn with_contract(&self, mut command: Command) -> Command {
        command
            .env("NVSHMEMRS_BIN_DIR", self.release())
            .env("NVSHMEMRS_LIBRARY", self.library())
            .env("NVSHMEMRS_PYTHON", self.python())
            .env("NVSHMEMRS_JULIA", self.julia());
        command
    }

    /// The launcher with `n_pes` PEs; the program and its arguments follow.
    pub(crate) fn launch(&self, n_pes: u32) -> Command {
        let mut command = self.command(self.launcher());
        command.args(["-n", &n_pes.to_string(), "--"]);
        command
    }

    fn path(&self) -> OsString {
        let old = env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.release()).chain(env::split_paths(&old));
        env::join_paths(all).unwrap_or(old)
    }

    /// `path` as a person at the root would write it.
    pub(crate) fn short<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// The cargo that runs us.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
