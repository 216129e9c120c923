//! `cargo xtask count`: lines of code without blank lines and comments, counted by tokei, separately for hand-written sources,
//! tests and generated sources.
//!
//! tokei counts files, so the sources are first copied below the build folder: a test module inside a Rust file becomes a file
//! among the tests, and the generated end of a header a file among the generated sources.

use crate::bundle::empty;
use crate::run;
use crate::setup::print_step;
use crate::tree::Tree;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of tokei, fixed so that counts of different days can be compared.
const TOKEI: &str = "15.0.0";

/// The kinds of sources, in the order of the table's columns.
const KINDS: [&str; 3] = ["hand-written", "tests", "generated"];

/// The line in a header after which everything is generated.
const GENERATED_FROM: &str = "`cargo xtask generate` writes what follows. ----\n";

/// A line that opens a test module of a Rust file, as rustfmt formats it.
const TEST_MODULE: &str = "#[cfg(test)]\nmod ";

/// Counts the files that git knows, and prints a table.
pub(crate) fn count(tree: &Tree) -> Result<()> {
    let tokei = tokei(tree)?;
    let sources = copy(tree)?;
    let mut table: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (kind, column) in KINDS.into_iter().zip(0..) {
        let folder = sources.join(kind);
        if !folder.is_dir() {
            continue;
        }
        let mut command = Command::new(&tokei);
        command.args(["--hidden", "--no-ignore", "--output", "json"]);
        let counted = run::output(command.arg(&folder))?;
        let counted: Value = serde_json::from_str(&counted).context("tokei printed no JSON")?;
        for (file, lines) in files(&counted) {
            let file = Path::new(file).strip_prefix(&folder)?;
            let top = match file.iter().count() {
                1 => "(root)".into(),
                _ => file.iter().next().unwrap_or_default().to_string_lossy(),
            };
            table.entry(top.into()).or_default()[column] += lines;
        }
    }
    show(&table);
    Ok(())
}

fn show(table: &BTreeMap<String, [u64; 3]>) {
    println!("lines of code without blank lines and comments (tokei {TOKEI})");
    let [first, second, third] = KINDS;
    println!("{:<12} {first:>12} {second:>12} {third:>12}", "");
    let mut sum = [0; 3];
    for (top, lines) in table {
        let [hand, tests, generated] = lines;
        println!("{top:<12} {hand:>12} {tests:>12} {generated:>12}");
        sum = std::array::from_fn(|kind| sum[kind] + lines[kind]);
    }
    let [hand, tests, generated] = sum;
    println!("{:<12} {hand:>12} {tests:>12} {generated:>12}", "all");
}

/// The files in tokei's output with their lines of code, embedded languages included. Pages count as comments.
fn files(counted: &Value) -> Vec<(&str, u64)> {
    let languages = counted.as_object().into_iter().flatten();
    let languages = languages.filter(|(name, _)| *name != "Total");
    let reports = languages.flat_map(|(_, language)| language["reports"].as_array());
    let lines = |report| -> Option<(&str, u64)> {
        let report: &Value = report;
        let blobs = report["stats"]["blobs"].as_object();
        let inner = blobs.into_iter().flatten();
        let inner: u64 = inner.filter_map(|(_, blob)| blob["code"].as_u64()).sum();
        Some((
            report["name"].as_str()?,
            report["stats"]["code"].as_u64()? + inner,
        ))
    };
    reports.flatten().filter_map(lines).collect()
}

/// The path of tokei, which is built on first use.
fn tokei(tree: &Tree) -> Result<PathBuf> {
    let root = tree.scratch("tokei")?;
    let program = root.join(format!("{TOKEI}/bin/tokei"));
    if !program.exists() {
        print_step(&format!("building tokei {TOKEI}"));
        let mut cargo = tree.cargo();
        cargo.args([
            "install",
            "--locked",
            "--quiet",
            "--version",
            TOKEI,
            "tokei",
        ]);
        run::run(cargo.arg("--root").arg(root.join(TOKEI)))?;
    }
    Ok(program)
}

/// Copies the sources, by kind, and returns the folder.
fn copy(tree: &Tree) -> Result<PathBuf> {
    let out = tree.scratch("count")?;
    empty(&out)?;
    let mut git = Command::new("git");
    let known = run::output(git.args(["ls-files", "-z"]).current_dir(&tree.root))?;
    for name in known.split('\0').filter(|name| is_source(name)) {
        let path = tree.root.join(name);
        // A link's target is counted.
        if path.is_symlink() {
            continue;
        }
        // A file that is deleted, but still in the index.
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        for (part, (kind, text)) in parts(name, &text).into_iter().enumerate() {
            let path = out
                .join(kind)
                .join(format!("{name}.{part}.{}", language(name)));
            fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            fs::write(&path, text)?;
        }
    }
    Ok(out)
}

/// The extension by which tokei knows the language of a file.
fn language(name: &str) -> &str {
    match extension(name) {
        "cuh" => "cu",
        "inc" => "f90",
        // A template is written in the language of its output.
        "jinja" => language(name.trim_end_matches(".jinja")),
        extension => extension,
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether a file is written or generated by the project: a lock file, a page or an input of a fuzz target is not.
fn is_source(name: &str) -> bool {
    let folders = ["fuzz/corpus/", "fuzz/regressions/"];
    !folders.iter().any(|folder| name.starts_with(folder))
        && !matches!(extension(name), "lock" | "md" | "png" | "txt" | "abi")
}

/// Whether a whole file holds tests.
fn is_test(name: &str) -> bool {
    let words: Vec<&str> = name.split('/').collect();
    let (file, folders) = words.split_last().unwrap_or((&"", &[]));
    let in_tests = |folder: &&str| matches!(*folder, "tests" | "test" | "fuzz" | "pretended");
    // Modules that a file above declares under `cfg(test)`.
    let core = matches!(
        *file,
        "fuzz.rs" | "many.rs" | "damaged.rs" | "corrupt.rs" | "forwarding.rs"
    );
    folders.iter().any(in_tests) || *file == "tests.rs" || (core && name.starts_with("core/"))
}

/// Whether a whole file is generated: its first lines say so, or it is a notebook, which is made from a program, or a plot.
fn is_generated(name: &str, text: &str) -> bool {
    let mut lines = text.lines().take(3);
    let is_plot = || extension(name) == "svg" && text.contains("<dc:title>Matplotlib");
    lines.any(|line| line.contains("Generated by")) || extension(name) == "ipynb" || is_plot()
}

/// Splits a file into parts by kind.
fn parts<'a>(name: &str, text: &'a str) -> Vec<(&'static str, String)> {
    let [hand, tests, generated] = KINDS;
    if is_generated(name, text) {
        return vec![(generated, text.into())];
    }
    if is_test(name) {
        return vec![(tests, text.into())];
    }
    if let Some((before, after)) = text.split_once(GENERATED_FROM) {
        return vec![(hand, before.into()), (generated, after.into())];
    }
    if extension(name) != "rs" {
        return vec![(hand, text.into())];
    }
    let (mut code, mut inside) = (String::new(), String::new());
    let mut rest: &'a str = text;
    while let Some(at) = rest.find(TEST_MODULE) {
        let (before, module) = rest.split_at(at);
        code += before;
        // `mod tests;` ends with its line, `mod tests { .. }` at the next bracket in the first column.
        let first = module[TEST_MODULE.len()..].lines().next().unwrap_or("");
        let end = match first.ends_with(';') {
            true => TEST_MODULE.len() + first.len(),
            false => module.find("\n}\n").map_or(module.len(), |end| end + 3),
        };
        inside += &module[..end];
        rest = &module[end..];
    }
    code += rest;
    match inside.is_empty() {
        true => vec![(hand, code)],
        false => vec![(hand, code), (tests, inside)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_into_its_kinds() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let test = "#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n".to_string();
        let code = "fn a() {}\nfn c() {}\n".to_string();
        assert_eq!(
            parts("core/src/a.rs", text),
            [("hand-written", code), ("tests", test)]
        );
        assert_eq!(parts("tests/a.rs", text)[0].0, "tests");
        assert_eq!(parts("bindings/x/src/tests.rs", text)[0].0, "tests");
        assert_eq!(parts("examples/a.ipynb", "{}")[0].0, "generated");
        let generated = "// Generated by a program\nfn a() {}\n";
        assert_eq!(parts("tests/a.rs", generated)[0].0, "generated");
        let header = format!("one\n// {GENERATED_FROM}two\n");
        let kinds: Vec<_> = (parts("include/a.cuh", &header).into_iter())
            .map(|(kind, _)| kind)
            .collect();
        assert_eq!(kinds, ["hand-written", "generated"]);
    }

    #[test]
    fn a_template_counts_as_its_language() {
        assert_eq!(language("a/python.py.jinja"), "py");
        assert_eq!(language("include/a.cuh"), "cu");
        assert_eq!(language("src/lib.rs"), "rs");
    }

    #[test]
    fn lines_of_all_languages_of_a_file_count() {
        let counted = serde_json::json!({
            "Rust": { "reports": [{ "name": "a.rs", "stats": { "code": 3, "blobs": { "C": { "code": 2 } } } }] },
            "Total": { "reports": [{ "name": "a.rs", "stats": { "code": 3, "blobs": {} } }] }
        });
        assert_eq!(files(&counted), [("a.rs", 5)]);
    }
}
