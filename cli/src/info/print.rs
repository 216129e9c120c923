//! The report as text.

use super::gpus::{Gpus, Link};
use super::report::Report;
use super::settings::{NvshmemSetting, Settings};
use nvshmemrs_inspect::list::Listing;
use std::fmt::Write;

/// The jobs of this machine as text.
pub fn jobs(listing: &Listing) -> String {
    let Listing { jobs, others } = listing;
    if jobs.is_empty() && others.is_empty() {
        return "no job runs on this machine".into();
    }
    let line = |pid: &str, user: &str, pes: &str, state: &str, time: &str, command: &str| {
        format!("{pid:<9} {user:<6} {pes:<5} {state:<8} {time:<9} {command}\n")
    };
    let mut text = line("PID", "USER", "PEs", "STATE", "TIME", "COMMAND");
    for job in jobs {
        let state = if job.forming { "in init" } else { "running" };
        let [pid, user, pes] =
            [job.pid, job.user, job.n_pes as u32].map(|number| number.to_string());
        text += &line(
            &pid,
            &user,
            &pes,
            state,
            &duration(job.seconds),
            &job.command,
        );
    }
    for (pid, user) in others {
        let why = "(only this user and an administrator can look into it)";
        text += &line(&pid.to_string(), &user.to_string(), "", "", "", why);
    }
    text
}

/// "45 s", "3 min", "2 h", "4 d".
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min", whole / 60),
        3600..86400 => format!("{} h", whole / 3600),
        _ => format!("{} d", whole / 86400),
    }
}

/// The report as text.
pub fn print(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, report);
    text
}

fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    let machine = &report.machine;
    writeln!(out, "nvshmemrs {}", report.version)?;

    writeln!(out, "\nMachine")?;
    writeln!(out, "  host            {}", machine.host)?;
    writeln!(
        out,
        "  kernel          {} ({})",
        machine.kernel, machine.architecture
    )?;
    writeln!(out, "  usable cores    {}", machine.usable_cores)?;
    writeln!(out, "  memory          {}", size(machine.memory_bytes))?;
    let (available, limit) = (size(machine.available_bytes), &machine.available_limit);
    writeln!(out, "  available       {available}, which is {limit}")?;
    let limit = match (machine.cgroup_limit_bytes, machine.cgroup_used_bytes) {
        (Some(limit), Some(used)) => format!("{}, {} used", size(limit), size(used)),
        _ => "none".into(),
    };
    writeln!(out, "  cgroup limit    {limit}")?;

    writeln!(out, "\nSymmetric heap")?;
    for heap in &machine.default_heaps {
        let (bytes, n) = (size(heap.bytes_per_pe), heap.n_pes);
        let pes = if n == 1 {
            "for the only PE".into()
        } else {
            format!("per PE of {n}")
        };
        writeln!(out, "  default size    {bytes} {pes}")?;
    }
    for kind in &report.memory_kinds {
        let offered = if kind.offered {
            "yes".into()
        } else {
            format!("no: {}", kind.why)
        };
        writeln!(out, "  {:<15} {offered}", format!("{} memory", kind.name))?;
    }

    // Without a driver, the line above says everything.
    if report.gpus.cuda.is_some() {
        gpus(out, &report.gpus)?;
    }

    writeln!(
        out,
        "\nLaunchers whose variables are set here, in the order in which init looks"
    )?;
    let mut any = false;
    for launcher in report
        .launchers
        .iter()
        .filter(|launcher| !launcher.variables.is_empty())
    {
        any = true;
        let variables: Vec<String> = launcher
            .variables
            .iter()
            .map(|v| format!("{}={}", v.name, v.value))
            .collect();
        writeln!(out, "  {:<15} {}", launcher.name, variables.join(" "))?;
    }
    if !any {
        writeln!(
            out,
            "  none: a program started here is the only PE of its job"
        )?;
    }

    own(out, &report.settings)?;
    let set = |one: &&NvshmemSetting| !one.set.is_empty();
    let set: Vec<&NvshmemSetting> = report.settings.nvshmem.iter().filter(set).collect();
    if !set.is_empty() {
        theirs(
            out,
            "NVSHMEM's settings that are set here, and their effect here",
            &set,
        )?;
    }
    Ok(())
}

/// The settings as text, with all of NVSHMEM's.
pub fn settings(settings: &Settings) -> String {
    let mut text = String::new();
    let all: Vec<&NvshmemSetting> = settings.nvshmem.iter().collect();
    // Writing to a String cannot fail.
    let _ = own(&mut text, settings);
    let _ = theirs(&mut text, "NVSHMEM's settings, and their effect here", &all);
    text.trim_start().to_string()
}

fn own(out: &mut String, settings: &Settings) -> std::fmt::Result {
    writeln!(out, "\nSettings")?;
    let width = settings.settings.iter().map(|setting| setting.name.len());
    let width = width.max().unwrap_or(0);
    for setting in &settings.settings {
        let value = if setting.value.is_empty() {
            "(empty)"
        } else {
            &setting.value
        };
        writeln!(
            out,
            "  {:width$}  {value}  [{}]",
            setting.name, setting.source
        )?;
        writeln!(out, "  {:width$}    {}", "", setting.help)?;
    }
    if !settings.unknown.is_empty() {
        writeln!(out, "\nSet here, but read by nothing")?;
    }
    for unknown in &settings.unknown {
        match &unknown.nearest {
            Some(nearest) => writeln!(out, "  {}: did you mean {nearest}?", unknown.name)?,
            None => writeln!(out, "  {}: no setting has a name like it", unknown.name)?,
        }
    }
    Ok(())
}

fn theirs(out: &mut String, heading: &str, all: &[&NvshmemSetting]) -> std::fmt::Result {
    writeln!(out, "\n{heading}")?;
    let width = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for one in all {
        let (here, why) = (one.here, one.why);
        writeln!(out, "  {:width$}  {here}: {why}", one.name)?;
        writeln!(out, "  {:width$}    in NVSHMEM: {}", "", one.meaning)?;
    }
    Ok(())
}

fn gpus(out: &mut String, gpus: &Gpus) -> std::fmt::Result {
    writeln!(out, "\nGPUs")?;
    let driver = gpus.driver.as_deref().unwrap_or("NVIDIA's");
    let cuda = gpus.cuda.as_deref().unwrap_or_default();
    writeln!(out, "  driver          {driver}, for CUDA {cuda}")?;
    for device in &gpus.devices {
        let name = format!("GPU {}", device.ordinal);
        let Some(facts) = &device.facts else {
            writeln!(out, "  {name:<15} cannot be used: see below")?;
            continue;
        };
        writeln!(
            out,
            "  {name:<15} {}, {}, compute capability {}.{}, {} multiprocessors",
            facts.name,
            size(facts.memory_bytes),
            facts.capability.0,
            facts.capability.1,
            facts.multiprocessors
        )?;
        writeln!(out, "  {:15} {}", "", facts.uuid)?;
        let kernels = facts.kernels.as_deref().unwrap_or("none: see below");
        writeln!(out, "  {:15} kernels: {kernels}", "")?;
    }
    if !gpus.links.is_empty() {
        matrix(out, gpus)?;
    }
    for folder in &gpus.images {
        let images = match folder.architectures.join(" ") {
            none if none.is_empty() => "none".into(),
            some => some,
        };
        writeln!(out, "  images          {}: {images}", folder.folder)?;
    }
    match &gpus.nvrtc {
        Some(nvrtc) => writeln!(
            out,
            "  NVRTC           {} ({})",
            nvrtc.version, nvrtc.origin
        )?,
        None => writeln!(
            out,
            "  NVRTC           not found; it compiles the kernels where there is no image"
        )?,
    }
    for missing in &gpus.missing {
        writeln!(out, "  missing for {}: {}", missing.what, missing.why)?;
    }
    Ok(())
}

/// The access matrix: a row for each GPU that loads and stores.
fn matrix(out: &mut String, gpus: &Gpus) -> std::fmt::Result {
    let cell = |link: &Link| match (link.access, link.atomics, link.way) {
        (false, _, _) => "no access".to_string(),
        (true, atomics, way) => {
            let way = way.unwrap_or("access");
            let without = if atomics { "" } else { ", no atomics" };
            format!("{way}{without}")
        }
    };
    let width = gpus.links.iter().map(|link| cell(link).len()).max();
    let width = width.unwrap_or(0).max("GPU 10".len()) + 1;
    let known: Vec<i32> = gpus
        .devices
        .iter()
        .filter(|device| device.facts.is_some())
        .map(|device| device.ordinal)
        .collect();
    let mut row = |head: String, cells: Vec<String>| {
        let cells: String = cells
            .iter()
            .map(|cell| format!(" {cell:<width$}"))
            .collect();
        writeln!(out, "  {}", format!("{head:<15}{cells}").trim_end())
    };
    let name = |number: &i32| format!("GPU {number}");
    row("from \\ to".into(), known.iter().map(name).collect())?;
    for from in &known {
        let cells = known.iter().map(|to| {
            let mut links = gpus.links.iter();
            let link = links.find(|link| (link.from, link.to) == (*from, *to));
            link.map_or("itself".into(), cell)
        });
        row(name(from), cells.collect())?;
    }
    Ok(())
}

/// A size in the largest unit in which it is at least 1.
pub fn size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.checked_ilog2().unwrap_or(0) / 10) as usize;
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!(
            "{:.1} {}",
            bytes as f64 / 1024f64.powi(unit as i32),
            units[unit]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(50_465_865_728), "47.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }
}
