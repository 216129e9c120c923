//! Reads the parts of a trace. A part may be of a PE that was killed, or that still runs: incomplete records are left out.

use super::clock::Scale;
use super::record::{Kind, RECORD, Record};
use crate::Pe;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"nvshTrc\x01");
/// Bytes before the first record.
pub(super) const HEADER: u64 = 4096;

/// The words of the header, by their numbers.
pub(super) struct Words {
    pub(super) magic: usize,
    pub(super) pe: usize,
    pub(super) n_pes: usize,
    pub(super) host: usize,
    pub(super) pid: usize,
    /// The time of day less the monotonic clock, in ns.
    pub(super) real_ns: usize,
    /// Two words each: ticks and ns.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The number of records that were begun.
    pub(super) records: usize,
    /// The number of those for which there was no room, and the error.
    pub(super) lost: usize,
    pub(super) error: usize,
    /// 1 once the PE writes no further records.
    pub(super) closed: usize,
}

pub(super) const WORD: Words = Words {
    magic: 0,
    pe: 1,
    n_pes: 2,
    host: 3,
    pid: 4,
    real_ns: 5,
    first: 6,
    last: 8,
    lost: 10,
    error: 11,
    closed: 12,
    // On a cache line of its own.
    records: 16,
};

/// A part as it was read.
#[derive(Debug)]
pub(super) struct PartFile {
    pub(super) pe: Pe,
    pub(super) n_pes: Pe,
    pub(super) host: u64,
    pub(super) pid: u64,
    pub(super) real_ns: u64,
    pub(super) scale: Scale,
    pub(super) lost: u64,
    pub(super) error: i32,
    pub(super) closed: bool,
    /// The calls, in the order in which they ended.
    pub(super) records: Vec<Record>,
    pub(super) sites: HashMap<u32, String>,
    pub(super) threads: HashMap<u32, String>,
}

impl PartFile {
    /// The whole part.
    pub(super) fn read(path: &Path) -> io::Result<PartFile> {
        PartFile::parse(&std::fs::read(path)?)
    }

    /// The part without its records.
    fn read_header(path: &Path) -> io::Result<PartFile> {
        let mut bytes = vec![0; HEADER as usize];
        File::open(path)?.read_exact(&mut bytes)?;
        PartFile::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> io::Result<PartFile> {
        let (header, records) = bytes.split_at(bytes.len().min(HEADER as usize));
        let (words, _) = header.as_chunks();
        let header: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        if header.len() < HEADER as usize / 8 || header[WORD.magic] != MAGIC {
            return Err(io::Error::other(
                "this is no part of a trace of this version",
            ));
        }
        let pair = |at: usize| (header[at], header[at + 1]);
        let mut part = PartFile {
            pe: header[WORD.pe] as Pe,
            n_pes: header[WORD.n_pes] as Pe,
            host: header[WORD.host],
            pid: header[WORD.pid],
            real_ns: header[WORD.real_ns],
            scale: Scale {
                first: pair(WORD.first),
                last: pair(WORD.last),
            },
            lost: header[WORD.lost],
            error: header[WORD.error] as i32,
            closed: header[WORD.closed] == 1,
            records: Vec::new(),
            sites: HashMap::new(),
            threads: HashMap::new(),
        };
        // The pieces of each name, by their order.
        type Pieces = Vec<(u64, Vec<u8>)>;
        let mut names: HashMap<(u8, u32), Pieces> = HashMap::new();
        for bytes in records.chunks_exact(RECORD) {
            let record: Record = bytemuck::pod_read_unaligned(bytes);
            match Kind::from_number(record.kind) {
                _ if record.begin == 0 => {}
                None => {}
                Some(Kind::SiteName | Kind::ThreadName) => names
                    .entry((record.kind, record.thread))
                    .or_default()
                    .push((record.end, record.piece())),
                Some(_) => part.records.push(record),
            }
        }
        for ((kind, number), mut pieces) in names {
            pieces.sort();
            let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.1).collect();
            let name = String::from_utf8_lossy(&bytes).into_owned();
            match Kind::from_number(kind) {
                Some(Kind::SiteName) => part.sites.insert(number, name),
                _ => part.threads.insert(number, name),
            };
        }
        Ok(part)
    }
}

#[cfg(test)]
impl PartFile {
    /// A part without calls, whose clock counts ns.
    pub(super) fn of_test(pe: Pe) -> PartFile {
        PartFile {
            pe,
            n_pes: 3,
            host: 0,
            pid: 1,
            real_ns: 0,
            scale: Scale {
                first: (0, 0),
                last: (1000, 1000),
            },
            lost: 0,
            error: 0,
            closed: true,
            records: Vec::new(),
            sites: HashMap::new(),
            threads: HashMap::new(),
        }
    }
}

/// The part of a PE of the trace at `path`.
pub(super) fn part_path(path: &Path, pe: Pe) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".pe-{pe}"));
    name.into()
}

/// The parts of the trace at `path`, without their records: those of the job that began last. A file that is no part is left out.
pub(super) fn parts(path: &Path) -> io::Result<Vec<(PathBuf, PartFile)>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let prefix = format!(
        "{}.pe-",
        path.file_name().unwrap_or_default().to_string_lossy()
    );
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if let Some(Ok(pe)) = name.strip_prefix(&prefix).map(str::parse) {
            let path = part_path(path, pe);
            if let Ok(part) = PartFile::read_header(&path) {
                found.push((path, part));
            }
        }
    }
    // An earlier job that was killed may have left parts of PEs that this job does not have.
    let began = |part: &PartFile| part.real_ns.wrapping_add(part.scale.first.1);
    let last = found.iter().max_by_key(|(_, part)| began(part));
    let n_pes = last.map_or(0, |(_, part)| part.n_pes);
    found.retain(|(_, part)| part.n_pes == n_pes && (0..n_pes).contains(&part.pe));
    found.sort_by_key(|(_, part)| part.pe);
    Ok(found)
}
