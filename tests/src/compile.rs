//! Programs in C, C++ and Fortran, compiled against the checkout's headers and library.
//!
//! Results lie in `nvshmemrs-tests` beside the built programs; a later run replaces them.

use crate::{HANG, bin_dir, library, run, workspace};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Compiles a C11 program; warnings are errors.
#[track_caller]
pub fn compile_c(source: &Path) -> PathBuf {
    let mut compiler = Command::new("cc");
    compiler.args([
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    compiler
        .arg("-I")
        .arg(workspace().join("include"))
        .arg(source);
    finish(compiler, source)
}

/// Compiles a C11 program from its text, under a name that no other test uses.
#[track_caller]
pub fn compile_c_text(name: &str, text: &str) -> PathBuf {
    let folder = scratch();
    let source = folder.path().join(format!("{name}.c"));
    fs::write(&source, text).expect("cannot write a source file");
    compile_c(&source)
}

/// Compiles a C++17 program; warnings are errors.
#[track_caller]
pub fn compile_cxx(source: &Path) -> PathBuf {
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-I").arg(workspace().join("include"));
    compiler
        .arg("-I")
        .arg(workspace().join("bindings/cpp/include"))
        .arg(source);
    finish(compiler, source)
}

/// Compiles a Fortran program with the modules of `bindings/fortran/src`, the low layer first.
#[track_caller]
pub fn compile_fortran(source: &Path) -> PathBuf {
    let folder = workspace().join("bindings/fortran/src");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut modules: Vec<PathBuf> = entries
        .map(|entry| entry.expect("cannot list the Fortran modules").path())
        .filter(|file| file.extension() == Some(OsStr::new("f90")))
        .collect();
    modules.sort_by_key(|file| (!file.ends_with("nvshmemrs_ffi.f90"), file.clone()));

    let module_files = scratch();
    let mut compiler = Command::new("gfortran");
    compiler.args(["-std=f2018", "-O1", "-g", "-Wall", "-Werror"]);
    compiler
        .arg("-J")
        .arg(module_files.path())
        .args(modules)
        .arg(source);
    finish(compiler, source)
}

/// Links the program and gives its place. Tests may compile the same source at once, so the result appears
/// whole or not at all.
#[track_caller]
fn finish(mut compiler: Command, source: &Path) -> PathBuf {
    let folder = programs();
    let work = TempDir::new_in(&folder).expect("cannot make a folder for a compiler");
    let name = source
        .file_name()
        .expect("a source file has a name")
        .to_string_lossy();
    let unfinished = work.path().join("program");
    let rpath = format!("-Wl,-rpath,{}", library_folder().display());
    compiler
        .arg("-o")
        .arg(&unfinished)
        .arg(library())
        .args([&rpath, "-pthread"]);

    let tool = compiler.get_program().to_string_lossy().into_owned();
    let found = Command::new(&tool).arg("--version").output();
    assert!(
        found.is_ok(),
        "the compiler `{tool}` is missing: `cargo xtask test` sets it up"
    );
    run(&mut compiler, HANG).assert_success();

    let finished = folder.join(name.replace('.', "-"));
    fs::rename(&unfinished, &finished).expect("cannot move a compiled program");
    finished
}

/// Where compiled programs go.
#[track_caller]
fn programs() -> PathBuf {
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
