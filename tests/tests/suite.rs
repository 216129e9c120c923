//! The table-driven suite of `tests/suite` with PEs as processes: one program, which runs the same scenarios as
//! `tests/suite/tests/threads.rs`.

use nvshmemrs_suite::NAMES;
use nvshmemrs_tests::{launcher, run};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

/// Eight PEs on two shared cores take their time.
const SLOW: Duration = Duration::from_secs(240);

/// Runs the program with `n` PEs; each must say that all is well, and every scenario must have been checked.
fn processes(n: u32) {
    let mut command = launcher(n, &[]);
    command
        .arg(env!("CARGO_BIN_EXE_suite"))
        .stdin(Stdio::null());
    let output = run(&mut command, SLOW);
    output.assert_success();
    assert_eq!(output.stderr, "", "{}", output.describe());
    let mut checks = BTreeMap::<&str, u64>::new();
    for line in output.stdout.lines() {
        if let Some((name, count)) = line.split_once(": ") {
            let count: u64 = count.parse().expect("a count");
            *checks.entry(name).or_default() += count;
        }
    }
    for name in NAMES {
        assert!(
            checks.contains_key(name),
            "{name} was never checked with {n} PEs"
        );
    }
    for pe in 0..n {
        output.assert_stdout(&format!("suite ok PE {pe} of {n}\n"));
    }
    let all: u64 = checks.values().sum();
    println!(
        "{n} PEs as processes: {all} checks in {:.1?}",
        output.elapsed
    );
}

#[test]
fn one_pe() {
    processes(1);
}

#[test]
fn two_pes() {
    processes(2);
}

#[test]
fn three_pes() {
    processes(3);
}

#[test]
fn four_pes() {
    processes(4);
}

#[test]
fn eight_pes() {
    processes(8);
}
