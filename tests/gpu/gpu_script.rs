//! `run_gpu_tests.py`, which a bundle has as `run-gpu-tests`, with the stand-in for libcuda and its four GPUs.

use nvshmemrs_tests::fakes::with_fakes;
use nvshmemrs_tests::{HANG, alive, bin_dir, interpreter, run, spawn, workspace};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SCRIPT: &str = "run-gpu-tests";
const RING: &str = "2 processes: ring, Rust";

/// A bundle of the programs that these tests run; `conformance` may be a shell script.
fn bundle(conformance: Option<&str>) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("tests")).expect("a folder");
    fs::copy(workspace().join("tests/gpu/run_gpu_tests.py"), at(SCRIPT)).expect("a copy");
    let link = |to: &Path, name| symlink(to, at(name)).expect("a link");
    fs::create_dir_all(at("share/nvshmemrs/gpu-tests")).expect("a folder");
    let package = workspace().join("tests/gpu/gpu_checks");
    link(&package, "share/nvshmemrs/gpu-tests/gpu_checks");
    link(&bin_dir(), "bin");
    link(Path::new(env!("CARGO_BIN_EXE_device")), "tests/device");
    match conformance {
        None => link(
            Path::new(env!("CARGO_BIN_EXE_conformance")),
            "tests/conformance",
        ),
        Some(text) => {
            let file = at("tests/conformance");
            fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("a script");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a script");
        }
    }
    folder
}

fn script(bundle: &TempDir, options: &[&str]) -> Command {
    let mut command = Command::new(interpreter(
        "NVSHMEMRS_PYTHON",
        ".venv/bin/python",
        "Python",
    ));
    with_fakes(&mut command)
        .arg(bundle.path().join(SCRIPT))
        .args(options)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("CUDA_VISIBLE_DEVICES");
    command
}

#[test]
fn checks_run_one_after_another_and_side_by_side() {
    let bundle = bundle(None);
    let names = [
        "ring, Rust",
        "more threads than GPUs",
        "*on one GPU: transfers",
    ];
    for side_by_side in [false, true] {
        let mut command = script(&bundle, &["--pes", "1", "--pes", "2", "--pes", "4"]);
        command.args(names.iter().flat_map(|name| ["--only", name]));
        if side_by_side {
            command.arg("--side-by-side");
        }
        let output = run(&mut command, 4 * HANG).succeeded();
        for name in ["1 processes: ring, Rust", RING, "4 processes: ring, Rust"] {
            output.assert_stdout(&format!("{name} ... ok "));
        }
        output.assert_stdout("4 GPUs, 6 checks, ");
        output.assert_stdout("\n6 passed, 0 failed of 6 checks in ");
    }
}

#[test]
fn what_fails_is_said_with_its_last_words() {
    let failing = bundle(Some("echo the last words; exit 3"));
    let output = run(&mut script(&failing, &["--pes", "2", "--only", RING]), HANG);
    output.assert_code(1);
    output.assert_stdout(&format!("{RING} ... FAILED "));
    output.assert_stdout("  status 3, not 0; the command: ");
    output.assert_stdout("  | the last words\n");
    output.assert_stdout("\n0 passed, 1 failed of 1 checks in ");

    // The program passes, but prints none of the required lines.
    let silent = bundle(Some("exit 0"));
    let output = run(&mut script(&silent, &["--pes", "2", "--only", RING]), HANG);
    output.assert_code(1);
    output.assert_stdout(r"ring ok PE \\d+ of 2 \\(Rust\\)' 0 times, not 2; the command: ");
}

#[test]
fn what_hangs_is_ended_at_its_limit() {
    let hanging = bundle(Some("echo begun; exec sleep 1000"));
    let options = ["--pes", "2", "--only", RING, "--limit", "5"];
    let output = run(&mut script(&hanging, &options), HANG);
    output.assert_code(1);
    output.assert_stdout("  not done after 5 s; the command: ");
    output.assert_stdout("  | begun\n");
}

/// The script ends all running checks, each of which had GPUs of its own.
#[test]
fn an_interrupt_ends_checks_that_run_side_by_side() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = format!(
        "echo $$ $CUDA_VISIBLE_DEVICES >>{}; exec sleep 1000",
        file.path().display()
    );
    let hanging = bundle(Some(&text));
    let mut script = spawn(
        script(
            &hanging,
            &["--pes", "2", "--only", "ring, Rust", "--side-by-side"],
        )
        .env("CUDA_VISIBLE_DEVICES", "1,0,3,2"),
    );
    let begun = script.until("processes that have begun", |_| {
        let begun = fs::read_to_string(file.path()).expect("a file");
        (begun.lines().count() == 4).then_some(begun)
    });
    let words = begun.lines().map(|line| line.split_once(' ').expect(line));
    let (pids, mut gpus): (Vec<u32>, Vec<&str>) = words
        .map(|(pid, gpus)| (pid.parse::<u32>().expect("a number"), gpus))
        .unzip();
    gpus.sort_unstable();
    // Two processes on two GPUs, and two on one of the others.
    assert_eq!(gpus, ["1,0", "1,0", "3", "3"]);
    script.signal(Signal::INT);
    let output = script.wait(Duration::from_secs(20));
    output.assert_code(130);
    output.assert_stderr("run-gpu-tests: interrupted");
    let begun = Instant::now();
    while pids.iter().any(|&pid| alive(pid)) {
        assert!(begun.elapsed() < HANG, "a PE is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}
