//! `nvshmemrs-generator [--check]`: writes the generated files, or says which one differs.

use anyhow::{Context, bail};
use std::{env, fs, path::Path, process::ExitCode};

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
    let outputs = nvshmemrs_generator::outputs(&root)?;
    for (path, wanted) in &outputs {
        let shown = path.strip_prefix(&root).unwrap_or(path).display();
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
    println!("{} generated files are up to date", outputs.len());
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
        "differs from what capi/src gives, first in line {}",
        same + 1
    )
}
