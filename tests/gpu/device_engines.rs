//! Collectives by copy engines against the stand-in for libcuda (`programs/fake_cuda.c`). Each test is a part of
//! `programs/device_engines.c`.

use nvshmemrs_tests::fakes::part_passes;
use nvshmemrs_tests::{Output, compile_c, program};
use std::path::PathBuf;
use std::sync::LazyLock;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_engines.c")));

fn passes(part: &str, n: u32, settings: &[(&str, &str)]) -> Output {
    part_passes((&PROGRAM, "engines", part), (n, &[]), settings)
}

/// Only an exchange in place takes a kernel.
#[test]
fn every_byte_is_where_it_belongs_and_no_other_is_written() {
    for n in [2, 3] {
        let output = passes("values", n, &[]);
        let launched = |kernel: &str| output.stderr.contains(&format!("launch {kernel} "));
        assert!(launched("nvshmemrs_barrier"), "{}", output.describe());
        assert!(launched("nvshmemrs_alltoall"), "{}", output.describe());
        for kernel in ["nvshmemrs_fcollect", "nvshmemrs_broadcast"] {
            assert!(!launched(kernel), "{}", output.describe());
        }
    }
}

nvshmemrs_tests::cases! {
    fn a_graph_has_the_copies_between_its_kernels => passes("graph", 3, &[]);
    /// The error of a driver that fails in the middle of a collective is no reason to unmap memory that a copy uses.
    fn a_copy_that_began_ends_before_its_memory_is_released => passes("unfinished", 2, &[]);
    /// The stand-in is as the driver in this.
    fn a_wait_for_an_event_is_for_the_record_of_that_time => passes("recorded_again", 1, &[]);
}

/// Also where streams share queues, of which there are enough.
#[test]
fn collectives_of_several_teams_do_not_wait_for_each_other() {
    passes("teams", 3, &[]);
    let queues = [
        ("FAKE_CUDA_QUEUES", "1"),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "32"),
    ];
    passes("teams", 2, &queues);
}

/// A member that calls something else, or chooses otherwise, ends the collective with an error for all.
#[test]
fn members_that_differ_get_an_error() {
    passes("operations", 2, &[]);
    passes("algorithms", 2, &[]);
}
