//! Programs in C, C++ and Fortran, compiled against the checkout's headers and library. The Fortran modules are compiled once, by their
//! own Makefile, and again only when they change.
//!
//! Results lie in `nvshmemrs-tests` beside the built programs. A later run keeps those whose command and files are the same.

use crate::reuse::{described, kept, named, run_and_list};
use crate::{HANG, bin, bin_dir, library, lock, run, workspace};
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, Once};
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
    let source = programs().join(format!("{name}.c"));
    write_changed(&source, text);
    compile_c(&source)
}

/// Compiles a shared library in C, which is linked with nothing of ours, under the name of its source.
#[track_caller]
pub fn compile_shared(source: &Path) -> PathBuf {
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror"]);
    let result = programs().join(format!("{}.so", default_name(source)));
    compile_to(compiler, &result, &[source.into()])
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
    let mut compile = compiler(source);
    compile.args(options).args(["-fsanitize=thread", "-c"]);
    if is_fortran(source) {
        compile.arg("-I").arg(fortran_modules());
    }
    compile.arg(source);
    let mut linker = Command::new(compile.get_program());
    linker.arg(hooks());
    let command = format!("{}\n{linker:?}", described(&compile));
    kept(&programs().join(name), &command, |place| {
        // Fortran may write files for modules, too.
        let objects = scratch();
        compile.current_dir(objects.path());
        let mut inputs = named(&linker);
        inputs.extend(compile_and_list(compile, source, &[]));
        for entry in fs::read_dir(objects.path()).expect("cannot list the object files") {
            let object = entry.expect("cannot list the object files").path();
            if object.extension() == Some(OsStr::new("o")) {
                linker.arg(object);
            }
        }
        if is_fortran(source) {
            linker.arg(fortran_modules().join(FORTRAN_ARCHIVE));
        }
        linker.args(shared_library()).args(LIBRARIES);
        run(linker.arg("-o").arg(place), SLOW).assert_success();
        inputs
    })
}

/// Compiles, and gives the files that the compiler has read. gfortran lists none, and reads the archive's modules.
#[track_caller]
fn compile_and_list(mut compiler: Command, source: &Path, last: &[OsString]) -> BTreeSet<PathBuf> {
    if !is_fortran(source) {
        return run_and_list(compiler, last, SLOW);
    }
    let mut inputs = named(&compiler);
    inputs.insert(fortran_modules().join(FORTRAN_ARCHIVE));
    inputs.insert(source.into());
    run(compiler.args(last), SLOW).assert_success();
    inputs
}

/// The functions that instrumented programs call, compiled.
#[track_caller]
fn hooks() -> PathBuf {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(workspace().join("include")).arg("-c");
    let source = workspace().join("include/nvshmemrs_plain_access.c");
    compile_to(
        compiler,
        &programs().join("plain_access.o"),
        &[source.into()],
    )
}

/// Compiles a program of any of these languages under a name of its own, with further options.
#[track_caller]
pub fn compile_as(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let mut compiler = compiler(source);
    compiler.args(options);
    if is_fortran(source) {
        compiler.arg("-I").arg(fortran_modules());
    }
    compiler.arg(source);
    if is_fortran(source) {
        compiler.arg(fortran_modules().join(FORTRAN_ARCHIVE));
    }
    link(compiler, source, name, &shared_library())
}

/// As [`compile_as`] for C and C++, with the static library.
#[track_caller]
pub fn compile_static(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let mut compiler = compiler(source);
    compiler.args(options).arg(source);
    let library = library().with_extension("a");
    link(compiler, source, name, &[library.into()])
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
    link(compiler, source, name, &shared_library())
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

/// The folder with the sources of the Fortran modules, with the uncommitted ones from the generator.
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

/// A program's name unless a test chooses another.
#[track_caller]
fn default_name(source: &Path) -> String {
    let name = source.file_name().expect("a source file has a name");
    name.to_string_lossy().replace('.', "-")
}

/// The library that programs are linked with, and where they find it.
#[track_caller]
fn shared_library() -> [OsString; 2] {
    let rpath = format!("-Wl,-rpath,{}", library_folder().display());
    [library().into(), rpath.into()]
}

/// The system's libraries, after ours.
const LIBRARIES: [&str; 3] = ["-pthread", "-lm", "-ldl"];

/// Compiles and links a program with a form of the library, under a name.
#[track_caller]
fn link(mut compiler: Command, source: &Path, name: &str, library: &[OsString]) -> PathBuf {
    compiler.args(library).args(LIBRARIES);
    kept(&programs().join(name), &described(&compiler), |place| {
        let modules = scratch();
        if is_fortran(source) {
            // The program's own modules go to a folder that nobody else writes to.
            compiler.arg("-J").arg(modules.path());
        }
        compile_and_list(compiler, source, &["-o".into(), place.into()])
    })
}

/// Has a compiler of C or C++ write `result`; `last` are its last arguments.
#[track_caller]
pub fn compile_to(mut compiler: Command, result: &Path, last: &[OsString]) -> PathBuf {
    compiler.args(last);
    kept(result, &described(&compiler), |place| {
        run_and_list(compiler, &["-o".into(), place.into()], SLOW)
    })
}

/// Has a compiler of C or C++ look at a file, under a name that no other test uses. It must accept the file.
#[track_caller]
pub fn accepts(compiler: Command, name: &str) {
    let result = programs().join(format!("{name}.accepted"));
    kept(&result, &described(&compiler), |place| {
        fs::write(place, "").expect("cannot write a file");
        run_and_list(compiler, &[], SLOW)
    });
}

/// Writes a file of a test's own, unless it is there already.
#[track_caller]
pub fn write_changed(file: &Path, text: &str) {
    if fs::read_to_string(file).is_ok_and(|there| there == text) {
        return;
    }
    let folder = file.parent().expect("a file is in a folder");
    let written = tempfile::NamedTempFile::new_in(folder).expect("cannot make a file");
    fs::write(written.path(), text).expect("cannot write a file");
    written.persist(file).expect("cannot move a file");
}

/// Where compiled programs go.
#[track_caller]
pub fn programs() -> PathBuf {
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
