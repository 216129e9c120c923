//! The needs of waits, read from a control block: each team, and each `team_init`, is read once for all waits in it.

use super::needs::Needs;
use super::{Board, Entry, State};
use crate::Pe;
use crate::job::block::JoinSlot;
use crate::job::published::Target;
use crate::operation::Operation;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The most PEs in all lists of one reading of a board: of 4096 PEs, half may wait for the other half. A corrupted control block could
/// require many times the memory.
const MOST_LISTED: usize = 1 << 23;

/// The members of a team that have not arrived in an epoch.
struct Ring {
    members: BTreeSet<Pe>,
    missing: Arc<[Pe]>,
}

/// The PEs in the `team_init` of a unique id.
#[derive(Default)]
struct Joining {
    /// Each join slot in use: the PE, and its phase.
    slots: Vec<(Pe, u32)>,
    /// The highest phase of each PE's slots.
    foremost: HashMap<Pe, u32>,
    /// By phase: the PEs that have not reached it.
    behind: BTreeMap<u32, Arc<[Pe]>>,
}

/// The teams that have been read.
#[derive(Default)]
pub(super) struct Rings {
    /// By team number and epoch: for each member the place of its ring in `missing`. Teams without a common member may have the same
    /// number.
    rings: HashMap<(u32, u64), HashMap<Pe, u32>>,
    missing: Vec<Arc<[Pe]>>,
    /// By operation: the PEs that have not reached it.
    job: BTreeMap<u32, Arc<[Pe]>>,
    /// By unique id.
    joins: Option<HashMap<u64, Joining>>,
    /// By team number and PE: the latest epoch in which the PE has a wait, and so has arrived.
    arrived: Option<HashMap<(u32, Pe), u64>>,
    listed: usize,
}

impl Rings {
    /// The needs of a wait; [`Needs::Unknown`] once the lists are too long.
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
                Needs::Pes(self.missing(board, index, entry.pe, epoch))
            }
            Target::Word {
                ahead: Some(pe), ..
            } => Needs::Pes([pe].into()),
            Target::Word { .. } | Target::Remote { .. } => Needs::Writer,
            Target::Stream { .. } | Target::Device => Needs::Stream,
            Target::Share { pe } => Needs::Pes([pe].into()),
            Target::Job => {
                let operation = entry.wait.operation;
                let behind = |state: State| match operation {
                    Operation::Init => state == State::Absent,
                    _ => matches!(state, State::Absent | State::Active),
                };
                let list = self.job.entry(operation as u32).or_insert_with(|| {
                    let all = 0..board.n_pes();
                    all.filter(|&pe| behind(board.state(pe))).collect()
                });
                Needs::Pes(Arc::clone(list))
            }
            Target::Join { unique_id, n_pes } => self.joining(board, entry.pe, unique_id, n_pes),
        }
    }

    /// The members missing in the meeting of `me` on a team.
    fn missing(&mut self, board: &Board, team: u32, me: Pe, epoch: u64) -> Arc<[Pe]> {
        let arrived = self.arrived.get_or_insert_with(|| board.arrivals());
        let rings = self.rings.entry((team, epoch)).or_default();
        let place = rings.get(&me).copied().unwrap_or_else(|| {
            let ring = board.walk(team, me, epoch, arrived);
            self.listed += ring.members.len() + ring.missing.len();
            let place = self.missing.len() as u32;
            for member in ring.members {
                rings.entry(member).or_insert(place);
            }
            self.missing.push(ring.missing);
            place
        });
        Arc::clone(&self.missing[place as usize])
    }

    /// The members missing in a `team_init`.
    fn joining(&mut self, board: &Board, me: Pe, unique_id: u64, n_pes: Pe) -> Needs {
        let joins = self.joins.get_or_insert_with(|| board.joins());
        let joining = joins.entry(unique_id).or_default();
        if joining.slots.len() < n_pes as usize {
            return Needs::More(n_pes as usize - joining.slots.len());
        }
        let mine = joining.foremost.get(&me).copied().unwrap_or(0);
        let slots = &joining.slots;
        let behind = joining.behind.entry(mine).or_insert_with(|| {
            let behind = slots.iter().filter(|slot| slot.1 < mine);
            behind.map(|slot| slot.0).collect()
        });
        Needs::Pes(Arc::clone(behind))
    }
}

impl Board {
    /// By team number and PE, the latest epoch in which the PE waits. The arrival of a remote PE may not have been sent to this host
    /// yet, because its host sends all arrivals together. A wait in the epoch shows the arrival as well, and so does the answer to a
    /// query.
    fn arrivals(&self) -> HashMap<(u32, Pe), u64> {
        let mut arrived = HashMap::new();
        for entry in self.entries() {
            if let Target::Team { index, epoch } = entry.wait.target {
                let latest = arrived.entry((index, entry.pe)).or_insert(epoch);
                *latest = epoch.max(*latest);
            }
        }
        arrived
    }

    /// The members of the team in which `me` waits, and which of them have not arrived in an epoch.
    fn walk(&self, team: u32, me: Pe, epoch: u64, arrived: &HashMap<(u32, Pe), u64>) -> Ring {
        let mut pe = me;
        let (mut members, mut missing) = (BTreeSet::new(), BTreeSet::new());
        // The members are a ring. Memory of another process may say anything: never more steps than PEs.
        let size = (self.control.team(team, me).n_pes.load(Acquire)).min(self.n_pes() as u32);
        for _ in 0..size {
            members.insert(pe);
            let slot = self.control.slot(self.control.row(team), pe, epoch);
            let waits = arrived.get(&(team, pe)).is_some_and(|&last| last >= epoch);
            let reported = self.control.team(team, pe).reported.load(Relaxed) >= epoch;
            if slot.epoch.load(Acquire) < epoch && !waits && !reported && pe != me {
                missing.insert(pe);
            }
            let next = self.control.team(team, pe).next.load(Relaxed);
            pe = next.min(self.n_pes() as u32 - 1) as Pe;
        }
        Ring {
            members,
            missing: missing.into_iter().collect(),
        }
    }

    /// Every `team_init` in progress, by its unique id.
    fn joins(&self) -> HashMap<u64, Joining> {
        // A phase of u32::MAX is that of a thread that gave up.
        let taken = |slot: &JoinSlot| match slot.phase.load(Acquire) {
            0 | u32::MAX => None,
            phase => Some((slot.unique_id.load(Relaxed), phase)),
        };
        let mut joins: HashMap<u64, Joining> = HashMap::new();
        for pe in 0..self.n_pes() {
            for (unique_id, phase) in self.control.pe(pe).joins.iter().filter_map(taken) {
                let joining = joins.entry(unique_id).or_default();
                joining.slots.push((pe, phase));
                let foremost = joining.foremost.entry(pe).or_default();
                *foremost = phase.max(*foremost);
            }
        }
        joins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::graph::Graph;
    use crate::job::block::{Control, MAX_PES};
    use crate::job::published::kind;

    #[test]
    fn waits_that_make_no_sense_do_not_take_all_memory() {
        let control = Control::create(MAX_PES, 2 << 20, Default::default(), None).unwrap();
        for pe in 0..MAX_PES {
            let team = control.team(1, pe);
            team.n_pes.overwrite(u32::MAX, Relaxed);
            team.next
                .overwrite((pe as u32 + 1) % MAX_PES as u32, Relaxed);
            // Each waits in an epoch of its own, for all PEs that wait in an earlier one.
            control
                .pe(pe)
                .state
                .overwrite(State::Active as u32, Relaxed);
            let slot = &control.pe(pe).waits[0];
            slot.operation.overwrite(Operation::Barrier as u32, Relaxed);
            slot.kind.overwrite(kind::TEAM, Relaxed);
            slot.team.overwrite(1, Relaxed);
            slot.epoch.overwrite((MAX_PES - pe) as u64, Relaxed);
            slot.id.overwrite(1 + pe as u64, Relaxed);
        }
        let board = Board::of_job(&control);
        let mut rings = Rings::default();
        let entries = board.entries();
        assert_eq!(entries.len(), MAX_PES as usize);
        let needs: Vec<Needs> = entries
            .iter()
            .map(|entry| rings.needs(&board, entry))
            .collect();
        assert_eq!(needs[0].pes().len(), MAX_PES as usize - 1);
        let listed: usize = needs.iter().map(|needs| needs.pes().len()).sum();
        assert!(listed <= MOST_LISTED, "{listed}");
        let last = needs.last().unwrap();
        assert_eq!(*last, Needs::Unknown);
        let text = board.awaited(entries.last().unwrap(), last);
        assert!(text.contains("not listed"), "{text}");
        // A PE whose target is unknown is not blamed for holding the others up.
        let summary = Graph::of(&board).summary();
        let blames = |line: &String| line.contains("instead");
        assert!(!summary.iter().any(blames), "{summary:?}");
        let told = summary.last().unwrap();
        assert!(
            told.starts_with("PEs ") && told.contains("not listed"),
            "{told}"
        );
    }

    /// On two hosts: PEs 0 and 1 are here, and PEs 2 and 3 elsewhere announce their arrivals together. PE 2 is late.
    #[test]
    fn a_pe_that_waits_has_arrived_also_where_its_arrival_is_not_known() {
        let control = Control::create(4, 2 << 20, Default::default(), None).unwrap();
        for pe in 0..4 {
            control
                .pe(pe)
                .state
                .overwrite(State::Active as u32, Relaxed);
            let team = control.team(1, pe);
            team.n_pes.overwrite(4, Relaxed);
            team.next.overwrite((pe as u32 + 1) % 4, Relaxed);
            if pe == 2 {
                continue;
            }
            if pe < 2 {
                let slot = control.slot(control.row(1), pe, 7);
                slot.epoch.overwrite(7, Relaxed);
            }
            let slot = &control.pe(pe).waits[0];
            slot.operation.overwrite(Operation::Barrier as u32, Relaxed);
            slot.kind.overwrite(kind::TEAM, Relaxed);
            slot.team.overwrite(1, Relaxed);
            slot.epoch.overwrite(7, Relaxed);
            slot.id.overwrite(1 + pe as u64, Relaxed);
        }
        let picture = Board::of_job(&control).picture();
        let [line] = &picture.summary[..] else {
            panic!("{:?}", picture.summary);
        };
        let start = "PEs 0, 1 and 3 wait in barrier on ";
        assert!(line.starts_with(start), "{line}");
        assert!(line.contains(" for PE 2, which "), "{line}");
        assert_eq!(picture.culprits, [2]);
        assert!(picture.circles.is_empty());
    }

    #[test]
    fn a_team_init_of_more_pes_than_the_job_has_is_no_wait() {
        let control = Control::create(3, 2 << 20, Default::default(), None).unwrap();
        let board = Board::of_job(&control);
        let slot = &control.pe(0).waits[0];
        slot.operation
            .overwrite(Operation::TeamInit as u32, Relaxed);
        slot.kind.overwrite(kind::JOIN, Relaxed);
        slot.id.overwrite(1, Relaxed);
        for (n_pes, shown) in [
            (0, 0),
            (3, 1),
            (4, 0),
            (1 << 31, 0),
            (1 << 32, 0),
            (u64::MAX, 0),
        ] {
            slot.expected.overwrite(n_pes, Relaxed);
            assert_eq!(board.waits().len(), shown, "{n_pes}");
        }
    }
}
