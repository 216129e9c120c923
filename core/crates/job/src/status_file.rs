//! The status file of a PE: a text in a memfd, which the PE's watchdog writes on request.
//!
//! An observer of the job wakes the watchdog ([`shared_words::wake_watchdog`]) and reads the file through /proc/PID/fd, as the board is
//! read. So only the PE writes, and a PE without observers has no such file. The text has no secret; only the PE's user can open the file.
//!
//! The file begins with six words: a magic number, a version that is odd during a write, the time of the write, the length of the text, the
//! job and the PE. A reader that finds the same even version before and after has read a whole text.

use super::descriptor::{Descriptor, leads_to};
use super::segment::Segment;
use super::shared_words;
use crate::block::Control;
use crate::clock::now_ns;
use crate::{Error, Pe, Result};
use rustix::fs::{MemfdFlags, Mode, fstat, memfd_create};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// The file's name, as /proc/PID/fd shows it.
pub const NAME: &str = "nvshmemrs-answer";
const MAGIC: u64 = u64::from_le_bytes(*b"nvshAns\x01");
const WORDS: usize = 6;
const HEADER: u64 = 8 * WORDS as u64;
/// The longest text that a reader accepts.
const LONGEST: u64 = 64 << 20;
/// How often a reader retries during a write.
const TRIES: usize = 20;

/// A number that identifies a job's memory.
pub fn job_number(segment: &Segment) -> u64 {
    let file = segment.find_fd().ok().and_then(leads_to);
    file.map_or(0, |(_, inode)| inode)
}

/// The first words of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    version: u64,
    /// On the monotonic clock in ns.
    when: u64,
    bytes: u64,
    job: u64,
    pe: u64,
}

impl Head {
    fn words(&self) -> [u8; HEADER as usize] {
        let words = [
            MAGIC,
            self.version,
            self.when,
            self.bytes,
            self.job,
            self.pe,
        ];
        bytemuck::cast(words.map(u64::to_le_bytes))
    }

    fn read(file: &File) -> Option<Head> {
        let mut bytes = [0; HEADER as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let words: [[u8; 8]; WORDS] = bytemuck::cast(bytes);
        let [magic, version, when, bytes, job, pe] = words.map(u64::from_le_bytes);
        (magic == MAGIC && bytes <= LONGEST).then_some(Head {
            version,
            when,
            bytes,
            job,
            pe,
        })
    }
}

/// The PE's side.
#[derive(Debug)]
pub struct StatusFile {
    file: Descriptor,
    head: Head,
}

impl StatusFile {
    /// An empty file of PE `me`.
    pub fn new(control: &Control, me: Pe) -> Result<StatusFile> {
        let made = memfd_create(NAME, MemfdFlags::CLOEXEC).and_then(|fd: OwnedFd| {
            rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
            // Where a standard stream is closed, the program's output would go there.
            match fd.as_raw_fd() {
                0..=2 => rustix::io::fcntl_dupfd_cloexec(&fd, 3),
                _ => Ok(fd),
            }
        });
        let fd = made.map_err(|error| Error::system("making the file of a PE's answer", error))?;
        Ok(StatusFile {
            file: Descriptor::new(fd, "the answers of this PE")?,
            head: Head {
                version: 0,
                when: 0,
                bytes: 0,
                job: job_number(control.segment()),
                pe: me as u64,
            },
        })
    }

    /// Whether the descriptor still refers to the file: a program may have closed all descriptors that it does not know.
    pub fn is_there(&self) -> bool {
        let stands = |file| self.head.version == 0 || Head::read(file) == Some(self.head);
        self.file.find().is_some_and(stands)
    }

    /// Replaces the text.
    pub fn write(&mut self, text: &[u8]) -> std::io::Result<()> {
        let file = self.file.find().ok_or(rustix::io::Errno::BADF)?;
        let new = Head {
            version: self.head.version + 2,
            when: now_ns(),
            bytes: text.len() as u64,
            ..self.head
        };
        let between = Head {
            version: new.version - 1,
            ..new
        };
        file.write_all_at(&between.words(), 0)?;
        file.write_all_at(text, HEADER)?;
        file.write_all_at(&new.words(), 0)?;
        self.head = new;
        Ok(())
    }
}

/// A reader's side: the answers of one PE.
#[derive(Debug)]
pub struct StatusReader {
    file: Descriptor,
}

impl StatusReader {
    /// The file of PE `pe` of a job among the files of process `pid`, if it has one.
    pub fn find(pid: u32, job: u64, pe: Pe) -> Option<StatusReader> {
        let me = rustix::process::geteuid().as_raw();
        let paths = super::process::memory_files(pid, NAME).ok()?;
        paths.into_iter().find_map(|path| {
            let file = File::open(path).ok()?;
            let owner = fstat(file.as_fd()).ok()?.st_uid;
            let head = Head::read(&file)?;
            let is_it = (head.job, head.pe) == (job, pe as u64) && (owner == me || me == 0);
            let file = Descriptor::new(file.into(), "the answers of a PE").ok()?;
            is_it.then_some(StatusReader { file })
        })
    }

    /// When the last whole text was written, on the monotonic clock in ns.
    pub fn when(&self) -> Option<u64> {
        let head = Head::read(self.file.find()?)?;
        (head.version != 0 && head.version.is_multiple_of(2)).then_some(head.when)
    }

    /// The last whole text, and when it was written.
    pub fn read(&self) -> Option<(u64, Vec<u8>)> {
        (0..TRIES).find_map(|_| {
            let head = Head::read(self.file.find()?)?;
            if head.version == 0 || !head.version.is_multiple_of(2) {
                std::thread::yield_now();
                return None;
            }
            let mut text = vec![0; head.bytes as usize];
            self.file.find()?.read_exact_at(&mut text, HEADER).ok()?;
            (Head::read(self.file.find()?)? == head).then_some((head.when, text))
        })
    }
}

/// Requests a new answer of PE `pe`; returns whether its watchdog was woken.
pub fn ask(control: &Control, pe: Pe) -> bool {
    shared_words::wake_watchdog(control.pe(pe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_texts_are_read_and_others_are_not() {
        let control = Control::create(2, 2 << 20, Default::default(), None).unwrap();
        let job = job_number(control.segment());
        let mut status_file = StatusFile::new(&control, 1).unwrap();
        status_file.write(b"a long first text").unwrap();
        status_file.write(b"second").unwrap();
        assert!(status_file.is_there());
        let me = std::process::id();
        assert!(StatusReader::find(me, job, 0).is_none());
        assert!(StatusReader::find(me, job + 1, 1).is_none());
        let answers = StatusReader::find(me, job, 1).unwrap();
        let (when, text) = answers.read().unwrap();
        assert_eq!(text, b"second");
        assert_eq!(answers.when(), Some(when));
        assert!(when <= now_ns());
        // As it is while a text is being written, and where the length is nonsense.
        let head = status_file.head;
        for wrong in [
            Head {
                version: head.version + 1,
                ..head
            },
            Head {
                bytes: LONGEST + 1,
                ..head
            },
            Head {
                bytes: 1 << 20,
                ..head
            },
        ] {
            let file = status_file.file.get().unwrap();
            file.write_all_at(&wrong.words(), 0).unwrap();
            assert!(answers.read().is_none(), "{wrong:?}");
            assert!(!status_file.is_there());
        }
    }
}
