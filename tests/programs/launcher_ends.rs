//! How jobs end: the sender of the signal that ended a PE, and leftovers of a job that cannot be started.

use nvshmemrs_tests::nobody::Nobody;
use nvshmemrs_tests::{HANG, Output, compile_c, launcher, program, run, spawn};
use rustix::process::{Signal, getpid, set_child_subreaper};
use std::fs;
use std::process::{Command, Stdio};

/// A program's exit status when a call into nvshmemrs fails, see `programs/check.h`.
const CALL_FAILED: i32 = 5;

/// Runs `programs/left.c` with three PEs; PE 1 executes the command of the last words.
fn left(grace: &str, words: &[&str]) -> Output {
    let mut command = launcher(3, &["--grace", grace]);
    command.arg(compile_c(&program("left.c"))).args(words);
    run(&mut command, HANG)
}

/// The line about PE 1, which begins and ends so.
#[track_caller]
fn assert_line(output: &Output, start: &str, end: &str) {
    let lines = output.launcher_lines();
    let found = lines.iter().any(|line| {
        // PE 0 or PE 2 was the first to notice.
        let line = line.replace("because PE 2 had", "because PE 0 had");
        line.starts_with(start) && line.ends_with(end)
    });
    assert!(found, "no {start:?} ... {end:?}\n{}", output.describe());
}

#[test]
fn a_pe_that_executes_another_program_is_told_as_such() {
    let place = "outside of nvshmemrs' waits";
    let because = "because PE 0 had failed";
    for (grace, words, name, end) in [
        (
            "0.5",
            &["sleep", "600"][..],
            "sleep",
            format!("nvshmemrs-run ended it with signal 15 (SIGTERM), {because}"),
        ),
        (
            "0.5",
            &["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"],
            "sh",
            format!("nvshmemrs-run ended it with signal 9 (SIGKILL), {because}"),
        ),
        (
            "5",
            &[
                "sh",
                "-c",
                "trap 'exit 9' TERM; while :; do sleep 0.1; done",
            ],
            "sh",
            format!(
                "it exited with status 9 when nvshmemrs-run had sent it signal 15 (SIGTERM), {because}"
            ),
        ),
    ] {
        let output = left(grace, words);
        output.assert_code(CALL_FAILED);
        let how = format!("left the job by executing another program ('{name}'), {place}; {end}");
        assert_line(&output, "before that, PE 1 (pid ", &how);
        // The first line says whose status the job has.
        let first = output
            .launcher_lines()
            .into_iter()
            .find(|line| line.contains(", host "));
        let first = first.expect("the line of the PE that failed");
        assert!(!first.starts_with("PE 1"), "{}", output.describe());
        assert!(
            first.contains("exited with status 5"),
            "{}",
            output.describe()
        );
    }
}

#[test]
fn what_another_program_ends_with_by_itself_is_its_own() {
    let how = "left the job by executing another program ('sh'), outside of nvshmemrs' waits";
    // PE 1 ends when the launcher has reaped the other PEs: the launcher has two children then, PE 1 and the guard.
    let alone =
        "while [ $(wc -w </proc/$PPID/task/$PPID/children) -gt 2 ]; do sleep 0.1; done; sleep 1";
    let output = left("60", &["sh", "-c", &format!("{alone}; exit 7")]);
    output.assert_code(7);
    assert_line(
        &output,
        "PE 1 (pid ",
        &format!("exited with status 7; before that, it had {how}"),
    );
    let output = left("60", &["sh", "-c", &format!("{alone}; exit 0")]);
    output.assert_code(CALL_FAILED);
    assert_line(
        &output,
        "before that, PE 1 (pid ",
        &format!("{how}; later it exited with status 0"),
    );
}

#[test]
fn a_pe_that_lets_its_job_go_and_lives_on_is_told_as_such() {
    let output = left("0.2", &["close"]);
    output.assert_code(CALL_FAILED);
    assert_line(
        &output,
        "before that, PE 1 (pid ",
        "left the job without calling finalize, though its process went on, outside of nvshmemrs' waits; \
         nvshmemrs-run ended it with signal 15 (SIGTERM), because PE 0 had failed",
    );
}

/// The lines are the same whether its process ends before those of the others or after them.
#[test]
fn a_pe_that_leaves_its_job_in_order_to_end_is_told_like_any_other() {
    let output = left("60", &["leave"]);
    output.assert_code(7);
    assert_line(
        &output,
        "PE 1 (pid ",
        "exited with status 7 outside of nvshmemrs' waits",
    );
    let lines = output.launcher_lines();
    for other in ["  PE 0 (pid ", "  PE 2 (pid "] {
        let told = lines.iter().any(|line| line.starts_with(other));
        assert!(told, "{other}: {}", output.describe());
    }
}

#[test]
fn a_signal_that_is_passed_on_is_told_as_such() {
    let mut command = launcher(2, &[]);
    command.args(["sh", "-c", "echo ready; exec sleep 600"]);
    let start = |command: &mut Command| {
        let mut job = spawn(command.stdin(Stdio::null()));
        job.until("line of each PE", |job| {
            (job.stdout().matches("ready").count() == 2).then_some(())
        });
        job
    };
    let passed_on = "nvshmemrs-run had got that signal and passed it on";
    let job = start(&mut command);
    job.signal(Signal::TERM);
    let output = job.wait(HANG);
    output
        .assert_code(143)
        .assert_stderr(&format!("was killed by signal 15 (SIGTERM); {passed_on}\n"));
    // A signal from another sender does not get this remark.
    let mut command = launcher(2, &[]);
    command.args(["sh", "-c", "echo ready; kill -TERM $$; sleep 600"]);
    let output = run(&mut command, HANG);
    output
        .assert_code(143)
        .assert_stderr("was killed by signal 15 (SIGTERM)\n");
}

/// A shell that sets `limits` and then starts a job that they do not allow.
fn limited(limits: &str, job: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{limits}\nexec \"$@\""), "bash"])
        .arg(job.get_program())
        .args(job.get_args());
    shell
}

/// The processes that became this one's with the death of their parents, zombies among them, by the name of their program.
fn orphans(name: &str) -> Vec<String> {
    let me = std::process::id();
    let entries = fs::read_dir("/proc").expect("a list of processes");
    let stats =
        entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let is = |stat: &String| {
        let parent = stat.rsplit(") ").next().unwrap_or_default();
        let parent = parent.split(' ').nth(1).and_then(|pid| pid.parse().ok());
        parent == Some(me) && stat.contains(&format!("({name})"))
    };
    stats.filter(is).collect()
}

/// A copy of `sleep`, which the kernel calls so: up to 15 letters.
fn sleeper(folder: &tempfile::TempDir, name: &str) -> String {
    let copy = folder.path().join(name);
    fs::copy("/bin/sleep", &copy).expect("a copy of sleep");
    run(Command::new("chmod").arg("755").arg(folder.path()), HANG).assert_success();
    copy.to_string_lossy().into_owned()
}

/// Runs a job that cannot be started as a whole: the launcher says why, and waits until nothing of it is left.
#[track_caller]
fn assert_nothing_left(name: &str, command: &mut Command, n_pes: u32, why: &str) {
    // A process that the launcher does not wait for becomes a child of this process, which does not wait either.
    set_child_subreaper(Some(getpid())).expect("to become the parent of orphans");
    let output = run(command, HANG);
    let left = orphans(name);
    output.assert_code(125);
    let lines = output.launcher_lines();
    let [line] = lines[..] else {
        panic!("not one line\n{}", output.describe());
    };
    let start = line
        .strip_prefix("cannot start PE ")
        .and_then(|rest| rest.split_once(&format!(" of {n_pes}: ")));
    let (pe, rest) = start.unwrap_or_else(|| panic!("{}", output.describe()));
    let pe: u32 = pe.parse().expect("the PE's number");
    assert!((1..n_pes).contains(&pe), "{}", output.describe());
    assert!(rest.ends_with(why), "{}", output.describe());
    assert!(left.is_empty(), "left behind: {left:#?}");
}

#[test]
fn a_job_without_files_for_all_pes_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut job = launcher(8, &["--tag"]);
    job.arg(sleeper(&folder, "nvs-few-files")).arg("600");
    // As many as the launcher asks for with --tag; the shell has most of them already.
    let limits = "ulimit -n 80; for i in {20..75}; do eval \"exec $i</dev/null\"; done";
    assert_nothing_left(
        "nvs-few-files",
        &mut limited(limits, &job),
        8,
        "(the limit of open files of a process, `ulimit -n`, is 80: too low)",
    );
}

#[test]
fn a_job_without_processes_for_all_pes_leaves_nothing() {
    let Some(nobody) = Nobody::new() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut job = launcher(100, &[]);
    job.arg(sleeper(&folder, "nvs-few-procs")).arg("600");
    let other = nobody.runs(&job);
    assert_nothing_left(
        "nvs-few-procs",
        &mut limited("ulimit -u 80", &other),
        100,
        "(the limit of processes and threads of a user, `ulimit -u`, is 80: too low)",
    );
}
