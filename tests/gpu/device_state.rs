//! The state for kernels of a heap in host memory: functions of the header for kernels, compiled for the CPU. `device.rs` has the same for GPU
//! memory.

use nvshmemrs_tests::{HANG, Output, compile_c, launcher, program, run};

fn state(n: u32, part: &str, settings: &[(&str, &str)]) -> Output {
    let program = compile_c(&program("device_state.c"));
    let mut command = launcher(n, &["--grace", "20"]);
    command.arg(program).arg(part);
    run(command.envs(settings.iter().copied()), HANG)
}

#[track_caller]
fn assert_all_well(output: &Output, n: u32) {
    output.assert_each(0..n, |pe| format!("device state ok PE {pe}\n"));
}

#[test]
fn kernels_find_the_job_and_its_teams() {
    for n in 1..=3 {
        let output = state(n, "tables", &[]).succeeded();
        assert_all_well(&output, n);
    }
}

#[test]
fn a_death_is_told_to_kernels() {
    assert_all_well(&state(3, "kill", &[]), 2);
}

#[test]
fn what_a_kernel_finds_wrong_is_an_error_of_check_and_finalize() {
    let output = state(2, "report", &[("NVSHMEMRS_DEVICE_CHECK", "1")]).succeeded();
    assert_all_well(&output, 2);
    assert_all_well(&state(2, "unchecked", &[]), 2);
    let wrong = state(1, "tables", &[("NVSHMEMRS_DEVICE_CHECK", "yes")]);
    wrong.assert_stderr("setting `NVSHMEMRS_DEVICE_CHECK`");
}

#[test]
fn a_job_that_is_checked_has_a_state_of_another_version() {
    let output = state(2, "watched", &[("NVSHMEMRS_CHECK", "1")]).succeeded();
    assert_all_well(&output, 2);
}
