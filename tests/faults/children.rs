//! A child of a PE inherits the variables of its job. When it calls init, it is told at once that the PE has joined already, and the job
//! goes on. No test here depends on a time: a child that waited for other PEs would wait longer than a test may take.

use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::rendezvous::BOOTSTRAP;
use nvshmemrs_tests::{HANG, Output, compile_c, job, launcher, program, run, spawn};
use std::path::PathBuf;
use std::process::Command;

fn parent() -> PathBuf {
    compile_c(&program("child.c"))
}

/// Nobody waits so long.
const PATIENCE: (&str, &str) = ("NVSHMEMRS_INIT_TIMEOUT", "1000");

/// The child of PE `who` got an error that says that its parent has joined, and how to start a child that is no PE; all PEs went on.
#[track_caller]
fn assert_told(output: &Output, who: u32, n_pes: u32, words: &[&str]) {
    output.assert_success();
    let told = format!("child: status {BOOTSTRAP}: ");
    let line = output
        .stdout
        .lines()
        .find(|line| line.starts_with("child: "));
    let line = line.unwrap_or_else(|| panic!("no child: {}", output.describe()));
    assert!(line.starts_with(&told), "{line}");
    let begin = format!("PE {who} of this job has joined already: it is pid ");
    for word in [&[begin.as_str(), "NVSHMEMRS_BOOTSTRAP=single"], words].concat() {
        assert!(line.contains(word), "no {word:?} in {line}");
    }
    output.assert_each(0..n_pes, |pe| format!("PE {pe} done\n"));
}

#[test]
fn a_child_of_any_pe_is_told_that_its_parent_has_joined() {
    let parent = parent();
    for (who, how) in [
        (0, "exec"),
        (1, "exec"),
        (0, "fork"),
        (1, "fork"),
        (0, "late"),
        (1, "late"),
    ] {
        let mut command = launcher(2, &[]);
        command.arg(&parent).args([&who.to_string(), how]);
        let output = run(command.env(PATIENCE.0, PATIENCE.1), HANG);
        assert_told(
            &output,
            who,
            2,
            &["NVSHMEMRS_PE, NVSHMEMRS_N_PES and NVSHMEMRS_UNIQUE_ID unset"],
        );
    }
}

#[test]
fn a_child_that_is_no_pe_of_the_job_has_a_job_of_its_own() {
    let parent = parent();
    let ways: [&[&str]; 2] = [
        &["NVSHMEMRS_BOOTSTRAP=single"],
        &["NVSHMEMRS_PE", "NVSHMEMRS_N_PES", "NVSHMEMRS_UNIQUE_ID"],
    ];
    for way in ways {
        let mut command = launcher(2, &[]);
        command.arg(&parent).args(["1", "exec"]).args(way);
        let output = run(command.env(PATIENCE.0, PATIENCE.1), HANG).succeeded();
        output.assert_stdout("child: one of 1\n");
    }
}

/// Two programs of one PE, one after the other, are two jobs.
#[test]
fn a_program_after_another_one_joins() {
    let mut command = launcher(2, &[]);
    let both = "\"$0\" 5 exec && \"$0\" 5 exec";
    command.args(["sh", "-c", both]).arg(parent());
    let output = run(command.env(PATIENCE.0, PATIENCE.1), HANG);
    output.assert_success().assert_times(4, "done\n");
}

#[test]
fn variables_of_other_launchers() {
    let parent = parent();
    let port = std::process::id().to_string();
    for (rank, size, more) in [
        ("RANK", "WORLD_SIZE", ("MASTER_PORT", port.as_str())),
        (
            "SLURM_PROCID",
            "SLURM_STEP_NUM_TASKS",
            ("SLURM_JOB_ID", port.as_str()),
        ),
        ("PMI_RANK", "PMI_SIZE", ("MPI_LOCALNRANKS", "2")),
    ] {
        let pes = (0..2).map(|pe: u32| {
            let mut command: Command = job::clean(&parent);
            command.args(["1", "exec"]).env(more.0, more.1);
            command.env(rank, pe.to_string()).env(size, "2");
            spawn(command.env(PATIENCE.0, PATIENCE.1))
        });
        let mut outputs = job::finish(pes.collect());
        outputs[0].assert_success();
        outputs[0].assert_stdout("PE 0 done\n");
        let output = outputs.remove(1);
        output.assert_stdout("PE 1 done\n");
        let line = output
            .stdout
            .lines()
            .find(|line| line.starts_with("child: "));
        let line = line.unwrap_or_else(|| panic!("no child: {}", output.describe()));
        for word in [
            "PE 1 of this job has joined already: it is pid ",
            &format!("{rank} and {size} unset"),
        ] {
            assert!(line.contains(word), "no {word:?} in {line}");
        }
    }
}

/// The child would wait in MPI for ranks that do not come.
#[test]
fn on_several_hosts() {
    for who in [0, 3] {
        let words = [parent().into(), who.to_string().into(), "exec".into()];
        let mut command = mpirun(
            &["-x", "NVSHMEMRS_INIT_TIMEOUT=1000"],
            &[host("a", 2), host("b", 2)],
            &words,
        );
        let output = run(&mut command, HANG * 3);
        assert_told(
            &output,
            who,
            4,
            &["OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE unset"],
        );
    }
}
