//! The litmus tests of the memory model, with PEs that are processes.

use nvshmemrs_tests::{HANG, launcher, run};

#[test]
fn no_forbidden_outcome_is_seen() {
    for n_pes in [2, 4] {
        let mut command = launcher(n_pes, &[]);
        command.args([env!("CARGO_BIN_EXE_litmus"), "1000"]);
        // PEs that share cores with other tests take turns.
        let output = run(&mut command, HANG * 4);
        output
            .assert_success()
            .assert_stdout("MP+fence")
            .assert_stdout("put+atomic");
        println!("{n_pes} PEs, processes:\n{}", output.stdout);
    }
}
