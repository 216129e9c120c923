//! Imports within the core point one way: from a module to those above it in the table of docs/architecture.md.

use nvshmemrs_tests::workspace;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use syn::visit::Visit;

/// The heading of the table in docs/architecture.md.
const HEADING: &str = "### The order of the modules";

/// Modules of the core that only fuzz targets compile.
const LEFT_OUT: [&str; 1] = ["fuzz"];

/// The modules, in the order of the table.
fn order() -> Vec<String> {
    let page = fs::read_to_string(workspace().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once(HEADING).expect("the table's heading");
    let rows = table.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.flat_map(|row| {
        let modules = row.split('|').nth(1).expect("a first column");
        let names = modules.split('`').skip(1).step_by(2).map(str::to_string);
        names.collect::<Vec<_>>()
    })
    .collect()
}

/// The arrows out of one file: the modules of the crate that its paths lead to, each with an example.
struct Paths<'a> {
    /// The module that the file is, from the crate's root.
    here: Vec<String>,
    /// What the crate's root gives another name: where it comes from.
    reexported: &'a HashMap<String, String>,
    found: BTreeMap<String, String>,
}

impl Paths<'_> {
    /// Takes the path `segments`, as the file writes it.
    fn take(&mut self, segments: &[String]) {
        let ups = segments.iter().take_while(|word| *word == "super").count();
        let rest = match segments.first().map(String::as_str) {
            Some("crate") => segments[1..].to_vec(),
            Some("super") => {
                let kept = self.here.len().saturating_sub(ups);
                [&self.here[..kept], &segments[ups..]].concat()
            }
            _ => return,
        };
        let Some(first) = rest.first() else {
            return;
        };
        let module = self.reexported.get(first).unwrap_or(first);
        let example = segments.join("::");
        self.found.entry(module.clone()).or_insert(example);
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.leaf(before, &name.ident),
            syn::UseTree::Rename(name) => self.leaf(before, &name.ident),
            syn::UseTree::Glob(_) => self.take(before),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }

    fn leaf(&mut self, before: &mut Vec<String>, name: &syn::Ident) {
        before.push(name.to_string());
        self.take(before);
        before.pop();
    }
}

/// Whether an item is compiled for tests or fuzz targets only.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let what = list.tokens.to_string();
        list.path.is_ident("cfg") && (what == "test" || what == "fuzzing")
    })
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.tree(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.here.push(item.ident.to_string());
            syn::visit::visit_item_mod(self, item);
            self.here.pop();
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.take(&segments);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // What a macro is given need not be Rust; paths of the crate can be found in it all the same.
        let text = call.tokens.to_string().replace(' ', "");
        for (at, _) in text.match_indices("crate::") {
            let path = text[at..]
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                .next()
                .unwrap_or_default();
            let segments: Vec<String> = path.split("::").map(str::to_string).collect();
            self.take(&segments);
        }
        syn::visit::visit_macro(self, call);
    }
}

/// Reads a file's arrows.
fn paths_of(
    text: &str,
    here: Vec<String>,
    reexported: &HashMap<String, String>,
) -> BTreeMap<String, String> {
    let file = syn::parse_file(text).expect("the compiler takes it");
    let mut paths = Paths {
        here,
        reexported,
        found: BTreeMap::new(),
    };
    paths.visit_file(&file);
    paths.found
}

/// What `lib.rs` re-exports: the name, and the module that it comes from.
fn reexported(lib: &str) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for item in syn::parse_file(lib).unwrap().items {
        if let syn::Item::Use(item) = item {
            collect(&item.tree, None, &mut names);
        }
    }
    fn collect(tree: &syn::UseTree, root: Option<&str>, names: &mut HashMap<String, String>) {
        match tree {
            syn::UseTree::Path(path) => {
                let first = path.ident.to_string();
                collect(&path.tree, Some(root.unwrap_or(&first)), names);
            }
            syn::UseTree::Name(name) => {
                names.insert(name.ident.to_string(), root.unwrap_or_default().into());
            }
            syn::UseTree::Rename(name) => {
                names.insert(name.rename.to_string(), root.unwrap_or_default().into());
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    collect(tree, root, names);
                }
            }
            syn::UseTree::Glob(_) => {}
        }
    }
    names
}

/// The module that a file is, from the crate's root.
fn module_of(file: &Path) -> Vec<String> {
    let mut words: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if words.last().is_some_and(|word| word == "mod") {
        words.pop();
    }
    words
}

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

/// Files that only tests and fuzz targets compile: their `mod` says so in the file above.
fn are_for_tests(module: &[String]) -> bool {
    let named = |word: &String| {
        matches!(
            word.as_str(),
            "tests" | "fuzz" | "many" | "damaged" | "corrupt"
        )
    };
    module.iter().any(named)
}

#[test]
fn imports_point_one_way() {
    let order = order();
    assert!(order.len() > 20, "the table has {} modules", order.len());
    let place: HashMap<&str, usize> = order.iter().map(String::as_str).zip(0..).collect();
    assert_eq!(place.len(), order.len(), "a module is named twice");
    let root = workspace().join("core/src");
    let reexported = reexported(&fs::read_to_string(root.join("lib.rs")).unwrap());
    let mut files = Vec::new();
    sources(&root, &root, &mut files);
    let mut wrong: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let module = module_of(&file);
        if module == ["lib"] || are_for_tests(&module) {
            continue;
        }
        let from = module[0].clone();
        let Some(&mine) = place.get(from.as_str()) else {
            panic!("{} is in no row of docs/architecture.md", file.display());
        };
        seen.insert(from.clone());
        let text = fs::read_to_string(root.join(&file)).unwrap();
        for (to, example) in paths_of(&text, module, &reexported) {
            match place.get(to.as_str()) {
                Some(&theirs) if theirs <= mine => {}
                _ if LEFT_OUT.contains(&to.as_str()) => {}
                Some(_) => {
                    let example = format!("{} has `{example}`", file.display());
                    wrong.entry(format!("{from} -> {to}")).or_insert(example);
                }
                None => panic!(
                    "{} has `{example}`, which leads to no module of the table",
                    file.display()
                ),
            }
        }
    }
    for module in &order {
        assert!(seen.contains(module), "there is no module {module}");
    }
    let wrong: Vec<String> = wrong
        .iter()
        .map(|(arrow, example)| format!("{arrow}: {example}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "these imports point to a module further down in the table:\n{}",
        wrong.join("\n")
    );
}

/// Folders whose Rust files are modules.
const TREES: [&str; 9] = [
    "core/src",
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

#[test]
fn an_arrow_is_found_in_each_form() {
    let reexported = HashMap::from([("Pe".to_string(), "pe".to_string())]);
    let text = "
        use crate::alpha::One;
        use crate::{Pe, beta::{self, Two}};
        use super::super::gamma::Three;
        #[cfg(test)]
        mod tests { use crate::unseen::Four; }
        mod inner { use super::super::delta; }
        fn f() -> crate::epsilon::Five { println!(\"{}\", crate::zeta::SIX); }
    ";
    let here = ["top", "middle"].map(String::from).to_vec();
    let found = paths_of(text, here, &reexported);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["alpha", "beta", "epsilon", "gamma", "pe", "top", "zeta"]
    );
}

/// Where kinds of memory and the checker may be named outside their folders: init reads what it was told, and one place puts a
/// runtime together.
const MAY_NAME_KINDS: [&str; 3] = [
    "config/mod.rs",
    "runtime/attributes.rs",
    "lifecycle/assemble.rs",
];

/// How many lines may name them there.
const MOST_LINES: usize = 10;

/// What names a kind of memory or the checker.
const NAMES_OF_KINDS: [&str; 9] = [
    ".cuda(",
    ".checker(",
    "Raw::",
    "Active::",
    "Kind::Gpu",
    "MemoryKind::",
    "transport::host",
    "transport::cuda",
    "transport::check",
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
    let root = workspace().join("core/src");
    let mut files = Vec::new();
    sources(&root, &root, &mut files);
    let (mut allowed, mut elsewhere) = (0, Vec::new());
    for file in files.iter().filter(|file| !file.starts_with("transport")) {
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
