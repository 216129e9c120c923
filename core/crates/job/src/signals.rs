//! Keeps the program's signals away from the library's threads, and signals of the library's writes away from the program.

use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};

/// The signals by which the kernel reports a fault of the thread. While they are blocked, a fault ends the process before a crash
/// handler (of Rust, Python, Julia or the program) can write a message.
const OF_FAULTS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Starts a thread of the library. It and the threads that it starts, such as those of MPI, block all signals but those of faults.
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    blocked(|| builder.spawn(body))
}

/// Runs `body` with all signals but those of faults blocked on this thread. Threads that `body` starts inherit that, so the program's
/// handlers, `sigwait` and `signalfd` still get every signal.
pub fn blocked<T>(body: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset fills `all`, which sigdelset changes; pthread_sigmask reads it and writes the old mask to `before`.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for signal in OF_FAULTS {
            libc::sigdelset(all.as_mut_ptr(), signal);
        }
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

/// The signals by which a write can end a process: the pipe has no reader; the file has reached its size limit. The kernel sends them
/// to the writing thread.
const OF_WRITES: [i32; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Runs `write`, which writes to a descriptor of the program, and keeps the signals of that write from the program. A signal that was
/// pending before stays pending.
pub fn without_those_of<T>(write: impl FnOnce() -> T) -> T {
    let mut pending = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    let mut mask = set(&OF_WRITES);
    // SAFETY: sigpending fills `pending`, and pthread_sigmask fills `before`; `mask` is filled.
    let blocked = unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::pthread_sigmask(libc::SIG_BLOCK, &mask, before.as_mut_ptr()) == 0
    };
    let result = write();
    if blocked {
        for signal in OF_WRITES {
            // SAFETY: `pending` was filled above.
            if unsafe { libc::sigismember(pending.as_ptr(), signal) } == 1 {
                // SAFETY: `mask` is filled.
                unsafe { libc::sigdelset(&mut mask, signal) };
            }
        }
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        loop {
            // SAFETY: `mask` and `at_once` are filled, and nothing is asked about the signal.
            let taken = unsafe { libc::sigtimedwait(&mask, std::ptr::null_mut(), &at_once) };
            // A handler of the program's for another signal may interrupt it.
            let interrupted = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            if taken < 0 && !interrupted {
                break;
            }
        }
        // SAFETY: pthread_sigmask has filled `before`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
    }
    result
}

/// A set of these signals.
fn set(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills `set`.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for &signal in signals {
        // SAFETY: `set` is filled.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}
