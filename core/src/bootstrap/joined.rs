//! The process that has joined as a PE of a job. The children of a PE inherit its variables. A child that calls init would wait for
//! ever, so init returns an error that the PE has joined already.
//!
//! A process that has joined listens on an abstract socket whose name contains the PE's number, and accepts no connections: the kernel
//! tells a connecting process which process listens.

use super::holder::{self, Holder};
use super::socket::bootstrap;
use super::socket_names::{Probe, probe};
use super::unique_id::Key;
use crate::job::process::Process;
use crate::lock::lock;
use crate::{Pe, Result};
use std::collections::HashMap;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;

/// The marks of jobs that the environment describes, by name, with the process that holds each. A process keeps its mark after the job
/// has ended, because the other PEs would not wait for a child then either.
static KEPT: Mutex<Option<HashMap<String, (u32, Mark)>>> = Mutex::new(None);

/// Shows that this process has joined a job, until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Mark {
    name: String,
    listener: Option<UnixListener>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let listener = self.listener.take();
        let address = listener.as_ref().and_then(|one| one.local_addr().ok());
        let ours =
            address.is_some_and(|address| address.as_abstract_name() == Some(self.name.as_bytes()));
        if !ours {
            // The program has closed the descriptor, and its number may stand for a file of the program's.
            std::mem::forget(listener);
        }
    }
}

fn name(key: &Key, pe: Pe) -> String {
    format!("{}-pe{pe}", key.name())
}

/// An error if another process has joined as this PE. `keys` are the possible keys of the job; `remedy` says how to start a process
/// that is not a PE of the job.
pub(super) fn check(keys: &[&Key], pe: Pe, n_pes: Pe, remedy: &str) -> Result<()> {
    // The only PE of a job waits for nobody.
    if n_pes < 2 {
        return Ok(());
    }
    let me = std::process::id();
    for key in keys {
        let name = name(key, pe);
        let pid = match probe(&name) {
            Ok(Probe::Own(_, pid)) => pid,
            Ok(Probe::Busy) => match holder::of(&name) {
                Holder::Own(pid) => pid,
                _ => continue,
            },
            // Another user may hold a name that can be foreseen, and must not keep the job from starting.
            Ok(Probe::Other(_) | Probe::Nobody(_)) | Err(_) => continue,
        };
        let who = match u32::try_from(pid) {
            Ok(0) | Err(_) => "a process of another pid namespace".to_string(),
            // This process may join again. A PE that has ended may have left a forked child, which has its descriptors.
            Ok(pid) if pid == me || Process::of(pid) == Process::Ended => continue,
            Ok(pid) => format!("pid {pid}"),
        };
        return Err(bootstrap(format!(
            "PE {pe} of this job has joined already: it is {who}, and this process (pid {me}) has the same number, as a child of \
             that process has by inheritance; {remedy}"
        )));
    }
    Ok(())
}

/// Shows that this process has joined; none if the name is taken or there is no room for a socket.
pub(super) fn take(key: &Key, pe: Pe, n_pes: Pe) -> Option<Mark> {
    if n_pes < 2 {
        return None;
    }
    let name = name(key, pe);
    let address = SocketAddr::from_abstract_name(&name).ok()?;
    let listener = UnixListener::bind_addr(&address).ok()?;
    Some(Mark {
        name,
        listener: Some(listener),
    })
}

/// As [`take`], until this process ends.
pub(super) fn keep(key: &Key, pe: Pe, n_pes: Pe) {
    let mut kept = lock(&KEPT);
    let kept = kept.get_or_insert_default();
    let me = std::process::id();
    // A forked child has copies of its parent's, which would outlive the parent.
    kept.retain(|_, (pid, _)| *pid == me);
    if let Some(mark) = take(key, pe, n_pes) {
        kept.insert(mark.name.clone(), (me, mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_there_until_it_is_dropped_and_hinders_only_other_processes() {
        let key = Key::new(format!("joined test {}", std::process::id()).as_bytes());
        let mark = take(&key, 1, 2);
        assert!(mark.is_some());
        assert!(take(&key, 1, 2).is_none(), "the name is taken");
        // The process itself may join again.
        check(&[&key], 1, 2, "").unwrap();
        let address = SocketAddr::from_abstract_name(name(&key, 1)).unwrap();
        let there = || std::os::unix::net::UnixStream::connect_addr(&address).is_ok();
        assert!(there());
        drop(mark);
        // A process that another test has just started may have the descriptor for a moment.
        while there() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
