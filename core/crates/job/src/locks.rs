//! Liveness: each process holds a lock on one byte of the job's memfd for each of its PEs. The kernel releases the locks
//! of a process that ends, however it ends, so a PE whose lock is free is gone.
//!
//! These are POSIX record locks: they belong to the process, a forked child does not inherit them, and they are kept
//! until the process closes a descriptor of the file, which happens at finalize.

use super::segment::Segment;
use crate::{Error, Pe, Result};
use std::os::fd::AsRawFd;

fn lock_of(pe: Pe, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: libc::off_t::from(pe),
        l_len: 1,
        l_pid: 0,
    }
}

/// Takes the lock of a PE of this process. An error if the program has closed the descriptor.
pub fn hold(segment: &Segment, pe: Pe) -> Result<()> {
    let fd = segment.fd()?;
    let lock = lock_of(pe, libc::F_WRLCK);
    // SAFETY: F_SETLK reads a `flock` that outlives the call.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLK, &lock) } == -1 {
        let error = std::io::Error::last_os_error();
        return Err(Error::system(
            "locking this PE's byte of the job's memory",
            error,
        ));
    }
    Ok(())
}

/// The holder of a PE's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No process, or this one.
    Nobody,
    /// The process with this number in this pid namespace.
    Other(u32),
    /// A process of another pid namespace, or unknown to the kernel.
    Unknown,
}

/// The process, other than this one, that holds the lock of `pe`. A segment without a descriptor has no locks.
pub fn holder(segment: &Segment, pe: Pe) -> Holder {
    if !segment.has_fd() {
        return Holder::Nobody;
    }
    // A descriptor that the program has closed says nothing about the peer.
    let Ok(fd) = segment.find_fd() else {
        return Holder::Unknown;
    };
    let mut lock = lock_of(pe, libc::F_WRLCK);
    // SAFETY: F_GETLK reads and writes a `flock` that outlives the call.
    let asked = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLK, &mut lock) };
    // An error says nothing about the peer: take it for alive.
    if asked == -1 {
        return Holder::Unknown;
    }
    match (lock.l_type, u32::try_from(lock.l_pid)) {
        (free, _) if free == libc::F_UNLCK as libc::c_short => Holder::Nobody,
        (_, Ok(pid)) if pid > 0 => Holder::Other(pid),
        _ => Holder::Unknown,
    }
}
