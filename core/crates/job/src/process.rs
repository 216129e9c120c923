//! The activity of a process according to the kernel, for reports about PEs that do not wait in nvshmemrs.

use crate::block::Control;
use crate::descriptor::FileId;
use crate::locks::{self, Holder};
use crate::machine;
use crate::segment::NAME;
use crate::signals;
use crate::{Error, Pe};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// The library's threads that call nothing of their own accord: the watchdog's, the checker's and the network's.
const HELPERS: [&str; 3] = ["nvshmemrs-watch", "nvshmemrs-check", "nvshmemrs-net"];

/// The state of a process according to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Process {
    /// One of its threads is running or runnable.
    Running,
    /// All of its threads sleep; the kernel function in which its first thread sleeps, if visible.
    Sleeping(Option<String>),
    /// Stopped by SIGSTOP or SIGTSTP.
    Stopped,
    /// Stopped by a debugger.
    Traced,
    /// It has ended, and its parent has not waited for it yet.
    Ended,
    /// The kernel does not say.
    Unknown,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Process::Running => f.write_str("running on a CPU"),
            Process::Sleeping(Some(place)) => write!(f, "sleeping in the kernel, in {place}"),
            Process::Sleeping(None) => f.write_str("sleeping in the kernel"),
            Process::Stopped => f.write_str("stopped by SIGSTOP or Ctrl-Z"),
            Process::Traced => f.write_str("stopped by a debugger"),
            Process::Ended => f.write_str("its process has ended"),
            Process::Unknown => f.write_str("the kernel does not report its activity"),
        }
    }
}

/// The letter for the state of a process's first thread, or of one thread.
pub fn state_letter(folder: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name before it may hold anything.
    stat.rsplit(')').next()?.trim_start().chars().next()
}

impl Process {
    /// The state of process `pid`.
    pub fn of(pid: u32) -> Process {
        let folder = format!("/proc/{pid}");
        match state_letter(&folder) {
            None if pid != 0 && state_letter("/proc/self").is_some() => Process::Ended,
            None => Process::Unknown,
            Some('T') => Process::Stopped,
            Some('t') => Process::Traced,
            Some('R') => Process::Running,
            // The first thread may have ended before the others.
            Some('Z' | 'X') if threads(&folder).is_empty() => Process::Ended,
            Some(_) => Process::of_threads(&folder),
        }
    }

    /// The stop of process `pid`, if it is stopped.
    pub fn stop_of(pid: u32) -> Option<Process> {
        match state_letter(&format!("/proc/{pid}"))? {
            'T' => Some(Process::Stopped),
            't' => Some(Process::Traced),
            _ => None,
        }
    }

    fn of_threads(folder: &str) -> Process {
        if threads(folder)
            .iter()
            .any(|thread| state_letter(thread) == Some('R'))
        {
            return Process::Running;
        }
        let place = fs::read_to_string(format!("{folder}/wchan")).ok();
        Process::Sleeping(place.filter(|place| !matches!(place.as_str(), "" | "0")))
    }
}

/// The process of a PE in this pid namespace: the holder of the PE's lock. If there is none, because the PE has ended or is a thread of a job
/// without locks, the pid that the PE has published, if it is in the same pid namespace. Otherwise 0.
pub fn pid_of(control: &Control, pe: Pe) -> u32 {
    let block = control.pe(pe);
    if block.process.load(Relaxed) == machine::process_token() {
        return std::process::id();
    }
    match locks::holder(control.segment(), pe) {
        Holder::Other(pid) => pid,
        Holder::Unknown => 0,
        Holder::Nobody => {
            let here = machine::pid_namespace();
            let same = here != 0 && block.namespace.load(Relaxed) == here;
            if same { block.pid.load(Relaxed) } else { 0 }
        }
    }
}

/// How long the end of this process may wait for its standard streams: another thread may be reading from one of them.
const FLUSH_TIME: Duration = Duration::from_millis(200);

/// Ends this process at once, after flushing its C streams. Functions of `atexit` and destructors do not run, because other threads still run.
pub fn exit(status: i32) -> ! {
    let flushed = signals::spawn(std::thread::Builder::new(), || {
        // SAFETY: NULL stands for all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
    });
    let until = Instant::now() + FLUSH_TIME;
    while flushed.as_ref().is_ok_and(|thread| !thread.is_finished()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: it has no conditions.
    unsafe { libc::_exit(status) }
}

/// Ends this process if a PE has asked all processes of the job to exit.
pub fn exit_if_asked(control: &Control) {
    if let Some(status) = control.header().exit.load(Acquire).checked_sub(1) {
        exit(status as i32);
    }
}

/// The number of threads of process `pid` that are neither in `waiting` nor helper threads of the library; none if the kernel does not say.
/// Threads have the numbers of that process's own pid namespace.
pub fn others(pid: u32, waiting: &BTreeSet<u32>) -> Option<usize> {
    let threads = threads(&format!("/proc/{pid}"));
    let other = |folder: &String| {
        // A process that can no longer be read has ended.
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        if field("Name").is_some_and(|name| HELPERS.contains(&name.trim())) {
            return None;
        }
        // The last is the innermost one; kernels without namespaces have none of them.
        let number = field("NSpid").or_else(|| field("Pid"))?.split_whitespace();
        let number = number.last()?.parse::<u32>().ok()?;
        (!waiting.contains(&number)).then_some(())
    };
    (!threads.is_empty()).then(|| threads.iter().filter_map(other).count())
}

/// Why the descriptors of a process are not visible.
#[derive(Debug)]
pub enum Hidden {
    NoProcess(u32),
    OtherUser(u32),
    System(Error),
}

/// The descriptors of a process that lead to memory of this name.
pub fn memory_files(pid: u32, name: &str) -> std::result::Result<Vec<PathBuf>, Hidden> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Hidden::NoProcess(pid),
        std::io::ErrorKind::PermissionDenied => Hidden::OtherUser(pid),
        _ => Hidden::System(Error::system("reading /proc/PID/fd", error)),
    })?;
    let start = format!("/memfd:{name}");
    let leads = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with(&start))
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(leads).collect())
}

/// The job's memory behind a descriptor in /proc, if it is one.
fn job_file(descriptor: &Path) -> Option<FileId> {
    let link = fs::read_link(descriptor).ok()?;
    let job = link
        .to_string_lossy()
        .starts_with(&format!("/memfd:{NAME}"));
    let file = fs::metadata(descriptor).ok().filter(|_| job)?;
    Some((file.dev(), file.ino()))
}

/// The descriptors of a process to memory of its jobs: a PE has a writable descriptor, an observer has none.
pub fn job_files(pid: u32) -> std::result::Result<Vec<(PathBuf, FileId)>, Hidden> {
    // The owner's right to write stands for that of the descriptor.
    let writes =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|link| link.mode() & 0o200 != 0);
    let paths = memory_files(pid, NAME)?.into_iter();
    let found = paths.filter(|path| writes(path)).filter_map(|path| {
        let file = job_file(&path)?;
        Some((path, file))
    });
    Ok(found.collect())
}

/// The memory of the jobs that this process is in, with the numbers of the descriptors.
pub fn own_jobs() -> Vec<(i32, FileId)> {
    let files = job_files(std::process::id()).unwrap_or_default();
    let numbered = files.into_iter().filter_map(|(path, file)| {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, file))
    });
    numbered.collect()
}

/// The folders of a process's threads that have not ended.
fn threads(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("{folder}/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .filter(|thread| !matches!(state_letter(thread), None | Some('Z' | 'X')))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    #[test]
    fn a_number_from_another_pid_namespace_is_not_taken() {
        let control = Control::create(2, 2 << 20, Default::default(), None).unwrap();
        let block = control.pe(1);
        block.process.overwrite(1, Relaxed);
        block.pid.overwrite(7, Relaxed);
        assert_eq!(
            pid_of(&control, 1),
            0,
            "it has said nothing of its namespace"
        );
        block.namespace.overwrite(machine::pid_namespace(), Relaxed);
        assert_eq!(pid_of(&control, 1), 7);
        block
            .namespace
            .overwrite(machine::pid_namespace() + 1, Relaxed);
        assert_eq!(pid_of(&control, 1), 0);
        block.process.overwrite(machine::process_token(), Relaxed);
        assert_eq!(pid_of(&control, 1), std::process::id());
    }

    #[test]
    fn threads_that_wait_are_no_others() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let asleep = await_state(&child, |process| matches!(process, Process::Sleeping(_)));
        assert!(matches!(asleep, Process::Sleeping(_)), "{asleep:?}");
        let pid = child.id();
        assert_eq!(others(pid, &BTreeSet::new()), Some(1));
        assert_eq!(others(pid, &BTreeSet::from([pid])), Some(0));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(others(pid, &BTreeSet::new()), None);
    }

    /// Waits until the process is in the state that `is` looks for.
    fn await_state(child: &Child, is: fn(&Process) -> bool) -> Process {
        let start = Instant::now();
        loop {
            let process = Process::of(child.id());
            if is(&process) || start.elapsed() > Duration::from_secs(20) {
                return process;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn states_are_told_apart() {
        // The thread that asks is on a CPU.
        assert_eq!(Process::of(std::process::id()), Process::Running);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let asleep = await_state(&child, |process| matches!(process, Process::Sleeping(_)));
        assert!(matches!(asleep, Process::Sleeping(_)), "{asleep:?}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let stopped = await_state(&child, |process| *process == Process::Stopped);
        assert_eq!(stopped, Process::Stopped);
        child.kill().unwrap();
        let ended = await_state(&child, |process| *process == Process::Ended);
        assert_eq!(ended, Process::Ended);
        child.wait().unwrap();
        assert_eq!(Process::of(child.id()), Process::Ended);
    }
}
