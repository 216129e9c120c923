//! The observer of a program: events that a transport receives besides the operations. The checker implements it.

use super::Call;
use crate::Pe;
use crate::buffer::{LocalDest, SymRange};
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::operation::Operation;
use crate::sites::Access;
use std::panic::Location;

/// A wait for a word of this PE.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    pub offset: u64,
    pub dtype: Dtype,
    pub cmp: Cmp,
    pub expected: u64,
    pub site: u16,
}

/// Observes the program. A site is the number of an operation at one place in the program.
pub trait Observer: Send + Sync {
    /// The site of an operation that is called at `at`.
    fn site(&self, called: Operation, at: &'static Location<'static>) -> u16;

    /// The name of a site of any PE: "put at heat.c:71 (send_halo)".
    fn site_name(&self, pe: Pe, site: u16) -> String;

    /// The name of the site that has allocated the block at an offset of this PE.
    fn maker(&self, offset: u64) -> Option<String>;

    /// All PEs have allocated a block.
    fn allocated(&self, range: SymRange, site: u16);

    /// This PE frees a block.
    fn freed(&self, range: SymRange, site: u16);

    /// All PEs have entered a collective that frees.
    fn all_freed(&self);

    /// The collective failed: nothing is freed.
    fn not_freed(&self);

    /// A block was freed, and is not used again until its [quarantine ends](Observer::quarantine_ends).
    fn quarantined(&self, range: SymRange);

    /// Its memory is about to be given back, in a collective that is called at `site`; 0 if it is not known.
    fn quarantine_ends(&self, range: SymRange, site: u16);

    /// The program has a pointer to another PE's memory.
    fn pointer_given(&self, pe: Pe);

    /// This PE arrives at a meeting of a team; at `site`; `completes`: its earlier operations are complete.
    fn arrive(&self, team: u32, epoch: u64, completes: bool, site: u16);

    /// The site at which `pe` came to a meeting of a team, in which all have met.
    fn arrived_at(&self, team: u32, pe: Pe, epoch: u64) -> u16;

    /// The members have met.
    fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16);

    /// Two PEs of a team have entered a collective with calls that do not match.
    fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String);

    /// The program, or a collective for it, reads, or if `write` writes, a range of this PE's own memory.
    fn own(&self, write: bool, range: SymRange, site: u16);

    /// The program is about to read words of this PE.
    fn look(&self, words: SymRange);

    /// A wait begins.
    fn watch(&self, watch: &Watch);

    /// A wait has ended; `held`: with a matching value, which was [acquired](Observer::acquired).
    fn unwatch(&self, watch: &Watch, held: bool);

    /// The program has read the value of a word of this PE that it waits for, tests or fetches.
    fn acquired(&self, element: SymRange, value: u64, site: u16);

    /// The program has created a stream; its number, if the observer distinguishes it.
    fn stream_made(&self) -> Option<u32>;

    /// Work is being queued on a stream, by this thread: returns the knowledge of this thread, for the work.
    fn stream_submits(&self, stream: u32) -> Vec<u64>;

    /// This thread begins with work of a stream, which was queued with the knowledge `known`. `function`: the work is a function of the program.
    fn stream_begins(&self, stream: Option<u32>, known: &[u64], function: bool);

    /// The work has ended.
    fn stream_ends(&self, stream: u32);

    /// Work that was queued will not run.
    fn stream_forgets(&self, stream: u32);

    /// This thread has found that all work of a stream has ended.
    fn stream_done(&self, stream: u32);

    /// This thread, which runs a stream, has come to an event: returns its knowledge.
    fn event_reached(&self) -> Vec<u64>;

    /// This thread has found that an event was reached.
    fn event_seen(&self, known: &[u64]);

    /// The observer writes the result of a fetching atomic operation to `dest` at some time before quiet. `false`: the caller
    /// writes it.
    fn give_until_quiet(&self, dest: &LocalDest<'_>, value: u64, call: Call) -> bool;

    /// Whether a plain access of the program to memory of this process may be relevant.
    fn concerns(&self, address: u64, bytes: u64) -> bool;

    /// The program itself reads or writes memory of this process.
    fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16);

    /// The program announces all of its loads and stores.
    fn reports_accesses(&self);

    /// The number of findings on this PE, and on all PEs in finalize.
    fn findings(&self) -> (u64, u64);

    /// The texts of this PE's last findings, oldest first.
    fn reports(&self) -> Vec<String>;

    /// The text to write at the end, if any.
    fn summary(&self) -> Option<String>;

    /// Ends the background thread. Delayed operations, if any, are dropped.
    fn stop(&self);

    /// As [`stop`](Observer::stop), in a forked child, where no thread of it exists.
    fn abandon(&self);
}
