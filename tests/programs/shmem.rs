//! Programs of OpenSHMEM's names: `include/shmem.h` and `libnvshmemrs_shmem.so`.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::names::{expand, exported};
use nvshmemrs_tests::standard::{Mistake, Standard, reports, same};
use nvshmemrs_tests::{HANG, Running, bin, bin_dir, info, launcher, left_out, program, run, spawn};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

const SHMEM: Standard = Standard {
    prefix: "shmem",
    variables: &[],
};

#[track_caller]
fn conforms(name: &str) {
    SHMEM.conforms(name);
    // Every call goes to the library.
    let outside = SHMEM.compiled(
        &format!("{name}.c"),
        &format!("{name}-no-inline"),
        &["-DNVSHMEMRS_SHMEM_NO_INLINE"],
    );
    same(&run(launcher(2, &[]).arg(outside), HANG), 2);
}

nvshmemrs_tests::cases! {
    fn remote_memory_access => conforms("rma");
    fn atomics => conforms("atomics");
    fn waits => conforms("waits");
    fn collectives => conforms("collectives");
    fn global_and_static_variables => conforms("statics");
    fn active_sets => conforms("sets");
    fn teams_and_contexts => conforms("teams");
    fn what_1_6_adds => conforms("new");
    fn locks => conforms("locks");
    fn c11_chooses_by_type => conforms("generic");
}

#[test]
fn a_pe_is_in_256_active_sets() {
    let program = SHMEM.compiled("many_sets.c", "many_sets", &[]);
    same(&run(launcher(32, &[]).arg(program), HANG), 32);
}

/// The program is compiled with debug information, so that the names of inlined functions are known, too.
#[test]
fn the_wait_board_has_the_names_that_the_program_calls() {
    let program = SHMEM.compiled("late.c", "late", &[]);
    let output = run(launcher(3, &["--stall-after", "0.7"]).arg(program), HANG);
    same(&output, 3);
    output
        .assert_stderr("in shmem_barrier_all on WORLD")
        .assert_stderr("in shmem_long_wait_until");
}

#[test]
fn threads() {
    conforms("threads");
    conforms("thread_locks");
}

#[test]
fn cxx_chooses_by_type() {
    for standard in ["c++11", "c++20"] {
        let options = [&format!("-std={standard}"), "-Wpedantic", "-D_GNU_SOURCE"];
        let made = SHMEM.compiled("generic.cpp", &format!("generic-{standard}"), &options);
        same(&run(launcher(3, &[]).arg(made), HANG), 3);
    }
}

#[test]
fn on_two_hosts() {
    SHMEM.conform_on_two_hosts(&[
        "rma",
        "atomics",
        "collectives",
        "sets",
        "teams",
        "new",
        "locks",
    ]);
}

/// The programs say the same of another library, so they are no mirror of this one. It has OpenSHMEM 1.4; Debian's ends with a signal in
/// finalize, so its status says nothing.
#[test]
fn open_mpi_runs_the_same_programs() {
    if Command::new("oshcc").arg("--version").output().is_err() {
        return left_out("oshcc is missing");
    }
    for name in ["rma", "sets", "locks", "threads"] {
        let made = bin_dir().join(format!("nvshmemrs-tests/oshmem-{name}"));
        let mut compiler = Command::new("oshcc");
        compiler
            .args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-pthread", "-o"])
            .arg(&made);
        run(compiler.arg(program(&format!("shmem/{name}.c"))), HANG * 3).assert_success();
        let mut command = Command::new("oshrun");
        command
            .args(["--allow-run-as-root", "--oversubscribe", "-n", "2"])
            .arg(made);
        let output = run(&mut command, HANG * 3);
        assert_eq!(reports(&output), 2, "{}", output.describe());
    }
}

#[test]
fn under_the_checker_locks_order() {
    let program = SHMEM.compiled("locks.c", "locks-check", &[]);
    same(&run(launcher(3, &["--check"]).arg(program), HANG * 2), 3);
}

#[test]
fn when_the_holder_of_a_lock_dies_waiters_learn_it() {
    let program = SHMEM.compiled("locks.c", "locks-dies", &[]);
    let output = run(
        launcher(3, &[]).args([program.as_os_str(), "dies".as_ref()]),
        HANG,
    );
    output
        .assert_code(128 + 9)
        .assert_stderr("shmem_set_lock at ");
    output.assert_stderr("PE 0 ");
}

/// So does a thread that waits for another thread of its PE.
#[test]
fn when_a_pe_dies_a_thread_behind_another_thread_learns_it() {
    let program = SHMEM.compiled("held_lock.c", "held-lock-thread", &["-g"]);
    let words = [program.as_os_str(), "thread".as_ref()];
    let output = run(launcher(2, &[]).args(words), HANG);
    output
        .assert_code(128 + 9)
        .assert_stderr("PE 0: shmem_set_lock at ")
        .assert_stderr("PE 1 (pid ");
}

/// A job of `held_lock.c` with three PEs.
struct HeldLock {
    job: Running,
    /// The process of PE 0.
    pid: String,
    /// The files for which PEs wait.
    _turns: TempDir,
}

impl HeldLock {
    /// Starts the job by a command with these words. Each PE up to `last` begins to wait when the board shows that the PE before waits; in
    /// `sleep` PE 0 waits for nothing.
    #[track_caller]
    fn start(instead: &str, last: u32, command: impl FnOnce(&[OsString]) -> Command) -> HeldLock {
        let program = SHMEM.compiled("held_lock.c", "held-lock", &["-g"]);
        let turns = TempDir::new().expect("a folder");
        let words = [
            program.into_os_string(),
            instead.into(),
            turns.path().into(),
        ];
        let mut job = spawn(&mut command(&words));
        let pid: String = job.until("a pid", |job| {
            let printed = job.stdout();
            let mut lines = printed.lines();
            Some(lines.find_map(|line| line.strip_prefix("PE 0 is "))?.into())
        });
        for pe in 1..=last {
            if pe > 1 || instead != "sleep" {
                let before = format!("PE {} (pid ", pe - 1);
                let waits = |line: &str| {
                    line.trim_start().starts_with(&before) && line.contains("): in shmem_")
                };
                job.until("wait of the PE before", |_| {
                    info(&["--job", &pid])
                        .stdout
                        .lines()
                        .any(waits)
                        .then_some(())
                });
            }
            fs::write(turns.path().join(pe.to_string()), "").expect("cannot write a file");
        }
        HeldLock {
            job,
            pid,
            _turns: turns,
        }
    }
}

/// Starts `held_lock.c` on one host, or on two; gives the report of `nvshmemrs-info --job` that has all these parts.
#[track_caller]
fn report_of_held_lock(instead: &str, on_two_hosts: bool, parts: &[&str]) -> String {
    let mut held = HeldLock::start(instead, 2, |words| match on_two_hosts {
        true => mpirun(&[], &[host("a", 1), host("b", 2)], words),
        false => {
            let mut command = launcher(3, &["--grace", "0.2"]);
            command.args(words);
            command
        }
    });
    let report = held.job.until("report of a held lock", |_| {
        let seen = info(&["--job", &held.pid]).stdout;
        parts.iter().all(|part| seen.contains(part)).then_some(seen)
    });
    held.job.signal(Signal::TERM);
    held.job.wait(HANG);
    report
}

/// PEs 1 and 2 wait for the lock of PE 0, one behind the other.
#[test]
fn the_board_names_the_holder_of_a_lock() {
    for on_two_hosts in [false, true] {
        report_of_held_lock(
            "sleep",
            on_two_hosts,
            &[
                "PE 1 waits in shmem_set_lock for PE 0, which holds the lock and is not waiting in nvshmemrs",
                "; PE 2 waits for those\n",
                ": waits for PE 0 to release the lock at byte 0x0 of its symmetric heap",
                ": waits for PE 1, which is ahead of it in the queue of the lock at byte 0x0 of its symmetric heap; PE 0 holds the lock",
            ],
        );
    }
}

#[test]
fn a_deadlock_of_locks_is_told() {
    for on_two_hosts in [false, true] {
        let rest =
            "waits for PE 1, which is in shmem_set_lock and waits for PE 0; first came PE 0 (";
        for (instead, place) in [
            ("crossed", "shmem_set_lock"),
            ("barrier", "shmem_barrier_all on WORLD"),
        ] {
            report_of_held_lock(
                instead,
                on_two_hosts,
                &["deadlock", &format!("PE 0 is in {place} and {rest}")],
            );
        }
    }
}

/// The stall report of the launcher, and the error of a wait that gives up.
#[test]
fn a_stall_and_a_time_limit_name_the_holder_of_a_lock() {
    let options = ["--stall-after", "1", "--timeout", "4", "--grace", "0.2"];
    let held = HeldLock::start("sleep", 1, |words| {
        let mut command = launcher(3, &options);
        command.args(words);
        command
    });
    let output = held.job.wait(HANG);
    output.assert_code(1);
    for words in [
        "nothing has moved for 1 s\nPE 1 waits in shmem_set_lock for PE 0, which holds the lock and is ",
        "PE 1: shmem_set_lock at ",
        " gave up after 4.0s, the limit that NVSHMEMRS_TIMEOUT sets: it waits for PE 0 to release the lock at byte 0x0 of",
    ] {
        output.assert_stderr(words);
    }
}

/// Mistakes in functions that only OpenSHMEM has, or that it takes otherwise.
#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    ("lock after finalize", "shmem_set_lock", "it was called after `shmem_finalize`"),
    ("thread-local", "shmem_long_p", "it is a thread-local variable"),
    ("library", "shmem_int_p", "it is a variable of the shared library"),
    ("cmp", "shmem_long_wait_until", "`SHMEM_CMP_EQ`"),
    ("signal", "shmem_long_put_signal", "`sig_op` is 3; it must be `SHMEM_SIGNAL_SET`"),
    ("ctx", "shmem_ctx_long_p", "SHMEM_CTX_INVALID"),
    ("destroyed ctx", "shmem_ctx_quiet", "a context that was destroyed"),
    ("ctx of a destroyed team", "shmem_ctx_long_p", "with its team"),
    ("pe of a team", "shmem_ctx_long_p", "the team of the context has 2 PEs"),
    ("default ctx", "shmem_ctx_destroy", "SHMEM_CTX_DEFAULT"),
    ("set", "shmem_barrier", "name no active set"),
    ("set without me", "shmem_barrier", "an active set without this PE"),
    ("to_all", "shmem_long_sum_to_all", "`count`"),
    ("lock", "shmem_set_lock", "outside the symmetric heap"),
    ("lock twice", "shmem_set_lock", "this thread holds the lock already"),
    ("free lock", "shmem_clear_lock", "this PE does not hold the lock"),
];

#[test]
fn a_mistake_ends_the_job_and_names_function_line_and_reason() {
    SHMEM.reports_mistakes(MISTAKES);
}

/// The same for NVSHMEM's names.
#[test]
fn a_header_of_another_version_is_named_beside_the_libraries() {
    for standard in ["shmem", "nvshmem"] {
        let name = format!("libnvshmemrs_{standard}.so");
        let library = bin(&name).display().to_string();
        let program = compile_as(
            &program("shmem/versions.c"),
            &format!("{standard}-versions"),
            &[
                &format!("-DSTANDARD={standard}"),
                "-Wl,--no-as-needed",
                &library,
            ],
        );
        let output = run(launcher(1, &[]).arg(&program), HANG).failed();
        output.assert_stderr(&format!("{standard}_init at "));
        output.assert_stderr(&format!(
            "versions.c:17 (main): the program was compiled with a {standard}.h of ABI version 77, and runs with a {name} of ABI version "
        ));
        let mut returns = launcher(1, &[]);
        returns.arg(&program).env("NVSHMEMRS_ON_ERROR", "return");
        let output = run(&mut returns, HANG).succeeded();
        output.assert_stderr(&format!("nvshmemrs: {standard}_init at "));
        output.assert_stderr(&format!(
            "with a {standard}.h of ABI version 77, and runs with a {name} of ABI version "
        ));
        output.assert_stderr(" and a libnvshmemrs.so of ABI version ");
        // The last error, by the program.
        output.assert_stdout(&format!("{standard}_init at "));
        output.assert_stdout("of ABI version 77");
    }
}

#[test]
fn on_error_return_goes_on() {
    SHMEM.goes_on_after(&[
        ("pe", "PE 2"),
        ("cmp", "`NVSHMEMRS_CMP_EQ`"),
        ("free", "live symmetric allocation"),
        // Detected by libnvshmemrs_shmem.so.
        ("lock twice", "shmem_set_lock at "),
        ("lock twice", "this thread holds the lock already"),
        ("set without me", "an active set without this PE"),
        ("ctx of a destroyed team", "with its team"),
        ("after finalize", "shmem_long_put at "),
        ("after finalize", "it was called after `shmem_finalize`"),
    ]);
}

/// An overload of C++ is named by its own name, also where it is not inlined.
#[test]
fn overloads_are_named_as_they_were_called() {
    for optimised in ["-O0", "-O2"] {
        let program = SHMEM.compiled(
            "overload.cpp",
            &format!("overload{optimised}"),
            &[optimised],
        );
        let mut command = launcher(1, &[]);
        command
            .arg(program)
            .env("NVSHMEMRS_ON_ERROR", "return")
            .env("NVSHMEM_DEBUG", "WARN");
        let output = run(&mut command, HANG).succeeded();
        output.assert_stderr("] shmem_p at ");
        output.assert_stderr("overload.cpp:9 (main) failed with status 12");
    }
}

/// The log of failed calls has the name that the program called.
#[test]
fn a_failed_call_is_logged_by_the_name_that_was_called() {
    for options in [&[][..], &["-DNVSHMEMRS_SHMEM_NO_INLINE"]] {
        let program = SHMEM.misuse_program("misuse-logged", options);
        let mut command = launcher(2, &[]);
        command
            .args([program.as_os_str(), "pe".as_ref()])
            .env("NVSHMEMRS_ON_ERROR", "return")
            .env("NVSHMEM_DEBUG", "WARN");
        let output = run(&mut command, HANG).succeeded();
        output.assert_stderr("] shmem_long_put at ");
        output.assert_stderr(" failed with status 12 (reported once): argument `pe` is PE 2");
    }
}

#[test]
fn finalize_tells_that_the_checker_has_found_something() {
    let program = SHMEM.misuse_program("misuse-checked", &[]);
    let words = [program.as_os_str(), "two writers".as_ref()];
    let output = run(launcher(2, &["--check"]).args(words), HANG);
    output
        .assert_code(1)
        .assert_stderr("two PEs write to one place: nothing orders the shmem_long_p of PE ")
        .assert_stderr("writes 8 bytes: shmem_long_p at ")
        .assert_stderr("shmem_finalize at ");
    for wrong in ["is not live", "nvshmemrs_global_exit"] {
        output.assert_no_stderr(wrong);
    }
}

#[test]
fn global_exit_ends_all_processes_whatever_they_do() {
    SHMEM.global_exit_ends_all();
    let output = SHMEM.misuse("global_exit 0", 3).succeeded();
    assert_eq!(output.stderr, "", "{}", output.describe());
}

#[test]
fn after_start_pes_the_end_of_the_program_finalizes() {
    let output = SHMEM.misuse("start_pes", 2);
    output
        .assert_success()
        .assert_stdout("PE 0 of 2")
        .assert_stdout("PE 1 of 2");
    assert_eq!(output.stderr, "", "{}", output.describe());
}

#[test]
fn without_a_launcher() {
    SHMEM.conforms_without_a_launcher();
}

#[test]
fn the_library_has_every_function_of_the_standard_under_both_names() {
    let symbols = exported("libnvshmemrs_shmem.so");
    let of = |prefix: &str| -> BTreeSet<String> {
        let names = symbols
            .iter()
            .filter_map(|symbol| symbol.strip_prefix(prefix));
        names.map(String::from).collect()
    };
    let expected = expand(include_str!("shmem/names.txt"));
    assert!(expected.len() > 1700, "{}", expected.len());
    for prefix in ["shmem_", "pshmem_"] {
        let found = of(prefix);
        let missing: Vec<_> = expected.difference(&found).collect();
        let more: Vec<_> = found.difference(&expected).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{prefix}: missing {missing:?}, more {more:?}"
        );
    }
    for name in [
        "start_pes",
        "_my_pe",
        "_num_pes",
        "shmalloc",
        "shmemalign",
        "shrealloc",
        "shfree",
    ] {
        assert!(symbols.contains(name), "{name}");
    }
    // The names are not in the library below, where they would hide another OpenSHMEM's.
    let below = exported("libnvshmemrs.so");
    let hidden = |name: &String| name.starts_with("shmem_") || name.starts_with("pshmem_");
    assert!(!below.iter().any(hidden));
}
