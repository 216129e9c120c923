//! The launcher's main loop: signals, exits of PEs, deadlines, stalls.

use super::args::Args;
use super::binding::Binding;
use super::exit_notifier::ExitNotifier;
use super::findings::Findings;
use super::job::{End, Job, KILL_LIMIT, SignalReason};
use super::output::{Outputs, Pump};
use super::report::ReportFile;
use super::terminal::Terminal;
use super::verdict::Evidence;
use super::{input, limits, shim, signals};
use crate::console;
use anyhow::{Context, Error, Result};
use nvshmemrs::UniqueId;
use nvshmemrs::board::{self, Board, InitStatus, Monitor, Picture, Position, State};
use nvshmemrs::config::{self, unknown::unknown_line};
use nvshmemrs::trace;
use nvshmemrs_inspect::find;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::signal::*;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The interval at which the launcher polls for the exit of processes that a failed PE left behind; there is no notification.
const LEFTOVER_INTERVAL: Duration = Duration::from_millis(20);
/// The delay before the launcher first looks for the board, and the longest interval between attempts. The launcher must find the
/// board before the PEs exit, because it is reached through a running PE.
const FIRST_FIND: Duration = Duration::from_millis(20);
const LAST_FIND: Duration = Duration::from_millis(500);

/// The phases of the end of a job.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No PE has failed.
    Running,
    /// Until this time the other PEs may report and exit by themselves.
    Grace(Instant),
    /// They have received SIGTERM, and receive SIGKILL at this time.
    Terminating(Instant),
    /// They have received SIGKILL; the launcher waits until this time at most.
    Killed(Instant),
}

/// Runs the job; returns the exit status of the first PE that failed.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(line) = unknown_line() {
        console::error(format_args!("nvshmemrs-run: {line}"));
    }
    let signals = signals::listen()?;
    let timeline = args.trace.clone().or_else(config::trace);
    if let Some(path) = &timeline {
        trace::remove_parts(path);
    }
    let mut launcher = Launcher::start(args)?;
    match launcher.watch(&signals) {
        Ok(()) => {
            let status = launcher.finish();
            if let Some(path) = &timeline {
                merge_timeline(path);
            }
            status
        }
        Err(error) => Err(launcher.give_up(error)),
    }
}

/// Chooses the CPUs of the PEs, and reports them if requested.
fn bind(args: &Args) -> Option<Binding> {
    let binding = Binding::of_job(args);
    if args.report_bindings {
        match &binding {
            Ok(binding) => (0..args.n_pes).for_each(|pe| {
                let cpus = binding.cpus_of(pe);
                console::error(format_args!(
                    "nvshmemrs-run: PE {pe} is bound to CPU {cpus}"
                ));
            }),
            Err(why) => console::error(format_args!("nvshmemrs-run: PEs are not bound: {why}")),
        }
    }
    binding.ok()
}

/// Merges the parts of a timeline that PE 0 did not merge, because a PE failed. The job's exit status is unchanged.
fn merge_timeline(path: &Path) {
    if trace::is_left(path)
        && let Some(line) = trace::merge(path).line(path)
    {
        console::error(line.trim_end());
    }
}

struct Launcher<'a> {
    args: &'a Args,
    command: String,
    job: Job,
    output: Option<Pump>,
    /// The terminal of a single PE.
    terminal: Option<Terminal>,
    /// A pipe for the errors of `exec`; the write end stays open for the shims.
    exec_errors: (OwnedFd, OwnedFd),
    /// Records the exits of PEs for the other PEs.
    exits: ExitNotifier,
    /// The CPUs of the PEs, if they are bound.
    binding: Option<Binding>,
    /// The checker's findings, if it is on.
    findings: Option<Findings>,
    /// The file for the findings.
    report: Option<ReportFile>,
    phase: Phase,
    /// The exit status, once a PE has failed.
    failure: Option<u8>,
    interrupted: bool,
    monitor: Monitor,
    /// Whether PE 0 itself reports stalls (NVSHMEMRS_STALL_AFTER).
    stall_reported_by_pe: bool,
    next_look: Option<Instant>,
    board: Option<Board>,
    /// When to look for the board again, and the interval before that.
    next_find: (Instant, Duration),
    evidence: Evidence,
}

impl<'a> Launcher<'a> {
    fn start(args: &'a Args) -> Result<Self> {
        if let Some(report) = &args.check_report {
            report.create()?;
        }
        let now = Instant::now();
        let monitor = Monitor::new(args.stall_after, now);
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let mut launcher = Self {
            args,
            command: args.command[0].to_string_lossy().into_owned(),
            job: Job::new()?,
            output: None,
            terminal: Terminal::of_job(args.n_pes)?,
            exec_errors: pipe.map_err(limits::error("cannot make a pipe"))?,
            exits: ExitNotifier::new(args.n_pes),
            binding: bind(args),
            findings: args.is_checked().then(Findings::new).transpose()?,
            report: args.check_report.clone(),
            phase: Phase::Running,
            failure: None,
            interrupted: false,
            next_look: monitor.interval().map(|interval| now + interval),
            monitor,
            stall_reported_by_pe: config::stall_after()?.is_some(),
            board: None,
            next_find: (now + FIRST_FIND, FIRST_FIND),
            evidence: Evidence::default(),
        };
        match launcher.start_pes() {
            Ok(()) => Ok(launcher),
            Err(error) => Err(launcher.give_up(error)),
        }
    }

    fn start_pes(&mut self) -> Result<()> {
        let args = self.args;
        let id = UniqueId::new()?;
        let errors = self.exec_errors.1.as_raw_fd();
        let mut outputs = Outputs::new(args.n_pes, args.tag)?;
        let findings = self.findings.as_ref();
        let binding = self.binding.as_ref();
        let variable = self.exits.variable()?;
        for pe in 0..args.n_pes {
            let mut child = self
                .job
                .start_pe(args, &id, errors, binding, findings, |command| {
                    if let Some((name, value)) = &variable {
                        command.env(name, value);
                    }
                    if pe == 0 {
                        command.stdin(match &self.terminal {
                            Some(_) => Stdio::inherit(),
                            None => input::for_first_pe(),
                        });
                    }
                    outputs.give(pe, command)
                })?;
            if let Some(stdin) = child.stdin.take() {
                input::pump(stdin).map_err(limits::error("cannot start the input thread"))?;
            }
            self.lend_terminal();
        }
        self.output = outputs.pump()?;
        Ok(())
    }

    /// Kills all processes of the job after an error of the launcher; returns the error.
    fn give_up(self, error: Error) -> Error {
        self.take_terminal_back();
        match self.job.kill() {
            Ok(left) if left.is_empty() => error,
            Ok(left) => error.context(format!("{} did not end after SIGKILL", numbers(&left))),
            Err(more) => error.context(format!("cannot end the job: {more:#}")),
        }
    }

    /// Runs until all PEs have ended and, in a failed job, all processes that they started.
    fn watch(&mut self, signals: &Receiver<i32>) -> Result<()> {
        // A PE may have ended before the handlers were installed.
        self.take_ended()?;
        while !self.over() {
            match self.next_deadline() {
                None => self.take_signal(signals.recv().context("the signal thread has ended")?)?,
                Some(deadline) => {
                    match signals.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                        Ok(signal) => self.take_signal(signal)?,
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(error) => return Err(error).context("the signal thread has ended"),
                    }
                }
            }
            if self.exits.are_open() {
                self.exits.notify(&self.job);
            }
            self.keep_deadlines(Instant::now());
        }
        Ok(())
    }

    fn over(&self) -> bool {
        match self.phase {
            Phase::Running => self.job.live() == 0,
            Phase::Killed(until) if Instant::now() >= until => true,
            _ => self.job.live() == 0 && self.job.remaining().is_empty(),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        // There is no notification of the end of a PE's last process.
        let open = (self.exits.are_open() && self.job.live() > 0)
            .then(|| Instant::now() + LEFTOVER_INTERVAL);
        let own = match self.phase {
            Phase::Running if self.board.is_none() => {
                let find = self.next_find.0;
                Some(self.next_look.map_or(find, |look| look.min(find)))
            }
            Phase::Running => self.next_look,
            _ if self.job.live() == 0 => Some(Instant::now() + LEFTOVER_INTERVAL),
            Phase::Grace(until) | Phase::Terminating(until) | Phase::Killed(until) => Some(until),
        };
        [own, open].into_iter().flatten().min()
    }

    fn keep_deadlines(&mut self, now: Instant) {
        match self.phase {
            Phase::Running => {
                if self.board.is_none() && now >= self.next_find.0 {
                    self.find_board();
                }
                if self.next_look.is_some_and(|at| now >= at) {
                    self.look_for_stall(now);
                }
            }
            Phase::Grace(until) if now >= until => {
                self.job.signal(Signal::TERM, SignalReason::TheEnd);
                // A stopped process handles SIGTERM only after SIGCONT.
                self.job.signal(Signal::CONT, SignalReason::TheEnd);
                self.phase = Phase::Terminating(now + self.args.grace);
            }
            Phase::Terminating(until) if now >= until => {
                let left = self.job.remaining();
                // The last process may have ended since the loop checked.
                if !left.is_empty() {
                    let (pes, grace) = (numbers(&left), self.args.grace.as_secs_f64());
                    console::error(format_args!(
                        "nvshmemrs-run: {pes} did not end within {grace} s of SIGTERM; sending SIGKILL"
                    ));
                }
                self.kill(now);
            }
            Phase::Grace(_) | Phase::Terminating(_) | Phase::Killed(_) => {}
        }
    }

    fn kill(&mut self, now: Instant) {
        self.job.signal(Signal::KILL, SignalReason::TheEnd);
        self.phase = Phase::Killed(now + KILL_LIMIT);
    }

    fn take_signal(&mut self, signal: i32) -> Result<()> {
        match signal {
            SIGCHLD => self.take_ended()?,
            SIGUSR1 => {
                self.find_board();
                let forming = self.forming();
                if let Some(picture) = &forming {
                    console::error(format_args!("nvshmemrs-run: {picture}"));
                }
                match &self.board {
                    Some(board) => console::error(format_args!(
                        "nvshmemrs-run: wait board\n{}",
                        board.report().trim_end()
                    )),
                    None if forming.is_some() => {}
                    None => console::error(
                        "nvshmemrs-run: no wait board: no PE is between init and finalize",
                    ),
                }
            }
            SIGINT if self.interrupted => {
                console::error("nvshmemrs-run: second SIGINT: killing the job");
                self.failure
                    .get_or_insert(End::Killed(SIGINT).exit_status());
                self.kill(Instant::now());
            }
            SIGTSTP => {
                self.job.signal(Signal::TSTP, SignalReason::PassedOn);
                self.stop()?;
            }
            SIGCONT => self.go_on(),
            other => {
                if other == SIGINT {
                    self.interrupted = true;
                    self.find_board();
                    self.evidence.interrupted(self.board.as_ref());
                }
                if let Some(signal) = Signal::from_named_raw(other) {
                    self.job.signal(signal, SignalReason::PassedOn);
                }
            }
        }
        Ok(())
    }

    /// Stops the launcher; returns when it has been continued.
    fn stop(&mut self) -> Result<()> {
        self.take_terminal_back();
        kill_process(getpid(), Signal::STOP).context("cannot stop")?;
        self.go_on();
        Ok(())
    }

    /// Continues the PEs after the launcher has been continued.
    fn go_on(&mut self) {
        self.lend_terminal();
        self.job.signal(Signal::CONT, SignalReason::PassedOn);
        self.monitor.reset(Instant::now());
    }

    /// Handles a signal that stopped a PE. A stop by the terminal stops the job, as the shell sees it.
    fn pe_stopped(&mut self, signal: i32) -> Result<()> {
        let (Some(terminal), Some(pe)) = (&self.terminal, self.job.pes().first()) else {
            return Ok(());
        };
        match signal {
            // The PE used the terminal just before it was in the foreground.
            SIGTTIN | SIGTTOU if terminal.is_lent(pe.pid) => {
                self.job.signal(Signal::CONT, SignalReason::PassedOn);
                Ok(())
            }
            SIGTSTP | SIGTTIN | SIGTTOU => self.stop(),
            _ => Ok(()),
        }
    }

    fn lend_terminal(&self) {
        if let (Some(terminal), Some(pe)) = (&self.terminal, self.job.pes().first()) {
            terminal.lend(pe.pid);
        }
    }

    fn take_terminal_back(&self) {
        if let (Some(terminal), Some(pe)) = (&self.terminal, self.job.pes().first()) {
            terminal.take_back(pe.pid);
        }
    }

    /// Looks for the board of the job that the PEs are in now.
    fn find_board(&mut self) {
        let found = find::board(self.job.live_pids());
        // After finalize the PEs may join another job.
        let over = |board: &Board| {
            let states = board.pes();
            states.iter().all(|pe| pe.state == State::Finalized)
        };
        self.board = found.or(self.board.take().filter(|board| !over(board)));
        let pause = (self.next_find.1 * 2).min(LAST_FIND);
        self.next_find = (Instant::now() + pause, pause);
    }

    /// The PEs that wait in init.
    fn inits(&self) -> Vec<InitStatus> {
        find::forming(self.job.live_pids())
    }

    /// The operations of all PEs during init; `None` if no PE is in init.
    fn forming(&self) -> Option<Picture> {
        board::init_picture(&self.inits(), |pe| {
            let pe = self.job.pes().get(usize::try_from(pe).ok()?)?;
            let pid = pe.pid.as_raw_pid() as u32;
            let doing = match pe.end {
                Some(end) => end.to_string(),
                None => format!("not in init ({})", board::doing(pid)),
            };
            Some((pid, doing))
        })
    }

    /// Records the PEs that have ended; the first failure starts the end of the job.
    fn take_ended(&mut self) -> Result<()> {
        let ended = self.job.reap()?;
        if let Some(signal) = self.job.take_stopped() {
            self.pe_stopped(signal)?;
        }
        let own = matches!(self.phase, Phase::Running | Phase::Grace(_));
        self.exits.add(&ended, own);
        if !ended.is_empty() && self.failure.is_none() {
            self.find_board();
        }
        for index in ended {
            let Some(end) = self.job.pes()[index].end else {
                continue;
            };
            if let Some(output) = &mut self.output {
                output.ended(self.job.pes()[index].pe);
            }
            if self.failure.is_some() {
                continue;
            }
            let now = Instant::now();
            if let Some(errno) = self.exec_error() {
                let why = shim::explain(&self.command, errno);
                console::error(format_args!("nvshmemrs-run: {why}"));
                self.failure = Some(shim::exit_status(errno));
                self.kill(now);
                continue;
            }
            let mut evidence = std::mem::take(&mut self.evidence);
            evidence.ended(index, end, self.board.as_ref(), || self.forming());
            self.evidence = evidence;
            if end.failed() {
                self.failure = Some(end.exit_status());
                self.phase = Phase::Grace(now + self.args.grace);
            }
        }
        // The operations of the others are recorded, so the exits can be published now.
        self.exits.notify(&self.job);
        Ok(())
    }

    /// The error number of a PE whose command could not be executed, if there is one.
    fn exec_error(&self) -> Option<i32> {
        let mut text = [0; 16];
        let count = rustix::io::read(&self.exec_errors.0, &mut text).ok()?;
        std::str::from_utf8(&text[..count])
            .ok()?
            .lines()
            .next()?
            .parse()
            .ok()
    }

    fn look_for_stall(&mut self, now: Instant) {
        self.find_board();
        let position = self.board.as_ref().map(Position::of);
        let inits = match &position {
            Some(position) if position.waits() => Vec::new(),
            _ => self.inits(),
        };
        let position = match inits.is_empty() {
            true => position,
            false => Some(Position::forming(&inits)),
        };
        if self.monitor.stalled(position, now) {
            let seconds = self.args.stall_after.as_secs_f64();
            let report = match (inits.is_empty(), &self.board) {
                (true, board) => board.as_ref().map(Board::report),
                (false, _) => self.forming().map(|picture| picture.to_string()),
            };
            // PE 0 itself reports stalls of a job that is past init.
            let reported = inits.is_empty() && self.stall_reported_by_pe;
            if let Some(report) = report.filter(|_| !reported) {
                console::error(format_args!(
                    "nvshmemrs-run: nothing has moved for {seconds} s\n{}",
                    report.trim_end()
                ));
            }
        }
        self.next_look = self.monitor.interval().map(|interval| now + interval);
    }

    /// Prints the verdict, after all output of the PEs.
    fn finish(mut self) -> Result<u8> {
        self.take_terminal_back();
        self.evidence.before = self.evidence.first.and_then(|pe| self.exits.before(pe));
        let printed = self.output.map_or(Ok(()), Pump::finish);
        let board = self.board.as_ref();
        let line = |line: &str| console::error(format_args!("nvshmemrs-run: {line}"));
        let last = self.evidence.lines(&self.job, board, &self.command);
        last.iter().for_each(|text| line(text));
        let status = self.evidence.exit_status(&self.job, board);
        let mut status = status.or(self.failure).unwrap_or(0);
        if status == 0
            && let Some(text) = self.exits.unfinalized(&self.job)
        {
            line(&text);
        }
        self.job.close();
        if let Some(findings) = &self.findings {
            let (count, problems) = findings.read()?;
            let failed = status != 0;
            if let Some(Err(error)) =
                (self.report.as_ref()).map(|file| file.write(&count, &problems))
            {
                line(&format!("{error:#}"));
                status = status.max(1);
            }
            line(&count.line(failed));
            if count.reports > 0 && status == 0 {
                status = 1;
            }
        }
        match printed {
            // The failure of the job takes precedence over this error.
            Err(error) if status != 0 => line(&format!("{error:#}")),
            printed => printed?,
        }
        Ok(status)
    }
}

/// "PE 3", or "PEs 1, 2 and 7".
pub(super) fn numbers(pes: &[u32]) -> String {
    let most = 16;
    let shown: Vec<String> = pes.iter().take(most).map(u32::to_string).collect();
    match (shown.as_slice(), pes.len().saturating_sub(most)) {
        ([], _) => "no PE".into(),
        ([one], _) => format!("PE {one}"),
        ([first @ .., last], 0) => format!("PEs {} and {last}", first.join(", ")),
        (shown, more) => format!("PEs {} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn lists_of_pes_read_well() {
        assert_eq!(numbers(&[3]), "PE 3");
        assert_eq!(numbers(&[1, 2, 7]), "PEs 1, 2 and 7");
        assert_eq!(
            numbers(&(0..20).collect::<Vec<_>>()),
            "PEs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more"
        );
    }
}
