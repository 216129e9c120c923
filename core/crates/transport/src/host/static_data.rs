//! Makes the executable's variables shared memory where they are, and private again.
//!
//! Only pages with contents are copied, so untouched variables cost nothing. A forked child is no PE: it gets private pages with
//! what its parent had when it forked.
//!
//! # Rules of this module
//!
//! 1. The range is that of the executable's variables, which stay mapped until the process ends. The caller of the public function
//!    vouches that no other thread of the program writes to them meanwhile.
//! 2. What is mapped at an address of the kernel's choice is this module's alone.

use super::adopt::{PROTECTION, TemporaryMapping, claim, maps, move_pages, unclaim};
use super::hold::ThreadHold;
use crate::job::fork;
use crate::job::segment::Segment;
use crate::{Error, Result};
use procfs::process::{MMPermissions, MMapPath};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::MapFlags;
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// A part of the variables that is a mapping of its own.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    bytes: u64,
    /// Whether pages that were never touched are zero; others hold what the executable's file has.
    anonymous: bool,
}

/// The variables while they are shared memory.
#[derive(Clone)]
struct Shared {
    pieces: Vec<Piece>,
    segment: Arc<OwnedFd>,
    /// What is added to an address to get its byte of the segment.
    distance: u64,
}

impl Shared {
    fn offset(&self, address: u64) -> u64 {
        address.wrapping_add(self.distance)
    }
}

/// Those of this process. PEs that are threads share the executable's variables, and must not share them twice.
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// A private copy of a piece, at another address.
type PrivateCopy = (Piece, TemporaryMapping);

/// What a child gets that is about to be forked. The child finds it without a variable of this library's, which may be shared, too.
struct ForChild {
    shared: Shared,
    /// None if there was no memory for them.
    copies: Option<Vec<PrivateCopy>>,
}

thread_local! {
    static FOR_CHILD: Cell<*mut ForChild> = const { Cell::new(null_mut()) };
}

/// The parts of the variables that can be written.
fn pieces(start: u64, bytes: u64) -> Result<Vec<Piece>> {
    let usual = MMPermissions::READ | MMPermissions::WRITE | MMPermissions::PRIVATE;
    let end = start + bytes;
    let maps = maps()?;
    let inside = maps
        .iter()
        .filter(|map| map.address.0 < end && map.address.1 > start && map.perms.contains(usual));
    let pieces = inside.map(|map| Piece {
        start: map.address.0.max(start),
        bytes: map.address.1.min(end) - map.address.0.max(start),
        anonymous: !matches!(map.pathname, MMapPath::Path(_)),
    });
    Ok(pieces.collect())
}

/// Copies the contents of a piece, whose pages are at `source`, to byte `offset` of a file. `pagemap`: the kernel's list of this process'
/// pages; without it all pages are copied. Does not allocate: the program's allocator may have its state among the variables.
///
/// # Safety
/// The pages are mapped at `source`, and nobody writes to them meanwhile.
unsafe fn copy_contents(
    pagemap: Option<&File>,
    piece: Piece,
    source: u64,
    fd: BorrowedFd<'_>,
    offset: u64,
) -> rustix::io::Result<()> {
    /// The bits of a page that is in memory, or on a swap device.
    const PRESENT: u64 = 1 << 63 | 1 << 62;
    let page = rustix::param::page_size() as u64;
    let mut words = [0u8; 8 * 512];
    let mut at = 0;
    while at < piece.bytes {
        let pages = ((piece.bytes - at) / page).min(512);
        let words = &mut words[..8 * pages as usize];
        let known = piece.anonymous
            && pagemap.is_some_and(|pagemap| {
                let place = (source + at) / page * 8;
                pagemap.read_exact_at(words, place).is_ok()
            });
        let mut run = at..at;
        for word in words.chunks_exact(8) {
            let word = u64::from_ne_bytes(word.try_into().expect("8 bytes"));
            if known && word & PRESENT == 0 {
                // SAFETY: the caller's.
                unsafe { write(fd, source, &run, offset) }?;
                run.start = run.end + page;
                run.end = run.start;
            } else {
                run.end += page;
            }
        }
        // SAFETY: the caller's.
        unsafe { write(fd, source, &run, offset) }?;
        at += pages * page;
    }
    Ok(())
}

/// Writes a range of the bytes at `source` to its place in a file.
///
/// # Safety
/// They are mapped, and nobody writes to them meanwhile.
unsafe fn write(
    fd: BorrowedFd<'_>,
    source: u64,
    range: &Range<u64>,
    offset: u64,
) -> rustix::io::Result<()> {
    let bytes = (range.end - range.start) as usize;
    // SAFETY: the caller's.
    let data = unsafe { std::slice::from_raw_parts((source + range.start) as *const u8, bytes) };
    let mut done = 0;
    while done < bytes {
        let place = offset + range.start + done as u64;
        done += rustix::io::retry_on_intr(|| rustix::io::pwrite(fd, &data[done..], place))?;
    }
    Ok(())
}

/// Maps the segment's pages in the place of a piece's.
fn map_shared(fd: BorrowedFd<'_>, piece: Piece, offset: u64) -> rustix::io::Result<()> {
    let flags = MapFlags::SHARED | MapFlags::FIXED;
    let (start, len) = (piece.start as *mut _, piece.bytes as usize);
    // SAFETY: rule 1: the same contents take the place of the old pages.
    unsafe { rustix::mm::mmap(start, len, PROTECTION, flags, fd, offset) }.map(drop)
}

/// Whether this library's own variables are among those of the range, as in a program that links it statically.
fn has_own(start: u64, bytes: u64) -> bool {
    let own = std::ptr::from_ref(&SHARED) as u64;
    own.wrapping_sub(start) < bytes
}

/// Makes the pages at byte `offset` of the segment appear at the variables, with the contents of what is there now.
pub(super) fn adopt(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    claim(start, bytes)?;
    let shared = share(segment, offset, start, bytes);
    if shared.is_err() {
        unclaim(start);
    }
    shared
}

fn share(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    let system = |error: Errno| Error::system("sharing the executable's variables", error);
    let fd = segment.find_fd().map_err(system)?;
    let mut shared = Shared {
        pieces: Vec::new(),
        segment: Arc::new(rustix::io::fcntl_dupfd_cloexec(fd, 0).map_err(system)?),
        distance: offset.wrapping_sub(start),
    };
    let pagemap = File::open("/proc/self/pagemap").ok();
    let mut moved = Ok(());
    for piece in pieces(start, bytes)? {
        moved = share_piece(&shared, pagemap.as_ref(), piece, has_own(start, bytes));
        if moved.is_err() {
            break;
        }
        shared.pieces.push(piece);
    }
    if let Err(error) = moved {
        // As it was, as far as that goes.
        let _ = private_copies(&shared).map(put_back);
        segment.empty(segment.base() + offset, bytes);
        return Err(system(error));
    }
    *crate::lock::lock(&SHARED) = Some(shared);
    fork::copy_for_child(fork::Copying {
        before: copy_for_child,
        in_parent: forget_copy,
        in_child: take_copy,
    });
    Ok(())
}

/// Moves the contents of a piece to the segment. Threads that touch untouched variables meanwhile are held up where the kernel can do so.
fn share_piece(
    shared: &Shared,
    pagemap: Option<&File>,
    piece: Piece,
    own: bool,
) -> rustix::io::Result<()> {
    let fd = shared.segment.as_fd();
    let offset = shared.offset(piece.start);
    let hold = ThreadHold::new()
        .ok()
        .filter(|hold| hold.holds() && piece.anonymous && !own);
    // SAFETY: rule 1; the pages are where they always were, or where they were moved to.
    let copy = |source: u64| unsafe { copy_contents(pagemap, piece, source, fd, offset) };
    let Some(hold) = hold else {
        copy(piece.start)?;
        return map_shared(fd, piece, offset);
    };
    let temporary = TemporaryMapping::new(piece.bytes, rustix::mm::ProtFlags::empty())?;
    hold.hold(piece.start, piece.bytes, false, || {
        // SAFETY: rules 1 and 2.
        unsafe { move_pages(piece.start, temporary.start, piece.bytes, true) }?;
        let shared = copy(temporary.start).and_then(|()| map_shared(fd, piece, offset));
        if shared.is_err() {
            // SAFETY: rules 1 and 2: the pages were taken from there.
            let _ = unsafe { move_pages(temporary.start, piece.start, piece.bytes, false) };
        }
        shared
    })
}

/// Private copies of all pieces.
fn private_copies(shared: &Shared) -> rustix::io::Result<Vec<PrivateCopy>> {
    let copy = |&piece: &Piece| {
        let copy = TemporaryMapping::new(piece.bytes, PROTECTION)?;
        let (begin, fd) = (shared.offset(piece.start), shared.segment.as_fd());
        let end = begin + piece.bytes;
        let mut at = begin;
        while at < end {
            // Holes of the segment are zero, as the copy is.
            let data = match rustix::fs::seek(fd, SeekFrom::Data(at)) {
                Ok(data) if data < end => data,
                Ok(_) | Err(Errno::NXIO) => break,
                Err(error) => return Err(error),
            };
            let hole = rustix::fs::seek(fd, SeekFrom::Hole(data))?.min(end);
            let (to, bytes) = (
                (copy.start + (data - begin)) as *mut u8,
                (hole - data) as usize,
            );
            // SAFETY: rule 2: the copy has room for the whole piece, and nobody else knows it.
            let to = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
            let mut done = 0;
            while done < bytes {
                let offset = data + done as u64;
                let read =
                    rustix::io::retry_on_intr(|| rustix::io::pread(fd, &mut to[done..], offset))?;
                if read == 0 {
                    return Err(Errno::IO);
                }
                done += read;
            }
            at = hole;
        }
        Ok((piece, copy))
    };
    shared.pieces.iter().map(copy).collect()
}

/// Puts private pages in the place of the segment's.
fn put_back(copies: Vec<PrivateCopy>) -> rustix::io::Result<()> {
    for (piece, copy) in copies {
        // SAFETY: rules 1 and 2: the same contents take the place of the segment's pages.
        unsafe { move_pages(copy.start, piece.start, piece.bytes, false) }?;
        // The addresses that the copy had may be anybody's.
        std::mem::forget(copy);
    }
    Ok(())
}

/// Makes the variables private memory again, with the contents they have.
pub(super) fn give_back(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    let system = |error| Error::system("unsharing the executable's variables", error);
    let shared = crate::lock::lock(&SHARED).take();
    let Some(shared) = shared else {
        return Ok(());
    };
    private_copies(&shared).and_then(put_back).map_err(system)?;
    segment.empty(segment.base() + offset, bytes);
    unclaim(start);
    Ok(())
}

/// Before a fork. The copy is made without the lock, so that it is not locked in the child's copy of the variables.
fn copy_for_child() {
    let shared = crate::lock::lock(&SHARED).clone();
    if let Some(shared) = shared {
        let copies = private_copies(&shared).ok();
        FOR_CHILD.set(Box::into_raw(Box::new(ForChild { shared, copies })));
    }
}

fn take_for_child() -> Option<Box<ForChild>> {
    let made = FOR_CHILD.replace(null_mut());
    // SAFETY: `copy_for_child` made it from a box, and the cell is empty now.
    (!made.is_null()).then(|| unsafe { Box::from_raw(made) })
}

/// After a fork, in the parent: its copy is of no use.
fn forget_copy() {
    drop(take_for_child());
}

/// After a fork, in the child. Without a copy, the kernel copies each page that the child writes to.
fn take_copy() {
    let Some(made) = take_for_child() else {
        return;
    };
    let ForChild { shared, copies } = *made;
    let copied = copies.is_some_and(|copies| put_back(copies).is_ok());
    for piece in shared.pieces.iter().filter(|_| !copied) {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        let (start, len) = (piece.start as *mut _, piece.bytes as usize);
        let (fd, offset) = (&shared.segment, shared.offset(piece.start));
        // SAFETY: rule 1: the same contents take the place of the shared pages.
        let _ = unsafe { rustix::mm::mmap(start, len, PROTECTION, flags, fd, offset) };
    }
    // A thread that held the lock does not exist here.
    if let Ok(mut shared) = SHARED.try_lock() {
        *shared = None;
    }
}
