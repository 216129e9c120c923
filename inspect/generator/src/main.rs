//! Writes the bindings of nvshmemrs-inspect into the checkout. The argument is the built libnvshmemrs_inspect.so; without it the one in
//! target/release.

use anyhow::{Context, Result};
use nvshmemrs_inspect_generator::outputs;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).context("a workspace above")?;
    let library = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => root.join("target/release/libnvshmemrs_inspect.so"),
    };
    for (path, text) in outputs(root, &library)? {
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
