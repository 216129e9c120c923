//! `nvshmemrs-generator [--check]`: writes the generated files, or says which one differs.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::{env, fs, process::ExitCode};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nvshmemrs-generator: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => bail!(
            "unknown arguments {arguments:?}; give none to write the files, or `--check` to compare"
        ),
    };
    let root = nvshmemrs_generator::repository_root();
    // The rest is made from these.
    update(&root, &nvshmemrs_generator::families(&root)?, check)?;
    let outputs = nvshmemrs_generator::outputs(&root)?;
    update(&root, &outputs, check)?;
    println!("{} generated files are up to date", outputs.len());
    Ok(())
}

/// Writes the outputs that differ, or says which one does.
fn update(root: &Path, outputs: &[(PathBuf, String)], check: bool) -> anyhow::Result<()> {
    for (path, wanted) in outputs {
        let shown = path.strip_prefix(root).unwrap_or(path).display();
        let found = fs::read_to_string(path).ok();
        if found.as_deref() == Some(wanted) {
            continue;
        }
        if check {
            bail!(
                "{shown} {}; run `cargo xtask generate`",
                difference(found.as_deref(), wanted)
            );
        }
        write(path, wanted).with_context(|| format!("cannot write {shown}"))?;
        println!("wrote {shown}");
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

fn difference(found: Option<&str>, wanted: &str) -> String {
    let Some(found) = found else {
        return "is missing".into();
    };
    let same = found
        .lines()
        .zip(wanted.lines())
        .take_while(|(a, b)| a == b)
        .count();
    format!(
        "differs from what its source gives, first in line {}",
        same + 1
    )
}
