//! Makes the executable's variables shared memory at their addresses, and private again.
//!
//! Only pages with contents are copied, so untouched variables cost nothing. A forked child is not a PE: it gets private pages with the
//! parent's contents at the fork.
//!
//! # Rules of this module
//!
//! 1. The range is that of the executable's variables, which stay mapped until the process ends. The caller of the public function
//!    guarantees that no other thread of the program writes to them meanwhile.
//! 2. Mappings at an address of the kernel's choice belong to this module alone.
//! 3. The segment stays mapped as long as the variables are shared.

use super::adopt::{
    PROTECTION, TemporaryMapping, claim, mappings_left, maps, move_pages, unclaim, unmap_pages,
};
use super::hold::{PageFill, ThreadHold};
use crate::job::descriptor::Descriptor;
use crate::job::executable::Variables;
use crate::job::segment::Segment;
use crate::job::{fork, signals};
use crate::{Error, Result};
use procfs::process::{MMPermissions, MMapPath, MemoryMaps};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::mm::MapFlags;
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A part of the variables that is a mapping of its own.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    bytes: u64,
    /// Whether untouched pages are zero; otherwise they have the contents of the executable's file.
    anonymous: bool,
}

/// The variables while they are shared memory.
#[derive(Clone)]
struct Shared {
    pieces: Vec<Piece>,
    /// The program may close it; the mapping stays.
    segment: Arc<Descriptor>,
    /// Added to an address, it gives the byte of the segment.
    distance: u64,
    /// Added to an address, it gives the address of the same byte in the segment's mapping.
    to_window: u64,
}

impl Shared {
    fn offset(&self, address: u64) -> u64 {
        address.wrapping_add(self.distance)
    }

    fn fd(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        self.segment.find().map(AsFd::as_fd).ok_or(Errno::BADF)
    }
}

/// The shared variables of this process. PEs that are threads have the executable's variables in common, and must not share them twice.
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// Whether a thread moves memory of the program, or forks. No child may be forked while some of it has moved and the rest has not. A
/// [`TemporaryMapping`] may have addresses that a mapping of another thread had before; the flag orders the accesses of the two threads.
static MOVING: AtomicBool = AtomicBool::new(false);

fn begin_move() {
    while MOVING.swap(true, Acquire) {
        std::thread::sleep(Duration::from_micros(50));
    }
}

fn end_move() {
    MOVING.store(false, Release);
}

/// From now on, a child that is forked gets its own copy of moved memory. Called before any memory moves: a fork under way meanwhile would
/// not wait for the move.
pub(super) fn watch_forks() {
    fork::copy_for_child(fork::Copying {
        before: copy_for_child,
        in_parent: forget_copy,
        in_child: take_copy,
    });
}

/// Runs `body`, which moves memory of the program. A signal handler of this thread, which may write to it or fork, runs before or after.
pub(super) fn moving<T>(body: impl FnOnce() -> T) -> T {
    signals::blocked(|| {
        begin_move();
        let result = body();
        end_move();
        result
    })
}

/// A private copy of a piece, at another address.
type PrivateCopy = (Piece, TemporaryMapping);

/// The private copies for a child that is about to be forked. The child finds them without a variable of this library, which may be
/// shared, too.
struct ForChild {
    shared: Shared,
    /// None if there was no memory for them.
    copies: Option<Vec<PrivateCopy>>,
}

thread_local! {
    static FOR_CHILD: Cell<*mut ForChild> = const { Cell::new(null_mut()) };
}

/// The parts of the variables that are mappings of their own. An error if the program has changed one, so that it is not writable alone.
fn pieces(maps: &MemoryMaps, start: u64, bytes: u64) -> Result<Vec<Piece>> {
    let usual = MMPermissions::READ | MMPermissions::WRITE | MMPermissions::PRIVATE;
    let end = start + bytes;
    let mut pieces = Vec::new();
    for map in maps.iter() {
        let (from, to) = (map.address.0.max(start), map.address.1.min(end));
        if from >= to {
            continue;
        }
        if map.perms != usual {
            return Err(Error::NotSupported(format!(
                "variables at {from:#x} to {to:#x} have other access rights than reading and writing: the program has changed them"
            )));
        }
        pieces.push(Piece {
            start: from,
            bytes: to - from,
            anonymous: !matches!(map.pathname, MMapPath::Path(_)),
        });
    }
    Ok(pieces)
}

/// The segment's pages of a piece.
struct Destination<'a> {
    fd: BorrowedFd<'a>,
    offset: u64,
    /// They are mapped here until they take the place of the piece.
    mapping: TemporaryMapping,
    fill: Option<PageFill>,
}

/// Copies the contents of a piece, whose pages are at `source`, to the segment. `pagemap`: the kernel's list of this process'
/// pages; without it all pages are copied. Reads that list into `words`. Allocates nothing and calls no function of the C library: the
/// program's own may have their state among the variables.
///
/// # Safety
/// The pages are mapped at `source`, and nobody writes to them meanwhile.
unsafe fn copy_contents(
    pagemap: Option<&File>,
    words: &mut [u8],
    piece: Piece,
    source: u64,
    to: &Destination<'_>,
) -> rustix::io::Result<()> {
    /// The bits of a page that is in memory, or on a swap device.
    const PRESENT: u64 = 1 << 63 | 1 << 62;
    let page = rustix::param::page_size() as u64;
    let mut at = 0;
    while at < piece.bytes {
        let pages = ((piece.bytes - at) / page).min(words.len() as u64 / 8);
        let words = &mut words[..8 * pages as usize];
        let known = piece.anonymous
            && pagemap.is_some_and(|pagemap| {
                let place = (source + at) / page * 8;
                rustix::io::pread(pagemap, &mut *words, place) == Ok(words.len())
            });
        let mut run = at..at;
        for word in words.chunks_exact(8) {
            let word = u64::from_ne_bytes(word.try_into().expect("8 bytes"));
            if known && word & PRESENT == 0 {
                // SAFETY: the caller's.
                unsafe { to.write(source, &run) }?;
                run.start = run.end + page;
                run.end = run.start;
            } else {
                run.end += page;
            }
        }
        // SAFETY: the caller's.
        unsafe { to.write(source, &run) }?;
        at += pages * page;
    }
    Ok(())
}

impl Destination<'_> {
    fn new(shared: &Shared, piece: Piece) -> rustix::io::Result<Destination<'_>> {
        let (fd, offset) = (shared.fd()?, shared.offset(piece.start));
        let mapping = TemporaryMapping::shared(fd, offset, piece.bytes)?;
        let fill = PageFill::new(mapping.start, piece.bytes);
        Ok(Destination {
            fd,
            offset,
            mapping,
            fill,
        })
    }

    /// Maps them in the place of the piece.
    fn take_place(self, piece: Piece) -> rustix::io::Result<()> {
        // SAFETY: rules 1 and 2: the same contents take the place of the old pages.
        unsafe { move_pages(self.mapping.start, piece.start, piece.bytes, false) }?;
        // The addresses that it had may be anybody's.
        std::mem::forget(self.mapping);
        Ok(())
    }

    /// Copies a range of the bytes at `source` to its place. A `pwrite` holds the lock of the segment's file, on which the other PEs of the
    /// host would wait; `PageFill` does not.
    ///
    /// # Safety
    /// They are mapped, and nobody writes to them meanwhile.
    unsafe fn write(&self, source: u64, range: &Range<u64>) -> rustix::io::Result<()> {
        let bytes = (range.end - range.start) as usize;
        let filled = self.fill.as_ref().map_or(0, |fill| {
            let (from, to) = (source + range.start, self.mapping.start + range.start);
            // SAFETY: the caller's; the mapping has the piece's length.
            unsafe { fill.copy(from, to, bytes as u64) }
        });
        // SAFETY: the caller's.
        let data =
            unsafe { std::slice::from_raw_parts((source + range.start) as *const u8, bytes) };
        let mut done = filled as usize;
        while done < bytes {
            let place = self.offset + range.start + done as u64;
            done +=
                rustix::io::retry_on_intr(|| rustix::io::pwrite(self.fd, &data[done..], place))?;
        }
        Ok(())
    }
}

/// Whether code that runs while threads are held may itself touch the variables: the library's own variables are among them, as in a
/// program that links it statically, or the program has functions of the C library, as with a sanitizer.
fn has_own(variables: &Variables) -> bool {
    variables.in_image(std::ptr::from_ref(&SHARED) as u64) || variables.has_c_functions()
}

/// Maps the pages at byte `offset` of the segment at the variables, with their contents.
pub(super) fn adopt(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    claim(start, bytes)?;
    let shared = moving(|| share(segment, offset, start, bytes));
    if shared.is_err() && crate::lock::lock(&SHARED).is_none() {
        unclaim(start);
    }
    shared
}

fn share(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    let system = |error: Errno| Error::system("sharing the executable's variables", error);
    let fd = segment.find_fd().map_err(system)?;
    let copied = rustix::io::fcntl_dupfd_cloexec(fd, 0).map_err(system)?;
    let mut shared = Shared {
        pieces: Vec::new(),
        segment: Arc::new(Descriptor::new(copied, "variables")?),
        distance: offset.wrapping_sub(start),
        to_window: (segment.base() + offset).wrapping_sub(start),
    };
    let pagemap = File::open("/proc/self/pagemap").ok();
    let own = has_own(&Variables::find()?);
    let maps = maps()?;
    let pieces = pieces(&maps, start, bytes)?;
    mappings_left(&maps, pieces.len())?;
    let mut words = vec![0; 8 * 512];
    let moved = pieces.into_iter().try_for_each(|piece| {
        share_piece(&shared, pagemap.as_ref(), &mut words, piece, own)?;
        shared.pieces.push(piece);
        Ok(())
    });
    let Err(error) = moved else {
        *crate::lock::lock(&SHARED) = Some(shared);
        return Ok(());
    };
    match private_copies(&shared).and_then(put_back) {
        Ok(()) => {
            segment.empty(segment.base() + offset, bytes);
        }
        // Some of them stay shared, with their contents.
        Err(_) => *crate::lock::lock(&SHARED) = Some(shared),
    }
    Err(system(error))
}

/// Moves the contents of a piece to the segment. Threads that access untouched variables meanwhile wait, if the kernel supports that.
fn share_piece(
    shared: &Shared,
    pagemap: Option<&File>,
    words: &mut [u8],
    piece: Piece,
    own: bool,
) -> rustix::io::Result<()> {
    let to = Destination::new(shared, piece)?;
    let hold = ThreadHold::new().ok();
    let hold = hold.filter(|hold| hold.holds() && piece.anonymous && !own);
    let move_from = |source: u64| {
        // SAFETY: rule 1; the pages are where they always were, or where they were moved to.
        unsafe { copy_contents(pagemap, words, piece, source, &to) }?;
        to.take_place(piece)
    };
    let Some(hold) = hold else {
        return move_from(piece.start);
    };
    let temporary = TemporaryMapping::new(piece.bytes, rustix::mm::ProtFlags::empty())?;
    hold.hold(piece.start, piece.bytes, false, || {
        // SAFETY: rules 1 and 2.
        unsafe { move_pages(piece.start, temporary.start, piece.bytes, true) }?;
        let moved = move_from(temporary.start);
        if moved.is_err() {
            // SAFETY: rules 1 and 2: the pages were taken from there.
            let _ = unsafe { move_pages(temporary.start, piece.start, piece.bytes, false) };
        }
        moved
    })
}

/// Private copies of all pieces.
fn private_copies(shared: &Shared) -> rustix::io::Result<Vec<PrivateCopy>> {
    let copy = |&piece: &Piece| {
        let copy = TemporaryMapping::new(piece.bytes, PROTECTION)?;
        private_copy(shared, piece, copy.start)?;
        Ok((piece, copy))
    };
    shared.pieces.iter().map(copy).collect()
}

/// Copies a piece to memory that is 0.
fn private_copy(shared: &Shared, piece: Piece, copy: u64) -> rustix::io::Result<()> {
    let Ok(fd) = shared.fd() else {
        // The program has closed the descriptor, so where the holes are is not known.
        let window = piece.start.wrapping_add(shared.to_window) as *const u8;
        // SAFETY: rules 2 and 3: both are mapped for the whole piece.
        unsafe { std::ptr::copy_nonoverlapping(window, copy as *mut u8, piece.bytes as usize) };
        return Ok(());
    };
    let begin = shared.offset(piece.start);
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
        let (to, bytes) = ((copy + (data - begin)) as *mut u8, (hole - data) as usize);
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
    Ok(())
}

/// Replaces the segment's pages by private pages.
fn put_back(copies: Vec<PrivateCopy>) -> rustix::io::Result<()> {
    for (piece, copy) in copies {
        // SAFETY: rules 1 and 2: the same contents take the place of the segment's pages.
        unsafe { move_pages(copy.start, piece.start, piece.bytes, false) }?;
        // The addresses that the copy had may be anybody's.
        std::mem::forget(copy);
    }
    Ok(())
}

/// Makes the variables private memory again, with their contents.
pub(super) fn give_back(segment: &Segment, offset: u64, start: u64, bytes: u64) -> Result<()> {
    moving(|| {
        let shared = crate::lock::lock(&SHARED).clone();
        shared.map_or(Ok(()), |shared| take_back(&shared))?;
        *crate::lock::lock(&SHARED) = None;
        segment.empty(segment.base() + offset, bytes);
        unclaim(start);
        Ok(())
    })
}

fn take_back(shared: &Shared) -> Result<()> {
    let system = |error| Error::system("unsharing the executable's variables", error);
    let own = has_own(&Variables::find()?);
    mappings_left(&maps()?, shared.pieces.len())?;
    for &piece in &shared.pieces {
        let copy = TemporaryMapping::new(piece.bytes, PROTECTION).map_err(system)?;
        let back = || {
            private_copy(shared, piece, copy.start)?;
            // SAFETY: rules 1 and 2: the same contents take the place of the segment's pages.
            unsafe { move_pages(copy.start, piece.start, piece.bytes, false) }
        };
        let hold = ThreadHold::new().ok();
        let moved = match hold.filter(|hold| hold.holds() && !own) {
            None => back(),
            Some(hold) => hold.hold(piece.start, piece.bytes, true, || {
                unmap_pages(piece.start, piece.bytes)?;
                back()
            }),
        };
        moved.map_err(system)?;
        // The addresses that the copy had may be anybody's.
        std::mem::forget(copy);
    }
    Ok(())
}

/// Before a fork. The copy is made without the lock, so that it is not locked in the child's copy of the variables.
fn copy_for_child() {
    begin_move();
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

/// After a fork, in the parent: drops the copy.
fn forget_copy() {
    drop(take_for_child());
    end_move();
}

/// After a fork, in the child. Without a copy, the kernel copies each page that the child writes to.
fn take_copy() {
    if let Some(made) = take_for_child() {
        let ForChild { shared, copies } = *made;
        let copied = copies.is_some_and(|copies| put_back(copies).is_ok());
        for piece in shared.pieces.iter().filter(|_| !copied) {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            let (start, len) = (piece.start as *mut _, piece.bytes as usize);
            let Ok(fd) = shared.fd() else {
                break;
            };
            let offset = shared.offset(piece.start);
            // SAFETY: rule 1: the same contents take the place of the shared pages.
            let _ = unsafe { rustix::mm::mmap(start, len, PROTECTION, flags, fd, offset) };
        }
    }
    // A thread that held the lock does not exist here.
    if let Ok(mut shared) = SHARED.try_lock() {
        *shared = None;
    }
    end_move();
}
