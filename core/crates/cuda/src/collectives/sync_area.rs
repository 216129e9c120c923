//! The layout of the sync area: the words by which kernels of collectives meet, behind the window of each PE's part. Arithmetic only.
//!
//! ```text
//! 0         an epoch block per team number: the PE's own, counted by its kernels
//! 64 KiB    a sync block per team number: flags and staging, which the other members write
//! ```
//!
//! The whole area is backed and zero from init on, so creating a team allocates no memory. WORLD's number, the first, has the largest block.
//! The next numbers, those of the other predefined teams and of the program's first few, have large blocks. A team with a small block does
//! without the algorithms that need more.

use crate::buffer::SymRange;
use crate::job::block::MAX_TEAMS;
use crate::job::layout::HEAP_UNIT;

/// Bytes of an epoch block.
pub(crate) const EPOCH: u64 = 64;
/// The offset of the sync blocks.
const BLOCKS: u64 = 64 << 10;
/// Bytes of WORLD's block: two PEs exchange almost 1 MiB with flags, and almost 6 MiB by Lamport's algorithm.
const WORLD: u64 = 32 << 20;
/// Team numbers with a large block, WORLD's among them.
const LARGE_TEAMS: u64 = 8;
/// Bytes of a large block.
const LARGE: u64 = 4 << 20;
/// Bytes of a small block.
const SMALL: u64 = 128 << 10;
const _: () = assert!(MAX_TEAMS as u64 * EPOCH <= BLOCKS && MAX_TEAMS as u64 > LARGE_TEAMS);

/// Bytes of the area.
pub(crate) const BYTES: u64 = (BLOCKS + block_start(MAX_TEAMS as u64)).next_multiple_of(HEAP_UNIT);

/// The range of a team's epoch block, in an area that begins at symmetric offset `area`.
pub(crate) fn epoch(area: u64, team: u32) -> SymRange {
    SymRange::new(area + u64::from(team) * EPOCH, EPOCH)
}

/// The range of a team's sync block.
pub(crate) fn block(area: u64, team: u32) -> SymRange {
    let (start, end) = (block_start(team.into()), block_start(u64::from(team) + 1));
    SymRange::new(area + BLOCKS + start, end - start)
}

/// The start of a team's block, behind the blocks of lower numbers.
const fn block_start(team: u64) -> u64 {
    match team {
        0 => 0,
        1..=LARGE_TEAMS => WORLD + (team - 1) * LARGE,
        _ => WORLD + (LARGE_TEAMS - 1) * LARGE + (team - LARGE_TEAMS) * SMALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_the_area_without_overlap() {
        let mut end = 1 << 40;
        for team in 0..MAX_TEAMS as u32 {
            let epoch = epoch(1 << 40, team);
            assert_eq!(epoch.offset(), end);
            end += epoch.bytes();
        }
        assert!(end <= block(1 << 40, 0).offset());
        end = block(1 << 40, 0).offset();
        for team in 0..MAX_TEAMS as u32 {
            let block = block(1 << 40, team);
            assert_eq!(block.offset(), end);
            assert!(block.offset().is_multiple_of(64 << 10));
            end += block.bytes();
        }
        let left = (1 << 40) + BYTES - end;
        assert!(left < HEAP_UNIT, "{left}");
    }
}
