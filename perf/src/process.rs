//! Programs with a time limit. Processes that a program leaves behind are killed, also on Ctrl-C.

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// How long a launcher may take to end its PEs after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// How often a wait checks for a signal that arrived just before it.
const TICK: Duration = Duration::from_millis(500);

/// Set by SIGINT and SIGTERM.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// On SIGINT and SIGTERM, ends the started processes and removes temporary files first.
pub(crate) fn end_children_on_signals() -> Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&STOP))
            .context("cannot watch for signals")?;
    }
    Ok(())
}

/// Whether a signal has arrived.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The result of a program.
pub(crate) struct Finished {
    /// Its status; `None` if it exceeded the limit and was ended.
    pub(crate) status: Option<ExitStatus>,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
    /// How long it ran.
    pub(crate) elapsed: Duration,
}

impl Finished {
    /// Whether it ended by itself, with success.
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Its end, and its last lines on standard error.
    pub(crate) fn describe(&self) -> String {
        let end = match self.status {
            Some(status) => format!("ended with {status}"),
            None => format!(
                "was ended after {:.0} s; --timeout sets the limit",
                self.elapsed.as_secs_f64()
            ),
        };
        let lines: Vec<&str> = self.stderr.trim_end().lines().collect();
        let tail = &lines[lines.len().saturating_sub(12)..];
        std::iter::once(end.as_str())
            .chain(tail.iter().copied())
            .collect::<Vec<_>>()
            .join("\n  ")
    }
}

/// Runs `command` for at most `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Finished> {
    // Files, not pipes, so that no process reads while the program is measured.
    let (stdout, stderr) = (temporary()?, temporary()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let start = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    let ended = wait(&child, start + limit);
    let elapsed = start.elapsed();
    let status = match ended {
        Ok(true) => Some(child.wait()?),
        Ok(false) => {
            end(&mut child)?;
            None
        }
        Err(error) => {
            end(&mut child)?;
            return Err(error);
        }
    };
    Ok(Finished {
        status,
        stdout: text(stdout)?,
        stderr: text(stderr)?,
        elapsed,
    })
}

fn temporary() -> Result<File> {
    tempfile::tempfile().context("cannot make a temporary file")
}

fn text(mut file: File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits until `child` ends; returns false at the deadline. An error after a signal.
fn wait(child: &Child, deadline: Instant) -> Result<bool> {
    let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).context("pidfd_open")?;
    loop {
        if stopped() {
            bail!("stopped by a signal");
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let tick = Timespec::try_from(left.min(TICK))?;
        match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&tick)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error).context("poll"),
        }
    }
}

/// Ends a launcher, which ends its PEs: by SIGTERM, then by SIGKILL.
fn end(child: &mut Child) -> Result<()> {
    // The signal cannot be sent if the launcher has ended.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Finished> {
        run(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn output_and_status_are_kept() -> Result<()> {
        let finished = shell("echo out; echo err >&2; exit 3", GRACE)?;
        assert_eq!(
            (finished.stdout.as_str(), finished.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert!(!finished.success());
        assert_eq!(finished.describe(), "ended with exit status: 3\n  err");
        Ok(())
    }

    #[test]
    fn what_hangs_is_ended() -> Result<()> {
        let finished = shell("echo out; exec sleep 60", Duration::from_millis(200))?;
        assert!(finished.status.is_none() && finished.elapsed < GRACE);
        assert_eq!(finished.stdout, "out\n");
        assert!(finished.describe().contains("--timeout"));
        Ok(())
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program"), GRACE)
            .err()
            .expect("it is missing");
        assert!(
            format!("{error:#}").contains("no-such-program"),
            "{error:#}"
        );
    }
}
