//! Whether the checker ran and how much it has found: a file without a name that all PEs inherit, to whose end each adds a byte when it
//! joins and one for each finding. It also counts what a PE found that did not get as far as finalize.

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// The file of a job.
#[derive(Debug)]
pub struct Findings(File);

/// What the PEs have written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often a PE has joined a job with the checker.
    joined: u64,
    /// How much they have found.
    pub found: u64,
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
        let mut count = Count::default();
        let (mut text, mut at) = ([0; 4096], 0);
        loop {
            let bytes = self.0.read_at(&mut text, at);
            let bytes = bytes.context("cannot read the number of findings")?;
            if bytes == 0 {
                return Ok(count);
            }
            at += bytes as u64;
            count.joined += text[..bytes].iter().filter(|byte| **byte == b'j').count() as u64;
            count.found += text[..bytes].iter().filter(|byte| **byte == b'f').count() as u64;
        }
    }
}

impl Count {
    /// The last line of the job's output; `failed`: a PE of it has failed.
    pub fn line(self, failed: bool) -> String {
        match self {
            Self { found: 1, .. } => "the checker found 1 problem".into(),
            Self { found: 2.., .. } => format!("the checker found {} problems", self.found),
            Self { joined: 0, .. } => {
                "the checker did not run, or could not say so: no PE has joined a job with it"
                    .into()
            }
            _ if failed => "the checker found nothing before the job failed".into(),
            _ => "the checker found nothing".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

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
        for text in ["j", "f"] {
            one.write_all(text.as_bytes()).expect("to write");
            other.write_all(text.as_bytes()).expect("to write");
        }
        one.write_all(&[b'f'; 5000]).expect("to write");
        let count = findings.count().expect("a count");
        assert_eq!((count.joined, count.found), (2, 5002));
    }

    #[test]
    fn silence_is_explained() {
        let line = |joined, found, failed| Count { joined, found }.line(failed);
        assert!(line(0, 0, false).starts_with("the checker did not run"));
        assert!(line(0, 0, true).starts_with("the checker did not run"));
        assert_eq!(line(2, 0, false), "the checker found nothing");
        assert_eq!(
            line(2, 0, true),
            "the checker found nothing before the job failed"
        );
        assert_eq!(line(2, 1, true), "the checker found 1 problem");
        assert_eq!(line(2, 17, false), "the checker found 17 problems");
    }
}
