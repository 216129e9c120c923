//! The measured libraries: how a program for each is compiled and started.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The libraries that nvshmemrs can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// OpenSHMEM 1.4, such as Open MPI's OSHMEM: oshcc and oshrun
    Oshmem,
    /// MPI-3 one-sided calls and collectives: mpicc and mpirun
    Mpi,
}

/// A measured library.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// nvshmemrs.
    Ours(Installation),
    /// The library that nvshmemrs is compared with.
    Peer(Peer),
}

/// The paths of the launcher and the library.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    launcher: PathBuf,
    library: PathBuf,
}

impl Installation {
    /// Finds launcher and library beside this program.
    pub(crate) fn find() -> Result<Self> {
        let program = env::current_exe().context("cannot find the place of this program")?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let launcher = folder.join("nvshmemrs-run");
        if !launcher.is_file() {
            bail!(
                "{} is missing: nvshmemrs-perf starts its programs with the nvshmemrs-run beside it (in a checkout, \
                 `cargo build --release` builds both)",
                launcher.display()
            );
        }
        let name = "libnvshmemrs.so.0";
        let mut places = vec![folder.join(name), folder.join("../lib").join(name)];
        places.extend(in_python(folder).into_iter().map(|place| place.join(name)));
        let Some(library) = places.iter().find(|place| place.is_file()) else {
            bail!(
                "{} is missing, and {} too: nvshmemrs-perf measures the library beside it (in a checkout, \
                 `cargo build --release` builds both)",
                places[0].display(),
                places[1].display()
            );
        };
        Ok(Self {
            launcher,
            library: library
                .canonicalize()
                .context("cannot resolve the library's place")?,
        })
    }

    /// The launcher with `n_pes` PEs; the program and its arguments follow.
    pub(crate) fn launch(&self, n_pes: u32) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["-n", &n_pes.to_string(), "--"]);
        command
    }
}

/// The folders of the library in Python's package, if this program is part of it.
fn in_python(folder: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(folder.join("../lib")).into_iter().flatten();
    let versions = versions.flatten().map(|version| version.path());
    versions
        .flat_map(|version| {
            ["site-packages", "dist-packages"].map(|packages| version.join(packages))
        })
        .map(|packages| packages.join("nvshmemrs/lib"))
        .collect()
}

impl Side {
    /// Its name in tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "ours",
            Self::Peer(Peer::Oshmem) => "OSHMEM",
            Self::Peer(Peer::Mpi) => "MPI",
        }
    }

    /// The header that maps the worker's operations to this library.
    pub(crate) fn header(&self) -> &'static str {
        match self {
            Self::Ours(_) => "side_ours.h",
            Self::Peer(Peer::Oshmem) => "side_oshmem.h",
            Self::Peer(Peer::Mpi) => "side_mpi.h",
        }
    }

    /// The compiler, with its options.
    pub(crate) fn compiler(&self) -> Command {
        let mut command = Command::new(self.compiler_name());
        // The same options for all sides, so that they can be compared.
        command.args(["-std=gnu11", "-O2"]);
        command
    }

    /// The linker's arguments, after the sources.
    pub(crate) fn libraries(&self) -> Vec<String> {
        match self {
            Self::Peer(_) => Vec::new(),
            Self::Ours(installation) => {
                let folder = installation.library.parent().unwrap_or(Path::new("/"));
                vec![
                    installation.library.display().to_string(),
                    format!("-Wl,-rpath,{}", folder.display()),
                ]
            }
        }
    }

    /// The launcher with `n_pes` PEs; the program and its arguments follow.
    pub(crate) fn launch(&self, n_pes: u32) -> Command {
        let peer = match self {
            Self::Ours(installation) => return installation.launch(n_pes),
            Self::Peer(peer) => peer,
        };
        let mut command = Command::new(peer.launcher());
        // On a machine without a network, Open MPI and UCX print warnings.
        command.args(["--allow-run-as-root", "--oversubscribe"]);
        command.args(["--mca", "btl_base_warn_component_unused", "0"]);
        command.args(["-x", "UCX_LOG_LEVEL=fatal"]);
        if *peer == Peer::Mpi {
            // The fastest implementation of windows in Open MPI 4.1 on one host; the default (rdma) crashes in
            // MPI_Compare_and_swap.
            command.args(["--mca", "osc", "sm"]);
        }
        command.args(["-n", &n_pes.to_string()]);
        command
    }

    /// An error unless the compiler and the launcher can be started.
    pub(crate) fn check(&self) -> Result<()> {
        let (launcher, purpose, package) = match self {
            Self::Ours(_) => (None, "compiles the programs", "gcc and libc6-dev"),
            Self::Peer(peer) => (
                Some(peer.launcher()),
                "compiles the peer's programs",
                "libopenmpi-dev",
            ),
        };
        exists(self.compiler_name(), purpose, package)?;
        launcher.map_or(Ok(()), |launcher| {
            exists(launcher, "starts the peer's programs", "openmpi-bin")
        })
    }

    fn compiler_name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "cc",
            Self::Peer(Peer::Oshmem) => "oshcc",
            Self::Peer(Peer::Mpi) => "mpicc",
        }
    }
}

impl Peer {
    /// The command that starts the peer's programs.
    pub(crate) fn launcher(self) -> &'static str {
        match self {
            Self::Oshmem => "oshrun",
            Self::Mpi => "mpirun",
        }
    }
}

fn exists(program: &str, purpose: &str, package: &str) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        bail!("`{program}`, which {purpose}, is not in PATH; the Debian package is {package}");
    }
    Ok(())
}
