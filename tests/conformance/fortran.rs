//! The typed layer of Fortran: every kind, rank and operation; arrays; misuse; the program of its README; its versions.

use nvshmemrs_tests::compile::{compile_as, fortran_modules, fortran_sources};
use nvshmemrs_tests::{Output, compile_fortran, interpreter, launcher, library, run, workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A job of three PEs on two busy cores takes seconds.
const SLOW: Duration = Duration::from_secs(240);

fn source(name: &str) -> PathBuf {
    workspace()
        .join("tests/conformance/typed_fortran")
        .join(name)
}

#[track_caller]
fn job(program: &Path, n_pes: u32) -> Output {
    let mut command = launcher(n_pes, &[]);
    run(command.arg(program).env("NVSHMEMRS_TRACK", "1"), SLOW)
}

/// Each PE prints one line, and the list of unfreed allocations has these words.
#[track_caller]
fn passes(program: &Path, name: &str, counts: &[u32], left: &str) {
    for &n_pes in counts {
        let output = job(program, n_pes).succeeded();
        let lines = output.sorted_lines();
        let expected: Vec<String> = (0..n_pes)
            .map(|pe| format!("{name} ok PE {pe} of {n_pes} (Fortran)"))
            .collect();
        assert_eq!(lines, expected, "{}", output.describe());
        output.assert_stderr(left);
    }
}

#[test]
fn every_kind_with_every_rank_and_operation() {
    let folder = source("");
    let include = format!("-I{}", folder.display());
    let program = compile_as(&source("kinds.F90"), "fortran-kinds", &["-cpp", &include]);
    passes(&program, "kinds", &[2, 3], "everything is freed");
}

#[test]
fn symmetric_arrays() {
    for checked in [&[][..], &["-fcheck=all", "-O0"]] {
        let name = format!("fortran-arrays{}", checked.len());
        let program = compile_as(&source("arrays.f90"), &name, checked);
        passes(&program, "arrays", &[1, 2, 3], "everything is freed");
    }
}

#[test]
fn mistakes_come_back_by_stat_and_errmsg() {
    let program = compile_as(&source("misuse.f90"), "fortran-misuse", &[]);
    // The array that outlives the job is named with the line that made it.
    passes(&program, "misuse", &[2, 3], "misuse.f90:");
}

#[test]
fn a_finalize_that_fails_ends_the_job_unless_it_is_refused() {
    let program = compile_as(&source("ends.f90"), "fortran-ends", &[]);
    let mut command = launcher(2, &[]);
    let output = run(command.arg(program), SLOW).succeeded();
    output.assert_each(0..2, |pe| format!("ends ok PE {pe} of 2 (Fortran)"));
}

/// A library of another version: init names both.
#[test]
fn another_version_of_the_library_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, other) = (
        folder.path().join("other.c"),
        folder.path().join("other.so"),
    );
    // The loader finds these functions before the library's.
    let text = "unsigned nvshmemrs_abi_version(void) { return 77; }\n\
                unsigned long nvshmemrs_api_hash(void) { return 0x1234; }\n";
    fs::write(&source, text).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&other);
    run(compiler.arg(&source), SLOW).assert_success();

    let text = "program version\n  use nvshmemrs\n  call nvshmemrs_init()\n  print *, 'not reached'\nend program\n";
    let file = folder.path().join("fortran-version.f90");
    fs::write(&file, text).expect("a source file");
    let mut command = nvshmemrs_tests::job::clean(compile_fortran(&file));
    let output = run(command.env("LD_PRELOAD", &other), SLOW);
    assert!(!output.status.success(), "{}", output.describe());
    output.assert_stderr("libnvshmemrs has ABI version 77 and API hash 0x0000000000001234, but");
    output.assert_stderr("this program was compiled for version ");
    output.assert_no_stdout("reached");
}

#[test]
fn without_stat_an_error_stops_with_the_text_of_the_library() {
    let program = compile_as(&source("stops.f90"), "fortran-stops", &[]);
    let output = job(&program, 1);
    assert!(!output.status.success(), "{}", output.describe());
    output.assert_stderr("ERROR STOP argument `pe` is PE 1; it must be PE 0");
    output.assert_no_stdout("not reached");
}

#[test]
fn arrays_of_another_rank_or_kind_do_not_compile() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.f90");
    for (call, word) in [
        ("call nvshmemrs_put(field%values, row, 0)", "nvshmemrs_put"),
        (
            "call nvshmemrs_put(field%values(1, :), [1, 2], 0)",
            "nvshmemrs_put",
        ),
        (
            "call nvshmemrs_reduce(field%values, [1], NVSHMEMRS_OP_SUM)",
            "nvshmemrs_reduce",
        ),
        ("call field%allocate(3)", "columns"),
    ] {
        let text = format!(
            "program wrong\n  use nvshmemrs\n  implicit none\n  type(nvshmemrs_real64_array2) :: field\n  \
             real(kind(1d0)) :: row(2) = 0\n  print *, row\n  {call}\nend program wrong\n"
        );
        fs::write(&file, text).expect("a source file");
        let built = Command::new("gfortran")
            .arg("-fsyntax-only")
            .arg("-I")
            .arg(fortran_modules())
            .arg(&file)
            .output()
            .expect("gfortran runs");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(
            !built.status.success() && said.contains(word),
            "{call}: {said}"
        );
    }
}

/// Writes the first program of the README.
fn write_program_of_the_readme(file: &Path) {
    let readme = workspace().join("bindings/fortran/README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    let program = readme
        .split_once("```fortran\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("a program in the README")
        .0;
    fs::write(file, program).expect("a source file");
}

#[track_caller]
fn sends_around(program: &Path) {
    let output = job(program, 3).succeeded();
    for pe in 0..3 {
        let left = (pe + 2) % 3;
        output.assert_stdout(&format!(
            "PE {pe} of 3: the left neighbour sent {left}, and the sum is 3"
        ));
    }
}

/// As a reader would compile it.
#[test]
fn the_program_of_the_readme() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fortran-readme.f90");
    write_program_of_the_readme(&file);
    sends_around(&compile_fortran(&file));
}

/// A tool that the packages of `requirements-test.txt` bring, in `folder`.
#[track_caller]
fn tool(name: &str, folder: &Path) -> Command {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let file = Path::new(&python).with_file_name(name);
    assert!(
        file.is_file(),
        "{} is missing: `cargo xtask test` installs requirements-test.txt",
        file.display()
    );
    let mut tool = nvshmemrs_tests::job::clean(file);
    tool.current_dir(folder);
    tool
}

/// A project of a user's that depends on this one through CMake.
#[test]
fn a_project_with_cmake() {
    let folder = tempfile::tempdir().expect("a folder");
    write_program_of_the_readme(&folder.path().join("ring.f90"));
    let text = format!(
        "cmake_minimum_required(VERSION 3.18)\nproject(ring LANGUAGES Fortran)\n\
         add_subdirectory({} nvshmemrs)\nadd_executable(ring ring.f90)\n\
         target_link_libraries(ring PRIVATE nvshmemrs::fortran)\n",
        workspace().join("bindings/fortran").display()
    );
    fs::write(folder.path().join("CMakeLists.txt"), text).expect("a project");
    let mut configure = tool("cmake", folder.path());
    configure.args(["-S", ".", "-B", "build", "-DCMAKE_Fortran_FLAGS=-O0"]);
    configure.arg(format!("-Dnvshmemrs_LIBRARY={}", library().display()));
    run(&mut configure, SLOW).assert_success();
    let mut build = tool("cmake", folder.path());
    run(build.args(["--build", "build"]), SLOW).assert_success();
    sends_around(&folder.path().join("build/ring"));
}

/// A project of a user's that depends on this one through fpm.
#[test]
fn a_project_with_fpm() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("app")).expect("a folder");
    write_program_of_the_readme(&at("app/main.f90"));
    // fpm takes paths below the project.
    let link = std::os::unix::fs::symlink(workspace().join("bindings/fortran"), at("nvshmemrs"));
    link.expect("a link");
    let text = "name = \"ring\"\n[dependencies]\nnvshmemrs = { path = \"nvshmemrs\" }\n";
    fs::write(at("fpm.toml"), text).expect("a manifest");
    let libraries = library();
    let libraries = libraries.parent().expect("a folder").display().to_string();
    let flags = format!("-L{libraries} -Wl,-rpath,{libraries}");
    for verb in [&["build"][..], &["install", "--prefix", "out"]] {
        let mut fpm = tool("fpm", folder.path());
        fpm.args(verb)
            .args(["--flag", "-O0", "--link-flag", &flags]);
        run(&mut fpm, SLOW).assert_success();
    }
    sends_around(&at("out/bin/ring"));
}

/// FORD makes pages of all modules, with the text of their comments.
#[test]
fn ford_finds_no_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ford = tool("ford", &workspace().join("bindings/fortran"));
    let output = run(ford.args(["ford.md", "-o"]).arg(folder.path()), SLOW).succeeded();
    let said = (output.stdout.clone() + &output.stderr).to_lowercase();
    assert!(
        !said.contains("warning") && !said.contains("error"),
        "{}",
        output.describe()
    );
    let names = |of: &str| -> Vec<String> {
        let entries = fs::read_dir(folder.path().join(of)).expect("pages");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("a page").file_name();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    };
    let pages = names("module");
    for file in fs::read_dir(fortran_sources()).expect("the modules") {
        let file = file.expect("a module").path().with_extension("html");
        let name = file.file_name().expect("a name").to_string_lossy();
        assert!(pages.contains(&name.to_string()), "{name}: {pages:?}");
    }
    let put = names("interface")
        .into_iter()
        .filter(|name| name.starts_with("nvshmemrs_put"))
        .any(|name| {
            let page = fs::read_to_string(folder.path().join("interface").join(name));
            page.expect("a page")
                .contains("a local one of the same kind and")
        });
    assert!(put, "{:?}", names("interface"));
}

/// The manifests name the version of the workspace, and the Makefile all modules.
#[test]
fn the_manifests_are_those_of_this_version() {
    let folder = workspace().join("bindings/fortran");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("fpm.toml").contains(&format!("version = \"{version}\"")));
    assert!(read("CMakeLists.txt").contains(&format!("VERSION {version} ")));
    let makefile = read("Makefile");
    let modules = makefile
        .lines()
        .find_map(|line| line.strip_prefix("MODULES = "));
    let mut built: Vec<String> = modules
        .expect("the list of the modules")
        .split(' ')
        .map(|name| format!("nvshmemrs_{name}.f90"))
        .collect();
    built.push("nvshmemrs.f90".into());
    built.sort();
    let mut files: Vec<String> = fs::read_dir(fortran_sources())
        .expect("the modules")
        .map(|entry| {
            entry
                .expect("a module")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(built, files);
}
