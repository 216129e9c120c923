//! `unsafe` stays where docs/architecture.md says, and each of its blocks says why it is sound (clippy denies one that does not).

use nvshmemrs_tests::workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the library and the tools, and the code that a reader might copy.
const FOLDERS: [&str; 7] = [
    "core/src",
    "core/crates",
    "core/examples",
    "capi/src",
    "cli/src",
    "perf/src",
    "bindings/generator/src",
];

/// Where `unsafe` may be. A folder ends with a slash.
const ALLOWED: [&str; 10] = [
    "core/crates/vocabulary/src/buffer.rs",
    "core/crates/job/src/",
    "core/crates/diagnostics/src/sites/walk.rs",
    "core/crates/transport/src/",
    "core/crates/check/src/",
    "core/crates/cuda/src/",
    "core/crates/net/src/",
    "core/src/memory_management/array.rs",
    "core/src/transport/pretended/",
    "capi/src/handle/",
];

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder's entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// A line's code: without a comment, and without the contents of strings.
fn code(line: &str) -> String {
    let before = line.split("//").next().unwrap_or_default();
    before
        .split('"')
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\"\"")
}

/// Whether a line has the keyword. The attribute that exports a C function is spelled with it, too, and lets no unsafe code in.
fn is_unsafe(line: &str) -> bool {
    let code = code(line).replace("#[unsafe(no_mangle)]", "");
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| word == "unsafe")
}

#[test]
fn unsafe_is_where_it_may_be() {
    let mut files = Vec::new();
    for folder in FOLDERS {
        rust_files(&workspace().join(folder), &mut files);
    }
    assert!(files.len() > 100, "only {} files", files.len());
    let mut inside = 0;
    let mut outside = Vec::new();
    for file in files {
        let name = file.strip_prefix(workspace()).expect("a file of ours");
        let name = name.to_string_lossy().into_owned();
        let allowed = ALLOWED.iter().any(|place| match place.ends_with('/') {
            true => name.starts_with(place),
            false => name == *place,
        });
        let text = fs::read_to_string(&file).expect("a source file");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_unsafe(line)) {
            match allowed {
                true => inside += 1,
                false => outside.push(format!("{name}:{}: {}", number + 1, line.trim())),
            }
        }
    }
    assert!(
        inside > 50,
        "the search finds only {inside} lines where they may be"
    );
    assert!(
        outside.is_empty(),
        "unsafe outside of its files:\n{}",
        outside.join("\n")
    );
}

#[test]
fn the_architecture_page_says_the_same() {
    let page = fs::read_to_string(workspace().join("docs/architecture.md")).expect("the page");
    let rule = page.split("**`unsafe`**").nth(1).expect("the rule");
    let rule = rule.split("\n* ").next().expect("the rule's end");
    for place in ALLOWED {
        assert!(
            rule.contains(&format!("`{place}`")),
            "{place} is not in:\n{rule}"
        );
    }
    assert_eq!(
        rule.matches(".rs`").count() + rule.matches("/`").count(),
        ALLOWED.len(),
        "{rule}"
    );
}

#[test]
fn clippy_denies_a_block_without_its_reason() {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("undocumented_unsafe_blocks = \"deny\""));
    for package in [
        "core",
        "capi",
        "cli",
        "perf",
        "bindings/generator",
        "tests",
        "tests/conformance/suite",
        "xtask",
    ] {
        let manifest = workspace().join(package).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a package's manifest");
        assert!(text.contains("[lints]\nworkspace = true"), "{package}");
    }
    // The library's own crates have all of these lints but `missing_docs`.
    let (_, lints) = manifest.split_once("[workspace.lints.rust]\n").unwrap();
    let (lints, _) = lints.split_once("\n[profile").unwrap();
    let lines = lints.lines().filter(|line| line.contains(" = "));
    let lints: Vec<&str> = lines
        .filter(|line| !line.starts_with("missing_docs"))
        .collect();
    assert!(lints.len() > 5);
    let crates = fs::read_dir(workspace().join("core/crates")).expect("the library's crates");
    let mut seen = 0;
    for package in crates {
        let manifest = package.expect("a crate").path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a crate's manifest");
        for lint in &lints {
            assert!(text.contains(lint), "{} lacks {lint}", manifest.display());
        }
        seen += 1;
    }
    assert!(seen >= 7, "only {seen} crates");
}
