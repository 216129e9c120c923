//! The roll: what `nvshmemrs-run` tells its PEs that they cannot see themselves, namely that a PE has ended which has not joined.
//!
//! It is a file without a name that the launcher has open. A PE finds it through the launcher's folder in /proc, as the setting says, when
//! it begins to join, and maps it. The mapping needs no descriptor and no /proc: a program that becomes another user, changes its root, or
//! closes or uses up descriptors can still tell. A PE notes there which other one it has seen go wrong, so that the launcher knows who was
//! first, and whether it has joined and finalized.
//!
//! ```text
//! 0     Magic, number of PEs, the PE that went wrong first (plus 1)
//! 16    for each PE: its process, how that ended (0: it has not), the PE that it has seen go wrong (plus 1), how far it is
//! ```

use super::segment::{AllAtomic, Segment};
use crate::{Error, Pe, Result, config};
use rustix::fs::{MemfdFlags, Mode, SealFlags, fstat, memfd_create};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The setting with the launcher's process, the descriptor there, and what to recognise the file by: "12:7:1:4711" (device, inode).
const SETTING: &str = "NVSHMEMRS_LAUNCHER";
const NAME: &str = "nvshmemrs-roll";
const MAGIC: u64 = u64::from_le_bytes(*b"nvshRoll");

/// Where the first PE that went wrong is, and bytes of the header and of each PE's entry.
const FIRST: u64 = 12;
const ENTRY: u64 = 16;
/// Where in an entry.
const PID: u64 = 0;
const HOW: u64 = 4;
const BLAMES: u64 = 8;
const PART: u64 = 12;
/// What is added to the number of a signal.
const KILLED: u32 = 1 << 16;

/// How often a PE asks that knows of another one's end, before the launcher may know how it ended.
const AGAIN: Duration = Duration::from_millis(10);

/// How a PE's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exited(u8),
    /// This signal killed it.
    Killed(u8),
}

impl End {
    fn number(self) -> u32 {
        match self {
            End::Exited(status) => 1 + u32::from(status),
            End::Killed(signal) => KILLED + u32::from(signal),
        }
    }

    fn from_number(number: u32) -> Option<End> {
        match number.checked_sub(KILLED) {
            Some(signal) => Some(End::Killed(u8::try_from(signal).ok()?)),
            None => Some(End::Exited(u8::try_from(number.checked_sub(1)?).ok()?)),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(f, "exited with status {status}"),
            End::Killed(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

/// How far a PE is in its job, as it has said itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It has not joined.
    Outside,
    /// It has joined, and not finalized.
    Joined,
    /// It has called finalize.
    Finalized,
}

fn entry(pe: u32) -> u64 {
    ENTRY * (1 + u64::from(pe))
}

/// The length of the file: whole pages.
fn length(n_pes: u32) -> u64 {
    entry(n_pes).next_multiple_of(rustix::param::page_size() as u64)
}

/// A number of the file, little-endian.
#[repr(C)]
struct Number(AtomicU32);

// SAFETY: one atomic, valid with every bit pattern.
unsafe impl AllAtomic for Number {}

fn read(file: &File, at: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// A PE's number, which is written plus 1.
fn pe_of(number: u32, n_pes: u32) -> Option<u32> {
    number.checked_sub(1).filter(|&pe| pe < n_pes)
}

/// The launcher's side.
#[derive(Debug)]
pub struct Roll {
    file: File,
    n_pes: u32,
}

impl Roll {
    /// The roll of a job of `n_pes` PEs that have not ended.
    pub fn new(n_pes: u32) -> Result<Roll> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let made = memfd_create(NAME, flags).and_then(|fd| {
            rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
            rustix::fs::ftruncate(&fd, length(n_pes))?;
            rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)?;
            Ok(File::from(fd))
        });
        let file = made.map_err(|error| Error::system("making the roll of the PEs", error))?;
        let roll = Roll { file, n_pes };
        let head = [&MAGIC.to_le_bytes()[..], &n_pes.to_le_bytes()].concat();
        roll.write(&head, 0)?;
        Ok(roll)
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|error| Error::system("writing to the roll of the PEs", error))
    }

    /// The variable that tells the PEs of it, and its value.
    pub fn setting(&self) -> Result<(&'static str, String)> {
        let seen = fstat(&self.file).map_err(|error| Error::system("fstat", error))?;
        let (pid, number) = (std::process::id(), self.file.as_raw_fd());
        let value = format!("{pid}:{number}:{}:{}", seen.st_dev, seen.st_ino);
        Ok((SETTING, value))
    }

    /// Takes note that nothing is left of PE `pe`, whose process was `pid`.
    pub fn ended(&self, pe: u32, pid: u32, end: End) -> Result<()> {
        let at = entry(pe);
        self.write(&pid.to_le_bytes(), at + PID)?;
        self.write(&end.number().to_le_bytes(), at + HOW)?;
        if read(&self.file, FIRST) == Some(0) {
            let first = self.culprit(pe) + 1;
            self.write(&first.to_le_bytes(), FIRST)?;
        }
        Ok(())
    }

    /// How far PE `pe` has said that it is.
    pub fn part(&self, pe: u32) -> Part {
        match read(&self.file, entry(pe) + PART) {
            Some(1) => Part::Joined,
            Some(2) => Part::Finalized,
            _ => Part::Outside,
        }
    }

    /// The PE that went wrong before `pe` did, as far as the PEs have said; otherwise `pe`.
    pub fn culprit(&self, pe: u32) -> u32 {
        let blames = |pe| pe_of(read(&self.file, entry(pe) + BLAMES)?, self.n_pes);
        let mut culprit = pe;
        // Each may blame the next one; nobody twice.
        for _ in 0..self.n_pes {
            match blames(culprit) {
                Some(next) if next != culprit => culprit = next,
                _ => return culprit,
            }
        }
        pe
    }
}

/// A PE that went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) pe: Pe,
    pid: u32,
    end: Option<End>,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {}", self.pe)?;
        match self.end {
            Some(end) => write!(f, " (pid {}) {end}", self.pid)?,
            None => f.write_str(" ended")?,
        }
        f.write_str(" before the job had come together")
    }
}

/// A PE's side.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    path: String,
    /// Device and inode.
    file: (u64, u64),
    /// Mapped by the first look that sees it. From another pid namespace none does, and without a free descriptor none does yet.
    roll: OnceLock<Arc<Segment>>,
    me: Pe,
    n_pes: Pe,
}

impl Word {
    /// Where the launcher of this process says how its PEs have ended, if it does.
    pub(crate) fn from_environment(me: Pe, n_pes: Pe) -> Result<Option<Word>> {
        let Some(text) = config::set(SETTING) else {
            return Ok(None);
        };
        let Some((path, file)) = parse(&text) else {
            return Err(Error::invalid(
                SETTING,
                format!("\"{text}\""),
                "what nvshmemrs-run sets: a process, a descriptor, a device and an inode, as in 12:7:1:4711",
            ));
        };
        let word = Word {
            path,
            file,
            roll: OnceLock::new(),
            me,
            n_pes,
        };
        // At once, before the program becomes another user.
        let _ = word.roll();
        Ok(Some(word))
    }

    /// Whether the launcher is in the network namespace of this process; none if the kernel does not say.
    pub(crate) fn shares_network(&self) -> Option<bool> {
        let process = Path::new(&self.path).ancestors().nth(2)?;
        let number = |process: &Path| std::fs::metadata(process.join("ns/net")).ok();
        let (theirs, ours) = (number(process)?, number(Path::new("/proc/self"))?);
        Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
    }

    fn roll(&self) -> Option<&Segment> {
        if self.roll.get().is_none() {
            let mapped = open(&self.path, self.file, self.n_pes as u32)?;
            // Another thread may have been faster.
            let _ = self.roll.set(Arc::new(mapped));
        }
        self.roll.get().map(Arc::as_ref)
    }

    fn read(&self, at: u64) -> Option<u32> {
        let number: &Number = self.roll()?.view(at);
        Some(u32::from_le(number.0.load(Acquire)))
    }

    /// The PE that went wrong first, if the launcher knows of one.
    pub(crate) fn first(&self) -> Option<Gone> {
        let pe = pe_of(self.read(FIRST)?, self.n_pes as u32)?;
        // The launcher has lost sight of this process, which lives.
        if pe as Pe == self.me {
            return None;
        }
        let at = entry(pe);
        Some(Gone {
            pe: pe as Pe,
            pid: self.read(at + PID)?,
            end: End::from_number(self.read(at + HOW)?),
        })
    }

    /// As [`first`](Word::first), by a PE that has seen that one is gone: the launcher may learn of it a little later.
    pub(crate) fn first_within(&self, time: Duration) -> Option<Gone> {
        let until = Instant::now() + time;
        loop {
            match self.first() {
                None if Instant::now() < until => std::thread::sleep(AGAIN),
                found => return found,
            }
        }
    }

    /// Notes that this PE has seen `pe` go wrong. If it cannot, the launcher goes by the order of the ends.
    pub(crate) fn blame(&self, pe: Pe) {
        self.note(BLAMES, pe as u32 + 1);
    }

    /// Notes how far this PE is. If it cannot, the launcher does not tell that it has not finalized.
    pub(crate) fn take_part(&self, part: Part) {
        self.note(PART, part as u32);
    }

    fn note(&self, at: u64, number: u32) {
        if let Some(roll) = self.roll() {
            let place: &Number = roll.view(entry(self.me as u32) + at);
            place.0.store(number.to_le(), Release);
        }
    }
}

/// Maps the launcher's file, if it can be seen from here.
fn open(path: &str, file: (u64, u64), n_pes: u32) -> Option<Segment> {
    // First looked at, because opening something else could have effects, or wait.
    let seen = std::fs::metadata(path).ok()?;
    if (seen.dev(), seen.ino()) != file {
        return None;
    }
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let mut head = [0; 8];
    file.read_exact_at(&mut head, 0).ok()?;
    if head != MAGIC.to_le_bytes() || read(&file, 8)? != n_pes {
        return None;
    }
    let segment = Segment::open(file.into(), length(n_pes)).ok()?;
    Some(segment.mapped_only())
}

/// The path, and the device and the inode of what it should be.
fn parse(text: &str) -> Option<(String, (u64, u64))> {
    let numbers: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
    match numbers?[..] {
        [pid, fd, device, inode] => Some((format!("/proc/{pid}/fd/{fd}"), (device, inode))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a roll is, and the file that must be there.
    fn place(roll: &Roll) -> (String, (u64, u64)) {
        let (name, value) = roll.setting().unwrap();
        assert_eq!(name, SETTING);
        parse(&value).unwrap()
    }

    fn word(roll: &Roll, me: Pe) -> Word {
        let (path, file) = place(roll);
        Word {
            path,
            file,
            roll: OnceLock::new(),
            me,
            n_pes: roll.n_pes as Pe,
        }
    }

    #[test]
    fn the_first_end_is_told_to_the_others() {
        let roll = Roll::new(3).unwrap();
        let (one, two) = (word(&roll, 1), word(&roll, 2));
        assert_eq!(one.first(), None);
        roll.ended(2, 77, End::Killed(9)).unwrap();
        roll.ended(0, 78, End::Exited(18)).unwrap();
        let told = one.first().unwrap();
        assert_eq!(told.pe, 2);
        assert!(
            told.to_string()
                .starts_with("PE 2 (pid 77) was killed by signal 9"),
            "{told}"
        );
        assert_eq!(two.first(), None, "it lives");
        for number in [0, 258, KILLED + 256, u32::MAX] {
            assert_eq!(End::from_number(number), None, "{number}");
        }
        for end in [End::Exited(0), End::Exited(255), End::Killed(9)] {
            assert_eq!(End::from_number(end.number()), Some(end));
        }
    }

    #[test]
    fn who_was_first_is_what_the_pes_have_seen() {
        let roll = Roll::new(4).unwrap();
        word(&roll, 3).blame(0);
        word(&roll, 0).blame(1);
        assert_eq!(roll.culprit(3), 1);
        assert_eq!(roll.culprit(2), 2);
        roll.ended(3, 80, End::Exited(18)).unwrap();
        let told = word(&roll, 2).first().unwrap();
        assert_eq!(
            told.to_string(),
            "PE 1 ended before the job had come together"
        );
        // Whatever they say, there is an answer.
        word(&roll, 1).blame(3);
        assert_eq!(roll.culprit(3), 3);
        word(&roll, 1).blame(1000);
        assert_eq!(roll.culprit(3), 1);
    }

    #[test]
    fn how_far_a_pe_is_is_what_it_has_said() {
        let roll = Roll::new(2).unwrap();
        let one = word(&roll, 1);
        assert_eq!(roll.part(1), Part::Outside);
        for part in [Part::Joined, Part::Finalized, Part::Joined] {
            one.take_part(part);
            assert_eq!(roll.part(1), part);
        }
        one.blame(0);
        assert_eq!((roll.part(1), roll.part(0)), (Part::Joined, Part::Outside));
    }

    #[test]
    fn only_the_launchers_file_is_looked_at() {
        let roll = Roll::new(2).unwrap();
        roll.ended(1, 77, End::Exited(0)).unwrap();
        assert!(word(&roll, 0).first().is_some());
        let (path, (device, inode)) = place(&roll);
        assert!(open(&path, (device, inode + 1), 2).is_none());
        assert!(open("/proc/self/fd/1000000", (device, inode), 2).is_none());
        assert!(open(&path, (device, inode), 3).is_none());
        let none = Word {
            path: "/proc/self/fd/1000000".into(),
            ..word(&roll, 0)
        };
        none.take_part(Part::Joined);
        assert_eq!(none.first(), None);
        assert_eq!(roll.part(0), Part::Outside);
        for text in ["", "1", "1:2:3", "1:2:3:4:5", "1:2:3:x", "-1:2:3:4"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
