//! The job's secret is in no command line and no message, and programs that a PE starts get none of the
//! library's descriptors.

use nvshmemrs_tests::held::{Held, children};
use nvshmemrs_tests::rendezvous::{connect, joiner, listening, pe_of, until};
use nvshmemrs_tests::{HANG, Output, bin, job, launcher, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const ID: &str = "NVSHMEMRS_UNIQUE_ID";

/// Whether a text has 16 digits in a row of the id's random part.
fn tells(text: &str, id: &str) -> bool {
    let random = &id[24..152];
    (0..random.len() - 16).any(|at| text.contains(&random[at..at + 16]))
}

#[track_caller]
fn assert_secret_kept(output: &Output, id: &str) {
    let both = format!("{}{}", output.stdout, output.stderr);
    assert!(!tells(&both, id), "the secret was printed\n{both}");
}

/// A variable in the environment of a process, which the kernel shows to its user only.
fn variable(pid: u32, name: &str) -> Option<String> {
    let text = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix('=')?.to_string());
    text.split('\0').find_map(value)
}

/// A job whose two PEs have started a program that goes on.
fn job_with_children(options: &[&str]) -> Held {
    let words = |command: &mut Command, file: &str| {
        let goes_on = "while test -e \"$0\"; do sleep 0.02; done";
        command
            .arg(joiner())
            .args(["exec", "sh", "-c", goes_on, file])
            .env("NVSHMEM_DEBUG", "TRACE");
    };
    Held::start(options, words, |pid| !children(pid).is_empty())
}

#[test]
fn the_secret_is_in_no_command_line_and_no_log() {
    let job = job_with_children(&[]);
    let id = job.pids.iter().find_map(|&pid| variable(pid, ID));
    let id = id.expect("a PE has the id in its environment");
    assert_eq!(id.len(), 256);
    assert!(tells(&id, &id) && !tells("", &id), "the check works");
    for pid in &job.pids {
        let words = fs::read(format!("/proc/{pid}/cmdline")).expect("a process that runs");
        assert!(!tells(&String::from_utf8_lossy(&words), &id), "{words:?}");
    }
    let output = job.let_go();
    assert!(output.stderr.contains("joined"), "TRACE says something");
    assert_secret_kept(&output, &id);
}

#[test]
fn the_secret_is_in_no_error_message_and_not_in_nvshmemrs_info() {
    let id = job::unique_id().to_hex();
    let damaged = [
        id.replace('a', "b"),
        format!("{id}0"),
        id[..255].to_string(),
    ];
    let place = [("NVSHMEMRS_PE", "0"), ("NVSHMEMRS_N_PES", "2")];
    for id in damaged.iter().chain([&id]) {
        let mut command = job::clean(joiner());
        command.arg("env").env(ID, id).envs(place);
        command.env("NVSHMEMRS_INIT_TIMEOUT", "0.2");
        let output = run(&mut command, HANG).failed();
        assert_secret_kept(&output, id);
        for words in [&["--json"][..], &[]] {
            let mut info = job::clean(bin("nvshmemrs-info"));
            let output = run(info.args(words).env(ID, id), HANG);
            output.assert_success().assert_stdout("not shown");
            assert_secret_kept(&output, id);
        }
    }
}

/// The descriptors of a process that it did not get from us and that a program which it starts would get.
fn leaking(pid: u32) -> Vec<String> {
    let own: BTreeSet<_> = links("/proc/self/fd")
        .into_iter()
        .map(|(_, to)| to)
        .collect();
    let closes = |fd: &str| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        // A descriptor that is closed by now does not leak.
        flags.is_none_or(|flags| flags & 0o2_000_000 != 0)
    };
    links(format!("/proc/{pid}/fd"))
        .into_iter()
        .filter(|(fd, to)| !["0", "1", "2"].contains(&fd.as_str()) && !own.contains(to))
        .filter(|(fd, _)| !closes(fd))
        .map(|(fd, to)| format!("{fd} of pid {pid} -> {to}"))
        .collect()
}

fn links(folder: impl AsRef<Path>) -> Vec<(String, String)> {
    let list = fs::read_dir(folder).expect("a process that runs");
    list.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, fs::read_link(&path).ok()?.display().to_string()))
    })
    .collect()
}

#[test]
fn every_descriptor_closes_on_exec() {
    for options in [&[][..], &["--tag"]] {
        let job = job_with_children(options);
        let memory = |pid: &u32| {
            let links = links(format!("/proc/{pid}/fd"));
            links.iter().any(|(_, to)| to.contains("nvshmemrs-job"))
        };
        // The launcher has it as well while it looks at the board.
        let members = job.pids[1..].iter().filter(|pid| memory(pid));
        assert_eq!(members.count(), 2);
        let leaks: Vec<String> = job.pids.iter().flat_map(|&pid| leaking(pid)).collect();
        assert_eq!(leaks, [""; 0], "{options:?}");
        job.let_go();
    }
}

#[test]
fn every_descriptor_closes_on_exec_while_the_job_comes_together() {
    let id = job::unique_id();
    let leader = pe_of(&id, 0, 3, &[]);
    let name = listening(&leader);
    let follower = pe_of(&id, 1, 3, &[]);
    // PE 0 listens, and has connections from a member and from a stranger that sends nothing.
    let _stranger = connect(&name);
    let sockets = |pid: u32| {
        let links = links(format!("/proc/{pid}/fd"));
        links
            .iter()
            .filter(|(_, to)| to.starts_with("socket:"))
            .count()
    };
    until("connections to PE 0", || {
        (sockets(leader.pid()) == 3).then_some(())
    });
    let leaks = [leader.pid(), follower.pid()].map(leaking).concat();
    assert_eq!(leaks, [""; 0]);
    let pes = vec![leader, follower, pe_of(&id, 2, 3, &[])];
    for output in job::finish(pes) {
        output.assert_success();
    }
}

#[test]
fn a_program_that_a_pe_starts_sees_nothing_of_ours() {
    // Descriptors that the starter of the tests has left open are inherited by all processes; they are not the library's.
    let own: BTreeSet<_> = links("/proc/self/fd")
        .into_iter()
        .map(|(_, to)| to)
        .collect();
    for options in [&[][..], &["--tag"]] {
        let mut command = launcher(2, options);
        command
            .arg(joiner())
            .args(["exec", "ls", "-l", "/proc/self/fd"])
            .stdin(Stdio::null());
        let output = run(&mut command, HANG).succeeded();
        let ours = [
            "nvshmemrs",
            "memfd",
            "socket:",
            "eventfd",
            "eventpoll",
            "timerfd",
        ];
        let shown = output.stdout.lines().filter(|line| line.contains(" -> "));
        // Its three streams, and the folder that it lists; streams are pipes under --tag.
        assert!(shown.clone().count() >= 2 * 4, "{}", output.describe());
        for line in shown {
            if own.contains(line.split(" -> ").nth(1).unwrap_or_default()) {
                continue;
            }
            assert!(!ours.iter().any(|word| line.contains(word)), "{line}");
            let fd = line
                .split(" -> ")
                .next()
                .and_then(|head| head.split(' ').next_back());
            let stream = matches!(fd, Some("0" | "1" | "2"));
            assert!(stream || !line.contains("pipe:"), "{line}");
        }
    }
}
