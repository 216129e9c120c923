//! Starts processes. None of them reads standard input. A process that may take long gets a process group of its own and a
//! deadline, so that none of its children remain when it hangs or the user interrupts.

use crate::show;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The default time limit of a process.
pub(crate) const LIMIT: Duration = Duration::from_secs(900);

/// How long a process may take to end after SIGTERM, and its output to be closed.
const GRACE: Duration = Duration::from_secs(5);

/// Set by SIGINT and SIGTERM.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The number of running processes with a group of their own, started by all threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Makes SIGINT and SIGTERM end the started processes, too.
pub(crate) fn end_children_on_signals() -> Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&STOP))
            .context("cannot watch for signals")?;
    }
    Ok(())
}

/// Runs `command` with the output of this process; fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    run_within(command, LIMIT)
}

/// As [`run`], for at most `limit`.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let mut child = spawn(command.stdin(Stdio::null()).process_group(0))?;
    let status = wait(command, &mut child, limit)?;
    if !status.success() {
        bail!("{} failed with {status}", line(command));
    }
    Ok(())
}

/// The result of a process whose output was shown.
pub(crate) struct Shown {
    /// Its standard output.
    pub(crate) text: String,
    /// Whether it succeeded, or the error.
    pub(crate) outcome: Result<()>,
}

/// Runs `command` for at most `limit`; shows its standard output line by line and returns it.
pub(crate) fn tee(command: &mut Command, limit: Duration) -> Result<Shown> {
    let mut child = spawn(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0),
    )?;
    let text = Arc::new(Mutex::new(Vec::new()));
    let pipe = child
        .stdout
        .take()
        .context("the child has no standard output")?;
    let reader = thread::spawn({
        let text = Arc::clone(&text);
        let kept = show::kept();
        move || copy_lines(pipe, &text, kept)
    });
    let status = wait(command, &mut child, limit);
    // Processes that the command left behind may hold its output open: they are killed, without a wait.
    let ended = Instant::now();
    while !reader.is_finished() && ended.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(5));
    }
    let leftovers = !reader.is_finished();
    if leftovers {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    let outcome = match status {
        Ok(status) if !status.success() => {
            Err(anyhow::anyhow!("{} failed with {status}", line(command)))
        }
        Ok(_) if leftovers => Err(anyhow::anyhow!("{} left processes behind", line(command))),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    let bytes = text.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Shown {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        outcome,
    })
}

/// Starts a process for [`wait`].
fn spawn(command: &mut Command) -> Result<Child> {
    exit_if_stopped();
    RUNNING.fetch_add(1, Ordering::SeqCst);
    let child = command.spawn();
    if child.is_err() {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
    child.with_context(|| format!("cannot start {}", name(command)))
}

/// Copies lines from `pipe` into `text` and to the kept output, or else to standard output.
fn copy_lines(pipe: ChildStdout, text: &Mutex<Vec<u8>>, mut kept: Option<File>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        // The reader of this process may be gone; the child continues.
        let _ = match &mut kept {
            Some(file) => file.write_all(&line),
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(&line).and_then(|()| out.flush())
            }
        };
        text.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut line);
    }
}

/// Waits for `child`, the leader of a process group; ends the group at the deadline or on a signal.
fn wait(command: &Command, child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let status = wait_or_end(command, child, limit);
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    exit_if_stopped();
    status
}

fn wait_or_end(command: &Command, child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if STOP.load(Ordering::Relaxed) {
            end(child)?;
            bail!("{} was stopped", line(command));
        }
        if start.elapsed() > limit {
            end(child)?;
            bail!(
                "{} was ended after {} s: it hangs",
                line(command),
                limit.as_secs()
            );
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the process group of `child`: by SIGTERM, then by SIGKILL.
fn end(child: &mut Child) -> Result<()> {
    let group = Pid::from_child(child);
    for signal in [Signal::TERM, Signal::KILL] {
        // It fails if the group is empty.
        let _ = kill_process_group(group, signal);
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if child.try_wait()?.is_some() {
                // The leader has ended; its remaining children are killed.
                let _ = kill_process_group(group, Signal::KILL);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Exits after a signal, once every thread has ended its processes.
fn exit_if_stopped() {
    if STOP.load(Ordering::Relaxed) {
        while RUNNING.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(10));
        }
        eprintln!("xtask: stopped by a signal");
        std::process::exit(130);
    }
}

/// Runs `command` and returns its standard output; fails with its standard error unless it succeeds.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = capture(command)?;
    if !output.status.success() {
        bail!(
            "{} failed with {}\n{}",
            line(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of {} is not UTF-8", name(command)))
}

/// Runs `command` and returns its output and status.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    // On Ctrl-C the terminal has also interrupted the process.
    exit_if_stopped();
    output.with_context(|| format!("cannot start {}", name(command)))
}

/// Whether `command` can be started and succeeds; its output is dropped.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether `program` is in `PATH` and can be executed.
pub(crate) fn exists(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| {
        std::fs::metadata(folder.join(program))
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// The command line, for messages.
pub(crate) fn line(command: &Command) -> String {
    // Cargo's full path is shortened.
    let cargo = std::env::var_os("CARGO");
    let program = Some(command.get_program()).filter(|program| Some(*program) != cargo.as_deref());
    let words = std::iter::once(program.unwrap_or(OsStr::new("cargo"))).chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:+,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Shown> {
        tee(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn output_is_shown_and_kept() -> Result<()> {
        let shown = shell("echo one; echo two", LIMIT)?;
        assert_eq!(shown.text, "one\ntwo\n");
        shown.outcome
    }

    #[test]
    fn a_failure_keeps_the_output() -> Result<()> {
        let shown = shell("echo one; exit 3", LIMIT)?;
        assert_eq!(shown.text, "one\n");
        let error = shown.outcome.expect_err("it exits with 3").to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        Ok(())
    }

    #[test]
    fn what_hangs_is_ended_with_all_it_started() -> Result<()> {
        let start = Instant::now();
        let shown = shell("echo one; sleep 60 & sleep 60", Duration::from_millis(200))?;
        assert_eq!(shown.text, "one\n");
        assert!(
            shown
                .outcome
                .expect_err("it hangs")
                .to_string()
                .contains("hangs")
        );
        assert!(start.elapsed() < GRACE, "{:?}", start.elapsed());
        Ok(())
    }

    #[test]
    fn lines_can_be_typed_again() {
        let mut command = Command::new("echo");
        command.args(["a b", "", "it's", "-n=1"]);
        assert_eq!(line(&command), r"echo 'a b' '' 'it'\''s' -n=1");
    }
}
