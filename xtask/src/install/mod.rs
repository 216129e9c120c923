//! `cargo xtask install`: libraries, headers, tools, manual pages and files for build systems, below a prefix. No file contains
//! the prefix, so the folder can be moved.

pub(crate) mod layout;

use crate::bundle::content::copy_folder;
use crate::bundle::{empty, files};
use crate::tree::Tree;
use crate::{build_only, plugins, run};
use anyhow::{Context, Result, ensure};
use layout::{Layout, link, put, put_text, write};
use std::path::{Path, PathBuf};

/// The destination.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder below which everything is installed; it need not be there
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// Files that programs look for in NVSHMEM's folder, and the files of this library in their place. The device library is empty,
/// because kernels need headers only.
const NVSHMEM_LINKS: [(&str, &str); 4] = [
    ("libnvshmem_host.so.3", "libnvshmemrs_nvshmem.so.0"),
    ("libnvshmemrs_nvshmem.so.0", "libnvshmemrs_nvshmem.so.0"),
    ("libnvshmemrs.so.0", "libnvshmemrs.so.0"),
    ("libnvshmemrs.so", "libnvshmemrs.so.0"),
];
/// The linker script of `-lnvshmem_host`: inline functions of the headers call the core's library.
const NVSHMEM_HOST: &[u8] = b"INPUT(libnvshmem_host.so.3 libnvshmemrs.so.0)\n";
/// An archive without members.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Installs the release build.
pub(crate) fn install(tree: &Tree, args: &Args) -> Result<()> {
    let prefix = std::path::absolute(&args.prefix)?;
    ensure!(
        !prefix.is_file(),
        "--prefix {}: it is a file, and must be a folder",
        args.prefix.display()
    );
    build_only(tree, &["--lib", "--bins"])?;
    let left_out = place(tree, &prefix)?;
    println!("installed below {}", prefix.display());
    for left_out in left_out {
        println!("left out: {left_out}");
    }
    Ok(())
}

/// Installs the built files; returns the parts that were not built.
pub(crate) fn place(tree: &Tree, prefix: &Path) -> Result<Vec<&'static str>> {
    let natives = tree.release();
    let layout = Layout::read(tree)?;
    layout.place(tree, &natives, prefix)?;
    let archive = "libnvshmemrs.a";
    put(&natives.join(archive), &prefix.join("lib").join(archive))?;
    let mut left_out = Vec::new();
    let plugin = natives.join(plugins::FILE);
    match plugin.is_file() {
        true => put(&plugin, &prefix.join("lib").join(plugins::FILE))?,
        false => left_out.push("jobs on several hosts: `cargo xtask plugins` makes the plugin"),
    }
    match tree.images().is_dir() {
        true => copy_folder(&tree.images(), &prefix.join("share/nvshmemrs/images"))?,
        false => left_out.push("compiled kernels for GPUs: `cargo xtask images` makes them"),
    }
    manual(tree, prefix)?;
    julia(tree, prefix)?;
    if !fortran(tree, prefix)? {
        left_out.push("Fortran's modules: there is no gfortran");
    }
    openshmem(tree, &layout, prefix)?;
    nvshmem(tree, prefix)?;
    Ok(left_out)
}

/// The manual pages, which the programs print themselves.
fn manual(tree: &Tree, prefix: &Path) -> Result<()> {
    for program in ["nvshmemrs-run", "nvshmemrs-info", "nvshmemrs-top"] {
        let page = run::output(tree.command(tree.release().join(program)).arg("--man"))?;
        let place = prefix.join(format!("share/man/man1/{program}.1"));
        write(&place, page.as_bytes())?;
    }
    Ok(())
}

/// The package for Julia: `Pkg.develop(path = "PREFIX/share/nvshmemrs/julia")`.
fn julia(tree: &Tree, prefix: &Path) -> Result<()> {
    let (from, to) = (
        tree.root.join("bindings/julia"),
        prefix.join("share/nvshmemrs/julia"),
    );
    empty(&to)?;
    for folder in ["src", "ext"] {
        copy_folder(&from.join(folder), &to.join(folder))?;
    }
    for file in ["Project.toml", "README.md"] {
        put(&from.join(file), &to.join(file))?;
    }
    Ok(())
}

/// The Fortran modules as sources and, if gfortran is installed, compiled; returns whether they were compiled.
fn fortran(tree: &Tree, prefix: &Path) -> Result<bool> {
    run::run(
        tree.command(tree.release().join("nvshmemrs-generator"))
            .arg("fortran"),
    )?;
    let (from, to) = (
        tree.root.join("bindings/fortran"),
        prefix.join("share/nvshmemrs/fortran"),
    );
    empty(&to)?;
    copy_folder(&from.join("src"), &to.join("src"))?;
    for file in ["CMakeLists.txt", "Makefile", "fpm.toml", "README.md"] {
        put(&from.join(file), &to.join(file))?;
    }
    if !run::exists("gfortran") {
        return Ok(false);
    }
    let build = tree.scratch("fortran")?;
    run::run(
        tree.command("make")
            .args(["-s", "-C"])
            .arg(&from)
            .arg(format!("BUILD={}", build.display())),
    )?;
    for file in files(&build)? {
        let name = file.file_name().context("a file without a name")?;
        if file.extension().is_some_and(|end| end == "mod") {
            put(&file, &prefix.join("include/nvshmemrs-fortran").join(name))?;
        }
    }
    let archive = "libnvshmemrs_fortran.a";
    put(&build.join(archive), &prefix.join("lib").join(archive))?;
    Ok(true)
}

/// The commands that compile and start programs with OpenSHMEM's names, in a folder of their own, because other libraries use the
/// same command names.
fn openshmem(tree: &Tree, layout: &Layout, prefix: &Path) -> Result<()> {
    let folder = prefix.join("compat/bin");
    for name in ["oshcc", "oshc++"] {
        layout.place_compiler(tree, &folder.join(name))?;
    }
    link("../../bin/nvshmemrs-run", &folder.join("oshrun"))
}

/// The folder for NVSHMEM_HOME.
fn nvshmem(tree: &Tree, prefix: &Path) -> Result<()> {
    let home = prefix.join("compat/nvshmem");
    empty(&home)?;
    for (place, file) in NVSHMEM_LINKS {
        link(
            &format!("../../../lib/{file}"),
            &home.join("lib").join(place),
        )?;
    }
    write(&home.join("lib/libnvshmem_host.so"), NVSHMEM_HOST)?;
    write(&home.join("lib/libnvshmem_device.a"), EMPTY_ARCHIVE)?;
    for folder in ["include/nvshmemrs-compat", "include"] {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(prefix.join(folder))? {
            names.push(entry?.file_name());
        }
        let own = |name: &&std::ffi::OsString| {
            !["nvshmemrs-compat", "nvshmemrs-fortran"]
                .iter()
                .any(|folder| **name == **folder)
        };
        for name in names.iter().filter(own) {
            let name = name.to_string_lossy();
            link(
                &format!("../../../{folder}/{name}"),
                &home.join("include").join(&*name),
            )?;
        }
    }
    put_text(
        tree,
        "packaging/NVSHMEMConfig.cmake",
        &home.join("lib/cmake/nvshmem/NVSHMEMConfig.cmake"),
    )
}
