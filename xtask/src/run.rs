//! Starting processes. None of them reads standard input. A long one gets a process group of its own and a deadline,
//! so that nothing of it stays behind when it hangs or when the user has enough.

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

/// How long a process may run unless more is said.
pub(crate) const LIMIT: Duration = Duration::from_secs(900);

/// How long a process that is told to end may take, and its output to come to an end.
const GRACE: Duration = Duration::from_secs(5);

/// Set when the user presses Ctrl-C or somebody asks us to terminate.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How many processes run that have a group of their own, for all threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Lets Ctrl-C and SIGTERM end what we started, too.
pub(crate) fn end_children_on_signals() -> Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&STOP))
            .context("cannot watch for signals")?;
    }
    Ok(())
}

/// Runs `command` with its output on ours; fails unless it succeeds.
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

/// What a process that we have shown came to.
pub(crate) struct Shown {
    /// All that it printed on standard output.
    pub(crate) text: String,
    /// Whether it ended well, or how not.
    pub(crate) outcome: Result<()>,
}

/// Runs `command` for at most `limit`, shows its standard output line by line and gives it back.
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
    // Processes that the command left behind may hold its output open: they are ended, and not waited for.
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

/// Starts a process that [`wait`] waits for.
fn spawn(command: &mut Command) -> Result<Child> {
    exit_if_stopped();
    RUNNING.fetch_add(1, Ordering::SeqCst);
    let child = command.spawn();
    if child.is_err() {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
    child.with_context(|| format!("cannot start {}", name(command)))
}

/// Copies lines from `pipe` into `text` and to where they are kept, or else to our standard output.
fn copy_lines(pipe: ChildStdout, text: &Mutex<Vec<u8>>, mut kept: Option<File>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        // Nobody may be reading us any more; the process still goes on to its end.
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

/// Waits for `child`, the leader of a process group, and ends the group at the deadline or when we are stopped.
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

/// Ends the process group of `child`: politely, then by force.
fn end(child: &mut Child) -> Result<()> {
    let group = Pid::from_child(child);
    for signal in [Signal::TERM, Signal::KILL] {
        // The group is gone if this fails.
        let _ = kill_process_group(group, signal);
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if child.try_wait()?.is_some() {
                // The leader is gone; those it left behind go with it.
                let _ = kill_process_group(group, Signal::KILL);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Ends us if somebody wants us to, once every thread has ended its processes.
fn exit_if_stopped() {
    if STOP.load(Ordering::Relaxed) {
        while RUNNING.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(10));
        }
        eprintln!("xtask: stopped by a signal");
        std::process::exit(130);
    }
}

/// Runs `command` and gives its standard output; fails, with its standard error, unless it succeeds.
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
        .with_context(|| format!("{} printed what is not UTF-8", name(command)))
}

/// Runs `command` and gives its output, however it ended.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    // On Ctrl-C the terminal has stopped the process as well.
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

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    // Cargo gives its own place in full.
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
