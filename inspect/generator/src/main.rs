//! Generates bindings of nvshmemrs-inspect from `target/release/libnvshmemrs_inspect.so`: without an argument the committed ones;
//! with a language and a folder those of that language. `NVSHMEMRS_BIN_DIR` names another folder of built files.

use anyhow::{Context, Result, bail};
use nvshmemrs_inspect_generator::{on_request, outputs};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).context("a workspace above")?;
    let built = match env::var_os("NVSHMEMRS_BIN_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => root.join("target/release"),
    };
    let library = built.join("libnvshmemrs_inspect.so");
    let arguments: Vec<String> = env::args().skip(1).collect();
    let files = match arguments.as_slice() {
        [] => outputs(root, &library)?,
        [language, folder] => on_request(root, &library, language)?
            .into_iter()
            .map(|(name, text)| (Path::new(folder).join(name), text))
            .collect(),
        _ => bail!("give no argument, or a language and a folder"),
    };
    for (path, text) in files {
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
