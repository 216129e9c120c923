//! The heap in device memory, on machines without a GPU: the library against `programs/fake_cuda.c`, which stands in for libcuda and is
//! as strict, and `programs/fake_nvrtc.c`. Behaviour that only a GPU shows, kernels above all, is tested on machines with GPUs.

use nvshmemrs_tests::fakes::{driver_is_here, with_fakes};
use nvshmemrs_tests::{Output, compile_c, launcher, left_out, program, run};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The transfers are many, and the machine may be busy.
const SLOW: Duration = Duration::from_secs(120);
/// A process ends with it if it has not given everything back to the driver.
const LEAKED: i32 = 77;
const DEVICE: &str = env!("CARGO_BIN_EXE_device");

fn prepared(mut command: Command, settings: &[(&str, &str)]) -> Command {
    with_fakes(&mut command)
        .stdin(Stdio::null())
        .env("NVSHMEMRS_MEMORY", "device")
        .env("NVSHMEMRS_TIMEOUT", "60")
        .env("FAKE_CUDA_LEAKS", "1")
        .env("DEVICE_MOST", "70000")
        .envs(settings.iter().copied());
    command
}

/// The transfers by one process.
fn alone(args: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(DEVICE);
    command.args(args);
    run(&mut prepared(command, settings), SLOW)
}

/// The transfers by `n` processes.
fn processes(n: u32, settings: &[(&str, &str)]) -> Output {
    let mut command = launcher(n, &[]);
    command.arg(DEVICE);
    run(&mut prepared(command, settings), SLOW)
}

/// Every PE has come through, as often as it should.
fn assert_all_well(output: &Output, n: u32, times: usize) {
    output.assert_success();
    for pe in 0..n {
        output.assert_times(times, &format!("device ok PE {pe}\n"));
    }
}

/// The job fails, without a hang, and says so.
fn assert_refused(output: &Output, words: &[&str]) {
    assert_ne!(output.code(), 0, "{}", output.describe());
    assert_ne!(output.code(), LEAKED, "{}", output.describe());
    for word in words {
        output.assert_stderr(word);
    }
    output.assert_no_stderr("not given back");
}

#[test]
fn a_process_alone_has_its_heap_on_a_gpu() {
    assert_all_well(&alone(&[], &[]), 1, 2);
}

/// Such GPUs might still read and write a slice that the program has lent when the call has ended.
#[test]
fn gpus_that_use_pageable_memory_themselves_leave_borrowed_slices_alone() {
    let settings = [("FAKE_CUDA_READS_PAGES", "1")];
    assert_all_well(&alone(&[], &settings), 1, 2);
    assert_all_well(&processes(2, &settings), 2, 1);
}

#[test]
fn threads_have_a_gpu_each() {
    assert_all_well(&alone(&["threads", "3"], &[]), 3, 2);
    let many = alone(&["threads", "3"], &[("FAKE_CUDA_DEVICES", "2")]);
    assert_refused(
        &many,
        &["status 3", "3 PEs that are threads", "this process sees 2"],
    );
}

#[test]
fn processes_reach_each_others_gpus_and_may_share_one() {
    assert_all_well(&processes(4, &[]), 4, 1);
    assert_all_well(&processes(3, &[("FAKE_CUDA_DEVICES", "1")]), 3, 1);
}

/// The members of the teams that follow from where the PEs are, and sums over them, in Rust and in C.
#[test]
fn pes_that_share_a_gpu_have_teams() {
    let mut command = launcher(4, &[]);
    command.args([DEVICE, "teams"]);
    let settings = [("FAKE_CUDA_DEVICES", "2")];
    let output = run(&mut prepared(command, &settings), SLOW).succeeded();
    let leads = ["[0, 1]", "[0, 1]", "not a member", "not a member"];
    for (pe, leads) in leads.iter().enumerate() {
        let sharers = [pe % 2, pe % 2 + 2];
        for (team, members) in [
            ("SHARED", "[0, 1, 2, 3]"),
            ("NODE", "[0, 1, 2, 3]"),
            ("SAME_MYPE_NODE", &format!("{:?}", [pe])),
            ("SAME_GPU", &format!("{sharers:?}")),
            ("GPU_LEADERS", leads),
        ] {
            output.assert_stdout(&format!("PE {pe}: {team} {members}\n"));
        }
    }
    let program = compile_c(&program("device_teams.c"));
    let mut command = launcher(4, &[]);
    command.arg(&program);
    let output = run(&mut prepared(command, &settings), SLOW).succeeded();
    for line in [
        "PE 0: SAME_GPU number 0 of 2, sum 5",
        "PE 1: SAME_GPU number 0 of 2, sum 10",
        "PE 2: SAME_GPU number 1 of 2, sum 5",
        "PE 3: SAME_GPU number 1 of 2, sum 10",
        "PE 0: GPU_LEADERS number 0 of 2, sum 3",
        "PE 1: GPU_LEADERS number 1 of 2, sum 3",
        "PE 2: GPU_LEADERS not a member",
        "PE 3: GPU_LEADERS not a member",
    ] {
        output.assert_stdout(&format!("{line}\n"));
    }
}

/// The state for the program's kernels, in GPU memory; `device_state.rs` has the same for host memory.
#[test]
fn kernels_find_the_job_and_its_teams_in_gpu_memory() {
    let program = compile_c(&program("device_state.c"));
    for (n, part, check) in [
        (1, "tables", "0"),
        (3, "tables", "0"),
        (2, "report", "1"),
        (2, "unchecked", "0"),
    ] {
        let mut command = launcher(n, &[]);
        command.arg(&program).arg(part);
        let output = run(
            &mut prepared(command, &[("NVSHMEMRS_DEVICE_CHECK", check)]),
            SLOW,
        )
        .succeeded();
        output.assert_each(0..n, |pe| format!("device state ok PE {pe}\n"));
    }
    let mut command = launcher(3, &["--grace", "20"]);
    command.arg(&program).arg("kill");
    let output = run(&mut prepared(command, &[]), SLOW);
    output.assert_each(0..2, |pe| format!("device state ok PE {pe}\n"));
}

#[test]
fn a_missing_driver_is_an_error_that_names_it() {
    if driver_is_here() {
        return left_out("this machine has a driver, so it cannot be missing");
    }
    let mut nowhere = prepared(Command::new(DEVICE), &[]);
    let no_driver = run(nowhere.env("LD_LIBRARY_PATH", ""), SLOW);
    assert_refused(
        &no_driver,
        &["status 3", "libcuda.so.1", "NVSHMEMRS_MEMORY=host"],
    );
}

#[test]
fn what_is_missing_is_an_error_that_names_it() {
    for (settings, words) in [
        (
            ("FAKE_CUDA_VERSION", "11080"),
            &["status 3", "12.0", "11.8"][..],
        ),
        (("FAKE_CUDA_DEVICES", "0"), &["CUDA_VISIBLE_DEVICES"]),
        (
            ("FAKE_CUDA_NO_VMM", "1"),
            &["status 3", "virtual memory management"],
        ),
        (
            ("FAKE_CUDA_MEMORY", "4194304"),
            &["status 2", "4194304 bytes", "PE 0"],
        ),
    ] {
        assert_refused(&alone(&[], &[settings]), words);
    }
}

/// A PE that cannot go on tells the others, and nobody waits for it.
#[test]
fn all_learn_why_one_cannot_join() {
    let apart = processes(3, &[("FAKE_CUDA_UNREACHABLE", "1")]);
    assert_refused(
        &apart,
        &["cannot reach the memory of PE", "GPU 1", "nvidia-smi topo"],
    );
    let mut command = launcher(2, &[]);
    command.args([
        "sh",
        "-c",
        "[ $NVSHMEMRS_PE = 1 ] && export NVSHMEMRS_MEMORY=host; exec \"$0\"",
    ]);
    command.arg(DEVICE);
    let mixed = run(&mut prepared(command, &[]), SLOW);
    assert_refused(&mixed, &["different memory", "PE 1 for host memory"]);
    let mut command = launcher(3, &[]);
    command.args([
        "sh",
        "-c",
        "[ $NVSHMEMRS_PE = 2 ] && export FAKE_CUDA_NO_VMM=1; exec \"$0\"",
    ]);
    command.arg(DEVICE);
    let crippled = run(&mut prepared(command, &[]), SLOW);
    assert_refused(&crippled, &["PE 2", "virtual memory management"]);
}

#[test]
fn memory_of_the_programs_is_registered_where_it_is() {
    let program = compile_c(&program("device_register.c"));
    for n in [1, 3] {
        let mut command = launcher(n, &[]);
        command.arg(&program);
        let output = run(&mut prepared(command, &[]), SLOW).succeeded();
        output.assert_each(0..n, |pe| format!("registered PE {pe}\n"));
    }
}

/// Memory that runs out on one PE's GPU is an error of malloc on every PE, and everything else goes on.
#[test]
fn a_gpu_without_memory_is_an_error_of_malloc_on_every_pe() {
    let mut command = launcher(3, &[]);
    command.args([
        "sh",
        "-c",
        "[ $NVSHMEMRS_PE = 1 ] && export FAKE_CUDA_MEMORY=142606336; exec \"$0\" full",
    ]);
    command.arg(DEVICE);
    let output = run(&mut prepared(command, &[]), SLOW).succeeded();
    output.assert_each([0, 2], |pe| {
        format!("PE {pe}: status 24: in `malloc`: PE 1 reports: PE 1 cannot have")
    });
    output.assert_stdout("PE 1: status 2: PE 1 cannot have");
}

/// A failure of PE 1, or a different call of PE 1, ends the others' calls with an error that names PE 1, before any deadline.
#[test]
fn a_pe_that_cannot_go_on_strands_nobody() {
    let program = compile_c(&program("stranded.c"));
    for what in [
        "barrier",
        "malloc",
        "free",
        "realloc",
        "register",
        "unregister",
        "split",
        "reduce",
        "reduce_end",
        "stream_reduce",
        "stream_reduce_after",
        "stream_reduce_driver",
        "left",
        "finalizes",
        "finalizes_failed",
        "crosswise",
        "destroys",
    ] {
        println!("{what}");
        let mut command = launcher(3, &["--grace", "20"]);
        command.arg(&program).arg(what);
        // Resources that a failing driver has not taken back do not count.
        let mut prepared = prepared(command, &[("NVSHMEMRS_TIMEOUT", "20")]);
        run(prepared.env_remove("FAKE_CUDA_LEAKS"), SLOW).assert_success();
    }
}

/// Kernels that end because a PE has died are no success, also when nobody asks before they have ended.
#[test]
fn kernels_that_a_death_has_ended_are_no_success() {
    let program = compile_c(&program("stranded.c"));
    let mut command = launcher(3, &["--grace", "20"]);
    command.arg(&program).arg("killed");
    let output = run(&mut prepared(command, &[("NVSHMEMRS_TIMEOUT", "20")]), SLOW);
    output.assert_each([0, 2], |pe| format!("stranded ok PE {pe}\n"));
}
