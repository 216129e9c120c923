//! The shim: the program between the launcher and a PE's command. It ties the lifetime of the PE to that of the launcher.
//!
//! For each PE, the launcher starts its own program with [`FLAG`] as the first argument. That process asks the kernel to kill it
//! when the launcher dies, even by SIGKILL, and then executes the command; the request survives `exec`. If `exec` fails, the shim
//! sends the error number to the launcher, which reports it once.

use super::{binding, signals};
use crate::console;
use anyhow::Context;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::env::ArgsOs;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::iter::Skip;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first argument of a shim. The launcher's pid, the number of the pipe for the error, the CPUs to bind to (empty for none)
/// and the command follow.
pub const FLAG: &str = "--nvshmemrs-become-pe";

/// The exit status of a shim whose `exec` failed; the launcher reads the reason from the pipe.
pub const FAILED: u8 = 127;

/// Executes the command; returns only on failure.
pub fn become_pe(args: Skip<ArgsOs>) -> ExitCode {
    match try_become(args) {
        Ok(()) => {}
        Err(error) => console::error(format_args!("nvshmemrs-run: a PE cannot start: {error:#}")),
    }
    ExitCode::from(FAILED)
}

fn try_become(mut args: Skip<ArgsOs>) -> anyhow::Result<()> {
    let mut number = || -> Option<i32> { args.next()?.to_str()?.parse().ok() };
    let (Some(launcher), Some(pipe)) = (number(), number()) else {
        anyhow::bail!("{FLAG} is for nvshmemrs-run itself");
    };
    let cpus = args.next().unwrap_or_default();
    let Some(command) = args.next() else {
        anyhow::bail!("{FLAG} needs a command");
    };
    signals::for_pe()?;

    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The launcher may have died before the request, which then has no effect.
    if getppid() != Pid::from_raw(launcher) {
        anyhow::bail!("the launcher (pid {launcher}) is gone");
    }
    if !cpus.is_empty() {
        let bound = binding::bind(&cpus.to_string_lossy());
        bound.with_context(|| format!("it cannot be bound to the CPUs {}", cpus.display()))?;
    }
    // Opened by name, so that it is closed on `exec` and the command does not inherit it.
    let mut report = OpenOptions::new()
        .write(true)
        .open(format!("/proc/{launcher}/fd/{pipe}"))
        .with_context(|| proc_trouble(std::fs::read_link("/proc/self").ok().as_deref()))?;

    let error = Command::new(command).args(args).exec();
    writeln!(report, "{}", error.raw_os_error().unwrap_or(0))?;
    Ok(())
}

/// Why a process cannot find its launcher in /proc; `own` is the target of its own link there.
fn proc_trouble(own: Option<&Path>) -> &'static str {
    let pid = std::process::id().to_string();
    match own {
        None => "nvshmemrs-run needs /proc, which is not mounted here",
        Some(own) if own != Path::new(&pid) => {
            "/proc is of another pid namespace than nvshmemrs-run: mount it anew, as `unshare --mount-proc` does"
        }
        Some(_) => "the launcher cannot be seen in /proc",
    }
}

/// The message for a command that could not be executed.
pub fn explain(command: &str, errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    if let (io::ErrorKind::PermissionDenied, Some(folder)) =
        (error.kind(), closed_folder(Path::new(command), may_enter))
    {
        let folder = folder.display();
        return format!(
            "cannot start '{command}': this user may not enter the folder '{folder}', which takes the right to execute it (`chmod +x` of the folder, by its owner)"
        );
    }
    let remedy = match error.kind() {
        io::ErrorKind::NotFound if !command.contains('/') => "no such program in PATH",
        io::ErrorKind::NotFound if Path::new(command).exists() => {
            "the file is there, but the interpreter or loader that it names is not"
        }
        io::ErrorKind::NotFound => "no such file",
        io::ErrorKind::PermissionDenied => "not executable: it needs `chmod +x`, or is no program",
        _ => return format!("cannot start '{command}': {error}"),
    };
    format!("cannot start '{command}': {remedy}")
}

/// The first folder on the way to a file that this user may not enter.
fn closed_folder(file: &Path, may_enter: impl Fn(&Path) -> bool) -> Option<&Path> {
    let folders: Vec<&Path> = file.ancestors().skip(1).collect();
    let mut named = folders.into_iter().rev();
    named.find(|folder| !folder.as_os_str().is_empty() && !may_enter(folder))
}

/// Whether this user may look up files in a folder.
fn may_enter(folder: &Path) -> bool {
    let looked_up = folder.join(".").metadata();
    !looked_up.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The exit status that shells use for this failure.
pub fn exit_status(errno: i32) -> u8 {
    match io::Error::from_raw_os_error(errno).kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_of_another_namespace_is_named() {
        let own = std::process::id().to_string();
        assert!(proc_trouble(None).contains("not mounted"));
        assert!(proc_trouble(Some(Path::new("0"))).contains("another pid namespace"));
        assert!(proc_trouble(Some(Path::new(&own))).contains("cannot be seen"));
    }

    #[test]
    fn the_first_folder_that_may_not_be_entered_is_named() {
        let closed = |name: &'static str| move |folder: &Path| !folder.ends_with(name);
        let find =
            |file: &'static str, name: &'static str| closed_folder(Path::new(file), closed(name));
        assert_eq!(find("/a/b/c/program", "b"), Some(Path::new("/a/b")));
        assert_eq!(find("b/c/program", "b"), Some(Path::new("b")));
        assert_eq!(find("/a/b/c/program", "program"), None);
        assert_eq!(find("program", "b"), None);
        assert!(may_enter(&std::env::temp_dir()));
    }
}
