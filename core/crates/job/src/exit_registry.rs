//! The exit registry: `nvshmemrs-run` records there which PEs have ended. PEs cannot see the end of a PE that has not joined.
//!
//! It is a memfd of the launcher. A PE maps it at the begin of init, through the launcher's folder in /proc, which the setting names. The
//! mapping needs no descriptor and no /proc: it works in a program that becomes another user, changes its root, or closes or uses up
//! descriptors. A PE records there which other PE it has seen fail, so that the launcher knows the first failure, and whether it has joined
//! and finalized itself.
//!
//! ```text
//! 0     Magic, number of PEs, the PE that failed first (plus 1)
//! 16    for each PE: its process, how the process ended (0: it runs), the PE that it has seen fail (plus 1), its progress
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

/// The setting with the launcher's process, the descriptor there, and the file's device and inode: "12:7:1:4711".
const SETTING: &str = "NVSHMEMRS_LAUNCHER";
const NAME: &str = "nvshmemrs-exits";
const MAGIC: u64 = u64::from_le_bytes(*b"nvshRoll");

/// The offset of the first PE that failed, and bytes of the header and of each PE's entry.
const FIRST: u64 = 12;
const ENTRY: u64 = 16;
/// Offsets in an entry.
const PID: u64 = 0;
const END: u64 = 4;
const BLAMES: u64 = 8;
const PART: u64 = 12;
/// Added to the number of a signal.
const KILLED: u32 = 1 << 16;

/// How often a PE that has seen another PE end polls the registry until the launcher has recorded how.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

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

/// The progress of a PE in its job, as it has recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
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

/// The registry, as the launcher owns it.
#[derive(Debug)]
pub struct ExitRegistry {
    file: File,
    n_pes: u32,
}

impl ExitRegistry {
    /// The registry of a job of `n_pes` PEs that have not ended.
    pub fn new(n_pes: u32) -> Result<ExitRegistry> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let made = memfd_create(NAME, flags).and_then(|fd| {
            rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
            rustix::fs::ftruncate(&fd, length(n_pes))?;
            rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)?;
            Ok(File::from(fd))
        });
        let file = made.map_err(|error| Error::system("making the exit registry", error))?;
        let registry = ExitRegistry { file, n_pes };
        let head = [&MAGIC.to_le_bytes()[..], &n_pes.to_le_bytes()].concat();
        registry.write(&head, 0)?;
        Ok(registry)
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|error| Error::system("writing to the exit registry", error))
    }

    /// The variable by which PEs find it, and its value.
    pub fn setting(&self) -> Result<(&'static str, String)> {
        let seen = fstat(&self.file).map_err(|error| Error::system("fstat", error))?;
        let (pid, number) = (std::process::id(), self.file.as_raw_fd());
        let value = format!("{pid}:{number}:{}:{}", seen.st_dev, seen.st_ino);
        Ok((SETTING, value))
    }

    /// Records that PE `pe` has ended, whose process was `pid`.
    pub fn ended(&self, pe: u32, pid: u32, end: End) -> Result<()> {
        let at = entry(pe);
        self.write(&pid.to_le_bytes(), at + PID)?;
        self.write(&end.number().to_le_bytes(), at + END)?;
        if read(&self.file, FIRST) == Some(0) {
            let first = self.culprit(pe) + 1;
            self.write(&first.to_le_bytes(), FIRST)?;
        }
        Ok(())
    }

    /// The progress that PE `pe` has recorded.
    pub fn part(&self, pe: u32) -> Progress {
        match read(&self.file, entry(pe) + PART) {
            Some(1) => Progress::Joined,
            Some(2) => Progress::Finalized,
            _ => Progress::Outside,
        }
    }

    /// The PE whose failure led to that of `pe`, as the PEs have recorded it; otherwise `pe`.
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

/// The PE that failed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstFailure {
    pub pe: Pe,
    pid: u32,
    end: Option<End>,
}

impl fmt::Display for FirstFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {}", self.pe)?;
        match self.end {
            Some(end) => write!(f, " (pid {}) {end}", self.pid)?,
            None => f.write_str(" ended")?,
        }
        f.write_str(" before the job had come together")
    }
}

/// The registry, as a PE reads it.
#[derive(Clone, Debug)]
pub struct RegistryReader {
    path: String,
    /// Device and inode.
    file: (u64, u64),
    /// Mapped by the first access that can. In another pid namespace none can, and without a free descriptor none can yet.
    registry: OnceLock<Arc<Segment>>,
    me: Pe,
    n_pes: Pe,
}

impl RegistryReader {
    /// The registry of this process's launcher, if it has one.
    pub fn from_environment(me: Pe, n_pes: Pe) -> Result<Option<RegistryReader>> {
        let Some(text) = config::set(SETTING) else {
            return Ok(None);
        };
        let Some((path, file)) = parse(&text) else {
            return Err(Error::invalid(
                SETTING,
                format!("\"{text}\""),
                "the value that nvshmemrs-run sets: a process, a descriptor, a device and an inode, as in 12:7:1:4711",
            ));
        };
        let word = RegistryReader {
            path,
            file,
            registry: OnceLock::new(),
            me,
            n_pes,
        };
        // At once, before the program becomes another user.
        let _ = word.registry();
        Ok(Some(word))
    }

    /// Whether the launcher is in the network namespace of this process; none if the kernel does not say.
    pub fn shares_network(&self) -> Option<bool> {
        let process = Path::new(&self.path).ancestors().nth(2)?;
        let number = |process: &Path| std::fs::metadata(process.join("ns/net")).ok();
        let (theirs, ours) = (number(process)?, number(Path::new("/proc/self"))?);
        Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
    }

    fn registry(&self) -> Option<&Segment> {
        if self.registry.get().is_none() {
            let mapped = open(&self.path, self.file, self.n_pes as u32)?;
            // Another thread may have been faster.
            let _ = self.registry.set(Arc::new(mapped));
        }
        self.registry.get().map(Arc::as_ref)
    }

    fn read(&self, at: u64) -> Option<u32> {
        let number: &Number = self.registry()?.view(at);
        Some(u32::from_le(number.0.load(Acquire)))
    }

    /// The PE that failed first, if the launcher knows of one.
    pub fn first_failure(&self) -> Option<FirstFailure> {
        let pe = pe_of(self.read(FIRST)?, self.n_pes as u32)?;
        // The launcher has lost sight of this process, which lives.
        if pe as Pe == self.me {
            return None;
        }
        let at = entry(pe);
        Some(FirstFailure {
            pe: pe as Pe,
            pid: self.read(at + PID)?,
            end: End::from_number(self.read(at + END)?),
        })
    }

    /// As [`first_failure`](RegistryReader::first_failure), by a PE that has seen another PE end: the launcher may learn of it a little later.
    pub fn await_first_failure(&self, time: Duration) -> Option<FirstFailure> {
        let until = Instant::now() + time;
        loop {
            match self.first_failure() {
                None if Instant::now() < until => std::thread::sleep(RETRY_INTERVAL),
                found => return found,
            }
        }
    }

    /// Records that this PE has seen `pe` fail. If it cannot, the launcher goes by the order of the exits.
    pub fn blame(&self, pe: Pe) {
        self.record(BLAMES, pe as u32 + 1);
    }

    /// Records the progress of this PE. If it cannot, the launcher does not report a missing finalize.
    pub fn set_part(&self, part: Progress) {
        self.record(PART, part as u32);
    }

    fn record(&self, at: u64, number: u32) {
        if let Some(registry) = self.registry() {
            let place: &Number = registry.view(entry(self.me as u32) + at);
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

/// The path, and the device and the inode of the expected file.
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

    /// The path of a registry, and the file that must be there.
    fn place(registry: &ExitRegistry) -> (String, (u64, u64)) {
        let (name, value) = registry.setting().unwrap();
        assert_eq!(name, SETTING);
        parse(&value).unwrap()
    }

    fn reader(registry: &ExitRegistry, me: Pe) -> RegistryReader {
        let (path, file) = place(registry);
        RegistryReader {
            path,
            file,
            registry: OnceLock::new(),
            me,
            n_pes: registry.n_pes as Pe,
        }
    }

    #[test]
    fn the_first_end_is_told_to_the_others() {
        let registry = ExitRegistry::new(3).unwrap();
        let (one, two) = (reader(&registry, 1), reader(&registry, 2));
        assert_eq!(one.first_failure(), None);
        registry.ended(2, 77, End::Killed(9)).unwrap();
        registry.ended(0, 78, End::Exited(18)).unwrap();
        let told = one.first_failure().unwrap();
        assert_eq!(told.pe, 2);
        assert!(
            told.to_string()
                .starts_with("PE 2 (pid 77) was killed by signal 9"),
            "{told}"
        );
        assert_eq!(two.first_failure(), None, "it lives");
        for number in [0, 258, KILLED + 256, u32::MAX] {
            assert_eq!(End::from_number(number), None, "{number}");
        }
        for end in [End::Exited(0), End::Exited(255), End::Killed(9)] {
            assert_eq!(End::from_number(end.number()), Some(end));
        }
    }

    #[test]
    fn who_was_first_is_what_the_pes_have_seen() {
        let registry = ExitRegistry::new(4).unwrap();
        reader(&registry, 3).blame(0);
        reader(&registry, 0).blame(1);
        assert_eq!(registry.culprit(3), 1);
        assert_eq!(registry.culprit(2), 2);
        registry.ended(3, 80, End::Exited(18)).unwrap();
        let told = reader(&registry, 2).first_failure().unwrap();
        assert_eq!(
            told.to_string(),
            "PE 1 ended before the job had come together"
        );
        // There is an answer for any contents.
        reader(&registry, 1).blame(3);
        assert_eq!(registry.culprit(3), 3);
        reader(&registry, 1).blame(1000);
        assert_eq!(registry.culprit(3), 1);
    }

    #[test]
    fn how_far_a_pe_is_is_what_it_has_said() {
        let registry = ExitRegistry::new(2).unwrap();
        let one = reader(&registry, 1);
        assert_eq!(registry.part(1), Progress::Outside);
        for part in [Progress::Joined, Progress::Finalized, Progress::Joined] {
            one.set_part(part);
            assert_eq!(registry.part(1), part);
        }
        one.blame(0);
        assert_eq!(
            (registry.part(1), registry.part(0)),
            (Progress::Joined, Progress::Outside)
        );
    }

    #[test]
    fn only_the_launchers_file_is_looked_at() {
        let registry = ExitRegistry::new(2).unwrap();
        registry.ended(1, 77, End::Exited(0)).unwrap();
        assert!(reader(&registry, 0).first_failure().is_some());
        let (path, (device, inode)) = place(&registry);
        assert!(open(&path, (device, inode + 1), 2).is_none());
        assert!(open("/proc/self/fd/1000000", (device, inode), 2).is_none());
        assert!(open(&path, (device, inode), 3).is_none());
        let none = RegistryReader {
            path: "/proc/self/fd/1000000".into(),
            ..reader(&registry, 0)
        };
        none.set_part(Progress::Joined);
        assert_eq!(none.first_failure(), None);
        assert_eq!(registry.part(0), Progress::Outside);
        for text in ["", "1", "1:2:3", "1:2:3:4:5", "1:2:3:x", "-1:2:3:4"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
