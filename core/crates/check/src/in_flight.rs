//! The local buffers of non-blocking operations in flight: the program must not touch them until quiet.

use super::Checker;
use super::memory::Digest;
use super::report::{AccessInfo, Finding, FindingPlace, Problem};
use crate::transport::Context;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard};

/// The most buffers in the list.
const LIMIT: usize = 1024;

/// Pages that can be distinguished.
const PAGES: usize = 4096;

/// The local buffer of an operation in flight.
#[derive(Clone, Debug)]
struct Buffer {
    number: u64,
    address: u64,
    bytes: u64,
    site: u16,
    context: Context,
    /// Of the source of a put; a get's dest has none.
    digest: Option<Digest>,
    /// Whether the delivery found a source changed, or either gone.
    changed: bool,
    /// Whether a finding of it was reported.
    reported: bool,
}

impl Buffer {
    fn overlaps(&self, address: u64, bytes: u64) -> bool {
        self.address < address + bytes && address < self.address + self.bytes
    }
}

#[derive(Default)]
struct Buffers {
    last: u64,
    list: Vec<Buffer>,
}

/// The low bits of the pages that some bytes lie in.
fn pages(address: u64, bytes: u64) -> impl Iterator<Item = usize> {
    let (first, last) = (
        address >> 12,
        address.saturating_add(bytes.max(1) - 1) >> 12,
    );
    let last = last.min(first + PAGES as u64 - 1);
    (first..=last).map(|page| page as usize % PAGES)
}

/// The buffers of operations in flight.
pub(super) struct InFlightBuffers {
    /// No buffer begins before `low` or ends after `high`.
    low: AtomicU64,
    high: AtomicU64,
    /// The pages that buffers lie in, by their low bits: bits.
    pages: [AtomicU64; PAGES / 64],
    buffers: Mutex<Buffers>,
}

impl InFlightBuffers {
    pub(super) fn new() -> InFlightBuffers {
        InFlightBuffers {
            low: AtomicU64::new(u64::MAX),
            high: AtomicU64::new(0),
            pages: [const { AtomicU64::new(0) }; PAGES / 64],
            buffers: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        crate::lock::lock(&self.buffers)
    }

    /// Whether some bytes may lie in a buffer. Two loads when nothing is in flight.
    #[inline(always)]
    pub(super) fn concerns(&self, address: u64, bytes: u64) -> bool {
        address < self.high.load(Relaxed)
            && self.low.load(Relaxed) < address.saturating_add(bytes)
            && self.pages_concern(address, bytes)
    }

    fn pages_concern(&self, address: u64, bytes: u64) -> bool {
        pages(address, bytes)
            .any(|page| self.pages[page / 64].load(Relaxed) >> (page % 64) & 1 == 1)
    }

    /// Enters a buffer into the list and gives its number; `None` if the list is full.
    pub(super) fn enter(
        &self,
        address: u64,
        bytes: u64,
        digest: Option<Digest>,
        (site, context): (u16, Context),
    ) -> Option<u64> {
        let mut buffers = self.lock();
        if buffers.list.len() == LIMIT {
            return None;
        }
        buffers.last += 1;
        let number = buffers.last;
        self.low.fetch_min(address, Relaxed);
        self.high.fetch_max(address + bytes, Relaxed);
        for page in pages(address, bytes) {
            self.pages[page / 64].fetch_or(1 << (page % 64), Relaxed);
        }
        buffers.list.push(Buffer {
            number,
            address,
            bytes,
            site,
            context,
            digest,
            changed: false,
            reported: false,
        });
        Some(number)
    }

    /// The delivery has found that a buffer has changed, or is gone.
    pub(super) fn changed(&self, number: u64) {
        let mut buffers = self.lock();
        let buffer = buffers
            .list
            .iter_mut()
            .find(|buffer| buffer.number == number);
        if let Some(buffer) = buffer {
            buffer.changed = true;
        }
    }

    fn any(&self, matches: impl Fn(&Buffer) -> bool) -> bool {
        self.lock().list.iter().any(matches)
    }

    /// All buffers of a context, which are given back.
    fn take(&self, of: Context) -> Vec<Buffer> {
        let mut buffers = self.lock();
        if buffers.list.iter().any(|buffer| buffer.context != of) {
            let returned = buffers.list.extract_if(.., |buffer| buffer.context == of);
            return returned.collect();
        }
        self.low.store(u64::MAX, Relaxed);
        self.high.store(0, Relaxed);
        if !buffers.list.is_empty() {
            self.pages.iter().for_each(|word| word.store(0, Relaxed));
        }
        std::mem::take(&mut buffers.list)
    }

    /// The buffers that match, once each.
    fn take_unreported(&self, matches: impl Fn(&Buffer) -> bool) -> Vec<Buffer> {
        let mut buffers = self.lock();
        let found = buffers.list.iter_mut();
        found
            .filter(|buffer| !buffer.reported && matches(buffer))
            .map(|buffer| {
                buffer.reported = true;
                buffer.clone()
            })
            .collect()
    }
}

/// Buffers of completed operations, to be checked.
pub(super) struct Returned(Vec<Buffer>);

impl Returned {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Checker {
    /// A finding about an in-flight buffer.
    fn in_flight_finding(
        &self,
        problem: Problem,
        buffer: &Buffer,
        now: AccessInfo,
        why: &str,
    ) -> Finding {
        let place = match self.locate(buffer.address) {
            Some((pe, offset)) => FindingPlace::Symmetric { pe, offset },
            None => FindingPlace::Private {
                address: buffer.address,
            },
        };
        Finding {
            problem,
            place,
            now,
            other: self.party("lends", buffer.bytes, buffer.site),
            why: why.to_string(),
            remedy: String::new(),
            unordered: false,
        }
    }

    fn party(&self, does: &'static str, bytes: u64, site: u16) -> AccessInfo {
        AccessInfo {
            pe: self.me,
            does,
            bytes,
            site,
        }
    }

    /// The program reads or writes memory of this process at a site. Returns whether it lies in the dest of a get.
    pub(super) fn touch(&self, address: u64, bytes: u64, write: bool, site: u16) -> bool {
        bytes > 0
            && self.in_flight.concerns(address, bytes)
            && self.touch_in_flight(address, bytes, write, site)
    }

    #[cold]
    fn touch_in_flight(&self, address: u64, bytes: u64, write: bool, site: u16) -> bool {
        // Reading the source of a put is fine.
        let disturbs =
            |buffer: &Buffer| buffer.overlaps(address, bytes) && (write || buffer.digest.is_none());
        let in_dest = self
            .in_flight
            .any(|buffer| buffer.digest.is_none() && disturbs(buffer));
        for buffer in self.in_flight.take_unreported(disturbs) {
            let problem = match buffer.digest {
                Some(_) => Problem::SourceReused,
                None => Problem::DestUsed,
            };
            let does = if write { "writes" } else { "reads" };
            let now = self.party(does, bytes, site);
            self.tracker
                .found(self.in_flight_finding(problem, &buffer, now, ""));
        }
        in_dest
    }

    /// Everything is delivered: takes the buffers of a context out of the list.
    pub(super) fn take_in_flight(&self, of: Context) -> Returned {
        Returned(self.in_flight.take(of))
    }

    /// Checks the contents of the buffers, when the program calls quiet at a site.
    pub(super) fn look_at(&self, returned: Returned, site: u16) -> Vec<Finding> {
        let open = returned.0.iter().filter(|buffer| !buffer.reported);
        open.filter_map(|buffer| {
            let now = self.party("notices it in", 0, site);
            let Some(digest) = buffer.digest else {
                let why = "the dest is no memory that can be written any more; nothing was written";
                return buffer
                    .changed
                    .then(|| self.in_flight_finding(Problem::DestUsed, buffer, now, why));
            };
            let why = match Digest::of(buffer.address, buffer.bytes as usize) {
                None => "the source was no memory that can be read any more",
                Some(_) if buffer.changed => "it was changed between the two, and other bytes than those of the call were put",
                Some(found) if found != digest => "it was changed between the two; the right bytes were put this time",
                Some(_) => return None,
            };
            Some(self.in_flight_finding(Problem::SourceReused, buffer, now, why))
        })
        .collect()
    }

    /// The program frees a block of its symmetric memory at a site. This completes operations in flight, so only data fetched to the block
    /// is lost.
    pub(super) fn freed_while_in_flight(&self, offset: u64, bytes: u64, site: u16) {
        let address = self.layout.address(self.me, offset);
        let lost = |buffer: &Buffer| buffer.digest.is_none() && buffer.overlaps(address, bytes);
        let why = "free completes it, but nobody can use the data that it fetches";
        for buffer in self.in_flight.take_unreported(lost) {
            let now = self.party("frees", bytes, site);
            self.tracker
                .found(self.in_flight_finding(Problem::FreePending, &buffer, now, why));
        }
    }
}
