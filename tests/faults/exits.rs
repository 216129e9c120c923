//! Ends of processes and threads at which a PE still calls the library, and functions of the program's that do not return.
//!
//! `EXITS=200` runs each end so often.

use nvshmemrs_tests::compile::compile_static;
use nvshmemrs_tests::{compile_c, compile_cxx, launch, program};
use std::env;
use std::path::Path;

/// How often each end is run.
fn rounds() -> u32 {
    let rounds = env::var("EXITS").map(|word| word.parse().expect("EXITS is a number"));
    rounds.unwrap_or(10)
}

/// Runs every end in turn, until there have been as many runs as asked for.
fn all_ends(binary: &Path) {
    let ends = ["atexit", "global", "exit", "other", "local", "key"];
    let rounds = rounds();
    for round in 0..rounds {
        let (end, n_pes) = (ends[round as usize % ends.len()], 2 + round % 2);
        let output = launch(n_pes, [binary.as_os_str(), end.as_ref()]).succeeded();
        output.assert_times(n_pes as usize, " fine\n");
    }
    println!("{rounds} runs of the exits without a wrong status");
}

#[test]
fn a_pe_may_wait_and_finalize_while_its_process_or_thread_ends() {
    all_ends(&compile_cxx(&program("exits.cpp")));
}

#[test]
fn a_pe_with_the_static_library_may_wait_and_finalize_while_its_process_or_thread_ends() {
    all_ends(&compile_static(&program("exits.cpp"), "exits-static", &[]));
}

#[test]
fn a_function_that_does_not_return_ends_the_process_with_a_text() {
    let binary = compile_cxx(&program("exits.cpp"));
    for (how, function) in [
        ("init_throws", "nvshmemrs_init_interrupt_hook"),
        ("hook_throws", "nvshmemrs_interrupt_hook"),
        ("hook_quits", "nvshmemrs_interrupt_hook"),
        ("stream_throws", "nvshmemrs_stream_call"),
        ("stream_quits", "nvshmemrs_stream_call"),
    ] {
        let output = launch(1, [binary.as_os_str(), how.as_ref()]);
        output.assert_code(128 + 6);
        output.assert_stderr("nvshmemrs: an exception, or the end of its thread, left a function");
        output.assert_stderr(&format!(" that {function} was given"));
    }
}

/// 0: the least stack that the system allows, on which the library need not be called.
#[test]
fn threads_with_small_stacks_start_and_call() {
    let binary = compile_c(&program("small_stacks.c"));
    for kib in ["0", "64"] {
        launch(2, [binary.as_os_str(), kib.as_ref()]).assert_success();
    }
}
