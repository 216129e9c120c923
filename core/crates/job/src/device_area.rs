//! The layout of the area for kernels in each PE's part of the symmetric memory: tables, flags and epochs. Arithmetic only.
//!
//! ```text
//! 0         DeviceJob
//! 64        a DeviceTeam per team number
//! then      a copy of State, of 64 bytes as the structs above, and DeviceReport, of 384
//! near      a bit per PE: whether kernels reach it, of a job on several hosts
//! blocks    per team number: flags, epochs, mail, members
//! ```
//!
//! The flags of a team are `[slots][2 parities][members]` words, which the other members write. The epochs are `[slots]` words, which
//! kernels of the PE itself count. The mail is `[MAIL_SLOTS][2 parities][members][MAIL_WORDS]` words: small data that come with their flag.
//! The first teams of small jobs have long mail behind it: the same with [`DeviceArea::long_words`] words. The members are their PEs, an `i32`
//! each.

use super::layout::MAX_TEAMS;
use crate::Pe;
use crate::buffer::SymRange;

/// Concurrent collectives of a team in kernels, in a job of up to 64 PEs.
pub const SLOTS: u32 = 128;
/// Slots that have mail, and words that a member sends to another member in a collective. `include/nvshmemrs_device.cuh` has the same
/// numbers.
const MAIL_SLOTS: u64 = 8;
const MAIL_WORDS: u64 = 8;
/// Jobs of more PEs have no mail.
const MAIL_PES: u64 = 64;
/// Team numbers that have long mail, the PEs of the largest job that has it, and its words: of all members together, and of one at most.
const LONG_TEAMS: u64 = 8;
const LONG_PES: u64 = 16;
const LONG_WORDS: u64 = 4096;
const LONG_WORDS_OF_ONE: u64 = 2048;
/// Slots times PEs, in larger jobs.
const MOST_FLAGS: u64 = 64 * SLOTS as u64;
/// Bytes of each struct.
pub const STRUCT: u64 = 64;
/// The offset of the rows of teams.
const ROWS: u64 = STRUCT;
/// The offset of the copy of `State`.
const STATE: u64 = ROWS + MAX_TEAMS as u64 * STRUCT;
/// The offset of the report.
const REPORT: u64 = STATE + STRUCT;
/// Bytes for the report.
pub const REPORT_BYTES: u64 = 6 * STRUCT;
/// The offset of the bitmap of reached PEs.
const NEAR: u64 = REPORT + REPORT_BYTES;
/// Bytes of a flag or an epoch.
const WORD: u64 = size_of::<u64>() as u64;

/// The area of a job.
#[derive(Clone, Copy, Debug)]
pub struct DeviceArea {
    /// The symmetric offset of its first byte.
    start: u64,
    n_pes: u64,
    /// Blocks begin at multiples of this, if the area does.
    unit: u64,
}

impl DeviceArea {
    pub fn new(start: u64, n_pes: Pe, unit: u64) -> DeviceArea {
        DeviceArea {
            start,
            n_pes: n_pes as u64,
            unit,
        }
    }

    /// Concurrent collectives of a team in kernels.
    pub fn slots(&self) -> u32 {
        // A job has at least one PE; of a damaged control block nothing is known.
        (MOST_FLAGS / self.n_pes.max(1)).clamp(1, u64::from(SLOTS)) as u32
    }

    /// Bytes of the area.
    pub fn bytes(&self) -> u64 {
        let blocks = MAX_TEAMS as u64 * self.block_bytes();
        self.first_block() + blocks + LONG_TEAMS * self.long_bytes()
    }

    /// The offset of the `DeviceJob`.
    pub fn job(&self) -> u64 {
        self.start
    }

    /// Where the copy of `State` is.
    pub fn state(&self) -> u64 {
        self.start + STATE
    }

    /// The offset of the report, for a heap in host memory.
    pub fn report(&self) -> u64 {
        self.start + REPORT
    }

    /// The offset of the `DeviceTeam` of a team number. The first follows the `DeviceJob`; kernels rely on that.
    pub fn row(&self, team: u32) -> u64 {
        self.start + ROWS + u64::from(team) * STRUCT
    }

    /// The offset of the bitmap of reached PEs, in words of 32 bits.
    pub fn near(&self) -> u64 {
        self.start + NEAR
    }

    /// The range before the blocks.
    pub fn head(&self) -> SymRange {
        SymRange::new(self.start, self.head_bytes())
    }

    /// The block of a team number: it begins with the flags.
    pub fn block(&self, team: u32) -> SymRange {
        let team = u64::from(team);
        let longer = team.min(LONG_TEAMS) * self.long_bytes();
        let place = self.first_block() + team * self.block_bytes() + longer;
        let own = if team < LONG_TEAMS {
            self.long_bytes()
        } else {
            0
        };
        SymRange::new(self.start + place, self.block_bytes() + own)
    }

    /// The offset of the epochs of a team number.
    pub fn epochs(&self, team: u32) -> u64 {
        self.block(team).offset() + self.flag_bytes()
    }

    /// The offset of the mail of a team number; 0: a job of this size has no mail.
    pub fn mail(&self, team: u32) -> u64 {
        match self.mail_bytes() {
            0 => 0,
            _ => self.behind_epochs(team),
        }
    }

    /// The words that a member of a team sends another as long mail, which follows the mail; 0: there is none.
    pub fn long_words(&self, team: u32) -> u32 {
        if u64::from(team) < LONG_TEAMS {
            self.long_words_of_first() as u32
        } else {
            0
        }
    }

    /// The offset of the members of a team number.
    pub fn members(&self, team: u32) -> u64 {
        let block = self.block(team);
        block.offset() + block.bytes() - self.members_bytes()
    }

    fn first_block(&self) -> u64 {
        self.head_bytes().next_multiple_of(self.unit)
    }

    fn head_bytes(&self) -> u64 {
        NEAR + self.n_pes.div_ceil(64) * WORD
    }

    fn flag_bytes(&self) -> u64 {
        u64::from(self.slots()) * 2 * self.n_pes * WORD
    }

    fn behind_epochs(&self, team: u32) -> u64 {
        self.epochs(team) + u64::from(self.slots()) * WORD
    }

    /// It grows with the PEs on each PE, so large jobs have none.
    fn mail_bytes(&self) -> u64 {
        match self.n_pes {
            ..=MAIL_PES => MAIL_SLOTS * 2 * self.n_pes * MAIL_WORDS * WORD,
            _ => 0,
        }
    }

    /// Whole lines of 128 bytes.
    fn long_words_of_first(&self) -> u64 {
        match self.n_pes {
            1..=LONG_PES => (LONG_WORDS / self.n_pes / 16 * 16).min(LONG_WORDS_OF_ONE),
            _ => 0,
        }
    }

    fn long_bytes(&self) -> u64 {
        let bytes = MAIL_SLOTS * 2 * self.n_pes * self.long_words_of_first() * WORD;
        bytes.next_multiple_of(self.unit)
    }

    /// They end a block, and begin at whole words.
    fn members_bytes(&self) -> u64 {
        (self.n_pes * 4).next_multiple_of(WORD)
    }

    /// Without the long mail.
    fn block_bytes(&self) -> u64 {
        let epochs = u64::from(self.slots()) * WORD;
        let bytes = self.flag_bytes() + epochs + self.mail_bytes() + self.members_bytes();
        bytes.next_multiple_of(self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_area_overlaps() {
        for (n_pes, unit) in [
            (1, 256),
            (2, 4096),
            (3, 256),
            (16, 256),
            (17, 4096),
            (64, 4096),
            (65, 256),
            (4096, 4096),
        ] {
            let area = DeviceArea::new(1 << 30, n_pes, unit);
            let (n, slots) = (n_pes as u64, u64::from(area.slots()));
            assert_eq!(area.job() + STRUCT, area.row(0));
            assert_eq!(area.row(MAX_TEAMS as u32 - 1) + STRUCT, area.state());
            assert_eq!(area.state() + STRUCT, area.report());
            let mut end = area.head().offset() + area.head().bytes();
            assert_eq!(area.report() + REPORT_BYTES, area.near());
            assert_eq!(area.near() + n.div_ceil(64) * 8, end);
            for team in 0..MAX_TEAMS as u32 {
                let block = area.block(team);
                assert!(block.offset() >= end && block.offset().is_multiple_of(unit));
                assert_eq!(block.offset() + slots * 2 * n * 8, area.epochs(team));
                let behind = area.epochs(team) + slots * 8;
                let mail = if n <= 64 { 8 * 2 * n * 8 * 8 } else { 0 };
                assert_eq!(area.mail(team), if n <= 64 { behind } else { 0 });
                let long = 8 * 2 * n * u64::from(area.long_words(team)) * 8;
                assert_eq!(long > 0, team < 8 && n <= 16);
                assert!(area.members(team) >= behind + mail + long);
                end = block.offset() + block.bytes();
                assert!(area.members(team) + n * 4 <= end);
            }
            assert_eq!(end, area.job() + area.bytes());
        }
    }

    #[test]
    fn the_header_has_the_same_numbers() {
        let header = include_str!("../../../../include/nvshmemrs_device/types.cuh");
        let mail = format!("MAIL_SLOTS = {MAIL_SLOTS}, MAIL_WORDS = {MAIL_WORDS} ");
        let teams = format!("TEAMS = {} ", crate::layout::MAX_TEAMS);
        assert!(header.contains(&mail) && header.contains(&teams));
    }

    #[test]
    fn long_mail_is_shorter_the_more_members_there_are() {
        let words = |n_pes| DeviceArea::new(0, n_pes, 256).long_words(7);
        assert_eq!(
            [1, 2, 3, 8, 16, 17].map(words),
            [2048, 2048, 1360, 512, 256, 0]
        );
        assert_eq!(DeviceArea::new(0, 2, 256).long_words(8), 0);
    }

    #[test]
    fn slots_are_128_but_in_large_jobs() {
        let slots = |n_pes| DeviceArea::new(0, n_pes, 256).slots();
        assert_eq!([1, 64, 65, 4096].map(slots), [128, 128, 126, 2]);
    }
}
