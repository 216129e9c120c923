//! Keeps the program's signals away from the library's own threads.

use std::mem::MaybeUninit;

/// Runs `body` with every signal blocked on this thread. Threads that `body` starts inherit that, so the program's handlers,
/// `sigwait` and `signalfd` go on seeing every signal.
pub(crate) fn blocked<T>(body: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset fills `all`; pthread_sigmask reads it and writes the old mask to `before`.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = body();
    if blocked {
        // SAFETY: the call above has filled `before`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
    }
    result
}
