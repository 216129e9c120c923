//! Signals and descriptors of a PE's process: inherited from the launcher, used by the library, or left to the program.

use nvshmemrs_tests::{HANG, compile_c, job, launcher, left_out, program, run, spawn};
use rustix::process::Signal;
use std::process::Command;

/// `nvshmemrs-run` as a batch system starts it that has blocked and ignored signals.
fn started_with(words: &[&str], n_pes: u32) -> Command {
    let launcher = launcher(n_pes, &[]);
    let mut command = job::clean("env");
    command
        .args(words)
        .arg(launcher.get_program())
        .args(launcher.get_args());
    command
}

/// The set of signals in a line of /proc.
#[track_caller]
fn set(text: &str) -> u64 {
    u64::from_str_radix(text.trim(), 16).expect("a set of signals")
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

#[test]
fn blocked_and_ignored_signals_of_the_launcher_are_not_those_of_pes() {
    let words = [
        "--default-signal=INT",
        "--block-signal=CHLD,TERM,INT,USR1,ALRM",
        "--ignore-signal=ALRM,USR2,CHLD,WINCH,HUP",
    ];
    let mut command = started_with(&words, 2);
    command.args(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]);
    let output = run(&mut command, HANG).succeeded();
    // The machine that runs the tests may ignore others.
    let touched = [
        Signal::CHILD,
        Signal::TERM,
        Signal::INT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::WINCH,
        Signal::HUP,
    ]
    .map(bit)
    .into_iter()
    .fold(0, |all, bit| all | bit);
    let sets = |name: &str| -> Vec<u64> {
        let lines = output.stdout.lines();
        lines
            .filter_map(|line| line.strip_prefix(name))
            .map(|text| set(text) & touched)
            .collect()
    };
    assert_eq!(sets("SigBlk:"), [0, 0], "{}", output.describe());
    // A user who starts a job with nohup means the PEs, too.
    let hup = bit(Signal::HUP);
    assert_eq!(sets("SigIgn:"), [hup, hup], "{}", output.describe());
}

#[test]
fn a_launcher_that_was_started_with_blocked_signals_takes_them() {
    let mut command = started_with(&["--block-signal"], 2);
    let mut job = spawn(command.args(["sh", "-c", "echo ready; exec sleep 600"]));
    job.until("line of each PE", |job| {
        (job.stdout().matches("ready").count() == 2).then_some(())
    });
    job.signal(Signal::TERM);
    job.wait(HANG).assert_code(128 + Signal::TERM.as_raw());
}

#[test]
fn threads_of_the_library_block_all_signals_but_those_of_faults() {
    let mut command = launcher(2, &["--check"]);
    let output = run(command.arg(compile_c(&program("signals.c"))), HANG).succeeded();
    assert_eq!(output.stdout.matches("took 50 signals").count(), 2);
    let lines = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("thread "));
    let mut names = Vec::new();
    for line in lines {
        let (name, blocked) = line["thread ".len()..]
            .split_once(" blocks ")
            .expect("a set");
        names.push(name);
        let blocked = set(blocked);
        for signal in 1..=64 {
            // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS; the rest cannot be blocked.
            let taken = [4, 5, 7, 8, 11, 31].contains(&signal);
            let is_blocked = blocked & (1 << (signal - 1)) != 0;
            if ![9, 19, 32, 33].contains(&signal) {
                assert_eq!(is_blocked, !taken, "{signal} of {line}");
            }
        }
    }
    for name in ["nvshmemrs-watch", "nvshmemrs-check", "nvshmemrs-stream"] {
        // The kernel keeps 15 letters.
        let found = names.iter().filter(|seen| **seen == &name[..15]).count();
        assert_eq!(found, 2, "{name}\n{}", output.describe());
    }
}

#[test]
fn files_of_a_program_that_closes_all_descriptors_are_not_touched() {
    let program = compile_c(&program("descriptors.c"));
    for n_pes in [1, 2] {
        let folder = tempfile::TempDir::new().expect("a folder");
        let mut command = launcher(n_pes, &[]);
        command.arg(&program).arg("closes").arg(folder.path());
        let output = run(&mut command, HANG).succeeded();
        output.assert_times(n_pes as usize, "4 bytes, 20 open");
        output.assert_no_stdout("malloc: 0");
        output.assert_stdout("this program has closed descriptor");
        output.assert_stdout("the job's memory, and it leads to another file now");
    }
}

#[test]
fn a_pe_that_has_finalized_is_not_told_to_have_missed_it() {
    let program = compile_c(&program("descriptors.c"));
    for word in ["uses_up", "another_user", "another_root"] {
        if word != "uses_up" && !rustix::process::geteuid().is_root() {
            left_out("becoming another user and changing the root take root");
            break;
        }
        let output = run(launcher(2, &[]).arg(&program).arg(word), HANG).succeeded();
        assert_eq!(output.stderr, "", "{word}\n{}", output.describe());
    }
}
