//! The output of the PEs: whole lines of many PEs on the launcher's streams.
//!
//! A single PE has the launcher's own streams. With several PEs, or `--tag`, each PE has a pipe for each stream
//! ([`destinations`]). One thread reads all pipes ([`printer`], [`line_buffer`]: lines; [`arbiter`]: their order). So a slow
//! reader of the launcher's output blocks the PEs that write, but never the launcher.
//!
//! If the reader is gone, a PE's pipe is closed, and the PE gets SIGPIPE when it writes, as without the launcher. Output that
//! cannot be printed for another reason, such as a full disk, is lost, and the PE continues. An orphan of a PE prints through a
//! relay process after the job ([`super::relay`]).

mod arbiter;
mod destinations;
mod line_buffer;
mod printer;

pub(super) use line_buffer::LineBuffer;

use super::{limits, threads};
use anyhow::{Context, Result};
use destinations::Destinations;
use printer::{Printer, Source};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread::JoinHandle;

/// One of the launcher's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The pipes of all PEs, before the pump takes them.
#[derive(Debug)]
pub struct Outputs {
    destinations: Destinations,
    n_pes: u32,
    sources: Vec<Source>,
}

impl Outputs {
    /// Determines the destinations of the streams of a job.
    pub fn new(n_pes: u32, tag: bool) -> Result<Self> {
        Ok(Self {
            destinations: Destinations::of_job(n_pes, tag)?,
            n_pes,
            sources: Vec::new(),
        })
    }

    /// Sets the streams of a PE that is about to start.
    pub fn give(&mut self, pe: u32, command: &mut Command) -> Result<()> {
        let what = format!("cannot start PE {pe} of {}", self.n_pes);
        let pipes = self
            .destinations
            .give(command)
            .map_err(limits::error(what))?;
        let source = |(stream, pipe)| Source::new(pe, stream, pipe);
        self.sources.extend(pipes.into_iter().map(source));
        Ok(())
    }

    /// Starts the thread that prints the output; `None` if the PEs print to the launcher's streams themselves.
    pub fn pump(self) -> Result<Option<Pump>> {
        if self.sources.is_empty() {
            return Ok(None);
        }
        let (control, commands) =
            UnixStream::pair().map_err(limits::error("cannot make a socket pair"))?;
        let printer = Printer::new(self.sources, &self.destinations);
        let thread = threads::spawn("output", move || printer.run(&commands));
        let thread = thread.map_err(limits::error("cannot start the output thread"))?;
        Ok(Some(Pump { control, thread }))
    }
}

/// The printing thread.
#[derive(Debug)]
pub struct Pump {
    control: UnixStream,
    thread: JoinHandle<io::Result<()>>,
}

impl Pump {
    /// Reports that the PE has ended, which ends its unfinished line.
    pub fn ended(&mut self, pe: u32) {
        // Once all pipes are at their ends, the thread has ended, too.
        let _ = self.control.write_all(&pe.to_ne_bytes());
    }

    /// Prints the output that the PEs have written so far, and ends the thread. Orphans of PEs do not delay the launcher. An
    /// error if output for standard output was lost.
    pub fn finish(self) -> Result<()> {
        drop(self.control);
        match self.thread.join() {
            Ok(result) => result.context("output of the PEs is lost"),
            Err(_) => anyhow::bail!("output of the PEs is lost: the output thread panicked"),
        }
    }
}
