//! Operations as C programs call them, on PEs that are processes.

use nvshmemrs_tests::{compile_c, launch, program};

/// Runs a program whose PEs each say "same" once they have compared everything.
#[track_caller]
fn same(name: &str) {
    let program = compile_c(&program(name));
    for n_pes in [1, 2, 3] {
        let output = launch(n_pes, [&program]);
        output.assert_success();
        let said = output
            .stdout
            .lines()
            .filter(|line| line.ends_with("same"))
            .count();
        assert_eq!(said, n_pes as usize, "{}", output.describe());
    }
}

#[test]
fn atomics() {
    same("atomics.c");
}

#[test]
fn waits_and_tests() {
    same("waits_model.c");
}
