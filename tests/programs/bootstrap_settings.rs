//! Errors of a PE for invalid settings, for invalid variables of a launcher, and for missing memory.

use nvshmemrs_tests::rendezvous::{BOOTSTRAP, assert_refused, assert_worked, joiner};
use nvshmemrs_tests::{HANG, Output, job, run};
use std::fs;

const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;
const NOT_SUPPORTED: i32 = 3;
const PE_RANGE: i32 = 12;

/// Runs the program alone, with these variables.
#[track_caller]
fn with(variables: &[(&str, &str)]) -> Output {
    let mut command = job::clean(joiner());
    command.arg("env").envs(variables.iter().copied());
    run(&mut command, HANG)
}

const GARBAGE: [&str; 6] = ["-1", "1e99", "99999999999g", "q", "1.5.5", "0x10"];

#[test]
fn garbage_in_the_heap_size() {
    for value in GARBAGE.into_iter().chain(["0", " ", "m"]) {
        let output = with(&[("NVSHMEM_SYMMETRIC_SIZE", value)]);
        let words = ["NVSHMEM_SYMMETRIC_SIZE", &format!("\"{value}\""), "64m"];
        assert_refused(&output, INVALID_VALUE, &words);
    }
    // As everywhere in the environment, empty is as good as not set.
    assert_worked(&[with(&[("NVSHMEM_SYMMETRIC_SIZE", "")])]);
}

#[test]
fn garbage_in_the_launchers_numbers() {
    let id = job::unique_id().to_hex();
    let id = ("NVSHMEMRS_UNIQUE_ID", id.as_str());
    for value in GARBAGE.into_iter().chain(["3"]) {
        let output = with(&[id, ("NVSHMEMRS_PE", value), ("NVSHMEMRS_N_PES", "3")]);
        let number = value.parse::<i32>().is_ok();
        let status = if number { PE_RANGE } else { INVALID_VALUE };
        assert_refused(&output, status, &["`NVSHMEMRS_PE`", value]);
    }
    for value in GARBAGE.into_iter().chain(["0", "1000000"]) {
        let output = with(&[id, ("NVSHMEMRS_PE", "0"), ("NVSHMEMRS_N_PES", value)]);
        assert_refused(&output, INVALID_VALUE, &["`NVSHMEMRS_N_PES`", value]);
    }
    for value in ["-1", "3", "x"] {
        let output = with(&[("RANK", value), ("WORLD_SIZE", "3"), ("MASTER_PORT", "1")]);
        let number = value.parse::<i32>().is_ok();
        let status = if number { PE_RANGE } else { INVALID_VALUE };
        assert_refused(&output, status, &["`RANK`", value]);
    }
    for missing in ["NVSHMEMRS_PE", "NVSHMEMRS_N_PES"] {
        let there = if missing == "NVSHMEMRS_PE" {
            "NVSHMEMRS_N_PES"
        } else {
            "NVSHMEMRS_PE"
        };
        let output = with(&[id, (there, "1")]);
        assert_refused(&output, BOOTSTRAP, &["NVSHMEMRS_UNIQUE_ID", missing]);
        // Empty counts as not set.
        let output = with(&[id, (there, "1"), (missing, "")]);
        assert_refused(&output, BOOTSTRAP, &["NVSHMEMRS_UNIQUE_ID", missing]);
    }
    for launcher in nvshmemrs::LAUNCHERS {
        assert_worked(&[with(&[(launcher.rank, ""), (launcher.size, "3")])]);
        assert_worked(&[with(&[(launcher.rank, "0"), (launcher.size, "")])]);
    }
}

#[test]
fn garbage_in_the_unique_id() {
    let numbers = [("NVSHMEMRS_PE", "0"), ("NVSHMEMRS_N_PES", "1")];
    let (zeros, letters) = ("0".repeat(256), "g".repeat(256));
    let own = job::unique_id().to_hex();
    let long = format!("{own}00");
    let shorter = &own[..254];
    for value in GARBAGE
        .into_iter()
        .chain(["0", &zeros, &letters, &long, shorter])
    {
        let output = with(&[numbers[0], numbers[1], ("NVSHMEMRS_UNIQUE_ID", value)]);
        assert_refused(&output, INVALID_VALUE, &["NVSHMEMRS_UNIQUE_ID"]);
    }
    // A PE that has lost its id must not quietly become a job of its own.
    let output = with(&[
        numbers[0],
        ("NVSHMEMRS_N_PES", "2"),
        ("NVSHMEMRS_UNIQUE_ID", ""),
    ]);
    assert_refused(&output, BOOTSTRAP, &["NVSHMEMRS_UNIQUE_ID"]);
}

#[test]
fn garbage_in_the_other_settings() {
    for (name, value) in [
        ("NVSHMEMRS_TIMEOUT", "soon"),
        ("NVSHMEMRS_TIMEOUT", "-1"),
        ("NVSHMEMRS_INIT_TIMEOUT", "0"),
        ("NVSHMEMRS_INIT_TIMEOUT", "a minute"),
        ("NVSHMEMRS_MEMORY", "disk"),
        ("NVSHMEMRS_BOOTSTRAP", "carrier pigeon"),
    ] {
        assert_refused(&with(&[(name, value)]), INVALID_VALUE, &[name, value]);
    }
    let device = with(&[("NVSHMEMRS_MEMORY", "device")]);
    assert_refused(&device, NOT_SUPPORTED, &["NVSHMEMRS_MEMORY"]);
    let output = with(&[("NVSHMEMRS_BOOTSTRAP", "slurm")]);
    assert_refused(&output, BOOTSTRAP, &["NVSHMEMRS_BOOTSTRAP", "SLURM_PROCID"]);
}

/// Allocates `bytes` on each of two PEs, which must fail with these words; then the job goes on.
#[track_caller]
fn too_much(heap: &str, bytes: u64, words: &[&str]) {
    let pes = job::start(joiner(), 2, |_, command| {
        command.args(["malloc", &bytes.to_string()]);
        command.env("NVSHMEM_SYMMETRIC_SIZE", heap);
    });
    for (pe, output) in job::finish(pes).iter().enumerate() {
        assert_refused(output, OUT_OF_MEMORY, words);
        output.assert_stdout(&format!("worked PE {pe} of 2\n"));
    }
}

#[test]
fn more_than_the_heap_holds() {
    let words = [
        "cannot hold 16777217 more bytes",
        "16777216 of 16777216 bytes are free",
        "largest block is 16777216",
        "NVSHMEM_SYMMETRIC_SIZE (or `attr.heap_bytes` at init) must be",
    ];
    // A heap has 1 MiB more than is asked for.
    too_much("15m", (16 << 20) + 1, &words);
}

#[test]
fn more_than_the_machine_has() {
    let text = fs::read_to_string("/proc/meminfo").expect("the machine's memory");
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .expect("a number");
    // Each PE alone would fit, in some memory at least; both do not.
    let each = kib * 1024 / 4 * 3;
    assert!(
        each < 1 << 40,
        "this test thinks that a machine has less than 1 TiB"
    );
    too_much(
        "1t",
        each,
        &["cannot back", &(2 * each).to_string(), "available"],
    );
    too_much(
        "1t",
        1 << 39,
        &["cannot back", &(1u64 << 40).to_string(), "2 PEs"],
    );
}
