//! Address arithmetic of the symmetric heap.
//!
//! Symmetric memory is one reserved range of `n_pes * stride` bytes, so PE p's copy of the symmetric offset `o` is at `base + p * stride +
//! o`, on the host and in a kernel alike. A PE's part is its heap, then a window of the same size for registered buffers. Addresses are
//! numbers here; this file touches no memory.

use crate::{Error, Pe};

/// Teams a PE can be a member of at a time.
pub const MAX_TEAMS: usize = 320;

/// Allocations start at multiples of this.
pub const GRANULE: u64 = 64;

/// Sizes of heaps are multiples of this.
pub const HEAP_UNIT: u64 = 2 << 20;

/// The largest alignment that a caller may request: the largest power of two not above the heap's size. The parts of all PEs begin at
/// multiples of it, in every process, so every PE's copy of an allocation is aligned alike in all of them.
pub fn max_alignment(heap_bytes: u64) -> u64 {
    1 << heap_bytes.checked_ilog2().unwrap_or(0)
}

/// Bytes from one PE's part to the next: the heap, the window, and `more` bytes behind them, rounded up so that every part is aligned. The
/// padding, at most half of the rest, is address space only.
pub fn stride(heap_bytes: u64, more: u64) -> u64 {
    let bytes = heap_bytes.saturating_mul(2).saturating_add(more);
    round_up(bytes, max_alignment(heap_bytes)).unwrap_or(u64::MAX)
}

/// The addresses of the heap in this process.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub base: u64,
    /// Bytes from one PE's part to the next.
    pub stride: u64,
    /// The offset in a PE's part where the heap ends and the window for registered buffers begins.
    pub heap_bytes: u64,
    /// Bytes of the window.
    pub window_bytes: u64,
    /// The address of this PE's own part.
    own: u64,
    /// Bytes of all parts.
    pub span: u64,
}

impl Layout {
    /// The layout at `base` as PE `me` of `n_pes` sees it.
    pub fn new(base: u64, stride: u64, heap_bytes: u64, me: Pe, n_pes: Pe) -> Layout {
        Layout {
            base,
            stride,
            heap_bytes,
            window_bytes: heap_bytes,
            own: base + me as u64 * stride,
            span: stride * n_pes as u64,
        }
    }

    /// The address of `offset` in the part of `pe`.
    #[inline(always)]
    pub fn address(&self, pe: Pe, offset: u64) -> u64 {
        self.base + pe as u64 * self.stride + offset
    }

    /// The PE and the offset that an address of this process belongs to, if it lies in the heap at all.
    #[inline(always)]
    pub fn locate(&self, address: u64) -> Option<(Pe, u64)> {
        let distance = address.wrapping_sub(self.base);
        (distance < self.span).then(|| ((distance / self.stride) as Pe, distance % self.stride))
    }

    /// Whether a range that begins outside the heap overlaps it; a range that wraps around address 0 counts, too.
    #[inline(always)]
    pub fn run_into(&self, address: u64, bytes: u64) -> bool {
        self.base.wrapping_sub(address) < bytes
    }

    /// The offset of an address of this PE's own part.
    #[inline(always)]
    pub fn own_offset(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.own);
        (offset < self.stride).then_some(offset)
    }

    #[cold]
    pub fn not_symmetric(&self, argument: &'static str, address: u64) -> Error {
        let why = match self.locate(address) {
            _ if address == 0 => "`NULL` is none".to_string(),
            Some((pe, _)) if self.address(pe, 0) != self.own => format!(
                "it lies in PE {pe}'s part of the heap: pass this PE's own address, and the PE number says whose copy is meant"
            ),
            _ => "it lies outside the symmetric heap: allocate it with `malloc()`".to_string(),
        };
        Error::NotSymmetric {
            argument,
            address,
            why,
        }
    }
}

/// Rounds up to a multiple of `to`, a power of two; `None` on overflow.
pub fn round_up(value: u64, to: u64) -> Option<u64> {
    value.checked_add(to - 1).map(|sum| sum & !(to - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_to_the_largest_power_of_two_that_fits_the_heap() {
        for units in (1..70).chain([1 << 20, (1 << 20) + 1, (1 << 21) - 1]) {
            let heap = units * HEAP_UNIT;
            let alignment = max_alignment(heap);
            assert!(alignment <= heap && heap < 2 * alignment);
            for more in [0, 64, 30 << 20] {
                let stride = stride(heap, more);
                assert!(stride.is_multiple_of(alignment));
                assert!(stride >= 2 * heap + more && stride < 2 * heap + more + alignment);
            }
        }
        assert_eq!(stride(u64::MAX, 1), u64::MAX);
        assert_eq!((max_alignment(0), stride(0, 0)), (1, 0));
    }

    #[test]
    fn addresses_go_there_and_back() {
        let layout = |me| Layout::new(1 << 40, 1 << 21, 1 << 20, me, 3);
        for pe in 0..3 {
            for offset in [0, 1, (1 << 21) - 1] {
                let layout = layout(pe);
                let address = layout.address(pe, offset);
                assert_eq!(layout.locate(address), Some((pe, offset)));
                assert_eq!(layout.own_offset(address), Some(offset));
            }
        }
        let layout = layout(0);
        assert_eq!(layout.locate((1 << 40) - 1), None);
        assert_eq!(layout.locate(layout.address(3, 0)), None);
        for (address, bytes, into) in [
            ((1 << 40) - 8, 8, false),
            ((1 << 40) - 8, 9, true),
            ((1 << 40) - 8, u64::MAX, true),
            (layout.address(3, 0), 1 << 60, false),
            (u64::MAX, (1 << 40) + 1, false),
            (u64::MAX, (1 << 40) + 2, true),
        ] {
            assert_eq!(layout.run_into(address, bytes), into, "{address:#x}");
        }
        for (address, word) in [
            (layout.address(1, 8), "PE 1's part"),
            (0, "NULL"),
            (4096, "outside"),
        ] {
            assert_eq!(layout.own_offset(address), None);
            let error = layout.not_symmetric("dest", address).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
