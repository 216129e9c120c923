//! NVSHMEM's names in kernels (`nvshmem.h`), without a GPU. The kernels of the tests of `nvshmemrs_device.cuh` run on the CPU under these
//! names, too. A program of two units and a library runs on the CPU; nvcc, NVRTC and clang compile it.

use nvshmemrs_tests::compile::{accepts, compile_as, compile_to, programs, write_changed};
use nvshmemrs_tests::fakes::fakes;
use nvshmemrs_tests::kernels::{
    self, SLOW, STANDARD_TYPES, assert_nothing_undefined, nvcc, ptx, toolkit,
};
use nvshmemrs_tests::names::expand;
use nvshmemrs_tests::{HANG, Output, bin, bin_dir, launcher, program, run, workspace};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kernels get the state by a constant, so they have arguments that they do not use.
const NAMES: [&str; 2] = ["-DNVSHMEM_NAMES", "-Wno-unused-parameter"];

/// The same values, neighbours and other PEs as for our own names.
fn passes(name: &str, options: &[&str], counts: &[u32]) {
    let options = [&NAMES[..], options].concat();
    let file = kernels::on_the_host(name, &format!("nvshmem-kernels-{name}"), &options);
    kernels::passes(name, &file, counts);
}

nvshmemrs_tests::cases! {
    /// The kernels call the functions of the bitcode, each of which calls the name.
    fn memory_access_signals_atomics_and_queue_pairs =>
        passes("rma", &["-DNVSHMEM_BITCODE"], &[2, 3]);
    fn waits_and_tests => passes("waits", &[], &[2, 3]);
    fn collectives => passes("collectives", &[], &[2, 3]);
    fn tiles => passes("tiles", &[], &[2]);
}

/// The program `units` for the CPU, and its library.
fn units() -> [PathBuf; 2] {
    let source = program("nvshmem/units.cpp");
    let folder = bin_dir();
    let library = bin("libnvshmemrs_nvshmem.so").display().to_string();
    let compiled = |unit: &str, options: &[&str]| {
        let all = ["-O0", "-g0", "-fno-strict-aliasing", "-fPIC", unit];
        let options: Vec<&str> = all.iter().chain(options).copied().collect();
        compile_as(&source, &format!("nvshmem-units{unit}"), &options)
    };
    let second = compiled("-DUNIT=1", &["-shared"]).display().to_string();
    let third = compiled("-DUNIT=2", &["-shared", "-Wl,--no-as-needed", &library]);
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let linked = ["-Wl,--no-as-needed", &second, &library, &rpath];
    [compiled("-DUNIT=0", &linked), third]
}

#[track_caller]
fn ok(output: &Output, what: &str, n: u32) {
    output.assert_success();
    output.assert_each(0..n, |pe| format!("units {what} ok PE {pe} of {n}\n"));
}

/// A job with the heap in host memory, which kernels on the CPU need, also where there is a GPU.
fn job(n: u32, file: &Path, arguments: &[&OsStr]) -> Output {
    let mut command = launcher(n, &[]);
    command.arg(file).args(arguments);
    command.env("NVSHMEMRS_MEMORY", "host");
    command.env("NVSHMEM_DEBUG", "WARN");
    run(&mut command, HANG)
}

/// Two units get the state in init; the library, in which the same functions are called, when it is opened; and again.
#[test]
fn units_of_a_program_and_of_a_library_get_the_state() {
    let [file, library] = units();
    for n in 1..=3 {
        let output = job(n, &file, &["run".as_ref(), library.as_ref()]);
        ok(&output, "run", n);
    }
    let exit = job(3, &file, &["exit".as_ref()]);
    assert_eq!(exit.code(), 7, "{}", exit.describe());
    for when in ["before", "after"] {
        let output = job(1, &file, &[when.as_ref()]).failed();
        output.assert_stdout("something that is no nvshmemrs_device_state_t");
    }
}

/// The errors that programs with the header get for a wrong combination of PEs, units and headers.
#[test]
fn units_that_cannot_get_the_state_are_refused() {
    let library = bin("libnvshmemrs_nvshmem.so").display().to_string();
    let options = [
        "-O0",
        "-fno-strict-aliasing",
        "-pthread",
        "-rdynamic",
        "-Wl,--no-as-needed",
        &library,
    ];
    let file = compile_as(
        &program("nvshmem/unit_errors.cpp"),
        "nvshmem-unit-errors",
        &options,
    );
    let on_cpu = |what: &str| job(1, &file, &[what.as_ref()]);
    let threads = on_cpu("threads").failed();
    threads.assert_stderr("are threads of one process");
    let version = on_cpu("version").failed();
    version.assert_stderr("whose state has version 77, and this library's state has version");
    let refused = on_cpu("refused").failed();
    refused.assert_stderr("the GPU was lost");
    on_cpu("late").assert_success();
    let module = on_cpu("module").succeeded();
    module.assert_stderr("nvshmemx_cumodule_init: the handle is NULL");
    let on_gpu = |what: &str| {
        let mut command = launcher(1, &[]);
        command
            .arg(&file)
            .arg(what)
            .env("NVSHMEMRS_MEMORY", "device");
        command.env("LD_LIBRARY_PATH", fakes());
        command.env("XDG_CACHE_HOME", fakes().join("cache"));
        command
    };
    for what in ["gpu", "module first", "launch first"] {
        run(&mut on_gpu(what), HANG).assert_success();
    }
    let mut other = on_gpu("gpu");
    other
        .env("FAKE_CUDA_OTHER_STATE", "1")
        .env("NVSHMEM_DEBUG", "WARN");
    let other = run(&mut other, HANG).succeeded();
    other.assert_stderr("the code is linked to the device library of NVIDIA's NVSHMEM");
}

/// nvcc takes the program with and without relocatable device code, and links it; clang's and NVRTC's checks are below.
#[test]
fn nvcc_compiles_and_links_units_and_a_library() {
    let folder = tempfile::tempdir().expect("a folder for objects");
    let source = program("nvshmem/units.cpp");
    for rdc in ["-rdc=false", "-rdc=true"] {
        let object = |unit: u32| programs().join(format!("unit{unit}{rdc}.o"));
        for unit in 0..3 {
            let mut command = nvcc();
            command.args([rdc, "-x", "cu", "-c", &format!("-DUNIT={unit}")]);
            compile_to(command, &object(unit), &[source.clone().into()]);
        }
        let link = |objects: &[PathBuf], options: &[&str], to: &str| {
            let mut command = nvcc();
            command
                .arg(rdc)
                .args(options)
                .args(objects)
                .arg("-L")
                .arg(bin_dir());
            command.args(["-lnvshmemrs_nvshmem", "-lnvshmemrs", "-o"]);
            run(command.arg(folder.path().join(to)), SLOW).assert_success();
        };
        // There is no driver to link.
        let all = "-Xlinker=--unresolved-symbols=ignore-all";
        link(&[object(0), object(1)], &[all], "units");
        link(&[object(2)], &["-shared"], "libunit2.so");
    }
    // The driver finds the state of a cubin by its name.
    let mut command = nvcc();
    command.args(["-x", "cu", "-cubin", "-DUNIT=3"]);
    let cubin = programs().join("module.cubin");
    compile_to(command, &cubin, &[source.into()]);
    let bytes = fs::read(&cubin).expect("the cubin");
    let name = b"\0nvshmemi_device_state_d\0";
    assert!(bytes.windows(name.len()).any(|part| part == name));
}

/// A multiprocessor has 65,536 registers, so a block of 1024 threads can be started if a thread has 64 of them. The kernels are those of
/// `run-gpu-bench --device`, of which two have such blocks.
#[test]
fn blocks_of_1024_threads_can_put() {
    let mut command = nvcc();
    command.args(["-cubin", "-Xptxas", "-v", "-o", "/dev/null"]);
    command.arg(workspace().join("perf/gpu/device_exchange.cu"));
    let output = run(&mut command, SLOW).succeeded();
    for kernel in ["_Z4ringPcmPmi", "_Z10all_to_allPcPKcmPmi"] {
        let (_, report) = output
            .stderr
            .split_once(&format!("entry function '{kernel}'"))
            .expect(kernel);
        let (_, used) = report.split_once("Used ").expect("a number of registers");
        let (used, _) = used.split_once(" registers").expect("registers");
        let registers: u32 = used.parse().expect("a number");
        assert!(registers <= 64, "{kernel} needs {registers} registers");
    }
}

/// Tiles of CUTLASS's own types, and of NVSHMEM's types as torch and others spell them.
#[test]
fn nvcc_compiles_tiles_of_cute_and_of_spelled_types() {
    let source = program("nvshmem/cute_tiles.cu");
    let cutlass = workspace().join(".venv/nvcc/cutlass_library/source/include");
    let mut command = nvcc();
    command.args(["--expt-relaxed-constexpr", "-ptx"]);
    for folder in [cutlass, toolkit().join("include/cccl")] {
        command.arg("-isystem").arg(folder);
    }
    let ptx = programs().join("cute_tiles.ptx");
    compile_to(command, &ptx, &[source.into()]);
    let ptx = fs::read_to_string(ptx).expect("the PTX");
    assert_eq!(ptx.matches(".entry").count(), 4);
}

/// Host code of a file that nvcc compiles may include the header alone, in older C++, too.
#[test]
fn host_compilers_take_the_headers_beside_cudas() {
    let source = programs().join("host.c");
    // As programs for NVSHMEM do, it relies on the headers that nvshmem.h includes: standard headers, CUDA's runtime, nvshmemx.h.
    let text = "#include <nvshmem.h>\n#ifdef __cplusplus\n#define ALLOCATED\n#else\n#define ALLOCATED (void **)\n#endif\n\
        int start(const void *f, dim3 g, void **a) { return nvshmemx_collective_launch(f, g, g, a, 0, 0); }\n\
        int *begin(const char *why) {\n\
            int *memory = NULL;\n\
            assert(strcmp(why, \"\") != 0);\n\
            if (nvshmemx_init_attr(0, NULL) || cudaMalloc(ALLOCATED &memory, sizeof *memory) != cudaSuccess) {\n\
                NVSHMEMI_ERROR_PRINT(\"%s: %d\", why, errno);\n\
                exit(1);\n\
            }\n\
            return memory;\n\
        }\n";
    write_changed(&source, text);
    for (compiler, options) in [
        ("gcc", ["-xc", "-std=c11"]),
        ("g++", ["-xc++", "-std=c++11"]),
        ("clang", ["-xc", "-std=c11"]),
        ("clang++", ["-xc++", "-std=c++20"]),
    ] {
        let mut command = Command::new(compiler);
        command
            .args(options)
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
        command
            .arg(workspace().join("include"))
            .arg("-isystem")
            .arg(toolkit().join("include"))
            .arg(&source);
        accepts(command, &format!("host-{compiler}"));
    }
}

/// All functions for three architectures, with the state under a name that the driver finds, also if several units are linked.
#[test]
fn nvrtc_compiles_every_name() {
    let mut text = format!(
        "{STANDARD_TYPES}#define NVSHMEM_NAMES\n#include <nvshmem.h>\n#include <nvshmemx.h>\n"
    );
    for kernels in [
        "rma.cuh",
        "qp.cuh",
        "waits.cuh",
        "collectives.cuh",
        "tile_types.cuh",
    ] {
        text += &format!("#include <{kernels}>\n");
    }
    text += "template __global__ void tiles_together<float, 2>(State, float *, float *, TileCase<2>, int, int);\n";
    text += "template __global__ void tile_types<float>(State, float *, float *, int, int, int);\n";
    for architecture in ["compute_80", "compute_90", "compute_100"] {
        let options = ["-DNVSHMEMRS_DEVICE_CALLS", "--Ofast-compile=max"];
        let ptx = ptx(&text, architecture, &options);
        assert_nothing_undefined(&ptx);
        assert!(
            ptx.contains(".const .align 8 .b8 nvshmemi_device_state_d[64]"),
            "no state"
        );
        assert!(ptx.contains(".entry"), "no kernel");
    }
    let linked = ptx(
        "#include <nvshmem.h>\n__global__ void k(int *d) { nvshmem_int_p(d, 1, 0); }\n",
        "sm_90",
        &["-rdc=true"],
    );
    assert!(
        linked.contains(".weak .const .align 8 .b8 nvshmemi_device_state_d[64]"),
        "{linked}"
    );
}

/// A put by this name is the code of a put by ours that gets its state from constant memory.
#[test]
fn a_put_costs_what_ours_costs() {
    let code = |names: &str, call: &str| -> Vec<String> {
        let text = format!(
            "{names}extern \"C\" __global__ void k(float *d, const float *s, unsigned long n) {{ {call} }}\n"
        );
        let ptx = ptx(&text, "sm_90", &[]);
        let (_, body) = ptx.split_once(".entry k(").expect("the kernel");
        let lines = body
            .lines()
            .map(|line| line.replace("nvshmemi_device_state_d", "state"));
        lines.collect()
    };
    let own = "#include <nvshmemrs_device.cuh>\n__constant__ nvshmemrs_device_state_t state;\n";
    let named = "#include <nvshmem.h>\n";
    for (ours, theirs) in [
        (
            "nvshmemrs_float_p(state, d, 3, 1);",
            "nvshmem_float_p(d, 3, 1);",
        ),
        (
            "nvshmemrs_float_put_block(state, d, s, n, 1);",
            "nvshmemx_float_put_block(d, s, n, 1);",
        ),
        (
            "nvshmemrs_barrier_all_block(state);",
            "nvshmemx_barrier_all_block();",
        ),
    ] {
        assert_eq!(code(own, ours), code(named, theirs), "{theirs}");
    }
}

/// clang parses host code while it compiles for a GPU. Of CUDA's headers it needs only the files in `bindings/bitcode/include`.
#[test]
fn clang_compiles_both_sides() {
    let source = program("nvshmem/units.cpp");
    for unit in ["-DUNIT=1", "-DUNIT=3"] {
        for side in ["--cuda-device-only", "--cuda-host-only"] {
            let mut command = Command::new("clang++");
            command.args([
                "-xcuda",
                "-nocudainc",
                "-nocudalib",
                "--cuda-gpu-arch=sm_80",
                "-std=c++17",
            ]);
            command.args([
                "-Wall",
                "-Werror",
                "-S",
                "-o",
                "/dev/null",
                side,
                unit,
                "-include",
                "cuda_runtime.h",
            ]);
            command
                .arg("-I")
                .arg(workspace().join("bindings/bitcode/include"))
                .arg("-I")
                .arg(workspace().join("include"))
                .arg(&source);
            accepts(command, &format!("units-clang{unit}{side}"));
        }
    }
}

/// `#include <nvshmem.h>` of kernels: the names that the header has.
fn defined() -> BTreeSet<String> {
    let header =
        fs::read_to_string(workspace().join("include/nvshmem_device.cuh")).expect("the header");
    let names = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define nvshmem"));
    let names = names.filter_map(|line| {
        line.split_once('(')
            .map(|(name, _)| format!("nvshmem{name}"))
    });
    names.collect()
}

/// The header has every function that NVSHMEM declares for kernels, and says of each other one why it is there.
#[test]
fn every_function_of_kernels_has_its_name() {
    let defined = defined();
    let wanted = expand(include_str!("../programs/nvshmem/device_names.txt"));
    let missing: Vec<&String> = wanted.difference(&defined).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let more: Vec<&String> = defined.difference(&wanted).collect();
    assert!(more.is_empty(), "not in the list: {more:?}");
    assert!(wanted.len() > 2700, "{}", wanted.len());
}
