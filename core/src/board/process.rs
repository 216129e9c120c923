//! What a process is doing, as far as the kernel tells: for PEs that are not waiting in nvshmemrs.

use std::fmt;
use std::fs;

/// What the kernel says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// One of its threads is on a CPU, or would like to be.
    Running,
    /// All of its threads sleep; the kernel function that its first thread sleeps in, where that may be seen.
    Sleeping(Option<String>),
    /// Stopped by SIGSTOP or SIGTSTP.
    Stopped,
    /// Stopped by a debugger.
    Traced,
    /// It has ended, and its parent has not asked yet.
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
            Process::Unknown => f.write_str("the kernel does not say what it does"),
        }
    }
}

/// The letter for the state of a process's first thread, or of one thread.
pub(crate) fn letter(folder: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name before it may hold anything.
    stat.rsplit(')').next()?.trim_start().chars().next()
}

impl Process {
    /// Looks at process `pid`.
    pub(crate) fn of(pid: u32) -> Process {
        let folder = format!("/proc/{pid}");
        match letter(&folder) {
            None if letter("/proc/self").is_some() => Process::Ended,
            None => Process::Unknown,
            Some('T') => Process::Stopped,
            Some('t') => Process::Traced,
            Some('R') => Process::Running,
            // The first thread may have ended before the others.
            Some('Z' | 'X') if threads(&folder).is_empty() => Process::Ended,
            Some(_) => Process::of_threads(&folder),
        }
    }

    fn of_threads(folder: &str) -> Process {
        if threads(folder)
            .iter()
            .any(|thread| letter(thread) == Some('R'))
        {
            return Process::Running;
        }
        let place = fs::read_to_string(format!("{folder}/wchan")).ok();
        Process::Sleeping(place.filter(|place| !matches!(place.as_str(), "" | "0")))
    }
}

/// The folders of a process's threads that have not ended.
fn threads(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("{folder}/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .filter(|thread| !matches!(letter(thread), None | Some('Z' | 'X')))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

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
