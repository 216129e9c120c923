//! The thread that reads all pipes and prints the lines.

use super::Stream;
use super::arbiter::OutputArbiter;
use super::destinations::Destinations;
use super::line_buffer::LineBuffer;
use crate::console;
use crate::run::relay;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{self as raw, Errno};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The size of a read, and the most bytes that wait to be printed: of one pipe, and of all pipes together.
const CHUNK: usize = 1 << 16;
const MOST: usize = 1 << 20;
const MOST_OF_ALL: usize = 1 << 26;
/// The maximum that is read of a pipe at once at its end: a process that writes continuously must not delay the launcher. The
/// pipes of unprivileged users are smaller than this.
const LAST: usize = 1 << 22;

/// One pipe of one PE.
#[derive(Debug)]
pub(super) struct Source {
    pe: u32,
    stream: Stream,
    /// `None` once it is at its end.
    pipe: Option<OwnedFd>,
}

impl Source {
    pub(super) fn new(pe: u32, stream: Stream, pipe: OwnedFd) -> Self {
        Self {
            pe,
            stream,
            pipe: Some(pipe),
        }
    }
}

/// An output of the launcher, with the streams that go to it.
#[derive(Debug)]
struct Sink {
    stream: Stream,
    mine: Vec<usize>,
    arbiter: OutputArbiter,
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Printer {
    sources: Vec<Source>,
    /// The unprinted bytes of each source.
    buffers: Vec<LineBuffer>,
    sinks: [Sink; 2],
    /// Whether each line begins with its PE.
    tag: bool,
    chunk: Vec<u8>,
    lost: io::Result<()>,
}

impl Printer {
    pub(super) fn new(sources: Vec<Source>, destinations: &Destinations) -> Self {
        let most = (MOST_OF_ALL / sources.len().max(1)).clamp(CHUNK, MOST);
        let buffer = |source: &Source| {
            let tag = tag(destinations.tag, source.pe);
            let returns = destinations.is_terminal(source.stream);
            LineBuffer::new(&tag, returns, source.pe == 0, most)
        };
        let sink = |stream| {
            let mine = (0..sources.len()).filter(|&one| sources[one].stream == stream);
            Sink {
                stream,
                mine: mine.collect(),
                arbiter: OutputArbiter::default(),
            }
        };
        Self {
            buffers: sources.iter().map(buffer).collect(),
            sinks: [Stream::Out, Stream::Err].map(sink),
            sources,
            tag: destinations.tag,
            chunk: vec![0; CHUNK],
            lost: Ok(()),
        }
    }

    /// Prints until all pipes are at their ends, or the launcher closes its end of `control`, through which it reports PEs that
    /// have ended. An error if output for standard output was lost.
    pub(super) fn run(mut self, mut control: &UnixStream) -> io::Result<()> {
        while self.sources.iter().any(|source| source.pipe.is_some()) {
            let (ready, word) = self.wait(control)?;
            let now = Instant::now();
            for one in ready {
                self.read(one, now, CHUNK);
            }
            if word {
                let mut pe = [0; 4];
                match control.read_exact(&mut pe) {
                    Ok(()) => self.end(|source| source.pe == u32::from_ne_bytes(pe), now),
                    Err(_) => break,
                }
            }
            self.print(now);
        }
        let now = Instant::now();
        self.end(|_| true, now);
        self.buffers
            .iter_mut()
            .for_each(|buffer| buffer.ended = true);
        self.print(now);
        for source in &mut self.sources {
            let Some(pipe) = source.pipe.take() else {
                continue;
            };
            let tag = tag(self.tag, source.pe);
            if let Err(error) = relay::start(pipe, source.stream, &tag) {
                console::error(format_args!(
                    "nvshmemrs-run: output of a process that PE {} has left behind is lost: {error:#}",
                    source.pe
                ));
            }
        }
        self.lost
    }

    /// Waits for an event: returns the readable pipes, and whether the launcher sent a message.
    fn wait(&self, control: &UnixStream) -> io::Result<(Vec<usize>, bool)> {
        let open = self.sources.iter().zip(&self.buffers).enumerate();
        let open = open.filter(|(_, (_, buffer))| buffer.has_room());
        let open = open.filter_map(|(one, (source, _))| Some((one, source.pipe.as_ref()?)));
        let (numbers, mut ready): (Vec<usize>, Vec<PollFd<'_>>) = open
            .map(|(one, pipe)| (one, PollFd::new(pipe, PollFlags::IN)))
            .unzip();
        ready.push(PollFd::new(control, PollFlags::IN));
        let next = self.sinks.iter();
        let next = next.filter_map(|sink| sink.arbiter.next(&self.buffers, &sink.mine));
        let left = next
            .min()
            .map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut ready, left.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok((Vec::new(), false)),
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = ready.iter().map(|fd| !fd.revents().is_empty()).collect();
        let word = ready.pop() == Some(true);
        let ready = numbers.into_iter().zip(ready);
        Ok((ready.filter(|one| one.1).map(|one| one.0).collect(), word))
    }

    /// Reads up to `most` bytes of a pipe; closes it at its end.
    fn read(&mut self, one: usize, now: Instant, most: usize) {
        let (source, buffer) = (&mut self.sources[one], &mut self.buffers[one]);
        let mut count_read = 0;
        while let (Some(pipe), true) = (&source.pipe, count_read < most) {
            match raw::read(pipe, &mut *self.chunk) {
                Ok(count) if count > 0 => {
                    buffer.append(&self.chunk[..count], now);
                    count_read += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The end of the pipe; of a terminal, EIO is the end.
                Ok(_) | Err(_) => {
                    source.pipe = None;
                    buffer.complete();
                    buffer.ended = true;
                }
            }
        }
    }

    /// Handles the end of PEs: reads their last output, and ends unfinished lines.
    fn end(&mut self, which: impl Fn(&Source) -> bool, now: Instant) {
        for one in 0..self.sources.len() {
            if which(&self.sources[one]) {
                self.read(one, now, LAST);
                self.buffers[one].complete();
            }
        }
    }

    /// Prints the lines that are due.
    fn print(&mut self, now: Instant) {
        for sink in &mut self.sinks {
            let text = sink.arbiter.print(&mut self.buffers, &sink.mine, now);
            if text.is_empty() {
                continue;
            }
            let printed = match sink.stream {
                Stream::Out => console::to_stdout(&text),
                Stream::Err => console::to_stderr(&text),
            };
            match printed {
                Ok(()) => {}
                Err(error) if is_gone(&error) => {
                    for &one in &sink.mine {
                        self.sources[one].pipe = None;
                    }
                }
                // Output to standard error may be lost, as when the program itself writes there.
                Err(_) if sink.stream == Stream::Err => {}
                Err(error) => self.lost = Err(error),
            }
        }
    }
}

/// The prefix of a PE's lines.
fn tag(wanted: bool, pe: u32) -> String {
    match wanted {
        true => format!("[{pe}] "),
        false => String::new(),
    }
}

/// Whether the reader is gone: the reader of a pipe has ended, or a terminal has been hung up.
fn is_gone(error: &io::Error) -> bool {
    let hung_up = Errno::IO.raw_os_error();
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(hung_up)
}
