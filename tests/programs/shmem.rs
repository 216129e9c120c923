//! Programs of OpenSHMEM's names: `include/shmem.h` and `libnvshmemrs_shmem.so`.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::names::{expand, exported};
use nvshmemrs_tests::standard::{Mistake, Standard, reports, same};
use nvshmemrs_tests::{HANG, bin, bin_dir, launcher, left_out, program, run};
use std::collections::BTreeSet;
use std::process::Command;

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

#[test]
fn remote_memory_access() {
    conforms("rma");
}

#[test]
fn atomics() {
    conforms("atomics");
}

#[test]
fn waits() {
    conforms("waits");
}

#[test]
fn collectives() {
    conforms("collectives");
}

#[test]
fn global_and_static_variables() {
    conforms("statics");
}

#[test]
fn active_sets() {
    conforms("sets");
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
fn teams_and_contexts() {
    conforms("teams");
}

#[test]
fn what_1_6_adds() {
    conforms("new");
}

#[test]
fn locks() {
    conforms("locks");
}

#[test]
fn threads() {
    conforms("threads");
    conforms("thread_locks");
}

#[test]
fn c11_chooses_by_type() {
    conforms("generic");
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
        let output = run(launcher(1, &[]).arg(&program), HANG);
        assert_ne!(output.code(), 0, "{}", output.describe());
        output.assert_stderr(&format!("{standard}_init at "));
        output.assert_stderr(&format!(
            "versions.c:14 (main): the program was compiled with a {standard}.h of ABI version 77, and runs with a {name} of ABI version "
        ));
        let mut returns = launcher(1, &[]);
        returns.arg(&program).env("NVSHMEMRS_ON_ERROR", "return");
        run(&mut returns, HANG).assert_success();
    }
}

#[test]
fn on_error_return_goes_on() {
    let cmp = ("cmp", "`NVSHMEMRS_CMP_EQ`");
    SHMEM.goes_on_after(&[("pe", "PE 2"), cmp, ("free", "live symmetric allocation")]);
}

#[test]
fn global_exit_ends_all_processes_whatever_they_do() {
    SHMEM.global_exit_ends_all();
    let output = SHMEM.misuse("global_exit 0", 3);
    output.assert_success();
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
