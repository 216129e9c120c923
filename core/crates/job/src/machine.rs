//! The resources of the machine: memory, cores.

use super::layout::HEAP_UNIT;
use crate::config;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// A random number that identifies this process among those of a job. A forked child has another number.
pub(crate) fn process_token() -> u64 {
    static TOKEN: OnceLock<u64> = OnceLock::new();
    // Without random numbers the pid has to do; it differs within a pid namespace.
    let token = *TOKEN.get_or_init(|| getrandom::u64().unwrap_or(0));
    token.wrapping_add(u64::from(std::process::id()))
}

/// The pid namespace of this process; 0 if the kernel does not show it.
pub fn pid_namespace() -> u64 {
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    *NAMESPACE.get_or_init(|| fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino()))
}

/// The file that tells one boot of a kernel from others.
#[doc(hidden)]
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A number that identifies this host: its boot id, or a random number if the kernel has none. It does not change while this process
/// lives.
#[doc(hidden)]
pub fn host() -> [u8; 16] {
    static HOST: OnceLock<[u8; 16]> = OnceLock::new();
    *HOST.get_or_init(|| {
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        let digits: String = boot.trim().split('-').collect();
        let number = u128::from_str_radix(&digits, 16).map_or([0; 16], u128::to_be_bytes);
        let random = |_| getrandom::u64().unwrap_or(0).to_le_bytes();
        match number {
            number if number != [0; 16] => number,
            _ => bytemuck::cast([0, 1].map(random)),
        }
    })
}

/// A number of 128 bits: of a host, or the UUID of a GPU as the driver reports it.
#[doc(hidden)]
pub type Id = [u8; 16];

/// A number in the words of a block.
#[doc(hidden)]
pub fn words(id: Id) -> [u64; 2] {
    let all = u128::from_le_bytes(id);
    [all as u64, (all >> 64) as u64]
}

/// The host of a process.
#[doc(hidden)]
pub struct HostInfo {
    /// Its number among hosts.
    pub id: [u8; 16],
    /// Its name, for messages.
    pub name: String,
}

/// The host of this process. `NVSHMEMRS_HOST_ID` gives it another name; then processes with the same name are on one host. Otherwise a
/// host is a running kernel and a network namespace in it: processes of two namespaces cannot meet at a socket.
#[doc(hidden)]
pub fn here() -> HostInfo {
    let id = |parts: &[&[u8]]| {
        let digest = Sha256::digest(parts.concat());
        std::array::from_fn(|index| digest[index])
    };
    if let Some(name) = config::set("NVSHMEMRS_HOST_ID") {
        let id = id(&[b"named ", name.as_bytes()]);
        return HostInfo { id, name };
    }
    let network = fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino());
    HostInfo {
        id: id(&[b"found ", &host(), &network.to_le_bytes()]),
        name: rustix::system::uname().nodename().to_string_lossy().into(),
    }
}

/// Bytes of memory that new symmetric memory may use now, and the source of that limit.
pub fn available() -> (u64, String) {
    let free = meminfo("MemAvailable").unwrap_or(u64::MAX);
    match cgroup() {
        Some((limit, used)) if limit.saturating_sub(used) < free => (
            limit.saturating_sub(used),
            format!("the control group's limit of {limit} bytes"),
        ),
        _ => (free, "the machine's free memory".to_string()),
    }
}

/// Bytes of memory that processes here may use in all.
pub fn total() -> u64 {
    let total = meminfo("MemTotal").unwrap_or(1 << 30);
    cgroups()
        .iter()
        .map(|(limit, _)| *limit)
        .fold(total, u64::min)
}

/// The smallest default heap per PE.
const SMALLEST_HEAP: u64 = 16 << 20;
/// Address space that the parts of all PEs of a job take at most by default. Each process maps all of them, on every host.
const PARTS: u64 = 1 << 45;

/// The default heap per PE: an equal share of the memory. It is address space; memory is committed when allocations need it.
pub fn default_heap_bytes(n_pes: crate::Pe) -> u64 {
    share_of_heap(total(), n_pes)
}

/// The share of a PE in the memory of a host with `n_pes` PEs.
#[doc(hidden)]
pub fn share_of_heap(memory: u64, n_pes: crate::Pe) -> u64 {
    (memory / n_pes.max(1) as u64).max(SMALLEST_HEAP)
}

/// Reduces `bytes` per PE so that the parts of `n_pes` PEs fit the address space. A part is as long as two heaps.
#[doc(hidden)]
pub fn fitting_heap(bytes: u64, n_pes: crate::Pe) -> u64 {
    let most = PARTS / 2 / n_pes.max(1) as u64;
    bytes.min(most / HEAP_UNIT * HEAP_UNIT).max(SMALLEST_HEAP)
}

/// The memory limit and the use of the control group with the least memory left, if there is one.
pub fn cgroup() -> Option<(u64, u64)> {
    cgroups()
        .into_iter()
        .min_by_key(|(limit, used)| limit.saturating_sub(*used))
}

/// The memory limits and the use of this process's control groups (versions 1 and 2).
fn cgroups() -> Vec<(u64, u64)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        // hierarchy:controllers:path
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, limit, used, cache) = match controllers {
            "" => (
                "/sys/fs/cgroup",
                "memory.max",
                "memory.current",
                ["inactive_file", "active_file"],
            ),
            list if list.split(',').any(|name| name == "memory") => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            _ => continue,
        };
        // A group is bound by its ancestors' limits, too.
        for group in Path::new(path).ancestors() {
            let folder = format!(
                "{root}{}",
                group.display().to_string().trim_end_matches('/')
            );
            let read = |file: &str| fs::read_to_string(format!("{folder}/{file}")).ok();
            let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
            // No limit is "max", which does not parse, or, in version 1, a number near 2^63.
            let (Some(limit), Some(used)) =
                (number(limit).filter(|&limit| limit < 1 << 62), number(used))
            else {
                continue;
            };
            // The kernel drops cached files before it refuses memory.
            let stat = read("memory.stat").unwrap_or_default();
            let cached: u64 = stat
                .lines()
                .filter_map(|line| line.split_once(' '))
                .filter(|(name, _)| cache.contains(name))
                .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
                .sum();
            found.push((limit, used.saturating_sub(cached)));
        }
    }
    found
}

fn meminfo(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    line.trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_machine_has_memory() {
        let (available, limit) = super::available();
        assert!(
            available > 0 && available <= super::total(),
            "{available} {limit}"
        );
        assert!(super::default_heap_bytes(2) <= super::total());
    }

    #[test]
    fn the_parts_of_many_pes_fit_the_address_space() {
        use super::{HEAP_UNIT, fitting_heap, share_of_heap};
        assert_eq!(share_of_heap(64 << 30, 8), 8 << 30);
        assert_eq!(share_of_heap(64 << 20, 8), 16 << 20);
        assert_eq!(fitting_heap(8 << 30, 64), 8 << 30);
        let many = fitting_heap(1 << 40, 1000);
        assert!(
            many.is_multiple_of(HEAP_UNIT) && many * 2 * 1000 <= 1 << 45,
            "{many}"
        );
    }
}
