//! `nvshmemrs-perf`, as a user sees it.

use nvshmemrs_tests::{HANG, Output, bin, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use tempfile::TempDir;

fn perf(args: &[&str]) -> Output {
    run(Command::new(bin("nvshmemrs-perf")).args(args), HANG)
}

fn scratch() -> TempDir {
    TempDir::new().expect("cannot make a folder")
}

#[test]
fn operations_are_measured_and_checked() {
    let folder = scratch();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, page, picture) = (file("p.json"), file("p.md"), file("p.svg"));
    let output = perf(&[
        "--quick",
        "--ops",
        "barrier,put,fetch_add",
        "-n",
        "2",
        "--sizes",
        "8,4K",
        "--json",
        &json,
        "--markdown",
        &page,
        "--picture",
        &picture,
    ]);
    output.assert_success();
    let read = |file: &str| fs::read_to_string(file).expect("a file was asked for");
    let report: serde_json::Value = serde_json::from_str(&read(&json)).expect("it is JSON");
    let rows = report["operations"].as_array().expect("a list of rows");
    let names: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["operation"].as_str().expect("a name"),
                row["bytes"].as_u64(),
            )
        })
        .collect();
    let expected = [
        ("put", Some(8)),
        ("put", Some(4096)),
        ("fetch_add", Some(8)),
        ("barrier", Some(0)),
    ];
    assert_eq!(names, expected);
    for row in rows {
        let ours = &row["ours"]["measured"];
        assert!(ours["us"].as_f64().is_some_and(|us| us > 0.0), "{row}");
        assert!(
            ours["iterations"].as_u64().is_some_and(|n| n >= 10),
            "{row}"
        );
        assert_eq!(
            (ours["rounds"].as_u64(), row["n_pes"].as_u64()),
            (Some(2), Some(2))
        );
        assert!(row["peer"].is_null() && row["ratio"].is_null(), "{row}");
    }
    output
        .assert_stdout("Put and get\n")
        .assert_stdout(" barrier");
    assert!(read(&page).contains("![time over size](p.svg)"));
    assert!(read(&picture).starts_with("<svg"));
    // Nothing but figures: progress is for terminals.
    assert_eq!(output.stderr, "");
}

/// Every operation of our side, once, in a job whose PEs share cores.
#[test]
fn every_operation_gives_right_results() {
    let sizes = ["--quick", "--rounds", "1", "--sizes", "8,1K", "-n", "3"];
    perf(&sizes).assert_success();
    let integers = [
        "--dtype",
        "int32",
        "--op",
        "xor",
        "--ops",
        "reduce,reducescatter,inscan,exscan",
    ];
    let output = perf(&[&sizes[..], &integers].concat());
    output.assert_success().assert_stdout("xor of int32");
}

#[test]
fn an_unknown_operation_names_the_known_ones() {
    let output = perf(&["--ops", "put,broadcats"]);
    output
        .assert_code(1)
        .assert_stderr("unknown operation `broadcats`")
        .assert_stderr("put, put_quiet, get");
}

#[test]
fn a_missing_compiler_of_the_peer_names_its_package() {
    // A PATH with a C compiler and nothing of a peer.
    let path = std::env::var_os("PATH").expect("PATH is set");
    let mut places = std::env::split_paths(&path).map(|place| place.join("cc"));
    let compiler = places.find(|file| file.is_file());
    let folder = scratch();
    symlink(
        compiler.expect("cc is missing: `cargo xtask test` sets it up"),
        folder.path().join("cc"),
    )
    .expect("cannot make a link");
    for (peer, compiler) in [("oshmem", "oshcc"), ("mpi", "mpicc")] {
        let mut command = Command::new(bin("nvshmemrs-perf"));
        command
            .args(["--ops", "p", "--peer", peer])
            .env("PATH", folder.path());
        let output = run(&mut command, HANG);
        output
            .assert_code(1)
            .assert_stderr(&format!("`{compiler}`"))
            .assert_stderr("libopenmpi-dev");
    }
}

#[test]
fn targets_need_their_peer() {
    perf(&["--targets"])
        .assert_code(1)
        .assert_stderr("--peer oshmem");
}

#[test]
fn the_list_names_every_operation() {
    let output = perf(&["--list"]).succeeded();
    for name in [
        "put_nbi",
        "p_pingpong",
        "compare_swap",
        "alltoalls",
        "exscan",
    ] {
        output.assert_stdout(&format!("  {name} "));
    }
}
