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
    uffdio_api, uffdio_copy, uffdio_range, uffdio_register,
};
use linux_raw_sys::ioctl::{
    UFFDIO_API, UFFDIO_COPY, UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WAKE,
};
use procfs::process::Process;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::mm::UserfaultfdFlags;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Faults on which threads wait: missing pages, or pages of the file that are not mapped.
const MISSING: u64 = 1 << 0;
const MINOR: u64 = 1 << 2;

/// How often pages are copied in vain, where the kernel asks to try again.
const TRIES: u32 = 100;

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
            // SAFETY: rule 1; a thread that touches the range waits until it is woken, below.
            unsafe { request::<UFFDIO_REGISTER, _>(&fault, &mut register) }?;
            let result = body();
            // Ends the hold: waiting threads look again. Closing it would not do if a child that was forked meanwhile has it, too.
            // Memory that was mapped again is no longer registered, so the first request may find nothing.
            let mut range = uffdio_range { start, len: bytes };
            // SAFETY: rules 1 and 2.
            let _ = unsafe { request::<UFFDIO_UNREGISTER, _>(&fault, &mut range) };
            // The pages have moved by now, so the caller gets the result of the move.
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

/// Fills missing pages of a mapping of a shared file. Unlike `pwrite` this takes no lock of the file.
pub(super) struct PageFill {
    fault: OwnedFd,
}

impl PageFill {
    /// For whole pages that are mapped, and that no thread touches meanwhile. None if the kernel does not do it.
    pub(super) fn new(start: u64, bytes: u64) -> Option<PageFill> {
        let fault = open().ok()?;
        let mut register = uffdio_register {
            range: uffdio_range { start, len: bytes },
            mode: MISSING,
            ioctls: 0,
        };
        // SAFETY: rules 1 and 2. Closing it ends the registration.
        unsafe { request::<UFFDIO_REGISTER, _>(&fault, &mut register) }.ok()?;
        Some(PageFill { fault })
    }

    /// Copies whole pages; returns the bytes copied, which are fewer where a page is there already, or the kernel is busy.
    ///
    /// # Safety
    /// `bytes` bytes at `source` are mapped, and those at `dest` lie in the range.
    pub(super) unsafe fn copy(&self, source: u64, dest: u64, bytes: u64) -> u64 {
        let (mut done, mut tries) = (0, 0);
        while done < bytes && tries < TRIES {
            let mut copy = uffdio_copy {
                dst: dest + done,
                src: source + done,
                len: bytes - done,
                mode: 0,
                copy: 0,
            };
            // SAFETY: the caller's, and rule 1.
            let result = unsafe { request::<UFFDIO_COPY, _>(&self.fault, &mut copy) };
            done += copy.copy.max(0) as u64;
            if copy.copy > 0 {
                tries = 0;
            } else if result == Err(Errno::AGAIN) {
                // The kernel asks to try again.
                tries += 1;
            } else {
                break;
            }
        }
        done
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
    // A process that may not block system calls of other threads blocks only the threads' own accesses.
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
        // A thread that has ended meanwhile cannot be read, or has no memory.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags};

    /// Pages that are there already keep their contents, and `pwrite` has the rest to do.
    #[test]
    fn filling_ends_at_a_page_that_is_there() {
        let page = rustix::param::page_size() as u64;
        let file =
            rustix::fs::memfd_create("fill", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd");
        rustix::fs::ftruncate(&file, 4 * page).expect("a length");
        rustix::io::pwrite(&file, &[7], 2 * page).expect("a page of the file");
        let (null, len) = (std::ptr::null_mut(), 4 * page as usize);
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
        let mapped =
            unsafe { rustix::mm::mmap(null, len, ProtFlags::READ, MapFlags::SHARED, &file, 0) };
        let start = mapped.expect("a mapping") as u64;
        let Some(fill) = PageFill::new(start, 4 * page) else {
            return;
        };
        let source = vec![5_u8; len + page as usize];
        let source = (source.as_ptr() as u64).next_multiple_of(page);
        // SAFETY: the source has room for a page that is lost to its alignment.
        let copied = unsafe { fill.copy(source, start, 4 * page) };
        assert_eq!(copied, 2 * page);
        // SAFETY: rule 2; the last page is missing, and nobody would fill it.
        let rest = unsafe { fill.copy(source, start + 3 * page, page) };
        assert_eq!(rest, page);
        let mut found = [0; 4];
        for (number, byte) in (0..).zip(&mut found) {
            rustix::io::pread(&file, std::slice::from_mut(byte), number * page).expect("a byte");
        }
        assert_eq!(found, [5, 5, 7, 5]);
    }
}
