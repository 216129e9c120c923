//! Files that compilers have written, kept for the next run of the tests. A file is written again only if the command, the compiler or a
//! file that the compiler has read has changed.

use crate::run;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};
use tempfile::TempDir;

/// Returns `result`, which `make` has written. `make` gets the place for the file and returns the files that it was made from;
/// it runs only if `command`, which says how the file is made, or one of these files has changed. The file appears whole or not at all.
#[track_caller]
pub(crate) fn kept(
    result: &Path,
    command: &str,
    make: impl FnOnce(&Path) -> BTreeSet<PathBuf>,
) -> PathBuf {
    let beside = |kind: &str| {
        let mut name = result.as_os_str().to_owned();
        name.push(kind);
        PathBuf::from(name)
    };
    // Tests and test programs may want the same file at the same time.
    let lock = fs::File::create(beside(".lock")).expect("cannot make a lock");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("cannot lock");
    let record = beside(".made");
    if result.is_file() && is_current(&record, command) {
        return result.into();
    }
    let folder = result.parent().expect("a file is in a folder");
    let work = TempDir::new_in(folder).expect("cannot make a folder for a compiler");
    let unfinished = work.path().join("unfinished");
    let inputs = make(&unfinished);
    let mut text = format!("{:016x}\n", hash(command.as_bytes()));
    for input in inputs {
        let contents = fs::read(&input).expect("cannot read a compiler's input");
        text += &format!("{:016x} {}\n", hash(&contents), input.display());
    }
    // Without a record the file is written again.
    if let Err(error) = fs::remove_file(&record) {
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    }
    fs::rename(&unfinished, result).expect("cannot move the compiled program");
    let written = work.path().join("record");
    fs::write(&written, text).expect("cannot write the record of a compilation");
    fs::rename(&written, &record).expect("cannot move the record of a compilation");
    result.into()
}

/// Whether the record names this command, and the contents that its files have now.
fn is_current(record: &Path, command: &str) -> bool {
    let text = fs::read_to_string(record).unwrap_or_default();
    let mut lines = text.lines();
    let same = |line: &str| {
        let (written, file) = line.split_once(' ')?;
        let contents = fs::read(file).ok()?;
        (written == format!("{:016x}", hash(&contents))).then_some(())
    };
    lines.next() == Some(format!("{:016x}", hash(command.as_bytes())).as_str())
        && lines.all(|line| same(line).is_some())
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// A command of a compiler as text: its arguments, and its version.
#[track_caller]
pub(crate) fn described(compiler: &Command) -> String {
    let tool = compiler.get_program().to_string_lossy();
    let version = Command::new(compiler.get_program())
        .arg("--version")
        .output();
    let Ok(version) = version else {
        panic!("the compiler `{tool}` is missing: `cargo xtask test` sets it up");
    };
    format!("{compiler:?}\n{}", String::from_utf8_lossy(&version.stdout))
}

/// Runs a compiler that understands `-MD`, with the last arguments `last`, and returns the files that it has read: headers, and files
/// that the command names before `last`. Shared libraries are not among them: a program need not be linked again for a new library.
#[track_caller]
pub(crate) fn run_and_list(
    mut compiler: Command,
    last: &[OsString],
    limit: Duration,
) -> BTreeSet<PathBuf> {
    let mut inputs = named(&compiler);
    let list = TempDir::new().expect("cannot make a folder for a compiler");
    let file = list.path().join("read.d");
    compiler.arg("-MD").arg("-MF").arg(&file).args(last);
    run(&mut compiler, limit).assert_success();
    let text = fs::read_to_string(&file).expect("the compiler's list of files");
    let folder = compiler.get_current_dir().unwrap_or(Path::new(""));
    inputs.extend(listed(&text).map(|file| folder.join(file)));
    inputs
}

/// The files that a command names.
pub(crate) fn named(compiler: &Command) -> BTreeSet<PathBuf> {
    let folder = compiler.get_current_dir().unwrap_or(Path::new(""));
    let files = compiler.get_args().map(|word| folder.join(word));
    let shared = |file: &PathBuf| file.extension() == Some(OsStr::new("so"));
    files
        .filter(|file| file.is_file() && !shared(file))
        .collect()
}

/// The files in a rule of make: `TARGET: FILE FILE \`.
fn listed(rule: &str) -> impl Iterator<Item = &str> {
    let (_, files) = rule.split_once(": ").unwrap_or_default();
    let words = files.split([' ', '\n', '\\']);
    words.filter(|word| !word.is_empty())
}
