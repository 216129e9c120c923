//! The cell of a word.

use crate::clocks::Clocks;
use crate::tracker::Kind;

/// One access to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell(pub(super) u64);

impl Cell {
    /// Stands for writes that are no longer known.
    pub(crate) const LOST: Cell = Cell(0x7fff_ffff);

    #[inline(always)]
    pub(crate) fn new(tag: u64, pe: u64, mask: u8, kind: Kind, site: u16) -> Cell {
        Cell(
            tag << 31
                | pe << 23
                | u64::from(mask) << 15
                | (kind as u64 & 7) << 12
                | u64::from(site & 0xfff),
        )
    }

    /// The contents of a word's cell, if it has any.
    #[inline(always)]
    pub(crate) fn of(bits: u64) -> Option<Cell> {
        (bits != 0).then_some(Cell(bits))
    }

    /// The cell as a number.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> u64 {
        self.0 >> 31
    }

    #[inline(always)]
    pub(crate) fn pe(self) -> u64 {
        self.0 >> 23 & 0xff
    }

    #[inline(always)]
    pub(crate) fn mask(self) -> u8 {
        (self.0 >> 15) as u8
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        Kind::ALL[(self.0 >> 12 & 7) as usize]
    }

    #[inline(always)]
    pub(crate) fn site(self) -> u16 {
        (self.0 & 0xfff) as u16
    }

    #[inline(always)]
    pub(super) fn with_mask(self, mask: u8) -> Cell {
        Cell(self.0 & !(0xff << 15) | u64::from(mask) << 15)
    }

    #[inline(always)]
    pub(super) fn with_kind(self, kind: Kind) -> Cell {
        Cell(self.0 & !(7 << 12) | (kind as u64) << 12)
    }

    /// Whether it came before the current operation of this PE, to the memory of `owner`.
    #[inline(always)]
    pub(crate) fn ordered(self, clocks: &Clocks, owner: u64) -> bool {
        let (pe, tag) = (self.pe(), self.tag());
        match self.kind() {
            Kind::GetNbi => clocks.completed(pe, tag),
            Kind::Put | Kind::PutSignal | Kind::Atomic => clocks.arrived(owner, pe, tag),
            _ => clocks.saw(pe, tag),
        }
    }
}
