//! The results of the checker: whether it ran, its findings, and accesses that it could not watch. PEs inherit a memfd, and each appends
//! a record when it joins and for each finding. So findings of a PE that does not reach finalize count, too.

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Bytes of a record: what it is, and four keys. The checker writes it.
const RECORD: usize = 40;

/// What a record says.
mod what {
    /// A PE has joined a job with the checker.
    pub(super) const JOINED: u64 = 1;
    /// It has found something.
    pub(super) const FOUND: u64 = 2;
    /// Its program shows loads and stores of its own.
    pub(super) const ACCESSES: u64 = 3;
    /// It has symmetric memory that a line of Python has allocated.
    pub(super) const PYTHON_ARRAYS: u64 = 4;
    /// It has streams.
    pub(super) const STREAMS: u64 = 5;
    /// It has handed symmetric memory to something that shows nothing.
    pub(super) const HANDED_OUT: u64 = 6;
}

/// The file of a job.
#[derive(Debug)]
pub struct Findings(File);

/// What the PEs have written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often a PE has joined a job with the checker.
    joined: u64,
    /// How many reports they have made.
    pub reports: u64,
    /// How many causes these have.
    problems: u64,
    /// Whether a PE's program shows loads and stores, has arrays in Python, has streams, hands memory out.
    accesses: bool,
    python_arrays: bool,
    streams: bool,
    handed_out: bool,
}

impl Findings {
    /// An empty file.
    pub fn new() -> Result<Self> {
        // Not closed on exec: it is for the PEs.
        let file = memfd_create("nvshmemrs-findings", MemfdFlags::empty());
        Ok(Self(file.context("cannot make a memfd")?.into()))
    }

    /// What a PE's environment calls it: the descriptor, the device and the inode.
    pub fn name(&self) -> Result<String> {
        let seen = fstat(&self.0).context("cannot look at the file of findings")?;
        let number = self.0.as_raw_fd();
        Ok(format!("{number}:{}:{}", seen.st_dev, seen.st_ino))
    }

    /// What the PEs have counted so far.
    pub fn count(&self) -> Result<Count> {
        let (mut count, mut causes) = (Count::default(), Causes::default());
        let (mut text, mut at) = ([0; 100 * RECORD], 0);
        loop {
            let bytes = self.0.read_at(&mut text, at);
            let bytes = bytes.context("cannot read the number of findings")?;
            // What is not a whole record was cut off.
            let (records, _) = text[..bytes].as_chunks::<RECORD>();
            if records.is_empty() {
                count.problems = causes.count();
                return Ok(count);
            }
            at += (records.len() * RECORD) as u64;
            for record in records {
                count.add(record, &mut causes);
            }
        }
    }
}

/// Reports in groups of one cause.
#[derive(Debug, Default)]
struct Causes {
    /// For each report one that has the same cause and is in the way to the group's first; that one itself.
    next: Vec<usize>,
    /// A report with this key.
    by_key: HashMap<u64, usize>,
}

impl Causes {
    fn first(&self, mut report: usize) -> usize {
        while self.next[report] != report {
            report = self.next[report];
        }
        report
    }

    /// Adds a report: it has the same cause as all that have one of its keys. 0 is no key.
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
    fn add(&mut self, record: &[u8; RECORD], causes: &mut Causes) {
        let (words, _) = record.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
        match words.next() {
            Some(what::JOINED) => self.joined += 1,
            Some(what::FOUND) => {
                self.reports += 1;
                causes.add(words);
            }
            Some(what::ACCESSES) => self.accesses = true,
            Some(what::PYTHON_ARRAYS) => self.python_arrays = true,
            Some(what::STREAMS) => self.streams = true,
            Some(what::HANDED_OUT) => self.handed_out = true,
            _ => {}
        }
    }

    /// The last line of the job's output; `failed`: a PE of it has failed.
    pub fn line(&self, failed: bool) -> String {
        if self.reports > 0 {
            let several = |count: u64, word: &str| match count {
                1 => format!("1 {word}"),
                count => format!("{count} {word}s"),
            };
            let problems = several(self.problems, "problem");
            return match self.reports == self.problems {
                true => format!("the checker found {problems}"),
                false => format!(
                    "the checker found {problems} ({})",
                    several(self.reports, "report")
                ),
            };
        }
        if self.joined == 0 {
            return "the checker did not run, or could not say so: no PE has joined a job with it"
                .into();
        }
        let when = if failed { " before the job failed" } else { "" };
        format!(
            "the checker found nothing{when} (not watched: {})",
            self.not_watched()
        )
    }

    /// What the checker cannot see in this job.
    fn not_watched(&self) -> String {
        let loads = match (self.accesses, self.python_arrays) {
            (true, _) => "loads and stores that the program does not show",
            (false, true) => "what other libraries than NumPy do with arrays",
            (false, false) => "the program's own loads and stores",
        };
        let mut all = vec![loads];
        all.extend(
            self.handed_out
                .then_some("memory that was handed out as a plain view, by address or by DLPack"),
        );
        all.extend(
            self.streams
                .then_some("the order of a stream and its caller"),
        );
        all.join("; ")
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
        one.write_all(b"a part of one").expect("to write");
        let count = findings.count().expect("a count");
        assert_eq!((count.joined, count.reports, count.problems), (2, 502, 502));
        assert!(count.streams && !count.accesses && !count.python_arrays);
    }

    #[test]
    fn reports_with_a_key_in_common_are_one_problem() {
        let count = |reports: &[[u64; 4]]| {
            let mut causes = Causes::default();
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
        assert_eq!(line(1, 1), "the checker found 1 problem");
        assert_eq!(line(1, 9), "the checker found 1 problem (9 reports)");
        assert_eq!(line(2, 2), "the checker found 2 problems");
        assert_eq!(line(17, 20), "the checker found 17 problems (20 reports)");
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
            "the checker found nothing (not watched: what other libraries than NumPy do with arrays)"
        );
        let all = Count {
            accesses: true,
            streams: true,
            handed_out: true,
            ..python
        };
        assert_eq!(
            all.line(false),
            "the checker found nothing (not watched: loads and stores that the program does not show; \
             memory that was handed out as a plain view, by address or by DLPack; the order of a stream and its caller)"
        );
    }
}
