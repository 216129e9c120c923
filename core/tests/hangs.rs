//! Jobs that hang: the board names the PEs that hold the others up, and deadlines of the caller's end the waits.

use nvshmemrs::{
    Cmp, Error, InitAttr, Result, Runtime, SignalOp, Team, TeamConfig, deadline, local,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// How long the waits last that are to end with their deadline. They are looked at meanwhile; where the machine is too busy for that, a
/// test has longer in its next try.
const HUNG: [Duration; 3] = [
    Duration::from_millis(1500),
    Duration::from_secs(6),
    Duration::from_secs(24),
];
const SOON: Duration = Duration::from_millis(50);

/// Runs a test with the next longer time if it fails; the last failure counts.
fn patiently(test: impl Fn(Duration)) {
    let [tries @ .., last] = HUNG;
    let passes = |hung: &Duration| catch_unwind(AssertUnwindSafe(|| test(*hung))).is_ok();
    if !tries.iter().any(passes) {
        test(last);
    }
}

/// Waits until the board shows so many of the waits that `count` returns, which must be before they end.
#[track_caller]
fn shown(hung: Duration, n: usize, count: impl Fn() -> usize) {
    let start = Instant::now();
    while count() < n {
        assert!(start.elapsed() < hung, "{} waits, not {n}", count());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[track_caller]
fn timed_out<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(error @ Error::Timeout { .. }) => error.to_string(),
        other => panic!("not a deadline: {other:?}"),
    }
}

/// Runs `body` on each PE of a job, each with the deadline `hung`, and returns the text of the board meanwhile, with `n` waits on it.
fn hang(hung: Duration, n_pes: i32, n: usize, body: impl Fn(&Runtime) + Sync) -> String {
    let text = Mutex::new(String::new());
    let done = Barrier::new(n_pes as usize);
    local::run(n_pes, |rt| {
        let result = catch_unwind(AssertUnwindSafe(|| {
            std::thread::scope(|scope| {
                if rt.my_pe() == 0 {
                    scope.spawn(|| {
                        shown(hung, n, || rt.board().waits().len());
                        *text.lock().unwrap() = rt.board().report();
                    });
                }
                deadline(hung, || body(&rt));
            });
        }));
        // Until then the others may still be at it.
        done.wait();
        if let Err(panic) = result {
            resume_unwind(panic);
        }
        // Finalize completes even with a broken team.
        rt.finalize()
    })
    .unwrap();
    text.into_inner().unwrap()
}

/// The text for a circle in which a PE has threads that do not wait: here the threads of the test itself.
const CIRCLE: &str = "deadlock, unless another thread of PEs 0 and 1 comes: ";

#[test]
fn collectives_of_two_teams_against_each_other() {
    patiently(collectives_of_two_teams);
}

fn collectives_of_two_teams(hung: Duration) {
    let report = hang(hung, 4, 4, |rt| {
        let both = rt
            .team_split_strided(Team::WORLD, 0, 1, 2, Ok(TeamConfig::default()))
            .unwrap();
        match rt.my_pe() {
            0 => drop(rt.barrier_all()),
            1 => {
                let others = || rt.board().waits().len();
                shown(hung / 4, 3, others);
                match deadline(hung / 2, || rt.sync(both.unwrap())) {
                    Err(Error::TeamBroken { .. }) => {}
                    other => {
                        let text = timed_out(other);
                        contains(&text, &["waits for PE 0", "is in barrier on WORLD"]);
                        contains(&text, &[CIRCLE, "comes: PE 1 is in sync on team"]);
                    }
                }
            }
            _ => drop(rt.barrier_all()),
        }
    });
    contains(
        &report,
        &[
            CIRCLE,
            "comes: PE 0 is in barrier on WORLD and waits for PE 1, which is in sync on team 6 and waits for PE 0; first came PE 0 (",
            " s ago), then PE 1 (",
            "; PEs 2 and 3 wait for those\n",
            "in sync on team 6 (its 1st collective there) for ",
        ],
    );
}

#[test]
fn one_that_is_elsewhere_and_those_that_wait_for_the_waiting() {
    patiently(one_that_is_elsewhere);
}

fn one_that_is_elsewhere(hung: Duration) {
    let report = hang(hung, 4, 3, |rt| {
        let pair = rt
            .team_split_strided(Team::WORLD, 1, 1, 2, Ok(TeamConfig::default()))
            .unwrap();
        match rt.my_pe() {
            // 0 waits for 1, which waits for 2, which is elsewhere.
            2 => std::thread::sleep(hung),
            1 => drop(rt.barrier(pair.unwrap())),
            _ => drop(rt.barrier_all()),
        }
    });
    contains(
        &report,
        &[
            "PEs 0 and 3 wait in barrier on WORLD and PE 1 waits in barrier on team 6 for PE 2, which is not waiting in nvshmemrs\n",
            "it has begun 1 collective on WORLD; it has begun 0 collectives on team 6",
        ],
    );
}

#[test]
fn nested_deadlines_and_the_setting() {
    let attr = InitAttr {
        timeout: Some(Duration::from_secs(100)),
        ..InitAttr::default()
    };
    local::run_with(1, &attr, |rt| {
        let flag = rt.array::<u64>(1)?;
        let wait = || rt.signal_wait(flag.at(0).unwrap(), Cmp::Eq, 1);
        let start = Instant::now();
        // Each in turn, and both together, are shorter than the setting.
        deadline(SOON, || timed_out(wait()));
        deadline(Duration::from_secs(50), || {
            deadline(SOON, || timed_out(wait()))
        });
        let text = deadline(SOON, || {
            deadline(Duration::from_secs(50), || timed_out(wait()))
        });
        contains(&text, &["the caller's deadline"]);
        assert!(start.elapsed() < Duration::from_secs(40));
        // The deadline is one moment for all waits in it.
        deadline(SOON, || {
            timed_out(wait());
            let start = Instant::now();
            timed_out(wait());
            assert!(start.elapsed() < Duration::from_secs(5));
        });
        // A call that need not wait is not affected by a deadline that has passed.
        deadline(Duration::ZERO, || {
            rt.signal_op(flag.at(0)?, 1, SignalOp::Set, 0)?;
            wait()
        })?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_longer_deadline_stands_in_for_a_shorter_setting() {
    let attr = InitAttr {
        timeout: Some(SOON),
        ..InitAttr::default()
    };
    local::run_with(2, &attr, |rt| {
        let flag = rt.array::<u64>(1)?;
        let element = flag.at(0)?;
        if rt.my_pe() == 1 {
            std::thread::sleep(SOON * 6);
            rt.signal_op(element, 1, SignalOp::Set, 0)?;
            rt.signal_op(element, 1, SignalOp::Set, 1)?;
        }
        let long = Duration::from_secs(60);
        deadline(long, || rt.signal_wait(element, Cmp::Eq, 1))?;
        deadline(long, || rt.barrier_all())?;
        let text = timed_out(rt.signal_wait(element, Cmp::Eq, 2));
        contains(&text, &["the timeout given to init"]);
        deadline(long, || rt.finalize())
    })
    .unwrap();
}

#[test]
fn a_deadline_goes_with_what_is_submitted() {
    local::run(1, |rt| {
        let flag = rt.array::<u64>(1)?;
        let element = flag.at(0)?;
        let stream = rt.stream()?;
        let wait = move |rt: &Runtime| rt.signal_wait(element, Cmp::Eq, 1).map(drop);
        deadline(SOON, || stream.submit(wait))?;
        contains(&timed_out(stream.synchronize()), &["`signal_wait` of PE 0"]);
        // An operation that was submitted without a deadline has none, for every waiter for the stream.
        stream.submit(wait)?;
        contains(
            &timed_out(deadline(SOON, || stream.synchronize())),
            &[
                "`stream_synchronize` of PE 0",
                "a stream of its own to come to operation 2",
            ],
        );
        rt.signal_op(element, 1, SignalOp::Set, 0)?;
        stream.synchronize()?;
        let event = rt.event()?;
        rt.signal_op(element, 0, SignalOp::Set, 0)?;
        stream.submit(wait)?;
        event.record(&stream)?;
        timed_out(deadline(SOON, || event.synchronize()));
        rt.signal_op(element, 1, SignalOp::Set, 0)?;
        event.synchronize()?;
        drop(stream);
        drop(flag);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_deadline_in_team_init_names_how_many_are_missing() {
    local::run(3, |rt| {
        if rt.my_pe() == 0 {
            let config = TeamConfig {
                unique_id: 77,
                ..TeamConfig::default()
            };
            let text = timed_out(deadline(SOON, || rt.team_init(config, 3, 0)));
            contains(&text, &["2 more PEs to call team_init with unique id 77"]);
        }
        rt.barrier_all()?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn limits_that_no_clock_can_add() {
    let most = Duration::from_secs(1_000_000_000);
    let with = |timeout, init_timeout| {
        let attr = InitAttr {
            timeout: Some(timeout),
            init_timeout: Some(init_timeout),
            ..InitAttr::default()
        };
        local::run_with(2, &attr, |rt| {
            rt.barrier_all()?;
            rt.finalize()
        })
    };
    with(most, most).unwrap();
    for (name, result) in [
        ("`timeout`", with(Duration::MAX, most)),
        ("`init_timeout`", with(most, Duration::MAX)),
        ("`timeout`", with(most + SOON, most)),
    ] {
        let text = result.unwrap_err().to_string();
        contains(&text, &[name, "at most 1000000000 s"]);
    }
}

/// A wait for a lock names the PE ahead in the queue. A caller that names itself waits for an unknown writer.
#[test]
fn a_wait_for_a_lock_names_the_pe_ahead_unless_it_is_the_caller() {
    let attr = InitAttr {
        timeout: Some(Duration::from_millis(60)),
        ..Default::default()
    };
    let waited = Barrier::new(2);
    local::run_with(2, &attr, |rt| {
        let words = rt.array::<i32>(1)?;
        words.store(0, -1)?;
        let word = words.at(0)?;
        if rt.my_pe() == 0 {
            let place = format!("at byte {:#x} of its symmetric heap", word.offset());
            for (pe, expected) in [
                (
                    0,
                    format!("waits for the int32 element {place} to be >= 0, sees -1"),
                ),
                (1, format!("waits for PE 1 to release the lock {place}")),
            ] {
                let text = rt.lock_wait(word, pe).unwrap_err().to_string();
                assert!(
                    text.starts_with("`lock_wait` of PE 0 gave up after "),
                    "{text}"
                );
                assert!(
                    text.contains(&expected) && !text.contains("deadlock"),
                    "{text}"
                );
            }
            for pe in [-1, 2] {
                let text = rt.lock_wait(word, pe).unwrap_err().to_string();
                assert!(text.contains("`pe`"), "{text}");
            }
            words.store(0, 0)?;
            rt.lock_wait(word, 1)?;
        }
        waited.wait();
        drop(words);
        rt.finalize()
    })
    .unwrap();
}
