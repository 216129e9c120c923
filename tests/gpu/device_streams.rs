//! Streams of a GPU against the stand-in for libcuda (`programs/fake_cuda.c`): graphs, threads, lifetimes, concurrency. Each test
//! is a part of `programs/device_streams.c`, `programs/device_beside.c`, `programs/device_held.c` or `programs/device_let_go.c`.

use nvshmemrs_tests::fakes::{fakes, run_part, with_fakes};
use nvshmemrs_tests::promise;
use nvshmemrs_tests::{HANG, Output, compile_c, compile_shared, launcher, program, run};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// A process ends with it if it has not given everything back to the driver.
const LEAKED: i32 = 77;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_streams.c")));

static BESIDE: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_beside.c")));

static LET_GO: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_let_go.c")));

static HELD: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_held.c")));

/// The GPU has as many queues for streams as CUDA_DEVICE_MAX_CONNECTIONS says, and the driver waits for kernels wherever it may.
const QUEUES: [(&str, &str); 2] = [("FAKE_CUDA_QUEUES", "1"), ("FAKE_CUDA_BUSY", "1")];

/// As many queues as a GPU has if nobody asks for more.
const HELD_QUEUES: [(&str, &str); 3] = [QUEUES[0], QUEUES[1], ("CUDA_DEVICE_MAX_CONNECTIONS", "8")];

fn output(part: &str, n: u32, settings: &[(&str, &str)]) -> Output {
    output_of(&PROGRAM, part, n, settings)
}

fn output_of(program: &Path, part: &str, n: u32, settings: &[(&str, &str)]) -> Output {
    run_part(launcher(n, &[]), program, part, settings)
}

/// With each number of PEs.
fn passes(part: &str, counts: &[u32]) {
    for n in counts {
        all_say(&output(part, *n, &[]), &format!("streams ok: {part}\n"), *n);
    }
}

/// A part of the other program.
fn goes_on_beside(part: &str, counts: &[u32], settings: &[(&str, &str)]) {
    for n in counts {
        let output = output_of(&BESIDE, part, *n, settings);
        all_say(&output, &format!("beside ok: {part}\n"), *n);
    }
}

/// A part of the third program.
fn lets_go(part: &str, counts: &[u32], settings: &[(&str, &str)]) {
    for n in counts {
        let output = output_of(&LET_GO, part, *n, settings);
        all_say(&output, &format!("let go ok: {part}\n"), *n);
    }
}

/// A part of the program for a GPU with 8 queues.
fn ends_held(part: &str, n: u32, settings: &[(&str, &str)]) {
    let output = output_of(&HELD, part, n, &[&HELD_QUEUES, settings].concat());
    all_say(&output, &format!("held ok: {part}\n"), n);
}

/// As many reservations as there are PEs stay, and everything else is right.
fn keeps_memory(output: &Output, words: &str, n: u32) {
    assert_eq!(output.code(), LEAKED, "{}", output.describe());
    for (text, words) in [(&output.stdout, words), (&output.stderr, "1 reservations")] {
        let times = text.matches(words).count();
        assert_eq!(times, n as usize, "{}", output.describe());
    }
}

fn all_say(output: &Output, words: &str, n: u32) {
    output.assert_success().assert_times(n as usize, words);
}

nvshmemrs_tests::cases! {
    fn calls_that_come_again_each_do_their_own_work => passes("repeated", &[1, 3]);
    fn a_graph_runs_as_often_as_it_is_launched => passes("graph", &[1, 3]);
    fn threads_are_in_collectives_of_their_teams_at_the_same_time => passes("teams", &[2]);
    fn quiet_covers_the_threads_own_puts_whatever_others_do => passes("nbi", &[1]);
    fn finalize_waits_for_what_is_on_a_stream_that_was_let_go => passes("let_go", &[2]);
    fn places_for_results_come_back_when_the_stream_has_come_to_them => passes("places", &[1]);
    fn a_result_does_not_wait_for_what_comes_after_it => passes("result", &[1]);
    fn collectives_of_a_team_on_two_streams_keep_their_order => passes("two_streams", &[3]);
    fn a_put_from_pageable_memory_waits_for_its_turn_within_the_limits =>
        passes("pageable", &[1, 2]);
    /// The job's limits hold while a PE is late, too, and the error names that PE.
    fn a_pe_that_is_late_with_its_memory_does_not_hold_up_the_others =>
        passes("late_memory", &[2, 3]);
    /// The driver's own number of queues is too small; the launcher asks for more.
    fn streams_that_wait_do_not_hold_up_the_library => goes_on_beside("waits", &[1, 2, 4], &QUEUES);
    /// A GPU does not use the program's memory after the call has ended.
    fn what_waits_for_a_gpu_that_uses_pageable_memory_ends_within_its_limits =>
        ends_held("held", 2, &[("FAKE_CUDA_READS_PAGES", "1")]);
    fn a_graph_sends_what_is_there_when_it_runs => goes_on_beside("replayed", &[1, 2, 4], &[]);
    fn a_stream_that_is_made_known_in_a_capture_and_let_go_leaves_nothing =>
        lets_go("in_capture", &[1, 2], &[]);
    /// Memory that the driver has allocated for launches is given back meanwhile.
    fn a_stream_can_go_while_another_one_waits => goes_on_beside("freed", &[1, 2, 4], &QUEUES);
}

/// As `run-gpu-tests` runs them with more than two PEs.
#[test]
fn parts_run_one_after_another_in_a_process() {
    let parts = ["let_go", "function", "nbi"];
    let mut command = launcher(2, &[]);
    with_fakes(&mut command).arg(&*PROGRAM).args(parts);
    let output = run(&mut command, HANG).succeeded();
    for part in parts {
        all_say(&output, &format!("streams ok: {part}\n"), 2);
    }
    let refused = output_of(&PROGRAM, "no_such_part", 1, &[]);
    refused
        .assert_code(6)
        .assert_stderr("PART..., each one of: graph teams ");
    refused.assert_no_stdout(" ok: ");
}

/// The library makes its resources for repeated calls at a time when no call waits.
#[test]
fn calls_that_come_again_on_many_streams_do_not_wait_for_another_one() {
    for n in [1, 2] {
        let output = output("crowd", n, &[("FAKE_CUDA_BUSY", "1")]);
        all_say(&output, "streams ok: crowd\n", n);
    }
}

/// Without the queues the stand-in has done the work when it is first asked.
#[test]
fn a_call_waits_for_a_gpu_that_takes_a_while() {
    for part in ["repeated", "nbi", "places"] {
        let output = output(part, 1, &QUEUES);
        all_say(&output, &format!("streams ok: {part}\n"), 1);
    }
}

/// A GPU wakes no waiting thread, so the library polls. It must see the end about as soon as a thread that polls every 100 us,
/// which is up to 100 us late, and later where other processes keep the cores busy.
#[test]
fn a_wait_for_the_gpu_ends_soon_after_its_reason() {
    const EVERY: Duration = Duration::from_micros(100);
    for what in ["stream", "collective"] {
        promise::kept_beside(5, || {
            let output = output("overshoot", 1, &[]).succeeded();
            let words = format!("a wait of 3 to 5 ms for a {what} is late by ");
            let times = output.stdout.split_once(&words).and_then(|(_, rest)| {
                let (late, rest) = rest.split_once(" us, a look every 100 us by ")?;
                let (looked, _) = rest.split_once(" us")?;
                Some([late.parse().ok()?, looked.parse().ok()?])
            });
            let times: [u64; 2] = times.unwrap_or_else(|| panic!("{}", output.describe()));
            let [late, looked] = times.map(Duration::from_micros);
            [late, looked + EVERY]
        });
    }
}

#[test]
fn what_is_small_runs_beside_collectives_that_wait_for_it() {
    for part in ["beside", "beside_two"] {
        goes_on_beside(part, &[1, 2, 4], &QUEUES);
    }
}

/// As many streams wait as there are queues, so the library's own stream makes no progress.
#[test]
fn what_waits_for_the_gpu_ends_within_its_limits() {
    for (part, n) in [("held", 2), ("held_finalize", 1), ("held_finalize", 2)] {
        ends_held(part, n, &[("FAKE_CUDA_ROOM", "512")]);
    }
    ends_held("held_init", 1, &[("NVSHMEMRS_INIT_TIMEOUT", "1")]);
}

/// The death of another PE does not end the work that a GPU does by itself.
#[test]
fn a_pe_whose_job_has_ended_saves_what_its_gpu_has() {
    let command = launcher(2, &["--grace", "20"]);
    run_part(command, &HELD, "held_survivor", &HELD_QUEUES)
        .assert_stdout("held ok: held_survivor\n");
}

/// The collective that the others have entered ends soon, not when finalize gives up.
#[test]
fn finalize_is_announced_while_a_stream_still_waits() {
    for part in ["notice", "notice_unheard"] {
        goes_on_beside(part, &[2, 4], &[]);
    }
}

/// Resources that cannot be given back are kept, and the driver is not called where calls are forbidden.
#[test]
fn memory_stays_mapped_where_something_may_still_use_it() {
    for part in ["stuck", "function"] {
        let output = output(part, 1, &[]);
        keeps_memory(&output, &format!("streams ok: {part}\n"), 1);
    }
    for part in ["captured", "implicit"] {
        let output = output_of(&LET_GO, part, 1, &[]);
        keeps_memory(&output, &format!("let go ok: {part}\n"), 1);
    }
}

/// Although no event can be recorded where the first one is.
#[test]
fn collectives_of_a_team_keep_their_order_when_a_stream_is_captured() {
    for n in [1, 2] {
        lets_go("after_captured", &[n], &[]);
        lets_go("after_captured_stream", &[n], &[]);
        for part in ["after_let_go", "after_let_go_stream"] {
            let output = output_of(&LET_GO, part, n, &[]);
            keeps_memory(&output, &format!("let go ok: {part}\n"), n);
        }
    }
}

#[test]
fn the_number_of_a_broken_team_is_not_used_again() {
    lets_go("given_up_behind", &[1, 2, 3], &[]);
    lets_go("given_up_alone", &[2, 3], &[]);
}

/// With that much it is not full for the driver, whose calls nothing ends.
#[test]
fn a_stream_that_is_full_is_waited_for_within_the_limits() {
    for n in [1, 2] {
        let output = output("backpressure", n, &[("FAKE_CUDA_ROOM", "1000")]);
        all_say(&output, "streams ok: backpressure\n", n);
    }
}

#[test]
fn letting_a_stream_go_does_not_wait_for_another_one_that_is_full() {
    // By the library's count, and where the driver takes less than that.
    lets_go("full", &[1, 2], &[("FAKE_CUDA_ROOM", "1000")]);
    lets_go("full", &[1], &[("FAKE_CUDA_ROOM", "64")]);
}

/// Signals and atomic operations would get lost there.
#[test]
fn gpus_without_native_atomics_between_them_are_refused_by_name() {
    let output = output("teams", 2, &[("FAKE_CUDA_NO_ATOMICS", "1")]).failed();
    for word in ["native atomic operations", "PE 0 on GPU 0", "PE 1 on GPU 1"] {
        output.assert_stderr(word);
    }
}

/// The timeline of a job with its heap on GPUs: calls on a stream of the GPU name it, and each call is a range of NVTX.
#[test]
fn traced_calls_are_ranges_of_nvtx() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [trace, ranges] = ["t.json", "ranges"].map(|name| folder.path().join(name));
    let library = compile_shared(&program("fake_nvtx.c"));
    symlink(library, folder.path().join("libnvToolsExt.so.1")).expect("a link");
    let mut command = launcher(
        2,
        &["--heap", "8m", "--trace", &trace.display().to_string()],
    );
    let path = format!("{}:{}", fakes().display(), folder.path().display());
    with_fakes(&mut command)
        .arg(compile_c(&program("traced.c")))
        .env("NVSHMEMRS_MEMORY", "device")
        .env("FAKE_NVTX", &ranges)
        .env("LD_LIBRARY_PATH", path);
    run(&mut command, HANG).assert_success();
    let ranges = std::fs::read_to_string(ranges).expect("ranges");
    let count = |line: &str| ranges.lines().filter(|one| *one == line).count();
    assert_eq!(count("begin nvshmemrs put_signal"), 1, "{ranges}");
    assert_eq!(count("begin nvshmemrs barrier"), 2, "{ranges}");
    let begun = ranges
        .lines()
        .filter(|one| one.starts_with("begin"))
        .count();
    assert_eq!(begun, count("end"), "{ranges}");
    let text = std::fs::read_to_string(trace).expect("a timeline");
    let p = text.lines().find(|line| line.contains("\"name\":\"p\""));
    assert!(p.is_some_and(|p| p.contains("\"stream\":\"0x")), "{text}");
    assert!(text.contains("\"name\":\"satisfies\""), "{text}");
}
