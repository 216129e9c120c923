//! Which threads are inside the checker: a signal handler that interrupts one must not enter it again.

use std::cell::{Cell, RefCell};
use std::io::Write as _;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What is written while it must not be: under a lock.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// This thread is inside the checker as long as the value lives.
pub(crate) struct Inside(());

impl Inside {
    #[inline]
    pub(super) fn enter() -> Inside {
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
pub(super) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Writes to standard error, in one go: that is what the checker was asked for. A failure cannot be told to anybody.
pub(crate) fn write(text: &str) {
    let kept = KEPT.with_borrow_mut(|kept| kept.as_mut().map(|kept| kept.push_str(text)));
    if kept.is_none() {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Runs `body`, and gives what it wanted to write, to be written later.
pub(super) fn keep(body: impl FnOnce()) -> String {
    KEPT.set(Some(String::new()));
    body();
    KEPT.take().unwrap_or_default()
}
