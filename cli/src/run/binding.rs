//! The CPUs of each PE. If there are enough cores, every PE gets the same number of whole cores, and no two PEs share a core. A
//! PE that polls then keeps its core and its caches.

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::{fs, thread};

use super::args::{Args, BindTo};

/// Numbers of CPUs, ordered by core.
type Cpus = Vec<usize>;

/// The CPUs of each PE.
#[derive(Debug)]
pub struct Binding {
    shares: Vec<Cpus>,
    /// Held while the job runs, so that another job of this user, started meanwhile, binds nothing.
    _claim: UnixListener,
}

impl Binding {
    /// Chooses CPUs for the PEs, or returns the reason for leaving the choice to the kernel.
    pub fn of_job(args: &Args) -> Result<Self, String> {
        if args.bind_to == BindTo::None {
            return Err("--bind-to none".into());
        }
        if args.n_pes == 1 {
            return Err("the job has one PE".into());
        }
        let allowed = allowed().map_err(|error| format!("the CPUs cannot be read: {error}"))?;
        let cores = cores(&allowed, Path::new("/sys/devices/system/cpu"));
        // This number includes the limit of a control group.
        let granted = thread::available_parallelism().map_or(1, |number| number.get());
        let (n_pes, places) = (args.n_pes as usize, cores.len().min(granted));
        if n_pes > places {
            let plural = if places == 1 { "" } else { "s" };
            return Err(format!("{n_pes} PEs do not fit on {places} core{plural}"));
        }
        let claim = claim().map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => "another job of this user has bound its PEs".to_owned(),
            _ => format!("whether another job has bound its PEs cannot be found out: {error}"),
        })?;
        Ok(Self {
            shares: shares(&cores, n_pes),
            _claim: claim,
        })
    }

    /// The CPUs of a PE, in the format that [`bind`] parses.
    pub fn cpus_of(&self, pe: u32) -> String {
        text(&self.shares[pe as usize])
    }
}

/// Binds the calling process to CPUs in the format of [`Binding::cpus_of`].
pub fn bind(cpus: &str) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    for cpu in cpus.split(',') {
        let cpu = cpu.parse().ok().filter(|&cpu| cpu < CpuSet::MAX_CPU);
        set.set(cpu.ok_or(Errno::INVAL)?);
    }
    sched_setaffinity(None, &set)
}

fn text(cpus: &[usize]) -> String {
    let words: Vec<_> = cpus.iter().map(usize::to_string).collect();
    words.join(",")
}

/// The CPUs that this process may use.
fn allowed() -> Result<Cpus, Errno> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// The cores of these CPUs, grouped by package. A CPU without topology files counts as a core.
fn cores(cpus: &[usize], folder: &Path) -> Vec<Cpus> {
    let mut cores: BTreeMap<(usize, usize), Cpus> = BTreeMap::new();
    for &cpu in cpus {
        // Reads the first CPU of a list, such as `0,8` or `0-1`.
        let number = |file: &str| -> Option<usize> {
            let path = folder.join(format!("cpu{cpu}/topology/{file}"));
            let text = fs::read_to_string(path).ok()?;
            text.trim().split([',', '-']).next()?.parse().ok()
        };
        // The number `core_id` may occur several times in a package.
        let core = number("core_cpus_list").or_else(|| number("thread_siblings_list"));
        let place = number("physical_package_id").zip(core);
        let (package, core) = place.unwrap_or((usize::MAX, cpu));
        cores.entry((package, core)).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// Assigns adjacent cores to each PE.
fn shares(cores: &[Cpus], n_pes: usize) -> Vec<Cpus> {
    let each = cores.len() / n_pes;
    cores.chunks(each).take(n_pes).map(<[_]>::concat).collect()
}

/// Claims the right to bind PEs for one job of this user on this machine, until this process ends.
fn claim() -> std::io::Result<UnixListener> {
    let user = rustix::process::geteuid().as_raw();
    let name = format!("nvshmemrs-run-binding-{user}");
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_cores_without_a_common_one() {
        let cores = [vec![0, 8], vec![1, 9], vec![2], vec![3, 11], vec![4]];
        assert_eq!(shares(&cores, 2), [vec![0, 8, 1, 9], vec![2, 3, 11]]);
        assert_eq!(shares(&cores, 5), cores.to_vec());
        assert_eq!(shares(&cores, 3), [vec![0, 8], vec![1, 9], vec![2]]);
    }

    #[test]
    fn threads_of_a_core_are_found_and_unknown_cpus_are_cores() {
        let folder = tempfile::tempdir().unwrap();
        // CPUs 0 and 2 share a core of package 1, as do 4 and 5; 1 is in package 0; 3 has no topology files.
        for (cpu, package, file, core) in [
            (0, 1, "core_cpus_list", "0,2"),
            (1, 0, "core_cpus_list", "1"),
            (2, 1, "core_cpus_list", "0,2"),
            (4, 1, "thread_siblings_list", "4-5"),
            (5, 1, "thread_siblings_list", "4-5"),
        ] {
            let place = folder.path().join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(place.join(file), format!("{core}\n")).unwrap();
            // As on a package with several dies.
            fs::write(place.join("core_id"), "0\n").unwrap();
        }
        let found = cores(&[0, 1, 2, 3, 4, 5], folder.path());
        assert_eq!(found, [vec![1], vec![0, 2], vec![4, 5], vec![3]]);
        assert_eq!(cores(&[2, 5], folder.path()), [vec![2], vec![5]]);
        assert_eq!(cores(&[0, 3], folder.path()), [vec![0], vec![3]]);
    }

    #[test]
    fn what_is_no_list_of_cpus_is_refused() {
        for bad in ["", "x", "0,", "-1", "1024", "99999999999999999999"] {
            assert_eq!(bind(bad), Err(Errno::INVAL), "{bad}");
        }
        // The thread of this test may be bound to all CPUs that it may use.
        assert_eq!(bind(&text(&allowed().unwrap())), Ok(()));
    }
}
