//! Blocks the threads of this process that touch a range of memory while its pages are moved, so that none of their stores is lost.
//!
//! The kernel does it, by userfaultfd: pages are unmapped in one step, a thread that touches the range from then on waits in the kernel, and
//! continues with the new pages when the hold ends. A store has reached the page before that step, or comes after the hold.
//!
//! Without userfaultfd (Linux before 5.14, and places that forbid the call) a range is moved only if no thread but this one could touch it.
//!
//! # Rules of this module
//!
//! 1. Requests to the kernel have the types and numbers of its headers, which linux-raw-sys has from there.
//! 2. A held range belongs to the caller, which guarantees its mappings.

use crate::job::signals;
use crate::{Error, Result};
use linux_raw_sys::general::{
    UFFD_API, UFFD_FEATURE_MINOR_SHMEM, UFFD_FEATURE_MISSING_SHMEM, UFFD_USER_MODE_ONLY,
    uffdio_api, uffdio_range, uffdio_register,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WAKE};
use procfs::process::Process;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::mm::UserfaultfdFlags;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Faults on which threads wait: missing pages, or pages of the file that are not mapped.
const MISSING: u64 = 1 << 0;
const MINOR: u64 = 1 << 2;

/// Threads of the library that touch no memory of the program.
const OWN_THREADS: [&str; 2] = ["nvshmemrs-watch", "nvshmemrs-check"];

/// Blocks threads on a range.
pub(super) struct ThreadHold {
    /// None: there are no other threads.
    fault: Option<OwnedFd>,
}

impl ThreadHold {
    /// Finds a way to block threads. An error if there is none, though other threads might write.
    pub(super) fn new() -> Result<ThreadHold> {
        match open() {
            Ok(fault) => Ok(ThreadHold { fault: Some(fault) }),
            Err(_) if soon_alone()? => Ok(ThreadHold { fault: None }),
            Err(error) => Err(Error::NotSupported(format!(
                "this process has several threads, and their writes to a buffer while it is registered or unregistered could be \
                 lost: the kernel gives no userfaultfd for shared memory ({error}). It takes Linux 5.14, and a container whose \
                 rules allow the call; or register buffers while the process has one thread"
            ))),
        }
    }

    /// Runs `body` with a hold on a range, of private anonymous memory or of a shared file's. `body` must take the pages out of the range
    /// before it reads them elsewhere, must not touch the range, and must not depend on another thread: no lock, no allocation.
    ///
    /// The rule about pages applies only if [`holds`](ThreadHold::holds).
    pub(super) fn hold<T>(
        self,
        start: u64,
        bytes: u64,
        shared: bool,
        body: impl FnOnce() -> std::result::Result<T, Errno>,
    ) -> std::result::Result<T, Errno> {
        // A signal handler on this thread that touched the range would wait for itself, or its store could be lost.
        signals::blocked(|| {
            let Some(fault) = self.fault else {
                return body();
            };
            let mode = if shared { MISSING | MINOR } else { MISSING };
            let mut register = uffdio_register {
                range: uffdio_range { start, len: bytes },
                mode,
                ioctls: 0,
            };
            // SAFETY: rule 1; whoever touches the range waits until it is woken, below.
            unsafe { request::<UFFDIO_REGISTER, _>(&fault, &mut register) }?;
            let result = body();
            // Ends the hold: those that wait look again. Closing it would not do if a child that was forked meanwhile has it, too.
            // What was mapped anew is not registered any more, so the first request may find nothing.
            let mut range = uffdio_range { start, len: bytes };
            // SAFETY: rules 1 and 2.
            let _ = unsafe { request::<UFFDIO_UNREGISTER, _>(&fault, &mut range) };
            // The pages have moved by now, so what the caller hears is how that went.
            // SAFETY: as above.
            let _ = unsafe { request::<UFFDIO_WAKE, _>(&fault, &mut range) };
            drop(fault);
            result
        })
    }

    /// Whether pages may be unmapped from the range.
    pub(super) fn holds(&self) -> bool {
        self.fault.is_some()
    }
}

/// # Safety
/// As rule 1 says.
unsafe fn request<const OPCODE: Opcode, T>(
    fault: &OwnedFd,
    value: &mut T,
) -> std::result::Result<(), Errno> {
    // SAFETY: the caller's.
    unsafe { ioctl(fault, Updater::<OPCODE, T>::new(value)) }
}

fn open() -> std::result::Result<OwnedFd, Errno> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    let user_only = flags | UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);
    // SAFETY: it touches nothing until a range is registered.
    let open = |flags| unsafe { rustix::mm::userfaultfd(flags) };
    // Who may not hold up system calls of other threads holds up their own accesses.
    let fault = open(flags).or_else(|_| open(user_only))?;
    let mut api = uffdio_api {
        api: UFFD_API.into(),
        features: (UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM).into(),
        ioctls: 0,
    };
    // SAFETY: rule 1.
    unsafe { request::<UFFDIO_API, _>(&fault, &mut api) }?;
    Ok(fault)
}

/// As [`alone`]; threads that have just been joined take a moment to go.
fn soon_alone() -> Result<bool> {
    for _ in 0..20 {
        if alone()? {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    alone()
}

/// Whether this is the only thread that could touch memory of the program.
fn alone() -> Result<bool> {
    let failed = |error| Error::system("reading /proc/self/task", error);
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    let tasks = Process::myself()
        .and_then(|process| process.tasks())
        .map_err(failed)?;
    for task in tasks {
        let task = task.map_err(failed)?;
        // One that has ended meanwhile cannot be read, or has no memory.
        let Ok(stat) = task.stat() else {
            continue;
        };
        let own = task.tid == me || OWN_THREADS.contains(&stat.comm.as_str());
        if !own && stat.vsize > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
