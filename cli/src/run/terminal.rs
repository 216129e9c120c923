//! The terminal of a job of one PE.
//!
//! A PE is in a process group of its own, and the kernel lets only the foreground group of a terminal read and sends it the signals of
//! Ctrl-C and Ctrl-Z. So if all standard streams are a terminal, the launcher makes the only PE its foreground group, as a shell does
//! with a job: the PE can read and edit lines. When Ctrl-Z has stopped the PE, the launcher takes the terminal back and stops, too.

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, getpgrp, test_kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stderr, stdin, stdout};

/// The launcher's terminal, which it may lend.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    /// That of a job of one PE, if there is one and the launcher is in its foreground. For the main thread.
    pub fn of_job(n_pes: u32) -> Result<Option<Self>> {
        let all = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
        if n_pes != 1 || !all || foreground() != Some(getpgrp()) {
            return Ok(None);
        }
        // Unless it is blocked, this signal stops whoever takes a terminal back. A PE unblocks it before it executes its program.
        let mut blocked = SigSet::empty();
        blocked.add(Signal::SIGTTOU);
        blocked.thread_block().context("cannot block SIGTTOU")?;
        Ok(Some(Self(())))
    }

    /// Lends it to a PE's group, if the launcher has it.
    pub fn lend(&self, group: Pid) {
        if foreground() == Some(getpgrp()) {
            // Without it, a PE that reads is stopped, as any job in the background.
            let _ = tcsetpgrp(stdin(), group);
        }
    }

    /// Whether a PE's group has it.
    pub fn is_lent(&self, group: Pid) -> bool {
        foreground() == Some(group)
    }

    /// Takes it back from a PE's group, or from one that the PE has given it to and that is gone.
    pub fn take_back(&self, group: Pid) {
        let gone = |group| test_kill_process_group(group).is_err();
        if foreground().is_some_and(|now| now == group || gone(now)) {
            // A terminal that has been hung up is nobody's.
            let _ = tcsetpgrp(stdin(), getpgrp());
        }
    }
}

/// The group that the terminal listens to.
fn foreground() -> Option<Pid> {
    tcgetpgrp(stdin()).ok()
}
