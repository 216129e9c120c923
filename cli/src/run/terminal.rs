//! The terminal of a job of one PE.
//!
//! A PE is in a process group of its own. The kernel lets only the foreground group of a terminal read, and sends it the signals
//! of Ctrl-C and Ctrl-Z. So if all standard streams are a terminal, the launcher makes the group of a single PE the foreground
//! group, as a shell does with a job: the PE can then read and edit lines. When Ctrl-Z stops the PE, the launcher takes the
//! terminal back and stops, too.

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, getpgrp, test_kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stderr, stdin, stdout};

/// The launcher's terminal, which it can lend to a PE.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// The terminal of a job of one PE, if there is one and the launcher is in its foreground. Called by the main thread.
    pub fn of_job(n_pes: u32) -> Result<Option<Self>> {
        let all = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
        if n_pes != 1 || !all || foreground() != Some(getpgrp()) {
            return Ok(None);
        }
        // Unless this signal is blocked, it stops a process that takes a terminal back. A PE unblocks it before `exec`.
        let mut blocked = SigSet::empty();
        blocked.add(Signal::SIGTTOU);
        blocked.thread_block().context("cannot block SIGTTOU")?;
        Ok(Some(Self(())))
    }

    /// Makes a PE's group the foreground group, if the launcher is in the foreground.
    pub fn lend(&self, group: Pid) {
        if foreground() == Some(getpgrp()) {
            // If this fails, a PE that reads is stopped, as any background job.
            let _ = tcsetpgrp(stdin(), group);
        }
    }

    /// Whether a PE's group is the foreground group.
    pub fn is_lent(&self, group: Pid) -> bool {
        foreground() == Some(group)
    }

    /// Takes the terminal back from a PE's group, or from a group that the PE has made the foreground group and that has ended.
    pub fn take_back(&self, group: Pid) {
        let gone = |group| test_kill_process_group(group).is_err();
        if foreground().is_some_and(|now| now == group || gone(now)) {
            // The call fails for a terminal that has been hung up.
            let _ = tcsetpgrp(stdin(), getpgrp());
        }
    }
}

/// The foreground group of the terminal.
fn foreground() -> Option<Pid> {
    tcgetpgrp(stdin()).ok()
}
