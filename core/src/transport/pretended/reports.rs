//! Reports of jobs on several hosts: each wait is read on its own host, at another moment.

use super::faults::TimedBarrier;
use super::{Pretended, run};
use crate::{Error, InitAttr, Result, Runtime, Team, TeamConfig, deadline};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A team of the PEs 0 and 2, which are on different hosts, and of all others.
fn pair(rt: &Runtime) -> Result<Option<Team>> {
    rt.team_split_strided(Team::WORLD, 0, 2, 2, Ok(TeamConfig::default()))
}

/// In turn the PEs meet in WORLD and in a team, and one of them is late for each. Each wait is on the board, and a circle can be pieced
/// together of the wait of one round and that of the next.
#[test]
fn changing_waits_are_no_deadlock() {
    for hosts in [vec![0, 0, 1, 1], vec![0, 1, 1, 2]] {
        let (over, reports) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
        run(Pretended::on(hosts, true), &InitAttr::default(), |rt| {
            let pair = pair(&rt)?;
            std::thread::scope(|scope| {
                if rt.my_pe() == 1 {
                    scope.spawn(|| {
                        while !over.load(Relaxed) {
                            reports.lock().unwrap().push(rt.board().report());
                        }
                    });
                }
                let start = Instant::now();
                let mut result = Ok(());
                for round in 0.. {
                    let late = |turn: i32| {
                        if rt.my_pe() == turn {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                    };
                    late([0, 2][round % 2]);
                    let met = match pair {
                        Some(team) => rt.barrier(team),
                        None => Ok(()),
                    };
                    late([2, 0, 1, 3][round % 4]);
                    // All do the same number of rounds: PE 0 says when it is enough.
                    if rt.my_pe() == 0 && start.elapsed() > Duration::from_secs(2) {
                        over.store(true, Relaxed);
                    }
                    result = met.and_then(|()| rt.barrier_all());
                    let last = result.is_err() || over.load(Relaxed);
                    result = result.and_then(|()| rt.barrier_all());
                    if last || result.is_err() {
                        over.store(true, Relaxed);
                        break;
                    }
                }
                result
            })?;
            rt.finalize()
        });
        let reports = reports.into_inner().unwrap();
        assert!(reports.len() > 20, "{} reports", reports.len());
        let wrong = reports.iter().find(|report| report.contains("deadlock"));
        assert!(wrong.is_none(), "{}", wrong.unwrap());
    }
}

/// PE 0 is in barrier_all, and PE 2 of another host in a barrier of a team with PE 0: each report says so, also that of the wait's end.
#[test]
fn a_circle_that_lasts_is_a_deadlock() {
    let together = TimedBarrier::new(4);
    run(
        Pretended::on(vec![0, 0, 1, 1], true),
        &InitAttr::default(),
        |rt| {
            let pair = pair(&rt)?;
            rt.barrier_all()?;
            let hung = |length: u64| {
                deadline(Duration::from_secs(length), || match (rt.my_pe(), pair) {
                    (2, Some(team)) => rt.barrier(team),
                    _ => rt.barrier_all(),
                })
            };
            let error = std::thread::scope(|scope| {
                if rt.my_pe() == 1 {
                    scope.spawn(|| {
                        let start = Instant::now();
                        let line = "PE 0 is in barrier on WORLD and waits for PE 2, which is in barrier on team ";
                        loop {
                            let report = rt.board().report();
                            let first = report.lines().next().unwrap_or_default();
                            if first.starts_with("deadlock") && first.contains(line) {
                                assert_eq!(rt.board().picture().circles, [[0, 2]]);
                                break;
                            }
                            assert!(start.elapsed() < Duration::from_secs(4), "{report}");
                        }
                    });
                }
                // Its own wait ends while the others still wait.
                hung(if rt.my_pe() == 2 { 4 } else { 5 }).unwrap_err()
            });
            let text = error.to_string();
            match error {
                Error::Timeout { .. } => {
                    let told = text.contains("deadlock") && text.contains("waits for PE 0");
                    assert!(rt.my_pe() != 2 || told, "{text}");
                }
                Error::TeamBroken { .. } if rt.my_pe() != 2 => {}
                _ => panic!("{text}"),
            }
            together.wait();
            Ok(())
        },
    );
}
