//! How PEs find each other, and their errors when they cannot: without a launcher, under the launchers of others, with
//! wrong numbers, wrong secrets and wrong users. `bootstrap_settings.rs` has settings that make no sense.

use nvshmemrs_tests::rendezvous::{
    BOOTSTRAP, CHALLENGE, HELLO, REFUSAL, WELCOME, all_refused, assert_refused, assert_worked,
    connect, connected, false_hello, joiner, listening, message, name_of, pe_of, receive,
    two_of_three, until,
};
use nvshmemrs_tests::{
    HANG, Leftovers, Output, Running, compile_c, info, job, launcher, left_out, program, run, spawn,
};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, bind, listen, sendmsg, socket_with,
};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::fs;
use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

const NOT_SUPPORTED: i32 = 3;

#[test]
fn a_unique_id_through_a_file() {
    let before = Leftovers::now();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("id");
    let pes = (0..3).rev().map(|pe: u32| {
        let mut command = job::clean(joiner());
        command.arg("uid").arg(&file).args([&pe.to_string(), "3"]);
        spawn(&mut command)
    });
    let mut outputs = job::finish(pes.collect());
    outputs.reverse();
    assert_worked(&outputs);
    before.assert_none_new();
}

#[test]
fn a_unique_id_through_a_pipe() {
    let id = job::unique_id();
    let pes = (0..3).map(|pe: u32| {
        let (input, mut output) = std::io::pipe().expect("a pipe");
        output.write_all(id.as_bytes()).expect("a pipe takes an id");
        let mut command = job::clean(joiner());
        command.args(["stdin", &pe.to_string(), "3"]).stdin(input);
        spawn(&mut command)
    });
    assert_worked(&job::finish(pes.collect()));
}

#[test]
fn a_unique_id_through_the_environment() {
    let pes = job::start(joiner(), 3, |_, command| {
        command.arg("env");
    });
    assert_worked(&job::finish(pes));
}

#[test]
fn without_a_launcher_a_program_is_the_only_pe() {
    assert_worked(&[run(job::clean(joiner()).arg("env"), HANG)]);
}

#[test]
fn jobs_one_after_the_other_with_other_heaps() {
    let alone = run(job::clean(joiner()).args(["rounds", "8"]), HANG).succeeded();
    assert_eq!(alone.stdout, "worked PE 0 of 1\n".repeat(8));

    let pes = job::start(joiner(), 3, |_, command| {
        command.args(["rounds", "8"]);
    });
    for (pe, output) in job::finish(pes).iter().enumerate() {
        output.assert_success();
        assert_eq!(output.stdout, format!("worked PE {pe} of 3\n").repeat(8));
    }
}

/// Starts PEs with variables as a launcher sets them: `variables` gives those of a PE.
fn by_hand(n_pes: u32, variables: impl Fn(u32) -> Vec<(&'static str, String)>) -> Vec<Running> {
    (0..n_pes)
        .map(|pe| spawn(job::clean(joiner()).arg("env").envs(variables(pe))))
        .collect()
}

/// A number that no other run of this test has.
fn own(number: u32) -> String {
    format!("{}{number}", std::process::id())
}

fn torchrun(pe: u32, n_pes: u32, port: &str) -> Vec<(&'static str, String)> {
    vec![
        ("RANK", pe.to_string()),
        ("WORLD_SIZE", n_pes.to_string()),
        ("LOCAL_RANK", pe.to_string()),
        ("LOCAL_WORLD_SIZE", n_pes.to_string()),
        ("MASTER_ADDR", "127.0.0.1".into()),
        ("MASTER_PORT", port.into()),
        ("TORCHELASTIC_RUN_ID", "none".into()),
        ("TORCHELASTIC_RESTART_COUNT", "0".into()),
    ]
}

#[test]
fn variables_of_torchrun() {
    assert_worked(&job::finish(by_hand(3, |pe| torchrun(pe, 3, &own(1)))));
}

#[test]
fn variables_of_open_mpi() {
    assert_worked(&job::finish(by_hand(3, |pe| {
        vec![
            ("OMPI_COMM_WORLD_RANK", pe.to_string()),
            ("OMPI_COMM_WORLD_SIZE", "3".into()),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "3".into()),
            ("PMIX_NAMESPACE", own(2)),
        ]
    })));
}

#[test]
fn variables_of_slurm() {
    assert_worked(&job::finish(by_hand(3, |pe| {
        vec![
            ("SLURM_PROCID", pe.to_string()),
            ("SLURM_STEP_NUM_TASKS", "3".into()),
            ("SLURM_STEP_NUM_NODES", "1".into()),
            ("SLURM_JOB_ID", own(3)),
            ("SLURM_STEP_ID", "0".into()),
        ]
    })));
}

#[test]
fn variables_of_pmi() {
    assert_worked(&job::finish(by_hand(3, |pe| {
        vec![
            ("PMI_RANK", pe.to_string()),
            ("PMI_SIZE", "3".into()),
            ("MPI_LOCALNRANKS", "3".into()),
        ]
    })));
}

#[test]
fn a_real_mpirun() {
    let found = Command::new("mpirun").arg("--version").output();
    assert!(
        found.is_ok(),
        "the program `mpirun` is missing: `cargo xtask test` sets it up"
    );
    let mut command = job::clean("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3"]);
    command.arg(joiner()).arg("env");
    let output = run(&mut command, HANG).succeeded();
    output.assert_each(0..3, |pe| format!("worked PE {pe} of 3\n"));
}

#[test]
fn jobs_of_one_user_do_not_mix() {
    // Two of ours and two of torchrun's, all at once; each knows its own number, and adds it up.
    let ours = |token: &str| {
        let mut command = launcher(2, &[]);
        command.arg(joiner()).arg("env").env("TOKEN", token);
        spawn(command.stdin(Stdio::null()))
    };
    let theirs = |token: u32| {
        by_hand(2, |pe| {
            let mut variables = torchrun(pe, 2, &own(token));
            variables.push(("TOKEN", token.to_string()));
            variables
        })
    };
    let (one, two, three, four) = (ours("11"), ours("22"), theirs(33), theirs(44));
    for job in [one, two] {
        job.wait(HANG)
            .succeeded()
            .assert_stdout("worked PE 0 of 2\n")
            .assert_stdout("worked PE 1 of 2\n");
    }
    assert_worked(&job::finish(three));
    assert_worked(&job::finish(four));
}

#[test]
fn two_processes_with_one_number() {
    let (id, _, mut pes) = two_of_three(&[]);
    pes.push(pe_of(&id, 1, 3, &[]));
    all_refused(pes, &["two processes join as PE 1"]);
}

#[test]
fn different_numbers_of_pes() {
    let (id, _, mut pes) = two_of_three(&[]);
    pes.push(pe_of(&id, 2, 4, &[]));
    all_refused(pes, &["PE 2 has n_pes 4, PE 0 has 3"]);
}

#[test]
fn different_heaps() {
    let (id, _, mut pes) = two_of_three(&[("NVSHMEM_SYMMETRIC_SIZE", "32m")]);
    pes.push(pe_of(&id, 2, 3, &[("NVSHMEM_SYMMETRIC_SIZE", "64m")]));
    all_refused(
        pes,
        &[
            "PE 2",
            "68157440",
            "PE 0",
            "34603008",
            "NVSHMEM_SYMMETRIC_SIZE",
        ],
    );
}

#[test]
fn one_pe_gives_up_while_the_job_comes_together() {
    let id = job::unique_id();
    let leader = pe_of(&id, 0, 3, &[]);
    let name = listening(&leader);
    let hasty = pe_of(&id, 1, 3, &[("NVSHMEMRS_INIT_TIMEOUT", "0.5")]);
    connected(&name, 1);
    let outputs = job::finish(vec![leader, hasty]);
    assert_refused(
        &outputs[0],
        BOOTSTRAP,
        &["PE 1 ended while the job came together"],
    );
    assert_refused(
        &outputs[1],
        BOOTSTRAP,
        &["PE 0 had not announced that all 3 PEs are there"],
    );
}

#[test]
fn nobody_is_pe_0() {
    let id = job::unique_id();
    let short = [("NVSHMEMRS_INIT_TIMEOUT", "1")];
    let pes = (1..3).map(|pe| pe_of(&id, pe, 3, &short)).collect();
    for output in job::finish(pes) {
        let words = [
            "NVSHMEMRS_INIT_TIMEOUT",
            "PE 0 of 3 was not there",
            "tried @nvshmemrs-",
        ];
        assert_refused(&output, BOOTSTRAP, &words);
        assert!(
            output.elapsed >= Duration::from_secs(1),
            "{}",
            output.describe()
        );
    }
}

#[test]
fn members_are_missing() {
    let id = job::unique_id();
    let short = [("NVSHMEMRS_INIT_TIMEOUT", "1")];
    let pes = [0, 3].map(|pe| pe_of(&id, pe, 5, &short));
    let words = ["PE 1, 2, 4 of 5 had not joined", "NVSHMEMRS_INIT_TIMEOUT"];
    all_refused(pes.into(), &words);
}

#[test]
fn a_wrong_secret_is_refused_and_the_job_goes_on() {
    let (id, name, mut pes) = two_of_three(&[]);
    let mut stranger = connect(&name);
    let (kind, challenge) = receive(&mut stranger);
    assert_eq!((kind, challenge.len()), (CHALLENGE, 32));
    stranger.write_all(&false_hello()).expect("PE 0 listens");
    let (kind, text) = receive(&mut stranger);
    let text = String::from_utf8_lossy(&text);
    assert_eq!(kind, REFUSAL, "{text}");
    assert!(text.contains("does not know the job's secret"), "{text}");

    // Others speak no protocol at all.
    drop(connect(&name));
    connect(&name)
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("PE 0 listens");
    let endless = [&[HELLO][..], &u32::MAX.to_le_bytes()].concat();
    connect(&name).write_all(&endless).expect("PE 0 listens");

    pes.push(pe_of(&id, 2, 3, &[]));
    assert_worked(&job::finish(pes));
}

#[test]
fn a_wrong_secret_is_told_when_somebody_is_missing() {
    let (_, name, pes) = two_of_three(&[("NVSHMEMRS_INIT_TIMEOUT", "2")]);
    let mut stranger = connect(&name);
    receive(&mut stranger);
    stranger.write_all(&false_hello()).expect("PE 0 listens");
    receive(&mut stranger);
    let outputs = job::finish(pes);
    let words = [
        "PE 2 of 3 had not joined",
        "refused",
        "does not know the job's secret",
    ];
    assert_refused(&outputs[0], BOOTSTRAP, &words);
    outputs[1].assert_code(BOOTSTRAP);
}

#[test]
fn a_false_pe_0_is_refused() {
    let (listener, follower) = in_place_of_pe_0(&[]);
    let stream = introduced(&listener);
    // A whole welcome, memory included, but for the secret.
    let memory = tempfile::tempfile().expect("a temporary file");
    let welcome = message(WELCOME, &[0; 40]);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [memory.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let sent = sendmsg(
        &stream,
        &[IoSlice::new(&welcome)],
        &mut control,
        SendFlags::NOSIGNAL,
    );
    assert_eq!(sent, Ok(welcome.len()));
    let output = follower.wait(HANG);
    assert_refused(
        &output,
        BOOTSTRAP,
        &["PE 0's place does not know the job's secret"],
    );
}

/// Listens where PE 0 of the job is to be, and starts PE 1 of two.
fn in_place_of_pe_0(variables: &[(&str, &str)]) -> (UnixListener, Running) {
    let id = job::unique_id();
    let address = SocketAddr::from_abstract_name(format!("{}-0", name_of(&id))).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    (listener, pe_of(&id, 1, 2, variables))
}

/// Receives the first message of the next PE that connects, which must come soon.
#[track_caller]
fn introduced(listener: &UnixListener) -> UnixStream {
    listener.set_nonblocking(true).expect("a socket");
    let (mut stream, _) = until("connection of PE 1", || listener.accept().ok());
    stream.set_nonblocking(false).expect("a socket");
    let challenge = message(CHALLENGE, &[7; 32]);
    stream.write_all(&challenge).expect("PE 1 listens");
    assert_eq!(receive(&mut stream).0, HELLO);
    stream
}

#[test]
fn a_pe_that_was_turned_away_unheard_comes_again() {
    let (listener, follower) = in_place_of_pe_0(&[]);
    // PE 0 closes the connection of a PE that takes too long in this way.
    drop(introduced(&listener));
    drop(introduced(&listener));
    let mut third = introduced(&listener);
    let refusal = message(REFUSAL, b"enough of this");
    third.write_all(&refusal).expect("PE 1 listens");
    assert_refused(&follower.wait(HANG), BOOTSTRAP, &["enough of this"]);
}

#[test]
fn a_pe_0_that_ends_is_not_waited_for() {
    let (listener, follower) = in_place_of_pe_0(&[]);
    let stream = introduced(&listener);
    drop(listener);
    drop(stream);
    let words = ["PE 0 ended while the job came together"];
    all_refused(vec![follower], &words);
}

#[test]
fn a_pe_that_can_open_nothing_more_does_not_take_pe_0_for_gone() {
    let (listener, follower) = in_place_of_pe_0(&[("NVSHMEMRS_INIT_TIMEOUT", "2")]);
    let stream = introduced(&listener);
    let pid = i32::try_from(follower.pid()).ok().and_then(Pid::from_raw);
    // With a limit of 0 files, poll would refuse an open file.
    let none = Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    prlimit(pid, Resource::Nofile, none).expect("the process is this user's");
    drop(stream);
    let output = follower.wait(HANG);
    let words = [
        "NVSHMEMRS_INIT_TIMEOUT) PE 0 of 2 was not there",
        "Too many open files",
    ];
    assert_refused(&output, BOOTSTRAP, &words);
    output.assert_no_stdout("ended");
}

/// Also if the first PE 0 cannot be asked for its pid, because it does not listen yet, or accepts no connections at the moment.
#[test]
fn a_second_pe_0_is_refused() {
    for listens in [false, true] {
        let id = job::unique_id();
        let name = format!("{}-0", name_of(&id));
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
        let new = |flags| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let first = new(SocketFlags::CLOEXEC).expect("a socket");
        bind(&first, &address).expect("a free name");
        let mut queue = Vec::new();
        if listens {
            listen(&first, 1).expect("a queue");
            loop {
                let one = new(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).expect("a socket");
                if rustix::net::connect(&one, &address).is_err() {
                    break;
                }
                queue.push(one);
            }
            assert!(!queue.is_empty());
        }
        let told = format!(
            "another process of this user (pid {}) is PE 0 of this job already: it has @{name}",
            std::process::id()
        );
        all_refused(vec![pe_of(&id, 0, 2, &[])], &[&told]);
    }
}

#[test]
fn a_pe_of_another_pid_namespace_has_the_number_that_is_right_here() {
    if !rustix::process::geteuid().is_root() {
        return left_out("making a pid namespace takes root");
    }
    let id = job::unique_id();
    let program = compile_c(&program("hang.c"));
    let first = spawn(job::member(&program, &id, 0, 2).arg("sleeping"));
    let mut unshare = job::member("unshare", &id, 1, 2);
    unshare.args(["--pid", "--fork", "--kill-child"]);
    // The program has pid 1 in its namespace, and sleeps for two minutes.
    let inside = spawn(unshare.arg(&program).arg("sleeping"));
    let pe = until("PE 1 that sleeps", || {
        let info = info(&["--json", "--job", &first.pid().to_string()]);
        let board: serde_json::Value = serde_json::from_str(&info.stdout).ok()?;
        let pe = board["pes"][1].clone();
        pe["doing"]
            .as_str()?
            .contains("sleeping in the kernel")
            .then_some(pe)
    });
    let unshare = inside.pid();
    let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children"));
    assert_eq!(pe["pid"].to_string(), children.expect("a child").trim());
    for pe in [inside, first] {
        pe.signal(Signal::KILL);
        pe.wait(HANG);
    }
}

/// Runs two PEs under our launcher, of which PE 1 starts by the command of `namespace`; none where the kernel refuses that.
fn apart(namespace: &str) -> Option<Output> {
    let start = format!("unshare {namespace}");
    let tried = run(
        Command::new("sh").args(["-c", &format!("{start} true")]),
        HANG,
    );
    if !tried.status.success() {
        left_out(&format!(
            "`{start}` is refused here: {}",
            tried.stderr.trim()
        ));
        return None;
    }
    let mut command = launcher(2, &[]);
    let text = format!(
        "if [ $NVSHMEMRS_PE = 1 ]; then NVSHMEMRS_INIT_TIMEOUT=2 exec {start} \"$0\" env; fi; exec \"$0\" env"
    );
    command.args(["sh", "-c", &text]).arg(joiner());
    Some(run(&mut command, HANG))
}

#[test]
fn a_pe_of_another_network_namespace_is_told_so() {
    if let Some(output) = apart("--net") {
        assert!(!output.status.success(), "{}", output.describe());
        output.assert_stdout("in another network namespace than nvshmemrs-run");
    }
}

#[test]
fn a_pe_without_proc_is_told_so() {
    if let Some(output) = apart("--mount sh -c 'umount -l /proc; exec \"$@\"' sh") {
        assert!(!output.status.success(), "{}", output.describe());
        output.assert_stdout("/proc/sys/kernel/random/boot_id");
        output.assert_no_stdout("NVSHMEMRS_HOST_ID");
    }
}

#[test]
fn several_hosts_take_mpi() {
    let launchers: [(&str, &[(&str, &str)]); 4] = [
        (
            "torchrun",
            &[
                ("RANK", "0"),
                ("WORLD_SIZE", "4"),
                ("LOCAL_WORLD_SIZE", "2"),
                ("MASTER_PORT", "1"),
            ],
        ),
        (
            "openmpi",
            &[
                ("OMPI_COMM_WORLD_RANK", "0"),
                ("OMPI_COMM_WORLD_SIZE", "4"),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
                ("PMIX_NAMESPACE", "1"),
            ],
        ),
        (
            "slurm",
            &[
                ("SLURM_PROCID", "0"),
                ("SLURM_STEP_NUM_TASKS", "4"),
                ("SLURM_STEP_NUM_NODES", "2"),
                ("SLURM_JOB_ID", "1"),
            ],
        ),
        (
            "pmi",
            &[
                ("PMI_RANK", "0"),
                ("PMI_SIZE", "4"),
                ("MPI_LOCALNRANKS", "2"),
            ],
        ),
    ];
    for (name, variables) in launchers {
        let mut command = job::clean(joiner());
        command.arg("env").envs(variables.iter().copied());
        command.env("NVSHMEMRS_MPI_PLUGIN", "/nowhere");
        let output = run(&mut command, HANG);
        let (status, words) = match name {
            "torchrun" => (
                NOT_SUPPORTED,
                ["torchrun started 4 PEs on several hosts", "only MPI"],
            ),
            _ => (
                BOOTSTRAP,
                [
                    "the PEs of this job are on several hosts",
                    "not at /nowhere",
                ],
            ),
        };
        assert_refused(&output, status, &words);
    }
}
