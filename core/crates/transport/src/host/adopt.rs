//! Turns memory of the program into shared memory at the same address, and back.
//!
//! Other threads of the program may use the memory meanwhile: the pages are unmapped in one step, their contents are copied, and the new
//! pages are mapped. A thread that touches the memory in between waits ([`hold`](super::hold)).
//!
//! # Rules of this module
//!
//! 1. A range that is replaced was found to be mapped, private and anonymous ([`pieces`]); the caller of the public function guarantees that no
//!    other mapping is made there meanwhile.
//! 2. An address for a further mapping is taken only if nothing is mapped there; the kernel checks it again.
//! 3. Mappings at an address of the kernel's choice belong to this module alone.

use super::hold::ThreadHold;
use super::static_data::moving;
use crate::job::segment::Segment;
use crate::{Error, Result};
use procfs::process::{MMPermissions, MMapPath, MemoryMaps, Process};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// The ranges of this process that are adopted. PEs that are threads share the program's memory, and must not adopt it twice.
static ADOPTED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Enters a range into the list, unless part of it is there.
pub(super) fn claim(buffer: u64, bytes: u64) -> Result<()> {
    let mut adopted = crate::lock::lock(&ADOPTED);
    let taken = adopted
        .iter()
        .any(|&(start, len)| buffer < start + len && start < buffer + bytes);
    if taken {
        return Err(Error::invalid(
            "buffer",
            format!("{bytes} bytes at {buffer:#x}"),
            "memory that no PE of this process has registered yet",
        ));
    }
    adopted.push((buffer, bytes));
    Ok(())
}

pub(super) fn unclaim(buffer: u64) {
    let mut adopted = crate::lock::lock(&ADOPTED);
    adopted.retain(|&(start, _)| start != buffer);
}

/// The end of a range.
fn end(argument: &'static str, start: u64, bytes: u64) -> Result<u64> {
    let end = start.checked_add(bytes);
    end.ok_or_else(|| Error::invalid(argument, format!("{start:#x}"), "a range that ends"))
}

pub(super) fn maps() -> Result<MemoryMaps> {
    Process::myself()
        .and_then(|process| process.maps())
        .map_err(|error| Error::system("reading /proc/self/maps", error))
}

/// Refuses a change for which this process may have too many mappings: it could stop half-way.
pub(super) fn mappings_left(maps: &MemoryMaps, pieces: usize) -> Result<()> {
    // Each piece is cut out of its mapping and appears at two addresses; other threads may map something meanwhile.
    let needed = maps.len() + 4 * pieces + 100;
    match procfs::sys::vm::max_map_count() {
        Ok(most) if (needed as u64) < most => Ok(()),
        // A kernel that does not say has the usual limit.
        Err(_) if needed < 65_000 => Ok(()),
        _ => Err(Error::system(
            "moving a registered buffer",
            "this process has nearly as many mappings as the kernel allows (vm.max_map_count)",
        )),
    }
}

/// The parts of a buffer that are mappings of their own: start and bytes. An error unless all of it can be shared.
fn pieces(maps: &MemoryMaps, buffer: u64, bytes: u64) -> Result<Vec<(u64, u64)>> {
    let buffer_end = end("buffer", buffer, bytes)?;
    let mut pieces = Vec::new();
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
        pieces.push((at, map.address.1.min(buffer_end) - at));
        at = map.address.1;
    }
    if at < buffer_end {
        return Err(Error::invalid(
            "buffer",
            format!("{bytes} bytes at {buffer:#x}"),
            "private anonymous memory that can be read and written, as mmap and posix_memalign give it, and not a file, a stack or \
             memory that is shared already",
        ));
    }
    Ok(pieces)
}

/// Checks that `bytes` bytes at `buffer` can be shared, and that nothing is mapped at `preferred` (0 for none).
pub(super) fn check(buffer: u64, bytes: u64, preferred: u64) -> Result<()> {
    let maps = maps()?;
    pieces(&maps, buffer, bytes)?;
    ThreadHold::new()?;
    if preferred == 0 {
        return Ok(());
    }
    let preferred_end = end("preferred", preferred, bytes)?;
    match maps
        .iter()
        .find(|map| map.address.0 < preferred_end && map.address.1 > preferred)
    {
        None => Ok(()),
        Some(map) => Err(Error::invalid(
            "preferred",
            format!("{preferred:#x}"),
            format!(
                "an address at which {bytes} bytes are unused, but {:#x} to {:#x} are mapped in this process",
                map.address.0, map.address.1
            ),
        )),
    }
}

/// An error if a buffer cannot be made private without a loss.
pub(super) fn check_give_back() -> Result<()> {
    ThreadHold::new().map(drop)
}

pub(super) const PROTECTION: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Maps pages of a segment at `preferred`, where nothing may be.
fn map_at(segment: &Segment, offset: u64, bytes: u64, preferred: u64) -> rustix::io::Result<()> {
    let flags = MapFlags::SHARED | MapFlags::FIXED_NOREPLACE;
    let len = bytes as usize;
    // SAFETY: rule 2: NOREPLACE disturbs no other mapping.
    let mapped = unsafe {
        rustix::mm::mmap(
            preferred as *mut _,
            len,
            PROTECTION,
            flags,
            segment.find_fd()?,
            offset,
        )
    }?;
    if mapped as u64 == preferred {
        return Ok(());
    }
    // A kernel that does not know NOREPLACE takes the address for a hint.
    // SAFETY: the mapping was just made, and nobody uses it.
    let _ = unsafe { rustix::mm::munmap(mapped, len) };
    Err(Errno::EXIST)
}

/// A mapping at an address of the kernel's choice, which is unmapped when it is dropped.
pub(super) struct TemporaryMapping {
    pub(super) start: u64,
    bytes: u64,
}

impl TemporaryMapping {
    pub(super) fn new(bytes: u64, protection: ProtFlags) -> rustix::io::Result<TemporaryMapping> {
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
        let start = unsafe {
            rustix::mm::mmap_anonymous(null, bytes as usize, protection, MapFlags::PRIVATE)
        }? as u64;
        Ok(TemporaryMapping { start, bytes })
    }

    /// A mapping of a shared file, from byte `offset` on.
    pub(super) fn shared(
        fd: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> rustix::io::Result<TemporaryMapping> {
        let (null, len) = (std::ptr::null_mut(), bytes as usize);
        // SAFETY: as above.
        let start =
            unsafe { rustix::mm::mmap(null, len, PROTECTION, MapFlags::SHARED, fd, offset) }?;
        Ok(TemporaryMapping {
            start: start as u64,
            bytes,
        })
    }
}

impl Drop for TemporaryMapping {
    fn drop(&mut self) {
        // SAFETY: rule 3; a room whose addresses have been left to others is forgotten.
        let _ = unsafe { rustix::mm::munmap(self.start as *mut _, self.bytes as usize) };
    }
}

/// Moves the pages of a mapping, or of a part of it, over other memory of this module. `keep`: the source stays mapped, without pages.
///
/// # Safety
/// Both ranges are the caller's.
pub(super) unsafe fn move_pages(
    from: u64,
    to: u64,
    bytes: u64,
    keep: bool,
) -> rustix::io::Result<()> {
    let keep = if keep {
        MremapFlags::DONTUNMAP
    } else {
        MremapFlags::empty()
    };
    let (from, to, len) = (from as *mut _, to as *mut _, bytes as usize);
    // SAFETY: the caller's.
    unsafe { rustix::mm::mremap_fixed(from, len, len, MremapFlags::MAYMOVE | keep, to) }?;
    Ok(())
}

/// Maps the pages at byte `offset` of the segment at `buffer`, with the buffer's contents, and at `preferred` (0 for none).
pub(super) fn adopt(
    segment: &Segment,
    offset: u64,
    bytes: u64,
    buffer: u64,
    preferred: u64,
) -> Result<()> {
    claim(buffer, bytes)?;
    let shared = share(segment, offset, bytes, buffer, preferred);
    if shared.is_err() {
        unclaim(buffer);
    }
    shared
}

fn share(segment: &Segment, offset: u64, bytes: u64, buffer: u64, preferred: u64) -> Result<()> {
    let system = |error| Error::system("sharing a registered buffer", error);
    let place = segment.base() + offset;
    let maps = maps()?;
    let pieces = pieces(&maps, buffer, bytes)?;
    mappings_left(&maps, pieces.len())?;
    let hold_on_threads = ThreadHold::new()?;
    let temporary = TemporaryMapping::new(bytes, ProtFlags::empty()).map_err(system)?;
    segment.commit(place, bytes)?;
    if preferred != 0
        && let Err(error) = map_at(segment, offset, bytes, preferred)
    {
        segment.decommit(place, bytes);
        return Err(Error::system("mapping a registered buffer", error));
    }
    let held = hold_on_threads.holds();
    let moved = moving(|| {
        hold_on_threads.hold(buffer, bytes, false, || {
            replace(segment, offset, buffer, &pieces, &temporary, held)
        })
    });
    if moved.is_err() {
        if preferred != 0 {
            // SAFETY: the mapping was made above, and nobody has its address yet.
            let _ = unsafe { rustix::mm::munmap(preferred as *mut _, bytes as usize) };
        }
        segment.decommit(place, bytes);
    }
    moved.map_err(system)
}

/// Replaces a buffer's pages by pages of the segment, with their contents. While threads are held, the buffer's pages are moved to `temporary`
/// first.
fn replace(
    segment: &Segment,
    offset: u64,
    buffer: u64,
    pieces: &[(u64, u64)],
    temporary: &TemporaryMapping,
    held: bool,
) -> rustix::io::Result<()> {
    let fd = segment.find_fd()?;
    let (place, bytes) = (segment.base() + offset, temporary.bytes);
    let there = |start: u64| temporary.start + (start - buffer);
    let back = |pieces: &[(u64, u64)]| {
        for &(start, bytes) in pieces {
            // SAFETY: rules 1 and 3: the pages were taken from there. A move of the same size fails for the number of mappings only,
            // which `mappings_left` has looked at.
            let _ = unsafe { move_pages(there(start), start, bytes, false) };
        }
    };
    let mut source = buffer;
    if held {
        for (index, &(start, bytes)) in pieces.iter().enumerate() {
            // SAFETY: rules 1 and 3.
            if let Err(error) = unsafe { move_pages(start, there(start), bytes, true) } {
                back(&pieces[..index]);
                return Err(error);
            }
        }
        source = temporary.start;
    }
    // SAFETY: `source` has the buffer's pages, which nobody else touches there: they are in the room, or there is no other thread. The
    // segment covers `place` (the caller took it from the layout), which nobody knows yet.
    unsafe { std::ptr::copy_nonoverlapping(source as *const u8, place as *mut u8, bytes as usize) };
    let flags = MapFlags::SHARED | MapFlags::FIXED;
    // SAFETY: rule 1: the same contents take the place of the old pages.
    let mapped = unsafe {
        rustix::mm::mmap(
            buffer as *mut _,
            bytes as usize,
            PROTECTION,
            flags,
            fd,
            offset,
        )
    };
    if mapped.is_err() && held {
        back(pieces);
    }
    mapped.map(drop)
}

/// Makes `buffer` private memory again, with its contents, and unmaps the pages at `preferred` (0 for none).
pub(super) fn give_back(
    segment: &Segment,
    offset: u64,
    bytes: u64,
    buffer: u64,
    preferred: u64,
) -> Result<()> {
    let place = segment.base() + offset;
    let system = |error| Error::system("unsharing a registered buffer", error);
    mappings_left(&maps()?, 1)?;
    let hold_on_threads = ThreadHold::new()?;
    let temporary = TemporaryMapping::new(bytes, PROTECTION).map_err(system)?;
    let held = hold_on_threads.holds();
    let moved = moving(|| {
        hold_on_threads.hold(buffer, bytes, true, || {
            if held {
                unmap_pages(buffer, bytes)?;
            }
            // SAFETY: both are mapped for `bytes` bytes. No thread writes to `place`: a writer by the buffer's address waits, or does
            // not exist, and the symmetric address is over.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    place as *const u8,
                    temporary.start as *mut u8,
                    bytes as usize,
                )
            };
            // SAFETY: rules 1 and 3: the range is ours since `adopt`, and the same contents take its place.
            unsafe { move_pages(temporary.start, buffer, bytes, false) }
        })
    });
    moved.map_err(system)?;
    // The pages are the buffer's, and the former addresses of the temporary mapping may be in use elsewhere.
    std::mem::forget(temporary);
    if preferred != 0 {
        // SAFETY: `adopt` made this mapping; its address is no longer symmetric.
        let _ = unsafe { rustix::mm::munmap(preferred as *mut _, bytes as usize) };
    }
    segment.decommit(place, bytes);
    unclaim(buffer);
    Ok(())
}

/// Drops the range's page table entries of a shared file; the file keeps the pages. The next access faults them in again.
pub(super) fn unmap_pages(start: u64, bytes: u64) -> rustix::io::Result<()> {
    let (start, bytes) = (start as *mut _, bytes as usize);
    // SAFETY: rule 1: the range is the segment's since `adopt`, and the file keeps its contents.
    let unmap = || unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontNeed) };
    unmap().or_else(|_| {
        // Pages that the program has locked in memory stay.
        // SAFETY: as above.
        unsafe { rustix::mm::munlock(start, bytes) }?;
        unmap()
    })
}
