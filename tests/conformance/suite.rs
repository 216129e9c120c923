//! The table-driven suite of `tests/conformance/suite` with PEs as processes: one program, which runs the same scenarios as
//! `tests/conformance/suite/tests/threads.rs`, on one host and on several. More PEs than here run as threads.

use nvshmemrs_suite::NAMES;
use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::{launcher, run};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The PEs share two cores with others, and those of several hosts have network threads, too.
const SLOW: Duration = Duration::from_secs(480);

/// The program, and its arguments.
fn suite(words: &[&str]) -> Vec<OsString> {
    let program: OsString = env!("CARGO_BIN_EXE_suite").into();
    let words = words.iter().map(OsString::from);
    std::iter::once(program).chain(words).collect()
}

/// Each of the `n` PEs must say that all is well, and every scenario must have been checked.
fn checked(what: &str, n: u32, mut command: Command) {
    let output = run(command.stdin(Stdio::null()), SLOW).succeeded();
    assert_eq!(output.stderr, "", "{}", output.describe());
    let mut checks = BTreeMap::<&str, u64>::new();
    for line in output.stdout.lines() {
        if let Some((name, count)) = line.split_once(": ") {
            let count: u64 = count.parse().expect("a count");
            *checks.entry(name).or_default() += count;
        }
    }
    for name in NAMES {
        assert!(checks.contains_key(name), "{name} was never checked {what}");
    }
    output.assert_each(0..n, |pe| format!("suite ok PE {pe} of {n}\n"));
    let all: u64 = checks.values().sum();
    println!("{n} PEs {what}: {all} checks in {:.1?}", output.elapsed);
}

fn processes(n: u32, words: &[&str]) {
    let mut command = launcher(n, &[]);
    command.args(suite(words));
    checked("as processes", n, command);
}

#[test]
fn two_pes() {
    processes(2, &[]);
}

/// Four threads have all sizes.
#[test]
fn four_pes() {
    processes(4, &["few"]);
}

#[test]
fn two_hosts() {
    let hosts = [host("a", 1), host("b", 2)];
    checked("on two hosts", 3, mpirun(&[], &hosts, &suite(&[])));
}

/// The PEs of a host need not follow each other.
#[test]
fn three_hosts() {
    let hosts = [host("a", 1), host("b", 1), host("a", 1), host("c", 1)];
    checked("on three hosts", 4, mpirun(&[], &hosts, &suite(&["few"])));
}
