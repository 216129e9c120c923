//! The guard process: it kills the processes that PEs have started if the launcher is killed.
//!
//! The kernel kills each PE's own process together with the launcher (see [`super::shim`]), but not the processes that it
//! started: with a wrapper such as `uv run` those are the real PEs. So a small process reads each PE's process group from a pipe
//! of the launcher, and kills all groups if the pipe is closed without a final message.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

/// First argument of the guard process.
pub const FLAG: &str = "--nvshmemrs-guard";

/// The final message: the job is over.
const DISMISSED: &str = "over";

/// The launcher's side of the guard.
#[derive(Debug)]
pub struct Guard {
    process: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts the guard in a process group of its own, which the terminal's signals do not reach.
    pub fn start() -> io::Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg0("nvshmemrs-run")
            .arg(FLAG)
            // The guard is not a PE, even if the launcher is.
            .env_remove("NVSHMEMRS_PE")
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, pipe })
    }

    /// Adds a PE's process group.
    pub fn watch(&mut self, group: Pid) -> io::Result<()> {
        writeln!(self.pipe, "{}", group.as_raw_pid())
    }

    /// Dismisses the guard, and waits until it has ended.
    pub fn dismiss(mut self) {
        // The write fails if the guard was killed; it is reaped all the same.
        let _ = writeln!(self.pipe, "{DISMISSED}");
        drop(self.pipe);
        let _ = self.process.wait();
    }
}

/// The main function of the guard: reads groups until the launcher is done or dead.
pub fn watch_over() -> ExitCode {
    let mut groups = Vec::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if line == DISMISSED {
            return ExitCode::SUCCESS;
        }
        groups.extend(line.parse().ok().and_then(Pid::from_raw));
    }
    for group in groups {
        // The group may already be empty.
        let _ = kill_process_group(group, Signal::KILL);
    }
    ExitCode::SUCCESS
}
