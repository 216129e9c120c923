//! The jobs of this machine, found through its processes.

use nvshmemrs::board::{Board, InitStatus, Refusal};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// The name of the launcher's processes, which the kernel shows to all users.
const LAUNCHER: &str = "nvshmemrs-run";

/// A job that this user may inspect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The process that represents the job: nvshmemrs's launcher if there is one, else the first PE.
    pub pid: u32,
    /// The processes of the job's PEs on this machine.
    pub pes: Vec<u32>,
    /// The number of PEs, including PEs of other hosts.
    pub n_pes: i32,
    /// Whether the PEs are still in init.
    pub forming: bool,
    /// The command line of the first PE.
    pub command: String,
    /// The time since the start of this process, in seconds.
    pub seconds: f64,
    /// The number of the user who owns the process.
    pub user: u32,
}

/// The jobs of this machine that are visible to this user.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listing {
    /// The jobs that this user may inspect, in the order of their processes.
    pub jobs: Vec<Listed>,
    /// The launchers of other users, whose jobs are not visible: their processes and users.
    pub others: Vec<(u32, u32)>,
}

/// Lists the jobs of this machine.
pub fn jobs() -> Listing {
    let mut listing = Listing::default();
    let mut found: BTreeMap<String, Listed> = BTreeMap::new();
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = folders
        .filter_map(|folder| folder.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        let Some((key, n_pes, forming)) = (match job_of(pid) {
            Ok(job) => job,
            // Helper processes of the launcher have the same name.
            Err(Refusal::OtherUser { .. }) if name(pid) == LAUNCHER && launcher(pid).is_none() => {
                listing.others.extend(user(pid).map(|user| (pid, user)));
                None
            }
            Err(_) => None,
        }) else {
            continue;
        };
        // A process without a user has ended.
        let Some(user) = user(pid) else {
            continue;
        };
        let job = found.entry(key).or_insert_with(|| Listed {
            pid: launcher(pid).unwrap_or(pid),
            pes: Vec::new(),
            n_pes,
            forming,
            command: command(pid),
            seconds: age(pid).as_secs_f64(),
            user,
        });
        job.pes.push(pid);
    }
    listing.jobs = found.into_values().collect();
    listing.jobs.sort_by_key(|job| job.pid);
    listing
}

/// The identity of a process's job, the number of its PEs, and whether it is in init; none if the process is no PE.
fn job_of(pid: u32) -> Result<Option<(String, i32, bool)>, Refusal> {
    match Board::of_process(pid) {
        Ok(board) if board.pes().iter().any(|pe| pe.pid == pid) => {
            Ok(Some((board.number().to_string(), board.n_pes(), false)))
        }
        // A forked child of a PE has the PE's files, but is no PE.
        Ok(_) | Err(Refusal::NoJob { .. }) => {
            let inits = InitStatus::of_process(pid)?;
            let init = inits.first();
            Ok(init.map(|init| (init.name().to_string(), init.n_pes(), true)))
        }
        Err(refusal) => Err(refusal),
    }
}

/// The launcher that has started a process, if any.
fn launcher(pid: u32) -> Option<u32> {
    let mut pid = pid;
    // There may be a shell between the two.
    for _ in 0..4 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        pid = rest.split(' ').nth(1)?.parse().ok()?;
        if name(pid) == LAUNCHER {
            return Some(pid);
        }
    }
    None
}

fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_string()
}

fn user(pid: u32) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

fn command(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// The time since the start of a process.
fn age(pid: u32) -> Duration {
    let start = fs::metadata(format!("/proc/{pid}")).and_then(|folder| folder.modified());
    let since = start
        .ok()
        .and_then(|start| SystemTime::now().duration_since(start).ok());
    since.unwrap_or_default()
}
