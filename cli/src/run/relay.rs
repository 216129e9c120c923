//! The relay process: it forwards the output of an orphan after the launcher has ended. Without it, SIGPIPE would kill the
//! orphan.
//!
//! The launcher starts its own program with [`FLAG`] as the first argument, the pipe as standard input, and the pipe's destination
//! as standard output.

use super::output::{LineBuffer, Stream};
use crate::console;
use rustix::io::{Errno, ioctl_fionbio, read};
use std::env::ArgsOs;
use std::io::{self, IsTerminal, stderr, stdin, stdout};
use std::iter::Skip;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The first argument of a relay process; the prefix of its lines follows.
pub const FLAG: &str = "--nvshmemrs-relay";

/// The longest line that is printed in one piece.
const MOST: usize = 1 << 20;

/// Starts a relay process for a pipe.
pub(super) fn start(pipe: OwnedFd, stream: Stream, tag: &str) -> io::Result<()> {
    let end = match stream {
        Stream::Out => stdout().as_fd().try_clone_to_owned()?,
        Stream::Err => stderr().as_fd().try_clone_to_owned()?,
    };
    Command::new("/proc/self/exe")
        .arg0("nvshmemrs-run")
        .args([FLAG, tag])
        .env_remove("NVSHMEMRS_PE")
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::from(pipe))
        .stdout(Stdio::from(end))
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// The main function of the relay: forwards output until all writers have closed the pipe.
pub fn pass_on(mut args: Skip<ArgsOs>) -> ExitCode {
    let tag = args.next().unwrap_or_default();
    match lines(&tag.to_string_lossy()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn lines(tag: &str) -> io::Result<()> {
    ioctl_fionbio(stdin(), false)?;
    let mut buffer = LineBuffer::new(tag, stdout().is_terminal(), false, MOST);
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = match read(stdin(), &mut *chunk) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            // EIO is the end of a terminal.
            Err(Errno::IO) => 0,
            Err(error) => return Err(error.into()),
        };
        match count {
            0 => buffer.complete(),
            count => buffer.append(&chunk[..count], Instant::now()),
        }
        let mut text = Vec::new();
        if buffer.is_due(Instant::now()) {
            buffer.drain_into(&mut text);
        }
        console::to_stdout(&text)?;
        if count == 0 {
            return Ok(());
        }
    }
}
