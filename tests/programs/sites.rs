//! Places in native programs: with any compiler options, an operation is named by the line that called it, or as nearly as the
//! program's symbols allow. The list of allocations (`NVSHMEMRS_TRACK=1`) shows them.

use nvshmemrs_tests::compile::{compile_as, compile_instrumented};
use nvshmemrs_tests::{
    HANG, Output, bin_dir, compile_c, interpreter, library, program, run, workspace,
};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program that leaves its allocations to the list.
#[track_caller]
fn listed(program: &Path) -> Output {
    listed_by(nvshmemrs_tests::job::clean(program))
}

#[track_caller]
fn listed_by(mut command: Command) -> Output {
    command.env("NVSHMEMRS_TRACK", "1").current_dir(workspace());
    run(&mut command, HANG).succeeded()
}

/// "malloc at tests/programs/sites.c:29 (make)": the line of a source that ends with a mark.
#[track_caller]
fn site(operation: &str, source: &Path, mark: &str, function: &str) -> String {
    let text = fs::read_to_string(source).expect("a source");
    let marks = [
        format!("# {mark}"),
        format!("/* {mark} */"),
        format!("// {mark}"),
        format!("! {mark}"),
    ];
    let line = text
        .lines()
        .position(|line| marks.iter().any(|mark| line.ends_with(mark)));
    let line = line.unwrap_or_else(|| panic!("no mark {mark} in {}", source.display())) + 1;
    let source = source
        .strip_prefix(workspace())
        .expect("a file of the checkout");
    format!("{operation} at {}:{line} ({function})", source.display())
}

#[track_caller]
fn assert_names(program: &Path, sites: &[String]) {
    let output = listed(program);
    for site in sites {
        output.assert_stderr(&format!(" {site}\n"));
    }
}

fn sites_in_c(source: &Path) -> [String; 3] {
    [
        site("malloc", source, "make", "make"),
        site("calloc", source, "thread", "thread"),
        site("malloc", source, "elsewhere", "make_elsewhere"),
    ]
}

#[test]
fn lines_in_c() {
    let source = program("sites.c");
    for optimised in ["-O0", "-O2"] {
        let name = format!("sites-c{optimised}");
        let program = compile_as(&source, &name, &["-DELSEWHERE", optimised]);
        assert_names(&program, &sites_in_c(&source));
    }
}

#[test]
fn lines_in_an_instrumented_program() {
    let source = program("sites.c");
    let program = compile_instrumented(&source, "sites-c-instrumented", &["-DELSEWHERE"]);
    assert_names(&program, &sites_in_c(&source));
}

#[test]
fn lines_in_a_shared_library() {
    let source = program("sites.c");
    let library = compile_as(
        &source,
        "libsites-elsewhere.so",
        &["-DELSEWHERE", "-DLIBRARY", "-shared", "-fPIC"],
    );
    let rpath = format!(
        "-Wl,-rpath,{}",
        library.parent().expect("a folder").display()
    );
    let library = library.to_str().expect("a path in UTF-8");
    let program = compile_as(
        &source,
        "sites-c-shared",
        &["-Wl,--no-as-needed", library, &rpath],
    );
    assert_names(&program, &sites_in_c(&source));
}

#[test]
fn lines_with_the_static_library() {
    let source = program("sites.c");
    let program = bin_dir().join("nvshmemrs-tests/sites-c-static");
    for options in [&["-g", "-O2"][..], &["-O2", "-s"]] {
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_GNU_SOURCE", "-DELSEWHERE", "-I"]);
        compiler.arg(workspace().join("include")).args(options);
        compiler.arg(&source).arg(library().with_extension("a"));
        compiler
            .args(["-lm", "-ldl", "-pthread", "-o"])
            .arg(&program);
        run(&mut compiler, HANG).assert_success();
        match options.contains(&"-s") {
            false => assert_names(&program, &sites_in_c(&source)),
            true => assert_offsets(&listed(&program), "sites-c-static+0x", 3),
        }
    }
}

#[test]
fn lines_in_cxx_are_those_of_the_program_and_not_of_the_layer() {
    let source = program("sites.cpp");
    for optimised in ["-O0", "-O2"] {
        let name = format!("sites-cpp{optimised}");
        let program = compile_as(&source, &name, &[optimised]);
        let sites = [
            site("malloc", &source, "make", "field::Maker::make"),
            site("calloc", &source, "fill", "field::fill<long>"),
            site("calloc", &source, "hold", "field::hold"),
        ];
        assert_names(&program, &sites);
    }
}

#[test]
fn lines_in_fortran() {
    assert_names_fortran("sites", "malloc");
}

#[test]
fn lines_in_fortran_are_those_of_the_program_and_not_of_the_layer() {
    assert_names_fortran("sites_typed", "calloc");
}

/// Sections with gaps pass a private procedure of the layer.
#[test]
fn lines_of_sections_in_fortran_are_those_of_the_program_and_not_of_the_layer() {
    let source = program("sites_sections.f90");
    for optimised in ["-O0", "-O2"] {
        let name = format!("sites_sections-f90{optimised}");
        let program = compile_as(&source, &name, &[optimised]);
        let mut command = nvshmemrs_tests::job::clean(program);
        command
            .env("NVSHMEM_DEBUG", "WARN")
            .current_dir(workspace());
        let output = run(&mut command, HANG).succeeded();
        for (operation, mark, function) in [("iput", "send", "send"), ("ibget", "main", "sites")] {
            let site = site(operation, &source, mark, function);
            output.assert_stderr(&format!(" nvshmemrs_{site} failed with status 12"));
        }
    }
}

/// A program with a call in its subroutine `make` and one in itself.
#[track_caller]
fn assert_names_fortran(stem: &str, inside: &str) {
    let source = program(&format!("{stem}.f90"));
    for optimised in ["-O0", "-O2"] {
        let program = compile_as(&source, &format!("{stem}-f90{optimised}"), &[optimised]);
        let sites = [
            site(inside, &source, "make", "make"),
            site("calloc", &source, "main", "sites"),
        ];
        assert_names(&program, &sites);
    }
}

/// A program that is interpreted, or compiled as it goes: one call is in a function, the other one is not.
#[track_caller]
fn assert_names_scripts(interpreter: OsString, file: &str, [inside, outside]: [&str; 2]) {
    let source = program(file);
    let mut command = nvshmemrs_tests::job::clean(interpreter);
    command.arg(&source).env("NVSHMEMRS_LIBRARY", library());
    let output = listed_by(command);
    let outside = site(outside, &source, "main", "");
    output.assert_stderr(&format!(" {}\n", site(inside, &source, "make", "make")));
    output.assert_stderr(&format!(" {}\n", outside.trim_end_matches(" ()")));
}

#[test]
fn lines_in_python() {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    assert_names_scripts(python, "sites.py", ["array"; 2]);
}

#[test]
fn lines_in_julia() {
    let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
    assert_names_scripts(julia, "sites.jl", ["malloc", "calloc"]);
}

#[test]
fn symbols_without_debug_information() {
    let source = program("sites.c");
    let program = compile_as(&source, "sites-c-symbols", &["-DELSEWHERE", "-g0"]);
    let output = listed(&program);
    for site in [
        "malloc at make+0x",
        "calloc at thread+0x",
        "malloc at make_elsewhere+0x",
    ] {
        output.assert_stderr(site);
    }
    assert_offsets(&output, " in ", 3);

    let source = self::program("sites.cpp");
    let program = compile_as(&source, "sites-cpp-symbols", &["-g0", "-O0"]);
    listed(&program).assert_stderr("malloc at field::Maker::make+0x");
}

#[test]
fn modules_without_symbols() {
    let source = program("sites.c");
    let program = compile_as(&source, "sites-c-stripped", &["-DELSEWHERE", "-g0", "-s"]);
    assert_offsets(&listed(&program), "sites-c-stripped+0x", 3);
}

/// So many lines of the list name a place in the program by a number.
#[track_caller]
fn assert_offsets(output: &Output, text: &str, count: usize) {
    let lines = output.stderr.lines().filter(|line| line.contains(" at "));
    let named = lines.filter(|line| line.contains(text) && line.contains("+0x"));
    assert_eq!(named.count(), count, "{}", output.describe());
}

#[test]
fn without_the_setting_nothing_is_said() {
    let program = compile_c(&program("sites.c").with_file_name("finalize.c"));
    let output = run(&mut nvshmemrs_tests::job::clean(program), HANG);
    assert_eq!(output.assert_success().stderr, "");
}
