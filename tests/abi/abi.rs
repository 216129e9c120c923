//! The C ABI, as programs meet it: symbols, SONAME, layouts, the header by itself, and a library that brings and says nothing
//! that nobody asked for.

mod baseline;

use nvshmemrs_tests::{HANG, compile_c, job, launcher, library, program, run, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The output of a tool of binutils or libc about the library.
#[track_caller]
fn tool(name: &str, args: &[&str]) -> String {
    let found = Command::new(name).arg("--version").output();
    assert!(
        found.is_ok(),
        "the program `{name}` is missing: `cargo xtask test` sets it up"
    );
    let mut command = Command::new(name);
    command.args(args).arg(library()).env("LC_ALL", "C");
    let output = run(&mut command, HANG).succeeded();
    output.stdout
}

/// The functions that the header declares, each with its declaration.
fn statements(header: &str) -> Vec<(String, String)> {
    let code: String = header
        .lines()
        .filter(|line| {
            let line = line.trim_start();
            !["//", "#", "extern \"C\""]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .collect::<Vec<_>>()
        .join("\n");
    code.split(';')
        .filter(|statement| !statement.contains("typedef"))
        .filter_map(|statement| {
            let name = statement.split_once('(')?.0.split_whitespace().last()?;
            let name = name.trim_start_matches('*');
            let known = name.starts_with("nvshmemrs_");
            known.then(|| (name.to_string(), statement.to_string()))
        })
        .collect()
}

/// The functions that the header declares, each once.
fn declared() -> BTreeSet<String> {
    let header = fs::read_to_string(workspace().join("include/nvshmemrs.h")).expect("the header");
    let mut once = BTreeSet::new();
    for (function, _) in statements(&header) {
        assert!(
            once.insert(function.clone()),
            "{function} is declared twice"
        );
    }
    once
}

/// Every thread of the program pays for it, out of its stack.
#[test]
fn the_library_takes_at_most_a_kibibyte_of_thread_local_storage() {
    let text = tool("readelf", &["-lW"]);
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("TLS "));
    let line = line.expect("the library has thread-local storage");
    let bytes = line.split_whitespace().nth(5).expect("MemSiz");
    let bytes = u64::from_str_radix(bytes.trim_start_matches("0x"), 16).expect("a number");
    assert!(bytes <= 1024, "{bytes} bytes: {line}");
}

#[test]
fn exported_symbols_are_the_functions_of_the_header() {
    let text = tool("nm", &["-D", "--defined-only"]);
    let mut functions = BTreeSet::new();
    for line in text.lines() {
        let [_, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("a line of nm that is no symbol: {line:?}");
        };
        assert_eq!(kind, "T", "an exported symbol that is no function: {line}");
        functions.insert(name.to_string());
    }
    let declared = declared();
    assert!(
        declared.len() > 150,
        "the header was not understood: {declared:?}"
    );
    let missing: Vec<_> = declared.difference(&functions).collect();
    let stray: Vec<_> = functions.difference(&declared).collect();
    assert!(missing.is_empty(), "declared but not exported: {missing:?}");
    assert!(stray.is_empty(), "exported but not declared: {stray:?}");
}

/// Where a function lies in its first cache line changes the time of a call of a few nanoseconds by a tenth. So each begins one, and
/// no change elsewhere in the library makes such a call slower.
#[test]
fn functions_begin_a_cache_line() {
    let text = tool("nm", &["-D", "--defined-only"]);
    let mut functions = 0;
    for line in text.lines() {
        let address = line.split_whitespace().next().unwrap_or_default();
        let address = u64::from_str_radix(address, 16).expect("an address in hexadecimal digits");
        assert_eq!(address % 64, 0, "{line}");
        functions += 1;
    }
    assert!(functions > 150, "only {functions} functions: {text}");
}

#[test]
fn the_soname_carries_the_abi_number() {
    let text = tool("readelf", &["--dynamic", "--wide"]);
    assert!(
        text.contains("Library soname: [libnvshmemrs.so.0]"),
        "{text}"
    );
}

#[test]
fn the_library_needs_only_what_every_system_has() {
    const ALLOWED: [&str; 8] = [
        "linux-vdso.so",
        "libc.so",
        "libm.so",
        "libgcc_s.so",
        "ld-linux",
        // Parts of libc before glibc 2.34.
        "libpthread.so",
        "libdl.so",
        "librt.so",
    ];
    let text = tool("ldd", &[]);
    let others: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            let name = first.rsplit('/').next().unwrap_or_default();
            !ALLOWED.iter().any(|allowed| name.starts_with(allowed))
        })
        .collect();
    assert!(others.is_empty(), "{others:?}\n{text}");

    let undefined = tool("nm", &["-D", "--undefined-only"]);
    for line in undefined.lines() {
        let name = line.split_whitespace().last().unwrap_or_default();
        let foreign = ["cu", "MPI_", "PMI", "shmem_", "ompi_", "nccl"];
        assert!(
            !foreign.iter().any(|prefix| name.starts_with(prefix)),
            "the library needs {name} of another library"
        );
    }
}

#[test]
fn the_library_and_the_header_have_the_same_structs() {
    let program = compile_c(&program("layout.c"));
    let output = run(&mut job::clean(&program), HANG);
    output.assert_success().assert_stdout("same");
}

/// Compiles the header, twice in one program, as one language and without anything else.
#[track_caller]
fn header_alone(compiler: &str, standard: &str, extension: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(format!("{name}.{extension}"));
    let first = "#include <nvshmemrs.h>\n#include <nvshmemrs.h>\nint main(void) { return nvshmemrs_api_hash() != NVSHMEMRS_API_HASH; }\n";
    let second = "#include <nvshmemrs.h>\nuint32_t other(void);\nuint32_t other(void) { return nvshmemrs_abi_version(); }\n";
    fs::write(path("first"), first).expect("a source file");
    fs::write(path("second"), second).expect("a source file");
    let program = folder.path().join("program");
    let mut command = Command::new(compiler);
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    command.arg(workspace().join("include"));
    command.args([path("first"), path("second"), library()]);
    command.arg("-o").arg(&program);
    run(&mut command, HANG).assert_success();

    // The library under the name that the loader looks for.
    let link = folder.path().join("libnvshmemrs.so.0");
    std::os::unix::fs::symlink(library(), link).expect("a link");
    let mut command = job::clean(&program);
    command.env("LD_LIBRARY_PATH", folder.path());
    run(&mut command, HANG).assert_success();
}

#[test]
fn the_header_alone_is_c11() {
    header_alone("cc", "-std=c11", "c");
}

#[test]
fn the_header_alone_is_cxx17() {
    header_alone("c++", "-std=c++17", "cpp");
}

/// Runs `programs/quiet.c`; returns its standard output and standard error.
#[track_caller]
fn said(program: &Path, args: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let mut command = job::clean(program);
    command.args(args).envs(variables.iter().copied());
    let output = run(&mut command, HANG).succeeded();
    (output.stdout, output.stderr)
}

#[test]
fn the_library_says_nothing_unless_asked() {
    let program = compile_c(&program("quiet.c"));
    let nothing = (String::new(), String::new());
    assert_eq!(said(&program, &[], &[]), nothing);
    for wrong in [
        ("NVSHMEMRS_UNIQUE_ID", "garbage"),
        ("NVSHMEM_SYMMETRIC_SIZE", "garbage"),
        ("NVSHMEMRS_MEMORY", "device"),
    ] {
        assert_eq!(said(&program, &["no_init"], &[wrong]), nothing, "{wrong:?}");
    }

    let mut command = launcher(3, &[]);
    command.arg(&program).stdin(Stdio::null());
    let output = run(&mut command, HANG).succeeded();
    assert_eq!((output.stdout, output.stderr), nothing);
}

#[test]
fn the_library_speaks_on_standard_error_when_asked() {
    let program = compile_c(&program("quiet.c"));
    let (stdout, stderr) = said(&program, &[], &[("NVSHMEM_DEBUG", "INFO")]);
    assert_eq!(stdout, "");
    assert!(stderr.contains("nvshmemrs [PE 0, pid "), "{stderr}");
    assert!(stderr.contains("joined; PEs in the job: 1"), "{stderr}");
    assert!(stderr.contains("finalized"), "{stderr}");
}
