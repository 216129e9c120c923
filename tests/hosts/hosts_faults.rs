//! PEs of other hosts that are of another version, send invalid messages, or end while the job begins or ends. This machine plays the
//! hosts; a plugin between the library and the real one (`programs/liar.c`) makes one PE violate the protocol.

use nvshmemrs_tests::hosts::{Host, host, mpirun, plugin};
use nvshmemrs_tests::{
    HANG, Output, compile_c, compile_shared, left_out, program, run, spawn, workspace,
};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// The plugin that lies.
fn liar() -> &'static str {
    static LIAR: LazyLock<PathBuf> = LazyLock::new(|| compile_shared(&program("liar.c")));
    LIAR.to_str().expect("a path in UTF-8")
}

/// Runs `programs/lies.c` with two PEs: PE 0 on host alpha, which lies, and PE 1 on host beta.
fn lies(what: &str, bytes: usize) -> Output {
    let env = [("NVSHMEMRS_MPI_PLUGIN", liar()), ("LIAR_SAYS", what)];
    let alpha = Host {
        env: &env,
        ..host("alpha", 1)
    };
    let program = compile_c(&program("lies.c"));
    let words = [program.into(), bytes.to_string().into()];
    // mpirun would end the other PE before it has printed anything. Within a machine Open MPI 4.1 copies all that is sent, also if less is
    // received, unless it copies twice.
    let copies = ["--mca", "btl_vader_single_copy_mechanism", "none"];
    let options = [&["--enable-recovery"], &copies[..]].concat();
    let mut command = mpirun(&options, &[alpha, host("beta", 1)], &words);
    run(command.env("LIAR_PLUGIN", plugin()), HANG)
}

/// Hosts with different libraries do not come together; every PE names the difference, and the hosts.
#[test]
fn hosts_with_another_version_are_named() {
    let has = |pe, host| {
        format!(
            "PE {pe} on host {host} has {} (layout ",
            env!("CARGO_PKG_VERSION")
        )
    };
    let (alpha, beta) = (has(0, "alpha"), has(1, "beta"));
    let (alpha, beta) = (alpha.as_str(), beta.as_str());
    for (what, words) in [
        ("version", &["PE 0 on host alpha has 9.8.7 (layout "][..]),
        ("layout", &[alpha]),
        ("wire", &[alpha, ", wire 2)"]),
    ] {
        let output = lies(what, 8);
        let says = |line: &&str| {
            let words = words
                .iter()
                .chain([&beta, &"install the same version on all hosts"]);
            words.into_iter().all(|word| line.contains(word))
        };
        let lines = output.stderr.lines().filter(says).count();
        assert_eq!(lines, 2, "{what}: {}", output.describe());
    }
    let output = lies("magic", 8);
    let words =
        "rank 0 of this MPI job does not speak nvshmemrs's protocol, or another version of it";
    let lines = output.stderr.lines().filter(|line| line.contains(words));
    assert_eq!(lines.count(), 2, "{}", output.describe());
}

/// An invalid put is an error that names its sender, on both sides, and writes nothing outside of its range.
#[test]
fn messages_of_a_wrong_length_name_their_sender() {
    for (what, bytes) in [
        ("cut", 8),
        ("odd", 8),
        ("longer", 8),
        ("outside", 8),
        ("less", 1_000_000),
        ("more", 1_000_000),
    ] {
        let output = lies(what, bytes);
        let target = match what {
            // MPI reports it, and does not name the PE.
            "more" => {
                "PE 1: status 19: hearing other hosts failed: the wire to other hosts reports: MPI_Test failed"
            }
            _ => {
                "PE 1: status 7: internal error in nvshmemrs, please report it: PE 0, on another host, has sent a message that makes no sense"
            }
        };
        output
            .assert_stdout("another host says: PE 1 cannot make sense of a message of this PE")
            .assert_stdout(target)
            .assert_stdout("PE 0: nothing is beside")
            .assert_stdout("PE 1: nothing is beside");
    }
}

/// The ring under mpirun, which does not end it when a PE dies: PE 0 on host alpha, PEs 1 and 2 on host beta, of which PE 1 does `what`.
fn ring(what: &str, seconds: &str) -> Command {
    let env = [("NVSHMEMRS_MPI_PLUGIN", liar()), ("LIAR_SAYS", what)];
    let other = Host {
        env: &env,
        ..host("beta", 1)
    };
    let words = [compile_c(&workspace().join("tests/conformance/ring.c")).into()];
    let hosts = [host("alpha", 1), other, host("beta", 1)];
    let mut command = mpirun(&["--enable-recovery"], &hosts, &words);
    command.env("LIAR_PLUGIN", plugin());
    command.env("NVSHMEMRS_INIT_TIMEOUT", seconds);
    command
}

/// How many PEs say that init has ended by its limit, with these words.
#[track_caller]
fn assert_late(output: &Output, pes: usize, words: &str) {
    let words = format!(
        "init: after 6.0s (NVSHMEMRS_INIT_TIMEOUT) this PE could not {words} (set by openmpi)"
    );
    let lines = output.stderr.lines().filter(|line| line.contains(&words));
    assert_eq!(lines.count(), pes, "{words}\n{}", output.describe());
}

/// If a PE does not reach a step of init, because it has died or hangs, the other PEs name it at the time limit.
#[test]
fn a_pe_that_does_not_come_on_in_init_is_named_on_every_host() {
    thread::scope(|scope| {
        for what in ["die 1", "die 2", "die 3", "sleep 2"] {
            scope.spawn(move || {
                let output = run(&mut ring(what, "6"), HANG);
                let words = "hear the PEs of the other hosts: nothing is heard of PE 1";
                assert_late(&output, 2, words);
            });
        }
    });
}

/// A process that ends before it starts MPI, or never starts it: MPI waits for ever, and init does not.
#[test]
fn init_ends_where_a_process_never_starts_mpi() {
    thread::scope(|scope| {
        for words in [&["true"][..], &["sh", "-c", "kill -9 $$"], &["sleep", "12"]] {
            scope.spawn(move || {
                let program = compile_c(&workspace().join("tests/conformance/ring.c"));
                let hosts = [host("alpha", 1), host("beta", 1)];
                let mut command = mpirun(&["--enable-recovery"], &hosts, &[program.into()]);
                command.args([":", "-n", "1"]).args(words);
                let output = run(command.env("NVSHMEMRS_INIT_TIMEOUT", "6"), HANG);
                let words = "start MPI with all PEs, and MPI does not say who is missing; NVSHMEMRS_HOST_ID is set here, and must be set for \
                             all PEs";
                assert_late(&output, 2, words);
            });
        }
    });
}

/// Each PE names the setting that one has and the other lacks.
#[test]
fn a_host_id_that_only_some_pes_have_is_named() {
    let program = compile_c(&workspace().join("tests/conformance/ring.c"));
    let words = [program.clone().into()];
    let mut command = mpirun(&["--enable-recovery"], &[host("alpha", 1)], &words);
    command.args([":", "-n", "1"]).arg(program);
    let output = run(command.env("NVSHMEMRS_INIT_TIMEOUT", "4"), HANG);
    output.assert_stderr("NVSHMEMRS_HOST_ID is set here, and must be set for all PEs");
    output.assert_stderr("either all PEs or none must have NVSHMEMRS_HOST_ID");
}

/// Once all PEs have met in finalize, the end of one is no error of the others.
#[test]
fn the_end_of_a_pe_after_all_have_met_in_finalize_is_no_error() {
    let output = run(&mut ring("die 0", "60"), HANG);
    output.assert_each([0, 2], |pe| format!("ring ok PE {pe} of 3 (C)"));
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.describe());
}

/// Ctrl-C while the PEs wait in init, or in finalize, for a PE that does not come ends all of them.
#[test]
fn an_interrupt_ends_the_job_in_init_and_in_finalize() {
    let running = spawn(&mut ring("sleep 1", "600"));
    let program = compile_c(&program("lies.c"));
    let words = [program.into(), "0".into()];
    let mut other = spawn(&mut mpirun(&[], &[host("a", 1), host("b", 1)], &words));
    for pe in 0..2 {
        let line = format!("PE {pe} of 2 is pid ");
        other.until_stdout(&[&line]);
    }
    // By then the others of the first job are in the exchange, or in MPI_Init: both must end.
    for job in [&running, &other] {
        job.signal(Signal::INT);
    }
    for job in [running, other] {
        job.wait(HANG).failed();
    }
}

/// On request, each PE writes which PE has died before mpirun ends it, also if it is in no call.
#[test]
fn the_last_words_before_mpirun_ends_the_job_say_why() {
    let program = compile_c(&program("lies.c"));
    let words = [program.into(), "1".into()];
    // A busy machine may take more than the second that mpirun usually waits before it ends the others.
    let options = ["--mca", "odls_base_sigkill_timeout", "5"];
    let mut command = mpirun(&options, &[host("alpha", 1), host("beta", 2)], &words);
    let output = run(command.env("NVSHMEM_DEBUG", "WARN"), HANG);
    output.assert_code(128 + 9);
    for (pe, place) in [(0, " on host beta"), (2, "")] {
        let says = |line: &str| {
            let from = line.starts_with(&format!("nvshmemrs [PE {pe}, pid "));
            let words = line.contains("] PE 1 (pid ");
            from && words && line.ends_with(&format!(") ended without finalize{place}"))
        };
        assert!(output.stderr.lines().any(says), "{}", output.describe());
    }
}

/// Two network namespaces with a cable between them; they are gone when it is dropped.
struct Cable {
    names: [String; 2],
    folder: tempfile::TempDir,
}

impl Cable {
    /// None where that takes another user or another system.
    fn new() -> Option<Cable> {
        let id = std::process::id();
        let cable = Cable {
            names: [format!("nvshmemrs-a-{id}"), format!("nvshmemrs-b-{id}")],
            folder: tempfile::tempdir().expect("a folder"),
        };
        let [a, b] = &cable.names;
        let ip = |words: &str| run(Command::new("ip").args(words.split(' ')), HANG);
        let exists = Command::new("ip").arg("-V").output().is_ok();
        if !exists || ip(&format!("netns add {a}")).code() != 0 {
            return None;
        }
        ip(&format!("netns add {b}")).assert_success();
        ip(&format!(
            "link add cable netns {a} type veth peer name cable netns {b}"
        ))
        .assert_success();
        for (name, number) in [(a, 1), (b, 2)] {
            ip(&format!("-n {name} addr add 10.77.7.{number}/24 dev cable")).assert_success();
            ip(&format!("-n {name} link set cable up")).assert_success();
            ip(&format!("-n {name} link set lo up")).assert_success();
        }
        // The program that mpirun uses as ssh.
        let agent = format!(
            "#!/bin/sh\ncase $1 in 10.77.7.1) n={a};; *) n={b};; esac; shift\nexec ip netns exec $n unshare -u sh -c \"hostname $n; $*\"\n"
        );
        fs::write(cable.agent(), agent).expect("a script");
        run(Command::new("chmod").arg("+x").arg(cable.agent()), HANG).assert_success();
        Some(cable)
    }

    fn agent(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// `mpirun` with a PE in each namespace, which find out by themselves that they are on two hosts.
    fn mpirun(&self, words: &[OsString]) -> Command {
        plugin();
        let name = &self.names[0];
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, "unshare", "-u", "sh", "-c"]);
        command
            .arg(format!("hostname {name}; exec mpirun \"$@\""))
            .arg("mpirun");
        let hosts = self.folder.path().join("hosts");
        fs::write(&hosts, "10.77.7.1 slots=1\n10.77.7.2 slots=1\n").expect("a list");
        command.args(["--allow-run-as-root", "-n", "2", "--hostfile"]);
        command.arg(hosts);
        command.args(["--mca", "plm_rsh_agent"]).arg(self.agent());
        command.args(["--mca", "oob_tcp_if_include", "10.77.7.0/24"]);
        command.args([
            "--mca",
            "btl_tcp_if_include",
            "10.77.7.0/24",
            "--mca",
            "btl",
            "tcp,self",
        ]);
        command.args(["-x", "NVSHMEM_SYMMETRIC_SIZE=64m"]);
        command.args(words);
        command
    }

    fn cut(&self) {
        let words = ["-n", &self.names[0], "link", "set", "cable", "down"];
        run(Command::new("ip").args(words), HANG).assert_success();
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// Over TCP, without a name for the hosts; the cable is cut in the middle of large puts.
#[test]
fn a_host_that_is_cut_off_is_named_on_both_sides() {
    let Some(cable) = Cable::new() else {
        return left_out("network namespaces take root and the program `ip`");
    };
    let ring = compile_c(&workspace().join("tests/conformance/ring.c"));
    let output = run(&mut cable.mpirun(&[ring.into()]), HANG * 3).succeeded();
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.describe());

    let file = cable.folder.path().join("said");
    let said = |pe: u32| {
        let name = format!("{}.{pe}", file.display());
        fs::read_to_string(name).unwrap_or_default()
    };
    let words = [compile_c(&program("cut.c")).into(), file.clone().into()];
    // Dropping `running` ends mpirun, which would otherwise wait for the other host.
    let running = spawn(&mut cable.mpirun(&words));
    let until = |done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !done() {
            assert!(
                start.elapsed() < HANG,
                "PE 0: {}\nPE 1: {}",
                said(0),
                said(1)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until(&|| (0..2).all(|pe| said(pe).starts_with("puts\n")));
    cable.cut();
    until(&|| (0..2).all(|pe| said(pe).ends_with('\n') && said(pe).contains("status")));
    for pe in 0..2 {
        let text = said(pe);
        assert!(
            text.contains(&format!("status 15: PE {} (", 1 - pe)),
            "PE {pe}: {text}"
        );
    }
    drop(running);
}
