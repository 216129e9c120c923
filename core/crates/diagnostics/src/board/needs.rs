//! The needs of a wait: the PEs or events without which it cannot end; and the texts for them.

use super::{Board, Entry, State, ahead};
use crate::Pe;
use crate::dtype::Dtype;
use crate::job::block::MAX_TEAMS;
use crate::job::published::{Target, kind};
use crate::job::team;
use crate::operation::Operation;
use crate::words::{ordinal, pes, seconds};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::Duration;

/// The needs of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// The arrival of these PEs.
    Pes(Arc<[Pe]>),
    /// A writer of the value.
    Writer,
    /// So many more PEs, which are unknown before they arrive.
    More(usize),
    /// A stream of the PE's own, or its GPU.
    Stream,
    /// PEs that were not looked up.
    Unknown,
}

impl Needs {
    pub(super) fn pes(&self) -> &[Pe] {
        self.list().map_or(&[], |list| list)
    }

    /// Its PEs, which other waits may share with it.
    pub(super) fn list(&self) -> Option<&Arc<[Pe]>> {
        match self {
            Needs::Pes(list) => Some(list),
            _ => None,
        }
    }
}

/// The words for [`Needs::Unknown`].
pub(super) const NOT_LOOKED_UP: &str =
    "PEs that are not listed, because the board shows too many waits for too many PEs";

/// The target, the needs and the last observation of a wait, as text.
pub(super) struct Description {
    pub(super) target: String,
    pub(super) expected: String,
    pub(super) actual: String,
}

/// Where a wait is: "barrier on WORLD", "signal_wait".
pub(super) fn place(entry: &Entry) -> String {
    let operation = entry.name();
    match entry.wait.target {
        Target::Team { index, .. } => format!("{operation} on {}", team::short_name(index)),
        _ => operation.to_string(),
    }
}

/// The PEs that a wait in init or finalize needs.
fn to_call(needs: &Needs, operation: &str) -> String {
    match needs {
        Needs::Unknown => NOT_LOOKED_UP.to_string(),
        // A PE that has left is needed no more: the wait is about to fail.
        _ if needs.pes().is_empty() => {
            format!("nobody any more: all others have called {operation} or left")
        }
        _ => format!("{} to call {operation}", pes(needs.pes())),
    }
}

impl Board {
    pub(super) fn state(&self, pe: Pe) -> State {
        State::from_number(self.control.pe(pe).state.load(Acquire))
    }

    /// The number of collectives that a PE has begun on the team with a number, or its last team; 0 if there can be
    /// none.
    pub fn collectives(&self, team: u32, pe: Pe) -> u64 {
        match team < MAX_TEAMS as u32 && (0..self.n_pes()).contains(&pe) {
            true => self.control.team(team, pe).calls.load(Relaxed),
            false => 0,
        }
    }

    pub(super) fn describe(&self, entry: &Entry, needs: &Needs) -> Description {
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
                ..
            } => {
                let (index, expected) = entry.seen.element.unwrap_or((0, expected));
                let expected = format!("{} {}", cmp.sign(), dtype.number(expected));
                let place = match &entry.allocation {
                    Some(allocation) => allocation.clone(),
                    None => format!("at byte {offset:#x} of its symmetric heap"),
                };
                if let Some((_, ahead)) = entry.lock() {
                    let target = match self.holder(entry) {
                        Some(holder) if holder != ahead => format!(
                            "PE {ahead}, which is ahead of it in the queue of the lock {place}; PE {holder} holds the lock"
                        ),
                        _ => format!("PE {ahead} to release the lock {place}"),
                    };
                    return Description {
                        target,
                        expected: "released".into(),
                        actual: "held".into(),
                    };
                }
                let name = sized_name(dtype);
                let which = match entry.wait.operation {
                    Operation::WaitUntilAll | Operation::WaitUntilAllVector => "all",
                    _ => "any",
                };
                let target = match (entry.wait.operation, count) {
                    (Operation::SignalWait, _) => format!("the signal {place} to be {expected}"),
                    (_, 1) => format!("the {name} element {place} to be {expected}"),
                    (_, count) => format!(
                        "{which} of the {count} {name} elements {place}; the first that does not hold yet, element \
                         {index}, is to be {expected}"
                    ),
                };
                (target, (expected, dtype.number(entry.seen.actual)))
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
            Target::Stream { goal: 0 } => {
                // Of the GPU, which counts nothing.
                let target = "work on a stream of the GPU to be done".to_string();
                (target, ("done".into(), "not done".into()))
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
            Target::Device => {
                let target = "its GPU to do the library's own work, which streams that wait may hold up \
                              (CUDA_DEVICE_MAX_CONNECTIONS)";
                (target.into(), ("done".into(), "not done".into()))
            }
            Target::Share { pe } => {
                let target = format!("PE {pe} to bring its part of GPU memory");
                (target, ("there".into(), "not there".into()))
            }
            Target::Remote { pe } => {
                let target =
                    format!("PE {pe}, on another host, to execute the requests sent to it");
                (target, ("done".into(), "not done".into()))
            }
            Target::Job => {
                let size = self.n_pes() as usize;
                let operation = entry.name();
                (
                    to_call(needs, operation),
                    of(size, size - needs.pes().len()),
                )
            }
        };
        Description {
            target,
            expected,
            actual,
        }
    }

    /// The PE that holds the lock of a wait, by the board: the first PE ahead in the lock's queue without a published wait for the lock.
    /// None if the wait is for no lock, if a wait of a PE ahead ends while it is read, or if the waits read form a circle.
    pub(super) fn holder(&self, entry: &Entry) -> Option<Pe> {
        let (offset, mut holder) = entry.lock()?;
        for _ in 0..self.n_pes() {
            let mut next = None;
            for slot in &self.control.pe(holder).waits {
                let id = slot.id.load(Acquire);
                if matches!(id, 0 | u64::MAX) {
                    continue;
                }
                let same = [slot.kind.load(Relaxed).into(), slot.offset.load(Relaxed)]
                    == [kind::WORD.into(), offset];
                let pe = ahead(slot, self.n_pes()).filter(|_| same);
                // The wait may have ended, and another one may have taken the slot.
                fence(Acquire);
                if slot.id.load(Relaxed) != id {
                    return None;
                }
                next = next.or(pe);
            }
            match next {
                Some(pe) => holder = pe,
                None => return Some(holder),
            }
        }
        None
    }

    /// Which of the PE's collectives on the team it is: "7th collective".
    pub(super) fn call(&self, entry: &Entry) -> Option<String> {
        match entry.wait.target {
            Target::Team { index, .. } => {
                let call = ordinal(self.collectives(index, entry.pe));
                Some(format!("{call} collective"))
            }
            _ => None,
        }
    }

    /// Where a wait is: "barrier on WORLD (its 7th collective there)".
    pub(super) fn whereabouts(&self, entry: &Entry) -> String {
        let call = self.call(entry);
        let call = call.map_or(String::new(), |call| format!(" (its {call} there)"));
        format!("{}{call}", place(entry))
    }

    /// The target and the last observation of a wait: "PE 2"; "the signal at byte 0x10 of its symmetric heap to be >= 1,
    /// sees 0".
    pub(super) fn awaited(&self, entry: &Entry, needs: &Needs) -> String {
        let words = self.describe(entry, needs);
        match entry.wait.target {
            Target::Word { ahead: None, .. } => {
                format!("{}, sees {}", words.target, words.actual)
            }
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
        let line = entry.line.as_ref();
        let line = line.map_or(String::new(), |line| format!("; called at {line}"));
        format!(
            "in {}{thread} for {}: waits for {}{limit}{line}",
            self.whereabouts(entry),
            seconds(Duration::from_nanos(now.saturating_sub(entry.since))),
            self.awaited(entry, needs),
        )
    }

    /// The last published wait of a PE that has ended: its place, and its end.
    pub(super) fn last_wait(&self, pe: Pe) -> Option<(String, u64)> {
        let slots = self.control.pe(pe).waits.iter();
        let last = slots
            .filter(|slot| slot.id.load(Acquire) == 0)
            .filter_map(|slot| {
                let ended = slot.ended.load(Relaxed);
                let entry = super::read(slot, pe, 0, self.n_pes(), None).filter(|_| ended != 0)?;
                // Another wait may have taken the slot meanwhile.
                fence(Acquire);
                let same = slot.id.load(Relaxed) == 0 && slot.ended.load(Relaxed) == ended;
                same.then(|| (place(&entry), ended))
            });
        last.max_by_key(|last| last.1)
    }
}

/// The name of a type with its size, for programs in every language.
fn sized_name(dtype: Dtype) -> String {
    match dtype {
        Dtype::Half => "float16".to_string(),
        Dtype::Float => "float32".to_string(),
        Dtype::Double => "float64".to_string(),
        Dtype::Complexf => "complex64".to_string(),
        Dtype::Complexd => "complex128".to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_sizes() {
        for dtype in Dtype::ALL {
            let bits = (dtype.size() * 8).to_string();
            assert!(sized_name(dtype).contains(&bits), "{dtype}");
        }
    }

    #[test]
    fn a_wait_in_finalize_names_pes_or_says_that_there_are_none() {
        let needs = |pes: &[Pe]| to_call(&Needs::Pes(pes.into()), "finalize");
        assert_eq!(needs(&[1, 3]), "PEs 1 and 3 to call finalize");
        assert_eq!(
            needs(&[]),
            "nobody any more: all others have called finalize or left"
        );
        assert_eq!(to_call(&Needs::Unknown, "finalize"), NOT_LOOKED_UP);
    }
}
