//! `nvshmemrs-run` and `nvshmemrs-info`, as a user sees them.

use nvshmemrs_tests::{
    HANG, Leftovers, Output, Running, alive, bin, compile_c, info, launch, launcher, program, run,
    spawn,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Seek, Write};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The exit status of a program after a failed call into nvshmemrs, see `programs/check.h`.
const CALL_FAILED: i32 = 5;

/// A shell script as the PEs' command.
fn script(n_pes: u32, options: &[&str], text: &str) -> Command {
    let mut command = launcher(n_pes, options);
    command.args(["sh", "-c", text]).stdin(Stdio::null());
    command
}

fn lines_with<'a>(text: &'a str, part: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.contains(part)).collect()
}

/// So many lines of `text`, which `output` has, contain `part`.
#[track_caller]
fn assert_lines(output: &Output, text: &str, part: &str, count: usize) {
    let found = lines_with(text, part).len();
    assert_eq!(found, count, "{part:?}\n{}", output.describe());
}

/// Waits until `count` lines of the job's standard output contain `part`.
#[track_caller]
fn until_lines(job: &mut Running, part: &str, count: usize) {
    job.until(part, |job| {
        (lines_with(&job.stdout(), part).len() == count).then_some(())
    });
}

/// Waits until `count` PEs have printed their lines "this is pid 123".
#[track_caller]
fn until_pids(job: &mut Running, count: usize) -> Vec<u32> {
    job.until("line of each PE", |job| {
        let pids = pids(&job.stdout());
        (pids.len() == count).then_some(pids)
    })
}

/// The PEs' processes, from the lines "... PE 1 of 4 is pid 123".
fn pids(output: &str) -> Vec<u32> {
    let pid = |line: &str| line.split(" is pid ").nth(1)?.trim().parse().ok();
    output.lines().filter_map(pid).collect()
}

/// Starts `programs/wait.c`, in which all PEs but the last wait, and waits until the board shows them.
fn start_waiting(n_pes: u32, options: &[&str]) -> (Running, Vec<u32>, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = launcher(n_pes, options);
    command
        .arg(compile_c(&program("wait.c")))
        .arg(folder.path().join("go"))
        .stdin(Stdio::null());
    let mut job = spawn(&mut command);
    let pids = until_pids(&mut job, n_pes as usize);
    let waiting = n_pes as usize - 1;
    job.until("board with all waits", |_| {
        let board = info(&["--job", &pids[0].to_string()]);
        (lines_with(&board.stdout, "in signal_wait").len() == waiting).then_some(())
    });
    (job, pids, folder)
}

/// Ends the waits of a job that [`start_waiting`] has started.
fn end_waits(folder: &TempDir) {
    fs::write(folder.path().join("go"), "").expect("a file in a temporary folder");
}

/// The PE that a line "PE 1 of 4 is pid 123" is about has this process.
fn pid_of(job: &Running, pe: u32) -> u32 {
    let output = job.stdout();
    let lines = lines_with(&output, &format!("PE {pe} of "));
    *pids(lines.first().expect("the PE has said its pid"))
        .first()
        .expect("the line has a pid")
}

#[test]
fn many_pes_init_and_finalize() {
    let before = Leftovers::now();
    let output = launch(64, [compile_c(&program("finalize.c"))]).succeeded();
    let seen: BTreeSet<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.split(" is pid").next())
        .collect();
    let expected: Vec<String> = (0..64).map(|pe| format!("PE {pe} of 64")).collect();
    assert_eq!(
        seen,
        expected.iter().map(String::as_str).collect(),
        "{}",
        output.describe()
    );
    assert_eq!(output.stderr, "");
    before.assert_none_new();
}

#[test]
fn every_pe_gets_its_environment() {
    let text = "echo $NVSHMEMRS_PE/$NVSHMEMRS_N_PES $NVSHMEM_SYMMETRIC_SIZE $NVSHMEMRS_TIMEOUT; \
                echo ${#NVSHMEMRS_UNIQUE_ID} $NVSHMEMRS_UNIQUE_ID";
    let output = run(
        &mut script(3, &["--heap", "64m", "--timeout", "2.5"], text),
        HANG,
    )
    .succeeded();
    for pe in 0..3 {
        assert_lines(&output, &output.stdout, &format!("{pe}/3 64m 2.5"), 1);
    }
    let ids: BTreeSet<&str> = lines_with(&output.stdout, "256 ").into_iter().collect();
    assert_eq!(ids.len(), 1, "one id for all PEs\n{}", output.describe());
}

#[test]
fn gpus_get_as_many_queues_as_there_are_unless_the_user_says_otherwise() {
    let text = "echo queues $CUDA_DEVICE_MAX_CONNECTIONS";
    for (set, queues) in [(None, "queues 32"), (Some("4"), "queues 4")] {
        let mut command = script(2, &[], text);
        command.env_remove("CUDA_DEVICE_MAX_CONNECTIONS");
        if let Some(set) = set {
            command.env("CUDA_DEVICE_MAX_CONNECTIONS", set);
        }
        let output = run(&mut command, HANG).succeeded();
        assert_lines(&output, &output.stdout, queues, 2);
    }
}

#[test]
fn the_failing_pe_is_named_and_gives_the_exit_status() {
    let text = "[ $NVSHMEMRS_PE = 2 ] && exit 3; sleep 600";
    let output = run(&mut script(4, &["--grace", "0.1"], text), HANG);
    output
        .assert_code(3)
        .assert_stderr("nvshmemrs-run: PE 2 (pid ")
        .assert_stderr("exited with status 3");
    output.assert_stderr("command 'sh'");
    assert_lines(&output, &output.stderr, "nvshmemrs-run:", 1);
}

#[test]
fn a_pe_that_ignores_sigterm_is_killed_after_the_grace() {
    let text = "[ $NVSHMEMRS_PE = 1 ] && exit 4; trap '' TERM; while :; do sleep 0.1; done";
    let output = run(&mut script(2, &["--grace", "0.2"], text), HANG);
    output
        .assert_code(4)
        .assert_stderr("PE 0 did not end within 0.2 s of SIGTERM; sending SIGKILL");
}

#[test]
fn the_others_may_report_before_they_are_ended() {
    let text = "[ $NVSHMEMRS_PE = 1 ] && exit 4; trap 'echo told to end; exit 0' TERM; \
                while :; do sleep 0.05; done";
    let output = run(&mut script(2, &["--grace", "0.5"], text), HANG);
    output.assert_code(4).assert_stdout("told to end");
}

#[test]
fn a_killed_pe_is_named_by_launcher_and_by_the_others() {
    let before = Leftovers::now();
    let (job, pids, _folder) = start_waiting(4, &[]);
    let victim = pid_of(&job, 1);
    run(Command::new("kill").args(["-9", &victim.to_string()]), HANG).assert_success();
    let output = job.wait(HANG);
    output.assert_code(137);
    output.assert_stderr(&format!("nvshmemrs-run: PE 1 (pid {victim}, host "));
    output.assert_stderr("was killed by signal 9 (SIGKILL)");
    let reports = lines_with(&output.stderr, "nvshmemrs_signal_wait");
    assert_eq!(
        reports.len(),
        2,
        "PEs 0 and 2 waited\n{}",
        output.describe()
    );
    assert!(
        reports.iter().all(|line| line.contains("PE 1")),
        "{}",
        output.describe()
    );
    assert!(!pids.into_iter().any(alive));
    before.assert_none_new();
}

#[test]
fn a_pe_that_leaves_without_finalize_is_named() {
    let output = launch(3, [compile_c(&program("leave.c"))]);
    output.assert_code(CALL_FAILED);
    output.assert_stderr("before that, PE 1 exited with status 0 without calling finalize");
}

#[test]
fn a_killed_launcher_leaves_no_pe() {
    let before = Leftovers::now();
    let (job, pids, _folder) = start_waiting(4, &[]);
    assert_eq!(pids.iter().filter(|pid| alive(**pid)).count(), 4);
    job.signal(Signal::KILL);
    job.wait(HANG).assert_code(137);
    wait_until_gone(&pids);
    before.assert_none_new();
}

#[test]
fn a_killed_launcher_leaves_nothing_that_a_wrapper_started() {
    let text = "sh -c 'echo this is pid $$; sleep 600; true'; true";
    let mut job = spawn(&mut script(2, &[], text));
    let pids = until_pids(&mut job, 2);
    job.signal(Signal::KILL);
    job.wait(HANG).assert_code(137);
    wait_until_gone(&pids);
}

fn wait_until_gone(pids: &[u32]) {
    let start = std::time::Instant::now();
    while pids.iter().any(|pid| alive(*pid)) {
        assert!(start.elapsed() < HANG, "still there: {pids:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_command_that_cannot_start_is_reported_once_in_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str, mode: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file in a temporary folder");
        run(Command::new("chmod").arg(mode).arg(&path), HANG).assert_success();
        path.to_string_lossy().into_owned()
    };
    let plain = file("plain", "text", "644");
    let lost = file("lost", "#!/no/such/interpreter\n", "755");
    for (command, words, code) in [
        ("no-such-program", "no such program in PATH", 127),
        ("./no-such-program", "no such file", 127),
        (&plain, "not executable", 126),
        (&lost, "interpreter", 127),
    ] {
        let output = launch(4, [command]);
        output
            .assert_code(code)
            .assert_stderr(&format!("nvshmemrs-run: cannot start '{command}'"));
        output.assert_stderr(words);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.describe());
    }
}

#[test]
fn nonsense_on_the_command_line_is_refused() {
    for (line, words) in [
        ("-n 0 true", "1..=4096"),
        ("-n 4097 true", "1..=4096"),
        ("-n x true", "invalid"),
        ("true", "-n <N>"),
        ("-n 2", "<COMMAND>"),
        ("-n 2 --tga true", "--tga"),
        ("-n 2 --grace -1 true", "--grace"),
        ("-n 2 --stall-after soon true", "number of seconds"),
        ("-n 2 --heap 12q true", "12q"),
    ] {
        let output = run(
            Command::new(bin("nvshmemrs-run")).args(line.split(' ')),
            HANG,
        );
        output.assert_code(2).assert_stderr(words);
    }
}

#[test]
fn tagged_lines_are_whole_and_on_their_stream() {
    let text = "i=0; while [ $i -lt 200 ]; do printf 'one'; printf 'two\\n'; i=$((i+1)); done; \
                echo oops >&2; printf unfinished";
    let output = run(&mut script(4, &["--tag"], text), HANG).succeeded();
    for pe in 0..4 {
        for (text, line, count) in [
            (&output.stdout, "onetwo", 200),
            (&output.stdout, "unfinished", 1),
            (&output.stderr, "oops", 1),
        ] {
            let line = format!("[{pe}] {line}");
            let found = text.lines().filter(|text| **text == line).count();
            assert_eq!(found, count, "{line}\n{}", output.describe());
        }
    }
    assert_eq!(
        output.stdout.lines().count(),
        4 * 201,
        "{}",
        output.describe()
    );
    assert_eq!(output.stderr.lines().count(), 4, "{}", output.describe());
}

#[test]
fn a_process_left_behind_does_not_hold_up_tagged_output() {
    let output = run(&mut script(2, &["--tag"], "sleep 5 & echo done"), HANG).succeeded();
    assert_lines(&output, &output.stdout, "done", 2);
}

#[test]
fn standard_input_goes_to_the_first_pe() {
    let mut input = tempfile::tempfile().expect("a temporary file");
    input
        .write_all(b"first\nsecond\n")
        .expect("a line in a file");
    input.rewind().expect("a file can be rewound");
    let mut command = launcher(3, &["--tag"]);
    command.args(["sh", "-c", "cat; echo end"]).stdin(input);
    let output = spawn(&mut command).wait(HANG).succeeded();
    let lines = output.sorted_lines();
    assert_eq!(
        lines,
        ["[0] end", "[0] first", "[0] second", "[1] end", "[2] end"]
    );
}

#[test]
fn a_terminal_reaches_the_first_pe() {
    // `script` (bsdutils) gives the launcher a terminal and types its own input there, then the end of input.
    let mut input = tempfile::tempfile().expect("a temporary file");
    input.write_all(b"typed\n").expect("a line in a file");
    input.rewind().expect("a file can be rewound");
    let line = format!("'{}' -n 2 --tag cat", bin("nvshmemrs-run").display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(input);
    let output = spawn(&mut command).wait(HANG);
    output.assert_success().assert_stdout("[0] typed");
}

#[test]
fn signals_reach_every_pe() {
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR2, "USR2"),
    ] {
        if is_ignored(signal) {
            // As under nohup: then it stays ignored in the launcher and the PEs, by design.
            println!("{name} is ignored here, so it is left out");
            continue;
        }
        let text =
            format!("trap 'echo got it; exit 0' {name}; echo ready; while :; do sleep 0.05; done");
        let mut job = spawn(&mut script(3, &[], &text));
        until_lines(&mut job, "ready", 3);
        job.signal(signal);
        let output = job.wait(HANG).succeeded();
        assert_lines(&output, &output.stdout, "got it", 3);
    }
}

/// Whether this process was started to ignore `signal`.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .expect("a mask of ignored signals");
    mask & 1 << (signal.as_raw() - 1) != 0
}

#[test]
fn a_signal_without_handler_ends_the_job() {
    let mut job = spawn(&mut script(
        2,
        &[],
        "echo ready; while :; do sleep 0.05; done",
    ));
    until_lines(&mut job, "ready", 2);
    job.signal(Signal::TERM);
    job.wait(HANG)
        .assert_code(143)
        .assert_stderr("was killed by signal 15 (SIGTERM)");
}

#[test]
fn a_second_interrupt_kills() {
    let text = "trap 'echo no' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done";
    let mut job = spawn(&mut script(2, &[], text));
    until_lines(&mut job, "ready", 2);
    job.signal(Signal::INT);
    until_lines(&mut job, "no", 2);
    job.signal(Signal::INT);
    job.wait(HANG)
        .assert_code(130)
        .assert_stderr("second SIGINT");
}

#[test]
fn a_job_can_be_stopped_and_continued() {
    let mut job = spawn(&mut script(
        2,
        &[],
        // A shell whose child stops before it runs its program would not be stopped itself, but wait in vfork.
        "echo this is pid $$; exec sleep 600",
    ));
    let pids = until_pids(&mut job, 2);
    let states = |pids: &[u32]| -> String {
        let stat = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = |stat: String| {
            stat.rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next())
        };
        pids.iter().filter_map(|pid| state(stat(pid))).collect()
    };
    let launcher = job.pid();
    job.signal(Signal::TSTP);
    job.until("stopped job", |_| {
        (states(&pids) == "TT" && states(&[launcher]) == "T").then_some(())
    });
    job.signal(Signal::CONT);
    job.until("continued job", |_| {
        (!states(&pids).contains('T')).then_some(())
    });
    job.signal(Signal::TERM);
    job.wait(HANG).assert_code(143);
}

#[test]
fn sigusr1_prints_the_wait_board() {
    let (mut job, pids, folder) = start_waiting(3, &[]);
    job.signal(Signal::USR1);
    job.until("board", |job| {
        let text = job.stderr();
        let all = pids.iter().all(|pid| text.contains(&format!("pid {pid}")));
        (all && lines_with(&text, "in signal_wait").len() == 2).then_some(())
    });
    end_waits(&folder);
    job.wait(HANG)
        .assert_success()
        .assert_stderr("nvshmemrs-run: wait board");
}

#[test]
fn sigusr1_without_a_job_says_so() {
    let mut job = spawn(&mut script(1, &[], "sleep 600"));
    // The launcher takes signals before it starts a PE; a PE that runs proves it.
    job.until("a PE", |job| {
        let pid = job.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        (children.split_whitespace().count() == 2).then_some(())
    });
    job.signal(Signal::USR1);
    job.until_stderr(&["no wait board"]);
}

#[test]
fn a_stall_is_reported_once() {
    let (mut job, pids, folder) = start_waiting(2, &["--stall-after", "1"]);
    let heading = "nvshmemrs-run: nothing has moved for 1 s";
    job.until_stderr(&[heading]);
    // Long enough for a second report, if there were one.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    end_waits(&folder);
    let output = job.wait(HANG).succeeded();
    assert_lines(&output, &output.stderr, heading, 1);
    output
        .assert_stderr("in signal_wait")
        .assert_stderr(&format!("pid {}", pids[0]));
}

#[test]
fn no_stall_is_reported_when_turned_off() {
    let (job, _, folder) = start_waiting(2, &["--stall-after", "0"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    end_waits(&folder);
    let output = job.wait(HANG).succeeded();
    assert_eq!(output.stderr, "");
}

#[test]
fn info_shows_a_running_job() {
    let (job, mut pids, folder) = start_waiting(3, &[]);
    pids.sort_unstable();
    for pid in [pids[0], job.pid()] {
        let output = info(&["--json", "--job", &pid.to_string()]).succeeded();
        let board: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(board["n_pes"], 3);
        let mut seen: Vec<u64> = board["pes"]
            .as_array()
            .expect("a list of PEs")
            .iter()
            .map(|pe| pe["pid"].as_u64().expect("a number"))
            .collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            pids.iter().map(|pid| u64::from(*pid)).collect::<Vec<_>>()
        );
        let waits = board["waits"].as_array().expect("a list of waits");
        assert_eq!(waits.len(), 2, "{}", output.describe());
        for wait in waits {
            assert_eq!(wait["operation"], "signal_wait");
            assert_eq!(wait["expected"], ">= 1");
            assert_eq!(wait["actual"], "0");
        }
    }
    end_waits(&folder);
    job.wait(HANG).assert_success();
}

#[test]
fn info_refuses_a_process_that_is_no_pe() {
    let own = std::process::id().to_string();
    let output = info(&["--job", &own]);
    output
        .assert_code(1)
        .assert_stderr("nvshmemrs-info: ")
        .assert_stderr(&own)
        .assert_stderr("PE");
    assert_eq!(output.stdout, "");
    info(&["--job", "0"]).assert_code(2);
    info(&["--job", "4000000000"])
        .assert_code(1)
        .assert_stderr("there is no process 4000000000");
}

#[test]
fn info_shows_settings_and_their_source() {
    let mut command = Command::new(bin("nvshmemrs-info"));
    command
        .arg("--json")
        .env("NVSHMEMRS_TIMEOUT", "7")
        .env_remove("NVSHMEM_SYMMETRIC_SIZE");
    command.env("NVSHMEMRS_UNIQUE_ID", "5ec4e7");
    let output = run(&mut command, HANG).succeeded();
    // The id carries a secret.
    output.assert_no_stdout("5ec4e7");
    let report: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let setting = |name: &str| {
        let settings = report["settings"].as_array().expect("a list of settings");
        settings
            .iter()
            .find(|setting| setting["name"] == name)
            .expect("the setting")
            .clone()
    };
    assert_eq!(setting("NVSHMEMRS_TIMEOUT")["value"], "7");
    assert_eq!(setting("NVSHMEMRS_TIMEOUT")["source"], "environment");
    assert_eq!(setting("NVSHMEM_SYMMETRIC_SIZE")["source"], "default");
    assert_eq!(setting("NVSHMEMRS_UNIQUE_ID")["source"], "environment");
    assert!(
        report["machine"]["memory_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0)
    );
    assert!(
        report["machine"]["usable_cores"]
            .as_u64()
            .is_some_and(|cores| cores > 0)
    );
}
