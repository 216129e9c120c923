//! Streams that take nothing: no write of the launcher's, of the tools' or of the library's panics, ends a job or hides its status.

use nvshmemrs_tests::{
    HANG, Output, Running, bin, compile_c, launcher, program, run, spawn, workspace,
};
use std::fs;
use std::process::Command;

/// A shell's redirections that break a standard stream. Standard input is a pipe that nobody reads.
const NOBODY_READS: &str = "2>&0 </dev/null";
const BROKEN: [&str; 7] = [
    NOBODY_READS,
    ">&0 2>&0 </dev/null",
    "2>/dev/full",
    ">/dev/full 2>/dev/full",
    "2>&-",
    ">&- 2>&-",
    "<&- >&- 2>&-",
];

/// A shell that takes the streams as `streams` says and then becomes `command`, after `first`.
fn with_streams(first: &str, streams: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{first}\nexec \"$@\" {streams}"), "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell
}

#[track_caller]
fn start(first: &str, streams: &str, command: &Command) -> Running {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    spawn(with_streams(first, streams, command).stdin(writer))
}

#[track_caller]
fn ends(streams: &str, command: &Command) -> Output {
    start("", streams, command).wait(HANG)
}

fn script(n_pes: u32, options: &[&str], text: &str) -> Command {
    let mut command = launcher(n_pes, options);
    command.args(["sh", "-c", text]);
    command
}

fn tool(name: &str, words: &[&str]) -> Command {
    let mut command = Command::new(bin(name));
    command.args(words);
    command
}

/// Writes to each of these streams do fail, so the other tests exercise broken streams.
#[test]
fn the_streams_take_nothing() {
    let write = |streams: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' PIPE; echo x >&2"]);
        ends(streams, &command).code()
    };
    assert_eq!(write(""), 0);
    for streams in BROKEN {
        assert_ne!(write(streams), 0, "{streams}");
    }
}

#[test]
fn a_jobs_status_comes_through_where_nothing_can_be_printed() {
    for streams in BROKEN {
        for options in [&[][..], &["--tag"], &["--check"]] {
            let output = ends(streams, &script(2, options, "sleep 0.1; exit 3"));
            assert_eq!(
                output.code(),
                3,
                "{streams} {options:?}\n{}",
                output.describe()
            );
            assert_eq!(output.stderr, "", "{streams} {options:?}");
            let output = ends(streams, &script(2, options, "exit 0"));
            assert_eq!(
                output.code(),
                0,
                "{streams} {options:?}\n{}",
                output.describe()
            );
        }
    }
    // The file has its full length.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let streams = format!("2>>'{}'", file.path().display());
    let output = start("ulimit -f 0", &streams, &script(2, &[], "exit 3")).wait(HANG);
    output.assert_code(3);
    let length = file.as_file().metadata().expect("its length").len();
    assert_eq!(length, 0, "the limit holds");
}

#[test]
fn a_command_line_that_is_refused_has_its_status() {
    for streams in BROKEN {
        let code = |command: Command| ends(streams, &command).code();
        assert_eq!(code(launcher(0, &[])), 2, "{streams}");
        assert_eq!(
            code(tool("nvshmemrs-run", &["-n", "2", "no-such-program"])),
            127,
            "{streams}"
        );
        for name in [
            "nvshmemrs-run",
            "nvshmemrs-info",
            "nvshmemrs-top",
            "nvshmemrs-perf",
        ] {
            assert_eq!(code(tool(name, &["--no-such-option"])), 2, "{streams}");
            assert_ne!(code(tool(name, &["--help"])), 101, "{streams}");
        }
        assert_eq!(
            code(tool("nvshmemrs-info", &["--job", "4000000000"])),
            1,
            "{streams}"
        );
        assert_eq!(
            code(tool("nvshmemrs-perf", &["--op", "no-such-operation"])),
            2,
            "{streams}"
        );
    }
}

#[test]
fn a_stall_that_cannot_be_told_ends_no_job() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("go");
    let mut jobs = Vec::new();
    for options in [
        &["--stall-after", "0.1"][..],
        &["--stall-after", "0.1", "--check"],
    ] {
        let mut command = launcher(2, options);
        command.arg(compile_c(&program("wait.c"))).arg(&file);
        for streams in ["", NOBODY_READS, "2>/dev/full", "2>&-"] {
            jobs.push(start("", streams, &command));
        }
    }
    // As far as the jobs that can be heard; the others had as much time.
    for job in &mut jobs {
        job.until("two PEs", |job| {
            (job.stdout().matches(" is pid ").count() == 2).then_some(())
        });
    }
    for heard in [0, 4] {
        jobs[heard].until("report of a stall", |job| {
            let told = job.stderr().contains("nothing has moved for 0.1 s");
            told.then_some(())
        });
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    fs::write(&file, "").expect("a file in a temporary folder");
    for job in jobs {
        job.wait(HANG).assert_success();
    }
}

#[test]
fn closed_streams_lead_nowhere_in_the_pes() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = "a=$(readlink /proc/$$/fd/0) b=$(readlink /proc/$$/fd/1) c=$(readlink /proc/$$/fd/2)
                echo $a $b $c >>\"$0\"";
    let mut command = script(2, &["--check"], text);
    command.arg(file.path());
    ends("<&- >&- 2>&-", &command).assert_success();
    let seen = fs::read_to_string(file.path()).expect("what the PEs saw");
    assert_eq!(seen, "/dev/null /dev/null /dev/null\n".repeat(2));
}

#[test]
fn tagged_output_that_is_lost_is_told_and_ends_no_pe() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = "i=0; while [ $i -lt 3000 ]; do echo a line of some length; i=$((i+1)); done
                echo whole >>\"$0\"; exit $1";
    for (status, code) in [("0", 125), ("3", 3)] {
        let mut command = script(2, &["--tag", "--grace", "30"], text);
        command.arg(file.path()).arg(status);
        let output = ends(">/dev/full", &command);
        output
            .assert_code(code)
            .assert_stderr("nvshmemrs-run: output of the PEs is lost: No space left on device");
    }
    let whole = fs::read_to_string(file.path()).expect("what the PEs say");
    assert_eq!(whole, "whole\n".repeat(4));
    // Where the reader is gone, a PE is told as if it had printed itself.
    let output = ends(">&0 </dev/null", &script(1, &["--tag"], "exec yes"));
    output
        .assert_code(141)
        .assert_stderr("was killed by signal 13 (SIGPIPE)");
}

#[test]
fn the_tools_end_quietly_where_nobody_reads() {
    for command in [
        tool("nvshmemrs-info", &[]),
        tool("nvshmemrs-info", &["--json"]),
        tool("nvshmemrs-perf", &["--list"]),
    ] {
        let output = ends(">&0 </dev/null", &command).succeeded();
        assert_eq!(output.stderr, "");
        ends(">/dev/full", &command)
            .assert_code(1)
            .assert_stderr("cannot write to standard output: No space left on device");
        ends(">/dev/full 2>&0 </dev/null", &command).assert_code(1);
        ends(">&- 2>&-", &command).assert_success();
    }
}

/// A PE in C dies of SIGPIPE if it writes where nobody reads. The library's writes are none of its own.
#[test]
fn what_the_library_writes_ends_no_pe() {
    let finalize = compile_c(&program("finalize.c"));
    let unfreed = compile_c(&program("unfreed.c"));
    for streams in [NOBODY_READS, "2>/dev/full", "2>&-"] {
        let mut command = launcher(2, &[]);
        command.arg(&finalize).env("NVSHMEM_DEBUG", "TRACE");
        ends(streams, &command).assert_success();
        let mut command = launcher(2, &[]);
        command.arg(&unfreed).env("NVSHMEMRS_TRACK", "1");
        ends(streams, &command).assert_success();
        // A finding, and the status that says so.
        let forwarded = compile_c(&workspace().join("tests/checker/planted/forwarded.c"));
        let mut command = launcher(2, &["--check"]);
        command.arg(forwarded).env("NVSHMEMRS_CHECK_SEED", "1234");
        ends(streams, &command).assert_code(1);
    }
}

#[test]
fn signals_and_streams_of_the_program_are_as_it_left_them() {
    let program = compile_c(&program("streams.c"));
    for what in ["handler", "pending"] {
        let mut command = Command::new(&program);
        command.arg(what).env("NVSHMEM_DEBUG", "TRACE");
        run(&mut command, HANG).assert_success();
    }
    let mut command = Command::new(&program);
    command.arg("closed").env("NVSHMEM_DEBUG", "TRACE");
    ends("<&- >&- 2>&-", &command).assert_success();
}

/// `println!` and its kin panic where a stream takes nothing.
#[test]
fn nothing_prints_past_the_one_place() {
    for root in [
        "cli/src/lib.rs",
        "cli/src/bin/nvshmemrs-run.rs",
        "cli/src/bin/nvshmemrs-info.rs",
        "cli/src/bin/nvshmemrs-top.rs",
        "perf/src/main.rs",
        "core/src/lib.rs",
        "core/crates/check/src/lib.rs",
        "core/crates/cuda/src/lib.rs",
        "core/crates/diagnostics/src/lib.rs",
        "core/crates/job/src/lib.rs",
        "core/crates/net/src/lib.rs",
        "core/crates/transport/src/lib.rs",
        "core/crates/vocabulary/src/lib.rs",
    ] {
        let text = fs::read_to_string(workspace().join(root)).expect("a crate's root");
        assert!(
            text.contains("deny(clippy::print_stdout, clippy::print_stderr)"),
            "{root}"
        );
    }
}
