//! `include/nvshmemrs_device.cuh` without a GPU. NVRTC compiles all its functions. On the host they run against a model, with PEs that
//! are processes; `include/nvshmemrs_device_host.hpp` is the GPU then.

use nvshmemrs_generator::table::types::{Library, List, TAGS, Tag};
use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::{compile_c, launcher, program, run, workspace};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// Compilers may share the machine with all other tests.
const SLOW: Duration = Duration::from_secs(300);

/// The types that functions are there for, from the table that writes the standards' names. The header has lists of its own.
fn lists() -> String {
    let on = |list: List| move |tag: &&Tag| tag.on(list, Library::Nvshmem);
    let mut text = String::from("#pragma once\n#define SIZES(X) X(8) X(16) X(32) X(64) X(128)\n");
    let mut list = |name: &str, tags: Vec<&Tag>| {
        let row = |tag: &&Tag| {
            // Without CUDA's headers they are 16-bit integers.
            let c = match tag.name {
                "half" | "bfloat16" => "unsigned short",
                _ => tag.c,
            };
            format!(" X({}, {c})", tag.name)
        };
        let rows: String = tags.iter().map(row).collect();
        writeln!(text, "#define {name}(X){rows}").expect("a string");
    };
    list("RMA_TYPES", TAGS.iter().filter(on(List::Rma)).collect());
    list(
        "AMO_BITS_TYPES",
        TAGS.iter().filter(on(List::AtomicBits)).collect(),
    );
    let standard = |tag: &&Tag| on(List::Atomic)(tag) && !on(List::AtomicBits)(tag);
    list("AMO_STANDARD_TYPES", TAGS.iter().filter(standard).collect());
    let floats =
        |tag: &&Tag| on(List::AtomicMove)(tag) && !on(List::Atomic)(tag) || tag.name == "half";
    list("AMO_FLOAT_TYPES", TAGS.iter().filter(floats).collect());
    text
}

/// The folder with `lists.hpp`.
fn lists_folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder for a header");
        fs::write(folder.path().join("lists.hpp"), lists()).expect("cannot write a header");
        folder
    });
    folder.path()
}

/// Compiles one of the programs for the host.
fn on_the_host(name: &str) -> PathBuf {
    let source = program(&format!("device/{name}.cpp"));
    let folder = format!("-I{}", lists_folder().display());
    let options = ["-O0", "-fno-strict-aliasing", &folder];
    compile_as(&source, &format!("device-{name}"), &options)
}

/// A program passes with so many PEs.
fn passes(name: &str, counts: &[u32]) {
    let file = on_the_host(name);
    for &n in counts {
        let output = run(launcher(n, &[]).arg(&file), SLOW);
        output.assert_success();
        for pe in 0..n {
            output.assert_stdout(&format!("{name} ok PE {pe} of {n}\n"));
        }
    }
}

#[test]
fn memory_access_signals_and_atomics_do_what_they_say() {
    passes("rma", &[2, 3]);
}

/// NVRTC from `.venv`, where `cargo xtask images` installs it.
fn nvrtc_library() -> PathBuf {
    let wheels = fs::read_dir(workspace().join(".venv/lib"))
        .into_iter()
        .flatten()
        .flatten();
    let file = "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    let mut places = wheels.map(|one| one.path().join(file));
    let found = places.find(|place| place.exists());
    found.expect("no NVRTC in .venv: `cargo xtask images` installs it")
}

/// The PTX of a program.
#[track_caller]
fn ptx(text: &str, architecture: &str, options: &[&str]) -> String {
    static COMPILER: OnceLock<PathBuf> = OnceLock::new();
    let compiler = COMPILER.get_or_init(|| compile_c(&program("device/nvrtc.c")));
    let folder = tempfile::tempdir().expect("a folder for a program");
    let [source, result] = ["program.cu", "program.ptx"].map(|name| folder.path().join(name));
    fs::write(&source, text).expect("cannot write a program");
    let mut command = Command::new(compiler);
    command
        .arg(nvrtc_library())
        .args([&source, &result])
        .arg(architecture);
    for place in [
        workspace().join("include"),
        workspace().join("tests/programs/device"),
        lists_folder().into(),
    ] {
        command.arg(format!("-I{}", place.display()));
    }
    run(command.args(options), SLOW).assert_success();
    fs::read_to_string(&result).expect("the PTX")
}

/// What NVRTC lacks.
const STANDARD_TYPES: &str = "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t;\n\
     typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned uint32_t;\n\
     typedef long int64_t; typedef unsigned long uint64_t;\n";

/// Nothing has to be linked but what the driver has.
#[track_caller]
fn assert_nothing_undefined(ptx: &str) {
    let undefined = ptx.lines().filter(|line| line.contains(".extern"));
    let undefined: Vec<&str> = undefined.filter(|line| !line.contains("vprintf")).collect();
    assert!(undefined.is_empty(), "{undefined:?}");
}

#[test]
fn nvrtc_compiles_every_function() {
    for architecture in ["compute_80", "compute_90", "compute_100"] {
        for kernels in ["rma.cuh"] {
            let text =
                format!("{STANDARD_TYPES}#include <nvshmemrs_device.cuh>\n#include <{kernels}>\n");
            let ptx = ptx(&text, architecture, &["-DNVSHMEMRS_DEVICE_CALLS"]);
            assert_nothing_undefined(&ptx);
            assert!(ptx.contains(".entry"), "no kernel");
        }
    }
}

/// `__half` and `__nv_bfloat16` are named by their headers, before or after this one.
#[test]
fn half_and_bfloat16_may_be_cudas_own() {
    let own = "struct __half { unsigned short bits; __device__ __half() {} };\n\
         struct __nv_bfloat16 { unsigned short bits; __device__ __nv_bfloat16() {} };\n";
    let header = "#include <nvshmemrs_device.cuh>\n";
    let kernel = "extern \"C\" __global__ void k(nvshmemrs_device_state_t s, __half *h, __nv_bfloat16 *b) {\n\
         nvshmemrs_half_p(s, h, nvshmemrs_half_g(s, h, 1), 0);\n\
         nvshmemrs_half_put_block(s, h, h + 9, 9, 1);\n\
         nvshmemrs_half_atomic_add(s, h, *h, 1);\n\
         nvshmemrs_bfloat16_get_warp(s, b, b + 9, 9, 1);\n}\n";
    for text in [
        format!("{own}{header}{kernel}"),
        format!("{header}{own}{kernel}"),
    ] {
        assert_nothing_undefined(&ptx(&text, "sm_90", &[]));
    }
}
