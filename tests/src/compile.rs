//! Programs in C, C++ and Fortran, compiled against the checkout's headers and library. The Fortran modules are compiled once, by their
//! own Makefile, and again only when they change.
//!
//! Results lie in `nvshmemrs-tests` beside the built programs; a later run replaces them.

use crate::{HANG, bin, bin_dir, library, lock, run, workspace};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, Once};
use std::time::Duration;
use tempfile::TempDir;

const FORTRAN_ARCHIVE: &str = "libnvshmemrs_fortran.a";

/// Compiling all Fortran modules takes a quarter of a minute on an idle machine.
const BUILD: Duration = Duration::from_secs(600);

/// How long a compiler may take: it shares the machine with all other tests.
const SLOW: Duration = Duration::from_secs(5 * HANG.as_secs());

/// Compiles a C11 program; warnings are errors.
#[track_caller]
pub fn compile_c(source: &Path) -> PathBuf {
    compile_as(source, &default_name(source), &[])
}

/// Compiles a C11 program from its text, under a name that no other test uses.
#[track_caller]
pub fn compile_c_text(name: &str, text: &str) -> PathBuf {
    let folder = scratch();
    let source = folder.path().join(format!("{name}.c"));
    fs::write(&source, text).expect("cannot write a source file");
    compile_c(&source)
}

/// Compiles a shared library in C, which is linked with nothing of ours, under the name of its source.
#[track_caller]
pub fn compile_shared(source: &Path) -> PathBuf {
    let folder = scratch();
    let made = folder.path().join("shared.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]);
    run(compiler.arg(&made).arg(source), SLOW).assert_success();
    let kept = programs().join(format!("{}.so", default_name(source)));
    fs::rename(made, &kept).expect("cannot move what was compiled");
    kept
}

/// Compiles a C++17 program; warnings are errors.
#[track_caller]
pub fn compile_cxx(source: &Path) -> PathBuf {
    compile_as(source, &default_name(source), &[])
}

/// Compiles a Fortran program with the modules of `bindings/fortran/src`.
#[track_caller]
pub fn compile_fortran(source: &Path) -> PathBuf {
    compile_as(source, &default_name(source), &[])
}

/// Compiles a program of any of these languages under a name of its own, with further options, so that it shows its loads and stores
/// to the checker: as `include/nvshmemrs_plain_access.c` says.
#[track_caller]
pub fn compile_instrumented(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let objects = scratch();
    let mut compile = compiler(source);
    compile.args(options).args(["-fsanitize=thread", "-c"]);
    if is_fortran(source) {
        compile.arg("-I").arg(fortran_modules());
    }
    run(compile.arg(source).current_dir(objects.path()), SLOW).assert_success();

    let mut linker = Command::new(compile.get_program());
    linker.arg(hooks());
    for entry in fs::read_dir(objects.path()).expect("cannot list what was compiled") {
        let object = entry.expect("cannot list what was compiled").path();
        if object.extension() == Some(OsStr::new("o")) {
            linker.arg(object);
        }
    }
    if is_fortran(source) {
        linker.arg(fortran_modules().join(FORTRAN_ARCHIVE));
    }
    finish(linker, name)
}

/// What instrumented programs call, compiled once by each test program.
fn hooks() -> &'static Path {
    static HOOKS: LazyLock<PathBuf> = LazyLock::new(|| {
        let objects = scratch();
        let mut compile = Command::new("cc");
        compile.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]);
        compile.arg(workspace().join("include")).arg("-c");
        compile.arg(workspace().join("include/nvshmemrs_plain_access.c"));
        run(compile.current_dir(objects.path()), SLOW).assert_success();
        let own = env::current_exe().expect("the test program's name");
        let own = own.file_name().expect("the test program's name");
        let kept = programs().join(own).with_extension("plain_access.o");
        let made = objects.path().join("nvshmemrs_plain_access.o");
        fs::rename(made, &kept).expect("cannot move what was compiled");
        kept
    });
    &HOOKS
}

/// Compiles a program of any of these languages under a name of its own, with further options.
#[track_caller]
pub fn compile_as(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let module_files = scratch();
    let mut compiler = compiler(source);
    compiler.args(options);
    if is_fortran(source) {
        // The program's own modules go to a folder that nobody else writes to.
        compiler.arg("-J").arg(module_files.path());
        compiler.arg("-I").arg(fortran_modules());
    }
    compiler.arg(source);
    if is_fortran(source) {
        compiler.arg(fortran_modules().join(FORTRAN_ARCHIVE));
    }
    finish(compiler, name)
}

/// As [`compile_as`] for C and C++, with the static library.
#[track_caller]
pub fn compile_static(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let mut compiler = compiler(source);
    compiler.args(options).arg(source);
    link(compiler, name, &[library().with_extension("a").into()])
}

/// Compiles a C program that calls MPI itself, under a name of its own, with further options.
#[track_caller]
pub fn compile_mpi(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let mut compiler = Command::new("mpicc");
    compiler.args([
        "-std=c11",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I",
    ]);
    compiler.arg(workspace().join("include"));
    compiler.args(options).arg(source);
    finish(compiler, name)
}

/// The compiler for a source, with the options that hold for all programs of its language.
#[track_caller]
fn compiler(source: &Path) -> Command {
    let include = workspace().join("include");
    let mut compiler;
    match source.extension().and_then(OsStr::to_str) {
        Some("c") => {
            compiler = Command::new("cc");
            compiler.args(["-std=c11", "-D_GNU_SOURCE", "-Wextra", "-I"]);
            compiler.arg(include);
        }
        Some("cpp") => {
            compiler = Command::new("c++");
            compiler.args(["-std=c++17", "-Wextra", "-I"]).arg(include);
            compiler
                .arg("-I")
                .arg(workspace().join("bindings/cpp/include"));
        }
        Some("f90" | "F90") => {
            compiler = Command::new("gfortran");
            compiler.arg("-std=f2018");
        }
        _ => panic!("no compiler for {}", source.display()),
    }
    compiler.args(["-O1", "-g", "-Wall", "-Werror"]);
    // `cargo xtask sanitize` has C programs checked.
    if let (false, Ok(flags)) = (is_fortran(source), env::var("NVSHMEMRS_TEST_CFLAGS")) {
        compiler.args(flags.split_whitespace());
    }
    compiler
}

fn is_fortran(source: &Path) -> bool {
    let extension = source.extension().and_then(OsStr::to_str);
    matches!(extension, Some("f90" | "F90"))
}

/// The folder with the sources of the Fortran modules, into which the generator has written those that are not committed.
#[track_caller]
pub fn fortran_sources() -> PathBuf {
    static WRITTEN: Once = Once::new();
    WRITTEN.call_once(|| {
        let mut generator = Command::new(bin("nvshmemrs-generator"));
        run(generator.arg("fortran"), HANG).assert_success();
    });
    workspace().join("bindings/fortran/src")
}

/// The folder with the compiled Fortran modules: the archive and the .mod files.
#[track_caller]
pub fn fortran_modules() -> PathBuf {
    static BUILT: Mutex<bool> = Mutex::new(false);
    let folder = programs().join("fortran");
    let mut built = lock(&BUILT);
    if !*built {
        // Another run of the tests may be at it, too.
        let guard = fs::File::create(programs().join("fortran.lock")).expect("cannot make a lock");
        rustix::fs::flock(&guard, rustix::fs::FlockOperation::LockExclusive).expect("cannot lock");
        let mut make = Command::new("make");
        make.arg("-C").arg(workspace().join("bindings/fortran"));
        make.arg(format!("BUILD={}", folder.display()));
        make.arg(format!(
            "GENERATOR={}",
            bin("nvshmemrs-generator").display()
        ));
        make.arg("FFLAGS=-O1 -g -Wall -Wextra -Werror");
        run(&mut make, BUILD).assert_success();
        *built = true;
    }
    folder
}

/// What a program is called unless a test wants another name.
#[track_caller]
fn default_name(source: &Path) -> String {
    let name = source.file_name().expect("a source file has a name");
    name.to_string_lossy().replace('.', "-")
}

/// Links the program and gives its place. Tests may compile the same source at once, so the result appears
/// whole or not at all.
#[track_caller]
fn finish(compiler: Command, name: &str) -> PathBuf {
    let rpath = format!("-Wl,-rpath,{}", library_folder().display());
    link(compiler, name, &[library().into(), rpath.into()])
}

/// Links what was compiled with a form of the library, under a name.
#[track_caller]
fn link(mut compiler: Command, name: &str, library: &[OsString]) -> PathBuf {
    let folder = programs();
    let work = TempDir::new_in(&folder).expect("cannot make a folder for a compiler");
    let unfinished = work.path().join("program");
    compiler
        .arg("-o")
        .arg(&unfinished)
        .args(library)
        .args(["-pthread", "-lm", "-ldl"]);

    let tool = compiler.get_program().to_string_lossy().into_owned();
    let found = Command::new(&tool).arg("--version").output();
    assert!(
        found.is_ok(),
        "the compiler `{tool}` is missing: `cargo xtask test` sets it up"
    );
    run(&mut compiler, SLOW).assert_success();

    let finished = folder.join(name);
    fs::rename(&unfinished, &finished).expect("cannot move a compiled program");
    finished
}

/// Where compiled programs go.
#[track_caller]
pub(crate) fn programs() -> PathBuf {
    let folder = bin_dir().join("nvshmemrs-tests");
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot make {}: {e}", folder.display()));
    folder
}

/// The library's folder, where the build has left a link under the name that the loader looks for.
#[track_caller]
fn library_folder() -> PathBuf {
    let library = library();
    let folder = library.parent().expect("a library is in a folder");
    let soname = folder.join("libnvshmemrs.so.0");
    assert!(
        soname.exists(),
        "{} is missing: `cargo xtask test` builds it",
        soname.display()
    );
    folder.to_path_buf()
}

fn scratch() -> TempDir {
    TempDir::new_in(programs()).expect("cannot make a scratch folder")
}
