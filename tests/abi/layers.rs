//! Rules for the modules of a crate. The order of the crates below `core/crates` is the compiler's to keep.

use nvshmemrs_tests::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn sources(folder: &Path, root: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, root, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.strip_prefix(root).unwrap().to_path_buf());
        }
    }
}

/// Folders whose Rust files are modules.
const TREES: [&str; 16] = [
    "core/src",
    "core/crates/check/src",
    "core/crates/cuda/src",
    "core/crates/diagnostics/src",
    "core/crates/job/src",
    "core/crates/net/src",
    "core/crates/transport/src",
    "core/crates/vocabulary/src",
    "capi/src",
    "cli/src",
    "perf/src",
    "xtask/src",
    "bindings/generator/src",
    "tests/src",
    "tests/conformance/suite/src",
    "tests/models/src",
];

/// The files among `files` that are modules beside a folder of their name.
fn beside_a_folder(files: &[std::path::PathBuf]) -> Vec<&Path> {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let has_folder = |file: &&Path| folders.contains(file.with_extension("").as_path());
    let files = files.iter().map(|file| file.as_path());
    files.filter(has_folder).collect()
}

#[test]
fn a_module_with_a_folder_is_its_mod_file() {
    for tree in TREES {
        let root = workspace().join(tree);
        let mut files = Vec::new();
        sources(&root, &root, &mut files);
        assert!(!files.is_empty(), "{tree} has no Rust file");
        let wrong = beside_a_folder(&files);
        assert!(
            wrong.is_empty(),
            "{tree}: these files must be `mod.rs` in the folder beside them: {wrong:?}"
        );
    }
    let files = ["one/mod.rs", "one/two.rs", "one/two/three.rs", "four.rs"];
    let files = files.map(std::path::PathBuf::from);
    assert_eq!(beside_a_folder(&files), [Path::new("one/two.rs")]);
}

/// Where kinds of memory and the checker may not be named, but for the files of [`MAY_NAME_KINDS`].
const ABOVE_KINDS: [&str; 4] = [
    "core/src",
    "core/crates/diagnostics/src",
    "core/crates/job/src",
    "core/crates/vocabulary/src",
];

/// Where they may be named there: init reads what it was told, one place puts a runtime together, and the library gives public items on.
const MAY_NAME_KINDS: [&str; 4] = [
    "core/crates/vocabulary/src/config/mod.rs",
    "core/src/runtime/attributes.rs",
    "core/src/lifecycle/assemble.rs",
    "core/src/lib.rs",
];

/// How many lines may name them there.
const MOST_LINES: usize = 10;

/// What names a kind of memory or the checker.
const NAMES_OF_KINDS: [&str; 11] = [
    ".cuda(",
    ".checker(",
    "Raw::",
    "Active::",
    "Kind::Gpu",
    "MemoryKind::",
    "transport::host",
    "transport::cuda",
    "transport::check",
    "nvshmemrs_cuda",
    "nvshmemrs_check",
];

/// Whether a line names a kind of memory or the checker, also in a group of imports.
fn names_a_kind(line: &str) -> bool {
    let grouped = line.split_once("transport::{").is_some_and(|(_, group)| {
        let mut words = group.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| matches!(word, "host" | "cuda" | "check"))
    });
    grouped || NAMES_OF_KINDS.iter().any(|name| line.contains(name))
}

#[test]
fn kinds_of_memory_are_named_by_init_and_the_transports_only() {
    let root = workspace();
    let mut files = Vec::new();
    for folder in ABOVE_KINDS {
        sources(&root.join(folder), &root, &mut files);
    }
    let (mut allowed, mut elsewhere) = (0, Vec::new());
    for file in files
        .iter()
        .filter(|file| !file.starts_with("core/src/transport"))
    {
        let text = fs::read_to_string(root.join(file)).unwrap();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| names_a_kind(line)) {
            match MAY_NAME_KINDS.iter().any(|place| file == Path::new(place)) {
                true => allowed += 1,
                false => elsewhere.push(format!("{}:{number}: {}", file.display(), line.trim())),
            }
        }
    }
    assert!(
        elsewhere.is_empty(),
        "these lines name a kind of memory or the checker, which a hook of the transport must tell them:\n{}",
        elsewhere.join("\n")
    );
    assert!(allowed > 0, "init names no kind: the search is broken");
    assert!(allowed <= MOST_LINES, "{allowed} lines of init name kinds");
}

#[test]
fn a_name_of_a_kind_is_found_in_each_form() {
    for line in [
        "if let Some(cuda) = self.transport.cuda() {",
        "use crate::transport::{Lane, check};",
        "match kind { MemoryKind::Host => 1 }",
        "use crate::transport::cuda::Links;",
    ] {
        assert!(names_a_kind(line), "{line}");
    }
    for line in [
        "use crate::transport::{CheckSettings, Lane};",
        "memory: MemoryKind,",
    ] {
        assert!(!names_a_kind(line), "{line}");
    }
}
