//! Jobs whose PEs a test starts by itself, without `nvshmemrs-run`: so it sees how each of them ends, and starts them when
//! and as it likes.

use crate::{HANG, Output, Running, spawn};
use nvshmemrs::UniqueId;
use rustix::process::{Pid, test_kill_process_group};
use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Variables that launchers and users set, which are removed so that a test sees only those it sets. The library's place stays.
const PREFIXES: [&str; 6] = ["NVSHMEM", "OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "MPI_"];
const NAMES: [&str; 5] = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
];

/// A command without input that knows of no job and no setting.
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let ours = PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        if (ours || NAMES.contains(&&*text)) && text != "NVSHMEMRS_LIBRARY" {
            command.env_remove(&name);
        }
    }
    command
}

/// A command that is PE `pe` of the `n_pes` of a job.
pub fn member(program: impl AsRef<OsStr>, id: &UniqueId, pe: u32, n_pes: u32) -> Command {
    let mut command = clean(program);
    command
        .env("NVSHMEMRS_UNIQUE_ID", id.to_hex())
        .env("NVSHMEMRS_PE", pe.to_string())
        .env("NVSHMEMRS_N_PES", n_pes.to_string());
    command
}

/// A new unique id.
#[track_caller]
pub fn unique_id() -> UniqueId {
    UniqueId::new().expect("the system has random numbers")
}

/// Starts all PEs of a job; `adjust` sees each command before.
#[track_caller]
pub fn start(
    program: impl AsRef<OsStr>,
    n_pes: u32,
    adjust: impl Fn(u32, &mut Command),
) -> Vec<Running> {
    let id = unique_id();
    (0..n_pes)
        .map(|pe| {
            let mut command = member(&program, &id, pe, n_pes);
            adjust(pe, &mut command);
            spawn(&mut command)
        })
        .collect()
}

/// Waits for the end of every process, and panics if one leaves a process behind.
#[track_caller]
pub fn finish(job: Vec<Running>) -> Vec<Output> {
    let groups: Vec<u32> = job.iter().map(Running::pid).collect();
    let outputs = job.into_iter().map(|pe| pe.wait(HANG)).collect();
    for group in groups {
        assert!(
            ends(group),
            "a process of the group {group} was left behind"
        );
    }
    outputs
}

/// Whether no process is left in a process group, soon.
fn ends(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    let group = group.expect("not a process group");
    let start = Instant::now();
    while test_kill_process_group(group).is_ok() {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}
