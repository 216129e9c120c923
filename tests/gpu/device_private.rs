//! Collectives on private memory of GPUs against the stand-in for libcuda (`programs/fake_cuda.c`). Each test is a part of
//! `programs/device_private.c`.

use nvshmemrs_tests::fakes::part_passes;
use nvshmemrs_tests::{Output, compile_c, program};
use std::path::PathBuf;
use std::sync::LazyLock;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_private.c")));

fn output(part: &str, n: u32, options: &[&str]) -> Output {
    part_passes((&PROGRAM, "private", part), (n, options), &[])
}

/// With each number of PEs.
fn passes(part: &str, counts: &[u32]) {
    for n in counts {
        output(part, *n, &[]);
    }
}

nvshmemrs_tests::cases! {
    fn teams_with_less_staging_have_a_smaller_limit => passes("teams", &[2, 4]);
    fn a_graph_runs_with_the_contents_of_the_memory => passes("graph", &[3]);
    fn a_checked_job_takes_symmetric_memory_only => output("checked", 2, &["--check"]);
}

/// Each collective is one kernel whose data passes through staging memory; the members meet in no other kernel but the barriers of the test.
#[test]
fn every_element_is_where_it_belongs_and_no_other_is_written() {
    for n in [1, 2, 3] {
        let output = output("values", n, &[]);
        let kernels = output
            .stderr
            .lines()
            .filter_map(|line| line.split_once(": launch "));
        let (moving, others): (Vec<&str>, Vec<&str>) = kernels
            .map(|(_, kernel)| kernel)
            .partition(|kernel| kernel.contains("_flags") || kernel.contains("_lamport"));
        for algorithm in ["_flags", "_lamport"] {
            assert!(moving.iter().any(|kernel| kernel.contains(algorithm)));
        }
        let known = ["nvshmemrs_barrier", "nvshmemrs_signal"];
        let is_known = |kernel: &&str| known.iter().any(|name| kernel.starts_with(name));
        assert!(others.iter().all(is_known), "{others:?}");
    }
}

#[test]
fn a_timeline_takes_them_like_others() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("trace.json");
    let file = file.to_str().expect("a path");
    output("values", 2, &[&format!("--trace={file}")]);
}

#[test]
fn other_memory_and_larger_sizes_are_refused_and_the_next_call_works() {
    passes("refused", &[1, 3]);
    passes("unmapped", &[1]);
}

#[test]
fn members_that_differ_get_an_error() {
    passes("counts", &[2]);
    passes("one_too_large", &[3]);
}
