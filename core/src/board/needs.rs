//! What a wait needs to end, and the words for it.

use super::words::{number, ordinal, pes, seconds};
use super::{Board, Entry, State};
use crate::Pe;
use crate::team;
use crate::transport::host::control::JoinSlot;
use crate::wait::{Operation, Target, Wait as Waiting};
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::Duration;

/// What a wait needs to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// These PEs, to come to the same place.
    Pes(Vec<Pe>),
    /// Somebody who writes the value.
    Writer,
    /// So many more PEs, which nobody knows before they come.
    More(usize),
    /// A stream of the PE's own.
    Stream,
    /// PEs that were not looked up.
    Unknown,
}

impl Needs {
    pub(super) fn pes(&self) -> &[Pe] {
        match self {
            Needs::Pes(pes) => pes,
            _ => &[],
        }
    }
}

/// The members of a team that meet in an epoch, and those that have not come.
struct Ring {
    team: u32,
    epoch: u64,
    members: HashSet<Pe>,
    missing: Vec<Pe>,
}

/// Most PEs that all lists of one look at a board hold together: of 4096 PEs, half may wait for the other half. A control block
/// that makes no sense could ask for many times the memory.
const MOST_LISTED: usize = 1 << 23;

/// The rings that were looked at, so that a team of many waiting members is walked once.
#[derive(Default)]
pub(super) struct Rings {
    rings: Vec<Ring>,
    listed: usize,
}

impl Rings {
    /// What a wait needs; [`Needs::Unknown`] once the lists have grown too long.
    pub(super) fn needs(&mut self, board: &Board, entry: &Entry) -> Needs {
        if self.listed >= MOST_LISTED {
            return Needs::Unknown;
        }
        let needs = self.look_up(board, entry);
        self.listed += needs.pes().len();
        needs
    }

    fn look_up(&mut self, board: &Board, entry: &Entry) -> Needs {
        match entry.wait.target {
            Target::Team { index, epoch } => {
                Needs::Pes(self.ring(board, index, entry.pe, epoch).missing.clone())
            }
            Target::Word { .. } => Needs::Writer,
            Target::Stream { .. } => Needs::Stream,
            Target::Job => {
                let behind = |state: State| match entry.wait.operation {
                    Operation::Init => state == State::Absent,
                    _ => matches!(state, State::Absent | State::Active),
                };
                let missing = (0..board.n_pes()).filter(|&pe| behind(board.state(pe)));
                Needs::Pes(missing.collect())
            }
            Target::Join { unique_id, n_pes } => joining(board, entry.pe, unique_id, n_pes),
        }
    }

    fn ring(&mut self, board: &Board, team: u32, me: Pe, epoch: u64) -> &Ring {
        let known = self.rings.iter().position(|ring| {
            ring.team == team && ring.epoch == epoch && ring.members.contains(&me)
        });
        let index = known.unwrap_or_else(|| {
            let ring = board.walk(team, me, epoch);
            self.listed += ring.members.len() + ring.missing.len();
            self.rings.push(ring);
            self.rings.len() - 1
        });
        &self.rings[index]
    }
}

/// Who is behind in a `team_init`.
fn joining(board: &Board, me: Pe, unique_id: u64, n_pes: Pe) -> Needs {
    // A phase of u32::MAX is that of a thread that gave up.
    let phase = |slot: &JoinSlot| match slot.phase.load(Acquire) {
        0 | u32::MAX => None,
        phase => (slot.unique_id.load(Relaxed) == unique_id).then_some(phase),
    };
    let seats: Vec<(Pe, u32)> = (0..board.n_pes())
        .flat_map(|pe| {
            board
                .control
                .pe(pe)
                .joins
                .iter()
                .map(move |slot| (pe, slot))
        })
        .filter_map(|(pe, slot)| Some((pe, phase(slot)?)))
        .collect();
    if seats.len() < n_pes as usize {
        return Needs::More(n_pes as usize - seats.len());
    }
    let mine = seats.iter().filter(|seat| seat.0 == me);
    let mine = mine.map(|seat| seat.1).max().unwrap_or(0);
    let behind = seats.iter().filter(|seat| seat.1 < mine);
    Needs::Pes(behind.map(|seat| seat.0).collect())
}

/// The words for [`Needs::Unknown`].
const NOT_LOOKED_UP: &str =
    "PEs that are not listed, because the board shows too many waits for too many PEs";

/// What a wait is for, what it needs and what it sees, in words.
pub(super) struct Words {
    pub(super) target: String,
    pub(super) expected: String,
    pub(super) actual: String,
}

/// Where a wait is: "barrier on WORLD", "signal_wait".
pub(super) fn place(wait: &Waiting) -> String {
    let operation = wait.operation.name();
    match wait.target {
        Target::Team { index, .. } => format!("{operation} on {}", team::short_name(index)),
        _ => operation.to_string(),
    }
}

impl Board {
    pub(super) fn state(&self, pe: Pe) -> State {
        State::from_number(self.control.pe(pe).state.load(Acquire))
    }

    /// The members of the team in which `me` waits, and which of them have not arrived in an epoch.
    fn walk(&self, team: u32, me: Pe, epoch: u64) -> Ring {
        let mut pe = me;
        let (mut members, mut missing) = (HashSet::new(), BTreeSet::new());
        // The members are a ring. Memory of another process may say anything: never more steps than PEs.
        let size = (self.control.team(team, me).n_pes.load(Acquire)).min(self.n_pes() as u32);
        for _ in 0..size {
            members.insert(pe);
            let slot = self.control.slot(self.control.row(team), pe, epoch);
            if slot.epoch.load(Acquire) < epoch {
                missing.insert(pe);
            }
            let next = self.control.team(team, pe).next.load(Relaxed);
            pe = next.min(self.n_pes() as u32 - 1) as Pe;
        }
        Ring {
            team,
            epoch,
            members,
            missing: missing.into_iter().collect(),
        }
    }

    /// How many collectives a PE has begun on a team.
    pub(super) fn calls(&self, team: u32, pe: Pe) -> u64 {
        self.control.team(team, pe).calls.load(Relaxed)
    }

    pub(super) fn describe(&self, entry: &Entry, needs: &Needs) -> Words {
        let of = |size: usize, there: usize| {
            (
                format!("{size} of {size} PEs"),
                format!("{there} of {size} PEs"),
            )
        };
        let (target, (expected, actual)) = match entry.wait.target {
            Target::Team { index, .. } => {
                let size = self.control.team(index, entry.pe).n_pes.load(Acquire) as usize;
                let missing = needs.pes().len();
                let target = match needs {
                    Needs::Unknown => NOT_LOOKED_UP.to_string(),
                    _ if missing == 0 => "nobody any more: all have come".to_string(),
                    _ => pes(needs.pes()),
                };
                (target, of(size, size.saturating_sub(missing)))
            }
            Target::Word {
                offset,
                dtype,
                count,
                cmp,
                expected,
            } => {
                let (index, expected) = entry.seen.element.unwrap_or((0, expected));
                let expected = format!("{} {}", cmp.sign(), number(dtype, expected));
                let place = format!("at byte {offset:#x} of its symmetric heap");
                let name = format!("{dtype:?}").to_lowercase();
                let which = match entry.wait.operation {
                    Operation::WaitUntilAll => "all",
                    _ => "any",
                };
                let target = match entry.wait.operation {
                    Operation::SignalWait => format!("the signal {place} to be {expected}"),
                    Operation::WaitUntil => {
                        format!("the {name} element {place} to be {expected}")
                    }
                    _ => format!(
                        "{which} of the {count} {name} elements {place}; the first that does not hold yet, element \
                         {index}, is to be {expected}"
                    ),
                };
                (target, (expected, number(dtype, entry.seen.actual)))
            }
            Target::Join { unique_id, n_pes } => {
                let there = (entry.seen.actual as usize).min(n_pes as usize);
                let target = match needs {
                    Needs::More(more) => format!(
                        "{more} more {} to call team_init with unique id {unique_id}",
                        if *more == 1 { "PE" } else { "PEs" }
                    ),
                    Needs::Unknown => NOT_LOOKED_UP.to_string(),
                    _ => format!("{} to go on with unique id {unique_id}", pes(needs.pes())),
                };
                (target, of(n_pes as usize, there))
            }
            Target::Stream { goal } => {
                let actual = entry.seen.actual;
                let what = match entry.wait.operation {
                    Operation::EventSynchronize => "record",
                    _ => "operation",
                };
                let target = format!(
                    "a stream of its own to come to {what} {goal}, which has come to {actual}"
                );
                (target, (goal.to_string(), actual.to_string()))
            }
            Target::Job => {
                let size = self.n_pes() as usize;
                let operation = entry.wait.operation.name();
                let target = match needs {
                    Needs::Unknown => NOT_LOOKED_UP.to_string(),
                    _ => format!("{} to call {operation}", pes(needs.pes())),
                };
                (target, of(size, size - needs.pes().len()))
            }
        };
        Words {
            target,
            expected,
            actual,
        }
    }

    /// Which of the PE's collectives on the team it is: "7th collective".
    pub(super) fn call(&self, entry: &Entry) -> Option<String> {
        match entry.wait.target {
            Target::Team { index, .. } => {
                let call = ordinal(self.calls(index, entry.pe));
                Some(format!("{call} collective"))
            }
            _ => None,
        }
    }

    /// Where a wait is: "barrier on WORLD (its 7th collective there)".
    pub(super) fn whereabouts(&self, entry: &Entry) -> String {
        let call = self.call(entry);
        let call = call.map_or(String::new(), |call| format!(" (its {call} there)"));
        format!("{}{call}", place(&entry.wait))
    }

    /// What a wait is for, and what it sees: "PE 2"; "the signal at byte 0x10 of its symmetric heap to be >= 1, sees 0".
    pub(super) fn awaited(&self, entry: &Entry, needs: &Needs) -> String {
        let words = self.describe(entry, needs);
        match entry.wait.target {
            Target::Word { .. } => format!("{}, sees {}", words.target, words.actual),
            _ => words.target,
        }
    }

    /// A wait's whole text: "in barrier on WORLD (its 7th collective there) for 12.3 s: waits for PE 2".
    pub(super) fn sentence(&self, entry: &Entry, needs: &Needs, now: u64, thread: bool) -> String {
        let thread = match thread {
            true => format!(" on thread {}", entry.thread),
            false => String::new(),
        };
        let limit = match entry.until {
            Some((until, limit)) => format!(
                "; gives up in {} ({})",
                seconds(Duration::from_nanos(until.saturating_sub(now))),
                limit.name()
            ),
            None => String::new(),
        };
        format!(
            "in {}{thread} for {}: waits for {}{limit}",
            self.whereabouts(entry),
            seconds(Duration::from_nanos(now.saturating_sub(entry.since))),
            self.awaited(entry, needs),
        )
    }

    /// The last wait of a PE that the board has shown and that has ended: where, and when.
    pub(super) fn last_wait(&self, pe: Pe) -> Option<(String, u64)> {
        let slots = self.control.pe(pe).waits.iter();
        let last = slots
            .filter(|slot| slot.id.load(Acquire) == 0)
            .filter_map(|slot| {
                let ended = slot.ended.load(Relaxed);
                let entry = super::read(slot, pe, 0, self.n_pes()).filter(|_| ended != 0)?;
                // Another wait may have taken the slot meanwhile.
                fence(Acquire);
                let same = slot.id.load(Relaxed) == 0 && slot.ended.load(Relaxed) == ended;
                same.then(|| (place(&entry.wait), ended))
            });
        last.max_by_key(|last| last.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::host::control::{Control, MAX_PES};
    use crate::wait::kind;

    #[test]
    fn waits_that_make_no_sense_do_not_take_all_memory() {
        let control = Control::create(MAX_PES, 2 << 20, None).unwrap();
        for pe in 0..MAX_PES {
            let team = control.team(1, pe);
            team.n_pes.store(u32::MAX, Relaxed);
            team.next.store((pe as u32 + 1) % MAX_PES as u32, Relaxed);
            // Each waits in an epoch of its own, for everybody.
            let slot = &control.pe(pe).waits[0];
            slot.operation.store(Operation::Barrier as u32, Relaxed);
            slot.kind.store(kind::TEAM, Relaxed);
            slot.team.store(1, Relaxed);
            slot.epoch.store(1 + pe as u64, Relaxed);
            slot.id.store(1 + pe as u64, Relaxed);
        }
        let board = Board::of_job(&control);
        let mut rings = Rings::default();
        let entries = board.entries();
        assert_eq!(entries.len(), MAX_PES as usize);
        let needs: Vec<Needs> = entries
            .iter()
            .map(|entry| rings.needs(&board, entry))
            .collect();
        assert_eq!(needs[0].pes().len(), MAX_PES as usize);
        let listed: usize = needs.iter().map(|needs| needs.pes().len()).sum();
        assert!(listed <= MOST_LISTED, "{listed}");
        let last = needs.last().unwrap();
        assert_eq!(*last, Needs::Unknown);
        let text = board.awaited(entries.last().unwrap(), last);
        assert!(text.contains("not listed"), "{text}");
    }

    #[test]
    fn a_team_init_of_more_pes_than_the_job_has_is_no_wait() {
        let control = Control::create(3, 2 << 20, None).unwrap();
        let board = Board::of_job(&control);
        let slot = &control.pe(0).waits[0];
        slot.operation.store(Operation::TeamInit as u32, Relaxed);
        slot.kind.store(kind::JOIN, Relaxed);
        slot.id.store(1, Relaxed);
        for (n_pes, shown) in [
            (0, 0),
            (3, 1),
            (4, 0),
            (1 << 31, 0),
            (1 << 32, 0),
            (u64::MAX, 0),
        ] {
            slot.expected.store(n_pes, Relaxed);
            assert_eq!(board.waits().len(), shown, "{n_pes}");
        }
    }
}
