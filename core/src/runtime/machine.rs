//! What the machine offers: memory, cores.

use std::fs;
use std::path::Path;

/// Bytes of memory that new symmetric memory may use now, and what sets that limit.
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
    cgroup().map_or(total, |(limit, _)| limit.min(total))
}

/// The symmetric heap per PE when nobody says otherwise: an equal share of the memory. It is address space; memory is
/// taken when allocations need it.
pub fn default_heap_bytes(n_pes: crate::Pe) -> u64 {
    (total() / n_pes.max(1) as u64).max(16 << 20)
}

/// The tightest memory limit of the control groups this process is in, and what is used of it, if there is one (versions
/// 1 and 2).
pub fn cgroup() -> Option<(u64, u64)> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    own.lines()
        .filter_map(|line| {
            // hierarchy:controllers:path
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let (root, limit, used) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
                list if list.split(',').any(|name| name == "memory") => (
                    "/sys/fs/cgroup/memory",
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                ),
                _ => return None,
            };
            // A group is bound by its ancestors' limits, too.
            Path::new(path)
                .ancestors()
                .filter_map(|group| {
                    let folder = format!("{root}{}", group.to_str()?.trim_end_matches('/'));
                    let number = |file: &str| -> Option<u64> {
                        fs::read_to_string(format!("{folder}/{file}"))
                            .ok()?
                            .trim()
                            .parse()
                            .ok()
                    };
                    // "max" means no limit, and does not parse.
                    Some((number(limit)?, number(used)?))
                })
                .min_by_key(|(limit, used)| limit.saturating_sub(*used))
        })
        .min_by_key(|(limit, used)| limit.saturating_sub(*used))
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
}
