//! One sealed, sparse memfd per job: the control block, then every PE's heap. Each process maps it once.
//!
//! It has no name in any file system, so a crash leaves no file behind. It is sealed, so no peer can truncate it while others use it. Pages
//! are committed by `commit`, so lack of memory is an error there.
//!
//! # Rules of this module
//!
//! 1. `base` is the start of a shared mapping of `len` bytes that lives as long as the `Segment`, aligned to 2 MiB. Only `aligned` moves it,
//!    before any address in it is in use.
//! 2. References into the mapping are given out only as types made of atomics ([`AllAtomic`]), which other processes may
//!    change at any time.

use super::descriptor::{Descriptor, FileId, leads_to};
use crate::{Error, Result};
use rustix::fs::{FallocateFlags, MemfdFlags, Mode, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The memfd's name, as /proc/PID/fd shows it.
pub const NAME: &str = "nvshmemrs-job";

/// Types that consist of atomics, for which every bit pattern is valid.
///
/// # Safety
/// The type must be `repr(C)` and consist of atomic integers only, with an alignment of at most 4096.
pub unsafe trait AllAtomic {}

/// A mapped segment.
#[derive(Debug)]
pub struct Segment {
    /// None: the segment is reached by its mapping only.
    fd: Option<Descriptor>,
    protection: ProtFlags,
    base: u64,
    /// 0: it is unmapped.
    len: u64,
}

/// The smallest alignment of a mapping with which the kernel may use large pages.
const LARGE_PAGE: u64 = 2 << 20;

impl Segment {
    /// Creates and maps a sealed segment of `len` bytes, a multiple of the page size.
    pub fn create(len: u64) -> Result<Segment> {
        // Past this limit ftruncate would end the process with SIGXFSZ.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        if limit.is_some_and(|limit| limit < len) {
            return Err(Error::system(
                "making the symmetric heap",
                format!(
                    "the limit on file sizes is below its {len} bytes; raise `ulimit -f` or lower \
                     NVSHMEM_SYMMETRIC_SIZE"
                ),
            ));
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL)
            // Kernels before 6.3 do not know NOEXEC_SEAL.
            .or_else(|_| rustix::fs::memfd_create(NAME, flags))
            .map_err(|error| Error::system("memfd_create", error))?;
        // Nobody else can open it through /proc anyway; should that ever change, the file's own rights still say no.
        rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)
            .map_err(|error| Error::system("fchmod of the symmetric heap", error))?;
        rustix::fs::ftruncate(&fd, len)
            .map_err(|error| Error::system("ftruncate of the symmetric heap", error))?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|error| Error::system("sealing the symmetric heap", error))?;
        Segment::map(fd, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps a segment that another PE created. It must be sealed and of the expected length.
    pub fn open(fd: OwnedFd, len: u64) -> Result<Segment> {
        Segment::check(&fd, Some(len))?;
        Segment::map(fd, len, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// Maps a segment of another job for reading only.
    pub fn observe(file: File) -> Result<Segment> {
        let len = Segment::check(&file, None)?;
        Segment::map(file.into(), len, ProtFlags::READ)
    }

    /// Maps a segment of this process's own job for reading only, through the PE's descriptor; `file` is the expected file. The segment has
    /// no descriptor: closing a descriptor of the job's memory would release the locks of this process.
    pub fn observe_own(descriptor: i32, file: FileId) -> Result<Segment> {
        // SAFETY: the number is used in this function only. Should the PE close it meanwhile, calls fail, or lead to another file, which is
        // noticed below; nothing is written or closed through it.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let gone = || Error::system("looking at this process's own job", "it has ended");
        if leads_to(borrowed) != Some(file) {
            return Err(gone());
        }
        let len = Segment::check(borrowed, None)?;
        let segment = Segment {
            fd: None,
            protection: ProtFlags::READ,
            base: place(borrowed, len, ProtFlags::READ, 0, LARGE_PAGE)?,
            len,
        };
        match leads_to(borrowed) == Some(file) {
            true => Ok(segment),
            false => Err(gone()),
        }
    }

    /// The segment without its descriptor: for memory that takes no locks and does not grow.
    pub(crate) fn mapped_only(mut self) -> Segment {
        self.fd = None;
        self
    }

    /// Checks a file of another process: it belongs to this user, it is sealed against truncation, and it has the announced length.
    fn check(fd: impl AsFd, len: Option<u64>) -> Result<u64> {
        let seals = rustix::fs::fcntl_get_seals(&fd)
            .map_err(|error| Error::system("reading the seals of the job's memory", error))?;
        let file = rustix::fs::fstat(&fd)
            .map_err(|error| Error::system("fstat of the job's memory", error))?;
        let (owner, me) = (file.st_uid, rustix::process::geteuid().as_raw());
        // An administrator may look at anybody's job, but nobody joins one of another user.
        let looks = len.is_none() && me == 0;
        if owner != me && !looks {
            return Err(Error::Bootstrap(format!(
                "the job's memory belongs to user {owner}, but user {me} runs the job, so it is refused"
            )));
        }
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(Error::Bootstrap(
                "the job's memory is not sealed, so it is refused".into(),
            ));
        }
        let actual = file.st_size as u64;
        match len {
            Some(len) if len != actual => Err(Error::Bootstrap(format!(
                "the job's memory has {actual} bytes where {len} were announced, so it is refused"
            ))),
            _ => Ok(actual),
        }
    }

    fn map(fd: OwnedFd, len: u64, protection: ProtFlags) -> Result<Segment> {
        // Where the program was started with a standard stream closed, the job's memory must not take its place: any output
        // would go there.
        let fd = match fd.as_raw_fd() {
            0..=2 => rustix::io::fcntl_dupfd_cloexec(&fd, 3)
                .map_err(|error| Error::system("moving the job's memory to descriptor 3", error))?,
            _ => fd,
        };
        if len < 4096 {
            return Err(Error::Bootstrap(
                "the job's memory is too short to be one of nvshmemrs".into(),
            ));
        }
        let base = place(fd.as_fd(), len, protection, 0, LARGE_PAGE)?;
        Ok(Segment {
            fd: Some(Descriptor::new(fd, "the job's memory")?),
            protection,
            base,
            len,
        })
    }

    /// Moves the mapping, if need be, so that its byte `offset`, a multiple of 2 MiB, lies at a multiple of `alignment`, a power of two. A
    /// read-only mapping is not moved: an observer uses no part of it that needs an alignment.
    pub fn aligned(mut self, offset: u64, alignment: u64) -> Result<Segment> {
        if !self.protection.contains(ProtFlags::WRITE) {
            return Ok(self);
        }
        let alignment = alignment.max(LARGE_PAGE);
        if !(self.base + offset).is_multiple_of(alignment) {
            // Not both at a time: limits on address space count them.
            let len = std::mem::take(&mut self.len);
            unmap(self.base, self.base + len);
            self.base = place(self.fd()?, len, self.protection, offset, alignment)?;
            self.len = len;
        }
        Ok(self)
    }

    /// The file descriptor, to send to another PE. An error if the program has closed it.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        match &self.fd {
            Some(fd) => fd.get().map(AsFd::as_fd),
            None => Err(Error::Internal("a segment has no descriptor".into())),
        }
    }

    /// As [`fd`](Segment::fd), for a caller that must not allocate.
    pub fn find_fd(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        let file = self.fd.as_ref().and_then(Descriptor::find);
        file.map(AsFd::as_fd).ok_or(rustix::io::Errno::BADF)
    }

    /// Whether the segment has a descriptor, which the program may have closed.
    pub(crate) fn has_fd(&self) -> bool {
        self.fd.is_some()
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Address of the first byte in this process.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Whether `bytes` bytes at `address` lie within the mapping.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.base
            && address
                .checked_add(bytes)
                .is_some_and(|end| end <= self.base + self.len)
    }

    /// The atomics at its start, which fit a page.
    #[inline(always)]
    pub fn start<T: AllAtomic>(&self) -> &T {
        const { assert!(size_of::<T>() <= 4096 && align_of::<T>() <= 4096) };
        // SAFETY: a mapping has whole pages, and `map` makes none without any; the rest as in `view`.
        unsafe { &*(self.base as *const T) }
    }

    /// The atomics at byte `offset`.
    #[inline(always)]
    pub fn view<T: AllAtomic>(&self, offset: u64) -> &T {
        let end = offset.saturating_add(size_of::<T>() as u64);
        let aligned = offset.is_multiple_of(align_of::<T>() as u64);
        assert!(end <= self.len && aligned, "a view outside the segment");
        let address = self.base + offset;
        // SAFETY: in bounds and aligned (just checked; `base` is aligned to 2 MiB), mapped as long as `self` (rule 1), atomics only (rule 2).
        unsafe { &*(address as *const T) }
    }

    /// Commits the pages that `bytes` bytes at `address` touch.
    pub fn commit(&self, address: u64, bytes: u64) -> Result<()> {
        let page = rustix::param::page_size() as u64;
        let start = (address - self.base) / page * page;
        let end = (address - self.base + bytes).next_multiple_of(page);
        let fd = self.fd()?;
        loop {
            match rustix::fs::fallocate(fd, FallocateFlags::empty(), start, end - start) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(Error::system(
                        "committing symmetric memory",
                        format!("{error}; {bytes} bytes were asked for"),
                    ));
                }
            }
        }
    }

    /// Maps the whole pages within `bytes` bytes at `address`, which are committed: one call takes half the time of a page fault for each.
    /// Kernels before 5.14 cannot, and leave it to the first access.
    pub fn populate(&self, address: u64, bytes: u64) {
        let page = rustix::param::page_size() as u64;
        let start = address.next_multiple_of(page);
        let end = (address + bytes) / page * page;
        if start < end && self.contains(start, end - start) {
            let (at, len) = (start as *mut _, (end - start) as usize);
            // SAFETY: the pages lie in our mapping (just checked); the advice changes no byte of them.
            let _ = unsafe { rustix::mm::madvise(at, len, rustix::mm::Advice::LinuxPopulateWrite) };
        }
    }

    /// Frees the whole pages within `bytes` bytes at `address`. After a failure their memory is in use until the job ends.
    pub fn decommit(&self, address: u64, bytes: u64) {
        self.empty(address, bytes);
    }

    /// As [`decommit`](Segment::decommit); returns whether these pages are 0 from now on.
    pub fn empty(&self, address: u64, bytes: u64) -> bool {
        let page = rustix::param::page_size() as u64;
        let start = (address - self.base).next_multiple_of(page);
        let end = (address - self.base + bytes) / page * page;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let punch = |fd| rustix::fs::fallocate(fd, hole, start, end - start);
        start >= end || self.find_fd().and_then(punch).is_ok()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // Every user of the mapping holds the `Segment`.
        unmap(self.base, self.base + self.len);
    }
}

/// Maps `len` bytes of a file so that byte `offset` lies at a multiple of `alignment`; returns the address of the first.
fn place(
    fd: BorrowedFd<'_>,
    len: u64,
    protection: ProtFlags,
    offset: u64,
    alignment: u64,
) -> Result<u64> {
    let refused = |error: rustix::io::Errno| {
        Error::system(
            "mapping the symmetric heap",
            format!(
                "{error}; {len} bytes of address space were asked for: lower \
                     NVSHMEM_SYMMETRIC_SIZE or raise `ulimit -v`"
            ),
        )
    };
    // A little more is reserved, so that an aligned start can be chosen.
    let reserved = len + alignment;
    let none = ProtFlags::empty();
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
    let start =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), reserved as usize, none, flags) }
            .map_err(refused)? as u64;
    let base = (start + offset).next_multiple_of(alignment) - offset;
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: FIXED replaces a part of the reservation made above, and nothing else.
    let mapped =
        unsafe { rustix::mm::mmap(base as *mut _, len as usize, protection, flags, fd, 0) };
    if let Err(error) = mapped {
        unmap(start, start + reserved);
        return Err(refused(error));
    }
    unmap(start, base);
    unmap(base + len, start + reserved);
    // SAFETY: the range was just mapped; the advice only keeps it out of core dumps. Without
    // it, dumps are larger.
    let _ = unsafe {
        rustix::mm::madvise(
            base as *mut _,
            len as usize,
            rustix::mm::Advice::LinuxDontDump,
        )
    };
    Ok(base)
}

/// Unmaps a range: a mapping of a `Segment`, or a reservation of [`place`].
fn unmap(from: u64, to: u64) {
    if from < to {
        // SAFETY: rule 1: the range is ours, and nothing uses it.
        let _ = unsafe { rustix::mm::munmap(from as *mut _, (to - from) as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Gid, Uid};

    const LEN: u64 = 1 << 20;

    /// A file as a peer might hand it over.
    fn file(seals: SealFlags) -> OwnedFd {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(NAME, flags).unwrap();
        rustix::fs::ftruncate(&fd, LEN).unwrap();
        rustix::fs::fcntl_add_seals(&fd, seals).unwrap();
        fd
    }

    fn refusal(fd: OwnedFd, len: u64) -> String {
        Segment::open(fd, len).unwrap_err().to_string()
    }

    #[test]
    fn memory_is_taken_only_if_nobody_can_cut_it_short() {
        let both = SealFlags::SHRINK | SealFlags::GROW;
        Segment::open(file(both), LEN).unwrap();
        for seals in [SealFlags::empty(), SealFlags::SHRINK, SealFlags::GROW] {
            let why = refusal(file(seals), LEN);
            assert!(why.contains("not sealed"), "{seals:?}: {why}");
        }
        // A file that cannot be sealed at all.
        let plain = std::fs::File::open("/dev/null").unwrap();
        assert!(Segment::open(plain.into(), 0).is_err());
    }

    #[test]
    fn memory_has_the_length_that_was_announced() {
        let both = SealFlags::SHRINK | SealFlags::GROW;
        for len in [0, LEN - 1, LEN + 1, u64::MAX] {
            let why = refusal(file(both), len);
            assert!(why.contains("were announced"), "{len}: {why}");
        }
        // Not even the maker of a sealed file can shorten it.
        let fd = file(both);
        let other = rustix::io::fcntl_dupfd_cloexec(&fd, 0).unwrap();
        let segment = Segment::open(fd, LEN).unwrap();
        assert!(rustix::fs::ftruncate(&other, 0).is_err());
        assert_eq!(segment.bytes(), LEN);
    }

    #[test]
    fn memory_of_another_user_is_refused() {
        let me = rustix::process::geteuid();
        let fd = file(SealFlags::SHRINK | SealFlags::GROW);
        if !me.is_root() {
            // `cargo xtask test` counts the tests in this list as left out.
            if let Some(list) = std::env::var_os("TESTS_LEFT_OUT") {
                let mut list = File::options()
                    .create(true)
                    .append(true)
                    .open(list)
                    .unwrap();
                let line =
                    "memory_of_another_user_is_refused: giving a file to another user takes root\n";
                std::io::Write::write_all(&mut list, line.as_bytes()).unwrap();
            }
            return;
        }
        let (nobody, none) = (Uid::from_raw(65534), None::<Gid>);
        rustix::fs::fchown(&fd, Some(nobody), none).unwrap();
        let why = refusal(fd, LEN);
        assert!(why.contains("belongs to user 65534"), "{why}");
    }

    #[test]
    fn own_memory_is_sealed_and_nobody_elses() {
        let segment = Segment::create(LEN).unwrap();
        let seals = rustix::fs::fcntl_get_seals(segment.fd().unwrap()).unwrap();
        assert!(seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL));
        let file = rustix::fs::fstat(segment.fd().unwrap()).unwrap();
        assert_eq!(file.st_mode & 0o777, 0o600);
        let flags = rustix::io::fcntl_getfd(segment.fd().unwrap()).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}
