//! Jobs under the launcher that go on for as long as a test looks at them.

use crate::{HANG, Output, Running, launcher, spawn};
use std::fs;
use std::process::{Command, Stdio};
use tempfile::TempPath;

/// A job that runs until the test releases it.
#[derive(Debug)]
pub struct Held {
    job: Running,
    file: TempPath,
    /// Launcher, guard and PEs.
    pub pids: Vec<u32>,
}

impl Held {
    /// Starts two PEs of the command that `program` makes, which gets the name of a file and ends when that is gone; and waits until
    /// `ready` says of two of the launcher's children that they are.
    #[track_caller]
    pub fn start(
        options: &[&str],
        program: impl FnOnce(&mut Command, &str),
        ready: impl Fn(u32) -> bool,
    ) -> Held {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let file = file.into_temp_path();
        let mut command = launcher(2, options);
        program(&mut command, &file.to_string_lossy());
        let mut job = spawn(command.stdin(Stdio::null()));
        let pids = job.until("two PEs that are ready", |job| {
            let all = children(job.pid());
            let there = all.iter().filter(|&&pid| ready(pid)).count();
            (there == 2).then(|| [&[job.pid()][..], &all].concat())
        });
        Held { job, file, pids }
    }

    /// Lets the job end; it must end well.
    #[track_caller]
    pub fn let_go(self) -> Output {
        self.file.close().expect("nobody else takes the file away");
        self.job.wait(HANG).succeeded()
    }
}

/// The processes that a process has started.
pub fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
