//! A small cache in front of the allocator: which allocation does an offset lie in?
//!
//! Every operation of the C ABI does a lookup, so a hit must cost a few loads. A line is indexed by the offset: small allocations
//! by their granule, others by their page. Lines are written under the heap's lock and read without it; a version number is odd
//! during a write, and a reader that sees that asks the allocator instead.

use std::sync::atomic::{AtomicU64, Ordering::*, fence};

const LINES: usize = 256;
/// From this size on, allocations are found by page.
const LARGE: u64 = 4096;

#[repr(align(32))]
struct Line {
    version: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

impl Line {
    const fn new() -> Line {
        Line {
            version: AtomicU64::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    fn contains(&self, offset: u64, bytes: u64) -> bool {
        let version = self.version.load(Acquire);
        let start = self.start.load(Relaxed);
        let end = self.end.load(Relaxed);
        fence(Acquire);
        let inside = offset >= start && offset < end && bytes <= end - offset;
        inside && version & 1 == 0 && self.version.load(Relaxed) == version
    }

    fn set(&self, start: u64, end: u64) {
        self.version.fetch_add(1, AcqRel);
        self.start.store(start, Release);
        self.end.store(end, Release);
        self.version.fetch_add(1, Release);
    }
}

/// The line for a granule or a page. Allocations often lie powers of two apart, so the low bits alone would send many to one line.
#[inline(always)]
fn spread(number: u64) -> usize {
    const _: () = assert!(LINES == 256);
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// The cache.
pub(crate) struct Lookup {
    small: [Line; LINES],
    large: [Line; LINES],
}

impl Lookup {
    pub(crate) fn new() -> Lookup {
        Lookup {
            small: [const { Line::new() }; LINES],
            large: [const { Line::new() }; LINES],
        }
    }

    #[inline(always)]
    fn small(&self, offset: u64) -> &Line {
        &self.small[spread(offset >> 6)]
    }

    #[inline(always)]
    fn large(&self, offset: u64) -> &Line {
        &self.large[spread(offset >> 12)]
    }

    /// Whether a cached allocation contains `bytes` bytes (at least 1) at `offset`. `false`: unknown.
    #[inline(always)]
    pub(crate) fn contains(&self, offset: u64, bytes: u64) -> bool {
        self.large(offset).contains(offset, bytes) || self.small(offset).contains(offset, bytes)
    }

    /// Caches that `offset` lies in the allocation from `start` to `end`. Under the heap's lock only.
    pub(crate) fn remember(&self, offset: u64, start: u64, end: u64) {
        let line = if end - start < LARGE {
            self.small(offset)
        } else {
            self.large(offset)
        };
        line.set(start, end);
    }

    /// Clears the cache. Under the heap's lock only.
    pub(crate) fn forget(&self) {
        for line in self.small.iter().chain(&self.large) {
            if line.end.load(Relaxed) != 0 {
                line.set(0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_and_forgets() {
        let lookup = Lookup::new();
        assert!(!lookup.contains(64, 1));
        lookup.remember(70, 64, 100);
        assert!(lookup.contains(64, 36) && lookup.contains(99, 1));
        assert!(
            !lookup.contains(64, 37) && !lookup.contains(100, 1) && !lookup.contains(64, u64::MAX)
        );
        lookup.remember(8192, 4096, 4096 * 4);
        assert!(lookup.contains(8200, 4096 * 4 - 8200));
        lookup.forget();
        assert!(!lookup.contains(64, 1) && !lookup.contains(8200, 1));
    }
}
