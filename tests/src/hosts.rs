//! Jobs on several hosts: `mpirun` starts them on this host, which plays several by `NVSHMEMRS_HOST_ID`.

use crate::bin;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// PEs on one of the hosts that this machine plays, and the variables that only they have in their environment.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many PEs are there.
    pub pes: u32,
    /// Names and values.
    pub env: &'a [(&'a str, &'a str)],
}

/// A host with nothing of its own.
pub const fn host(name: &str, pes: u32) -> Host<'_> {
    Host {
        name,
        pes,
        env: &[],
    }
}

/// `mpirun` for these words on these hosts, one after the other, with these options. It takes the plugin beside the library.
#[track_caller]
pub fn mpirun(options: &[&str], hosts: &[Host<'_>], words: &[OsString]) -> Command {
    plugin();
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]);
    command.args(options);
    for (index, host) in hosts.iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        command.args(["-n", &host.pes.to_string()]);
        for (name, value) in [("NVSHMEMRS_HOST_ID", host.name)].iter().chain(host.env) {
            command.args(["-x", &format!("{name}={value}")]);
        }
        command.args(words);
    }
    command.env("NVSHMEM_SYMMETRIC_SIZE", "64m");
    command
}

/// The plugin that `cargo xtask plugins` has built.
#[track_caller]
pub fn plugin() -> PathBuf {
    bin("libnvshmemrs_mpi.so")
}
