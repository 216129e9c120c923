//! Julia 1.5.3 in `.julia`. Debian 12 has no Julia, so this takes Debian 11's packages: apt resolves and verifies
//! them with a state of its own, they are unpacked in the checkout, and the system's packages stay as they are.

use super::{done, is_done, say};
use crate::run;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const VERSION: &str = "1.5.3";

/// Where Debian 11 is found: the mirror network, and the archive once it has moved there.
const MIRRORS: &[&str] = &[
    "http://deb.debian.org/debian",
    "http://archive.debian.org/debian",
];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Packages of the closure that must not shadow the machine's own: the C and C++ run time, and what only
/// matters to an installed package.
const LEFT_OUT: &[&str] = &[
    "debconf",
    "dpkg",
    "gcc-10-base",
    "libc6",
    "libcrypt1",
    "libgcc-s1",
    "libstdc++6",
    "perl-base",
    "tar",
];

/// Changes when this file unpacks something else.
const RECIPE: &str = "julia 1.5.3 from bullseye, 1";

/// Unpacks Julia and writes the script that starts it. Does nothing if `NVSHMEMRS_JULIA` names a Julia.
pub(crate) fn install(tree: &Tree) -> Result<()> {
    if std::env::var_os("NVSHMEMRS_JULIA").is_some() {
        return version(&tree.julia()).map(drop);
    }
    let home = tree.root.join(".julia");
    let stamp = home.join("stamp");
    if is_done(&stamp, RECIPE) {
        return Ok(());
    }
    for tool in ["apt-get", "dpkg"] {
        if !run::exists(tool) {
            bail!(
                "Julia {VERSION} is unpacked from Debian's packages, and this machine has no {tool}. Set \
                 NVSHMEMRS_JULIA to the path of a Julia of your own"
            );
        }
    }
    if !Path::new(KEYRING).exists() {
        bail!("{KEYRING} is missing: the package debian-archive-keyring brings it");
    }
    say(&format!("unpacking Julia {VERSION} into .julia"));
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    download(&home)?;
    unpack(&home)?;
    write_script(&home)?;
    let found = version(&tree.julia())?;
    if found != VERSION {
        bail!(
            "{} is version {found}, not {VERSION}",
            tree.julia().display()
        );
    }
    fs::remove_dir_all(home.join("apt"))?;
    done(&stamp, RECIPE)
}

/// Has Julia precompile the package, so that programs that run at the same time do not all do it; then prints how long loading it
/// takes.
pub(crate) fn package(tree: &Tree) -> Result<()> {
    for program in [
        "using NVSHMEMRS",
        "println(\"loading NVSHMEMRS takes \", round(@elapsed(using NVSHMEMRS), digits = 2), \" s\")",
    ] {
        let mut julia = tree.with_contract(tree.command(tree.julia()));
        julia.args([
            "--startup-file=no",
            "--project=bindings/julia",
            "-e",
            program,
        ]);
        run::run(&mut julia)?;
    }
    Ok(())
}

/// What version the Julia at `program` is.
fn version(program: &Path) -> Result<String> {
    let mut julia = Command::new(program);
    let text = run::output(julia.args(["--startup-file=no", "-e", "print(VERSION)"]))?;
    Ok(text.trim().to_owned())
}

/// Downloads Julia's packages and all they depend on into `home/apt/debs`.
fn download(home: &Path) -> Result<()> {
    let mut failures = Vec::new();
    for mirror in MIRRORS {
        match download_from(mirror, home) {
            Ok(()) => return Ok(()),
            Err(error) => failures.push(format!("{mirror}: {error:#}")),
        }
    }
    bail!(
        "cannot download Julia {VERSION} from Debian 11\n{}",
        failures.join("\n")
    )
}

fn download_from(mirror: &str, home: &Path) -> Result<()> {
    let apt = home.join("apt");
    let debs = apt.join("debs");
    for folder in ["lists/partial", "cache/archives/partial", "debs"] {
        fs::create_dir_all(apt.join(folder))?;
    }
    // An empty list of installed packages makes the closure the same on every machine.
    fs::write(apt.join("status"), "")?;
    fs::write(
        apt.join("sources.list"),
        format!("deb [signed-by={KEYRING}] {mirror} bullseye main\n"),
    )?;
    run::output(apt_get(&apt).args(["-q", "update"]))?;
    let plan = run::output(apt_get(&apt).args(["--simulate", "install", "julia"]))?;
    let packages: Vec<&str> = plan
        .lines()
        .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
        .filter(|package| !LEFT_OUT.contains(package))
        .collect();
    if !packages.contains(&"julia") {
        bail!("apt does not plan to install julia:\n{plan}");
    }
    run::output(
        apt_get(&apt)
            .args(["-q", "download"])
            .args(&packages)
            .current_dir(&debs),
    )
    .map(drop)
}

/// apt with its lists, its cache and its idea of what is installed below `apt`.
fn apt_get(apt: &Path) -> Command {
    let mut command = Command::new("apt-get");
    let folder = |name: &str| apt.join(name).display().to_string();
    for (option, value) in [
        ("Dir::State::lists", folder("lists")),
        ("Dir::State::status", folder("status")),
        ("Dir::Cache", folder("cache")),
        ("Dir::Etc::sourcelist", folder("sources.list")),
        ("Dir::Etc::sourceparts", "-".to_owned()),
        ("Dir::Etc::preferences", "-".to_owned()),
        ("Dir::Etc::preferencesparts", "-".to_owned()),
        // Debian 11 is no longer signed anew; the signature itself is checked.
        ("Acquire::Check-Valid-Until", "false".to_owned()),
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "3".to_owned()),
        ("APT::Install-Recommends", "false".to_owned()),
        // As the caller, root or not: the user _apt may have no access to the checkout.
        ("APT::Sandbox::User", "root".to_owned()),
    ] {
        command.arg("-o").arg(format!("{option}={value}"));
    }
    // A plan is read by its words.
    command.env("LC_ALL", "C");
    command
}

fn unpack(home: &Path) -> Result<()> {
    let root = home.join("root");
    for entry in fs::read_dir(home.join("apt/debs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run::output(Command::new("dpkg").arg("--extract").args([&path, &root]))?;
        }
    }
    // Only the documentation and the locales of the libraries: Julia reads neither.
    for unread in ["usr/share/doc", "usr/share/locale", "usr/share/man"] {
        let folder = root.join(unread);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
    }
    Ok(())
}

/// Writes `home/bin/julia-nvshmemrs`.
fn write_script(home: &Path) -> Result<()> {
    let triplet = multiarch(&home.join("root/usr/lib"))?;
    let script = format!(
        r#"#!/bin/sh
# Starts the Julia below ../root with its own libraries and its own depot.
home=$(cd "$(dirname "$0")/.." && pwd) || exit 1
lib=$home/root/usr/lib/{triplet}
LD_LIBRARY_PATH=$lib/julia:$lib:$home/root/lib/{triplet}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
JULIA_DEPOT_PATH=${{JULIA_DEPOT_PATH:-$home/depot}}
export LD_LIBRARY_PATH JULIA_DEPOT_PATH
exec "$home/root/usr/bin/julia" "$@"
"#
    );
    let bin = home.join("bin");
    fs::create_dir_all(&bin)?;
    let path = bin.join("julia-nvshmemrs");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

/// The folder of libraries below `lib` that holds Julia's, such as `x86_64-linux-gnu`.
fn multiarch(lib: &Path) -> Result<String> {
    for entry in fs::read_dir(lib)? {
        let path = entry?.path();
        if path.join("julia/sys.so").exists()
            && let Some(name) = path.file_name()
        {
            return Ok(name.to_string_lossy().into_owned());
        }
    }
    bail!("no folder of {} holds julia/sys.so", lib.display())
}
