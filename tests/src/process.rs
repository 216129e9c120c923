//! Processes with a time limit and captured output.

use crate::{HANG, bin, job, leftovers};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a test looks whether something has happened.
const INTERVAL: Duration = Duration::from_millis(5);

/// The result of a process.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How long it ran.
    pub elapsed: Duration,
    command: String,
}

impl Output {
    /// Its exit status; 128 + N when signal N killed it, as in a shell.
    pub fn code(&self) -> i32 {
        let signal = self.status.signal().map(|signal| 128 + signal);
        self.status
            .code()
            .or(signal)
            .expect("a process that has ended has a status or a signal")
    }

    /// Panics with everything it wrote unless it exited with this status.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert!(
            self.code() == code,
            "expected exit status {code}\n{}",
            self.describe()
        );
        self
    }

    /// Panics with everything it wrote unless it succeeded.
    #[track_caller]
    pub fn assert_success(&self) -> &Self {
        self.assert_code(0)
    }

    /// The output of a process that succeeded; panics as [`assert_success`](Output::assert_success).
    #[track_caller]
    pub fn succeeded(self) -> Self {
        self.assert_success();
        self
    }

    /// The output of a process that failed, in whatever way; panics with everything it wrote if it succeeded.
    #[track_caller]
    pub fn failed(self) -> Self {
        assert_ne!(self.code(), 0, "{}", self.describe());
        self
    }

    /// Panics unless standard output contains the text.
    #[track_caller]
    pub fn assert_stdout(&self, text: &str) -> &Self {
        assert!(
            self.stdout.contains(text),
            "no {text:?} in the output\n{}",
            self.describe()
        );
        self
    }

    /// Panics unless standard error contains the text.
    #[track_caller]
    pub fn assert_stderr(&self, text: &str) -> &Self {
        assert!(
            self.stderr.contains(text),
            "no {text:?} in standard error\n{}",
            self.describe()
        );
        self
    }

    /// Panics if standard output contains the text.
    #[track_caller]
    pub fn assert_no_stdout(&self, text: &str) -> &Self {
        let found = self.stdout.contains(text);
        assert!(!found, "{text:?} in the output\n{}", self.describe());
        self
    }

    /// Panics if standard error contains the text.
    #[track_caller]
    pub fn assert_no_stderr(&self, text: &str) -> &Self {
        let found = self.stderr.contains(text);
        assert!(!found, "{text:?} in standard error\n{}", self.describe());
        self
    }

    /// Panics unless standard output contains the text so many times.
    #[track_caller]
    pub fn assert_times(&self, times: usize, text: &str) -> &Self {
        let found = self.stdout.matches(text).count();
        assert_eq!(found, times, "{text:?} in the output\n{}", self.describe());
        self
    }

    /// Panics unless standard output contains the text of each of these PEs.
    #[track_caller]
    pub fn assert_each<T>(&self, pes: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) {
        for pe in pes {
            self.assert_stdout(&text(pe));
        }
    }

    /// The lines of standard output, sorted.
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// The lines of `nvshmemrs-run` itself on standard error.
    pub fn launcher_lines(&self) -> Vec<&str> {
        let lines = self.stderr.lines();
        lines
            .filter_map(|line| line.strip_prefix("nvshmemrs-run: "))
            .collect()
    }

    /// Everything about it, for a test that fails.
    pub fn describe(&self) -> String {
        format!(
            "command: {}\nended:   {} after {:.3} s\n--- stdout\n{}\n--- stderr\n{}",
            self.command,
            self.status,
            self.elapsed.as_secs_f64(),
            self.stdout,
            self.stderr
        )
    }
}

/// A process that runs; dropping it kills it and its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    start: Instant,
    command: String,
}

/// Starts a command in a process group of its own, marked as this test's. Its output goes to files, so that a process which it
/// leaves behind cannot hold up the test.
#[track_caller]
pub fn spawn(command: &mut Command) -> Running {
    let file = || tempfile::tempfile().expect("cannot make a file for output");
    let (stdout, stderr) = (file(), file());
    let copy = |file: &File| file.try_clone().expect("cannot copy a file handle");
    leftovers::mark(command);
    command
        .process_group(0)
        .stdout(copy(&stdout))
        .stderr(copy(&stderr));
    let start = Instant::now();
    let text = format!("{command:?}");
    let child = command
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {text}: {error}"));
    Running {
        child,
        stdout,
        stderr,
        start,
        command: text,
    }
}

/// Runs a command to its end without input; panics, with the command's output, when that takes longer than
/// `timeout`.
#[track_caller]
pub fn run(command: &mut Command, timeout: Duration) -> Output {
    spawn(command.stdin(Stdio::null())).wait(timeout)
}

/// `nvshmemrs-run` for `n_pes` PEs, with these options, ready for the command's words.
#[track_caller]
pub fn launcher(n_pes: u32, options: &[&str]) -> Command {
    let mut command = Command::new(bin("nvshmemrs-run"));
    command
        .arg("-n")
        .arg(n_pes.to_string())
        .args(options)
        .arg("--");
    command
}

/// Runs a command under `nvshmemrs-run` to its end.
#[track_caller]
pub fn launch<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(n_pes: u32, command: I) -> Output {
    run(launcher(n_pes, &[]).args(command), HANG)
}

/// Runs `nvshmemrs-info` to its end.
#[track_caller]
pub fn info(words: &[&str]) -> Output {
    run(job::clean(bin("nvshmemrs-info")).args(words), HANG)
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal: to the process itself, not to its group.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// The process's standard output until now.
    pub fn stdout(&self) -> String {
        contents(&self.stdout)
    }

    /// The process's standard error until now.
    pub fn stderr(&self) -> String {
        contents(&self.stderr)
    }

    /// Waits until `found` gives something; panics after `HANG`, or when the process ends before.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("cannot wait for a process");
            if let Some(found) = found(self) {
                return found;
            }
            let hung = start.elapsed() > HANG;
            if hung || ended.is_some() {
                let why = ended.map_or("it hangs".to_string(), |status| status.to_string());
                let (stdout, stderr) = (self.stdout(), self.stderr());
                panic!(
                    "{}: no {what}: {why}\n--- stdout\n{stdout}\n--- stderr\n{stderr}",
                    self.command
                );
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Waits until standard output has all these words; returns it.
    #[track_caller]
    pub fn until_stdout(&mut self, words: &[&str]) -> String {
        self.until(&words.join(", "), |one| with_all(one.stdout(), words))
    }

    /// Waits until standard error has all these words; returns it.
    #[track_caller]
    pub fn until_stderr(&mut self, words: &[&str]) -> String {
        self.until(&words.join(", "), |one| with_all(one.stderr(), words))
    }

    /// Waits for its end; panics, with its output, when that takes longer than `timeout`.
    #[track_caller]
    pub fn wait(mut self, timeout: Duration) -> Output {
        let start = Instant::now();
        let (status, hung) = loop {
            if let Some(status) = self.child.try_wait().expect("cannot wait for a process") {
                break (status, false);
            }
            if start.elapsed() > timeout {
                self.kill();
                break (self.child.wait().expect("cannot wait for a process"), true);
            }
            thread::sleep(INTERVAL);
        };
        let output = Output {
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
            elapsed: self.start.elapsed(),
            command: self.command.clone(),
        };
        assert!(
            !hung,
            "not over after {} s\n{}",
            timeout.as_secs_f64(),
            output.describe()
        );
        output
    }

    fn kill(&self) {
        // The process may just have ended; then there is nothing to kill.
        let _ = kill_process_group(pid_of(self.pid()), Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Whether a process runs: it exists and is no zombie.
pub fn alive(pid: u32) -> bool {
    let zombie = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_none_or(|rest| matches!(rest.trim().chars().next(), None | Some('Z' | 'X')))
    };
    test_kill_process(pid_of(pid)).is_ok() && !zombie()
}

/// Sends a signal to a process, which must exist.
#[track_caller]
pub fn kill(pid: u32, signal: Signal) {
    kill_process(pid_of(pid), signal).expect("cannot send a signal");
}

#[track_caller]
fn pid_of(pid: u32) -> Pid {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("not a process number")
}

/// The text, if it has all these words.
fn with_all(text: String, words: &[&str]) -> Option<String> {
    words.iter().all(|word| text.contains(word)).then_some(text)
}

/// All of a file, opened again because the process that writes shares the handle's position.
fn contents(file: &File) -> String {
    let mut bytes = Vec::new();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut own = File::open(path).expect("cannot open an output file again");
    own.read_to_end(&mut bytes)
        .expect("cannot read an output file");
    String::from_utf8_lossy(&bytes).into_owned()
}
