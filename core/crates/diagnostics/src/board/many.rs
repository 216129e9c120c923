//! Boards of as many PEs as a job can have. The control block is written by hand; there are no processes.

use super::graph::{FirstLook, Graph, MOST, MOST_CIRCLES};
use super::{Board, Picture, State};
use crate::Pe;
use crate::job::block::{Control, MAX_PES};
use crate::job::published::kind;
use crate::operation::Operation;
use std::sync::atomic::Ordering::Relaxed;

const LAST: Pe = MAX_PES - 1;
/// Numbers of teams that programs make.
const ONE: u32 = 10;
const TWO: u32 = 11;
const THREE: u32 = 12;

/// A job of [`MAX_PES`] PEs, all of which take part, and none of which waits.
struct Job(Control);

impl Job {
    fn new() -> Job {
        let control = Control::create(MAX_PES, 2 << 20, Default::default(), None).unwrap();
        for pe in 0..MAX_PES {
            let block = control.pe(pe);
            block.state.overwrite(State::Active as u32, Relaxed);
            for (word, here) in block.host.iter().zip(&control.header().host) {
                word.overwrite(here.load(Relaxed), Relaxed);
            }
        }
        Job(control)
    }

    /// Makes a team. Others with the same number must have other members.
    fn team(&self, team: u32, members: &[Pe]) {
        for (&pe, &next) in members.iter().zip(members.iter().cycle().skip(1)) {
            let block = self.0.team(team, pe);
            block.n_pes.overwrite(members.len() as u32, Relaxed);
            block.next.overwrite(next as u32, Relaxed);
        }
    }

    /// A PE is in its first collective of a team, and waits for whoever is not there.
    fn enters(&self, pe: Pe, team: u32) {
        self.0.team(team, pe).calls.overwrite(1, Relaxed);
        let slot = self.0.slot(self.0.row(team), pe, 1);
        slot.epoch.overwrite(1, Relaxed);
        let slot = &self.0.pe(pe).waits[0];
        slot.operation.overwrite(Operation::Barrier as u32, Relaxed);
        slot.kind.overwrite(kind::TEAM, Relaxed);
        slot.team.overwrite(team, Relaxed);
        slot.epoch.overwrite(1, Relaxed);
        slot.since.overwrite(1 + pe as u64, Relaxed);
        slot.id.overwrite(1 + pe as u64, Relaxed);
    }

    fn picture(&self) -> Picture {
        Board::of_job(&self.0).picture()
    }
}

fn all() -> Vec<Pe> {
    (0..MAX_PES).collect()
}

#[test]
fn half_of_the_pes_wait_for_the_other_half() {
    let (job, half) = (Job::new(), MAX_PES / 2);
    job.team(ONE, &all());
    (0..half).for_each(|pe| job.enters(pe, ONE));
    let picture = job.picture();
    let last = half - 1;
    let summary = format!(
        "PEs 0 to {last} wait in barrier on team {ONE} for PEs {half} to {LAST}, which are not waiting in nvshmemrs"
    );
    assert_eq!(picture.summary, [summary]);
    let others: Vec<Pe> = (half..MAX_PES).collect();
    assert_eq!(picture.pes[last as usize].waits_for, others);
    let lines = picture.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let start = format!("PEs 0 to {last}, each: in barrier on team {ONE} (its 1st collective");
    assert!(lines[0].starts_with(&start), "{}", lines[0]);
    let end = format!("it has begun 0 collectives on team {ONE}");
    assert!(lines[1].ends_with(&end), "{}", lines[1]);
}

/// That a PE of a circle is waited for by many, and needs one that is late, hides neither.
#[test]
fn a_deadlock_beside_a_latecomer_is_told_with_it() {
    let job = Job::new();
    let (one, other) = (LAST - 2, LAST - 1);
    job.team(ONE, &all());
    job.team(TWO, &[one, other]);
    (0..=one).for_each(|pe| job.enters(pe, ONE));
    job.enters(other, TWO);
    let summary = job.picture().summary;
    let [deadlock, late] = &summary[..] else {
        panic!("{summary:?}");
    };
    let start = format!(
        "deadlock, unless another thread of PEs {one} and {other} comes: PE {other} is in barrier on team {TWO} and waits for PE {one}, \
         which is in barrier on team {ONE} and waits for PE {other}; first came PE {one} ("
    );
    assert!(deadlock.starts_with(&start), "{deadlock}\n{start}");
    let end = format!("; PEs 0 to {} wait for those", one - 1);
    assert!(deadlock.ends_with(&end), "{deadlock}");
    let expected = format!(
        "PEs 0 to {one} wait in barrier on team {ONE} for PE {LAST}, which is not waiting in nvshmemrs; PE {other} waits for those"
    );
    assert_eq!(*late, expected);
}

#[test]
fn a_chain_of_all_pes_and_a_circle_of_them() {
    let job = Job::new();
    // Neighbours meet, by turns in a team of the one number and of the other.
    for pe in 0..LAST {
        job.team([ONE, TWO][pe as usize % 2], &[pe, pe + 1]);
        job.enters(pe, [ONE, TWO][pe as usize % 2]);
    }
    let expected = format!(
        "PE {} waits in barrier on team {ONE} for PE {LAST}, which is not waiting in nvshmemrs; PEs 0 to {} wait for those",
        LAST - 1,
        LAST - 2
    );
    assert_eq!(job.picture().summary, [expected]);
    job.team(THREE, &[LAST, 0]);
    job.enters(LAST, THREE);
    let summary = job.picture().summary;
    let [deadlock] = &summary[..] else {
        panic!("{summary:?}");
    };
    for part in [
        &format!("comes: PE 0 is in barrier on team {ONE} and waits for PE 1, which is in "),
        &format!("waits for PE {}, and so on over ", MOST + 1),
        &format!(
            " to PE {LAST}, which is in barrier on team {THREE} and waits for PE 0; first came PE 0 ("
        ),
    ] {
        assert!(
            deadlock.contains(part.as_str()),
            "no {part:?} in {deadlock}"
        );
    }
    assert!(deadlock.len() < 3000, "{deadlock}");
}

#[test]
fn pairs_of_pes() {
    let job = Job::new();
    let pairs: Vec<[Pe; 2]> = (0..MAX_PES / 2)
        .map(|pair| [2 * pair, 2 * pair + 1])
        .collect();
    for pair in &pairs {
        job.team(ONE, pair);
        job.enters(pair[0], ONE);
    }
    let summary = job.picture().summary;
    let [all] = &summary[..] else {
        panic!("{summary:?}");
    };
    let middle = format!(" wait in barrier on team {ONE} for PEs 1, 3, 5, ");
    assert!(
        all.starts_with("PEs 0, 2, 4, ") && all.contains(&middle),
        "{all}"
    );
    // All pairs but the last one cross. That they are many does not hide whom the last one waits for.
    let (_, crossed) = pairs.split_last().unwrap();
    for pair in crossed {
        job.team(TWO, pair);
        job.enters(pair[1], TWO);
    }
    let summary = job.picture().summary;
    let (circles, rest) = summary.split_at(MOST_CIRCLES);
    for (line, [one, other]) in circles.iter().zip(crossed) {
        let start =
            format!("deadlock, unless another thread of PEs {one} and {other} comes: PE {one} ");
        assert!(line.starts_with(&start), "{line}");
    }
    let more = format!("and {} more circles", crossed.len() - MOST_CIRCLES);
    let culprit = format!(
        "PE {} waits in barrier on team {ONE} for PE {LAST}, which is not waiting in nvshmemrs",
        LAST - 1
    );
    assert_eq!(rest, [more, culprit]);
}

/// A wait that only one of the two looks shows may have ended before another one of the circle began. So may the wait of a PE of another
/// host that no query has been answered for.
#[test]
fn a_circle_of_waits_that_were_not_seen_twice_is_no_deadlock() {
    let job = Job::new();
    for (team, pe) in [(ONE, 0), (TWO, 1)] {
        job.team(team, &[0, 1]);
        job.enters(pe, team);
    }
    let board = Board::of_job(&job.0);
    let proven = Graph::of(&board);
    assert_eq!(proven.circles(), [[0, 1]]);
    let mut changed = Graph::of(&board);
    changed.first = Some(FirstLook {
        waits: [(0, 1), (1, 77)].into(),
        silent: [].into(),
    });
    // PE 1 is on another host, where nobody answers.
    job.0.pe(1).host[0].overwrite(77, Relaxed);
    for unproven in [changed, Graph::of(&board)] {
        assert!(unproven.circles().is_empty());
        assert_eq!(unproven.deadlock_of(0), None);
        let summary = unproven.summary();
        let text = "PEs 0 and 1 wait for each other, as far as is known, but not all of these waits are known to last";
        assert_eq!(summary, [text]);
    }
}
