//! The output of the commands. A thread can buffer its own output and that of its processes, and print it in one piece: so the
//! output of parallel steps is not mixed.

use anyhow::{Context, Result};
use rustix::fs::MemfdFlags;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{Seek, Write};
use std::process::Command;

thread_local! {
    /// Where the output of this thread is kept, if it is not shown at once.
    static KEPT: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Shows a line.
pub(crate) fn line(text: impl Display) {
    match kept() {
        // Only memory can be lacking, and then this line is the least that is lost.
        Some(mut file) => drop(writeln!(file, "{text}")),
        None => println!("{text}"),
    }
}

/// Runs `body`. What this thread shows meanwhile appears on standard output when `body` returns, with nothing in between.
pub(crate) fn in_one_piece<T>(body: impl FnOnce() -> T) -> Result<T> {
    let file = rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)
        .context("cannot make a file for output")?;
    let mut file = File::from(file);
    let result = into(Some(file.try_clone()?), body);
    // The processes that wrote to it have ended, or have been given up: there is one position for all.
    file.rewind()?;
    let mut out = std::io::stdout().lock();
    let _ = std::io::copy(&mut file, &mut out).and_then(|_| out.flush());
    Ok(result)
}

/// Runs `body` and keeps the output of this thread in `file`, which [`kept`] has given to another thread.
pub(crate) fn into<T>(file: Option<File>, body: impl FnOnce() -> T) -> T {
    let before = KEPT.replace(file);
    let result = body();
    KEPT.set(before);
    result
}

/// The file that this thread's output is kept in.
pub(crate) fn kept() -> Option<File> {
    KEPT.with_borrow(|file| file.as_ref().and_then(|file| file.try_clone().ok()))
}

/// Lets `command` print where this thread shows things. Who wants its output elsewhere says so afterwards.
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
