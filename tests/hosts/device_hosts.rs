//! The heap on GPUs of several hosts: the library against `programs/fake_cuda.c`, which stands in for libcuda, over MPI. This machine plays
//! the hosts. Behaviour that only a GPU shows is tested on machines with GPUs.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::fakes::with_fakes;
use nvshmemrs_tests::hosts::{Host, host, mpirun};
use nvshmemrs_tests::{Output, compile_c, library, program, run, workspace};
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The transfers are many, and the machine may be busy.
const SLOW: Duration = Duration::from_secs(240);
/// One host with a PE and one with two: some are near each other, some are not.
const BOTH: [Host<'static>; 2] = [host("a", 1), host("b", 2)];

/// PEs on these hosts, which see the stand-in, and nothing of the user's. A process reports resources that it has not returned to the driver.
fn runs(options: &[&str], hosts: &[Host<'_>], words: &[OsString]) -> Output {
    run(&mut prepared(options, hosts, words), SLOW)
}

fn prepared(options: &[&str], hosts: &[Host<'_>], words: &[OsString]) -> Command {
    let mut command = mpirun(options, hosts, words);
    with_fakes(&mut command)
        .stdin(Stdio::null())
        .env("NVSHMEMRS_LIBRARY", library())
        .env("NVSHMEMRS_MEMORY", "device")
        .env("NVSHMEMRS_TIMEOUT", "60")
        .env("FAKE_CUDA_LEAKS", "1")
        .env("DEVICE_MOST", "70000");
    command
}

/// Every PE says so, as often as it should.
#[track_caller]
fn assert_said(output: &Output, line: &str, times: usize) {
    output.assert_success();
    let count = output.stdout.lines().filter(|one| *one == line).count();
    assert_eq!(count, times, "{line}: {}", output.describe());
}

/// The program for this, with a part of it that all PEs do.
#[track_caller]
fn part(name: &str, hosts: &[Host<'_>]) {
    let program = compile_c(&program("device_hosts.c"));
    let output = runs(&[], hosts, &[program.into(), name.into()]);
    let n: u32 = hosts.iter().map(|host| host.pes).sum();
    assert_said(&output, &format!("device hosts ok: {name}"), n as usize);
}

#[test]
fn the_ring_in_c() {
    let program = compile_c(&workspace().join("tests/conformance/ring.c"));
    let output = runs(&[], &BOTH, &[program.into()]);
    for pe in 0..3 {
        assert_said(&output, &format!("ring ok PE {pe} of 3 (C)"), 1);
    }
}

/// Transfers of every kind and size between neighbours, on streams, too.
#[test]
fn every_kind_of_transfer() {
    let device: OsString = env!("CARGO_BIN_EXE_device").into();
    for hosts in [&BOTH[..], &[host("a", 2), host("b", 1), host("a", 1)]] {
        let output = runs(&[], hosts, std::slice::from_ref(&device));
        let n: u32 = hosts.iter().map(|host| host.pes).sum();
        for pe in 0..n {
            assert_said(&output, &format!("device ok PE {pe}"), 2);
        }
    }
}

/// Every collective, type and team, as on any memory; `tests/conformance/suite.rs` runs all sizes on several hosts.
#[test]
fn the_suite() {
    let suite: OsString = env!("CARGO_BIN_EXE_suite").into();
    // A look at a word is a copy there, and there are many.
    let output = run(&mut prepared(&[], &BOTH, &[suite, "few".into()]), 3 * SLOW);
    for pe in 0..3 {
        assert_said(&output, &format!("suite ok PE {pe} of 3"), 1);
    }
}

#[test]
fn long_puts_and_gets_of_memory_of_every_kind() {
    part("buffers", &BOTH);
}

/// Between work of the program's own, with events; captured streams refuse.
#[test]
fn operations_in_the_order_of_a_stream_of_the_programs() {
    part("streams", &BOTH);
    part("streams", &[host("a", 2), host("b", 2)]);
}

#[test]
fn memory_of_the_programs_is_symmetric_on_every_host() {
    part("registered", &BOTH);
}

/// A GPU reaches the PEs of its own host only.
#[test]
fn kernels_and_pointers_reach_no_pe_of_another_host() {
    part("far", &BOTH);
    part("far", &[host("a", 2), host("b", 1), host("a", 1)]);
}

/// The same header on the heap in host memory.
#[test]
fn kernels_use_what_is_on_their_host_and_name_a_pe_that_is_not() {
    let source = program("device/far.cpp");
    let options = ["-O0", "-g0", "-fno-strict-aliasing"];
    let file: OsString = compile_as(&source, "device-far", &options).into();
    for hosts in [
        &BOTH[..],
        &[host("a", 2), host("b", 2)],
        &[host("a", 2), host("b", 1), host("a", 1)],
    ] {
        let output = run(
            &mut mpirun(&[], hosts, &[file.clone(), "near".into()]),
            SLOW,
        );
        let n: u32 = hosts.iter().map(|host| host.pes).sum();
        for pe in 0..n {
            assert_said(&output, &format!("far ok PE {pe} of {n}"), 1);
        }
    }
    let one = "thread 2 of block 1 of a kernel of PE 0";
    for (case, operation) in [
        ("put", "put"),
        ("put nothing", "put"),
        ("p", "put"),
        ("get", "get_nbi"),
        ("iget", "iget"),
        ("put_signal", "put_signal"),
        ("signal", "signal_op"),
        ("atomic", "atomic_fetch_add"),
        ("barrier", "barrier"),
        ("reduce", "reduce"),
    ] {
        for check in ["0", "1"] {
            let mut command = mpirun(&[], &BOTH, &[file.clone(), case.into()]);
            let output = run(command.env("NVSHMEMRS_DEVICE_CHECK", check), SLOW);
            output.assert_stdout("and PE 1 is on another host: thread ");
            let function = if case == "put" {
                "puts_far"
            } else {
                "operator"
            };
            output.assert_stdout(&format!(
                "of a kernel of PE 0, whose function `{function}` called `{operation}`"
            ));
            if case != "reduce" {
                output.assert_stdout(one);
            }
        }
    }
}

/// With one queue, a stream that waits keeps all else from running. The PEs go on to hear of each other for longer than a silent host would
/// be taken for gone, and each wait ends by its limit.
#[test]
fn a_gpu_that_is_held_up_holds_up_no_signs_of_life() {
    let program = compile_c(&program("device_hosts.c"));
    let mut command = prepared(
        &[],
        &[host("a", 1), host("b", 1)],
        &[program.into(), "streams".into()],
    );
    command
        .env("FAKE_CUDA_QUEUES", "1")
        .env("CUDA_DEVICE_MAX_CONNECTIONS", "1")
        .env("NVSHMEMRS_TIMEOUT", "8");
    let output = run(&mut command, SLOW).failed();
    output.assert_stderr("`stream_synchronize` of PE ");
    output.assert_stderr("gave up after 8.");
    output.assert_no_stderr("status 15");
    output.assert_no_stderr("ended without");
}

/// PE 1 dies. The other PEs wait for it in a barrier and in a stream; both waits end with an error that names PE 1.
#[test]
fn a_pe_that_dies_is_named() {
    let program = compile_c(&program("device_hosts.c"));
    // mpirun would end the others before they have said anything.
    let options = ["--enable-recovery"];
    let output = runs(&options, &BOTH, &[program.into(), "killed".into()]);
    for pe in [0, 2] {
        for what in ["barrier", "stream"] {
            output.assert_stdout(&format!("{what} on PE {pe}: status 15: PE 1 ("));
        }
    }
}
