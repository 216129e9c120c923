//! The output of the tools. A missing reader, a full disk or a closed descriptor causes no panic and ends no job here. (`println!`
//! panics; the crates' lints deny it.)

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGXFSZ;
use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Has a write that a file's limit of size refuses fail, where it would end the process. (Rust has taken care of SIGPIPE, and of streams
/// that were closed at the start: those lead to /dev/null.) For the start of `main`.
pub fn survive_writes() {
    // Only the flag's handler counts. Without it, a write at that limit ends the process, as it does most others.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Writes lines to standard error, in one go. A failure cannot be told to anybody.
pub fn error(lines: impl Display) {
    let _ = to_stderr(format!("{lines}\n").as_bytes());
}

/// Writes to standard output. If the reader (`head`, say) is gone, it has seen enough, and this is no error.
pub fn print(text: &str) -> io::Result<()> {
    match to_stdout(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes to standard output, with all errors.
pub fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    write_all(io::stdout().lock().as_fd(), bytes)
}

/// Writes to standard error, with all errors.
pub fn to_stderr(bytes: &[u8]) -> io::Result<()> {
    write_all(io::stderr().lock().as_fd(), bytes)
}

/// Writes all of it. Somebody else may have made the stream non-blocking: then this waits for it.
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
