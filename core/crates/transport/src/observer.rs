//! The observer of a program: events that a transport receives besides the operations. The checker implements it.

use crate::Pe;
use crate::buffer::{LocalDest, SymRange};
use crate::dtype::Dtype;
use crate::op::Cmp;
use crate::operation::Operation;
use crate::sites::Access;
use std::panic::Location;

/// A wait for one own word.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    pub offset: u64,
    pub dtype: Dtype,
    pub cmp: Cmp,
    pub expected: u64,
    pub site: u16,
}

/// Observes what the program does. A site is the number of an operation at one place in the program.
pub trait Observer: Send + Sync {
    /// The site of an operation that is called at `at`.
    fn site(&self, called: Operation, at: &'static Location<'static>) -> u16;

    /// What a site of any PE is called: "put at heat.c:71 (send_halo)".
    fn site_name(&self, pe: Pe, site: u16) -> String;

    /// All PEs have a block now.
    fn allocated(&self, range: SymRange, site: u16);

    /// This PE frees a block.
    fn freed(&self, range: SymRange, site: u16);

    /// All PEs have come to a collective that frees.
    fn all_freed(&self);

    /// They have not: nothing is freed.
    fn not_freed(&self);

    /// A block was freed, and is not used again until its [quarantine ends](Observer::quarantine_ends).
    fn quarantined(&self, range: SymRange);

    /// Its memory is about to be given back, in a collective that is called at `site`; 0 if it is not known.
    fn quarantine_ends(&self, range: SymRange, site: u16);

    /// The program has a pointer to another PE's memory.
    fn pointer_given(&self, pe: Pe);

    /// This PE arrives at a meeting of a team; `completes`: its earlier operations are complete.
    fn arrive(&self, team: u32, epoch: u64, completes: bool);

    /// The members have met.
    fn met(&self, team: u32, members: &mut dyn Iterator<Item = Pe>, epoch: u64, site: u16);

    /// Two PEs of a team have come to one collective with calls that do not match.
    fn unmatched(&self, team: u32, mine: (Pe, u16), theirs: (Pe, u16), why: String);

    /// A block on this PE's own memory is read, or if `write` written, by the program, or by a collective for it.
    fn own(&self, write: bool, range: SymRange, site: u16);

    /// The program is about to look at own words.
    fn look(&self, words: SymRange);

    /// A wait begins.
    fn watch(&self, watch: &Watch);

    /// It has ended; `held`: with a value that holds, which was [acquired](Observer::acquired).
    fn unwatch(&self, watch: &Watch, held: bool);

    /// The program has seen the value of an own word that it waits for, tests or fetches.
    fn acquired(&self, element: SymRange, value: u64, site: u16);

    /// The program has made a stream; its number, if it is to be told apart.
    fn stream_made(&self) -> Option<u32>;

    /// Work is being queued on a stream, by this thread: what this thread knows, for the work.
    fn stream_submits(&self, stream: u32) -> Vec<u64>;

    /// This thread begins with work of a stream, which was queued by who knew `known`. `function`: it is a function of the program's.
    fn stream_begins(&self, stream: Option<u32>, known: &[u64], function: bool);

    /// The work has ended.
    fn stream_ends(&self, stream: u32);

    /// Work that was queued will not run.
    fn stream_forgets(&self, stream: u32);

    /// This thread has found that all work of a stream has ended.
    fn stream_done(&self, stream: u32);

    /// This thread, which runs a stream, has come to an event: what it knows.
    fn event_reached(&self) -> Vec<u64>;

    /// This thread has found that an event was reached.
    fn event_seen(&self, known: &[u64]);

    /// The result of a fetching atomic operation is to be in `dest` at some time before quiet. `false`: the caller writes it.
    fn give_until_quiet(&self, dest: &LocalDest<'_>, value: u64, site: u16) -> bool;

    /// Whether an access of the program's own to memory of this process may be of interest.
    fn concerns(&self, address: u64, bytes: u64) -> bool;

    /// The program itself reads or writes memory of this process.
    fn plain_access(&self, access: Access, address: u64, bytes: u64, site: u16);

    /// The program announces all of its loads and stores.
    fn shows_accesses(&self);

    /// How much was found on this PE, and on all that have come to finalize.
    fn findings(&self) -> (u64, u64);

    /// The texts of this PE's last findings, oldest first.
    fn reports(&self) -> Vec<String>;

    /// What is to be written at the end, if anything.
    fn summary(&self) -> Option<String>;

    /// Ends what goes on in the background. What is held back, if anything, is forgotten.
    fn stop(&self);

    /// As [`stop`](Observer::stop), in a forked child, where no thread of it exists.
    fn abandon(&self);
}
