//! Strangers to a job cannot join, read, stop or hold it up: other users of the machine, and processes of the same user without the
//! job's secret. `SECURITY.md` states the guarantees.

use nvshmemrs::UniqueId;
use nvshmemrs_tests::nobody::{Nobody, UID};
use nvshmemrs_tests::rendezvous::{
    BOOTSTRAP, REFUSAL, all_refused, assert_refused, assert_worked, connect, connected,
    false_hello, joiner, listening, name_of, pe_of, receive, two_of_three,
};
use nvshmemrs_tests::{HANG, Held, Running, alive, bin, compile_c, job, program, run, spawn};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a job may take to come together while it is disturbed. Each stranger alone may take 5 s to introduce itself.
const BOUND: Duration = Duration::from_secs(20);

/// `strangers/main.rs` with these words.
fn stranger(words: &[&str]) -> Command {
    let mut command = job::clean(env!("CARGO_BIN_EXE_stranger"));
    command.args(words);
    command
}

/// Starts a stranger that stays, and waits until it has begun.
fn start(command: &mut Command, line: &str) -> Running {
    let mut running = spawn(command);
    running.until_stdout(&[line]);
    running
}

/// Another user with the id tries for a second to be PE 2 of 3.
fn nobody_tries(nobody: &Nobody, id: &UniqueId) {
    let mut command = job::member(joiner(), id, 2, 3);
    command.arg("env").env("NVSHMEMRS_INIT_TIMEOUT", "1");
    let output = run(&mut nobody.runs(&command), HANG);
    let words = ["of user 0, where user 65534 runs the job"];
    assert_refused(&output, BOOTSTRAP, &words);
}

#[test]
fn another_user_is_refused_and_logged_and_the_job_goes_on() {
    let Some(nobody) = Nobody::new() else { return };
    let (id, name, mut pes) = two_of_three(&[("NVSHMEM_DEBUG", "WARN")]);
    nobody_tries(&nobody, &id);
    // Not one byte is given to it, and none is taken: nobody asks it for the secret.
    let hears = run(&mut nobody.runs(&stranger(&["hear", &name])), HANG);
    hears.assert_success().assert_stdout("heard 0 bytes");
    pes.push(pe_of(&id, 2, 3, &[]));
    let outputs = job::finish(pes);
    for output in &outputs {
        output.assert_success();
    }
    let told = format!("of user {UID}, where user 0 runs the job");
    outputs[0].assert_stderr("refused a connection: pid ");
    outputs[0].assert_stderr(&told);
    outputs[0].assert_stderr("connections while the job came together");
}

#[test]
fn another_user_is_named_when_somebody_is_missing() {
    let Some(nobody) = Nobody::new() else { return };
    let (id, _, pes) = two_of_three(&[("NVSHMEMRS_INIT_TIMEOUT", "4")]);
    nobody_tries(&nobody, &id);
    let outputs = job::finish(pes);
    let words = [
        "PE 2 of 3 had not joined",
        "of user 65534, where user 0 runs the job",
    ];
    assert_refused(&outputs[0], BOOTSTRAP, &words);
    // The stranger tried many times, but the log names it only once.
    outputs[0].assert_times(1, "of user 65534");
}

/// A job whose two PEs have come together.
fn waiting_job() -> Held {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compile_c(&program("waits.c")));
    let words = |command: &mut Command, file: &str| {
        command.arg(program).args(["steady", file]);
    };
    Held::start(&[], words, |pid| memory_of(pid).is_some())
}

/// The job's memory as a process has it open.
fn memory_of(pid: u32) -> Option<PathBuf> {
    let of_job = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|target| target.to_string_lossy().contains("nvshmemrs-job"))
    };
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    fds.filter_map(|fd| Some(fd.ok()?.path())).find(of_job)
}

#[test]
fn another_user_cannot_read_or_write_anything_of_a_job() {
    let Some(nobody) = Nobody::new() else { return };
    let job = waiting_job();
    let mut paths = Vec::new();
    for pid in &job.pids {
        for file in ["environ", "mem", "maps"] {
            paths.push(format!("/proc/{pid}/{file}"));
        }
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).expect("root may look");
        paths.extend(fds.filter_map(|fd| Some(fd.ok()?.path().display().to_string())));
    }
    assert!(paths.len() > 20, "{paths:?}");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let open = stranger(&[&["open"][..], &paths].concat());
    let tried = run(&mut nobody.runs(&open), HANG).succeeded();
    assert_eq!(tried.stdout.lines().count(), 2 * paths.len());
    for line in tried.stdout.lines() {
        assert!(line.ends_with("Err(PermissionDenied)"), "{line}");
    }
    // Whereas the job's own user can: that is how nvshmemrs-info works.
    let memory = memory_of(job.pids[job.pids.len() - 1]).expect("a PE has the job's memory");
    let open = run(
        &mut stranger(&["open", &memory.display().to_string()]),
        HANG,
    );
    open.assert_stdout("Ok(())");
    job.let_go();
}

#[test]
fn another_users_nvshmemrs_info_says_why_it_shows_nothing() {
    let Some(nobody) = Nobody::new() else { return };
    let job = waiting_job();
    for pid in &job.pids {
        let mut info = job::clean(bin("nvshmemrs-info"));
        info.args(["--job", &pid.to_string()]);
        let output = run(&mut nobody.runs(&info), HANG).failed();
        output.assert_stderr("belongs to another user");
    }
    job.let_go();
}

#[test]
fn another_user_cannot_stop_a_job() {
    let Some(nobody) = Nobody::new() else { return };
    let job = waiting_job();
    let words: Vec<String> = job.pids.iter().map(u32::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let signal = stranger(&[&["signal"][..], &words].concat());
    let tried = run(&mut nobody.runs(&signal), HANG).succeeded();
    assert_eq!(tried.stdout.lines().count(), 2 * job.pids.len());
    for line in tried.stdout.lines() {
        assert!(line.contains("Err(Os { code: 1"), "{line}");
    }
    assert!(job.pids.iter().all(|&pid| alive(pid)));
    // The socket that a job on host memory comes together at is gone. Two others take no connections: that of a PE, by which its children
    // learn that it has joined, and that of the launcher, if this job is the one whose PEs are bound to cores.
    for pid in &job.pids {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).expect("root may look");
        let links = fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        let sockets: Vec<String> = links
            .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.to_string()))
            .collect();
        let unix = fs::read_to_string("/proc/net/unix").expect("the list of unix sockets");
        let listens = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let own = |inode: &str| sockets.iter().any(|one| one.trim_end_matches(']') == inode);
            let takes_none = |name: &&str| {
                ["-pe", "nvshmemrs-run-binding-"]
                    .iter()
                    .any(|part| name.contains(part))
            };
            let name = words.get(7);
            words.get(5) == Some(&"01")
                && words.get(6).is_some_and(|inode| own(inode))
                && !name.is_some_and(takes_none)
        };
        assert_eq!(unix.lines().find(listens), None, "pid {pid} still listens");
    }
    job.let_go();
}

/// PE 2 joins a job of three that strangers disturb; returns PE 0's log.
fn joins_in_time(id: &UniqueId, mut pes: Vec<Running>) -> String {
    let started = Instant::now();
    pes.push(pe_of(id, 2, 3, &[]));
    let outputs = job::finish(pes);
    for (pe, output) in outputs.iter().enumerate() {
        output.assert_success();
        output.assert_stdout(&format!("worked PE {pe} of 3\n"));
    }
    let took = started.elapsed();
    assert!(took < BOUND, "the job took {took:.1?} to come together");
    println!("PE 2 was in and the job over after {took:.2?}");
    outputs[0].stderr.clone()
}

#[test]
fn connections_that_say_nothing_or_little_delay_nobody() {
    let (id, name, pes) = two_of_three(&[("NVSHMEM_DEBUG", "WARN")]);
    let kinds = ["nothing", "half", "drip", "garbage"];
    let strangers = kinds.map(|kind| {
        start(
            stranger(&["connect", &name, "100", kind]).stdin(Stdio::null()),
            "connected",
        )
    });
    let log = joins_in_time(&id, pes);
    assert!(log.contains("holds too many connections"), "{log}");
    assert!(log.contains("of an unknown kind"), "{log}");
    drop(strangers);
}

/// A process of this user, and one of the other's if there is one, connect and hang up all the time; gives PE 0's log.
fn flooded(nobody: Option<&Nobody>) -> String {
    let (id, name, pes) = two_of_three(&[("NVSHMEM_DEBUG", "WARN")]);
    let flood = stranger(&["flood", &name]);
    let mut floods = vec![start(&mut stranger(&["flood", &name]), "flooding")];
    floods.extend(nobody.map(|nobody| start(&mut nobody.runs(&flood), "flooding")));
    let log = joins_in_time(&id, pes);
    assert!(
        log.contains("hung up before it had introduced itself"),
        "{log}"
    );
    // The log is bounded.
    assert!(log.lines().count() < 20, "{log}");
    drop(floods);
    log
}

#[test]
fn floods_of_connections_delay_nobody() {
    flooded(None);
}

#[test]
fn another_users_floods_delay_nobody() {
    let Some(nobody) = Nobody::new() else { return };
    let log = flooded(Some(&nobody));
    assert!(log.contains(&format!("of user {UID}")), "{log}");
}

#[test]
fn strangers_do_not_use_up_what_pe_0_may_open() {
    let id = job::unique_id();
    let mut leader = job::member("sh", &id, 0, 3);
    leader
        .args(["-c", "ulimit -n 40; exec \"$0\" env"])
        .arg(joiner())
        .env("NVSHMEM_DEBUG", "WARN");
    let leader = spawn(&mut leader);
    let name = listening(&leader);
    let follower = pe_of(&id, 1, 3, &[]);
    connected(&name, 1);
    let stranger = start(
        &mut stranger(&["connect", &name, "200", "nothing"]),
        "connected",
    );
    let log = joins_in_time(&id, vec![leader, follower]);
    assert!(log.contains("holds too many connections"), "{log}");
    drop(stranger);
}

#[test]
fn a_joiner_without_the_secret_is_refused_and_logged() {
    let (id, name, pes) = two_of_three(&[("NVSHMEM_DEBUG", "WARN")]);
    let mut stranger = connect(&name);
    receive(&mut stranger);
    stranger.write_all(&false_hello()).expect("PE 0 listens");
    let (kind, text) = receive(&mut stranger);
    let text = String::from_utf8_lossy(&text);
    assert_eq!(kind, REFUSAL, "{text}");
    assert!(text.contains("does not know the job's secret"), "{text}");
    let log = joins_in_time(&id, pes);
    let pid = std::process::id();
    let line =
        format!("refused a connection: pid {pid} of this user does not know the job's secret");
    assert!(log.contains(&line), "{log}");
}

#[test]
fn another_user_who_was_first_at_the_name_is_passed_over() {
    passed_over("squat", "squatting");
}

/// The kernel tells a client which user listens, but only after a connection, which is impossible here.
#[test]
fn another_user_who_lets_nobody_connect_is_passed_over() {
    passed_over("crowd", "crowded");
}

/// Another user has the first two names of a job, which it takes in this way.
#[track_caller]
fn passed_over(way: &str, line: &str) {
    let Some(nobody) = Nobody::new() else { return };
    let id = job::unique_id();
    let name = name_of(&id);
    let squat = stranger(&[way, &format!("{name}-0"), &format!("{name}-1")]);
    let squatter = start(&mut nobody.runs(&squat), line);
    let warn = [("NVSHMEM_DEBUG", "WARN")];
    let pes = (0..3).map(|pe| pe_of(&id, pe, 3, &warn[usize::from(pe > 0)..]));
    let outputs = job::finish(pes.collect());
    for output in &outputs {
        output.assert_success();
    }
    outputs[0].assert_stderr(&format!("listens at @{name}-2, because of"));
    outputs[0].assert_stderr(&format!(
        "pid {} of user {UID}, where user 0 runs the job, listens there",
        squatter.pid()
    ));
    drop(squatter);
}

#[test]
fn another_user_who_has_all_the_names_is_named_with_what_to_do() {
    named_with_what_to_do("squat", "squatting");
    named_with_what_to_do("crowd", "crowded");
}

#[track_caller]
fn named_with_what_to_do(way: &str, line: &str) {
    let Some(nobody) = Nobody::new() else { return };
    let id = job::unique_id();
    let name = name_of(&id);
    let names = [0, 1, 2, 3].map(|candidate| format!("{name}-{candidate}"));
    let mut squat = stranger(&[way]);
    squat.args(&names);
    let squatter = start(&mut nobody.runs(&squat), line);
    let short = [("NVSHMEMRS_INIT_TIMEOUT", "1")];
    let pes = (0..2).map(|pe| pe_of(&id, pe, 2, &short));
    let who = format!("of user {UID}, where user 0 runs the job, listens there");
    let mut words = vec![
        who.as_str(),
        "nvshmemrs-run",
        "another user's process has taken",
    ];
    words.extend(names.iter().map(String::as_str));
    all_refused(pes.collect(), &words);
    // Nothing has joined it, and it has learnt nothing.
    assert_worked(&[run(job::clean(joiner()).arg("env"), HANG)]);
    drop(squatter);
}
