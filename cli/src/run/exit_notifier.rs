//! Records the exits of PEs for the other PEs: a PE in init cannot see the exit of a PE that has not joined.
//!
//! A failed PE ends the job, so its exit is recorded at once. A PE that exited with status 0 may be a wrapper that left the real
//! program in the background. So its exit is recorded once its process group is empty, and no orphan of it with a group of its
//! own is left.

use super::job::{End, Job, Pe};
use super::watch::numbers;
use crate::console;
use anyhow::Result;
use nvshmemrs::{ExitRegistry, Progress};
use rustix::io::Errno;
use rustix::process::test_kill_process_group;
use std::fs;
use std::io::ErrorKind;

/// Records which PEs of a job have ended.
#[derive(Debug)]
pub struct ExitNotifier {
    /// `None` if the launcher cannot create the file: then a PE in init waits for an ended PE until its deadline.
    registry: Option<ExitRegistry>,
    /// PEs that have ended, but whose processes may not all have ended.
    open: Vec<usize>,
    /// PEs that ended before the launcher ended the job.
    own: Vec<usize>,
}

impl ExitNotifier {
    /// The notifier of a job of `n_pes` PEs.
    pub fn new(n_pes: u32) -> Self {
        let mut notifier = Self {
            registry: None,
            open: Vec::new(),
            own: Vec::new(),
        };
        match ExitRegistry::new(n_pes) {
            Ok(registry) => notifier.registry = Some(registry),
            Err(error) => notifier.lose(&error),
        }
        notifier
    }

    /// Continues without the file.
    fn lose(&mut self, error: &nvshmemrs::Error) {
        console::error(format_args!(
            "nvshmemrs-run: PEs in init cannot learn that other PEs end: {error}"
        ));
        self.registry = None;
    }

    /// The environment variable that names the file, and its value.
    pub fn variable(&self) -> Result<Option<(&'static str, String)>> {
        Ok(self
            .registry
            .as_ref()
            .map(ExitRegistry::setting)
            .transpose()?)
    }

    /// Records that PEs have ended; `own`: the launcher did not end them.
    pub fn add(&mut self, ended: &[usize], own: bool) {
        self.open.extend(ended);
        if own {
            self.own.extend(ended);
        }
    }

    /// Whether processes of an ended PE may be left.
    pub fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Publishes the exits of PEs that have no processes left.
    pub fn notify(&mut self, job: &Job) {
        let mut orphans = None;
        let mut left = Vec::new();
        for index in std::mem::take(&mut self.open) {
            let pe = &job.pes()[index];
            let Some(end) = pe.end else { continue };
            let may_join = !end.failed()
                && (has_group(pe) || orphans.get_or_insert_with(|| orphans_of(job)).may_be(pe));
            if may_join {
                left.push(index);
            } else {
                let pid = pe.pid.as_raw_pid() as u32;
                let notified = self
                    .registry
                    .as_ref()
                    .map(|registry| registry.ended(pe.pe, pid, words(end)));
                if let Some(Err(error)) = notified {
                    self.lose(&error);
                }
            }
        }
        self.open = left;
    }

    /// The first PE that failed, as the registry has it, if this launcher started it and it is not PE `index`.
    pub fn before(&self, index: usize) -> Option<usize> {
        let registry = self.registry.as_ref()?;
        let culprit = registry.culprit(u32::try_from(index).ok()?) as usize;
        (culprit != index && self.own.contains(&culprit)).then_some(culprit)
    }

    /// A message about PEs that exited with status 0 without finalize; `None` if there are none.
    pub fn unfinalized(&self, job: &Job) -> Option<String> {
        let registry = self.registry.as_ref()?;
        let joined = |pe: &u32| registry.part(*pe) == Progress::Joined;
        let pes: Vec<u32> = job.pes().iter().map(|pe| pe.pe).filter(joined).collect();
        let who = match pes.len() {
            0 => return None,
            1 => numbers(&pes),
            n if n == job.pes().len() => format!("all {n} PEs"),
            _ => numbers(&pes),
        };
        Some(format!(
            "{who} ended with status 0 and did not call finalize, so operations that were not complete may be lost"
        ))
    }
}

/// Converts an end into the registry's form.
fn words(end: End) -> nvshmemrs::End {
    match end {
        End::Exited(status) => nvshmemrs::End::Exited(u8::try_from(status).unwrap_or(u8::MAX)),
        End::Killed(signal) => nvshmemrs::End::Killed(u8::try_from(signal).unwrap_or(u8::MAX)),
    }
}

/// Whether a process of the PE's group is left. A process of another user (a setuid program) cannot be signalled, but exists.
fn has_group(pe: &Pe) -> bool {
    test_kill_process_group(pe.pid) != Err(Errno::SRCH)
}

/// Orphans: processes whose parent has ended, so that they are children of the launcher now, with their environments. Processes
/// that they start inherit the environment.
struct Orphans(Vec<Option<String>>);

fn orphans_of(job: &Job) -> Orphans {
    let live: Vec<u32> = job.live_pids().collect();
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    let orphans = pids.filter_map(|pid| pid.parse().ok().filter(|pid| !live.contains(pid)));
    let environments =
        orphans.filter_map(|pid: u32| match fs::read(format!("/proc/{pid}/environ")) {
            Ok(bytes) => Some(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(None),
            // The process has ended meanwhile.
            Err(_) => None,
        });
    Orphans(environments.collect())
}

impl Orphans {
    /// Whether an orphan may still join as this PE: it has the PE's number in its environment, or its environment cannot be read.
    fn may_be(&self, pe: &Pe) -> bool {
        let own = format!("NVSHMEMRS_PE={}", pe.pe);
        self.0.iter().any(|environment| match environment {
            Some(text) => text.split('\0').any(|variable| variable == own),
            None => true,
        })
    }
}
