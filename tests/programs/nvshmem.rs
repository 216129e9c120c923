//! Programs of NVSHMEM's names for host code: `include/nvshmem.h`, `include/nvshmemx.h` and `libnvshmemrs_nvshmem.so`.

use nvshmemrs_tests::compile::compile_mpi;
use nvshmemrs_tests::fakes::with_fakes;
use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::names::{expand, exported};
use nvshmemrs_tests::standard::{Mistake, Standard, same};
use nvshmemrs_tests::{HANG, bin, launcher, program, run, workspace};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Jobs have the heap in host memory, also where there is a GPU.
const NVSHMEM: Standard = Standard {
    prefix: "nvshmem",
    variables: &[("NVSHMEMRS_MEMORY", "host")],
};

nvshmemrs_tests::cases! {
    fn remote_memory_access => NVSHMEM.conforms("rma");
    fn atomics => NVSHMEM.conforms("atomics");
    fn waits_on_streams => NVSHMEM.conforms("waits");
    fn collectives => NVSHMEM.conforms("collectives");
    fn setup_memory_and_teams => NVSHMEM.conforms("teams");
    fn threads => NVSHMEM.conforms("threads");
}

#[test]
fn without_a_launcher() {
    NVSHMEM.conforms_without_a_launcher();
}

#[test]
fn under_the_checker() {
    let program = NVSHMEM.compiled("atomics.c", "atomics-check", &[]);
    same(&run(NVSHMEM.job(3, &["--check"]).arg(program), HANG * 2), 3);
}

#[test]
fn on_two_hosts() {
    NVSHMEM.conform_on_two_hosts(&["rma", "atomics", "collectives", "waits", "teams"]);
}

#[test]
fn communicators_and_unique_ids() {
    let linked = NVSHMEM.linked();
    let options = linked.each_ref().map(String::as_str);
    let program = compile_mpi(&program("nvshmem/mpi.c"), "nvshmem-mpi", &options);
    let two = [host("a", 2), host("b", 1)];
    for (hosts, what) in [(&two[..], ""), (&[host("a", 3)], "one host")] {
        let words = [program.clone().into(), what.into()];
        let mut command = mpirun(&[], hosts, &words);
        same(&run(command.env("NVSHMEMRS_MEMORY", "host"), HANG * 3), 3);
    }
}

/// A command that sees the stand-in for libcuda, which ends a process that has not given everything back.
fn with_gpus(mut command: Command, devices: &str) -> Command {
    with_fakes(&mut command)
        .env_remove("NVSHMEMRS_MEMORY")
        .env("FAKE_CUDA_LEAKS", "1")
        .env("FAKE_CUDA_DEVICES", devices);
    command
}

/// The second stage takes the GPU that the program has chosen by then, regardless of the other PEs' choices.
#[test]
fn init_has_two_stages_where_there_are_gpus() {
    let program = NVSHMEM.compiled("stages.c", "stages", &[]);
    for devices in ["1", "2", "3"] {
        for how in ["later", "now", "mixed", "told"] {
            let mut command = with_gpus(launcher(2, &[]), devices);
            same(&run(command.arg(&program).arg(how), HANG * 2), 2);
        }
    }
    let threads = NVSHMEM.compiled("stage_threads.c", "stage-threads", &[]);
    let mut command = with_gpus(Command::new(threads), "2");
    same(&run(&mut command, HANG * 2), 2);
}

/// The program destroys its streams without a notice, also with work in flight.
#[test]
fn streams_that_the_program_destroys() {
    let program = NVSHMEM.compiled("streams.c", "streams", &[]);
    for n in [2, 3] {
        let mut command = with_gpus(launcher(n, &[]), "1");
        same(&run(command.arg(&program), HANG * 2), n);
    }
}

/// The heap has room for the whole size that was asked for, after small objects.
#[test]
fn a_program_allocates_the_whole_heap() {
    let program = NVSHMEM.compiled("whole_heap.c", "whole-heap", &[]);
    let on_host = NVSHMEM.job(2, &[]);
    for mut command in [on_host, with_gpus(launcher(2, &[]), "1")] {
        let output = run(command.arg(&program), HANG).succeeded();
        output.assert_times(2, "ok: 1\n");
    }
}

/// An error in the second stage of init names the call that needed this stage.
#[test]
fn a_second_stage_that_fails_names_the_line_of_the_program() {
    let program = NVSHMEM.compiled("stages.c", "stages-fail", &[]);
    let mut command = with_gpus(launcher(2, &[]), "2");
    command
        .args([program.as_os_str(), "later".as_ref()])
        .env("NVSHMEM_SYMMETRIC_SIZE", "900t");
    let output = run(&mut command, HANG * 2);
    output.assert_stderr("nvshmem_malloc at ");
    output
        .assert_stderr("stages.c:")
        .assert_stderr("heap_bytes");
    assert_ne!(output.code(), 0, "{}", output.describe());
}

/// A PE ends the job although another of its threads is in a stage of init, and waits for the other PEs.
#[test]
fn the_job_ends_while_a_thread_completes_init() {
    let program = NVSHMEM.compiled("stage_errors.c", "stage-errors", &[]);
    for (how, code) in [("exit", 7), ("report", 1), ("init", 7)] {
        let mut command = with_gpus(launcher(2, &[]), "2");
        let output = run(command.arg(&program).arg(how), HANG);
        output.assert_code(code);
        if how == "report" {
            output.assert_stderr("nvshmem_info_get_name at ");
        }
    }
}

/// The status and the reason of a second stage that has failed are those of all later calls.
#[test]
fn a_second_stage_that_fails_is_remembered() {
    let program = NVSHMEM.compiled("stage_errors.c", "stage-errors-return", &[]);
    let mut command = with_gpus(launcher(2, &[]), "2");
    command
        .args([program.as_os_str(), "returns".as_ref()])
        .env("NVSHMEM_SYMMETRIC_SIZE", "900t")
        .env("NVSHMEMRS_ON_ERROR", "return");
    same(&run(&mut command, HANG * 2), 2);
}

/// A driver that is there and fails is an error. One without a GPU is none: the heap is in host memory.
#[test]
fn a_driver_that_fails_is_an_error_of_init() {
    let program = NVSHMEM.compiled("teams.c", "teams-driver", &[]);
    let job = |name: &str, value: &str| {
        let mut command = with_gpus(Command::new(&program), "0");
        run(command.env(name, value), HANG)
    };
    let fails = job("FAKE_CUDA_INIT_ERROR", "804");
    fails
        .assert_code(1)
        .assert_stderr("nvshmem_init_thread at ");
    fails.assert_stderr("the CUDA driver answers with error 804");
    same(&job("FAKE_CUDA_INIT_ERROR", "100"), 1);
    same(&job("FAKE_CUDA_INIT_ERROR", "0"), 1);
}

/// A thread of the library may run when the program closes it.
#[test]
fn the_library_stays_loaded() {
    let mut command = Command::new("readelf");
    command.arg("-d").arg(bin("libnvshmemrs_nvshmem.so"));
    run(&mut command, HANG).assert_stdout("NODELETE");
}

/// Replaces a header that the packages lack, and that a whole toolkit has: code for the host.
const TARGET: &str = "\
#define NV_IF_TARGET(CONDITION, ...)
#define NV_IF_ELSE_TARGET(CONDITION, DEVICE, ...) __VA_ARGS__
";

/// The options for CUDA's headers, which the checkout's `.venv` has: those of numbers of 16 bits, too, if `all`.
fn cuda(folder: &Path, all: bool) -> Vec<String> {
    let python = workspace().join(".venv/lib/python3.11/site-packages/nvidia");
    let mut folders: Vec<PathBuf> = ["cuda_runtime/include", "cuda_nvcc/include"]
        .map(|path| python.join(path))
        .to_vec();
    if all {
        let made = folder.join("toolkit");
        std::fs::create_dir_all(made.join("nv")).expect("a folder");
        std::fs::write(made.join("nv/target"), TARGET).expect("a header");
        folders.push(made);
    }
    assert!(folders.iter().all(|folder| folder.is_dir()), "{folders:?}");
    let options = folders
        .iter()
        .map(|folder| format!("-isystem{}", folder.display()));
    options.chain(["-DCUDA".into()]).collect()
}

#[track_caller]
fn accepts(compiler: &str, standard: &str, options: &[String], source: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]);
    command.arg(format!("-std={standard}")).arg("-I");
    command.arg(workspace().join("include"));
    run(command.args(options).arg(source), HANG * 2).assert_success();
}

#[test]
fn the_headers_are_for_c11_and_cxx11_with_and_without_cudas() {
    let folder = tempfile::tempdir().expect("a folder");
    // Either order of the headers, and CUDA's own before and after.
    for (name, text) in [
        ("host", "#include <nvshmem_host.h>\n"),
        (
            "both",
            "#include <nvshmemx.h>\n#include <nvshmem.h>\n#include <nvshmemrs.h>\n",
        ),
        (
            "before",
            "#ifdef CUDA\n#include <cuda_runtime_api.h>\n#endif\n#include <nvshmem.h>\n#include <nvshmemx.h>\n",
        ),
        (
            "after",
            "#include <nvshmem.h>\n#include <nvshmemx.h>\n#ifdef CUDA\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n#endif\n",
        ),
        (
            "shmem",
            "#include <nvshmem.h>\n#include <nvshmemx.h>\n#include <shmem.h>\n",
        ),
    ] {
        let [c, cxx] = ["c", "cpp"].map(|end| folder.path().join(format!("{name}.{end}")));
        for source in [&c, &cxx] {
            let all = format!(
                "{text}int answers(void);\nint answers(void) {{ return nvshmem_my_pe() + NVSHMEM_TEAM_WORLD; }}\n"
            );
            std::fs::write(source, all).expect("a source");
        }
        for options in [
            vec![],
            cuda(folder.path(), false),
            cuda(folder.path(), true),
            [
                cuda(folder.path(), true),
                vec!["-DNVSHMEMRS_NO_CUDA_HEADERS".into()],
            ]
            .concat(),
        ] {
            for compiler in ["gcc", "clang"] {
                for standard in ["c11", "c17"] {
                    accepts(compiler, standard, &options, &c);
                }
            }
            for compiler in ["g++", "clang++"] {
                for standard in ["c++11", "c++17", "c++20"] {
                    accepts(compiler, standard, &options, &cxx);
                }
            }
        }
    }
}

#[test]
fn cxx_with_and_without_cudas_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = cuda(folder.path(), true);
    let with: Vec<&str> = with.iter().map(String::as_str).collect();
    for (name, options) in [("without", &[][..]), ("with", &with)] {
        let options = [&["-std=c++11", "-Wpedantic"], options].concat();
        let made = NVSHMEM.compiled("types.cpp", &format!("types-{name}"), &options);
        same(&run(NVSHMEM.job(3, &[]).arg(made), HANG), 3);
    }
}

/// Mistakes in functions that only NVSHMEM has, or that it takes otherwise.
#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    ("malloc before init", "nvshmem_malloc", "it was called before `nvshmem_init`"),
    ("stream before init", "nvshmemx_barrier_all_on_stream", "it was called before `nvshmem_init`"),
    ("static", "nvshmem_long_p", "`nvshmemrs_static_data_register()`"),
    ("half alignment", "nvshmemx_half_atomic_add", "multiple of 2"),
    ("signal", "nvshmemx_signal_op", "`sig_op` is 3; it must be `NVSHMEM_SIGNAL_SET`"),
    ("collective of a destroyed team", "nvshmem_team_destroy", "it was destroyed"),
    ("no team", "nvshmem_team_n_pes", "never made"),
    ("stream", "nvshmemx_barrier_all_on_stream", "with the heap in host memory"),
    ("queued", "nvshmem_finalize", "`pe` is PE 2"),
    ("flags", "nvshmemx_buffer_register_symmetric", "it must be 0"),
];

#[test]
fn a_mistake_ends_the_job_and_names_function_line_and_reason() {
    NVSHMEM.reports_mistakes(MISTAKES);
    same(&NVSHMEM.misuse("attributes", 2), 2);
}

#[test]
fn on_error_return_goes_on() {
    NVSHMEM.goes_on_after(&[
        ("pe", "PE 2"),
        ("free", "live symmetric allocation"),
        ("after finalize", "it was called after `nvshmem_finalize`"),
    ]);
}

#[test]
fn global_exit_ends_all_processes_whatever_they_do() {
    NVSHMEM.global_exit_ends_all();
}

#[test]
fn the_library_has_every_function_and_no_other_library_has_one() {
    let named = |library: &str| -> BTreeSet<String> {
        let mut names = exported(library);
        names.retain(|name| name.starts_with("nvshmem_") || name.starts_with("nvshmemx_"));
        names
    };
    let expected = expand(include_str!("nvshmem/names.txt"));
    let (families, _) = include_str!("nvshmem/names.txt")
        .split_once("# Those above")
        .expect("the mark");
    assert_eq!(expand(families).len(), 1430);
    let found = named("libnvshmemrs_nvshmem.so");
    let missing: Vec<_> = expected.difference(&found).collect();
    let more: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "missing {missing:?}, more {more:?}"
    );
    // The core's own functions have the names of `nvshmemrs.h`.
    assert_eq!(named("libnvshmemrs.so"), BTreeSet::new());
    assert_eq!(named("libnvshmemrs_shmem.so"), BTreeSet::new());
}
