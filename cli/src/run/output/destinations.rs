//! The destinations of a PE's streams.
//!
//! * A single PE without `--tag` inherits the launcher's own streams.
//! * If the launcher's stream is a terminal, each PE gets a terminal; if it is a file or a pipe, each PE gets a pipe. So C and
//!   Python flush lines as they do without the launcher.
//! * If both streams of the launcher go to the same file, a PE has one pipe for both, which keeps their order.
//! * PEs inherit a device that is not a terminal, such as /dev/null, except with `--tag`.

use super::Stream;
use anyhow::{Context, Result};
use rustix::fs::{FileType, Stat, fstat};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, isatty, tcgetattr, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};
use std::io::{self, stderr, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

/// The replacement for one of the launcher's streams in a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// The launcher's stream itself.
    Itself,
    Pipe,
    Terminal,
}

/// The destinations of standard output and standard error.
#[derive(Debug)]
pub(super) struct Destinations {
    out: Destination,
    err: Destination,
    /// Whether both streams have the same destination.
    together: bool,
    /// Whether each line begins with its PE.
    pub(super) tag: bool,
}

impl Destinations {
    /// The destinations of a job; raises the limit of open files for its pipes.
    pub(super) fn of_job(n_pes: u32, tag: bool) -> Result<Self> {
        let look =
            |stream: BorrowedFd<'_>| fstat(stream).context("cannot look at a standard stream");
        let (out, err) = (look(stdout().as_fd())?, look(stderr().as_fd())?);
        let alone = n_pes == 1 && !tag;
        let destination =
            |stat: &Stat, stream: BorrowedFd<'_>| match FileType::from_raw_mode(stat.st_mode) {
                _ if alone => Destination::Itself,
                _ if isatty(stream) => Destination::Terminal,
                FileType::CharacterDevice if !tag => Destination::Itself,
                _ => Destination::Pipe,
            };
        let destinations = Self {
            out: destination(&out, stdout().as_fd()),
            err: destination(&err, stderr().as_fd()),
            together: (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino),
            tag,
        };
        if (destinations.out, destinations.err) != (Destination::Itself, Destination::Itself) {
            reserve(n_pes)?;
        }
        Ok(destinations)
    }

    /// Sets the streams of a PE; returns the launcher's ends of its pipes.
    pub(super) fn give(&self, command: &mut Command) -> io::Result<Vec<(Stream, OwnedFd)>> {
        let mut pipes = Vec::new();
        if let Some((here, there)) = made(self.out, stdout().as_fd())? {
            if self.together {
                command.stderr(Stdio::from(there.try_clone()?));
            }
            command.stdout(Stdio::from(there));
            pipes.push((Stream::Out, here));
        }
        if !self.together
            && let Some((here, there)) = made(self.err, stderr().as_fd())?
        {
            command.stderr(Stdio::from(there));
            pipes.push((Stream::Err, here));
        }
        for (_, pipe) in &pipes {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(pipes)
    }

    /// Whether a stream is shown on a terminal.
    pub(super) fn is_terminal(&self, stream: Stream) -> bool {
        let destination = match stream {
            Stream::Out => self.out,
            Stream::Err => self.err,
        };
        destination == Destination::Terminal
    }
}

/// Creates a destination: the launcher's end and the PE's.
fn made(destination: Destination, shown: BorrowedFd<'_>) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
    Ok(match destination {
        Destination::Itself => None,
        Destination::Pipe => {
            let (here, there) = io::pipe()?;
            Some((here.into(), there.into()))
        }
        Destination::Terminal => Some(terminal(shown)?),
    })
}

/// Creates a terminal for a PE, as wide as the launcher's. It passes bytes through unchanged.
fn terminal(shown: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let here = openpt(flags)?;
    unlockpt(&here)?;
    let there = ioctl_tiocgptpeer(&here, flags)?;
    let mut modes = tcgetattr(&there)?;
    modes.output_modes.remove(OutputModes::OPOST);
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&there, OptionalActions::Now, &modes)?;
    if let Ok(size) = tcgetwinsize(shown) {
        tcsetwinsize(&there, size)?;
    }
    Ok((here, there))
}

/// Raises the limit of open files for the pipes of `n_pes` PEs: two files each.
fn reserve(n_pes: u32) -> Result<()> {
    let needed = u64::from(n_pes) * 2 + 64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        if limit.maximum.is_some_and(|most| most < needed) {
            anyhow::bail!(
                "-n {n_pes} needs {needed} open files for the output of the PEs, but the hard limit is {}: \
                 raise it (ulimit -Hn)",
                limit.maximum.unwrap_or_default()
            );
        }
        limit.current = Some(needed);
        setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")?;
    }
    Ok(())
}
