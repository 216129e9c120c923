//! Jobs on several hosts over MPI. This machine plays the hosts (`NVSHMEMRS_HOST_ID`); `mpirun` starts the PEs.

use nvshmemrs_tests::hosts::{Host, host, mpirun};
use nvshmemrs_tests::{
    HANG, INTERPRETER, Output, compile_c, compile_cxx, compile_fortran, compile_mpi,
    compile_shared, info, interpreter, launcher, library, program, run, spawn, workspace,
};
use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// mpirun's own messages do not count where a PE ends with a status.
fn runs(command: &mut Command) -> Output {
    run(command.env("NVSHMEMRS_LIBRARY", library()), HANG * 3)
}

fn conformance(scenario: &str, extension: &str) -> Vec<OsString> {
    let source = workspace().join(format!("tests/conformance/{scenario}.{extension}"));
    match extension {
        "py" => vec![
            interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python"),
            source.into(),
        ],
        "jl" => {
            let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
            let options = ["--startup-file=no"].iter().chain(&INTERPRETER);
            let options = options.map(OsString::from);
            [julia]
                .into_iter()
                .chain(options)
                .chain([source.into()])
                .collect()
        }
        "rs" => vec![env!("CARGO_BIN_EXE_conformance").into(), scenario.into()],
        "cpp" => vec![compile_cxx(&source).into()],
        "f90" => vec![compile_fortran(&source).into()],
        _ => vec![compile_c(&source).into()],
    }
}

/// The conformance programs print their line of success, on every PE.
#[track_caller]
fn conforms(scenario: &str, extension: &str, language: &str, hosts: &[Host<'_>]) {
    let output = runs(&mut mpirun(&[], hosts, &conformance(scenario, extension))).succeeded();
    let n: u32 = hosts.iter().map(|host| host.pes).sum();
    // The scenarios of the model follow after a colon.
    let mut lines: Vec<&str> = output
        .stdout
        .lines()
        .map(|line| line.split(':').next().unwrap_or(line))
        .collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..n)
        .map(|pe| format!("{scenario} ok PE {pe} of {n} ({language})"))
        .collect();
    assert_eq!(lines, expected, "{}", output.describe());
}

#[test]
fn ring_in_c() {
    conforms("ring", "c", "C", &[host("a", 1), host("b", 1)]);
    conforms(
        "ring",
        "c",
        "C",
        &[host("a", 1), host("b", 2), host("c", 1)],
    );
}

#[test]
fn model_in_c() {
    conforms("model", "c", "C", &[host("a", 2), host("b", 2)]);
    // The PEs of a host need not follow each other.
    conforms(
        "model",
        "c",
        "C",
        &[host("a", 1), host("b", 1), host("a", 1), host("c", 1)],
    );
}

#[test]
fn ring_and_model_in_python() {
    conforms("ring", "py", "Python", &[host("a", 1), host("b", 2)]);
    conforms(
        "model",
        "py",
        "Python",
        &[host("a", 1), host("b", 1), host("c", 1)],
    );
}

#[test]
fn model_in_other_languages() {
    for (extension, language) in [("rs", "Rust"), ("cpp", "C++"), ("f90", "Fortran")] {
        let hosts = [host("a", 1), host("b", 1), host("a", 1), host("c", 1)];
        conforms("model", extension, language, &hosts);
    }
}

#[test]
fn model_in_julia() {
    let hosts = [host("a", 1), host("b", 1), host("a", 1)];
    conforms("model", "jl", "Julia", &hosts);
}

#[test]
fn exchange_in_c() {
    // The program asks for the list of objects that are not freed.
    let tracked = |name, pes| Host {
        env: &[("NVSHMEMRS_TRACK", "1")],
        ..host(name, pes)
    };
    conforms("exchange", "c", "C", &[tracked("a", 1), tracked("b", 2)]);
}

/// Misuse is an error, also of PEs of other hosts, and nothing hangs.
#[test]
fn misuse_in_c() {
    conforms("misuse", "c", "C", &[host("a", 1), host("b", 1)]);
}

/// Tools that inspect a job see the waits of PEs of other hosts.
#[test]
fn a_look_from_outside_shows_all_hosts() {
    let hosts = [host("alpha", 1), host("beta", 1)];
    let mut running = spawn(&mut mpirun(&[], &hosts, &[own(), "wait".into()]));
    let pid: String = running.until("a pid", |running| {
        let line = running.stdout().lines().next()?.to_string();
        Some(line.strip_prefix("PE 0 is ")?.to_string())
    });
    let start = Instant::now();
    loop {
        let seen = info(&["--job", &pid, "--json"]).stdout;
        if seen.contains("\"doing\": \"in signal_wait for ") {
            break;
        }
        assert!(start.elapsed() < HANG, "{seen}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The host of PE 0 does not know which PEs of the other host have arrived, as they tell it together. Only the late one is blamed.
#[test]
fn a_look_from_another_host_blames_only_the_late_pe() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("come");
    let words = [
        compile_c(&program("late.c")).into(),
        file.clone().into_os_string(),
    ];
    let hosts = [host("alpha", 2), host("beta", 2)];
    let mut running = spawn(&mut mpirun(&[], &hosts, &words));
    let pid: String = running.until("a pid", |running| {
        let printed = running.stdout();
        let mut lines = printed.lines();
        lines.find_map(|line| Some(line.strip_prefix("PE 0 of 4 is pid ")?.to_string()))
    });
    let start = Instant::now();
    loop {
        let seen = info(&["--job", &pid]).stdout;
        for wrong in ["deadlock", "PE 3 waits for PE 3"] {
            assert!(!seen.contains(wrong), "{seen}");
        }
        if seen.contains("PEs 0, 1 and 3 wait in barrier on WORLD for PE 2, which ") {
            break;
        }
        assert!(start.elapsed() < HANG, "{seen}");
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::write(file, "").expect("a file");
    running.wait(HANG).assert_success();
}

/// On one host MPI is not touched: the job needs no plugin.
#[test]
fn one_host_needs_no_plugin() {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "2"]);
    command.args(conformance("ring", "c"));
    command.env("NVSHMEMRS_MPI_PLUGIN", "/nowhere");
    let output = runs(command.env("NVSHMEM_SYMMETRIC_SIZE", "64m")).succeeded();
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.describe());
}

/// The program that calls MPI itself.
fn own() -> OsString {
    static PROGRAM: OnceLock<OsString> = OnceLock::new();
    let compile = || compile_mpi(&program("hosts.c"), "hosts", &[]).into();
    PROGRAM.get_or_init(compile).clone()
}

fn own_runs(options: &[&str], hosts: &[Host<'_>], what: &str) -> Output {
    runs(&mut mpirun(options, hosts, &[own(), what.into()]))
}

/// Communicators of C and of Fortran, on several hosts and on one; MPI is the program's before and after.
#[test]
fn a_communicator_of_the_programs() {
    for hosts in [&[host("a", 1), host("b", 2)][..], &[host("a", 2)]] {
        let output = own_runs(&[], hosts, "comm").succeeded();
        let n: u32 = hosts.iter().map(|host| host.pes).sum();
        let ok = output.stdout.lines().filter(|line| line.ends_with(" ok"));
        assert_eq!(ok.count(), n as usize, "{}", output.describe());
    }
}

#[test]
fn a_communicator_of_mpi4py() {
    let text = "\
from mpi4py import MPI
import nvshmemrs.core as nvshmem
comm = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.rank)
nvshmem.init(mpi_comm=comm)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
assert (me, n) == (comm.rank, comm.size)
mine, total = nvshmem.array(3, dtype='int64'), nvshmem.array(3, dtype='int64')
mine[:] = me + 1
nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, total, mine, 'sum')
assert list(total) == [n * (n + 1) // 2] * 3, list(total)
nvshmem.finalize()
assert not MPI.Is_finalized() and comm.allreduce(1) == n
print('PE', me, 'ok', flush=True)
";
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let words = [python, "-c".into(), text.into()];
    for hosts in [&[host("a", 2), host("b", 1)][..], &[host("a", 2)]] {
        let output = runs(&mut mpirun(&[], hosts, &words)).succeeded();
        let n: u32 = hosts.iter().map(|host| host.pes).sum();
        assert_eq!(
            output.stdout.lines().count(),
            n as usize,
            "{}",
            output.describe()
        );
    }
}

/// A PE that is killed is named on its own host and on the other host; also over TCP, where its connections close.
#[test]
fn a_killed_pe_is_named_on_every_host() {
    // mpirun would end the others before they have printed anything.
    let recovers = "--enable-recovery";
    for options in [&[recovers][..], &[recovers, "--mca", "btl", "tcp,self"]] {
        // The ranks of the program's communicator run the other way.
        let hosts = [host("a", 1), host("b", 2)];
        let mut command = mpirun(options, &hosts, &[own(), "kill".into()]);
        // Longer than the test waits, so that no error comes from this limit.
        let output = runs(command.env("NVSHMEMRS_TIMEOUT", "600"));
        for (pe, place) in [(0, ""), (2, " on host b")] {
            let said = format!("barrier on PE {pe}: status 15: PE 1 (");
            let line = output.stdout.lines().find(|line| line.contains(&said));
            let words = format!(") ended without finalize{place}");
            assert!(
                line.is_some_and(|line| line.contains(&words)),
                "{}",
                output.describe()
            );
        }
    }
}

/// Without such an option mpirun ends the job, and its last line names the killed rank, its host and the signal.
#[test]
fn a_killed_pe_is_named_where_mpirun_ends_the_job() {
    let output = own_runs(&[], &[host("a", 1), host("b", 2)], "kill");
    output.assert_code(128 + 9);
    let words = [
        "process rank 1 with PID ",
        " on node ",
        " exited on signal 9 (Killed)",
    ];
    let names = |line: &str| words.iter().all(|word| line.contains(word));
    // A line of mpirun's has at most 80 characters.
    let text = output.stderr.replace('\n', " ");
    assert!(names(&text), "{}", output.describe());
}

#[test]
fn mpi_finalize_before_finalize_is_an_error_on_every_host() {
    let output = own_runs(&[], &[host("a", 1), host("b", 1)], "early");
    output.assert_stdout("barrier on PE 0: status 15: PE 1 (");
}

#[test]
fn mpi_without_threads_is_refused() {
    let output = own_runs(&[], &[host("a", 1), host("b", 1)], "single").succeeded();
    output.assert_each(0..2, |pe| format!("init on PE {pe}: status 18: "));
    output.assert_stdout("with MPI_THREAD_SINGLE");
    output.assert_stdout("call MPI_Init_thread with MPI_THREAD_MULTIPLE instead of MPI_Init");
}

/// A difference between two hosts is an error that names both, on every PE.
#[test]
fn hosts_that_disagree_are_named() {
    let differ = |name, value| {
        let hosts = [
            host("alpha", 1),
            Host {
                env: &[(name, value)],
                ..host("beta", 1)
            },
        ];
        runs(&mut mpirun(&[], &hosts, &conformance("ring", "c"))).failed()
    };
    differ("NVSHMEM_SYMMETRIC_SIZE", "32m").assert_stderr(
        "PE 1 on host beta has 34603008 bytes, PE 0 on host alpha has 68157440 bytes",
    );
    differ("NVSHMEMRS_CHECK", "1").assert_stderr(
        "PE 1 on host beta has NVSHMEMRS_CHECK=1, PE 0 on host alpha has NVSHMEMRS_CHECK=0",
    );
    let secret = differ("NVSHMEMRS_SECRET", "another");
    secret.assert_stderr("PE 1 on host beta and PE 0 on host alpha do not know the same secret");
    secret.assert_no_stderr("another");
}

/// An error in the environment of one PE is an error of all PEs, which names it.
#[test]
fn a_pe_that_cannot_begin_is_named_on_the_others() {
    for (name, value) in [
        ("NVSHMEMRS_MEMORY", "paper"),
        ("NVSHMEM_SYMMETRIC_SIZE", "much"),
        ("NVSHMEMRS_INIT_TIMEOUT", "never"),
    ] {
        let hosts = [
            host("alpha", 1),
            Host {
                env: &[(name, value)],
                ..host("beta", 1)
            },
        ];
        let output = runs(&mut mpirun(
            &["--enable-recovery"],
            &hosts,
            &conformance("ring", "c"),
        ));
        // With recovery mpirun itself ends well.
        output.assert_stderr(&format!("PE 1 on host beta says: setting `{name}` is"));
    }
}

/// A plugin that is not there, is none, or is of another version.
#[test]
fn plugins_that_do_not_fit_are_named() {
    let other = compile_shared(&program("wire.c"));
    for (plugin, words) in [
        (
            "/nowhere/plugin.so".into(),
            "it is not at /nowhere/plugin.so: build it with `cargo xtask plugins`",
        ),
        (
            library(),
            "is no plugin of nvshmemrs: it has no `nvshmemrs_wire_open`",
        ),
        (
            other,
            "does not fit nvshmemrs 0.1.0, which speaks version 2 of the wire with a table of 120 bytes: it speaks version 7",
        ),
    ] {
        let hosts = [host("a", 1), host("b", 1)];
        let mut command = mpirun(&[], &hosts, &conformance("ring", "c"));
        let output = runs(command.env("NVSHMEMRS_MPI_PLUGIN", &plugin)).failed();
        output.assert_stderr(words);
        output.assert_stderr(&plugin.display().to_string());
    }
}

/// A program that was linked with MPICH has its functions before those of the plugin's MPI.
#[test]
fn a_program_of_another_mpi_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("libmpich.so.12");
    fs::copy(compile_shared(&program("other_mpi.c")), &other).expect("a copy of a library");
    let other = other.to_str().expect("a path in UTF-8");
    let env = [("LD_PRELOAD", other)];
    let hosts = ["a", "b"].map(|name| Host {
        env: &env,
        ..host(name, 1)
    });
    let output = runs(&mut mpirun(&[], &hosts, &conformance("ring", "c"))).failed();
    output.assert_stderr(&format!(
        "libnvshmemrs_mpi.so was built for Open MPI, but this process uses MPICH Version: 4.0.2 ({other}): build the plugin for the MPI that \
         the program uses"
    ));
}

/// Launchers that start no MPI, and one of another MPI than the plugin's.
#[test]
fn only_mpi_brings_hosts_together() {
    let ring = conformance("ring", "c");
    let alone = |env: &[(&str, &str)]| {
        let mut command = Command::new(&ring[0]);
        runs(command.envs(env.iter().copied())).failed()
    };
    let words =
        "only MPI brings the PEs of several hosts together, so start the job with mpirun or srun";
    let torchrun = [
        ("RANK", "0"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_WORLD_SIZE", "1"),
    ];
    alone(&torchrun).assert_stderr(&format!("torchrun started 2 PEs on several hosts: {words}"));
    let other = [
        ("PMI_RANK", "1"),
        ("PMI_SIZE", "2"),
        ("MPI_LOCALNRANKS", "1"),
    ];
    let output = alone(&other);
    output.assert_stderr("the launcher says that this is process 1 of 2, but Open MPI");
    output.assert_stderr("says process 0 of 1");
    let mut command = launcher(2, &[]);
    command
        .args(["sh", "-c", "NVSHMEMRS_HOST_ID=h$NVSHMEMRS_PE exec \"$0\""])
        .args(&ring);
    let output = runs(&mut command);
    output.assert_stderr(&format!(
        "PE 1 is on another host than PE 0 (NVSHMEMRS_HOST_ID): {words}"
    ));
}

/// The plugin for MPICH, which `NVSHMEMRS_MPI_PLUGIN` names, on two hosts.
#[test]
#[ignore = "`cargo xtask mpich` runs it"]
fn under_mpich() {
    let suite: OsString = env!("CARGO_BIN_EXE_suite").into();
    for (words, said) in [
        (conformance("ring", "c"), "ring ok PE"),
        (conformance("model", "rs"), "model ok PE"),
        (vec![suite, "few".into()], "suite ok PE"),
    ] {
        let mut command = Command::new("mpiexec.mpich");
        for (index, (name, pes)) in [("a", "1"), ("b", "2")].into_iter().enumerate() {
            command.args([":"].iter().take(index));
            command.args(["-n", pes, "-env", "NVSHMEMRS_HOST_ID", name]);
            command.args(&words);
        }
        command.env("NVSHMEM_SYMMETRIC_SIZE", "64m");
        let output = run(&mut command, HANG * 10).succeeded();
        output.assert_each(0..3, |pe| format!("{said} {pe} of 3"));
    }
}

#[test]
fn the_programs_signals_are_not_taken_by_threads_of_the_network() {
    let words = [compile_c(&program("signals.c")).into()];
    let output = runs(&mut mpirun(&[], &[host("a", 1), host("b", 1)], &words)).succeeded();
    output.assert_times(2, "took 50 signals");
    output.assert_stdout("thread nvshmemrs-net blocks");
    let threads = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("thread "));
    for line in threads {
        let blocked = line.rsplit(' ').next().expect("a set");
        let blocked = u64::from_str_radix(blocked, 16).expect("a set of signals");
        // SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM and SIGCHLD.
        let signals = [1, 2, 10, 12, 14, 15, 17];
        let open = signals
            .iter()
            .find(|signal| blocked & (1 << (*signal - 1)) == 0);
        assert_eq!(open, None, "{line}\n{}", output.describe());
    }
}
