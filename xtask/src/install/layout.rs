//! The files that `cargo xtask install`, the bundle and Python's wheel have in common. `packaging/files.json` lists them; the
//! build hook of the wheel reads it, too.

use crate::bundle::{executable, files, strip};
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `packaging/files.json`.
#[derive(Deserialize)]
pub(crate) struct Layout {
    /// The libraries that cargo builds, with the names under which programs look for them.
    libraries: BTreeMap<String, String>,
    programs: Vec<String>,
    /// The names of the script `compiler`.
    compilers: Vec<String>,
    compiler: String,
    headers: Vec<Headers>,
    /// By path below the prefix: files in which `@VERSION@` stands for the version.
    texts: BTreeMap<String, String>,
}

/// Files below `from` whose names have this prefix, and that no earlier rule matches.
#[derive(Deserialize)]
struct Headers {
    from: String,
    beginning: String,
    to: String,
}

impl Layout {
    /// Reads the list.
    pub(crate) fn read(tree: &Tree) -> Result<Self> {
        let file = tree.root.join("packaging/files.json");
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not as expected", file.display()))
    }

    /// The files that cargo builds.
    pub(crate) fn natives(&self) -> impl Iterator<Item = &String> {
        self.libraries.keys().chain(&self.programs)
    }

    /// Installs everything below `prefix`. Existing files are replaced; a process that has a file open keeps the old one.
    pub(crate) fn place(&self, tree: &Tree, natives: &Path, prefix: &Path) -> Result<()> {
        for (file, name) in &self.libraries {
            let place = prefix.join("lib").join(name);
            put(&natives.join(file), &place)?;
            strip(&place)?;
            if file != name {
                link(name, &prefix.join("lib").join(file))?;
            }
        }
        for program in &self.programs {
            let place = prefix.join("bin").join(program);
            put(&natives.join(program), &place)?;
            strip(&place)?;
        }
        for name in &self.compilers {
            self.place_compiler(tree, &prefix.join("bin").join(name))?;
        }
        for (from, to) in self.headers(tree)? {
            put(&from, &prefix.join(to))?;
        }
        for (place, text) in &self.texts {
            put_text(tree, text, &prefix.join(place))?;
        }
        Ok(())
    }

    /// Installs the script that compiles programs under a name.
    pub(crate) fn place_compiler(&self, tree: &Tree, place: &Path) -> Result<()> {
        put(&tree.root.join(&self.compiler), place)?;
        executable(place)
    }

    /// The source of each header, and its path below the prefix.
    pub(crate) fn headers(&self, tree: &Tree) -> Result<Vec<(PathBuf, PathBuf)>> {
        let mut all: Vec<(PathBuf, PathBuf)> = Vec::new();
        for rule in &self.headers {
            let folder = tree.root.join(&rule.from);
            for file in files(&folder)? {
                let path = file.strip_prefix(&folder)?;
                let fits = path.to_string_lossy().starts_with(&rule.beginning);
                if fits && !all.iter().any(|(taken, _)| *taken == file) {
                    all.push((file.clone(), Path::new(&rule.to).join(path)));
                }
            }
        }
        Ok(all)
    }
}

/// Installs a file of `packaging`, with the version of the workspace.
pub(crate) fn put_text(tree: &Tree, text: &str, place: &Path) -> Result<()> {
    let from = tree.root.join(text);
    let text =
        fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
    write(
        place,
        text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .as_bytes(),
    )
}

/// Writes a new file, and creates its folder if needed.
pub(crate) fn write(place: &Path, contents: &[u8]) -> Result<()> {
    vacate(place)?;
    fs::write(place, contents).with_context(|| format!("cannot write {}", place.display()))
}

/// Copies a file, replacing an existing one.
pub(crate) fn put(from: &Path, place: &Path) -> Result<()> {
    vacate(place)?;
    fs::copy(from, place)
        .with_context(|| format!("cannot copy {} to {}", from.display(), place.display()))?;
    Ok(())
}

/// Makes a symbolic link to `target`, which is relative to its folder.
pub(crate) fn link(target: &str, place: &Path) -> Result<()> {
    vacate(place)?;
    symlink(target, place).with_context(|| format!("cannot make the link {}", place.display()))
}

/// Creates the folder of a path, and removes an existing file there: a program that runs from it keeps its file.
fn vacate(place: &Path) -> Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let there = place.symlink_metadata();
    ensure!(
        !there.as_ref().is_ok_and(fs::Metadata::is_dir),
        "{} is a folder, and a file is to be there",
        place.display()
    );
    if there.is_ok() {
        fs::remove_file(place).with_context(|| format!("cannot replace {}", place.display()))?;
    }
    Ok(())
}
