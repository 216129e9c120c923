//! The checker with the heap in GPU memory: the host's calls and streams, with the stand-in for the driver.

use super::*;
use nvshmemrs_tests::fakes::with_fakes;

/// The exit status of a process that has not released all objects of the driver.
const LEAKED: i32 = 77;

fn on_gpus(n_pes: u32, seed: &str, words: &[OsString]) -> Command {
    let mut command = under_check(n_pes, seed, words);
    with_fakes(&mut command)
        .env("NVSHMEMRS_MEMORY", "device")
        .env("FAKE_CUDA_LEAKS", "1");
    command
}

/// The bugs of a program are found at their places, and nothing else. Mended, the program brings no report.
#[track_caller]
fn is_the_same_on_gpus(name: &str) {
    let program = Program::new(name);
    let n_pes = program.header.n_pes.unwrap_or(2);
    let output = run(&mut on_gpus(n_pes, "1", &program.words(false)), HANG * 2);
    output.assert_code(1);
    program.assert_found(&output);

    let output = run(&mut on_gpus(n_pes, "2", &program.words(true)), HANG * 2);
    assert_ne!(output.code(), LEAKED, "{}", output.describe());
    assert_silent(&output, n_pes, "2");
    let last = last_line(&output);
    let kernels = "kernels, and the order of streams of GPUs";
    assert!(last.contains(kernels), "{}", output.describe());
}

macro_rules! on_gpu_memory {
    ($($test:ident $name:literal)*) => { $(
        #[test]
        fn $test() {
            is_the_same_on_gpus($name);
        }
    )* };
}

// Programs that use symmetric memory by calls of the library only.
on_gpu_memory! {
    broadcast_early "broadcast_early.c"
    forwarded "forwarded.c"
    gather_source "gather_source.c"
    lapped "lapped.c"
    lock "lock.c"
    mixed "mixed.c"
    stream_late "stream_late.c"
    two_writers "two_writers.c"
}

/// The state of a checked job has a version that only kernels know which record their operations.
#[test]
fn the_state_of_a_checked_job_is_for_kernels_that_record_their_operations() {
    let text = r#"
        #include <nvshmemrs.h>
        #include <stdio.h>
        int main(void)
        {
            nvshmemrs_runtime_t rt;
            nvshmemrs_device_state_t state;
            if (nvshmemrs_init(NULL, &rt) != NVSHMEMRS_SUCCESS)
                return 2;
            if (nvshmemrs_device_state(rt, &state) != NVSHMEMRS_SUCCESS)
                return 3;
            printf("version %x\n", state.version);
            return nvshmemrs_finalize(rt) != NVSHMEMRS_SUCCESS;
        }
    "#;
    let program = compile_c_text("check-kernels", text);
    let output = run(&mut on_gpus(1, "1", &[program.into()]), HANG).succeeded();
    output.assert_stdout("version 10004\n");
}
