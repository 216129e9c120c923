//! `nvshmemrs-generator [--check | fortran | reference]`: writes the generated files. With `--check` it compares the committed files and
//! names the first that differs; with `fortran` it writes Fortran's modules only; with `reference` it prints the functions, enums and
//! structs of the C ABI as JSON, which the reference pages of the documentation site are made from.

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
    let root = nvshmemrs_generator::repository_root();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        ["fortran"] => return update(&root, &nvshmemrs_generator::fortran(&root)?, false),
        ["reference"] => {
            println!("{}", nvshmemrs_generator::reference(&root)?);
            return Ok(());
        }
        _ => bail!(
            "unknown arguments {arguments:?}; give none to write the files, `--check` to compare, `fortran`, or `reference`"
        ),
    };
    // The other outputs are generated from these files.
    update(&root, &nvshmemrs_generator::families(&root)?, check)?;
    let outputs = nvshmemrs_generator::outputs(&root)?;
    update(&root, &outputs, check)?;
    println!("{} generated files are up to date", outputs.len());
    update(&root, &nvshmemrs_generator::fortran(&root)?, false)
}

/// Writes the outputs that differ; with `check`, fails and names the first one.
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
        "differs from the output for its source, first in line {}",
        same + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_cut_or_missing_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let output = [(folder.path().join("a/b.h"), "one\ntwo\n".to_string())];
        let check = || update(folder.path(), &output, true).map_err(|error| error.to_string());
        assert!(check().unwrap_err().contains("a/b.h is missing"));
        update(folder.path(), &output, false).unwrap();
        assert_eq!(check(), Ok(()));
        for changed in ["one\ntwo", "one\nTwo\n", "one\ntwo\n\n"] {
            fs::write(&output[0].0, changed).unwrap();
            let error = check().unwrap_err();
            assert!(error.contains("differs"), "{changed:?}: {error}");
        }
    }
}
