//! Blocks of symmetric memory, which come and go.

use super::{Block, Kind, Tracker};
use crate::area;
use crate::buffer::SymRange;
use crate::report::Problem;
use crate::tally::Seen;
use crate::{Error, Result};

impl Tracker {
    /// Backs the shadow of this PE's copy of `range` with memory, and clears it: for a new allocation or registration, before its
    /// last meeting.
    pub(crate) fn commit(&self, range: SymRange) -> Result<()> {
        self.forget(range);
        self.area
            .commit(self.me, range.offset(), range.bytes())
            .map_err(|error| {
                let bytes = range.bytes();
                Error::system(
                    "committing the checker's memory",
                    format!(
                        "{error}; NVSHMEMRS_CHECK needs 5 times as much memory as the program allocates, here {} bytes more for {bytes}",
                        bytes * 4
                    ),
                )
            })
    }

    /// Gives back the memory that `commit` took.
    pub(crate) fn decommit(&self, range: SymRange) {
        self.forget(range);
        self.area.decommit(self.me, range.offset(), range.bytes());
    }

    fn forget(&self, range: SymRange) {
        let first = range.offset() / area::WORD;
        let count = (range.offset() + range.bytes()).div_ceil(area::WORD) - first;
        self.syncs.forget(self.me, first, count);
    }

    /// There is a new block, on all PEs.
    pub(crate) fn allocated(&self, range: SymRange, site: u16) {
        let (start, bytes) = (range.offset(), range.bytes());
        let blocks = &mut self.lock().blocks;
        let over = |(offset, block): (&u64, &Block)| {
            (*offset < start + bytes && start < offset + block.bytes).then_some(*offset)
        };
        let gone: Vec<u64> = blocks
            .range(..start + bytes)
            .rev()
            .map_while(over)
            .collect();
        for offset in gone {
            blocks.remove(&offset);
        }
        blocks.insert(start, Block { bytes, site });
        // Memory of a line of Python's is an array of NumPy's, or of a library that shares it.
        if self.own_name(site).contains(".py:") {
            self.tally.note_once(Seen::PythonArrays);
        }
    }

    /// The executable's variables are symmetric, on all PEs.
    pub(crate) fn has_variables(&self, range: SymRange) {
        self.lock().variables = Some(range);
    }

    /// The name of the site that has allocated the block that an offset lies in.
    pub(crate) fn maker(&self, offset: u64) -> Option<String> {
        let (_, block) = self.lock().block(offset)?;
        Some(self.own_name(block.site))
    }

    /// This PE has called free for these bytes, before it completes its operations and meets the others.
    pub(crate) fn freed(&self, range: SymRange, site: u16) {
        let number = self.lock().frees;
        self.clocks.free(number);
        // Without a name of its own it could not be told from other stores.
        if site != 0 && range.bytes() > 0 {
            self.area.set_frees(self.me, site);
            let (offset, bytes) = (range.offset(), range.bytes());
            self.record(Kind::Store, self.me, offset, bytes, site, true);
        }
    }

    /// The PEs have not come together to free it.
    pub(crate) fn not_freed(&self) {
        self.lock().freed.clear();
    }

    /// All PEs have called it: data that was put and never ordered before anything is lost.
    pub(crate) fn all_freed(&self) {
        let (conflicts, number) = {
            let mut state = self.lock();
            state.frees += 1;
            (std::mem::take(&mut state.freed), state.frees - 1)
        };
        for (access, site, conflict) in conflicts {
            let put = if access.frees {
                conflict.cell
            } else {
                access.cell
            };
            if self.clocks.ordered_before_free(put.pe(), put.tag(), number) {
                continue;
            }
            let mut finding = self.finding(Problem::FreeEarly, &access, site, &conflict);
            finding.why = format!(
                "free completes it, but PE {} has called no fence, quiet or barrier and sent no signal between the two, so nobody knows of it",
                put.pe()
            );
            self.found(finding);
        }
    }
}
