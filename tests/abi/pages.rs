//! The files and tests that the pages for users name exist.

use nvshmemrs_tests::workspace;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The pages, and the fewest names of tests that each must have, so that a change of style is noticed.
const PAGES: [(&str, usize); 3] = [
    ("docs/trust.md", 20),
    ("SECURITY.md", 10),
    ("docs/device-memory.md", 12),
];

/// Where tests are.
const FOLDERS: [&str; 3] = ["tests", "core", "bindings/python/tests"];

/// The names of all functions in the sources under `folder`.
fn functions(folder: &Path, names: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a folder's entry").path();
        if path.is_dir() {
            functions(&path, names);
            continue;
        }
        let source = matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("rs" | "py")
        );
        if !source {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is text");
        let after = |line: &str| {
            let rest = line
                .trim_start()
                .strip_prefix("fn ")
                .or_else(|| line.trim_start().strip_prefix("def "))?;
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            Some(rest[..end].to_string())
        };
        names.extend(text.lines().filter_map(after));
    }
}

/// The texts between backquotes in `text`, outside of blocks of code.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .step_by(2)
        .flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// Whether a word is a test's name: words of small letters, and no function of the C ABI.
fn is_test(word: &str) -> bool {
    word.matches('_').count() >= 2
        && !word.starts_with("nvshmemrs_")
        && word
            .chars()
            .all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Whether a word is a path of the repository.
fn is_path(word: &str) -> bool {
    word.contains('/') && !word.contains(['*', ' ', '<']) && !word.starts_with(['/', '-'])
}

#[test]
fn the_pages_name_tests_that_exist() {
    let mut names = HashSet::new();
    for folder in FOLDERS {
        functions(&workspace().join(folder), &mut names);
    }
    for (page, fewest) in PAGES {
        let text = fs::read_to_string(workspace().join(page)).expect("a page");
        let tests: Vec<&str> = quoted(&text).filter(|word| is_test(word)).collect();
        assert!(
            tests.len() >= fewest,
            "{page} names only {} tests",
            tests.len()
        );
        let missing: Vec<&&str> = tests
            .iter()
            .filter(|name| !names.contains(**name))
            .collect();
        assert!(missing.is_empty(), "{page} names {missing:?}");
        let lost: Vec<&str> = quoted(&text)
            .filter(|word| is_path(word) && !workspace().join(word).exists())
            .collect();
        assert!(lost.is_empty(), "{page} names {lost:?}");
    }
}

/// The heading of the table in docs/contributing.md, and the fewest rows that it must have.
const CHANGES: (&str, usize) = ("## To change X, touch these files", 15);

/// The pages about the code, whose paths may begin in `core/src`, or with the name of a crate below `core/crates`.
const INSIDE: [&str; 6] = [
    "docs/architecture.md",
    "docs/bootstrap.md",
    "docs/collectives.md",
    "docs/contributing.md",
    "docs/host-memory.md",
    "docs/waiting.md",
];

#[test]
fn each_change_names_files_that_exist() {
    let page = fs::read_to_string(workspace().join("docs/contributing.md")).expect("the page");
    let (_, table) = page.split_once(CHANGES.0).expect("the table's heading");
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows: Vec<&str> = rows
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .collect();
    assert!(rows.len() >= CHANGES.1, "only {} rows", rows.len());
    for row in rows {
        let paths: Vec<&str> = quoted(row).filter(|word| is_path(word)).collect();
        assert!(!paths.is_empty(), "no path in: {row}");
        let lost: Vec<&&str> = paths
            .iter()
            .filter(|path| !workspace().join(path).exists())
            .collect();
        assert!(lost.is_empty(), "{lost:?} do not exist, in: {row}");
    }
}

#[test]
fn the_pages_about_the_code_name_files_that_exist() {
    for page in INSIDE {
        let text = fs::read_to_string(workspace().join(page)).expect("a page");
        let source = |word: &str| {
            let name = word.rsplit('/').next().unwrap_or_default();
            is_path(word) && !word.contains('{') && (name.is_empty() || name.contains('.'))
        };
        let paths: Vec<&str> = quoted(&text).filter(|word| source(word)).collect();
        assert!(paths.len() >= 5, "{page} names only {} files", paths.len());
        let lost: Vec<&&str> = paths
            .iter()
            .filter(|path| {
                let (name, rest) = path.split_once('/').unwrap_or((path, ""));
                let roots = ["", "core/src"].map(|root| workspace().join(root).join(path));
                let in_crate = workspace()
                    .join("core/crates")
                    .join(name)
                    .join("src")
                    .join(rest);
                !(in_crate.exists() || roots.iter().any(|path| path.exists()))
            })
            .collect();
        assert!(lost.is_empty(), "{page} names {lost:?}");
    }
}
