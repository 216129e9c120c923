//! The status of a PE in init, before there is a board: a memfd that exists from the start of init until the PE waits on the board.
//! `board::InitStatus` reads it through /proc/PID/fd, as the board is read. It holds no secret: the name of the socket is visible to every
//! user of the host.
//!
//! It is text, so that its reader need not trust the writer: a field per line, with the version number first and last. The two differ in a
//! text that was read during a write.

use super::descriptor::Descriptor;
use crate::clock::now_ns;
use crate::{Error, Pe, Result};
use rustix::fs::{MemfdFlags, Mode, SealFlags};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// The file's name, as /proc/PID/fd shows it.
pub const NAME: &str = "nvshmemrs-forming";
/// The file's length.
pub const BYTES: usize = 8192;
/// The first word.
pub const VERSION: &str = "nvshmemrs-forming-1";
/// The longest note, in bytes.
const NOTE: usize = 2000;

/// The progress of a PE in init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has not begun to connect.
    Start,
    /// PE 0 listens, and the others connect.
    Gather,
    /// All others have connected to PE 0, and map the job's memory.
    Map,
    /// Another PE tries to connect to PE 0.
    Search,
    /// It is connected to the process at PE 0's socket, which has sent nothing yet.
    Connected,
    /// PE 0 has accepted it.
    Arrived,
    /// It has mapped the job's memory, and waits for the others.
    Mapped,
    /// All have mapped it, and allocate memory of GPUs.
    Share,
}

impl Step {
    const ALL: [(Step, &str); 8] = [
        (Step::Start, "start"),
        (Step::Gather, "gather"),
        (Step::Map, "map"),
        (Step::Search, "look"),
        (Step::Connected, "connected"),
        (Step::Arrived, "come"),
        (Step::Mapped, "mapped"),
        (Step::Share, "share"),
    ];

    fn word(self) -> &'static str {
        let mut all = Step::ALL.iter();
        all.find(|(step, _)| *step == self)
            .map_or("start", |(_, word)| word)
    }

    pub(crate) fn from_word(word: &str) -> Option<Step> {
        let mut all = Step::ALL.iter();
        all.find(|(_, name)| *name == word).map(|(step, _)| *step)
    }
}

/// The fields of an init status.
#[derive(Clone, Debug)]
pub struct InitStatusFields {
    pub pe: Pe,
    pub n_pes: Pe,
    /// The name of the socket.
    pub name: String,
    /// When init began and when it times out, on the monotonic clock in ns.
    pub since: u64,
    pub until: u64,
    pub step: Step,
    /// The process at PE 0's socket, in the PE's pid namespace; 0: none.
    pub leader: i32,
    /// The PEs that PE 0 waits for.
    pub missing: Vec<Pe>,
    /// Further text.
    pub note: String,
}

/// The init status of a PE.
#[derive(Debug)]
pub struct InitStatusFile {
    file: Descriptor,
    fields: RefCell<(u64, InitStatusFields)>,
}

impl InitStatusFile {
    /// The init status of PE `pe`, created at the start of init.
    pub fn new(name: &str, pe: Pe, n_pes: Pe, until: Instant) -> Result<InitStatusFile> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let made = rustix::fs::memfd_create(NAME, flags).and_then(|fd: OwnedFd| {
            rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
            rustix::fs::ftruncate(&fd, BYTES as u64)?;
            rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW)?;
            Ok(fd)
        });
        let fd = made.map_err(|error| Error::system("making the page of init", error))?;
        let file = Descriptor::new(fd, "the page of init")?;
        let since = now_ns();
        let left = until.saturating_duration_since(Instant::now());
        let fields = InitStatusFields {
            pe,
            n_pes,
            name: name.into(),
            since,
            until: since.saturating_add(left.as_nanos() as u64),
            step: Step::Start,
            leader: 0,
            missing: Vec::new(),
            note: String::new(),
        };
        let page = InitStatusFile {
            file,
            fields: RefCell::new((0, fields)),
        };
        page.update(|_| {});
        Ok(page)
    }

    /// Updates the fields.
    pub fn update(&self, update: impl FnOnce(&mut InitStatusFields)) {
        let mut fields = self.fields.borrow_mut();
        update(&mut fields.1);
        fields.0 += 1;
        let text = write(fields.0, &fields.1);
        // The page is for observers from outside: a failed write is no reason to give up.
        if let Some(file) = self.file.find() {
            let _ = file.write_all_at(text.as_bytes(), 0);
        }
    }

    /// Updates the step and the note, if they have changed.
    pub fn set_step(&self, step: Step, note: &str) {
        let same = {
            let fields = &self.fields.borrow().1;
            fields.step == step && fields.note == note
        };
        if !same {
            self.update(|fields| {
                fields.step = step;
                fields.note = note.into();
            });
        }
    }
}

fn write(version: u64, fields: &InitStatusFields) -> String {
    let mut missing = vec![0_u8; (fields.n_pes as usize).div_ceil(8)];
    for &pe in &fields.missing {
        missing[pe as usize / 8] |= 1 << (pe % 8);
    }
    let missing = missing.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let note: String = fields.note.chars().filter(|c| !c.is_control()).collect();
    let end = (0..=note.len().min(NOTE))
        .rev()
        .find(|&at| note.is_char_boundary(at));
    let note = &note[..end.unwrap_or(0)];
    let InitStatusFields {
        pe,
        n_pes,
        name,
        since,
        until,
        leader,
        ..
    } = fields;
    let step = fields.step.word();
    // The earlier text behind the new one does not count.
    format!(
        "{VERSION}\n{version}\n{pe}\n{n_pes}\n{name}\n{since}\n{until}\n{step}\n{leader}\n{missing}\n{note}\n{version}\n\0"
    )
}

/// Parses an init status; none if it is malformed, or was read during a write.
pub fn read(page: &[u8]) -> Option<InitStatusFields> {
    let text = std::str::from_utf8(page.split(|byte| *byte == 0).next()?).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let [
        VERSION,
        version,
        pe,
        n_pes,
        name,
        since,
        until,
        step,
        leader,
        missing,
        note,
        last,
    ] = lines[..]
    else {
        return None;
    };
    let n_pes = n_pes
        .parse()
        .ok()
        .filter(|n| (1..=super::block::MAX_PES).contains(n))?;
    let digits = missing.len() == 2 * (n_pes as usize).div_ceil(8);
    if version != last || !digits || name.len() > 100 || text.chars().any(is_control) {
        return None;
    }
    let bit = |pe: Pe| {
        let at = pe as usize / 8 * 2;
        let byte = u8::from_str_radix(missing.get(at..at + 2)?, 16).ok()?;
        (byte >> (pe % 8) & 1 == 1).then_some(pe)
    };
    Some(InitStatusFields {
        pe: pe.parse().ok().filter(|pe| (0..n_pes).contains(pe))?,
        n_pes,
        name: name.into(),
        since: since.parse().ok()?,
        until: until.parse().ok()?,
        step: Step::from_word(step)?,
        leader: leader.parse().ok()?,
        missing: (0..n_pes).filter_map(bit).collect(),
        note: note.into(),
    })
}

/// Whether a terminal would interpret the character.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn contents(page: &InitStatusFile) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        page.file
            .get()
            .unwrap()
            .read_exact_at(&mut bytes, 0)
            .unwrap();
        bytes
    }

    #[test]
    fn a_page_says_what_was_said_last() {
        let until = Instant::now() + Duration::from_secs(60);
        let page = InitStatusFile::new("nvshmemrs-0", 0, 4096, until).unwrap();
        assert_eq!(read(&contents(&page)).unwrap().step, Step::Start);
        let odd: Vec<Pe> = (0..4096).filter(|pe| pe % 2 == 1).collect();
        page.update(|fields| {
            fields.step = Step::Gather;
            fields.leader = 7;
            fields.missing = odd.clone();
            fields.note = format!("a\x1b[0m\n{}", "é".repeat(5000));
        });
        let fields = read(&contents(&page)).unwrap();
        assert_eq!((fields.pe, fields.n_pes, fields.leader), (0, 4096, 7));
        assert_eq!((fields.step, fields.missing), (Step::Gather, odd));
        assert!(fields.note.starts_with("a[0mé") && fields.note.len() <= NOTE);
        assert!(fields.until - fields.since > 50_000_000_000);
        page.set_step(Step::Gather, "short");
        assert_eq!(read(&contents(&page)).unwrap().note, "short");
        for (step, word) in Step::ALL {
            assert_eq!((Step::from_word(word), step.word()), (Some(step), word));
        }
    }

    #[test]
    fn malformed_pages_are_refused() {
        let page = InitStatusFile::new("nvshmemrs-0", 1, 3, Instant::now()).unwrap();
        let bytes = contents(&page);
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(read(text.as_bytes()).is_some());
        let changed = |from: &str, to: &str| read(text.replacen(from, to, 1).as_bytes());
        // As if one half were of the version before.
        assert!(changed("1\n1\n1\n3\n", "1\n2\n1\n3\n").is_none());
        assert!(changed("\n1\n3\n", "\n3\n3\n").is_none());
        assert!(changed("\n1\n3\n", "\n-1\n3\n").is_none());
        assert!(changed("\n1\n3\n", "\n1\n5000\n").is_none());
        assert!(changed("start", "stop").is_none());
        assert!(changed("start", "st\x1bart").is_none());
        for length in 0..text.trim_end_matches(['\0', '\n']).len() {
            assert!(read(&bytes[..length]).is_none(), "{length}");
        }
    }
}
