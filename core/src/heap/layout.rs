//! Address arithmetic of the symmetric heap.
//!
//! Region 0 is the heap: one reserved range of `n_pes * stride` bytes, so PE p's copy of the symmetric offset `o`
//! is at `base + p * stride + o`, on the host and in a kernel alike. Addresses are numbers here; nothing in this file
//! touches memory.

use crate::{Error, Pe, Result};

/// Allocations start at multiples of this.
pub(crate) const GRANULE: u64 = 64;

/// The largest alignment a caller may ask for; strides are multiples of it.
pub(crate) const MAX_ALIGNMENT: u64 = 2 << 20;

/// Where the heap lies in this process, and how a PE's part of it is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) base: u64,
    pub(crate) stride: u64,
    pub(crate) n_pes: Pe,
}

impl Layout {
    /// The address of `offset` in the part of `pe`.
    #[inline(always)]
    pub(crate) fn address(&self, pe: Pe, offset: u64) -> u64 {
        self.base + pe as u64 * self.stride + offset
    }

    /// The PE and the offset that an address of this process belongs to, if it lies in the heap at all.
    #[inline(always)]
    pub(crate) fn locate(&self, address: u64) -> Option<(Pe, u64)> {
        let distance = address.wrapping_sub(self.base);
        (distance < self.stride * self.n_pes as u64)
            .then(|| ((distance / self.stride) as Pe, distance % self.stride))
    }

    /// The offset of a symmetric address of PE `me`.
    #[inline(always)]
    pub(crate) fn offset(&self, argument: &'static str, me: Pe, address: u64) -> Result<u64> {
        let offset = address.wrapping_sub(self.address(me, 0));
        if offset < self.stride {
            Ok(offset)
        } else {
            Err(self.not_symmetric(argument, me, address))
        }
    }

    #[cold]
    pub(crate) fn not_symmetric(&self, argument: &'static str, me: Pe, address: u64) -> Error {
        let why = match self.locate(address) {
            _ if address == 0 => "it is NULL".to_string(),
            Some((pe, _)) if pe != me => format!(
                "it lies in PE {pe}'s part of the heap; pass this PE's own address, the PE number says whose copy is meant"
            ),
            _ => {
                "it lies outside the symmetric heap; allocate it with nvshmemrs_malloc".to_string()
            }
        };
        Error::NotSymmetric {
            argument,
            address,
            why,
        }
    }
}

/// Rounds up to a multiple of `to`, a power of two; `None` on overflow.
pub(crate) fn round_up(value: u64, to: u64) -> Option<u64> {
    value.checked_add(to - 1).map(|sum| sum & !(to - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_there_and_back() {
        let layout = Layout {
            base: 1 << 40,
            stride: 1 << 21,
            n_pes: 3,
        };
        for pe in 0..3 {
            for offset in [0, 1, (1 << 21) - 1] {
                let address = layout.address(pe, offset);
                assert_eq!(layout.locate(address), Some((pe, offset)));
                assert_eq!(layout.offset("dest", pe, address).unwrap(), offset);
            }
        }
        assert_eq!(layout.locate((1 << 40) - 1), None);
        assert_eq!(layout.locate(layout.address(3, 0)), None);
        let peer = layout.offset("dest", 0, layout.address(1, 8)).unwrap_err();
        assert!(peer.to_string().contains("PE 1's part"), "{peer}");
        assert!(
            layout
                .offset("dest", 0, 0)
                .unwrap_err()
                .to_string()
                .contains("NULL")
        );
        assert!(
            layout
                .offset("dest", 0, 4096)
                .unwrap_err()
                .to_string()
                .contains("outside")
        );
    }
}
