//! The tracker: the accesses of each PE to symmetric memory, and their order with the accesses of others.
//!
//! # The rules
//!
//! The actor is a PE, not a thread. An access is checked when it is issued, against all earlier ones of the same bytes whose order with it is
//! not known. [`clocks`](super::clocks) has the order, [`shadow`](super::shadow) the accesses to each byte, and [`sync`](super::sync) the
//! publications with each word. Two accesses conflict if they are of different PEs, at least one writes, and not both are atomic.
//!
//! * **Publishing.** Any put, signal and atomic operation that writes publishes, with the word it writes and at the moment its effect can be
//!   seen, the knowledge of its PE when it was issued: all of its operations that are over on return, its completed puts, its knowledge of
//!   others; and for the memory it writes to, that its puts up to its last fence have arrived. `signal_op` and atomic operations count as a
//!   fence for that memory, by `docs/memory-model.md`; the signal of `put_signal` does not, but a PE that has seen it may use its data.
//! * **Seeing.** A PE that waits for a word successfully, or fetches it atomically, learns all that writes to it have published so far. This
//!   is more than needed if the word was set, not added to: earlier values are gone then, but seeing too much never makes a false report. A
//!   word that was put, added to and set by turns is one word. A wait leaves no cell: its purpose is that another PE writes the word
//!   meanwhile. Writes that were seen have arrived, so the word itself may be read and reset at once.
//! * **A word within a longer put** publishes as a put of that word alone. The rest of the same put is not covered: it may come later.
//! * **Passed-on data** was complete, or a word was seen, before it was passed on; so knowledge is transitive, through any number of PEs and
//!   kinds of words. But a fence orders nothing for a PE that uses another PE's memory than that of the flag.
//! * **Own puts** to own memory arrive like those to others: by quiet, or by seeing an own flag that was sent after a fence.
//! * **Own puts** must be complete before the PE reads the place, or stores to it. Own signals before it reads the word plainly.
//! * **Single elements** count as all others, although they are not torn: a get of a word that another PE puts gives the old or the new
//!   value, and a program may accept either. It orders nothing, and a read of one element of many is the same bug as a read of all. The
//!   operations for such words are signals and atomic operations, or waits and tests.
//! * **Barriers** come after quiet, so all operations that members publish there are complete. sync and the other collectives publish
//!   operations that are over or were completed before. `malloc` and `free` are barriers.
//! * **free** begins with a barrier, so nothing is wrong with a put before it. But a put that its PE has ordered before nothing, so that
//!   nobody can have used it, and that its target's owner does not know of, is a finding: free is a write to the block by its owner, which
//!   only puts and stores of others conflict with, before it or after it, and when all have come to it they are looked at. Words that PEs
//!   synchronise by are left out: the last answer of a protocol need not be waited for. The part that realloc keeps is not freed.
//! * **A wait can miss its value** if another PE replaces the value, by an operation that does not fetch (a fetching one knows the value that
//!   it replaces: a lock's holder), and is not ordered after the wait; if the value was brought by another PE, too; and if it is replaced
//!   only once, because a value that comes again and again (a busy mark) is seen in the end.
//! * **A pointer** to another PE's copy lets the program load and store there unseen, if it does not report its own accesses
//!   (`check_access`). From then on, a PE that sees a value in that PE's memory that no known operation has brought learns all from the PEs
//!   that may have stored it; and between two PEs of which one has a pointer to the other's memory there may be unknown order: an access of
//!   one of them is no finding of the other.
//! * Lost records (full tables, more than four accesses to a word, old history) make later reports fewer, never wrong.

mod blocks;
mod explain;
#[cfg(test)]
mod tests;
mod words;

use super::area::{self, Area};
use super::clocks::{self, Clock, Clocks};
pub(crate) use super::clocks::{ReleaseStamp, Standing};
use super::report::{Finding, Names, Reports};
use super::shadow::{Access, Cell, Conflict, Rewrites, Shadow};
use super::sync::Syncs;
use super::tally::{Seen, Tally};
use crate::buffer::SymRange;
use crate::job::block::Control;
use crate::job::executable::Variables;
use crate::sites::{self, Sites};
use crate::{Error, Pe, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};

/// The effect of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Reads, by the program or as the source of a put or a collective, and is over.
    Load = 0,
    /// Reads atomically: atomic_fetch.
    AtomicLoad = 1,
    /// Reads until the PE's next quiet: get_nbi, or the source of put_nbi.
    GetNbi = 2,
    /// Writes, by the program, and is over. Also the dest of a get, get_nbi or collective.
    Store = 3,
    /// Writes at some time before the PE's next quiet.
    Put = 4,
    /// As `Put`, and before a signal of its own: a PE that has seen the signal may use the data.
    PutSignal = 5,
    /// An atomic operation or a signal that does not fetch.
    Atomic = 6,
    /// An atomic operation that fetches and writes: over on return.
    AtomicFetch = 7,
    /// Reads another PE's memory, and is over on return. In a cell it is a load.
    Get = 8,
}

impl Kind {
    /// By their numbers in cells.
    pub(super) const ALL: [Kind; 8] = [
        Kind::Load,
        Kind::AtomicLoad,
        Kind::GetNbi,
        Kind::Store,
        Kind::Put,
        Kind::PutSignal,
        Kind::Atomic,
        Kind::AtomicFetch,
    ];

    /// The kind with this number.
    pub(crate) fn from_number(number: u64) -> Option<Kind> {
        match usize::try_from(number).ok()? {
            8 => Some(Kind::Get),
            index => Kind::ALL.get(index).copied(),
        }
    }

    #[inline(always)]
    pub(super) fn writes(self) -> bool {
        matches!(self as u8, 3..=7)
    }

    #[inline(always)]
    pub(super) fn is_put(self) -> bool {
        matches!(self, Kind::Put | Kind::PutSignal)
    }

    #[inline(always)]
    pub(super) fn reads(self) -> bool {
        !self.writes() || self == Kind::AtomicFetch
    }

    #[inline(always)]
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Kind::AtomicLoad | Kind::Atomic | Kind::AtomicFetch)
    }

    /// Whether it is over on return.
    #[inline(always)]
    pub(super) fn is_over(self) -> bool {
        !matches!(
            self,
            Kind::GetNbi | Kind::Put | Kind::PutSignal | Kind::Atomic
        )
    }

    /// Whether it may need a tag of its own. An access that needs quiet or a fence does not, unless a signal announces it.
    #[inline(always)]
    fn is_told_apart(self) -> bool {
        self.is_over() || self == Kind::PutSignal
    }

    /// Whether all that conflicts with `old` conflicts with this, too.
    #[inline(always)]
    pub(super) fn covers(self, old: Kind) -> bool {
        (self.writes() || !old.writes()) && (!self.is_atomic() || old.is_atomic())
    }

    /// Whether a PE that is ordered after this access is ordered after `old` of the same PE, too.
    #[inline(always)]
    pub(super) fn completes_with(self, old: Kind) -> bool {
        match old {
            Kind::Put | Kind::PutSignal | Kind::Atomic | Kind::GetNbi => self == old,
            _ => true,
        }
    }
}

/// How this PE came to know of another one's operations.
#[derive(Clone, Copy, Debug)]
enum LearnedBy {
    /// By a word of `owner`, which the other one had written at `flag`, a site of its own, with the tag `written`.
    Word { owner: u64, flag: u16, written: u64 },
    /// In a meeting; `completing`: a barrier.
    Meeting { completing: bool },
}

/// The last time that this PE learned of another one directly.
#[derive(Clone, Copy, Debug)]
struct Learned {
    /// The other one's operations up to this tag.
    tag: u64,
    /// In which operation of this PE's.
    site: u16,
    by: LearnedBy,
}

/// A block of symmetric memory.
#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    site: u16,
}

#[derive(Default)]
struct State {
    learned: Vec<Option<Learned>>,
    /// By offset.
    blocks: BTreeMap<u64, Block>,
    /// Where the executable's variables are, if they are symmetric.
    variables: Option<SymRange>,
    /// Whether the meeting that this PE is in is a barrier.
    completing: bool,
    /// Puts without any order to the block that is being freed: this PE's accesses, their sites and conflicts.
    freed: Vec<(Access, u16, Conflict)>,
    /// Frees that all PEs have come to, which is the number of the next one.
    frees: u64,
}

impl State {
    /// The block that an offset lies in, and where it begins.
    fn block(&self, offset: u64) -> Option<(u64, Block)> {
        let (&start, &block) = self.blocks.range(..=offset).next_back()?;
        (offset - start < block.bytes).then_some((start, block))
    }

    /// The variable of the executable that an offset lies in, and the bytes from its start to the offset. All PEs have one executable.
    fn variable(&self, offset: u64) -> Option<(String, u64)> {
        let inside = |range: &SymRange| offset.wrapping_sub(range.offset()) < range.bytes();
        let range = self.variables.filter(inside)?;
        let start = Variables::find().ok()?.start;
        sites::variable(start + (offset - range.offset()))
    }
}

/// One PE's tracker. All methods may be called from any thread of the PE.
pub(crate) struct Tracker {
    me: u64,
    area: Area,
    clocks: Clocks,
    shadow: Shadow,
    syncs: Syncs,
    /// The names of this PE's sites; `None` if the PE is on another host, and its names are in the area.
    sites: Option<Arc<Sites>>,
    reports: Reports,
    /// The launcher's count of findings.
    tally: Arc<Tally>,
    /// Whether something was issued with the current tag that others can draw conclusions from.
    released: AtomicBool,
    state: Mutex<State>,
}

impl Tracker {
    /// Of PE `me`, in a job that is checked. An error if it is not, or if it has too many PEs.
    pub(crate) fn new(control: &Control, me: Pe, sites: Arc<Sites>) -> Result<Tracker> {
        let tally = Arc::new(Tally::from_environment(me)?);
        Tracker::with(control, me, Some(sites), tally, true)
    }

    /// Of a PE of another host, which this one runs; with this PE's tally.
    pub(crate) fn for_other_host(control: &Control, pe: Pe, tally: Arc<Tally>) -> Result<Tracker> {
        Tracker::with(control, pe, None, tally, true)
    }

    fn with(
        control: &Control,
        me: Pe,
        sites: Option<Arc<Sites>>,
        tally: Arc<Tally>,
        printed: bool,
    ) -> Result<Tracker> {
        let n_pes = control.n_pes();
        if n_pes > area::MAX_PES {
            return Err(Error::NotSupported(format!(
                "NVSHMEMRS_CHECK with {n_pes} PEs: the checker can follow {} at most",
                area::MAX_PES
            )));
        }
        let Some(area) = Area::new(control) else {
            return Err(Error::Internal(
                "the job has no room for the checker".into(),
            ));
        };
        let (names, own) = (area.clone(), me as u64);
        if let Some(sites) = &sites {
            sites.on_new(move |site, name| names.set_name(own, site, name));
        }
        let learned = vec![None; n_pes as usize];
        Ok(Tracker {
            me: own,
            clocks: Clocks::new(area.clone(), me),
            shadow: Shadow::new(area.clone(), own),
            syncs: Syncs::new(area.clone()),
            area,
            sites,
            reports: Reports::new(me, control.check_seed().unwrap_or(0), printed),
            tally,
            released: AtomicBool::new(false),
            state: Mutex::new(State {
                learned,
                ..State::default()
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    /// As [`release`](Tracker::release), for the signal of put_signal: a PE that sees it may use the data, and nothing else
    /// that it does not cover. After the [`access`](Tracker::access) of both.
    #[inline]
    #[must_use]
    pub(crate) fn release_signal(
        &self,
        pe: Pe,
        offset: u64,
        data: u64,
        bytes: u64,
    ) -> ReleaseStamp {
        ReleaseStamp {
            data: (data, bytes),
            ..self.release(pe, offset, false)
        }
    }

    /// Checks an access to `bytes` bytes at `offset` of `pe`'s part, and records it. At its issue, before any effect of it can be
    /// seen; a load that synchronises (wait, test, signal_fetch) is none.
    #[inline]
    pub(crate) fn access(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) {
        self.record(kind, pe as u64, offset, bytes, site, false);
    }

    /// As [`access`](Tracker::access), of a put. Gives the puts of this PE's own to the same bytes that nothing orders before it.
    #[inline]
    pub(crate) fn put(&self, kind: Kind, pe: Pe, offset: u64, bytes: u64, site: u16) -> Rewrites {
        self.record(kind, pe as u64, offset, bytes, site, false)
    }

    /// An operation of this PE, not over on return, was issued before and may still be under way: its cells become those of an operation
    /// that is issued now. Nothing is checked once more.
    pub(crate) fn reissue(&self, kind: Kind, (pe, offset): (Pe, u64), bytes: u64, site: u16) {
        if bytes == 0 || self.clocks.is_off() {
            return;
        }
        let access = Access {
            kind,
            owner: pe as u64,
            offset,
            bytes,
            cell: Cell::new(self.clocks.tag(), self.me, 0, kind, site),
            frees: false,
        };
        self.shadow.reissue(&access);
    }

    #[inline(always)]
    fn record(
        &self,
        kind: Kind,
        owner: u64,
        offset: u64,
        bytes: u64,
        site: u16,
        frees: bool,
    ) -> Rewrites {
        let mut rewrites = Rewrites::new();
        if bytes == 0 || self.clocks.is_off() {
            return rewrites;
        }
        let tag = match kind.is_told_apart() && self.released.load(Relaxed) {
            true => self.next(),
            false => self.clocks.tag(),
        };
        let access = Access {
            kind,
            owner,
            offset,
            bytes,
            cell: Cell::new(tag, self.me, 0, kind, site),
            frees,
        };
        let conflicts = self.shadow.access(&self.clocks, &access, &mut rewrites);
        if kind == Kind::Store && owner != self.me {
            // By a pointer; a PE that sees it may draw conclusions.
            self.released.store(true, Relaxed);
        }
        if !conflicts.is_empty() {
            self.explain(&access, site, conflicts);
        }
        rewrites
    }

    #[cold]
    fn next(&self) -> u64 {
        let _state = self.lock();
        self.released.store(false, Relaxed);
        self.clocks.next()
    }

    /// fence was called.
    pub(crate) fn fence(&self) {
        let _state = self.lock();
        self.released.store(false, Relaxed);
        self.clocks.fence();
    }

    /// quiet was called, and everything is complete.
    pub(crate) fn quiet(&self) {
        let _state = self.lock();
        self.released.store(false, Relaxed);
        self.clocks.quiet();
    }

    /// An operation of this PE that others may see and draw conclusions from was issued: a put of any length, an atomic operation
    /// that writes, a signal. After its [`access`](Tracker::access). `fenced`: all earlier puts of this PE to `pe` come first.
    #[inline]
    #[must_use]
    pub(crate) fn release(&self, _pe: Pe, _offset: u64, fenced: bool) -> ReleaseStamp {
        let stamp = self.clocks.stamp();
        if !fenced {
            self.released.store(true, Relaxed);
            return stamp;
        }
        self.clocks.order(stamp.tag);
        // Puts from here on are not covered.
        self.next();
        ReleaseStamp {
            fenced: stamp.tag,
            ..stamp
        }
    }

    /// This PE is about to arrive in meeting `epoch` of a team. `completing`: a barrier, before which quiet was called.
    pub(crate) fn arrive(&self, team: u32, epoch: u64, completing: bool, site: u16) {
        let mut state = self.lock();
        state.completing = completing;
        self.released.store(false, Relaxed);
        self.clocks.arrive(team, epoch, site);
    }

    /// The site at which `pe` has come to meeting `epoch` of a team.
    pub(crate) fn arrived_at(&self, team: u32, pe: Pe, epoch: u64) -> u16 {
        self.clocks.arrived_at(team, pe as u64, epoch)
    }

    /// It has seen that all members have arrived. Gives the tag of its own up to which it has heard of itself.
    pub(crate) fn met(
        &self,
        team: u32,
        members: &mut dyn Iterator<Item = Pe>,
        epoch: u64,
        site: u16,
    ) -> u64 {
        let mut state = self.lock();
        self.clocks.take_echo();
        let completing = state.completing;
        let mut new = false;
        for pe in members.map(|pe| pe as u64).filter(|&pe| pe != self.me) {
            new |= self.clocks.meet(team, epoch, pe);
            state.learned[pe as usize] = Some(Learned {
                tag: self.clocks.known(Clock::Seen, pe),
                site,
                by: LearnedBy::Meeting { completing },
            });
        }
        if new {
            self.released.store(false, Relaxed);
            self.clocks.keep();
        }
        self.clocks.take_echo()
    }

    /// The launcher's count of findings.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// The name of one of this PE's sites.
    fn own_name(&self, site: u16) -> String {
        let unknown = || "an operation at a place that is not known".to_string();
        match &self.sites {
            Some(sites) => sites.name(site),
            None if site == 0 => unknown(),
            None => self.area.name(self.me, site).unwrap_or_else(unknown),
        }
    }

    /// Publishes the name of a site of this PE, which is on another host.
    pub(crate) fn set_site(&self, site: u16, name: &str) {
        self.area.set_name(self.me, site, name);
    }

    /// The name of a PE's site.
    pub(crate) fn site_name(&self, pe: Pe, site: u16) -> String {
        Names::site(self, pe, site)
    }

    /// This PE's tag.
    pub(crate) fn tag(&self) -> u64 {
        self.clocks.tag()
    }

    /// Takes the next tag, which no operation has so far. Gives the one before.
    pub(crate) fn turn(&self) -> u64 {
        let _state = self.lock();
        let tag = self.clocks.tag();
        self.released.store(false, Relaxed);
        self.clocks.next();
        tag
    }

    /// Whether this PE may know of its own operations in an unseen way.
    pub(crate) fn may_know_unseen(&self) -> bool {
        (0..self.area.n() as u64).any(|pe| pe != self.me && self.clocks.linked(pe))
    }

    /// Sets the state of this PE.
    pub(crate) fn stand(&self, standing: Standing) {
        self.clocks.stand(standing);
    }

    /// An operation was delivered to `pe`.
    #[inline]
    pub(crate) fn wake(&self, pe: Pe) {
        self.clocks.wake(pe as u64);
    }

    /// Sets whether this PE holds operations back.
    pub(crate) fn hold(&self, holds: bool) {
        self.clocks.hold(holds);
    }

    /// Whether every other PE waits, or stalls.
    pub(crate) fn others_stand(&self) -> bool {
        self.clocks.others_stand()
    }

    /// Whether no other PE gets on without this one.
    pub(crate) fn others_need_this(&self, seed: u64) -> bool {
        self.clocks.others_need_this(seed)
    }

    /// Whether this PE is doing this.
    pub(crate) fn is_standing(&self, standing: Standing) -> bool {
        self.clocks.own_standing(standing)
    }

    /// The program has asked for the address of `pe`'s copy: from now on it may load and store there unseen.
    pub(crate) fn pointer_given(&self, pe: Pe) {
        if pe as u64 != self.me {
            self.clocks.take_pointer(pe as u64);
        }
    }

    /// Tells the launcher of a fact, the first time. A program that reports its own loads and stores has none that are unseen.
    pub(crate) fn note(&self, seen: Seen) {
        if seen == Seen::Accesses {
            self.clocks.report_accesses();
        }
        self.tally.note_once(seen);
    }

    /// Learns the knowledge that this PE may have by unseen ways. Returns whether there are any.
    #[cold]
    fn learn_unseen(&self) -> bool {
        let _state = self.lock();
        let new = self.clocks.learn_unseen();
        if new {
            self.released.store(false, Relaxed);
            self.clocks.keep();
        }
        new
    }

    /// A finding of another part of the checker; returns whether it is new, not a repeated one.
    pub(crate) fn found(&self, finding: Finding) -> bool {
        let count = |keys, json: String| {
            self.clocks.count_finding();
            self.tally.add(keys, &json);
        };
        self.reports.found(&finding, self, count)
    }

    /// The number of different findings of this PE.
    pub(crate) fn findings(&self) -> u64 {
        self.reports.count()
    }

    /// The number of findings of all PEs.
    pub(crate) fn job_findings(&self) -> u64 {
        (0..self.area.n() as u64)
            .map(|pe| self.clocks.findings(pe))
            .fold(0, u64::saturating_add)
    }

    /// The texts of the last findings, oldest first.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.texts()
    }

    /// The message of finalize about findings that were made more than once, and exhausted clocks; `None` if there is none.
    pub(crate) fn summary(&self) -> Option<String> {
        let often = self.reports.summary();
        if !self.clocks.is_off() {
            return often;
        }
        let me = self.me;
        let over = format!(
            "nvshmemrs check: PE {me}: the check ended before the program did: a PE has made more than {} steps\n",
            clocks::LAST_TAG - 1
        );
        Some(often.unwrap_or_default() + &over)
    }
}
