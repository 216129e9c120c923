//! Tagged output: whole lines of many PEs on the launcher's streams, each line beginning with its PE.
//!
//! One thread reads all pipes, so that a slow reader of the launcher's output holds up the PEs that write,
//! but never the launcher.
//!
//! Where the reader is gone, a PE's pipe is closed: the PE gets SIGPIPE when it writes, as if it had printed itself. What cannot be
//! printed for another reason, such as a full disk, is lost, and the PE goes on.

use super::limits;
use crate::say;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, read};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

/// A line longer than this is printed in pieces, so that memory stays bounded.
const LONGEST_LINE: usize = 1 << 20;

/// Which of the launcher's streams a pipe ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// One stream of one PE.
#[derive(Debug)]
struct Source {
    pipe: OwnedFd,
    stream: Stream,
    lines: Lines,
}

/// The pipes of all PEs, before the pump takes them.
#[derive(Debug, Default)]
pub struct Pipes(Vec<Source>);

impl Pipes {
    /// Makes room for the pipes of `n_pes` PEs: two files each.
    pub fn reserve(n_pes: u32) -> Result<Self> {
        let needed = u64::from(n_pes) * 2 + 64;
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current.is_some_and(|current| current < needed) {
            if limit.maximum.is_some_and(|most| most < needed) {
                anyhow::bail!(
                    "--tag with -n {n_pes} needs {needed} open files, but the hard limit is {}: \
                     raise it (ulimit -Hn) or leave out --tag",
                    limit.maximum.unwrap_or_default()
                );
            }
            limit.current = Some(needed);
            setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")?;
        }
        Ok(Self::default())
    }

    /// Adds one stream of a PE.
    pub fn add(&mut self, pe: u32, stream: Stream, pipe: OwnedFd) -> Result<()> {
        ioctl_fionbio(&pipe, true).context("cannot make an output pipe non-blocking")?;
        self.0.push(Source {
            pipe,
            stream,
            lines: Lines::new(pe),
        });
        Ok(())
    }

    /// Starts the thread that prints what arrives.
    pub fn pump(self) -> Result<Pump> {
        let (stop, stopped) =
            UnixStream::pair().map_err(limits::error("cannot make a socket pair"))?;
        let thread = thread::Builder::new().name("output".into());
        let thread = thread.spawn(move || pump(self.0, &stopped));
        let thread = thread.map_err(limits::error("cannot start the output thread"))?;
        Ok(Pump { stop, thread })
    }
}

/// The running thread.
#[derive(Debug)]
pub struct Pump {
    stop: UnixStream,
    thread: JoinHandle<io::Result<()>>,
}

impl Pump {
    /// Prints what the PEs have written until now, and ends. A process that a PE left running does not hold
    /// up the launcher. An error if something that was for standard output is lost.
    pub fn finish(self) -> Result<()> {
        drop(self.stop);
        match self.thread.join() {
            Ok(result) => result.context("output of the PEs is lost"),
            Err(_) => anyhow::bail!("output of the PEs is lost: the output thread panicked"),
        }
    }
}

fn pump(mut sources: Vec<Source>, stopped: &UnixStream) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut lost = Ok(());
    while !sources.is_empty() {
        let mut ready: Vec<PollFd<'_>> = sources
            .iter()
            .map(|source| PollFd::new(&source.pipe, PollFlags::IN))
            .collect();
        ready.push(PollFd::new(stopped, PollFlags::IN));
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = ready.iter().map(|fd| !fd.revents().is_empty()).collect();
        let last = ready.pop() == Some(true);
        let mut ready = ready.into_iter();
        sources.retain_mut(|source| {
            let readable = ready.next() == Some(true);
            if !(readable || last) {
                return true;
            }
            let open = match source.transfer(&mut buffer, last) {
                Ok(open) => open,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => false,
                Err(error) => {
                    // On standard error it may be, as when a program itself writes there.
                    if source.stream == Stream::Out {
                        lost = Err(error);
                    }
                    true
                }
            };
            open && !last
        });
    }
    lost
}

impl Source {
    /// Prints what the pipe holds; false at its end. `all` reads until nothing is left, else one read must
    /// do, so that every PE has its turn. After an error, the next call goes on behind what is lost.
    fn transfer(&mut self, buffer: &mut [u8], all: bool) -> io::Result<bool> {
        loop {
            match read(self.pipe.as_fd(), &mut *buffer) {
                Ok(0) => {
                    self.print(|lines| lines.finish())?;
                    return Ok(false);
                }
                Ok(count) => self.print(|lines| lines.push(&buffer[..count]))?,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) if all => {
                    self.print(|lines| lines.finish())?;
                    return Ok(false);
                }
                Err(Errno::AGAIN) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
            if !all {
                return Ok(true);
            }
        }
    }

    fn print(&mut self, text: impl FnOnce(&mut Lines) -> Vec<u8>) -> io::Result<()> {
        let text = text(&mut self.lines);
        match self.stream {
            Stream::Out => say::to_stdout(&text),
            Stream::Err => say::to_stderr(&text),
        }
    }
}

/// Cuts a stream into tagged lines.
#[derive(Debug)]
struct Lines {
    tag: String,
    partial: Vec<u8>,
}

impl Lines {
    fn new(pe: u32) -> Self {
        Self {
            tag: format!("[{pe}] "),
            partial: Vec::new(),
        }
    }

    /// The lines that `bytes` complete.
    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(bytes.len() + 64);
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if self.partial.ends_with(b"\n") {
                self.take_line(&mut text);
            } else if self.partial.len() >= LONGEST_LINE {
                text.append(&mut self.finish());
            }
        }
        text
    }

    /// What is left, as a line.
    fn finish(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.partial.is_empty() {
            self.partial.push(b'\n');
            self.take_line(&mut text);
        }
        text
    }

    fn take_line(&mut self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.tag.as_bytes());
        text.append(&mut self.partial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_tagged() {
        let mut lines = Lines::new(2);
        assert_eq!(lines.push(b"one\ntw"), b"[2] one\n");
        assert_eq!(lines.push(b"o\n\nthree"), b"[2] two\n[2] \n");
        assert_eq!(lines.finish(), b"[2] three\n");
        assert_eq!(lines.finish(), b"");
    }

    #[test]
    fn an_endless_line_comes_in_pieces() {
        let mut lines = Lines::new(0);
        let text = lines.push(&vec![b'x'; LONGEST_LINE]);
        assert_eq!(text.len(), LONGEST_LINE + "[0] \n".len());
        assert!(lines.partial.is_empty());
    }
}
