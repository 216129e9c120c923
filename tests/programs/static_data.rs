//! The executable's variables as symmetric data, of executables of all kinds.

use nvshmemrs_tests::compile::{compile_as, compile_static};
use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::{HANG, Output, interpreter, launcher, library, program, run};
use std::path::{Path, PathBuf};

/// The program, linked as `options` say.
#[track_caller]
fn compiled(name: &str, options: &[&str]) -> PathBuf {
    // The variables of 1 GiB take other instructions where addresses do not fit 32 bits.
    let all = [options, &["-pthread", "-mcmodel=large"]].concat();
    compile_as(
        &program("static_data.c"),
        &format!("static-data-{name}"),
        &all,
    )
}

/// With the static library the library's own variables are symmetric, too.
#[test]
fn variables_are_symmetric_beside_those_of_the_library() {
    let options = ["-pthread", "-mcmodel=large"];
    let program = compile_static(&program("static_data.c"), "static-data-archive", &options);
    works(2, &[], &[&program]);
}

#[track_caller]
fn all_say_ok(output: &Output, n_pes: usize) {
    output.assert_success();
    let said = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("static data ok"));
    assert_eq!(said.count(), n_pes, "{}", output.describe());
}

/// A job whose heap has room for 1 GiB of variables.
#[track_caller]
fn works(n_pes: u32, options: &[&str], words: &[&Path]) {
    let mut command = launcher(n_pes, options);
    command.args(words).env("NVSHMEM_SYMMETRIC_SIZE", "2G");
    all_say_ok(&run(&mut command, HANG), n_pes as usize);
}

#[test]
fn variables_are_symmetric_with_any_number_of_pes() {
    let program = compiled("default", &[]);
    for n_pes in [1, 2, 3, 4] {
        works(n_pes, &[], &[&program]);
    }
}

#[test]
fn variables_are_symmetric_however_the_executable_is_linked() {
    for (name, options) in [
        ("no-pie", &["-no-pie"][..]),
        ("no-relro", &["-Wl,-z,norelro"]),
        ("now", &["-Wl,-z,now", "-Wl,--build-id=none"]),
    ] {
        works(2, &[], &[&compiled(name, options)]);
    }
    // Without randomised addresses the program's break begins where its variables end.
    let personality = [
        Path::new("setarch"),
        Path::new("-R"),
        &compiled("fixed", &["-no-pie"]),
    ];
    works(2, &[], &personality);
}

#[test]
fn variables_are_symmetric_in_a_checked_job() {
    works(2, &["--check"], &[&compiled("checked", &[])]);
}

#[test]
fn variables_are_symmetric_on_two_hosts() {
    let program = compiled("hosts", &[]);
    let mut command = mpirun(&[], &[host("a", 2), host("b", 1)], &[program.into()]);
    command.env("NVSHMEMRS_LIBRARY", library());
    all_say_ok(
        &run(command.env("NVSHMEM_SYMMETRIC_SIZE", "2G"), HANG * 3),
        3,
    );
}

#[test]
fn what_is_not_symmetric_is_named() {
    let mut command = launcher(2, &[]);
    command.arg(compiled("mistakes", &[])).arg("mistakes");
    all_say_ok(&run(command.env("NVSHMEM_SYMMETRIC_SIZE", "2G"), HANG), 2);
}

#[test]
fn pes_that_cannot_have_symmetric_variables_learn_why() {
    let [first, second] = ["1111111111111111", "2222222222222222"]
        .map(|id| compiled(id, &[&format!("-Wl,--build-id=0x{id}")]));
    let mut command = launcher(2, &[]);
    let chooses = "if [ $NVSHMEMRS_PE = 0 ]; then exec \"$1\" cannot \"$0\"; else exec \"$2\" cannot \"$0\"; fi";
    command.args([
        "sh",
        "-c",
        chooses,
        "build of the executable 2222222222222222",
    ]);
    command
        .args([&first, &second])
        .env("NVSHMEM_SYMMETRIC_SIZE", "2G");
    all_say_ok(&run(&mut command, HANG), 2);

    let mut command = launcher(2, &[]);
    command
        .arg(&first)
        .args(["cannot", "raise NVSHMEM_SYMMETRIC_SIZE"]);
    all_say_ok(&run(command.env("NVSHMEM_SYMMETRIC_SIZE", "64M"), HANG), 2);
}

/// Python's own variables move under the running interpreter, which goes on, forks and ends as usual.
#[test]
fn an_interpreter_goes_on() {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let mut command = launcher(2, &[]);
    command
        .arg(python)
        .arg(program("static_data.py"))
        .env("NVSHMEMRS_LIBRARY", library());
    all_say_ok(&run(&mut command, HANG), 2);
}
