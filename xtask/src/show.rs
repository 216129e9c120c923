//! The output of the commands. A thread can buffer its own output and that of its processes, and print it in one piece, so that
//! the output of parallel steps is not mixed.

use anyhow::{Context, Result};
use rustix::fs::MemfdFlags;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::process::Command;

thread_local! {
    /// The buffer for this thread's output, if it is not printed at once.
    static KEPT: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Prints a line.
pub(crate) fn line(text: impl Display) {
    match kept() {
        // The write fails only without memory; the line is lost then.
        Some(mut file) => drop(writeln!(file, "{text}")),
        None => println!("{text}"),
    }
}

/// Runs `body`, and prints the output of this thread in one piece when `body` returns.
pub(crate) fn in_one_piece<T>(body: impl FnOnce() -> T) -> Result<T> {
    let file = rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)
        .context("cannot make a file for output")?;
    let mut file = File::from(file);
    let result = into(Some(file.try_clone()?), body);
    // The processes that wrote to it have ended or been given up, so the shared position may be moved.
    file.rewind()?;
    let mut out = std::io::stdout().lock();
    let _ = std::io::copy(&mut file, &mut out).and_then(|_| out.flush());
    Ok(result)
}

/// Runs `body` with the output of this thread in `file`, which [`kept`] returned on another thread.
pub(crate) fn into<T>(file: Option<File>, body: impl FnOnce() -> T) -> T {
    let before = KEPT.replace(file);
    let result = body();
    KEPT.set(before);
    result
}

/// The buffer for this thread's output.
pub(crate) fn kept() -> Option<File> {
    KEPT.with_borrow(|file| file.as_ref().and_then(|file| file.try_clone().ok()))
}

/// Directs the output of `command` to where this thread prints. A caller that wants other output sets it afterwards.
pub(crate) fn of(command: &mut Command) {
    if let (Some(out), Some(err)) = (kept(), kept()) {
        command.stdout(out).stderr(err);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;
    use std::io::Read;

    #[test]
    fn what_is_kept_has_all_lines_in_order() -> Result<()> {
        let text = in_one_piece(|| -> Result<String> {
            line("one");
            let shell = |script: &str| {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                of(&mut command);
                command
            };
            run::run(&mut shell("echo two; echo three >&2"))?;
            assert_eq!(
                run::tee(&mut shell("echo four"), run::LIMIT)?.text,
                "four\n"
            );
            let captured = run::capture(&mut shell("echo five; echo six >&2"))?;
            assert_eq!(
                (&*captured.stdout, &*captured.stderr),
                (&b"five\n"[..], &b"six\n"[..])
            );
            let mut file = kept().context("this thread keeps its output")?;
            let mut text = String::new();
            file.rewind()?;
            file.read_to_string(&mut text)?;
            Ok(text)
        })??;
        assert_eq!(text, "one\ntwo\nthree\nfour\n");
        assert!(kept().is_none(), "only this piece is kept");
        Ok(())
    }
}
