//! Jobs that hang: the wait board, from the launcher and from outside; deadlines; Ctrl-C.

use nvshmemrs_tests::{
    HANG, Leftovers, Output, Running, bin, compile_c, held, info, interpreter, job, launcher,
    library, program, promise, run, spawn, workspace,
};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TIMEOUT: i32 = 16;
const INTERRUPTED: i32 = 17;

/// A job of `programs/hang.c` under the launcher.
fn hang(n_pes: u32, options: &[&str], args: &[&str]) -> Command {
    let mut command = launcher(n_pes, options);
    command
        .arg(compile_c(&program("hang.c")))
        .args(args)
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// The report of a stall of a job of three PEs.
#[track_caller]
fn stall(scenario: &str) -> String {
    stall_with(scenario, &[])
}

/// As [`stall`], asking for later reports until one has all these parts: on a busy machine a PE may come after the first.
#[track_caller]
fn stall_with(scenario: &str, parts: &[&str]) -> String {
    let mut job = spawn(&mut hang(
        3,
        &["--stall-after", "0.5", "--grace", "0.2"],
        &[scenario],
    ));
    let heading = "nvshmemrs-run: nothing has moved for 0.5 s\n";
    let mut asked = 0;
    let report = job.until("report of a stall", |job| {
        let text = job.stderr();
        let (_, reports) = text.split_once(heading)?;
        let reports: Vec<&str> = reports.split("nvshmemrs-run: wait board\n").collect();
        // The last line of the last one has come, too.
        let &report = reports
            .get(asked)
            .filter(|report| report.contains("  PE 2 (pid "))?;
        let report = format!("\n{report}");
        if parts.iter().all(|part| report.contains(part)) {
            return Some(report);
        }
        asked += 1;
        job.signal(Signal::USR1);
        None
    });
    let pid = job.pid().to_string();
    let info = info(&["--job", &pid]).succeeded();
    job.signal(Signal::TERM);
    job.wait(HANG);
    let summary = report.lines().nth(1).expect("a line after the heading");
    // The two looked at different moments.
    let timeless = |line: &str| -> Vec<String> {
        let words = line.split_whitespace();
        let words = words.map(|word| word.trim_matches(['(', ')', ',']).to_string());
        words.filter(|word| word.parse::<f64>().is_err()).collect()
    };
    let outside = info.stdout.lines().next().unwrap_or_default();
    assert_eq!(
        timeless(outside),
        timeless(summary),
        "from outside:\n{}\nnot {summary:?}",
        info.stdout
    );
    report
}

#[test]
fn a_pe_that_computes_or_sleeps_is_named() {
    contains(
        &stall("computing"),
        &[
            "\nPEs 0 and 1 wait in barrier on WORLD for PE 2, which is not waiting in nvshmemrs (running on a CPU)\n",
            ": in barrier on WORLD (its 5th collective there) for ",
            " s: waits for PE 2; called at ",
            &format!("hang.c:{} (barrier)\n", line("nvshmemrs_barrier(")),
            "): not waiting in nvshmemrs (running on a CPU); it has begun 4 collectives on WORLD",
        ],
    );
    contains(
        &stall("sleeping"),
        &[
            "\nPEs 0 and 1 wait in reduce on WORLD for PE 2, which is not waiting in nvshmemrs (sleeping in the kernel",
        ],
    );
}

/// The line of `programs/hang.c` that has this text first.
#[track_caller]
fn line(text: &str) -> usize {
    let source = fs::read_to_string(program("hang.c")).expect("the program");
    let found = source.lines().position(|line| line.contains(text));
    1 + found.unwrap_or_else(|| panic!("no {text:?}"))
}

/// Each wait is reported with its line, and under the checker with the allocation in which the PE waits for an element; also from outside.
#[test]
fn a_report_names_the_lines_of_waits_and_their_allocations() {
    let allocation = format!(
        "waits for the signal in the 8 bytes of calloc at tests/programs/hang.c:{} (main) to be >= 1, sees 0",
        line("1, sizeof *flag")
    );
    let called = format!(
        "called at tests/programs/hang.c:{} (signal_wait)",
        line("nvshmemrs_signal_wait(")
    );
    for options in [&[][..], &["--check"]] {
        let options = [&["--stall-after", "0.5", "--grace", "0.2"], options].concat();
        let mut job = spawn(hang(3, &options, &["against_a_wait"]).current_dir(workspace()));
        let report = job.until_stderr(&["  PE 2 (pid "]);
        let pid = job.pid().to_string();
        let info = info(&["--job", &pid]);
        job.signal(Signal::TERM);
        job.wait(HANG);
        for text in [&report, &info.stdout] {
            contains(text, &[&called]);
            assert_eq!(
                text.contains(&allocation),
                options.contains(&"--check"),
                "{text}"
            );
        }
    }
}

/// In Python the line is the interpreter's. Equal waits of several PEs are one line.
#[test]
fn a_report_names_the_lines_of_python() {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let text = "import nvshmemrs.core as nvshmem, time\nnvshmem.init()\ndef meet():\n    nvshmem.barrier_all()\n\
                if nvshmem.my_pe() == 5:\n    time.sleep(60)\nmeet()\n";
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("meets.py");
    fs::write(&source, text).expect("a program");
    let mut command = launcher(6, &["--stall-after", "0.5", "--grace", "0.2"]);
    command
        .arg(python)
        .arg(source)
        .env("NVSHMEMRS_LIBRARY", library())
        .stdin(Stdio::null());
    let mut job = spawn(&mut command);
    let report = job.until_stderr(&["  PE 5 (pid "]);
    job.signal(Signal::TERM);
    job.wait(HANG);
    contains(
        &report,
        &[
            "  PEs 0 to 4, each: in barrier on WORLD",
            "meets.py:4 (meet)\n",
        ],
    );
}

#[test]
fn a_collective_against_a_wait_is_told() {
    contains(
        &stall("against_a_wait"),
        &[
            "\nPEs 0 and 1 wait in barrier on WORLD for PE 2, which is in signal_wait instead\n",
            "every PE waits, so nobody is left to do it\n",
            "to be >= 1, sees 0; called at ",
        ],
    );
}

#[test]
fn collectives_of_two_teams_are_a_deadlock() {
    contains(
        &stall("crossed"),
        &[
            "\ndeadlock: PE 0 is in barrier on WORLD and waits for PE 1, which is in reduce on team 6 and waits for PE 0; first came PE 0 (",
            " ago), then PE 1 (",
            "; PE 2 waits for those\n",
        ],
    );
}

#[test]
fn a_deadlock_is_told_though_another_pe_is_late() {
    stall_with(
        "crossed_and_late",
        &[
            "\ndeadlock: PE 0 is in barrier on WORLD and waits for PE 1, which is in reduce on team 6 and waits for PE 0; first came PE 0 (",
            "\nPE 0 waits in barrier on WORLD for PE 2, which is not waiting in nvshmemrs (sleeping in the kernel",
            "); PE 1 waits for those\n",
        ],
    );
}

#[test]
fn signals_that_nobody_sends_are_told() {
    contains(
        &stall("nobody_sends"),
        &[
            "\nPEs 0 to 2 wait for values that other PEs are to write, and their writer is not known: every PE waits",
        ],
    );
}

/// PE 0 of a job whose last PE computes reports the stall if NVSHMEMRS_STALL_AFTER is set: once, and the launcher not at all.
#[track_caller]
fn pe_0_reports_the_stall_of(mut command: Command) {
    let mut job = spawn(command.env("NVSHMEMRS_STALL_AFTER", "0.5"));
    job.until_stderr(&["  PE 2 (pid "]);
    // Time for other reports.
    std::thread::sleep(Duration::from_secs(1));
    let text = job.stderr();
    job.signal(Signal::TERM);
    job.wait(HANG);
    contains(
        &text,
        &[
            "nvshmemrs [PE 0, pid ",
            "] nothing has moved for 0.5 s\nPEs 0 and 1 wait in barrier on WORLD for PE 2, which is not waiting in nvshmemrs",
        ],
    );
    let reports = text.matches("nothing has moved").count();
    assert_eq!(reports, 1, "{text}");
}

#[test]
fn pe_0_reports_a_stall() {
    let options = ["--stall-after", "0.2", "--grace", "0.2"];
    pe_0_reports_the_stall_of(hang(3, &options, &["computing"]));
}

#[test]
fn pe_0_reports_a_stall_under_mpirun() {
    let mut command = job::clean("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3"]);
    command.arg(compile_c(&program("hang.c"))).arg("computing");
    command.stdin(Stdio::null());
    pe_0_reports_the_stall_of(command);
}

#[test]
fn a_stream_that_waits_is_told() {
    contains(
        &stall("on_a_stream"),
        &[
            "\nPEs 0 and 1 wait in barrier on WORLD for PE 2, which is in wait_until instead\n",
            "in stream_synchronize on thread ",
            "waits for a stream of its own to come to operation 1, which has come to 0",
        ],
    );
}

#[test]
fn the_outside_sees_the_same_as_numbers() {
    let mut job = spawn(&mut hang(3, &["--grace", "0.2"], &["crossed", "40"]));
    let pid = job.pid().to_string();
    // The first time that all three are seen to wait, one may wait for another that has only begun its turn.
    let board = job.until("board of a deadlock", |_| {
        let info = info(&["--json", "--job", &pid]);
        let board: serde_json::Value = serde_json::from_str(&info.stdout).ok()?;
        let deadlock = board["summary"][0].as_str()?.starts_with("deadlock: ");
        (deadlock && board["waits"].as_array()?.len() == 3).then_some(board)
    });
    assert_eq!(board["pes"][1]["waits_for"], serde_json::json!([0]));
    assert_eq!(board["waits"][0]["waits_for"], serde_json::json!([1]));
    assert_eq!(board["waits"][0]["limit"], "the caller's deadline");
    let left = board["waits"][0]["gives_up_in"].as_f64().expect("a number");
    assert!((1.0..40.0).contains(&left), "{board}");
    job.signal(Signal::TERM);
    job.wait(HANG);
}

/// Where the machine is so busy that the PEs have not begun their waits when the deadline passes, a longer deadline shows it.
#[test]
fn a_deadline_of_the_caller_ends_a_wait() {
    let mut early = Vec::new();
    for seconds in ["0.4", "2", "10"] {
        match deadline_of_the_caller(seconds) {
            Ok(()) => return,
            Err(text) => early.push(text),
        }
    }
    panic!("who is missing is not told:\n{}", early.join("\n"));
}

/// An error, with the report, only where the other PEs had not begun their waits.
#[track_caller]
fn deadline_of_the_caller(seconds: &str) -> Result<(), String> {
    let mut job = job::start(compile_c(&program("hang.c")), 3, |_, command| {
        command.args(["sleeping", seconds]);
    });
    // The last PE sleeps on, and is killed when `_last` is dropped.
    let _last = job.pop().expect("three PEs");
    let (mut timeouts, mut told) = (0, Ok(()));
    for pe in job {
        let output = pe.wait(HANG).succeeded();
        if output.stdout.contains(&format!("status {TIMEOUT}: ")) {
            timeouts += 1;
            output.assert_stdout("the limit that the caller's deadline sets: ");
            let parts = [
                "the limit that the caller's deadline sets: its 5th collective on WORLD waits for PE 2; PE 2 (pid ",
                ") is not waiting in nvshmemrs (sleeping in the kernel",
            ];
            if !parts.iter().all(|part| output.stdout.contains(part)) {
                told = Err(output.describe());
            }
        }
    }
    assert!(
        timeouts > 0,
        "the other one may have heard of the broken team, but not both"
    );
    told
}

/// Operations of `programs/interrupt.c`, one of each class of waits, and the text of their waits.
const WAITS: [(&str, &str); 9] = [
    ("barrier", "waits for PE 1"),
    ("reduce", "waits for PE 1"),
    ("malloc", "waits for PE 1"),
    ("signal_wait", "to be == 1, sees 0"),
    ("wait_until_all", "to be == 1, sees 0"),
    (
        "team_init",
        "waits for 1 more PE to call team_init with unique id 7",
    ),
    ("stream_synchronize", "waits for a stream of its own"),
    ("event_synchronize", "waits for a stream of its own"),
    ("finalize", "waits for PE 1 to call finalize"),
];

/// Waits until `n` PEs have printed that they are ready, and PE 0 is on the board with the operation.
#[track_caller]
fn waits_in(job: &mut Running, n: usize, operation: &str) {
    job.until("line of each PE", |job| {
        let ready = job
            .stdout()
            .lines()
            .filter(|line| line.contains("ready"))
            .count();
        (ready == n).then_some(())
    });
    let place = format!("in {operation} ");
    job.until("wait of PE 0", |job| {
        let pid = launcher_of(job.pid()).to_string();
        let shown = info(&["--job", &pid]).stdout;
        let waits = |line: &str| line.starts_with("  PE 0 (pid ") && line.contains(&place);
        shown.lines().any(waits).then_some(())
    });
}

/// The launcher that a process has started, or the process itself if it has started none.
fn launcher_of(pid: u32) -> u32 {
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut all = vec![pid];
    while let Some(one) = all.pop() {
        if name(one).trim() == "nvshmemrs-run" {
            return one;
        }
        all.extend(held::children(one));
    }
    pid
}

/// How long a job, or a PE without a launcher, goes on after Ctrl-C at most.
const CTRL_C: Duration = Duration::from_secs(1);

/// Starts a process that waits, interrupts it, and returns its output.
#[track_caller]
fn interrupted<T>(
    mut start: impl FnMut() -> (Running, T),
    interrupt: impl Fn(&Running, &mut T),
) -> Output {
    let mut output = None;
    let took = promise::kept(CTRL_C, || {
        let (job, mut rest) = start();
        let start = Instant::now();
        interrupt(&job, &mut rest);
        let ended = job.wait(HANG);
        let took = start.elapsed();
        output = Some(ended);
        took
    });
    println!("ended {} ms after Ctrl-C", took.as_millis());
    output.expect("at least one try")
}

/// As `kill -INT` does.
fn by_signal<T>(job: &Running, _: &mut T) {
    job.signal(Signal::INT);
}

#[test]
fn ctrl_c_ends_every_wait_of_a_c_program() {
    let before = Leftovers::now();
    for (operation, awaited) in WAITS {
        let start = || {
            let mut command = launcher(2, &[]);
            command
                .arg(compile_c(&program("interrupt.c")))
                .args([operation, "default"])
                .stdin(Stdio::null());
            let mut job = spawn(&mut command);
            waits_in(&mut job, 2, operation);
            (job, ())
        };
        let output = interrupted(start, by_signal);
        output
            .assert_code(128 + 2)
            .assert_stderr("nvshmemrs-run: interrupted by SIGINT; at that moment:\n")
            .assert_stderr("nvshmemrs-run:   PE 0 (pid ")
            .assert_stderr("was killed by signal 2 (SIGINT)");
        let line = output
            .stderr
            .lines()
            .find(|line| line.contains("  PE 0 (pid "));
        assert!(
            line.is_some_and(
                |line| line.contains(&format!("in {operation}")) && line.contains(awaited)
            ),
            "{}",
            output.describe()
        );
    }
    before.assert_none_new();
}

#[test]
fn a_handler_that_interrupts_ends_every_wait() {
    for (operation, awaited) in WAITS {
        let start = || {
            let mut job = job::start(compile_c(&program("interrupt.c")), 2, |_, command| {
                command.args([operation, "handler"]);
            });
            let last = job.pop().expect("two PEs");
            let mut first = job.pop().expect("two PEs");
            waits_in(&mut first, 1, operation);
            // The last one is killed when it is dropped.
            (first, last)
        };
        let output = interrupted(start, by_signal);
        output.assert_code(INTERRUPTED);
        let start = format!(
            "{operation}: status {INTERRUPTED}: `{operation}` of PE 0 was interrupted after "
        );
        output.assert_stderr(&start).assert_stderr(awaited);
    }
}

#[test]
fn ctrl_c_ends_a_job_of_one() {
    let start = || {
        let mut command = job::clean(compile_c(&program("interrupt.c")));
        let mut job = spawn(command.args(["signal_wait", "handler"]));
        waits_in(&mut job, 1, "signal_wait");
        (job, ())
    };
    let output = interrupted(start, by_signal);
    output
        .assert_code(INTERRUPTED)
        .assert_stderr("`signal_wait` of PE 0 was interrupted after ");
}

#[test]
fn ctrl_c_on_a_terminal_ends_the_job() {
    // `script` (bsdutils) gives the launcher a terminal and types its own input there.
    let line = format!(
        "'{}' -n 2 '{}' barrier default",
        bin("nvshmemrs-run").display(),
        compile_c(&program("interrupt.c")).display()
    );
    let start = || {
        let (input, keyboard) = std::io::pipe().expect("a pipe");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).stdin(input);
        let mut job = spawn(&mut command);
        waits_in(&mut job, 2, "barrier");
        (job, keyboard)
    };
    let output = interrupted(start, |_, keyboard| {
        keyboard.write_all(b"\x03").expect("script reads");
    });
    output.assert_code(128 + 2);
    contains(
        &output.stdout,
        &[
            "interrupted by SIGINT; at that moment:",
            "PE 0 (pid ",
            "in barrier on WORLD",
            "was killed by signal 2 (SIGINT)",
        ],
    );
}

#[test]
fn the_last_lines_of_a_failed_job() {
    // The PE that crashes waits in a barrier itself; the PE that it waits for is not at fault.
    let output = run(&mut hang(3, &["--grace", "0.3"], &["crashing"]), HANG);
    output.assert_code(128 + 11);
    let lines: Vec<&str> = output.stderr.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.starts_with("nvshmemrs-run: "))
        .expect("the launcher says something");
    let last = &lines[first..];
    assert_eq!(last.len(), 4, "{}", output.describe());
    contains(
        last[0],
        &[
            "nvshmemrs-run: PE 1 (pid ",
            "hang-c') was killed by signal 11 (SIGSEGV) in barrier on WORLD (its 5th collective there), after ",
            " s of waiting for PE 2",
        ],
    );
    assert_eq!(last[1], "nvshmemrs-run: at that moment the others were:");
    contains(
        last[2],
        &[
            "nvshmemrs-run:   PE 0 (pid ",
            "): in barrier on WORLD (its 5th collective there) for ",
        ],
    );
    contains(
        last[3],
        &[
            "nvshmemrs-run:   PE 2 (pid ",
            "): not waiting in nvshmemrs (sleeping",
        ],
    );
    // The message of the survivor comes before.
    contains(
        &output.stdout,
        &[
            "PE 0: barrier: status 15: PE 1 (pid ",
            ") ended without finalize in barrier on WORLD, during `barrier` of PE 0",
        ],
    );
}

#[test]
fn a_pe_that_leaves_in_silence_is_named() {
    let mut command = launcher(3, &[]);
    command
        .arg(compile_c(&program("leave.c")))
        .stdin(Stdio::null());
    let output = run(&mut command, HANG);
    let last = output
        .stderr
        .lines()
        .filter(|line| line.contains("PE 1 exited with status 0"));
    let last: Vec<&str> = last.collect();
    assert_eq!(last.len(), 1, "{}", output.describe());
    contains(
        last[0],
        &[
            "before that, PE 1 exited with status 0 without calling finalize, outside of nvshmemrs' waits",
        ],
    );
}
