//! Jobs that do not come together: tools show at any moment which PEs wait for which, a PE that ends before it has joined ends init for
//! all, and an early message names the obstacle that keeps a PE from joining.

use nvshmemrs_tests::held::children;
use nvshmemrs_tests::nobody::{Nobody, UID};
use nvshmemrs_tests::rendezvous::{BOOTSTRAP, assert_refused, joiner, name_of, pe_of};
use nvshmemrs_tests::{HANG, Leftovers, Running, info, job, launcher, promise, run, spawn};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen};
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempPath};

/// The promised time from the end of a PE to the errors of the PEs that wait for it.
const NOTICED: Duration = Duration::from_secs(2);

/// A job of `n_pes` shells; `$0` is the program that joins, `$1` is `word`.
fn shells(n_pes: u32, options: &[&str], script: &str, word: &str) -> Command {
    let mut command = launcher(n_pes, options);
    command.args(["sh", "-c", script]).arg(joiner()).arg(word);
    command.stdin(Stdio::null());
    command
}

/// Waits until `nvshmemrs-info --job` shows all the words; returns its output.
#[track_caller]
fn shown(job: &mut Running, pid: u32, words: &[&str]) -> String {
    let pid = pid.to_string();
    job.until("report of nvshmemrs-info", |_| {
        let text = info(&["--job", &pid]).stdout;
        words.iter().all(|word| text.contains(word)).then_some(text)
    })
}

/// A job in which PE `late` does not come to init until the file is gone, and then ends.
fn one_is_late(late: u32, options: &[&str]) -> (Running, TempPath) {
    let file = NamedTempFile::new().expect("a temporary file");
    let script = format!(
        "if test $NVSHMEMRS_PE = {late}; then while test -e \"$1\"; do sleep 0.02; done; exit 0; fi; exec \"$0\" env"
    );
    let file = file.into_temp_path();
    let job = spawn(&mut shells(4, options, &script, &file.to_string_lossy()));
    (job, file)
}

#[test]
fn who_waits_in_init_for_whom_is_seen_from_outside() {
    let (mut job, file) = one_is_late(2, &["--stall-after", "0.3"]);
    let pid = job.pid();
    let told = [
        "the job of 4 PEs comes together: PEs 0, 1 and 3 wait in init for PE 2",
        "PEs 1 and 3 have come to PE 0",
        "waits for PE 2 to come; gives up in ",
    ];
    let text = shown(&mut job, pid, &told);
    assert!(text.contains("NVSHMEMRS_INIT_TIMEOUT"), "{text}");
    assert!(!text.contains(&joiner().display().to_string()));
    // The same by the number of a PE, which knows PE 0.
    let pes = children(pid);
    let in_init = |pid: &&u32| {
        info(&["--job", &pid.to_string()])
            .stdout
            .contains("PE 3 (pid ")
    };
    let three = *pes.iter().find(in_init).expect("PE 3 is in init");
    shown(&mut job, three, &["wait in init for PE 2", "  PE 3 (pid "]);
    // As numbers.
    let json = info(&["--json", "--job", &pid.to_string()]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["n_pes"], 4);
    let wait = &json["waits"][0];
    assert_eq!(
        (&wait["operation"], &wait["pe"]),
        (&"init".into(), &0.into())
    );
    assert_eq!(wait["waits_for"], serde_json::json!([2]));
    assert!(wait["gives_up_in"].as_f64() < Some(60.0), "{wait}");
    // The launcher, asked and by itself, also knows the PE that is somewhere else.
    job.signal(Signal::USR1);
    job.until_stderr(&[told[0], "): not in init (", "nothing has moved for 0.3 s"]);
    // The message is not repeated; there may be an earlier message where a PE was late to init.
    assert!(job.stderr().matches("nothing has moved").count() <= 2);
    file.close().expect("nobody else takes the file away");
    job.wait(HANG).assert_code(BOOTSTRAP);
}

#[test]
fn who_waits_for_pe_0_is_seen_from_outside() {
    let (mut job, file) = one_is_late(0, &[]);
    let pid = job.pid();
    let told = [
        "PEs 1 to 3 wait in init for PE 0",
        "waits for PE 0 to listen (nobody listens at @nvshmemrs-",
    ];
    shown(&mut job, pid, &told);
    job.signal(Signal::USR1);
    job.until_stderr(&[told[0], "PE 0 (pid ", "): not in init ("]);
    file.close().expect("nobody else takes the file away");
    job.wait(HANG).assert_code(BOOTSTRAP);
}

/// PE `victim` ends in this way after the others have called init: returns the time until they report it.
fn ends_early(victim: u32, how: &str, end: &str, status: i32) -> Duration {
    let script =
        format!("test $NVSHMEMRS_PE = {victim} && {{ sleep 0.3; {how}; }}; exec \"$0\" env");
    let mut command = shells(4, &["--tag", "--grace", "30"], &script, "");
    let start = Instant::now();
    let output = run(&mut command, Duration::from_secs(100));
    let took = start.elapsed().saturating_sub(Duration::from_millis(300));
    output.assert_code(status);
    for pe in (0..4).filter(|&pe| pe != victim) {
        let mut lines = output.stdout.lines();
        let tag = format!("[{pe}] ");
        let said = lines.find_map(|line| line.strip_prefix(&tag)).unwrap_or("");
        let named = said.contains(&format!("PE {victim} (pid ")) && said.contains(end);
        assert!(named, "PE {pe}: {said:?}\n{}", output.describe());
    }
    let line = match status {
        BOOTSTRAP => {
            format!("before that, PE {victim} exited with status 0 and had not joined the job")
        }
        _ => format!("nvshmemrs-run: PE {victim} (pid "),
    };
    output.assert_stderr(&line);
    took
}

#[test]
fn a_pe_that_ends_before_init_ends_it_for_the_others() {
    let before = Leftovers::now();
    for (victim, how, end, status) in [
        (2, "exit 0", "exited with status 0", BOOTSTRAP),
        (0, "exit 0", "exited with status 0", BOOTSTRAP),
        (3, "exit 7", "exited with status 7", 7),
        (0, "kill -9 $$", "was killed by signal 9", 128 + 9),
    ] {
        promise::kept(NOTICED, || ends_early(victim, how, end, status));
    }
    before.assert_none_new();
}

/// Also where no launcher reports the death, and PE 0 waits for another PE.
#[test]
fn a_pe_that_dies_while_another_one_maps_the_memory_is_named() {
    let id = job::unique_id();
    let leader = pe_of(&id, 0, 3, &[]);
    let mut one = pe_of(&id, 1, 3, &[]);
    let pid = one.pid();
    shown(&mut one, pid, &["to which it has come"]);
    one.signal(Signal::STOP);
    let mut two = pe_of(&id, 2, 3, &[]);
    let pid = two.pid();
    let words = [
        "PEs 0 and 2 wait in init for PE 1",
        "waits for PE 1 to map the job's memory",
        "waits for the other PEs to map the job's memory",
    ];
    shown(&mut two, pid, &words);
    two.signal(Signal::KILL);
    let start = Instant::now();
    let leader = leader.wait(HANG);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{}",
        leader.describe()
    );
    one.signal(Signal::CONT);
    for output in [leader, one.wait(HANG)] {
        let words = ["PE 2 ended while the job came together"];
        assert_refused(&output, BOOTSTRAP, &words);
    }
    two.wait(HANG).assert_code(128 + 9);
}

#[test]
fn a_program_in_the_background_may_join_after_its_shell() {
    // In the shell's group, and in one of its own.
    for start in [
        "(sleep 0.5; \"$0\" env; rm \"$1\") &",
        "setsid sh -c 'sleep 0.5; \"$0\" env; rm \"$1\"' \"$0\" \"$1\" &",
    ] {
        let file = NamedTempFile::new()
            .expect("a temporary file")
            .into_temp_path();
        let script =
            format!("test $NVSHMEMRS_PE = 1 && {{ {start} sleep 0.2; exit 0; }}; exec \"$0\" env");
        let output = run(&mut shells(3, &[], &script, &file.to_string_lossy()), HANG).succeeded();
        output.assert_each([0, 2], |pe| format!("worked PE {pe} of 3\n"));
        nvshmemrs_tests::rendezvous::until("end of PE 1", || (!file.exists()).then_some(()));
        // PE 1 has removed the file, so there is nothing to delete.
        let _ = file.keep();
    }
}

#[test]
fn pes_that_never_call_init_may_end_when_they_like() {
    let script = "test $NVSHMEMRS_PE = 1 || sleep 0.3; echo over";
    let output = run(&mut shells(3, &[], script, ""), HANG).succeeded();
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("over\nover\nover\n", "")
    );
}

#[test]
fn a_limit_on_open_files_is_named_at_once() {
    let start = Instant::now();
    let script = "ulimit -n 16; exec \"$0\" env";
    let output = run(&mut shells(32, &[], script, ""), HANG);
    output.assert_code(BOOTSTRAP);
    let words = [
        "31 of them for connections to other PEs; its limit of 16 open files (`ulimit -n`) has room for ",
        ": raise it to 4",
    ];
    words.iter().for_each(|word| {
        output.assert_stdout(word);
    });
    output.assert_stderr("nvshmemrs-run: PE 0 (pid ");
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{}",
        output.describe()
    );
    // A joiner needs less, but not nothing.
    let id = job::unique_id();
    let mut joiner = job::member("sh", &id, 1, 2);
    joiner
        .args(["-c", "ulimit -n 7; exec \"$0\" env"])
        .arg(self::joiner());
    let words = ["PE 1 needs ", "its limit of 7 open files"];
    assert_refused(&run(&mut joiner, HANG), BOOTSTRAP, &words);
}

#[test]
fn a_soft_limit_on_open_files_is_raised_while_it_is_needed() {
    let script = "ulimit -S -n 16; exec \"$0\" exec sh -c 'ulimit -S -n'";
    let output = run(&mut shells(32, &[], script, ""), HANG).succeeded();
    // The limit is unchanged, also for the processes that the PEs start.
    assert_eq!(output.stdout, "16\n".repeat(32), "{}", output.describe());
}

/// A socket with the first name of a job, which takes no connections; and the job's id.
fn squatted(listens: bool, crowded: bool) -> (nvshmemrs::UniqueId, String, Vec<OwnedFd>) {
    let id = job::unique_id();
    let name = format!("{}-0", name_of(&id));
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || {
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .expect("a socket")
    };
    let first = new();
    bind(&first, &address).expect("a free name");
    let mut held = vec![first];
    if listens {
        listen(&held[0], 4).expect("a queue");
    }
    if crowded {
        held.extend(std::iter::from_fn(|| {
            let one = new();
            rustix::net::connect(&one, &address).ok().map(|()| one)
        }));
    }
    (id, name, held)
}

#[test]
fn a_process_that_has_pe_0s_name_is_named_early_and_late() {
    let pid = std::process::id();
    for (listens, crowded, told) in [
        (
            true,
            false,
            format!("pid {pid} of this user, which has @NAME, does not answer"),
        ),
        (
            false,
            false,
            format!("@NAME: pid {pid} of this user has it, and does not listen there"),
        ),
        (
            true,
            true,
            format!("@NAME: pid {pid} of this user has it, where too many connections wait"),
        ),
    ] {
        let (id, name, held) = squatted(listens, crowded);
        let told = told.replace("NAME", &name);
        let variables = [("NVSHMEM_DEBUG", "WARN"), ("NVSHMEMRS_INIT_TIMEOUT", "4")];
        let mut pe = pe_of(&id, 1, 2, &variables);
        pe.until_stderr(&[&told]);
        let number = pe.pid();
        shown(&mut pe, number, &["PE 1 waits in init for PE 0", &told]);
        let output = pe.wait(HANG);
        let words = ["NVSHMEMRS_INIT_TIMEOUT", &told];
        assert_refused(&output, BOOTSTRAP, &words);
        // Once is enough, beside the line for the call that fails.
        let lines = output.stderr.lines().filter(|line| line.contains(&told));
        let warnings = lines.filter(|line| !line.contains("(reported once)"));
        assert_eq!(warnings.count(), 1, "{}", output.describe());
        drop(held);
    }
}

#[test]
fn another_user_who_has_pe_0s_names_is_named_early() {
    let Some(nobody) = Nobody::new() else { return };
    for (way, line) in [("squat", "squatting"), ("crowd", "crowded")] {
        let id = job::unique_id();
        let name = name_of(&id);
        let mut squat = job::clean(env!("CARGO_BIN_EXE_stranger"));
        squat.args([way, &format!("{name}-0")]);
        let mut squatter = spawn(&mut nobody.runs(&squat));
        squatter.until_stdout(&[line]);
        let told = format!(
            "pid {} of user {UID}, where user 0 runs the job, listens there",
            squatter.pid()
        );
        let variables = [("NVSHMEM_DEBUG", "WARN"), ("NVSHMEMRS_INIT_TIMEOUT", "4")];
        let mut pe = pe_of(&id, 1, 2, &variables);
        pe.until_stderr(&[&told]);
        let number = pe.pid();
        shown(&mut pe, number, &["waits in init for PE 0", &told]);
        assert_refused(&pe.wait(HANG), BOOTSTRAP, &[&told]);
    }
}
