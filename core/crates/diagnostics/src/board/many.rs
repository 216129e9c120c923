//! Boards whose control block is written by hand: of as many PEs as a job can have, and of waits for locks.

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

    /// A PE is in its first collective of a team, and waits for the missing members.
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

/// A deadlock and a latecomer are both reported if many PEs wait for a PE of the circle, which also needs the late PE.
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
    // All pairs but the last one cross. Their number does not hide the waits of the last pair.
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

mod locks {
    use super::*;
    use crate::dtype::Dtype;
    use crate::job::machine;
    use crate::job::process::Process;
    use std::process::Command;

    /// PE `pe` waits for the element of a lock at an offset, behind `ahead`, since a time in ns.
    fn waits(control: &Control, pe: Pe, offset: u64, ahead: u32, since: u64) {
        let block = control.pe(pe);
        block.state.overwrite(State::Active as u32, Relaxed);
        for (word, here) in block.host.iter().zip(&control.header().host) {
            word.overwrite(here.load(Relaxed), Relaxed);
        }
        let slot = &block.waits[0];
        slot.operation
            .overwrite(Operation::LockWait as u32, Relaxed);
        slot.kind.overwrite(kind::WORD, Relaxed);
        slot.dtype.overwrite(Dtype::Int32 as u32, Relaxed);
        slot.bytes.overwrite(4, Relaxed);
        slot.offset.overwrite(offset, Relaxed);
        slot.team.overwrite(ahead.wrapping_add(1), Relaxed);
        slot.since.overwrite(since, Relaxed);
        slot.id.overwrite(1 + pe as u64, Relaxed);
    }

    fn summary(control: &Control) -> Vec<String> {
        Board::of_job(control).picture().summary
    }

    /// PE 1 waits for the lock of PE 3, and PE 2 for PE 4, which does the same as PE 3 but holds no lock.
    #[test]
    fn a_pe_without_a_lock_is_not_its_holder() {
        let control = Control::create(5, 2 << 20, Default::default(), None).unwrap();
        for pe in [0, 3, 4] {
            let state = &control.pe(pe).state;
            state.overwrite(State::Active as u32, Relaxed);
        }
        waits(&control, 1, 8, 3, 1);
        waits(&control, 2, 8, u32::MAX, 1);
        let slot = &control.pe(2).waits[0];
        slot.operation.overwrite(Operation::Put as u32, Relaxed);
        slot.kind.overwrite(kind::SHARE, Relaxed);
        slot.expected.overwrite(4, Relaxed);
        assert_eq!(
            summary(&control),
            [
                "PE 1 waits in lock_wait for PE 3, which holds the lock and is not waiting in nvshmemrs",
                "PE 2 waits in put for PE 4, which is not waiting in nvshmemrs",
            ]
        );
    }

    /// PE 1 is stopped while it waits for the lock of PE 0, ahead of PE 2.
    #[test]
    fn a_stopped_pe_in_the_queue_of_a_lock_is_not_its_holder() {
        let control = Control::create(3, 2 << 20, Default::default(), None).unwrap();
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let signal = ["-STOP".into(), process.id().to_string()];
        assert!(
            Command::new("kill")
                .args(signal)
                .status()
                .unwrap()
                .success()
        );
        while Process::stop_of(process.id()).is_none() {
            std::thread::yield_now();
        }
        control.pe(0).state.overwrite(State::Active as u32, Relaxed);
        waits(&control, 1, 8, 0, 1);
        waits(&control, 2, 8, 1, 1);
        let block = control.pe(1);
        block.process.overwrite(1, Relaxed);
        block.pid.overwrite(process.id(), Relaxed);
        let here = machine::pid_namespace();
        block.namespace.overwrite(here, Relaxed);
        let found = summary(&control);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(
            found,
            [
                "PE 1 waits in lock_wait for PE 0, which holds the lock and is not waiting in nvshmemrs; PE 2 waits for those",
                "PE 2 waits in lock_wait for PE 1, which is stopped by SIGSTOP or Ctrl-Z, in lock_wait",
            ]
        );
    }

    #[test]
    fn the_holder_of_a_lock_is_the_first_pe_of_the_queue_that_does_not_wait_for_it() {
        let control = Control::create(4, 2 << 20, Default::default(), None).unwrap();
        control.pe(0).state.overwrite(State::Active as u32, Relaxed);
        waits(&control, 1, 8, 0, 1);
        waits(&control, 2, 8, 1, 1);
        // For another lock.
        waits(&control, 3, 16, 1, 1);
        let board = Board::of_job(&control);
        let targets: Vec<String> = board.waits().into_iter().map(|wait| wait.target).collect();
        let of = |byte: u32| format!("the lock at byte {byte:#x} of its symmetric heap");
        assert_eq!(
            targets,
            [
                format!("PE 0 to release {}", of(8)),
                format!(
                    "PE 1, which is ahead of it in the queue of {}; PE 0 holds the lock",
                    of(8)
                ),
                format!("PE 1 to release {}", of(16)),
            ]
        );
        assert_eq!(board.picture().culprits, [0]);
        assert_eq!(
            summary(&control),
            [
                "PE 1 waits in lock_wait for PE 0, which holds the lock and is not waiting in nvshmemrs; PEs 2 and 3 wait for those"
            ]
        );
        // Waits that make no sense: a circle within one queue, and PEs that there are not.
        waits(&control, 1, 8, 2, 1);
        assert!(board.waits()[0].target.starts_with("PE 2 to release"));
        waits(&control, 1, 8, 77, 1);
        waits(&control, 2, 8, u32::MAX - 1, 1);
        assert!(board.waits().iter().all(|wait| wait.waits_for != [77]));
    }

    /// A wait for a lock that began just now may end without anybody: PE 0 may have released the lock before its own wait began.
    #[test]
    fn locks_are_a_deadlock_once_their_waits_last() {
        let control = Control::create(2, 2 << 20, Default::default(), None).unwrap();
        let now = crate::clock::now_ns();
        for (since, deadlocks) in [(now, 0), (now - 2_000_000_000, 1)] {
            waits(&control, 0, 8, 1, since);
            waits(&control, 1, 16, 0, since);
            let picture = Board::of_job(&control).picture();
            assert_eq!(picture.circles.len(), deadlocks, "{picture}");
        }
    }
}
