//! What a word's cell says.

use crate::transport::check::clocks::Clocks;
use crate::transport::check::tracker::Kind;

/// One access to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::check) struct Cell(pub(super) u64);

impl Cell {
    /// Stands for writes that are no longer known.
    pub(in crate::transport::check) const LOST: Cell = Cell(0x7fff_ffff);

    #[inline(always)]
    pub(in crate::transport::check) fn new(
        tag: u64,
        pe: u64,
        mask: u8,
        kind: Kind,
        site: u16,
    ) -> Cell {
        Cell(
            tag << 31
                | pe << 23
                | u64::from(mask) << 15
                | (kind as u64 & 7) << 12
                | u64::from(site & 0xfff),
        )
    }

    /// What a word's cell holds, if anything.
    #[inline(always)]
    pub(in crate::transport::check) fn of(bits: u64) -> Option<Cell> {
        (bits != 0).then_some(Cell(bits))
    }

    #[inline(always)]
    pub(in crate::transport::check) fn tag(self) -> u64 {
        self.0 >> 31
    }

    #[inline(always)]
    pub(in crate::transport::check) fn pe(self) -> u64 {
        self.0 >> 23 & 0xff
    }

    #[inline(always)]
    pub(in crate::transport::check) fn mask(self) -> u8 {
        (self.0 >> 15) as u8
    }

    #[inline(always)]
    pub(in crate::transport::check) fn kind(self) -> Kind {
        Kind::ALL[(self.0 >> 12 & 7) as usize]
    }

    #[inline(always)]
    pub(in crate::transport::check) fn site(self) -> u16 {
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

    /// Whether it came before what this PE does now, to the memory of `owner`.
    #[inline(always)]
    pub(in crate::transport::check) fn ordered(self, clocks: &Clocks, owner: u64) -> bool {
        let (pe, tag) = (self.pe(), self.tag());
        match self.kind() {
            Kind::GetNbi => clocks.completed(pe, tag),
            Kind::Put | Kind::PutSignal | Kind::Atomic => clocks.arrived(owner, pe, tag),
            _ => clocks.saw(pe, tag),
        }
    }
}
