//! The threads that are inside the checker, or hold a lock of the table of sites: a signal handler that interrupts such a thread
//! must not enter it again.

use crate::per_thread::{self, PerThread};
use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static BUFFERING: Cell<Buffering> = const { Cell::new(Buffering::No) };
    /// Output that is produced under a lock, and written later.
    static BUFFER: PerThread<String> = const { PerThread::new() };
}

/// Whether this thread's output is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffering {
    No,
    Nothing,
    /// There is something in `BUFFER`.
    Something,
}

/// This thread is inside the checker as long as the value lives.
pub struct Inside(());

impl Inside {
    #[inline]
    pub fn enter() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside(())
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Whether this thread is inside the checker.
#[inline]
pub fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Writes to standard error, in one call, for the checker.
pub fn write(text: &str) {
    if BUFFERING.get() == Buffering::No {
        crate::debug::write_stderr(text);
    } else {
        BUFFERING.set(Buffering::Something);
        per_thread::with(&BUFFER, |buffer| buffer.push_str(text));
    }
}

/// Runs `body`, and returns its output, to be written later.
#[inline]
pub fn keep(body: impl FnOnce()) -> String {
    BUFFERING.set(Buffering::Nothing);
    body();
    match BUFFERING.replace(Buffering::No) {
        Buffering::Something => per_thread::take(&BUFFER).unwrap_or_default(),
        _ => String::new(),
    }
}
