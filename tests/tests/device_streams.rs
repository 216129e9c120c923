//! Streams of a GPU against the stand-in for libcuda (`programs/fake_cuda.c`): graphs, threads, lifetimes. Each test is a part of
//! `programs/device_streams.c`.

use nvshmemrs_tests::fakes::fakes;
use nvshmemrs_tests::{HANG, Output, compile_c, launcher, run, workspace};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::LazyLock;

/// A process ends with it if it has not given everything back to the driver.
const LEAKED: i32 = 77;

static PROGRAM: LazyLock<PathBuf> =
    LazyLock::new(|| compile_c(&workspace().join("tests/programs/device_streams.c")));

fn output(part: &str, n: u32, settings: &[(&str, &str)]) -> Output {
    let mut command = launcher(n, &[]);
    command
        .arg(&*PROGRAM)
        .arg(part)
        .stdin(Stdio::null())
        .env("LD_LIBRARY_PATH", fakes())
        .env("XDG_CACHE_HOME", fakes().join("cache"))
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .env("NVSHMEMRS_TIMEOUT", "30")
        .env("FAKE_CUDA_LEAKS", "1")
        .envs(settings.iter().copied());
    run(&mut command, HANG)
}

fn passes(part: &str, n: u32) {
    let output = output(part, n, &[]);
    output.assert_success();
    let times = output
        .stdout
        .matches(&format!("streams ok: {part}\n"))
        .count();
    assert_eq!(times, n as usize, "{}", output.describe());
}

#[test]
fn a_graph_runs_as_often_as_it_is_launched() {
    passes("graph", 1);
    passes("graph", 3);
}

#[test]
fn threads_are_in_collectives_of_their_teams_at_the_same_time() {
    passes("teams", 2);
}

#[test]
fn quiet_covers_the_threads_own_puts_whatever_others_do() {
    passes("nbi", 1);
}

#[test]
fn finalize_waits_for_what_is_on_a_stream_that_was_let_go() {
    passes("let_go", 2);
}

#[test]
fn places_for_results_come_back_when_the_stream_has_come_to_them() {
    passes("places", 1);
}

#[test]
fn a_result_does_not_wait_for_what_comes_after_it() {
    passes("result", 1);
}

#[test]
fn collectives_of_a_team_on_two_streams_keep_their_order() {
    passes("two_streams", 3);
}

/// What cannot be given back is kept, and the driver is not called where it must not be.
#[test]
fn memory_stays_mapped_where_something_may_still_use_it() {
    for part in ["stuck", "function"] {
        let output = output(part, 1, &[]);
        assert_eq!(output.code(), LEAKED, "{}", output.describe());
        output.assert_stdout(&format!("streams ok: {part}\n"));
        assert!(
            output.stderr.contains("1 reservations"),
            "{}",
            output.describe()
        );
    }
}

/// Signals and atomic operations would get lost there.
#[test]
fn gpus_without_native_atomics_between_them_are_refused_by_name() {
    let output = output("teams", 2, &[("FAKE_CUDA_NO_ATOMICS", "1")]);
    assert_ne!(output.code(), 0, "{}", output.describe());
    for word in ["native atomic operations", "PE 0 on GPU 0", "PE 1 on GPU 1"] {
        assert!(
            output.stderr.contains(word),
            "{word}: {}",
            output.describe()
        );
    }
}
