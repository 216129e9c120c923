//! The checker in jobs on two hosts over MPI, which this machine plays: the same findings as on one host, and none in correct programs.

use super::*;
use nvshmemrs_tests::hosts::{host, mpirun};

/// Half of the PEs on each host, with PE 0 on the first.
pub(super) fn on_two_hosts(n_pes: u32, seed: &str, words: &[OsString]) -> Command {
    let hosts = [host("a", n_pes / 2), host("b", n_pes.div_ceil(2))];
    let mut command = mpirun(&[], &hosts, words);
    command
        .env("NVSHMEMRS_CHECK", "1")
        .env("NVSHMEMRS_CHECK_SEED", seed)
        .env("NVSHMEMRS_LIBRARY", library())
        .stdin(Stdio::null());
    command
}

/// The lines of the checker itself, without the line that announces it.
fn said(output: &Output) -> Vec<&str> {
    let lines = output.stderr.lines();
    lines
        .filter(|line| line.starts_with("nvshmemrs check: ") && !line.contains(" check: on for "))
        .collect()
}

/// The bugs of a program are found at their places, and nothing else. Mended, the program brings no report.
#[track_caller]
fn is_the_same_on_two_hosts(name: &str) {
    let program = Program::new(name);
    let n_pes = program.header.n_pes.unwrap_or(2).max(2);
    let words = program.words(false);
    let output = run(&mut on_two_hosts(n_pes, "1", &words), HANG * 3);
    let refused = output.stderr.contains("makes no sense");
    assert!(!refused, "{}", output.describe());
    program.assert_found(&output);

    let output = run(
        &mut on_two_hosts(n_pes, "2", &program.words(true)),
        HANG * 3,
    )
    .succeeded();
    assert_eq!(said(&output), [""; 0], "{}", output.describe());
    let done = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("done PE "));
    assert_eq!(done.count(), n_pes as usize, "{}", output.describe());
}

macro_rules! on_hosts {
    ($($test:ident $name:literal)*) => { $(
        #[test]
        fn $test() {
            is_the_same_on_two_hosts($name);
        }
    )* };
}

// A sequence of puts, streams, a collective, and findings without a tracker; the test below has all programs.
on_hosts! {
    contexts "contexts.c"
    forwarded "forwarded.c"
    lapped "lapped.c"
    other_collective "other_collective.c"
    source_reused "source_reused.c"
    two_streams "two_streams.cpp"
    two_writers "two_writers.c"
}

/// All programs, also those in other languages; but kernels reach PEs of their own host only.
#[test]
#[ignore = "takes minutes"]
fn every_program_on_two_hosts() {
    for name in PROGRAMS.iter().filter(|name| **name != "kernels.cpp") {
        println!("{name}");
        is_the_same_on_two_hosts(name);
    }
}

/// A program with every kind of operation brings no report.
#[test]
fn nothing_is_said_of_the_model() {
    for n_pes in [2, 4] {
        let words = instrumented("model.c");
        let output = run(&mut on_two_hosts(n_pes, "5", &words), HANG * 3).succeeded();
        assert_eq!(said(&output), [""; 0], "{}", output.describe());
    }
}
