//! Deadlines of the program: the point in time until which the waits of a thread may last.
//!
//! A deadline in force replaces `NVSHMEMRS_TIMEOUT`, for every wait of the thread and for operations that the thread submits to
//! streams. Of nested deadlines the earliest applies. Only a long wait reads the deadline, so other calls have no cost.

use crate::clock::now_ns;
use crate::{Error, Result, config};
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// On the monotonic clock, in ns; 0: none.
    static UNTIL: Cell<u64> = const { Cell::new(0) };
}

/// The deadline in force on this thread.
#[inline]
#[doc(hidden)]
pub fn until() -> Option<u64> {
    Some(UNTIL.get()).filter(|&until| until != 0)
}

/// Begins a deadline on this thread, for languages without closures. Returns the previous deadline, for [`end`].
pub fn begin(seconds: f64) -> Result<u64> {
    let limit = config::seconds_from("seconds", seconds)?
        .ok_or_else(|| Error::invalid("seconds", seconds, "more than 0 seconds"))?;
    Ok(begin_at(now_ns().saturating_add(limit.as_nanos() as u64)))
}

/// Ends a deadline that [`begin`] began on this thread.
pub fn end(previous: u64) {
    UNTIL.set(previous);
}

/// Sets the deadline, unless an earlier one is in force; returns the previous one.
fn begin_at(moment: u64) -> u64 {
    let previous = UNTIL.get();
    let earliest = until().map_or(moment, |outer| outer.min(moment));
    UNTIL.replace(earliest.max(1));
    previous
}

/// Restores the previous deadline, even after a panic.
struct Restore(u64);

impl Drop for Restore {
    fn drop(&mut self) {
        end(self.0);
    }
}

/// Runs `body` on this thread with a deadline that was in force elsewhere.
#[doc(hidden)]
pub fn within<T>(until: u64, body: impl FnOnce() -> T) -> T {
    let _restore = Restore(UNTIL.replace(until));
    body()
}

/// Calls `body` with a deadline: every wait of this thread in it, and of operations that it submits to streams, ends with
/// [`Error::Timeout`] when `limit` has passed since this call.
///
/// Within it the deadline replaces `NVSHMEMRS_TIMEOUT`, and may be shorter or longer; of nested deadlines the earliest applies.
/// Init has its own limit. A collective that ends by a deadline breaks its team. Local.
pub fn deadline<T>(limit: Duration, body: impl FnOnce() -> T) -> T {
    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let _restore = Restore(begin_at(now_ns().saturating_add(limit)));
    body()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_of_nested_deadlines_holds() {
        assert_eq!(until(), None);
        let far = begin(100.0).unwrap();
        let outer = until().unwrap();
        let near = begin(1.0).unwrap();
        assert!(until().unwrap() < outer);
        let farther = begin(1000.0).unwrap();
        assert!(until().unwrap() < outer, "the inner one is no later");
        end(farther);
        end(near);
        assert_eq!(until(), Some(outer));
        end(far);
        assert_eq!(until(), None);
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(begin(wrong).is_err(), "{wrong} was accepted");
        }
        assert_eq!(until(), None, "a refused one changes nothing");
    }
}
