//! `capi/src/generated/exports.rs`: the addresses of the exported functions.

use crate::model;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The Rust file, for the sources in `capi/src` below `root`.
pub fn emit(root: &Path) -> Result<String> {
    let folder = root.join("capi/src");
    let mut functions = Vec::new();
    for file in model::sources(&folder)? {
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let module = module(file.strip_prefix(&folder)?);
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix("pub extern \"C\" fn "))
            .filter_map(|rest| rest.split(['(', '<']).next());
        functions.extend(names.map(|name| format!("{module}::{name}")));
    }
    super::rendered!("exports.rs", functions)
}

/// The Rust module of a file: `generated::atomics` for `generated/atomics.rs`.
fn module(file: &Path) -> String {
    let path = file.with_extension("");
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts
        .filter(|part| part != "mod" && part != "lib")
        .fold("crate".into(), |path, part| format!("{path}::{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Api;

    #[test]
    fn every_exported_function_is_there_once() {
        let root = crate::repository_root();
        let text = emit(&root).unwrap();
        for function in Api::read(&root.join("capi/src")).unwrap().functions {
            let entry = format!("::{} as *const () as u64,\n", function.name);
            assert_eq!(text.matches(&entry).count(), 1, "{entry}");
        }
    }

    #[test]
    fn modules_are_named_after_their_files() {
        for (file, name) in [
            ("heap.rs", "crate::heap"),
            ("generated/atomics.rs", "crate::generated::atomics"),
            ("generated/mod.rs", "crate::generated"),
            ("lib.rs", "crate"),
        ] {
            assert_eq!(module(Path::new(file)), name);
        }
    }
}
