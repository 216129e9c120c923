//! The results of the checker: whether it ran, its findings, and accesses that it could not watch. PEs inherit a memfd, and
//! append a record when they join, and a record with a text for each finding. So the findings of a PE that does not reach
//! finalize count, too.

use super::report::Report;
use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;

/// Bytes of a record: its kind, and four keys. The checker writes it.
const RECORD: usize = 40;

/// The kinds of records.
mod what {
    /// A PE has joined a job with the checker.
    pub(super) const JOINED: u64 = 1;
    /// A PE has a finding.
    pub(super) const FOUND: u64 = 2;
    /// A PE's program announces its own loads and stores.
    pub(super) const ACCESSES: u64 = 3;
    /// A PE has symmetric memory allocated by a line of Python.
    pub(super) const PYTHON_ARRAYS: u64 = 4;
    /// A PE has streams.
    pub(super) const STREAMS: u64 = 5;
    /// A PE passed symmetric memory to a library whose accesses the checker cannot see.
    pub(super) const HANDED_OUT: u64 = 6;
    /// The JSON of the preceding finding follows: this many bytes, padded to a multiple of a record's length.
    pub(super) const TEXT: u64 = 7;
    /// A PE's heap is GPU memory.
    pub(super) const GPUS: u64 = 8;
    /// It has kernels that record their operations.
    pub(super) const KERNELS: u64 = 9;
}

/// The file of a job.
#[derive(Debug)]
pub struct Findings(File);

/// The totals over all PEs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many PEs have joined a job with the checker.
    joined: u64,
    /// The number of reports.
    pub reports: u64,
    /// The number of distinct causes.
    problems: u64,
    /// Whether a PE's program announces loads and stores, has arrays in Python, has streams, passes memory on.
    accesses: bool,
    python_arrays: bool,
    streams: bool,
    handed_out: bool,
    /// Whether a heap is GPU memory.
    gpus: bool,
    /// Whether kernels have recorded their operations.
    kernels: bool,
}

impl Findings {
    /// Creates an empty file.
    pub fn new() -> Result<Self> {
        // Not closed on exec, because PEs inherit it.
        let file = memfd_create("nvshmemrs-findings", MemfdFlags::empty());
        Ok(Self(file.context("cannot make a memfd")?.into()))
    }

    /// The file's name in a PE's environment: the descriptor, the device and the inode.
    pub fn name(&self) -> Result<String> {
        let seen = fstat(&self.0).context("cannot look at the file of findings")?;
        let number = self.0.as_raw_fd();
        Ok(format!("{number}:{}:{}", seen.st_dev, seen.st_ino))
    }

    /// The totals so far.
    pub fn count(&self) -> Result<Count> {
        Ok(self.read()?.0)
    }

    /// The totals, and the findings in groups of one cause.
    pub fn read(&self) -> Result<(Count, Vec<Vec<Report>>)> {
        let mut bytes = Vec::new();
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_end(&mut bytes))
            .context("cannot read the findings")?;
        let (mut count, mut causes) = (Count::default(), CauseGroups::default());
        let mut reports: Vec<Report> = Vec::new();
        let mut rest = &bytes[..];
        // An incomplete record at the end is ignored.
        while let Some((record, behind)) = rest.split_first_chunk::<RECORD>() {
            rest = behind;
            let words: [u64; 5] = std::array::from_fn(|index| {
                let word = record[8 * index..].first_chunk::<8>();
                word.map_or(0, |word| u64::from_ne_bytes(*word))
            });
            if words[0] != what::TEXT {
                count.add(words, &mut causes);
                continue;
            }
            let len = usize::try_from(words[1]).unwrap_or(usize::MAX);
            let padded = len
                .checked_next_multiple_of(RECORD)
                .filter(|len| *len <= rest.len());
            let Some(padded) = padded else { break };
            // A text that cannot be parsed is omitted; the finding still counts.
            reports.extend(serde_json::from_slice::<Report>(&rest[..len]));
            rest = &rest[padded..];
        }
        count.problems = causes.count();
        let mut groups: BTreeMap<usize, Vec<Report>> = BTreeMap::new();
        for report in reports {
            if let Some(&number) = causes.by_key.get(&report.keys[0]) {
                groups.entry(causes.first(number)).or_default().push(report);
            }
        }
        Ok((count, groups.into_values().collect()))
    }
}

/// A disjoint-set structure: reports in groups of one cause.
#[derive(Debug, Default)]
struct CauseGroups {
    /// For each report its parent in the tree; a root is its own parent.
    next: Vec<usize>,
    /// A report with this key.
    by_key: HashMap<u64, usize>,
}

impl CauseGroups {
    fn first(&self, mut report: usize) -> usize {
        while self.next[report] != report {
            report = self.next[report];
        }
        report
    }

    /// Adds a report, and joins the groups of all reports that share a key with it. 0 is no key.
    fn add(&mut self, keys: impl Iterator<Item = u64>) {
        let report = self.next.len();
        self.next.push(report);
        for key in keys.filter(|&key| key != 0) {
            let known = *self.by_key.entry(key).or_insert(report);
            let (one, other) = (self.first(known), self.first(report));
            self.next[one.max(other)] = one.min(other);
        }
    }

    fn count(&self) -> u64 {
        let firsts = self.next.iter().enumerate();
        firsts.filter(|(report, next)| report == *next).count() as u64
    }
}

impl Count {
    fn add(&mut self, [what, keys @ ..]: [u64; 5], causes: &mut CauseGroups) {
        match what {
            what::JOINED => self.joined += 1,
            what::FOUND => {
                self.reports += 1;
                causes.add(keys.into_iter());
            }
            what::ACCESSES => self.accesses = true,
            what::PYTHON_ARRAYS => self.python_arrays = true,
            what::STREAMS => self.streams = true,
            what::HANDED_OUT => self.handed_out = true,
            what::GPUS => self.gpus = true,
            what::KERNELS => self.kernels = true,
            _ => {}
        }
    }

    /// Whether a PE joined the job with the checker.
    pub fn ran(&self) -> bool {
        self.joined > 0
    }

    /// The last line of the job's output; `failed`: a PE has failed.
    pub fn line(&self, failed: bool) -> String {
        if self.reports > 0 {
            let several = |count: u64, word: &str| match count {
                1 => format!("1 {word}"),
                count => format!("{count} {word}s"),
            };
            let problems = several(self.problems, "problem");
            let reports = match self.reports == self.problems {
                true => String::new(),
                false => format!("{}; ", several(self.reports, "report")),
            };
            return format!(
                "the checker found {problems} ({reports}not watched: {})",
                self.not_watched().join("; ")
            );
        }
        if self.joined == 0 {
            return "the checker did not run, or could not report it: no PE has joined a job with it"
                .into();
        }
        let when = if failed { " before the job failed" } else { "" };
        format!(
            "the checker found nothing{when} (not watched: {})",
            self.not_watched().join("; ")
        )
    }

    /// The kinds of accesses that the checker cannot see in this job.
    pub fn not_watched(&self) -> Vec<&'static str> {
        let loads = match (self.accesses, self.python_arrays) {
            (true, _) => "loads and stores that the program does not report",
            (false, true) => "accesses of other libraries than NumPy to arrays",
            (false, false) => "the program's own loads and stores",
        };
        let mut all = vec![loads];
        all.extend(
            self.handed_out
                .then_some("memory given away as a plain view, by address or by DLPack"),
        );
        all.extend(match (self.kernels, self.gpus) {
            (true, true) => &[
                "loads and stores of kernels",
                "the order of streams of GPUs",
            ][..],
            (true, false) => &["loads and stores of kernels", "the order of a PE's streams"],
            (false, true) => &["kernels, and the order of streams of GPUs"],
            (false, false) => &[],
        });
        all.extend(
            self.streams
                .then_some("a caller that announces unfinished work of its stream to other PEs"),
        );
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

    fn record(what: u64, keys: [u64; 4]) -> Vec<u8> {
        let words = std::iter::once(what).chain(keys);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn what_pes_add_is_counted() {
        let findings = Findings::new().expect("a file");
        assert_eq!(findings.count().expect("a count"), Count::default());
        let path = format!("/proc/self/fd/{}", findings.0.as_raw_fd());
        let open = || {
            OpenOptions::new()
                .append(true)
                .open(&path)
                .expect("the file")
        };
        let (mut one, mut other) = (open(), open());
        for what in [what::JOINED, what::FOUND] {
            one.write_all(&record(what, [1, 2, 0, 0]))
                .expect("to write");
            other
                .write_all(&record(what, [3, 4, 0, 0]))
                .expect("to write");
        }
        for more in 0..500 {
            let text = record(what::FOUND, [more + 10, 0, 0, 0]);
            one.write_all(&text).expect("to write");
        }
        other
            .write_all(&record(what::STREAMS, [0; 4]))
            .expect("to write");
        let json = br#"{"problem":"read-early","title":"t","pe":1,"seed":2,"accesses":[],"memory":"team","where":"w","why":"","remedy":"r","keys":[500,0,0,0]}"#;
        let mut text = record(what::TEXT, [json.len() as u64, 0, 0, 0]);
        text.extend(json);
        text.resize(text.len().next_multiple_of(RECORD), 0);
        one.write_all(&record(what::FOUND, [500, 0, 0, 0]))
            .expect("to write");
        one.write_all(&text).expect("to write");
        one.write_all(b"a part of one").expect("to write");
        let (count, groups) = findings.read().expect("a count");
        assert_eq!((count.joined, count.reports, count.problems), (2, 503, 502));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].len(), 1);
        assert!(count.streams && !count.accesses && !count.python_arrays);
    }

    #[test]
    fn reports_with_a_key_in_common_are_one_problem() {
        let count = |reports: &[[u64; 4]]| {
            let mut causes = CauseGroups::default();
            for keys in reports {
                causes.add(keys.iter().copied());
            }
            causes.count()
        };
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[[1, 2, 3, 4], [5, 6, 7, 8]]), 2);
        assert_eq!(count(&[[1, 0, 0, 0], [2, 0, 0, 0]]), 2, "0 is no key");
        assert_eq!(count(&[[1, 2, 0, 0], [3, 4, 0, 0], [5, 4, 2, 0]]), 1);
        assert_eq!(
            count(&[[1, 2, 0, 0], [3, 4, 0, 0], [3, 5, 0, 0], [9, 0, 0, 0]]),
            3
        );
        assert_eq!(count(&[[0; 4], [0; 4]]), 2);
    }

    #[test]
    fn problems_and_their_reports_are_told() {
        let line = |problems, reports| {
            let count = Count {
                joined: 2,
                problems,
                reports,
                ..Count::default()
            };
            count.line(true)
        };
        assert_eq!(
            line(1, 1),
            "the checker found 1 problem (not watched: the program's own loads and stores)"
        );
        assert_eq!(
            line(1, 9),
            "the checker found 1 problem (9 reports; not watched: the program's own loads and stores)"
        );
        assert_eq!(
            line(2, 2),
            "the checker found 2 problems (not watched: the program's own loads and stores)"
        );
        assert_eq!(
            line(17, 20),
            "the checker found 17 problems (20 reports; not watched: the program's own loads and stores)"
        );
    }

    #[test]
    fn silence_is_explained() {
        let none = Count::default();
        for failed in [false, true] {
            assert!(none.line(failed).starts_with("the checker did not run"));
        }
        let plain = Count {
            joined: 2,
            ..Count::default()
        };
        assert_eq!(
            plain.line(false),
            "the checker found nothing (not watched: the program's own loads and stores)"
        );
        assert_eq!(
            plain.line(true),
            "the checker found nothing before the job failed (not watched: the program's own loads and stores)"
        );
        let python = Count {
            python_arrays: true,
            ..plain
        };
        assert_eq!(
            python.line(false),
            "the checker found nothing (not watched: accesses of other libraries than NumPy to arrays)"
        );
        let kernels = Count {
            kernels: true,
            ..plain
        };
        assert_eq!(
            kernels.line(false),
            "the checker found nothing (not watched: the program's own loads and stores; loads and stores of kernels; the order of a PE's streams)"
        );
        let all = Count {
            accesses: true,
            streams: true,
            handed_out: true,
            ..python
        };
        assert_eq!(
            all.line(false),
            "the checker found nothing (not watched: loads and stores that the program does not report; \
             memory given away as a plain view, by address or by DLPack; a caller that announces unfinished work of its stream to other PEs)"
        );
    }
}
