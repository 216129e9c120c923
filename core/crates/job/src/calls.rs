//! Calls in flight that use an object which another thread may end meanwhile: those of signal handlers, which no thread holds back.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;

/// The number of such calls.
#[derive(Debug, Default)]
pub struct CallsInFlight(AtomicU32);

impl CallsInFlight {
    pub const fn new() -> CallsInFlight {
        CallsInFlight(AtomicU32::new(0))
    }

    /// Runs a call that looks its object up. A signal handler may do so: nothing is allocated or locked.
    pub fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        self.0.fetch_add(1, Relaxed);
        // Either the thread that ends the object sees this call, or this call no longer finds the object.
        fence(SeqCst);
        let result = call();
        self.0.fetch_sub(1, Release);
        result
    }

    /// Whether no call in flight uses an object that no call has been able to find since before this question.
    pub fn are_none(&self) -> bool {
        fence(SeqCst);
        self.0.load(Acquire) == 0
    }
}
