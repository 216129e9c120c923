//! `nvshmemrs-run` passes on the PEs' output: lines never mix, nothing is lost, and a terminal stays a terminal.

use nvshmemrs_tests::{HANG, Running, bin, interpreter, launcher, run, spawn};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A shell script as the PEs' command; `$0` is `word`.
fn script(n_pes: u32, options: &[&str], text: &str, word: &str) -> Command {
    let mut command = launcher(n_pes, options);
    command.args(["sh", "-c", text, word]);
    command
}

/// A Python program as the PEs' command, which writes each piece by itself.
fn python(n_pes: u32, text: &str) -> Command {
    let mut command = launcher(n_pes, &[]);
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    command.arg(python).args(["-u", "-c", text]);
    command
}

/// A shell that runs `text`, in which `$1` and the following arguments are this command.
fn shell(text: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", text, "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// A command at a terminal, and the pipe whose contents are typed there.
fn at_terminal(line: &str) -> (Running, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).stdin(reader);
    (spawn(&mut command), writer)
}

#[track_caller]
fn until(job: &mut Running, text: &str) {
    job.until_stdout(&[text]);
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn touch(file: &Path) {
    fs::write(file, "").expect("a file in a temporary folder");
}

#[test]
fn lines_of_several_pes_never_mix() {
    let text = "i=0; while [ $i -lt 200 ]; do \
                printf $NVSHMEMRS_PE; printf ' '; printf 'ok\n'; printf err >&2; echo or >&2; i=$((i+1)); done";
    let output = run(&mut script(4, &[], text, "sh"), HANG).succeeded();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in output.stdout.lines() {
        *counts.entry(line).or_default() += 1;
    }
    let expected = [("0 ok", 200), ("1 ok", 200), ("2 ok", 200), ("3 ok", 200)];
    assert_eq!(counts, expected.into(), "{}", output.describe());
    let errors: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(errors, ["error"; 800], "{}", output.describe());
}

/// A PE that does not run for a tenth of a second gives way, so one try of several must do on a busy machine.
#[test]
fn tracebacks_of_several_pes_stay_whole() {
    // All at the same moment, with as many lines as there are frames, as slowly as on a busy machine.
    let text = "import os, sys, time, traceback\n\
                def f(n):\n    return g(n - 1) if n else 1 / 0\n\
                def g(n):\n    return f(n - 1) if n else 1 / 0\n\
                time.sleep(1.2 - time.time() % 1)\n\
                try:\n    f(60)\n\
                except ZeroDivisionError:\n    for line in traceback.format_exc().splitlines(True):\n        \
                sys.stderr.write(line); time.sleep(0.001)\n\
                print('end of', os.environ['NVSHMEMRS_PE'], file=sys.stderr)";
    let whole = |_| {
        let output = run(&mut python(4, text), HANG).succeeded();
        let blocks: Vec<&str> = output.stderr.split("Traceback (most").skip(1).collect();
        assert_eq!(blocks.len(), 4, "{}", output.describe());
        let is_whole = |block: &&str| {
            let lines: Vec<&str> = block.lines().collect();
            lines.len() > 60
                && lines[lines.len() - 1].starts_with("end of ")
                && lines[lines.len() - 2].starts_with("ZeroDivisionError")
        };
        blocks.iter().all(is_whole)
    };
    assert!(
        (0..5).any(whole),
        "five times the lines of several PEs were among each other"
    );
}

#[test]
fn both_streams_in_one_place_keep_their_order() {
    let text = "i=0; while [ $i -lt 100 ]; do echo $NVSHMEMRS_PE $i out; echo $NVSHMEMRS_PE $i err >&2; i=$((i+1)); done";
    let command = script(3, &[], text, "sh");
    let output = run(&mut shell("\"$@\" 2>&1", &command), HANG).succeeded();
    for pe in 0..3 {
        let start = format!("{pe} ");
        let lines = output
            .stdout
            .lines()
            .filter(|line| line.starts_with(&start));
        let expected = (0..100).flat_map(|i| [format!("{pe} {i} out"), format!("{pe} {i} err")]);
        assert!(lines.eq(expected), "{}", output.describe());
    }
}

#[test]
fn every_line_of_many_comes_and_in_order() {
    let command = script(4, &["--tag"], "seq 100000", "sh");
    // The reader is slow at first.
    let output = run(&mut shell("\"$@\" | (sleep 0.5; cat)", &command), HANG).succeeded();
    for pe in 0..4 {
        let start = format!("[{pe}] ");
        let lines = output
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix(&start));
        assert!(
            lines.eq((1..=100_000).map(|i: u32| i.to_string())),
            "PE {pe}"
        );
    }
}

#[test]
fn what_a_killed_pe_has_printed_is_there() {
    let text = "echo whole; printf begun; [ $NVSHMEMRS_PE = 1 ] && kill -9 $$; sleep 600";
    let output = run(&mut script(3, &["--grace", "0.1"], text, "sh"), HANG);
    output.assert_code(137);
    let lines = output.sorted_lines();
    assert_eq!(
        lines,
        ["begun", "begun", "begun", "whole", "whole", "whole"],
        "{}",
        output.describe()
    );
}

#[test]
fn a_last_line_without_end_comes_when_its_pe_ends() {
    let folder = folder();
    let go = folder.path().join("go");
    // PE 0 ends, but a process that it leaves behind holds its streams; PE 1 goes on.
    let text = "if [ $NVSHMEMRS_PE = 0 ]; then sleep 600 & echo $! >\"$0.pid\"; printf last; exit 0; fi; \
                printf other; while [ ! -e \"$0\" ]; do sleep 0.05; done";
    let mut job = spawn(&mut script(2, &[], text, &go.to_string_lossy()));
    until(&mut job, "last\n");
    touch(&go);
    let output = job.wait(HANG).succeeded();
    assert_eq!(output.stdout, "last\nother\n");
    let left = fs::read_to_string(folder.path().join("go.pid")).expect("a process");
    run(Command::new("kill").arg(left.trim()), HANG).assert_success();
}

#[test]
fn what_a_pe_leaves_behind_still_prints() {
    let folder = folder();
    let (go, file) = (folder.path().join("go"), folder.path().join("out"));
    let text = "(while [ ! -e \"$0\" ]; do sleep 0.05; done; printf late; echo r; echo late >&2) & echo now";
    for options in [&[][..], &["--tag"]] {
        let command = script(2, options, text, &go.to_string_lossy());
        let line = format!("exec \"$@\" >'{0}' 2>'{0}.err'", file.display());
        // The launcher does not wait.
        run(&mut shell(&line, &command), HANG).assert_success();
        let printed = || fs::read_to_string(&file).expect("what was printed");
        assert_eq!(printed().matches("now\n").count(), 2);
        assert!(!printed().contains("late"), "{}", printed());
        touch(&go);
        let start = std::time::Instant::now();
        while printed().matches("later\n").count() < 2 {
            assert!(start.elapsed() < HANG, "{}", printed());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(
            printed().contains("[1] later\n"),
            options.contains(&"--tag")
        );
        fs::remove_file(&go).expect("the file is there");
    }
}

#[test]
fn one_pe_prints_byte_for_byte() {
    let folder = folder();
    let file = folder.path().join("bytes");
    let bytes: Vec<u8> = (0..1_000_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(&file, bytes).expect("a file in a temporary folder");
    let mut command = launcher(1, &[]);
    command.arg("cat").arg(&file);
    let text = format!("\"$@\" | cmp - '{}'", file.display());
    run(&mut shell(&text, &command), HANG).assert_success();
    // And without an end of line where there is none.
    let output = run(&mut script(1, &[], "printf x; printf y >&2", "sh"), HANG);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("x", "y"));
}

#[test]
fn a_huge_line_does_not_take_all_memory() {
    let folder = folder();
    let go = folder.path().join("go");
    let text = "[ $NVSHMEMRS_PE = 0 ] && head -c 200000000 /dev/zero | tr '\\0' x; echo end >&2; \
                while [ ! -e \"$0\" ]; do sleep 0.05; done";
    let command = script(2, &[], text, &go.to_string_lossy());
    let line = format!("exec \"$@\" >'{}'", folder.path().join("out").display());
    let mut job = spawn(&mut shell(&line, &command));
    job.until("end of the line", |job| {
        (job.stderr().matches("end").count() == 2).then_some(())
    });
    let status = fs::read_to_string(format!("/proc/{}/status", job.pid())).expect("its status");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let most: u64 = most
        .and_then(|number| number.parse().ok())
        .expect("its memory");
    assert!(most < 64 << 10, "{most} KiB");
    touch(&go);
    job.wait(HANG).assert_success();
    let length = fs::metadata(folder.path().join("out"))
        .expect("a file")
        .len();
    assert_eq!(length, 200_000_001, "the line, and its end");
}

#[test]
fn a_reader_that_is_gone_ends_the_pes_that_print() {
    let command = script(4, &[], "exec yes", "sh");
    let text = "{ \"$@\"; echo $? >&2; } | head -n 2";
    let output = run(&mut shell(text, &command), HANG);
    assert_eq!(output.stdout, "y\ny\n");
    output.assert_stderr("was killed by signal 13 (SIGPIPE)");
    assert!(output.stderr.ends_with("\n141\n"), "{}", output.describe());
}

#[test]
fn one_pe_keeps_its_terminal() {
    let job = "test -t 0 && test -t 1 && test -t 2 && printf \"Name? \"; read a; echo \"hello $a\"";
    let line = format!(
        "sh -c '\"$0\" -n 1 sh -c \"$1\"; read b; echo \"back, $b\"' '{}' '{job}'",
        bin("nvshmemrs-run").display()
    );
    let (mut shell, mut types) = at_terminal(&line);
    until(&mut shell, "Name? ");
    types.write_all(b"Ada\n").expect("to type");
    until(&mut shell, "hello Ada");
    // The terminal is the caller's again.
    types.write_all(b"Bob\n").expect("to type");
    until(&mut shell, "back, Bob");
    drop(types);
    shell.wait(HANG).assert_success();
}

#[test]
fn one_pe_can_be_stopped_and_continued_at_its_terminal() {
    let (mut shell, mut types) = at_terminal("bash --norc -i");
    let mut type_in = |text: &str| types.write_all(text.as_bytes()).expect("to type");
    type_in(&format!(
        "'{}' -n 1 sh -c 'echo rea''dy; exec cat'\n",
        bin("nvshmemrs-run").display()
    ));
    until(&mut shell, "ready");
    type_in("\x1a");
    until(&mut shell, "Stopped");
    type_in("echo in the sh''ell; fg\n");
    until(&mut shell, "in the shell");
    type_in("first\n");
    shell.until("echo of cat", |job| {
        (job.stdout().matches("first\r\n").count() == 2).then_some(())
    });
    type_in("\x03");
    until(&mut shell, "was killed by signal 2 (SIGINT)");
    type_in("echo sta''tus $?\nexit\n");
    until(&mut shell, "status 130");
    shell.wait(HANG);
}

#[test]
fn several_pes_at_a_terminal_print_lines_and_prompts_at_once() {
    let folder = folder();
    let file = folder.path().join("program.py");
    // Without -u and without flush: Python ends a line when it is printed only at a terminal.
    let text = "import os, sys, time\n\
                me = os.environ['NVSHMEMRS_PE']\n\
                print('PE', me, sys.stdout.isatty(), sys.stderr.isatty())\n\
                if me == '0':\n    print('Hello,', input('Name? '))\n\
                else:\n    while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n";
    fs::write(&file, text).expect("a file in a temporary folder");
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let go = folder.path().join("go");
    let line = format!(
        "env -u PYTHONUNBUFFERED '{}' -n 2 '{}' '{}' '{}'",
        bin("nvshmemrs-run").display(),
        Path::new(&python).display(),
        file.display(),
        go.display()
    );
    let (mut job, mut types) = at_terminal(&line);
    for text in ["PE 0 True True\r\n", "PE 1 True True\r\n", "Name? "] {
        until(&mut job, text);
    }
    types.write_all(b"Ada\n").expect("to type");
    until(&mut job, "Hello, Ada");
    touch(&go);
    drop(types);
    job.wait(HANG).assert_success();
}
