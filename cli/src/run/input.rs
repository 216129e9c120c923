//! Standard input of PE 0.
//!
//! PE 0 inherits a file or a pipe, but not a terminal: PE 0 is in a process group of its own, which the terminal would stop when
//! it reads. For a terminal, the launcher reads the input and forwards it through a pipe.

use super::threads;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use std::io::{self, IsTerminal, Write};
use std::process::{ChildStdin, Stdio};
use std::thread;

/// The standard input of PE 0.
pub fn for_first_pe() -> Stdio {
    if io::stdin().is_terminal() {
        Stdio::piped()
    } else {
        Stdio::inherit()
    }
}

/// Forwards the terminal's input, until its end or until PE 0 closes the pipe. The thread ends with the process.
pub fn pump(mut pipe: ChildStdin) -> io::Result<()> {
    threads::spawn("input", move || {
        let mut buffer = [0; 4096];
        while let Some(count) = next_input(&mut buffer) {
            if pipe.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

/// Waits for input; `None` at its end.
fn next_input(buffer: &mut [u8]) -> Option<usize> {
    let stdin = io::stdin();
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    loop {
        // A background job must not read: the terminal would stop the launcher.
        if tcgetpgrp(&stdin).ok()? != getpgrp() {
            thread::sleep(std::time::Duration::from_millis(200));
            continue;
        }
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&pause)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        match read(&stdin, &mut *buffer) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
