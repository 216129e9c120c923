//! The cost of the checker: how many times as long each call takes with it.

use super::{SLOW, under_check};
use nvshmemrs_tests::compile::compile_instrumented;
use nvshmemrs_tests::{launcher, program, run};
use std::process::Command;

/// How many times as long a call takes with the checker, at most: the limit of docs/checker.md.
const FACTOR: f64 = 30.0;

/// How many times that a put with a signal may take, which publishes two times.
const PUT_SIGNAL: f64 = 1.1;

/// A load without the checker, as a part of a get.
const LOAD_OF_GET: f64 = 0.6;

/// Prints the table of docs/checker.md:
/// `cargo test --release -p nvshmemrs-tests --test check cost -- --nocapture`.
#[test]
fn the_cost_of_the_checker_is_bounded() {
    let program = compile_instrumented(&program("check_cost.c"), "check-cost", &["-O2"]);
    let times = |command: &mut Command| -> Vec<(String, f64)> {
        let output = run(command, SLOW).succeeded();
        let lines = output
            .stdout
            .lines()
            .filter_map(|line| line.split_once('\t'));
        let times = lines.map(|(name, time)| (name.to_string(), time.parse().expect("a time")));
        times.collect()
    };
    // By turns, and more of them if need be, because other programs use the machine, too.
    let (mut off, mut on) = (Vec::new(), Vec::new());
    // The hook of a load takes a nanosecond or three without the checker, by where it lies in its cache line. So a checked load is
    // compared with a part of a get, as if its hook were the slower one.
    let factors = |off: &[(String, f64)], on: &[(String, f64)]| -> Vec<f64> {
        let (_, get) = off
            .iter()
            .find(|(name, _)| name.starts_with("get"))
            .expect("a get");
        let pairs = off.iter().zip(on);
        pairs
            .map(|((name, off), (_, on))| match name.starts_with("a load") {
                true => on / (LOAD_OF_GET * get),
                false if name.starts_with("put_signal") => on / (PUT_SIGNAL * off),
                false => on / off,
            })
            .collect()
    };
    for turn in 0..9 {
        keep_best(&mut off, times(launcher(2, &[]).arg(&program)));
        keep_best(&mut on, times(&mut under_check(2, "1", &[&program])));
        if turn >= 2 && factors(&off, &on).iter().all(|&factor| factor <= FACTOR) {
            break;
        }
    }
    assert_eq!((off.len(), on.len()), (20, 20));
    println!("| | off | on | factor |\n|---|---|---|---|");
    let factors = factors(&off, &on);
    for (((name, off), (_, on)), factor) in off.iter().zip(&on).zip(&factors) {
        println!("| {name} | {off:.1} ns | {on:.1} ns | {factor:.1} |");
    }
    let most = factors.into_iter().fold(0.0, f64::max);
    assert!(most <= FACTOR, "a call takes {most:.1} times as long");
}

/// Keeps the better one of each two times.
fn keep_best(best: &mut Vec<(String, f64)>, times: Vec<(String, f64)>) {
    if best.is_empty() {
        *best = times;
        return;
    }
    for ((_, best), (_, time)) in best.iter_mut().zip(times) {
        *best = best.min(time);
    }
}
