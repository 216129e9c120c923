//! Packages of another Debian release: apt resolves and verifies them with separate state, and they are unpacked in the checkout,
//! so the system's packages do not change.

use crate::run;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Debian's servers: the mirror network, and the archive for old releases.
const MIRRORS: &[&str] = &[
    "http://deb.debian.org/debian",
    "http://archive.debian.org/debian",
];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A package and its dependencies.
pub(super) struct Packages {
    /// The release of Debian.
    pub(super) suite: &'static str,
    pub(super) wanted: &'static str,
    /// Dependencies that are not unpacked.
    pub(super) left_out: &'static [&'static str],
}

impl Packages {
    /// Unpacks them into `home/root`, after removing the contents of `home`.
    pub(super) fn unpack(&self, home: &Path) -> Result<()> {
        for tool in ["apt-get", "dpkg"] {
            if !run::exists(tool) {
                bail!(
                    "{} is unpacked from Debian's packages, and this machine has no {tool}",
                    self.wanted
                );
            }
        }
        if !Path::new(KEYRING).exists() {
            bail!("{KEYRING} is missing: the package debian-archive-keyring brings it");
        }
        if home.exists() {
            fs::remove_dir_all(home)
                .with_context(|| format!("cannot remove {}", home.display()))?;
        }
        self.download(home)?;
        unpack(home)?;
        fs::remove_dir_all(home.join("apt"))?;
        Ok(())
    }

    /// Downloads them into `home/apt/debs`.
    fn download(&self, home: &Path) -> Result<()> {
        let mut failures = Vec::new();
        for mirror in MIRRORS {
            match self.download_from(mirror, home) {
                Ok(()) => return Ok(()),
                Err(error) => failures.push(format!("{mirror}: {error:#}")),
            }
        }
        bail!(
            "cannot download {} from Debian's {}\n{}",
            self.wanted,
            self.suite,
            failures.join("\n")
        )
    }

    fn download_from(&self, mirror: &str, home: &Path) -> Result<()> {
        let apt = home.join("apt");
        let debs = apt.join("debs");
        for folder in ["lists/partial", "cache/archives/partial", "debs"] {
            fs::create_dir_all(apt.join(folder))?;
        }
        // With an empty list of installed packages, the result is the same on every machine.
        fs::write(apt.join("status"), "")?;
        fs::write(
            apt.join("sources.list"),
            format!("deb [signed-by={KEYRING}] {mirror} {} main\n", self.suite),
        )?;
        run::output(apt_get(&apt).args(["-q", "update"]))?;
        let plan = run::output(apt_get(&apt).args(["--simulate", "install", self.wanted]))?;
        let packages: Vec<&str> = plan
            .lines()
            .filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next())
            .filter(|package| !self.left_out.contains(package))
            .collect();
        if !packages.contains(&self.wanted) {
            bail!("apt does not plan to install {}:\n{plan}", self.wanted);
        }
        run::output(
            apt_get(&apt)
                .args(["-q", "download"])
                .args(&packages)
                .current_dir(&debs),
        )
        .map(drop)
    }
}

/// apt with its lists, cache and status below `apt`.
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
        // The signature of an old release has expired, but is still verified.
        ("Acquire::Check-Valid-Until", "false".to_owned()),
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "3".to_owned()),
        ("APT::Install-Recommends", "false".to_owned()),
        // Runs as the caller: the user _apt may have no access to the checkout.
        ("APT::Sandbox::User", "root".to_owned()),
    ] {
        command.arg("-o").arg(format!("{option}={value}"));
    }
    // The output of a plan is parsed.
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
    // Not needed.
    for unread in ["usr/share/doc", "usr/share/locale", "usr/share/man"] {
        let folder = root.join(unread);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
    }
    Ok(())
}

/// Writes a script into `home/bin`.
pub(super) fn script(home: &Path, name: &str, text: &str) -> Result<()> {
    let bin = home.join("bin");
    fs::create_dir_all(&bin)?;
    let path = bin.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

/// The folder of unpacked libraries that holds `file`, such as `x86_64-linux-gnu`.
pub(super) fn multiarch(home: &Path, file: &str) -> Result<String> {
    let lib = home.join("root/usr/lib");
    for entry in fs::read_dir(&lib)? {
        let path = entry?.path();
        if path.join(file).exists()
            && let Some(name) = path.file_name()
        {
            return Ok(name.to_string_lossy().into_owned());
        }
    }
    bail!("no folder of {} holds {file}", lib.display())
}
