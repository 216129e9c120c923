//! Joining and leaving: thread PEs, unique ids, deadlines, PEs that leave.

use nvshmemrs::{Cmp, Error, InitAttr, Runtime, Team, UniqueId, local};
use std::time::{Duration, Instant};

#[test]
fn threads_join_by_unique_id_again_and_again() {
    let id = UniqueId::new().unwrap();
    for n in [2, 3, 1] {
        let attr = InitAttr {
            heap_bytes: Some((n as u64) << 21),
            ..InitAttr::default()
        };
        std::thread::scope(|scope| {
            let pes: Vec<_> = (0..n)
                .map(|pe| {
                    let (id, attr) = (&id, &attr);
                    scope.spawn(move || {
                        let rt = Runtime::init_unique_id(id, pe, n, attr).unwrap();
                        assert_eq!((rt.my_pe(), rt.n_pes()), (pe, n));
                        let array = rt.array::<i32>(1).unwrap();
                        rt.p(array.at(0).unwrap(), pe, (pe + 1) % n).unwrap();
                        rt.barrier_all().unwrap();
                        assert_eq!(array.load(0).unwrap(), (pe + n - 1) % n);
                        drop(array);
                        rt.finalize().unwrap();
                    })
                })
                .collect();
            // A thread sanitizer sees a join, but not the end of a scope.
            pes.into_iter().for_each(|pe| pe.join().unwrap());
        });
    }
}

#[test]
fn a_local_job_refuses_wrong_and_repeated_pes() {
    let job = local::Job::new(2, &InitAttr::default()).unwrap();
    assert_eq!(job.join(2).unwrap_err().status(), 12);
    assert_eq!(job.join(-1).unwrap_err().status(), 12);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| job.join(1).unwrap().finalize().unwrap());
        let rt = job.join(0).unwrap();
        assert_eq!(job.join(0).unwrap_err().status(), 1);
        rt.finalize().unwrap();
        other.join().unwrap();
    });
    for n in [0, -1, 5000] {
        assert_eq!(
            local::Job::new(n, &InitAttr::default())
                .unwrap_err()
                .status(),
            1
        );
    }
}

#[test]
fn init_with_a_missing_member_times_out_and_names_it() {
    let attr = InitAttr {
        init_timeout: Some(Duration::from_millis(200)),
        ..InitAttr::default()
    };
    let job = local::Job::new(2, &attr).unwrap();
    let error = job.join(0).unwrap_err();
    assert_eq!(error.status(), 16, "{error}");
    assert!(error.to_string().contains("PE 1 to call init"), "{error}");
}

#[test]
fn attributes_are_checked() {
    let with = |attr: InitAttr| Runtime::init_with(&attr).unwrap_err().status();
    assert_eq!(
        with(InitAttr {
            memory: Some(nvshmemrs::MemoryKind::Device),
            ..InitAttr::default()
        }),
        3
    );
    assert_eq!(
        with(InitAttr {
            heap_bytes: Some(0),
            ..InitAttr::default()
        }),
        1
    );
    assert_eq!(
        with(InitAttr {
            heap_bytes: Some(1 << 60),
            ..InitAttr::default()
        }),
        1
    );
    assert_eq!(
        with(InitAttr {
            heap_bytes: Some(u64::MAX),
            ..InitAttr::default()
        }),
        1
    );
    let id = UniqueId::new().unwrap();
    for (pe, n, status) in [(0, 0, 1), (2, 2, 12), (-1, 2, 12)] {
        assert_eq!(
            Runtime::init_unique_id(&id, pe, n, &InitAttr::default())
                .unwrap_err()
                .status(),
            status
        );
    }
}

#[test]
fn a_pe_that_leaves_ends_every_wait() {
    local::run(3, |rt| {
        let signal = rt.array::<u64>(1)?;
        rt.barrier_all()?;
        match rt.my_pe() {
            0 => {
                let error = rt.barrier_all().unwrap_err();
                assert!(
                    matches!(
                        error,
                        Error::PeDied {
                            pe: 2,
                            operation: "barrier",
                            ..
                        }
                    ),
                    "{error}"
                );
                assert_eq!(rt.check().unwrap_err().status(), 15);
                assert_eq!(rt.finalize().unwrap_err().status(), 15);
            }
            1 => {
                let error = rt.signal_wait(signal.at(0)?, Cmp::Eq, 1).unwrap_err();
                assert!(
                    error.to_string().contains("PE 2") && error.to_string().contains("left"),
                    "{error}"
                );
            }
            _ => drop(rt),
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_deadline_names_who_is_missing() {
    let attr = InitAttr {
        timeout: Some(Duration::from_millis(500)),
        ..InitAttr::default()
    };
    // Not one of ours: it tells PE 1 that PE 0 has given up.
    let gave_up = std::sync::Barrier::new(2);
    local::run_with(2, &attr, |rt| {
        let signal = rt.array::<u64>(2)?;
        let error = rt
            .signal_wait(signal.at(1)?, Cmp::Gt, 3)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("to be > 3, sees 0") && error.contains("the timeout given to init"),
            "{error}"
        );
        rt.barrier_all()?;
        if rt.my_pe() == 0 {
            let error = rt.barrier(Team::WORLD).unwrap_err();
            gave_up.wait();
            assert_eq!(error.status(), 16);
            let text = error.to_string();
            assert!(
                text.contains("its 3rd collective on WORLD waits for PE 1; PE 1 (pid "),
                "{text}"
            );
        } else {
            gave_up.wait();
            let error = rt.barrier(Team::WORLD).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::TeamBroken { pe: 0, ref team, .. } if team == "WORLD"
                ),
                "{error}"
            );
        }
        assert_eq!(rt.barrier(Team::WORLD).unwrap_err().status(), 23);
        // Other teams go on, and so does the job.
        rt.barrier(Team::NODE)?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn one_collective_per_team_at_a_time() {
    local::run(2, |rt| {
        if rt.my_pe() == 0 {
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| rt.barrier(Team::WORLD));
                let in_world = || {
                    let waits = rt.board().waits();
                    waits
                        .iter()
                        .any(|wait| wait.pe == 0 && wait.team.as_deref() == Some("WORLD"))
                };
                let start = Instant::now();
                while !in_world() && start.elapsed() < Duration::from_secs(20) {}
                assert!(matches!(
                    rt.sync(Team::WORLD).unwrap_err(),
                    Error::Busy { ref team, .. } if team == "WORLD"
                ));
                rt.barrier(Team::NODE).unwrap();
                waiting.join().unwrap().unwrap();
            });
        } else {
            rt.barrier(Team::NODE)?;
            rt.barrier(Team::WORLD)?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_dead_peer_is_never_mistaken_for_one_that_came() {
    local::run(2, |rt| {
        let word = rt.array::<i64>(1)?;
        rt.barrier_all()?;
        if rt.my_pe() == 1 {
            return Ok(());
        }
        for _ in 0..4 {
            assert_eq!(rt.barrier_all().unwrap_err().status(), 15);
            let reduced =
                rt.reduce_array(Team::WORLD, &word.all(), &word.all(), nvshmemrs::Op::Sum);
            assert_eq!(reduced.unwrap_err().status(), 15);
            assert_eq!(rt.array::<u8>(1).unwrap_err().status(), 15);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_collective_does_not_wait_for_a_pe_in_finalize() {
    local::run(3, |rt| {
        rt.barrier_all()?;
        if rt.my_pe() == 1 {
            return rt.finalize();
        }
        let error = rt.barrier_all().unwrap_err().to_string();
        assert!(
            error.contains("PE 1") && error.contains("has called finalize"),
            "{error}"
        );
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_panic_of_one_pe_is_a_panic_of_run() {
    let run = std::panic::catch_unwind(|| {
        local::run(2, |rt| {
            if rt.my_pe() == 1 {
                std::panic::resume_unwind(Box::new("PE 1 panics"));
            }
            rt.barrier_all()
        })
    });
    assert_eq!(
        run.unwrap_err().downcast_ref::<&str>(),
        Some(&"PE 1 panics")
    );
}

#[test]
fn a_second_pe_0_is_told_at_once() {
    let id = UniqueId::new().unwrap();
    let attr = InitAttr {
        init_timeout: Some(Duration::from_secs(20)),
        ..InitAttr::default()
    };
    std::thread::scope(|scope| {
        let zeros: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| Runtime::init_unique_id(&id, 0, 2, &attr)))
            .collect();
        let start = Instant::now();
        while zeros.iter().all(|zero| !zero.is_finished()) {
            assert!(start.elapsed() < Duration::from_secs(15), "nobody was told");
            std::thread::yield_now();
        }
        let one = scope.spawn(|| Runtime::init_unique_id(&id, 1, 2, &attr)?.finalize());
        let results: Vec<_> = zeros
            .into_iter()
            .map(|zero| zero.join().unwrap()?.finalize())
            .collect();
        one.join().unwrap().unwrap();
        let error = results
            .iter()
            .find_map(|result| result.as_ref().err())
            .unwrap()
            .to_string();
        assert!(error.contains("is PE 0 of this job already"), "{error}");
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    });
}
