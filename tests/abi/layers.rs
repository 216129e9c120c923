//! Rules for the modules of a crate. The order of the crates below `core/crates` is the compiler's to keep.

use nvshmemrs_tests::workspace;
use std::collections::{BTreeMap, BTreeSet};
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

/// Where they may be named there: init reads its arguments, one place puts a runtime together, and the library re-exports public items.
const MAY_NAME_KINDS: [&str; 4] = [
    "core/crates/vocabulary/src/config/mod.rs",
    "core/src/runtime/attributes.rs",
    "core/src/lifecycle/assemble.rs",
    "core/src/lib.rs",
];

/// How many lines may name them there.
const MOST_LINES: usize = 10;

/// Words that name a kind of memory or the checker.
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

/// The modules of a crate that a file of it uses, by the paths in its imports and its code.
fn used(text: &str, module: &[&str]) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next();
    let lines = code.unwrap_or_default().lines();
    let code: String = lines
        .map(|line| {
            line.split("//")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
                + " "
        })
        .collect();
    let mut found = BTreeSet::new();
    for (start, _) in code
        .match_indices("crate::")
        .chain(code.match_indices("super::"))
    {
        let mut folder = match code[start..].starts_with("super") {
            true => module[..module.len() - 1].to_vec(),
            false => Vec::new(),
        };
        let mut rest = &code[start + "crate::".len()..];
        while let Some(after) = rest.strip_prefix("super::") {
            folder.pop();
            rest = after;
        }
        let group = rest
            .strip_prefix('{')
            .and_then(|inner| inner.split_once("};"));
        let names = group.map_or(rest, |(inner, _)| inner);
        let names: Vec<&str> = match group {
            Some(_) => names.split(',').collect(),
            None => vec![names],
        };
        for name in names {
            let word = |text: &str| -> String {
                let letters = text.trim().chars();
                letters
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect()
            };
            found.insert(
                [folder.join("::"), word(name)]
                    .join("::")
                    .trim_matches(':')
                    .to_owned(),
            );
        }
    }
    found
}

/// The modules that use themselves by way of others.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let reaches = |first: &String| {
        let (mut found, mut rest) = (BTreeSet::new(), vec![first]);
        while let Some(module) = rest.pop() {
            for next in uses.get(module).into_iter().flatten() {
                if found.insert(next) {
                    rest.push(next);
                }
            }
        }
        found.contains(first)
    };
    uses.keys()
        .filter(|&module| reaches(module))
        .cloned()
        .collect()
}

/// The words of a job, the module that stores to them, and the messages that mirror the stores need each other.
const CIRCLE: [&str; 3] = ["block", "remote", "shared_words"];

#[test]
fn modules_of_the_job_do_not_use_each_other_in_circles() {
    let root = workspace().join("core/crates/job/src");
    let mut files = Vec::new();
    sources(&root, &root, &mut files);
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| *file != Path::new("lib.rs")) {
        let name = file.with_extension("");
        let name = name
            .to_str()
            .expect("a path in UTF-8")
            .trim_end_matches("/mod");
        let module: Vec<&str> = name.split('/').collect();
        // The files of a folder are told apart from its own.
        if module.len() == 1 {
            let text = fs::read_to_string(root.join(file)).expect("a source");
            uses.insert(name.to_owned(), used(&text, &module));
        }
    }
    assert!(
        uses["block"].contains("shared_words"),
        "the search is broken: {uses:?}"
    );
    let found = circles(&uses);
    assert!(
        found.iter().all(|module| CIRCLE.contains(&module.as_str())),
        "modules that use each other in a circle: {found:?}"
    );
}

#[test]
fn a_circle_of_modules_is_found() {
    let used_by = |text| used(text, &["one"]);
    let names = |names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|name| String::from(*name)).collect()
    };
    let text = "use super::two::{A, B};\nuse crate::{three, four::C};\n// crate::five\n";
    assert_eq!(used_by(text), names(&["two", "three", "four"]));
    let uses = [("one", "two"), ("two", "three"), ("three", "two")];
    let uses = uses.map(|(from, to)| (from.to_owned(), names(&[to])));
    assert_eq!(circles(&BTreeMap::from(uses)), names(&["three", "two"]));
}
