//! The PEs of a job as processes: starting, signalling and reaping them.

use super::args::Args;
use super::binding::Binding;
use super::findings::Findings;
use super::guard::Guard;
use super::{limits, shim};
use anyhow::{Context, Result};
use nvshmemrs::UniqueId;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::process::{getpid, kill_process_group, set_child_subreaper};
use rustix::process::{test_kill_process_group, wait};
use signal_hook::low_level::signal_name;
use std::collections::HashMap;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The number of hardware queues that the driver uses for the streams of a GPU, 8 by default. A waiting stream blocks the other
/// streams of its queue.
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The driver's maximum.
const MOST_CONNECTIONS: &str = "32";

/// Only a process that is stuck in the kernel survives SIGKILL for this long.
pub const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How a PE's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

impl End {
    /// Whether the PE ended with anything but exit status 0.
    pub fn failed(self) -> bool {
        self != Self::Exited(0)
    }

    /// The exit status of the launcher: 128 + N for signal N, as in shells.
    pub fn exit_status(self) -> u8 {
        let status = match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => 128 + signal,
        };
        u8::try_from(status).unwrap_or(1)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(signal) => write!(f, "was killed by {}", named(signal)),
        }
    }
}

/// "signal 15 (SIGTERM)".
pub fn named(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

/// Why the launcher sends a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalReason {
    /// The launcher received the signal, and forwards it.
    PassedOn,
    /// The job must end: a PE has failed, or the user has interrupted the job.
    TheEnd,
}

/// One PE's process, the leader of its own process group.
#[derive(Debug)]
pub struct Pe {
    /// Its number in the job.
    pub pe: u32,
    /// Its process.
    pub pid: Pid,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// The signals that the launcher sent before the PE ended, except SIGTSTP and SIGCONT.
    sent: Vec<(Signal, SignalReason)>,
}

impl Pe {
    /// The launcher's signal that ended the PE, if one did: then the PE itself did not fail. A PE killed by another signal ended
    /// by itself.
    pub fn ended_by_launcher(&self) -> Option<Signal> {
        let mut sent = self.sent.iter().rev();
        let last = match self.end? {
            End::Exited(_) => sent.find(|sent| sent.1 == SignalReason::TheEnd),
            End::Killed(signal) => {
                sent.find(|sent| sent.1 == SignalReason::TheEnd && sent.0.as_raw() == signal)
            }
        };
        last.map(|sent| sent.0)
    }

    /// Whether the PE was killed by a signal that the launcher had received and forwarded.
    pub fn ended_by_user(&self) -> bool {
        let passed_on = |signal| {
            let is = |sent: &(Signal, SignalReason)| {
                sent.1 == SignalReason::PassedOn && sent.0.as_raw() == signal
            };
            self.sent.iter().any(is)
        };
        matches!(self.end, Some(End::Killed(signal)) if passed_on(signal))
    }
}

/// All PEs that this launcher started.
#[derive(Debug)]
pub struct Job {
    pes: Vec<Pe>,
    by_pid: HashMap<Pid, usize>,
    live: usize,
    /// The signal that stopped a PE since the last `take_stopped`.
    stopped: Option<i32>,
    guard: Guard,
}

impl Job {
    /// Creates a job without PEs, and the guard that ends it if the launcher is killed.
    pub fn new() -> Result<Self> {
        // Orphans of PEs become children of the launcher, which then sees their exits.
        set_child_subreaper(Some(getpid())).context("cannot become the parent of orphans")?;
        let guard = Guard::start().map_err(limits::error("cannot start the guard process"))?;
        Ok(Self {
            pes: Vec::new(),
            by_pid: HashMap::new(),
            live: 0,
            stopped: None,
            guard,
        })
    }

    /// Starts the next PE, with the streams that `set_streams` sets. The kernel kills the PE when the calling thread ends, so the
    /// main thread must call this.
    pub fn start_pe(
        &mut self,
        args: &Args,
        id: &UniqueId,
        errors: i32,
        binding: Option<&Binding>,
        findings: Option<&Findings>,
        set_streams: impl FnOnce(&mut Command) -> Result<()>,
    ) -> Result<Child> {
        let pe = self.pes.len() as u32;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("nvshmemrs-run")
            .arg(shim::FLAG)
            .arg(std::process::id().to_string())
            .arg(errors.to_string())
            .arg(binding.map_or(String::new(), |binding| binding.cpus_of(pe)))
            .args(&args.command)
            .env("NVSHMEMRS_PE", pe.to_string())
            .env("NVSHMEMRS_N_PES", args.n_pes.to_string())
            .env("NVSHMEMRS_UNIQUE_ID", id.to_hex())
            .process_group(0)
            .stdin(Stdio::null());
        if std::env::var_os(CONNECTIONS).is_none() {
            command.env(CONNECTIONS, MOST_CONNECTIONS);
        }
        if let Some(heap) = &args.heap {
            command.env("NVSHMEM_SYMMETRIC_SIZE", heap);
        }
        if let Some(timeout) = args.timeout {
            command.env("NVSHMEMRS_TIMEOUT", timeout.as_secs_f64().to_string());
        }
        if let Some(trace) = &args.trace {
            command.env("NVSHMEMRS_TRACE", std::path::absolute(trace)?);
        }
        if let Some(findings) = findings {
            command
                .env("NVSHMEMRS_CHECK", "1")
                .env("NVSHMEMRS_CHECK_FD", findings.name()?);
        }
        set_streams(&mut command)?;
        let what = format!("cannot start PE {pe} of {}", args.n_pes);
        let child = command.spawn().map_err(limits::error(what))?;
        let pid = Pid::from_child(&child);
        self.by_pid.insert(pid, self.pes.len());
        self.pes.push(Pe {
            pe,
            pid,
            end: None,
            sent: Vec::new(),
        });
        self.live += 1;
        self.guard.watch(pid)?;
        Ok(child)
    }

    /// All PEs, by number.
    pub fn pes(&self) -> &[Pe] {
        &self.pes
    }

    /// How many PEs run.
    pub fn live(&self) -> usize {
        self.live
    }

    /// The processes of the PEs that run.
    pub fn live_pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.pes
            .iter()
            .filter(|pe| pe.end.is_none())
            .map(|pe| pe.pid.as_raw_pid() as u32)
    }

    /// Collects the PEs that have ended since the last call. A PE killed by a signal comes first: the others may have failed
    /// because of it.
    pub fn reap(&mut self) -> Result<Vec<usize>> {
        let mut ended = Vec::new();
        loop {
            let (pid, status) = match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some(found)) => found,
                Ok(None) | Err(Errno::CHILD) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error).context("cannot wait for the PEs"),
            };
            let end = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => End::Exited(code),
                (None, Some(signal)) => End::Killed(signal),
                (None, None) => {
                    if self.by_pid.contains_key(&pid) {
                        self.stopped = status.stopping_signal().or(self.stopped);
                    }
                    continue;
                }
            };
            if let Some(&index) = self.by_pid.get(&pid) {
                self.pes[index].end = Some(end);
                self.live -= 1;
                ended.push(index);
            }
        }
        ended.sort_by_key(|&index| !matches!(self.pes[index].end, Some(End::Killed(_))));
        Ok(ended)
    }

    /// The signal that has stopped a PE since the last call.
    pub fn take_stopped(&mut self) -> Option<i32> {
        self.stopped.take()
    }

    /// Sends a signal to the process groups of all PEs, also of PEs that have ended.
    pub fn signal(&mut self, signal: Signal, why: SignalReason) {
        for pe in &mut self.pes {
            // The group may be empty.
            let _ = kill_process_group(pe.pid, signal);
            if pe.end.is_none() && !matches!(signal, Signal::TSTP | Signal::CONT) {
                pe.sent.push((signal, why));
            }
        }
    }

    /// PEs that run, or whose process group is not empty.
    pub fn remaining(&self) -> Vec<u32> {
        let left = |pe: &&Pe| pe.end.is_none() || test_kill_process_group(pe.pid).is_ok();
        self.pes.iter().filter(left).map(|pe| pe.pe).collect()
    }

    /// Kills all process groups and waits until they are empty; returns the PEs whose groups are still not empty, because the
    /// kernel delays their end.
    pub fn kill(mut self) -> Result<Vec<u32>> {
        self.signal(Signal::KILL, SignalReason::TheEnd);
        let until = Instant::now() + KILL_LIMIT;
        loop {
            self.reap()?;
            let left = self.remaining();
            if left.is_empty() || Instant::now() >= until {
                self.close();
                return Ok(left);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Dismisses the guard: the job is over.
    pub fn close(self) {
        self.guard.dismiss();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_read_as_shells_count_them() {
        assert_eq!(
            End::Killed(9).to_string(),
            "was killed by signal 9 (SIGKILL)"
        );
        assert_eq!(End::Killed(9).exit_status(), 137);
        assert_eq!(End::Exited(3).to_string(), "exited with status 3");
        assert_eq!(End::Exited(3).exit_status(), 3);
        assert!(!End::Exited(0).failed());
        assert!(End::Killed(15).failed());
    }
}
