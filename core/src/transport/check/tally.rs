//! Tells `nvshmemrs-run --check` whether the checker ran and how much it found, also by PEs that do not get as far as finalize: a
//! file without a name, to whose end every PE adds a byte when it joins and one for each finding.

use super::write;
use crate::{Error, Pe, Result, config};
use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

/// The setting with the descriptor's number and what to recognise the file by: "7:1:4711" (device and inode).
const SETTING: &str = "NVSHMEMRS_CHECK_FD";

/// What is added to the file.
const JOINED: &[u8] = b"j";
const FOUND: &[u8] = b"f";

/// Where findings are counted for the launcher, if one asked for it.
#[derive(Debug)]
pub(crate) struct Tally(Option<File>);

impl Tally {
    /// The launcher's file, in which PE `me` now counts as joined. Where something between the launcher and the program has closed the
    /// descriptor, the checker works without it and says so.
    pub(crate) fn from_environment(me: Pe) -> Result<Tally> {
        let Some(text) = config::set(SETTING) else {
            return Ok(Tally(None));
        };
        let Some((number, file)) = parse(&text) else {
            return Err(Error::invalid(
                SETTING,
                format!("\"{text}\""),
                "what nvshmemrs-run --check sets: a descriptor, a device and an inode, as in 7:1:4711",
            ));
        };
        let tally = Tally(open(number, file));
        match tally.0 {
            Some(_) => tally.note(JOINED),
            None => write(&format!(
                "nvshmemrs check: PE {me}: nvshmemrs-run will not count what this PE finds: whoever started the program has closed descriptor {number}\n"
            )),
        }
        Ok(tally)
    }

    /// Counts a finding.
    pub(crate) fn add(&self) {
        self.note(FOUND);
    }

    fn note(&self, what: &[u8]) {
        if let Some(mut file) = self.0.as_ref() {
            // A launcher without memory for a byte has other sorrows; the report itself has been printed.
            let _ = file.write_all(what);
        }
    }
}

/// The descriptor, and the device and the inode of what it should be.
fn parse(text: &str) -> Option<(i32, (u64, u64))> {
    let (number, file) = text.split_once(':')?;
    let (device, inode) = file.split_once(':')?;
    let number = number.parse().ok().filter(|number| *number >= 0)?;
    Some((number, (device.parse().ok()?, inode.parse().ok()?)))
}

/// Opens the file anew, at its end. Programs that this PE starts do not get the launcher's descriptor any more.
fn open(number: i32, expected: (u64, u64)) -> Option<File> {
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
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
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
        let tally = Tally(open(number, place));
        tally.note(JOINED);
        tally.add();
        tally.add();
        let mut text = [0; 8];
        assert_eq!(file.read_at(&mut text, 0).expect("its text"), 3);
        assert_eq!(&text[..3], b"jff");
        let flags = rustix::io::fcntl_getfd(&file).expect("its flags");
        assert!(flags.contains(FdFlags::CLOEXEC));
        // No process has so many.
        assert!(open(i32::MAX, place).is_none());
    }
}
