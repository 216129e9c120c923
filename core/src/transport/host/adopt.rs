//! Turns memory of the program's into shared memory where it is, and back.
//!
//! # Rules of this module
//!
//! 1. A range that is replaced was found to be mapped, private and anonymous ([`check`]); the caller of the public function
//!    vouches that nobody uses it meanwhile.
//! 2. An address for a further mapping is taken only if nothing is mapped there; the kernel checks it again.

use crate::job::segment::Segment;
use crate::{Error, Result};
use procfs::process::{MMPermissions, MMapPath, Process};
use rustix::mm::{MapFlags, ProtFlags};
use std::sync::Mutex;

/// The ranges of this process that are adopted. PEs that are threads share the program's memory, and must not adopt it twice.
static ADOPTED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Enters a range into the list, unless part of it is there.
fn claim(buffer: u64, bytes: u64) -> Result<()> {
    let mut adopted = ADOPTED.lock().unwrap_or_else(|poison| poison.into_inner());
    let taken = adopted
        .iter()
        .any(|&(start, len)| buffer < start + len && start < buffer + bytes);
    if taken {
        return Err(Error::invalid(
            "buffer",
            format!("{bytes} bytes at {buffer:#x}"),
            "memory that no PE of this process has registered",
        ));
    }
    adopted.push((buffer, bytes));
    Ok(())
}

fn unclaim(buffer: u64) {
    let mut adopted = ADOPTED.lock().unwrap_or_else(|poison| poison.into_inner());
    adopted.retain(|&(start, _)| start != buffer);
}

/// Checks that `bytes` bytes at `buffer` can be shared, and that nothing is mapped at `preferred` (0 for none).
pub(super) fn check(buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
    let maps = Process::myself()
        .and_then(|process| process.maps())
        .map_err(|error| Error::system("reading /proc/self/maps", error))?;
    let end = |start: u64, argument| {
        start
            .checked_add(bytes)
            .ok_or_else(|| Error::invalid(argument, format!("{start:#x}"), "a range that ends"))
    };
    let buffer_end = end(buffer, "buffer")?;
    let mut at = buffer;
    for map in maps.iter().filter(|map| map.address.1 > buffer) {
        if at >= buffer_end {
            break;
        }
        let usual = MMPermissions::READ | MMPermissions::WRITE | MMPermissions::PRIVATE;
        let anonymous = matches!(map.pathname, MMapPath::Anonymous | MMapPath::Heap)
            || matches!(&map.pathname, MMapPath::Other(name) if name.starts_with("anon"));
        if map.address.0 > at || !map.perms.contains(usual) || !anonymous {
            break;
        }
        at = map.address.1;
    }
    if at < buffer_end {
        return Err(Error::invalid(
            "buffer",
            format!("{bytes} bytes at {buffer:#x}"),
            "private anonymous memory that can be read and written, as mmap and posix_memalign give it; not a file, a stack or \
             memory that is shared already",
        ));
    }
    if preferred == 0 {
        return Ok(());
    }
    let preferred_end = end(preferred, "preferred")?;
    match maps
        .iter()
        .find(|map| map.address.0 < preferred_end && map.address.1 > preferred)
    {
        None => Ok(()),
        Some(map) => Err(Error::invalid(
            "preferred",
            format!("{preferred:#x}"),
            format!(
                "an address at which {bytes} bytes are unused; {:#x} to {:#x} are mapped in this process",
                map.address.0, map.address.1
            ),
        )),
    }
}

/// Makes the pages at byte `offset` of the segment appear at `buffer`, with the contents of what is there now, and at `preferred` (0 for
/// none).
pub(super) fn adopt(
    segment: &Segment,
    offset: u64,
    bytes: u64,
    buffer: u64,
    preferred: u64,
) -> Result<()> {
    let place = segment.base() + offset;
    claim(buffer, bytes)?;
    if let Err(error) = segment.commit(place, bytes) {
        unclaim(buffer);
        return Err(error);
    }
    let failed = |what, error| {
        segment.decommit(place, bytes);
        unclaim(buffer);
        Err(Error::system(what, error))
    };
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    if preferred != 0 {
        let flags = MapFlags::SHARED | MapFlags::FIXED_NOREPLACE;
        // SAFETY: rule 2: NOREPLACE disturbs no other mapping.
        let mapped = unsafe {
            rustix::mm::mmap(
                preferred as *mut _,
                bytes as usize,
                protection,
                flags,
                segment.fd(),
                offset,
            )
        };
        match mapped {
            Ok(address) if address as u64 == preferred => {}
            // A kernel that does not know NOREPLACE takes the address for a hint.
            Ok(address) => {
                // SAFETY: the mapping was just made, and nobody uses it.
                let _ = unsafe { rustix::mm::munmap(address, bytes as usize) };
                return failed("mapping a registered buffer", rustix::io::Errno::EXIST);
            }
            Err(error) => return failed("mapping a registered buffer", error),
        }
    }
    // SAFETY: rule 1: `buffer` is mapped for `bytes` bytes; the segment covers `place` (the caller took it from the layout).
    unsafe { std::ptr::copy_nonoverlapping(buffer as *const u8, place as *mut u8, bytes as usize) };
    let flags = MapFlags::SHARED | MapFlags::FIXED;
    // SAFETY: rule 1: the same contents take the place of the old pages, which nobody uses meanwhile.
    let mapped = unsafe {
        rustix::mm::mmap(
            buffer as *mut _,
            bytes as usize,
            protection,
            flags,
            segment.fd(),
            offset,
        )
    };
    match mapped {
        Ok(_) => Ok(()),
        Err(error) => {
            if preferred != 0 {
                // SAFETY: the mapping was made above, and nobody has its address yet.
                let _ = unsafe { rustix::mm::munmap(preferred as *mut _, bytes as usize) };
            }
            failed("sharing a registered buffer", error)
        }
    }
}

/// Makes `buffer` private memory again, with the contents it has, and takes the pages out of `preferred` (0 for none).
pub(super) fn give_back(
    segment: &Segment,
    offset: u64,
    bytes: u64,
    buffer: u64,
    preferred: u64,
) -> Result<()> {
    let place = segment.base() + offset;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    // SAFETY: rule 1: the range is ours since `adopt`; its contents are still at `place`, and are copied back below.
    unsafe { rustix::mm::mmap_anonymous(buffer as *mut _, bytes as usize, protection, flags) }
        .map_err(|error| Error::system("unsharing a registered buffer", error))?;
    // SAFETY: both are mapped for `bytes` bytes; the new pages are nobody else's.
    unsafe { std::ptr::copy_nonoverlapping(place as *const u8, buffer as *mut u8, bytes as usize) };
    if preferred != 0 {
        // SAFETY: `adopt` made this mapping; its address is no longer symmetric.
        let _ = unsafe { rustix::mm::munmap(preferred as *mut _, bytes as usize) };
    }
    segment.decommit(place, bytes);
    unclaim(buffer);
    Ok(())
}
