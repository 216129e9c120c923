//! The programs of `examples/cuda`, compiled for the CPU: their kernels run on host memory, with PEs that are processes. Each checks its
//! own results. And the header that launches kernels whose blocks wait for each other, on a stand-in for CUDA's runtime.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::{launcher, program, run, workspace};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The machine may be busy, and each block is a thread.
const SLOW: Duration = Duration::from_secs(300);

#[track_caller]
fn example(name: &str, counts: &[u32]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join(format!("{name}.cpp"));
    let place = workspace().join("examples/cuda").join(format!("{name}.cu"));
    fs::write(&source, format!("#include \"{}\"\n", place.display())).expect("a source file");
    let file = compile_as(
        &source,
        &format!("example-{name}"),
        &["-fno-strict-aliasing"],
    );
    for &n in counts {
        let output = run(launcher(n, &[]).arg(&file), SLOW).succeeded();
        output.assert_each(0..n, |pe| format!("{name} ok PE {pe} of {n}: "));
    }
}

nvshmemrs_tests::cases! {
    fn a_message_goes_round_the_ring => example("ring", &[1, 3]);
    fn blocks_exchange_halos => example("heat", &[1, 2]);
    fn a_kernel_is_fed_while_it_runs => example("persistent", &[1, 2]);
    fn uneven_parts_are_exchanged => example("alltoallv", &[1, 3]);
}

#[test]
fn kernels_whose_blocks_meet_are_launched_together_or_not_at_all() {
    let stub = workspace().join("tests/programs/device/runtime");
    let options = [format!("-I{}", stub.display())];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let file = compile_as(&program("device/launch.cpp"), "device-launch", &options);
    let output = run(&mut Command::new(file), SLOW);
    output.assert_success().assert_stdout("launch ok");
}
