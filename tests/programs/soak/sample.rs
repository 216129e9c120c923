//! Samples the resources of this process once a second: memory, descriptors, threads, and the committed memory of the job's heaps.

use nvshmemrs::Runtime;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often.
const EVERY: Duration = Duration::from_millis(1000);

/// One look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Milliseconds since the start.
    at: u128,
    round: u64,
    /// Whether all was given back just before: then nothing but growth makes the numbers larger.
    empty: bool,
    /// KiB of the process's own pages, and of the heaps' pages that it has touched.
    anonymous: u64,
    shared: u64,
    descriptors: u64,
    threads: u64,
    mappings: u64,
    /// Bytes of this PE's heap in allocations, and KiB of all PEs' heaps that are backed by memory.
    allocated: u64,
    committed: u64,
}

impl Sample {
    pub(crate) fn now(rt: &Runtime, start: Instant, round: u64, empty: bool) -> Sample {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
                .unwrap_or(0)
        };
        let count = |folder: &str| fs::read_dir(folder).map_or(0, |all| all.count() as u64);
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Sample {
            at: start.elapsed().as_millis(),
            round,
            empty,
            anonymous: kib("RssAnon:"),
            shared: kib("RssShmem:"),
            // Less the one for listing them.
            descriptors: count("/proc/self/fd") - 1,
            threads: count("/proc/self/task"),
            mappings: mappings(&maps),
            allocated: rt.heap_stats().used_bytes,
            committed: committed(),
        }
    }

    pub(crate) fn json(&self) -> String {
        format!(
            "{{\"ms\":{},\"round\":{},\"empty\":{},\"anonymous_kib\":{},\"shared_kib\":{},\"descriptors\":{},\"threads\":{},\"mappings\":{},\
             \"allocated_bytes\":{},\"committed_kib\":{}}}",
            self.at,
            self.round,
            self.empty,
            self.anonymous,
            self.shared,
            self.descriptors,
            self.threads,
            self.mappings,
            self.allocated,
            self.committed
        )
    }
}

/// How many mappings there are. The C heap counts once: where buffers in it were registered and given back, the system keeps their
/// pages as pieces of their own, at most one for each page.
fn mappings(maps: &str) -> u64 {
    let heap = maps.lines().filter(|line| line.ends_with("[heap]")).count();
    (maps.lines().count() - heap.saturating_sub(1)) as u64
}

/// KiB of the job's memory that are backed.
fn committed() -> u64 {
    let entries = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let job = entries.map(|entry| entry.path()).find(|path| {
        fs::read_link(path).is_ok_and(|link| link.to_string_lossy().contains("nvshmemrs-job"))
    });
    job.and_then(|path| fs::metadata(path).ok())
        .map_or(0, |memory| memory.blocks() / 2)
}

/// Takes samples until `stop` is closed.
pub(crate) fn watch(stop: &Receiver<()>, take: impl Fn()) {
    while stop.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        take();
    }
}
