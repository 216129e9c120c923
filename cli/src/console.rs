//! The output of the tools. A missing reader, a full disk or a closed descriptor causes no panic and does not end the job.
//! (`println!` panics on a failed write; the crates' lints deny it.)

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGXFSZ;
use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Makes a write beyond a file-size limit fail with an error, where SIGXFSZ would end the process. (Rust handles SIGPIPE, and
/// redirects streams that were closed at the start to /dev/null.) Called at the start of `main`.
pub fn survive_writes() {
    // The flag is not read: its handler replaces the signal's default action. If registration fails, such a write ends the
    // process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Writes lines to standard error in one piece. A failure cannot be reported.
pub fn error(lines: impl Display) {
    let _ = to_stderr(format!("{lines}\n").as_bytes());
}

/// Writes to standard output. A reader that has ended (`head`, say) is not an error.
pub fn print(text: &str) -> io::Result<()> {
    match to_stdout(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes to standard output; returns all errors.
pub fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    write_all(io::stdout().lock().as_fd(), bytes)
}

/// Writes to standard error; returns all errors.
pub fn to_stderr(bytes: &[u8]) -> io::Result<()> {
    write_all(io::stderr().lock().as_fd(), bytes)
}

/// Writes all bytes. If another process has made the stream non-blocking, this waits until it is writable.
fn write_all(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(stream, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&stream, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
