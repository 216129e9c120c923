//! The part of a PE: a file of [records](super::record) that the PE maps.
//!
//! The file is extended with zeros before records are written to the new pages, because a page without a block on a full disk would end the
//! process with SIGBUS. On ext4 a written page costs half of a page that `fallocate` has reserved and a store touches first. The kernel keeps
//! written pages when the process is killed.
//!
//! The promise about full disks holds for file systems that write in place, such as ext4, xfs and tmpfs. Others, such as btrfs, may need
//! space again when a page that has a block is written.
//!
//! # Rules of this module
//!
//! 1. The mapping is [`LIMIT`] bytes long and lives as long as its [`Part`]. Words in it are accessed only below `ready`, where the file has
//!    blocks.
//! 2. All accesses are atomic: readers of the file may map it, too.

use super::clock::Clock;
use super::read::{HEADER, MAGIC, WORD, part_path};
use super::record::{RECORD, Record};
use crate::clock::now_ns;
use crate::job::signals::without_those_of;
use crate::{Error, Pe, Result};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The longest part: about 4 million records.
pub(super) const LIMIT: u64 = 256 << 20;
/// How much the file grows at a time.
const CHUNK: u64 = 256 << 10;
/// The clocks are read together once in this many records, and after a long call.
const READ_CLOCKS: u64 = 1024;
const LONG: u64 = 1 << 20;

/// How many parts this process has begun.
static PARTS: AtomicU64 = AtomicU64::new(0);

/// How many records a thread takes at a time.
const TAKEN: u64 = 16;

thread_local! {
    /// The part that this thread has written to, by its number, and the next record there.
    static NEXT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// The writer of a part.
#[derive(Debug)]
pub(super) struct Part {
    /// No other part of this process has it.
    pub(super) number: u64,
    base: *mut u8,
    file: File,
    clock: Clock,
    /// The bytes of the file that may be written.
    ready: AtomicU64,
    /// A chunk of zeros, for the thread that extends the file. Nothing writes to it, so that the kernel backs it by one page of zeros.
    zeros: Mutex<Vec<u8>>,
}

// SAFETY: rule 2.
unsafe impl Send for Part {}
// SAFETY: rule 2.
unsafe impl Sync for Part {}

impl Part {
    /// Creates the part of PE `pe` of `n_pes`, which runs on the host with number `host`.
    pub(super) fn create(path: &Path, pe: Pe, n_pes: Pe, host: u64, clock: Clock) -> Result<Part> {
        let path = part_path(path, pe);
        let failed = |error| Error::system("writing the trace", errno(&error));
        // A process that still maps an older file keeps it.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o644);
        let file = options.open(&path).map_err(failed)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                LIMIT as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        };
        let part = Part {
            number: PARTS.fetch_add(1, Relaxed) + 1,
            base: base
                .map_err(|error| Error::system("mapping the trace", error))?
                .cast(),
            file,
            clock,
            ready: AtomicU64::new(0),
            zeros: Mutex::new(vec![0; CHUNK as usize]),
        };
        part.grow(&crate::lock::lock(&part.zeros))
            .map_err(|error| {
                let _ = std::fs::remove_file(&path);
                failed(error)
            })?;
        let own = [
            (WORD.pe, pe as u64),
            (WORD.n_pes, n_pes as u64),
            (WORD.host, host),
            (WORD.pid, std::process::id().into()),
        ];
        for (index, value) in own {
            part.word(index).store(value, Relaxed);
        }
        part.word(WORD.real_ns).store(real_ns(), Relaxed);
        part.read_clocks(WORD.first);
        part.read_clocks(WORD.last);
        part.word(WORD.magic).store(MAGIC, Release);
        Ok(part)
    }

    /// A word of the file, by its number.
    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: rules 1 and 2: the callers pass words of the header, or of a record below `ready`.
        unsafe { AtomicU64::from_ptr(self.base.cast::<u64>().add(index)) }
    }

    /// Writes a record, unless there is no room.
    #[inline]
    pub(super) fn write(&self, record: &Record) {
        let index = self.next();
        let start = HEADER + index * RECORD as u64;
        if start + RECORD as u64 > self.ready.load(Acquire) && !self.extend(start) {
            return;
        }
        let first = start as usize / 8;
        let [begin, rest @ ..] = record.words();
        for (word, value) in (first + 1..).zip(rest) {
            self.word(word).store(value, Relaxed);
        }
        self.word(first).store(begin, Release);
        let long = record.end.wrapping_sub(record.begin) > LONG;
        if long || index.is_multiple_of(READ_CLOCKS) {
            self.read_clocks(WORD.last);
        }
    }

    /// The number of the next record of this thread: a thread takes several at a time, and leaves unneeded ones out.
    #[inline(always)]
    fn next(&self) -> u64 {
        let (part, mut next) = NEXT.get();
        if part != self.number || next.is_multiple_of(TAKEN) {
            next = self.word(WORD.records).fetch_add(TAKEN, Relaxed);
        }
        NEXT.set((self.number, next + 1));
        next
    }

    #[cold]
    #[inline(never)]
    fn read_clocks(&self, at: usize) {
        self.word(at).store(self.clock.now(), Relaxed);
        self.word(at + 1).store(now_ns(), Relaxed);
    }

    /// Makes room for a record at `start`; `false`: there is none, and the record counts as lost.
    #[cold]
    #[inline(never)]
    fn extend(&self, start: u64) -> bool {
        let end = start + RECORD as u64;
        let error = self.word(WORD.error);
        // After an error there is no second try: each would take a system call.
        if error.load(Relaxed) == 0 {
            let zeros = crate::lock::lock(&self.zeros);
            while end > self.ready.load(Relaxed) && error.load(Relaxed) == 0 {
                if let Err(failed) = self.grow(&zeros) {
                    error.store(errno(&failed).raw_os_error() as u64, Relaxed);
                }
            }
            if end <= self.ready.load(Relaxed) {
                return true;
            }
        }
        self.word(WORD.lost).fetch_add(1, Relaxed);
        false
    }

    /// Extends the file by `zeros`.
    fn grow(&self, zeros: &[u8]) -> std::io::Result<()> {
        let ready = self.ready.load(Relaxed);
        let end = ready + zeros.len() as u64;
        if end > LIMIT {
            return Err(Errno::FBIG.into());
        }
        without_those_of(|| self.file.write_all_at(zeros, ready))?;
        // SAFETY: rule 1: these bytes of the mapping have blocks now. Without the advice each page would fault by itself.
        let populated = unsafe {
            let start = self.base.add(ready as usize).cast();
            rustix::mm::madvise(start, zeros.len(), Advice::LinuxPopulateWrite)
        };
        // A store would raise SIGBUS. After other errors, such as that of a Linux before 5.14 (INVAL), the stores fault by themselves.
        if populated == Err(Errno::FAULT) {
            return Err(Errno::NOSPC.into());
        }
        self.ready.store(end, Release);
        Ok(())
    }

    /// The PE writes no further records.
    pub(super) fn close(&self) {
        self.read_clocks(WORD.last);
        self.word(WORD.closed).store(1, Release);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: rule 1: it was mapped with this length, and nothing refers to it any more.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), LIMIT as usize) };
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The time of day in ns.
fn real_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    // Less the monotonic clock: the difference stays, as long as nobody sets the time.
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).wrapping_sub(now_ns())
}

#[cfg(test)]
mod tests {
    use super::super::read::PartFile;
    use super::super::record::Kind;
    use super::*;

    /// Many threads write more than a chunk; the reader gets every record, also while the writer lives.
    #[test]
    fn what_threads_write_is_read() {
        let folder = std::env::temp_dir().join(format!("nvshmemrs-part-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("t.json");
        let part = Part::create(&path, 3, 4, 1, Clock::new()).unwrap();
        let each = CHUNK / RECORD as u64;
        std::thread::scope(|scope| {
            for thread in 0..3_u32 {
                let part = &part;
                scope.spawn(move || {
                    for value in 0..each {
                        part.write(&Record {
                            begin: 5,
                            end: 6,
                            value,
                            thread,
                            kind: Kind::Call as u8,
                            ..Record::default()
                        });
                    }
                });
            }
        });
        for record in Record::of_name(Kind::SiteName, 7, &"name ".repeat(20)) {
            part.write(&record);
        }
        let read = PartFile::read(&part_path(&path, 3)).unwrap();
        assert_eq!((read.pe, read.n_pes, read.host), (3, 4, 1));
        assert!(!read.closed && read.lost == 0);
        for thread in 0..3 {
            let own = read.records.iter().filter(|one| one.thread == thread);
            let values: Vec<u64> = own.map(|one| one.value).collect();
            assert!(values.iter().copied().eq(0..each), "{}", values.len());
        }
        assert_eq!(read.sites[&7], "name ".repeat(20));
        part.close();
        assert!(PartFile::read(&part_path(&path, 3)).unwrap().closed);
        drop(part);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
