//! How often a PE joins and leaves, in each language, and ends of programs of Julia and Fortran whose other threads wait.

use nvshmemrs_tests::{
    HANG, Output, compile_c, compile_cxx, compile_fortran, interpreter, launch, launcher, library,
    program, run, workspace,
};
use std::path::PathBuf;
use std::time::Duration;

const SLOW: Duration = Duration::from_secs(300);

#[track_caller]
fn all_well(output: &Output, n_pes: usize) {
    output.assert_success().assert_times(n_pes, "all well\n");
}

/// A job of two PEs of a program in Julia, with several threads each.
fn julia(name: &str, word: &str) -> Output {
    // The first PE that ends with a status must not end the other PE, which may be slow.
    let mut command = launcher(2, &["--grace", "60"]);
    let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
    command.arg(julia).args(["--startup-file=no", "-t", "3"]);
    let project = workspace().join("bindings/julia");
    command.arg(format!("--project={}", project.display()));
    command.arg(program(name)).arg(word);
    run(command.env("NVSHMEMRS_LIBRARY", library()), SLOW)
}

fn fortran(word: &str) -> Output {
    let binary: PathBuf = compile_fortran(&program("ends.f90"));
    run(launcher(2, &["--grace", "60"]).arg(binary).arg(word), HANG)
}

#[test]
fn init_and_finalize_nest_in_c() {
    all_well(&launch(3, [compile_c(&program("nesting.c"))]), 3);
    all_well(&launch(1, [compile_c(&program("nesting.c"))]), 1);
}

nvshmemrs_tests::cases! {
    fn init_and_finalize_nest_in_cxx =>
        all_well(&launch(2, [compile_cxx(&program("nesting.cpp"))]), 2);
    fn init_and_finalize_nest_in_fortran =>
        all_well(&launch(3, [compile_fortran(&program("nesting.f90"))]), 3);
    fn init_and_finalize_nest_in_julia => all_well(&julia("nesting.jl", ""), 2);
}

#[test]
fn a_program_in_fortran_ends_with_its_status_while_threads_wait() {
    for (word, status, fine) in [
        ("stop", 3, 0),
        ("error", 4, 0),
        ("end", 0, 0),
        ("finalize", 6, 2),
    ] {
        let output = fortran(word);
        output.assert_code(status).assert_times(fine, "fine\n");
    }
}

#[test]
fn a_program_in_julia_ends_with_its_status_while_threads_wait() {
    for (word, status, fine) in [
        ("end", 0, 0),
        ("exit", 3, 0),
        ("throw", 1, 0),
        ("barrier", 3, 2),
        ("finalize", 3, 2),
    ] {
        let output = julia("ends.jl", word);
        output.assert_code(status).assert_times(fine, " fine\n");
        output.assert_no_stderr("signal (");
    }
}

/// A status that the program ignores is reported once for each function, where warnings are enabled.
#[test]
fn failed_calls_that_nobody_looks_at_are_told_once() {
    let binary = compile_c(&program("ignored.c"));
    let ignored = |setting: Option<(&str, &str)>| {
        let mut command = launcher(2, &[]);
        if let Some((name, value)) = setting {
            command.env(name, value);
        }
        let output = run(command.arg(&binary), HANG).succeeded();
        let failed = |line: &&str| line.contains(" failed with status ");
        let mut lines: Vec<String> = output
            .stderr
            .lines()
            .filter(failed)
            .map(String::from)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(ignored(None), Vec::<String>::new());
    for setting in [("NVSHMEM_DEBUG", "WARN"), ("NVSHMEMRS_CHECK", "1")] {
        let lines = ignored(Some(setting));
        assert_eq!(lines.len(), 6, "{lines:#?}");
        for (function, status, reason) in [
            ("nvshmemrs_put", 12, "PE 77"),
            ("nvshmemrs_put", 4, "not symmetric"),
            ("nvshmemrs_get", 12, "PE 77"),
        ] {
            for pe in 0..2 {
                let told = |line: &&String| {
                    line.starts_with(&format!("nvshmemrs [PE {pe}, pid "))
                        && line.contains(&format!("] {function} at programs/ignored.c:"))
                        && line.contains(&format!(" failed with status {status} (reported once): "))
                };
                let line = lines.iter().find(told);
                let line = line.unwrap_or_else(|| panic!("{function} on PE {pe}: {lines:#?}"));
                assert!(line.contains(reason) || status == 4, "{line}");
            }
        }
    }
}
