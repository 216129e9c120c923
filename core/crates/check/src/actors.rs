//! The actors of a PE: its caller, and each of its streams; the memory that each has used, and the order of these accesses.
//!
//! Other PEs see one sequence of operations of this PE, so they cannot distinguish its actors. Here they are distinguished: an actor knows of
//! another one's operations up to some tag of the PE.
//!
//! * A job on a stream has the knowledge of its submitter, and knows the earlier work of the stream.
//! * An actor that has synchronised with a stream, or found it done, knows its work; an event has the knowledge of its stream at the event.
//! * An actor that learns of an operation of this PE by a word or by a meeting (an echo) has the knowledge of the actor that published it.
//! * A function of the program's that ran on a stream may have informed every actor.
//!
//! Two accesses of two actors to the same bytes are a finding if one of them writes and the later one does not know of the earlier one.
//! Memory that is not symmetric counts where an operation of the library uses it, so that a block freed and allocated again is no
//! finding. While no stream has work that its caller does not know of, nothing is kept.

use super::Checker;
use super::report::{AccessInfo, Finding, FindingPlace, Problem};
use super::tally::Seen;
use super::tracker::Kind;
use crate::Pe;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard};

/// Streams that are distinguished. Operations on later ones are not watched.
const STREAMS: usize = 255;
/// Accesses and publications that are remembered.
const USES: usize = 4096;
const RELEASES: usize = 4096;

/// The caller's number; the streams have those behind it.
const CALLER: usize = 0;
/// Stands for a stream that has no number.
const NOBODY: usize = usize::MAX;

thread_local! {
    /// The actor whose operations this thread runs.
    static ACTOR: Cell<usize> = const { Cell::new(CALLER) };
    /// Whether a function of the program's runs on a stream.
    static FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one of the program's own.
pub(super) fn is_caller() -> bool {
    ACTOR.get() == CALLER
}

/// The knowledge of an actor about each actor, by their numbers: tags, and 0 for missing ones.
pub(crate) type Known = Vec<u64>;

fn of(known: &Known, actor: usize) -> u64 {
    known.get(actor).copied().unwrap_or(0)
}

fn raise(known: &mut Known, actor: usize, tag: u64) {
    if known.len() <= actor {
        known.resize(actor + 1, 0);
    }
    known[actor] = known[actor].max(tag);
}

fn learn(known: &mut Known, other: &[u64]) {
    for (actor, &tag) in other.iter().enumerate() {
        raise(known, actor, tag);
    }
}

/// An access that is remembered.
#[derive(Clone, Copy)]
struct Use {
    start: u64,
    end: u64,
    actor: usize,
    tag: u64,
    write: bool,
    atomic: bool,
    /// Whether the memory is symmetric, or an operation of the library used it.
    counts: bool,
    site: u16,
}

/// Something that an actor has published.
struct Release {
    actor: usize,
    tag: u64,
    known: Arc<Known>,
}

#[derive(Default)]
struct State {
    known: Vec<Arc<Known>>,
    /// Jobs of each actor that were queued and have not ended, and its tag when the last one ended.
    queued: Vec<u64>,
    ended: Vec<u64>,
    uses: VecDeque<Use>,
    releases: VecDeque<Release>,
    /// The knowledge in publications that are no longer remembered.
    forgotten: Known,
}

/// The actors of a PE.
#[derive(Default)]
pub(super) struct Actors {
    /// Whether a stream has something to do, or has done something, that the caller does not know of.
    active: AtomicBool,
    /// Whether kernels run, whose place in the order of the actors is not known.
    ignored: AtomicBool,
    state: Mutex<State>,
}

impl State {
    fn known(&mut self, actor: usize) -> &mut Known {
        Arc::make_mut(&mut self.known[actor])
    }

    /// Whether the caller knows all that the streams were asked for.
    fn is_at_rest(&self) -> bool {
        let caller = &self.known[CALLER];
        (1..self.known.len())
            .all(|actor| self.queued[actor] == 0 && of(caller, actor) >= self.ended[actor])
    }

    fn rest(&mut self, active: &AtomicBool) {
        if self.is_at_rest() {
            self.uses.clear();
            active.store(false, Release);
        }
    }
}

impl Actors {
    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock::lock(&self.state)
    }

    /// Whether accesses of the program's to any memory matter.
    #[inline(always)]
    pub(super) fn is_active(&self) -> bool {
        self.active.load(Relaxed) && !self.ignored.load(Relaxed)
    }

    /// From now on actors are not told apart.
    pub(super) fn ignore(&self) {
        self.ignored.store(true, Relaxed);
    }

    /// A new stream; `None` if there are too many.
    pub(super) fn add(&self) -> Option<u32> {
        let mut state = self.lock();
        if state.known.is_empty() {
            state.known.push(Arc::default());
            state.queued.push(0);
            state.ended.push(0);
        }
        let number = state.known.len();
        if number > STREAMS {
            return None;
        }
        state.known.push(Arc::default());
        state.queued.push(0);
        state.ended.push(0);
        Some(number as u32)
    }

    /// The knowledge of this thread's actor, `tag` being its last tag.
    fn current(&self, tag: u64) -> Known {
        let actor = ACTOR.get();
        let mut state = self.lock();
        if actor == NOBODY || state.known.is_empty() {
            return Known::new();
        }
        raise(state.known(actor), actor, tag);
        Known::clone(&state.known[actor])
    }

    fn learn(&self, other: &[u64]) {
        let actor = ACTOR.get();
        let mut state = self.lock();
        if actor != NOBODY && !state.known.is_empty() {
            learn(state.known(actor), other);
            state.rest(&self.active);
        }
    }

    /// This thread's actor has published something with a tag.
    pub(super) fn releases(&self, tag: u64) {
        let actor = ACTOR.get();
        if !self.is_active() || actor == NOBODY {
            return;
        }
        let mut state = self.lock();
        let state = &mut *state;
        if of(&state.known[actor], actor) < tag {
            raise(state.known(actor), actor, tag);
        } else if state
            .releases
            .back()
            .is_some_and(|last| (last.actor, last.tag) == (actor, tag))
        {
            return;
        }
        if state.releases.len() == RELEASES
            && let Some(oldest) = state.releases.pop_front()
        {
            learn(&mut state.forgotten, &oldest.known);
        }
        let known = Arc::clone(&state.known[actor]);
        state.releases.push_back(Release { actor, tag, known });
    }

    /// This thread's actor has learned of the PE's operations up to a tag.
    pub(super) fn receives_echo(&self, echo: u64) {
        let actor = ACTOR.get();
        if echo == 0 || !self.is_active() || actor == NOBODY {
            return;
        }
        let mut state = self.lock();
        let mut heard = state.forgotten.clone();
        for release in state.releases.iter().filter(|release| release.tag <= echo) {
            if of(&heard, release.actor) < release.tag {
                learn(&mut heard, &release.known);
            }
        }
        learn(state.known(actor), &heard);
        state.rest(&self.active);
    }

    /// Remembers an access, and gives an earlier one of another actor that nothing orders before it.
    fn access(&self, new: Use) -> Option<Use> {
        let mut state = self.lock();
        let known = &state.known[new.actor];
        let clash = |old: &&Use| {
            old.start < new.end
                && new.start < old.end
                && old.actor != new.actor
                && (old.write || new.write)
                && !(old.atomic && new.atomic)
                && (old.counts || new.counts)
                && of(known, old.actor) < old.tag
        };
        let found = state.uses.iter().find(clash).copied();
        let same = |old: &&mut Use| {
            (old.actor, old.tag, old.site, old.write, old.counts)
                == (new.actor, new.tag, new.site, new.write, new.counts)
                && old.start <= new.end
                && new.start <= old.end
        };
        if let Some(old) = state.uses.iter_mut().rev().take(8).find(same) {
            (old.start, old.end) = (old.start.min(new.start), old.end.max(new.end));
            return found;
        }
        if state.uses.len() == USES {
            state.uses.pop_front();
        }
        state.uses.push_back(new);
        found
    }
}

impl Checker {
    /// The program has made a stream; its number among the actors.
    pub(super) fn stream_made(&self) -> Option<u32> {
        self.tracker.note(Seen::Streams);
        self.actors.add()
    }

    /// Work is being queued on a stream: returns the knowledge of its submitter.
    pub(super) fn stream_submits(&self, stream: u32) -> Known {
        let known = self.actors.current(self.tracker.turn());
        let mut state = self.actors.lock();
        state.queued[stream as usize] += 1;
        self.actors.active.store(true, Release);
        known
    }

    /// A stream's thread begins with work that an actor with the knowledge `known` has queued. `function`: a function of the program.
    pub(super) fn stream_begins(&self, stream: Option<u32>, known: &[u64], function: bool) {
        let actor = stream.map_or(NOBODY, |stream| stream as usize);
        ACTOR.set(actor);
        FUNCTION.set(function || !self.sites.are_native());
        if actor != NOBODY {
            self.actors.learn(known);
            self.stall();
        }
    }

    /// The work has ended.
    pub(super) fn stream_ends(&self, stream: u32) {
        let actor = stream as usize;
        let tag = self.tracker.turn();
        let mut state = self.actors.lock();
        raise(state.known(actor), actor, tag);
        state.ended[actor] = tag;
        state.queued[actor] = state.queued[actor].saturating_sub(1);
        if FUNCTION.replace(false) {
            let known = Arc::clone(&state.known[actor]);
            for other in (0..state.known.len()).filter(|&other| other != actor) {
                learn(state.known(other), &known);
            }
        }
        state.rest(&self.actors.active);
    }

    /// Work that was queued is forgotten.
    pub(super) fn stream_forgets(&self, stream: u32) {
        let mut state = self.actors.lock();
        let queued = &mut state.queued[stream as usize];
        *queued = queued.saturating_sub(1);
        state.rest(&self.actors.active);
    }

    /// This thread's actor has found that all work of a stream has ended.
    pub(super) fn stream_done(&self, stream: u32) {
        let known = Arc::clone(&self.actors.lock().known[stream as usize]);
        self.actors.learn(&known);
    }

    /// A stream has come to an event: returns its knowledge.
    pub(super) fn event_reached(&self) -> Known {
        self.actors.current(self.tracker.turn())
    }

    /// This thread's actor has seen that an event was reached.
    pub(super) fn event_seen(&self, known: &[u64]) {
        self.actors.learn(known);
    }

    /// This thread's actor uses memory of this process. `plain`: not by an operation of the library.
    #[inline]
    pub(super) fn acts(&self, address: u64, bytes: u64, kind: Kind, plain: bool, site: u16) {
        if self.actors.is_active() && bytes > 0 {
            let located = self.locate(address);
            let at = located.map_or(address, |(pe, offset)| self.layout.address(pe, offset));
            self.acts_now(at, bytes, kind, located.is_some(), plain, site);
        }
    }

    /// This thread's actor uses symmetric memory of a PE by an operation.
    #[inline]
    pub(super) fn acts_on(&self, pe: Pe, offset: u64, bytes: u64, kind: Kind, site: u16) {
        if self.actors.is_active() && bytes > 0 {
            let at = self.layout.address(pe, offset);
            self.acts_now(at, bytes, kind, true, false, site);
        }
    }

    /// A block is freed: its accesses mean nothing for later blocks there.
    pub(super) fn forget_acts(&self, address: u64, bytes: u64) {
        let mut state = self.actors.lock();
        (state.uses).retain(|old| old.end <= address || address + bytes <= old.start);
    }

    #[cold]
    fn acts_now(
        &self,
        address: u64,
        bytes: u64,
        kind: Kind,
        symmetric: bool,
        plain: bool,
        site: u16,
    ) {
        let actor = ACTOR.get();
        // Accesses of the program's own code on a stream to memory of its own are not watched.
        if actor == NOBODY || !symmetric && actor != CALLER && (plain || FUNCTION.get()) {
            return;
        }
        let new = Use {
            start: address,
            end: address.saturating_add(bytes),
            actor,
            tag: self.tracker.tag(),
            write: kind.writes(),
            atomic: kind.is_atomic(),
            counts: symmetric || !plain,
            site,
        };
        let Some(old) = self.actors.access(new) else {
            return;
        };
        if !self.tracker.may_know_unseen() {
            self.tracker.found(self.unordered(&new, &old));
        }
    }

    /// A finding about two actors of this PE.
    fn unordered(&self, now: &Use, old: &Use) -> Finding {
        let party = |one: &Use| AccessInfo {
            pe: self.me,
            does: match (one.actor == CALLER, one.write) {
                (true, true) => "writes",
                (true, false) => "reads",
                (false, true) => "writes, on a stream,",
                (false, false) => "reads, on a stream,",
            },
            bytes: one.end - one.start,
            site: one.site,
        };
        let start = now.start.max(old.start);
        let place = match self.locate(start) {
            Some((pe, offset)) => FindingPlace::Symmetric { pe, offset },
            None => FindingPlace::Private { address: start },
        };
        let name = |one: &Use| self.tracker.operation_of(one.site);
        let (new_name, old_name) = (name(now), name(old));
        let (why, remedy) = match (now.actor, old.actor) {
            (CALLER, _) => (
                format!(
                    "the caller has not waited for the {old_name}: no synchronize of the stream, and no event that was recorded after it, comes between the two"
                ),
                String::new(),
            ),
            (_, CALLER) => (
                format!(
                    "the {new_name} was queued before the caller came to the {old_name}, which waited for nothing of the stream's"
                ),
                String::new(),
            ),
            _ => (
                format!(
                    "the two are on two streams, and the one of the {new_name} has waited for no event that was recorded after the {old_name}"
                ),
                format!(
                    "record an event after the {old_name}, and let the other stream wait for it before the {new_name}"
                ),
            ),
        };
        Finding {
            problem: match (now.actor, old.actor) {
                (CALLER, _) | (_, CALLER) => Problem::StreamCaller,
                _ => Problem::TwoStreams,
            },
            place,
            now: party(now),
            other: party(old),
            why,
            remedy,
            unordered: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs as an actor.
    fn on<T>(actor: u32, body: impl FnOnce() -> T) -> T {
        let before = ACTOR.replace(actor as usize);
        let result = body();
        ACTOR.set(before);
        result
    }

    fn access(actors: &Actors, place: u64, tag: u64, write: bool) -> bool {
        let new = Use {
            start: place,
            end: place + 8,
            actor: ACTOR.get(),
            tag,
            write,
            atomic: false,
            counts: true,
            site: tag as u16,
        };
        actors.access(new).is_some()
    }

    /// Two streams with something to do.
    fn two_streams() -> (Actors, u32, u32) {
        let actors = Actors::default();
        let (one, two) = (actors.add().unwrap(), actors.add().unwrap());
        for stream in [one, two] {
            actors.lock().queued[stream as usize] += 1;
        }
        actors.active.store(true, Release);
        (actors, one, two)
    }

    #[test]
    fn an_event_orders_what_came_before_its_record() {
        let (actors, one, two) = two_streams();
        assert!(!on(one, || access(&actors, 0, 5, true)));
        let event = on(one, || actors.current(6));
        on(one, || access(&actors, 64, 7, true));
        assert!(
            on(two, || access(&actors, 0, 8, false)),
            "it has not waited"
        );
        on(two, || actors.learn(&event));
        assert!(!on(two, || access(&actors, 0, 9, false)));
        assert!(
            on(two, || access(&actors, 64, 9, false)),
            "it came after the record"
        );
        assert!(access(&actors, 0, 10, true), "the caller has not waited");
        actors.learn(&event);
        assert!(
            access(&actors, 0, 11, true),
            "the other stream has read since"
        );
    }

    #[test]
    fn reads_and_other_bytes_do_not_clash() {
        let (actors, one, two) = two_streams();
        on(one, || access(&actors, 0, 5, false));
        assert!(!on(two, || access(&actors, 0, 6, false)));
        assert!(!on(two, || access(&actors, 8, 6, true)));
        assert!(on(two, || access(&actors, 4, 6, true)));
    }

    #[test]
    fn an_echo_tells_of_whom_it_comes() {
        let (actors, one, two) = two_streams();
        on(one, || access(&actors, 0, 5, true));
        on(two, || access(&actors, 64, 6, true));
        on(one, || actors.releases(7));
        // Of publications with tag 7 or before.
        actors.receives_echo(6);
        assert!(access(&actors, 0, 20, false));
        actors.receives_echo(7);
        assert!(!access(&actors, 0, 21, false));
        assert!(
            access(&actors, 64, 21, false),
            "the other stream has published nothing"
        );
        on(two, || actors.releases(8));
        actors.receives_echo(8);
        assert!(!access(&actors, 64, 22, false));
    }

    #[test]
    fn publications_that_are_forgotten_count_as_heard() {
        let (actors, one, _) = two_streams();
        on(one, || access(&actors, 0, 5, true));
        for tag in 10..10 + RELEASES as u64 + 5 {
            on(one, || actors.releases(tag));
        }
        actors.receives_echo(11);
        assert!(!access(&actors, 0, 9000, false));
    }

    #[test]
    fn nothing_is_kept_once_the_caller_knows_all() {
        let (actors, one, two) = two_streams();
        on(one, || access(&actors, 0, 5, true));
        for stream in [one, two] {
            let mut state = actors.lock();
            raise(state.known(stream as usize), stream as usize, 7);
            state.ended[stream as usize] = 7;
            state.queued[stream as usize] = 0;
        }
        actors.learn(&[0, 7]);
        assert!(actors.is_active());
        actors.learn(&[0, 0, 7]);
        assert!(!actors.is_active() && actors.lock().uses.is_empty());
    }

    #[test]
    fn streams_without_a_number_are_ignored() {
        let actors = Actors::default();
        let numbers: Vec<Option<u32>> = (0..STREAMS + 2).map(|_| actors.add()).collect();
        assert_eq!(numbers[STREAMS - 1], Some(STREAMS as u32));
        assert_eq!(numbers[STREAMS..], [None, None]);
    }
}
