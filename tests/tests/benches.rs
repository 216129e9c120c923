//! The programs that measure what a layer costs, which no other test runs: they compile.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::{HANG, run, workspace};
use std::process::Command;

#[test]
fn the_bench_of_cxx_compiles() {
    let source = workspace().join("bindings/cpp/bench/layer.cpp");
    compile_as(&source, "bench-cxx", &["-O0", "-g0"]);
}

#[test]
fn the_bench_of_julia_in_c_compiles() {
    let source = workspace().join("perf/julia/cost.c");
    compile_as(&source, "bench-julia", &[]);
}

#[test]
fn the_bench_of_fortran_compiles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bench = workspace().join("bindings/fortran/bench");
    let object = folder.path().join("c_put.o");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(workspace().join("include")).arg("-c");
    compiler.arg(bench.join("c_put.c")).arg("-o").arg(&object);
    run(&mut compiler, HANG).assert_success();
    let object = object.to_str().expect("a path in UTF-8");
    compile_as(&bench.join("put.f90"), "bench-fortran", &[object]);
}
