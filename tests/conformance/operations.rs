//! Operations as C programs call them, on PEs that are processes.

use nvshmemrs_tests::{HANG, compile_c, launcher, program, run};

/// Runs a program whose PEs each say "same" once they have compared everything.
#[track_caller]
fn same(name: &str) {
    same_with(name, &[]);
}

#[track_caller]
fn same_with(name: &str, settings: &[(&str, &str)]) {
    let program = compile_c(&program(name));
    for n_pes in [1, 2, 3] {
        let mut command = launcher(n_pes, &[]);
        command.arg(&program).envs(settings.iter().copied());
        let output = run(&mut command, HANG).succeeded();
        let said = output
            .stdout
            .lines()
            .filter(|line| line.ends_with("same"))
            .count();
        assert_eq!(said, n_pes as usize, "{}", output.describe());
    }
}

#[test]
fn every_alignment_up_to_the_heaps_size() {
    // A power of two, and a size between two of them.
    for heap in [64 << 20, 90 << 20] {
        let heap = u64::to_string(&heap);
        same_with("aligned.c", &[("NVSHMEM_SYMMETRIC_SIZE", &heap)]);
    }
}

nvshmemrs_tests::cases! {
    fn what_threads_store_to_a_buffer_while_it_is_registered_is_kept => same("registered.c");
    fn a_child_that_is_forked_while_a_buffer_is_registered_has_its_contents =>
        same_with("registered.c", &[("REGISTERED_FORKS", "1")]);
    /// As in containers whose rules forbid it.
    fn without_userfaultfd_only_a_process_with_one_thread_registers =>
        same_with("registered.c", &[("REGISTERED_FORBIDS", "1")]);
    fn waits_and_tests => same("waits_model.c");
}
