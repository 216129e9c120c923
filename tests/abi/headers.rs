//! Every public header by itself, twice in one file, under gcc and under clang: in each language and standard that it is for, with all
//! warnings as errors. Where there is no clang, its test is left out. `abi.rs` links and runs programs of `nvshmemrs.h`.

use nvshmemrs_tests::compile::{accepts, programs, write_changed};
use nvshmemrs_tests::{HANG, left_out, library, run, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Compilers may share the machine with all other tests.
const SLOW: Duration = Duration::from_secs(5 * HANG.as_secs());

const C11: &[&str] = &["-xc", "-std=c11"];
const CXX17: &[&str] = &["-xc++", "-std=c++17"];
const CXX20: &[&str] = &["-xc++", "-std=c++20"];
const CXX: &[&[&str]] = &[CXX17, CXX20];
/// Standards of the headers of OpenSHMEM's names.
const OLD: &[&[&str]] = &[
    C11,
    &["-xc", "-std=c17"],
    &["-xc++", "-std=c++11"],
    &["-xc++", "-std=c++14"],
    CXX17,
    CXX20,
    &["-xc++", "-std=c++2b"],
];

/// A header, and how a compiler must take it.
struct Header {
    /// From the root of the checkout.
    file: String,
    /// The headers that a program includes before.
    before: &'static str,
    /// The languages and standards.
    forms: &'static [&'static [&'static str]],
    options: &'static [&'static str],
}

/// A header of `include`.
fn of_c(
    file: &str,
    before: &'static str,
    forms: &'static [&'static [&'static str]],
    options: &'static [&'static str],
) -> Header {
    Header {
        file: format!("include/{file}"),
        before,
        forms,
        options,
    }
}

/// Where a kernel of CUDA is a function of C++, one type's memory may be another's.
const KERNELS: &[&str] = &["-fno-strict-aliasing"];

/// All public headers.
#[track_caller]
fn headers() -> Vec<Header> {
    let host = "nvshmemrs_device_host.hpp";
    let runtime = &["-Itests/programs/device/runtime"];
    let mut headers = vec![
        of_c("nvshmemrs.h", "", &[C11, CXX17, CXX20], &[]),
        of_c("nvshmemrs_plain_access.c", "", &[C11, CXX17, CXX20], &[]),
        of_c("shmem.h", "", OLD, &[]),
        of_c("shmemx.h", "", OLD, &[]),
        of_c("pshmem.h", "", OLD, &["-DNVSHMEMRS_SHMEM_NO_INLINE"]),
        of_c("mpp/shmem.h", "", OLD, &["-O2"]),
        of_c("nvshmem.h", "", OLD, &[]),
        of_c("nvshmemx.h", "", OLD, &[]),
        of_c("nvshmem_host.h", "", OLD, &[]),
        of_c(host, "", CXX, KERNELS),
        // The previous header includes this one.
        of_c("nvshmemrs_device.cuh", host, &[], KERNELS),
        // The headers for nvcc, which other compilers accept after the host's header.
        of_c("nvshmemrs_tile.cuh", host, CXX, KERNELS),
        of_c("nvshmemrs_qp.cuh", host, CXX, KERNELS),
        // nvshmem.h includes it behind the host's.
        of_c("nvshmem.h", host, CXX, KERNELS),
        of_c("nvshmem_device.cuh", host, &[], KERNELS),
        // CUDA's runtime is a stand-in.
        of_c("nvshmemrs_launch.cuh", "", CXX, runtime),
    ];
    let layer = "bindings/cpp/include/nvshmemrs";
    for file in files(layer) {
        headers.push(Header {
            file: format!("{layer}/{file}"),
            before: "",
            forms: CXX,
            options: &[],
        });
    }
    headers.push(Header {
        file: format!("{layer}/nvshmemrs.hpp"),
        before: "",
        forms: CXX,
        options: &["-fno-exceptions", "-fno-rtti"],
    });
    headers
}

/// The files of a folder of the checkout.
#[track_caller]
fn files(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(folder)).expect("a folder of headers");
    let entries = entries.map(|entry| entry.expect("a header"));
    let headers = entries.filter(|entry| entry.path().is_file());
    let names = headers.map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into()).collect()
}

#[test]
fn no_public_header_is_left_out() {
    let tested: BTreeSet<String> = headers().into_iter().map(|header| header.file).collect();
    let mut all = BTreeSet::new();
    for folder in ["include", "include/mpp", "bindings/cpp/include/nvshmemrs"] {
        all.extend(files(folder).iter().map(|file| format!("{folder}/{file}")));
    }
    assert_eq!(tested, all);
    assert!(all.len() > 18, "{all:?}");
}

/// Compiles all headers with `driver`, which takes C and C++.
#[track_caller]
fn accepts_all_headers(driver: &str) {
    let headers = headers();
    let accept = |index: usize, header: &Header| {
        let name = format!("header-{driver}-{index}");
        let source = programs().join(format!("{name}.source"));
        write_changed(&source, &program(header));
        for (number, form) in header.forms.iter().enumerate() {
            let mut compiler = Command::new(driver);
            compiler.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]);
            compiler.args(["-Iinclude", "-Ibindings/cpp/include"]);
            compiler.args(header.options).args(*form).arg(&source);
            compiler.current_dir(workspace());
            accepts(compiler, &format!("{name}-{number}"));
        }
    };
    // Two compilers at a time.
    std::thread::scope(|scope| {
        let accept = &accept;
        for half in [0, 1] {
            let own = headers.iter().enumerate();
            let own = own.filter(move |(index, _)| index % 2 == half);
            scope.spawn(move || own.for_each(|(index, header)| accept(index, header)));
        }
    });
}

/// A file that includes a header, twice, and nothing else that the header does not need.
fn program(header: &Header) -> String {
    let path = Path::new(&header.file);
    let include = |file: &str| format!("#include \"{file}\"\n");
    let itself = include(&workspace().join(path).to_string_lossy());
    let mut text = String::new();
    if !header.before.is_empty() {
        text += &include(header.before);
    }
    text += &itself;
    // A C file is no header: it defines functions, which must appear only once.
    if path.extension().is_some_and(|extension| extension != "c") {
        text += &itself;
    }
    text
}

#[test]
fn gcc_accepts_each_header_alone() {
    accepts_all_headers("gcc");
}

#[test]
fn clang_accepts_each_header_alone() {
    if Command::new("clang").arg("--version").output().is_err() {
        left_out("there is no clang; `cargo xtask setup`, run by root, installs it on Debian");
        return;
    }
    accepts_all_headers("clang");
}

/// `docs/checker.md` shows these two commands; a driver of C++ takes every file for one of C++.
#[test]
fn instrumented_programs_link_under_each_driver() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hooks = workspace().join("include/nvshmemrs_plain_access.c");
    for driver in ["gcc", "g++", "clang", "clang++"] {
        if Command::new(driver).arg("--version").output().is_err() {
            left_out(&format!("there is no {driver}"));
            continue;
        }
        let suffix = if driver.ends_with("++") { "cpp" } else { "c" };
        let source = folder.path().join(format!("{driver}.{suffix}"));
        fs::write(
            &source,
            "int main(int n, char **words) { return words[n] != 0; }\n",
        )
        .expect("a source file");
        let object = source.with_extension("o");
        let mut compile = Command::new(driver);
        compile.args(["-g", "-fsanitize=thread", "-c"]).arg(&source);
        run(compile.arg("-o").arg(&object), SLOW).assert_success();
        let mut link = Command::new(driver);
        link.arg("-I").arg(workspace().join("include"));
        link.arg(&object).arg(&hooks).arg(library());
        run(link.arg("-o").arg(source.with_extension("")), SLOW).assert_success();
    }
}
