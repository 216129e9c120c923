//! The limit on open files, raised where init needs it: the leader has a connection to every other PE at a time.

use super::socket::bootstrap;
use crate::{Pe, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::{Mutex, PoisonError};

/// Files that a PE has open in init besides connections to the others, with a reserve.
const OWN: u64 = 6;
/// The reserve above the needed number: foreign processes may connect, and other threads open files.
const SPARE: u64 = 64;

/// The limit that this process's inits have raised: how many of them need it, its old and its new value.
static RAISED: Mutex<Option<(usize, Rlimit, u64)>> = Mutex::new(None);

/// Raises the limit on open files during init; restores it when dropped.
#[derive(Debug)]
pub(super) struct FileLimit {
    raised: bool,
}

/// How many more files a process can open under `limit`; none if it cannot count its open files.
fn free(limit: u64) -> Option<u64> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
    // One of them is the list itself.
    let used = (numbers.filter(|&number| number < limit).count() as u64).saturating_sub(1);
    Some(limit.saturating_sub(used))
}

impl FileLimit {
    /// Makes room for `connections` to other PEs, on behalf of PE `pe`: raises the soft limit if there is none. An error if the hard limit
    /// is too low, too.
    pub(super) fn raise(pe: Pe, connections: u64) -> Result<FileLimit> {
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = getrlimit(Resource::Nofile);
        let (Some(soft), needed) = (limit.current, connections + OWN) else {
            return Ok(FileLimit { raised: false });
        };
        let Some(free) = free(soft).filter(|&free| free < needed) else {
            // There may be room only because another init has raised the limit: then it must stay for this one, too.
            if let Some((users, ..)) = raised.as_mut() {
                *users += 1;
            }
            return Ok(FileLimit {
                raised: raised.is_some(),
            });
        };
        let used = soft - free;
        let least = used + needed;
        let most = limit.maximum.unwrap_or(u64::MAX);
        let wanted = Rlimit {
            current: Some((least + SPARE).min(most)),
            ..limit
        };
        if least > most || setrlimit(Resource::Nofile, wanted).is_err() {
            return Err(bootstrap(format!(
                "PE {pe} needs {needed} more open files in init, {connections} of them for connections to other PEs; its limit of {soft} open \
                 files (`ulimit -n`) has room for {free}: raise it to {least} or more"
            )));
        }
        let (users, before) = match *raised {
            Some((users, before, _)) => (users, before),
            None => (0, limit),
        };
        *raised = Some((users + 1, before, (least + SPARE).min(most)));
        Ok(FileLimit { raised: true })
    }

    /// Leaves the limit as it is: the connections stay open.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for FileLimit {
    fn drop(&mut self) {
        if !self.raised {
            return;
        }
        let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((users, before, now)) = *raised else {
            return;
        };
        *raised = (users > 1).then_some((users - 1, before, now));
        // The program may have set another one meanwhile.
        let ours = getrlimit(Resource::Nofile).current == Some(now);
        if users == 1 && ours {
            // Then it stays higher, which harms nobody.
            let _ = setrlimit(Resource::Nofile, before);
        }
    }
}
