//! Finds the limit that kept the launcher from starting a process.

use anyhow::{Error, anyhow};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, getuid};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

/// Turns an error in starting a process or a thread, or in opening a pipe, into the launcher's error, which names the limit that
/// was reached.
pub fn error<E: Into<io::Error>>(what: impl Display) -> impl FnOnce(E) -> Error {
    move |error| {
        let error = error.into();
        anyhow!("{what}: {error}{}", reached(&error))
    }
}

/// " (the limit ... is too low)"; empty if no limit was reached.
fn reached(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE) => {
            let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            format!(" (the limit of open files of a process, `ulimit -n`, is {limit}: too low)")
        }
        Some(Errno::NFILE) => {
            " (the machine's limit of open files, fs.file-max, is reached)".into()
        }
        Some(Errno::AGAIN) => processes(),
        _ => String::new(),
    }
}

/// The limit on processes that was reached.
fn processes() -> String {
    let user = getrlimit(Resource::Nproc).current;
    match (full_group(), user) {
        (Some(limit), _) => format!(
            " (the control group's limit of processes and threads, pids.max, is {limit}: too low)"
        ),
        // The limit does not apply to root.
        (None, Some(limit)) if !getuid().is_root() => format!(
            " (the limit of processes and threads of a user, `ulimit -u`, is {limit}: too low)"
        ),
        _ => " (the machine's limit of processes and threads, kernel.threads-max or kernel.pid_max, is reached)"
            .into(),
    }
}

/// The limit on processes of the first full control group of this process.
fn full_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let root = match controllers {
            // Version 2 has one tree for all controllers.
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "pids") => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        Path::new(path).ancestors().find_map(|folder| {
            let read = |name: &str| -> Option<u64> {
                let file = format!("{root}{}/{name}", folder.display());
                fs::read_to_string(file).ok()?.trim().parse().ok()
            };
            read("pids.max").filter(|&limit| read("pids.current").is_some_and(|now| now >= limit))
        })
    })
}
