//! Tells `nvshmemrs-run --check` whether the checker ran, its findings and the accesses it could not watch, also for PEs that do not get as
//! far as finalize: a file without a name, to whose end every PE adds a record when it joins and one for each finding.
//!
//! A record is five numbers of 64 bits: its kind, and for a finding its [keys](super::report::Keys). It is written in one go. Behind a
//! finding's record comes a record with the number of bytes of JSON that follow, and these bytes, up to a multiple of a record's length.

use super::report::Keys;
use super::write;
use crate::job::descriptor::Descriptor;
use crate::{Error, Pe, Result, config};
use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The setting with the descriptor's number, and the device and inode of the file: "7:1:4711".
const SETTING: &str = "NVSHMEMRS_CHECK_FD";

/// Kinds of entries in the file. The launcher knows the same numbers.
const JOINED: u64 = 1;
const FOUND: u64 = 2;
const TEXT: u64 = 7;

/// A property of a program that is sent to the launcher once, whose closing line says which accesses were not watched. The numbers go to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The program reports loads and stores of its own.
    Accesses = 3,
    /// It has symmetric memory that a line of Python has allocated.
    PythonArrays = 4,
    /// It has streams.
    Streams = 5,
    /// It has passed symmetric memory to a library that reports no accesses.
    HandedOut = 6,
    /// Its heap is memory of GPUs.
    Gpus = 8,
    /// It has kernels that record their operations.
    Kernels = 9,
}

/// Where findings are counted for the launcher, if one asked for it.
#[derive(Debug)]
pub(crate) struct Tally {
    file: Option<Descriptor>,
    /// The facts that have been told: bits.
    noted: AtomicU64,
}

impl Tally {
    /// The launcher's file, in which PE `me` now counts as joined. Where something between the launcher and the program has closed the
    /// descriptor, the checker works without it and says so.
    pub(crate) fn from_environment(me: Pe) -> Result<Tally> {
        let Some(text) = config::set(SETTING) else {
            return Ok(Tally::to(None));
        };
        let Some((number, file)) = parse(&text) else {
            return Err(Error::invalid(
                SETTING,
                format!("\"{text}\""),
                "the value that nvshmemrs-run --check sets: a descriptor, a device and an inode, as in 7:1:4711",
            ));
        };
        let tally = Tally::to(open(number, file));
        match tally.file {
            Some(_) => tally.note(JOINED, [0; 4]),
            None => write(&format!(
                "nvshmemrs check: PE {me}: nvshmemrs-run will not count the findings of this PE: the process that started the program has closed descriptor {number}\n"
            )),
        }
        Ok(tally)
    }

    pub(crate) fn to(file: Option<Descriptor>) -> Tally {
        Tally {
            file,
            noted: AtomicU64::new(0),
        }
    }

    /// Counts a finding, which `json` describes.
    pub(crate) fn add(&self, keys: Keys, json: &str) {
        self.note(FOUND, keys);
        let mut record = bytemuck::bytes_of(&[TEXT, json.len() as u64, 0, 0, 0]).to_vec();
        record.extend(json.bytes());
        record.resize(record.len().next_multiple_of(40), 0);
        self.write(&record);
    }

    /// Tells of something, the first time.
    #[inline]
    pub(crate) fn note_once(&self, seen: Seen) {
        let bit = 1 << seen as u64;
        if self.noted.load(Relaxed) & bit == 0 && self.noted.fetch_or(bit, Relaxed) & bit == 0 {
            self.note(seen as u64, [0; 4]);
        }
    }

    fn note(&self, what: u64, [a, b, c, d]: Keys) {
        self.write(bytemuck::bytes_of(&[what, a, b, c, d]));
    }

    fn write(&self, record: &[u8]) {
        if let Some(mut file) = self.file.as_ref().and_then(Descriptor::find) {
            // A launcher without memory for a record has other sorrows; the report itself has been printed.
            let _ = file.write_all(record);
        }
    }
}

/// The descriptor, and the expected device and inode of its file.
fn parse(text: &str) -> Option<(i32, (u64, u64))> {
    let (number, file) = text.split_once(':')?;
    let (device, inode) = file.split_once(':')?;
    let number = number.parse().ok().filter(|number| *number >= 0)?;
    Some((number, (device.parse().ok()?, inode.parse().ok()?)))
}

/// Opens the file anew, at its end. Programs that this PE starts do not get the launcher's descriptor any more.
fn open(number: i32, expected: (u64, u64)) -> Option<Descriptor> {
    let path = format!("/proc/self/fd/{number}");
    // First looked at, because opening something else could have effects, or wait.
    let seen = std::fs::metadata(&path).ok()?;
    if (seen.dev(), seen.ino()) != expected {
        return None;
    }
    let file = OpenOptions::new().append(true).open(&path).ok()?;
    // SAFETY: it is open (just seen), and borrowed for the one call only.
    let inherited = unsafe { BorrowedFd::borrow_raw(number) };
    // Else it stays as it was, which harms nobody.
    let _ = fcntl_setfd(inherited, FdFlags::CLOEXEC);
    Descriptor::new(file.into(), "the findings of the checker").ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::File;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn only_the_launchers_file_is_written_to() {
        let file = memfd_create("findings", MemfdFlags::empty()).expect("a file");
        let file = File::from(file);
        let seen = file.metadata().expect("its metadata");
        let (number, place) = (file.as_raw_fd(), (seen.dev(), seen.ino()));
        let text = format!("{number}:{}:{}", place.0, place.1);
        assert_eq!(parse(&text), Some((number, place)));
        for wrong in ["", "7", "7:1", "x:1:2", "7:1:x", "-1:1:2", "7:1:2:3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }

        assert!(open(number, (place.0, place.1 + 1)).is_none());
        let tally = Tally::to(open(number, place));
        tally.note(JOINED, [0; 4]);
        tally.add([9, 8, 7, 6], "{}");
        tally.note_once(Seen::Streams);
        tally.note_once(Seen::Streams);
        let mut text = [0_u64; 30];
        let bytes = bytemuck::bytes_of_mut(&mut text);
        assert_eq!(file.read_at(bytes, 0).expect("its text"), 200);
        assert_eq!(text[..5], [1, 0, 0, 0, 0]);
        assert_eq!(text[5..10], [2, 9, 8, 7, 6]);
        assert_eq!(text[10..15], [7, 2, 0, 0, 0]);
        assert_eq!(
            text[15..20],
            [u64::from_ne_bytes(*b"{}\0\0\0\0\0\0"), 0, 0, 0, 0]
        );
        assert_eq!(text[20..25], [5, 0, 0, 0, 0]);
        let flags = rustix::io::fcntl_getfd(&file).expect("its flags");
        assert!(flags.contains(FdFlags::CLOEXEC));
        // No process has so many.
        assert!(open(i32::MAX, place).is_none());
    }
}
