//! Merges the parts of a trace into one file of Chrome's trace event format, which Perfetto reads.
//!
//! Each PE is a process of the file, each thread a track, each call a slice. An arrow leads from the call that has satisfied a wait to the
//! wait.

use super::align::{HostClock, host_clocks};
use super::clock::Scale;
use super::read::{PartFile, parts};
use super::record::{Kind, Record};
use crate::Pe;
use crate::job::signals::without_those_of;
use crate::job::team;
use crate::operation::Operation;
use crate::words::{self, counted};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How many updates of a word are compared with the value that a wait has seen, from the last one back.
const COMPARED: usize = 64;

/// The outcome of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The error, if the file could not be written. The parts are kept then.
    error: Option<io::Error>,
    /// The calls that are missing, because there was no room for them: the number, the PEs and the error.
    lost: Option<(u64, Vec<Pe>, i32)>,
    /// The PEs that have no part.
    missing: Vec<Pe>,
}

impl Merged {
    /// A line for the user, if something is missing.
    pub fn line(&self, path: &Path) -> Option<String> {
        let path = path.display();
        if let Some(error) = &self.error {
            return Some(format!(
                "nvshmemrs trace: cannot write {path}: {error}; the records of the PEs stay in {path}.pe-*, and \
                 nvshmemrs-info --merge-trace {path} merges them\n"
            ));
        }
        if let Some((calls, pes, errno)) = &self.lost {
            let why = match io::Error::from_raw_os_error(*errno) {
                error if error.kind() == io::ErrorKind::FileTooLarge => {
                    "the part of a PE has reached its largest size".to_string()
                }
                error => error.to_string(),
            };
            return Some(format!(
                "nvshmemrs trace: {path} lacks {} of {}: {why}\n",
                counted(*calls, "call"),
                words::pes(pes)
            ));
        }
        (!self.missing.is_empty()).then(|| {
            format!(
                "nvshmemrs trace: {path} has no calls of {}, whose part could not be written or is on another host\n",
                words::pes(&self.missing)
            )
        })
    }
}

/// Whether the trace at `path` has parts that were not merged.
pub fn has_parts(path: &Path) -> bool {
    parts(path).is_ok_and(|parts| !parts.is_empty())
}

/// Whether PE 0 of the trace at `path` has not merged the parts, because a PE has ended without finalize.
pub fn is_left(path: &Path) -> bool {
    parts(path).is_ok_and(|parts| parts.iter().any(|(_, part)| !part.closed))
}

/// Removes the parts of an earlier trace at `path`.
pub fn remove_parts(path: &Path) {
    for (part, _) in parts(path).into_iter().flatten() {
        let _ = std::fs::remove_file(part);
    }
}

/// Merges the parts of the trace at `path`, and removes them.
pub fn merge(path: &Path) -> Merged {
    let mut merged = Merged {
        error: None,
        lost: None,
        missing: Vec::new(),
    };
    if let Err(error) = without_those_of(|| try_merge(path, &mut merged)) {
        merged.error = Some(error);
    }
    merged
}

fn try_merge(path: &Path, merged: &mut Merged) -> io::Result<()> {
    let files: Vec<_> = parts(path)?.into_iter().map(|(file, _)| file).collect();
    let parts = files.iter().map(|file| PartFile::read(file));
    let mut parts: Vec<PartFile> = parts.collect::<io::Result<_>>()?;
    share_scales(&mut parts);
    let Some(first) = parts.first() else {
        return Err(io::Error::other("no PE has left records"));
    };
    merged.missing = (0..first.n_pes)
        .filter(|pe| parts.iter().all(|part| part.pe != *pe))
        .collect();
    let lossy = || parts.iter().filter(|part| part.lost > 0);
    merged.lost = lossy().next().map(|one| {
        let calls = lossy().map(|part| part.lost).sum();
        (calls, lossy().map(|part| part.pe).collect(), one.error)
    });
    // A reader never sees half a file.
    let mut name = path.as_os_str().to_owned();
    name.push(".incomplete");
    let written = write_file(Path::new(&name), &parts);
    if let Err(error) = written.and_then(|()| std::fs::rename(&name, path)) {
        let _ = std::fs::remove_file(&name);
        return Err(error);
    }
    for file in files {
        std::fs::remove_file(file)?;
    }
    Ok(())
}

/// A PE that was killed may have read its clocks long before its last records. The PEs of its host have the same clock, so it gets the
/// readings that are furthest apart.
fn share_scales(parts: &mut [PartFile]) {
    let mut longest: HashMap<u64, Scale> = HashMap::new();
    for part in &*parts {
        let scale = longest.entry(part.host).or_insert(part.scale);
        if part.scale.span() > scale.span() {
            *scale = part.scale;
        }
    }
    for part in parts.iter_mut().filter(|part| !part.closed) {
        part.scale = longest[&part.host];
    }
}

fn write_file(name: &Path, parts: &[PartFile]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(name)?);
    write_events(&mut out, parts)?;
    out.into_inner()
        .map_err(|error| error.into_error())?
        .sync_data()
}

/// A call, at times of the first host's clock.
#[derive(Clone, Copy)]
struct Call<'a> {
    part: &'a PartFile,
    record: &'a Record,
    /// In ns.
    begin: i64,
    end: i64,
}

/// Writes the events of all parts.
fn write_events(out: &mut impl Write, parts: &[PartFile]) -> io::Result<()> {
    let clocks = host_clocks(parts);
    let mut calls: Vec<Call<'_>> = Vec::new();
    for part in parts {
        let offset = clocks.get(&part.host).map_or(0, |clock| clock.offset);
        calls.extend(part.records.iter().map(|record| {
            let time = |ticks| part.scale.ns(ticks).saturating_add(offset);
            let (begin, end) = (time(record.begin), time(record.end));
            Call {
                part,
                record,
                begin,
                end: end.max(begin),
            }
        }));
    }
    calls.sort_by_key(|call| call.begin);
    let zero = calls.first().map_or(0, |call| call.begin);
    let time = |ns: i64| Micros(ns.saturating_sub(zero));
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"library\":\"nvshmemrs {}\"",
        env!("CARGO_PKG_VERSION")
    )?;
    for (host, clock) in clocks.iter().filter(|_| clocks.len() > 1) {
        write!(out, ",\"host {host}\":{}", Text(&said(clock)))?;
    }
    write!(out, "}},\"traceEvents\":[")?;
    let mut events = Events { out, first: true };
    for part in parts {
        let host = match clocks.len() {
            1 => String::new(),
            _ => format!(", host {}", part.host),
        };
        let name = format!("PE {} (pid {}{host})", part.pe, part.pid);
        let mut meta = |what: &str, tid: u64, args: &str| {
            events.write(format_args!(
                "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{},\"tid\":{tid},\"args\":{{{args}}}}}",
                part.pe
            ))
        };
        meta("process_name", 0, &format!("\"name\":{}", Text(&name)))?;
        meta(
            "process_sort_index",
            0,
            &format!("\"sort_index\":{}", part.pe),
        )?;
        for (&thread, name) in &part.threads {
            meta(
                "thread_name",
                thread.into(),
                &format!("\"name\":{}", Text(name)),
            )?;
        }
    }
    for call in &calls {
        write_call(&mut events, call, time(call.begin))?;
    }
    for (number, (from, to)) in flows(&calls).into_iter().enumerate() {
        // Inside both slices, and never backwards.
        let arrival = from.end.clamp(to.begin, to.end).max(from.begin);
        let mut event = |phase: &str, call: &Call<'_>, at: i64| {
            events.write(format_args!(
                "{{\"ph\":{phase},\"cat\":\"signal\",\"name\":\"satisfies\",\"id\":{number},\"pid\":{},\"tid\":{},\"ts\":{}}}",
                call.part.pe, call.record.thread, time(at)
            ))
        };
        event("\"s\"", from, from.begin)?;
        event("\"f\",\"bp\":\"e\"", to, arrival)?;
    }
    write!(out, "\n]}}\n")
}

/// How well the clock of a host is known.
fn said(clock: &HostClock) -> String {
    match clock.error {
        Some(error) => format!(
            "clock moved by {} ns, to within {error} ns, by its barriers",
            clock.offset
        ),
        None => format!("clock moved by {} ns, by its time of day", clock.offset),
    }
}

/// The events, with commas between them.
struct Events<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    fn write(&mut self, event: std::fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if self.first { "" } else { "," };
        self.first = false;
        write!(self.out, "{comma}\n{event}")
    }
}

fn write_call(
    events: &mut Events<'_, impl Write>,
    call: &Call<'_>,
    begin: Micros,
) -> io::Result<()> {
    let Call { part, record, .. } = call;
    let kind = Kind::from_number(record.kind);
    let operation = Operation::from_number(record.operation.into());
    let mut args = String::new();
    let mut arg = |name: &str, value: &dyn std::fmt::Display| {
        let comma = if args.is_empty() { "" } else { "," };
        args += &format!("{comma}\"{name}\":{value}");
    };
    let category = match kind {
        Some(Kind::Collective) => {
            arg("team", &Text(&team::name(record.peer.max(0) as u32)));
            "collective"
        }
        Some(Kind::Wait) => "wait",
        _ => "operation",
    };
    if kind != Some(Kind::Collective) && record.peer >= 0 {
        arg("peer", &record.peer);
        arg("bytes", &record.bytes);
    }
    if matches!(kind, Some(Kind::Wait | Kind::Set | Kind::Update)) && record.width > 0 {
        arg("offset", &record.offset);
    }
    let one_word = kind == Some(Kind::Wait) && (1..=8).contains(&record.width);
    if one_word || kind == Some(Kind::Set) {
        arg("value", &record.value);
    }
    if record.stream != 0 {
        arg(
            "stream",
            &Text(&format!("{:#x}", record.stream.wrapping_sub(1))),
        );
    }
    // A site is "put at heat.c:71 (send_halo)".
    let site = part.sites.get(&record.site.into());
    if let Some((_, place)) = site.and_then(|site| site.split_once(" at ")) {
        arg("site", &Text(place));
    }
    events.write(format_args!(
        "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{begin},\"dur\":{},\"args\":{{{args}}}}}",
        operation.map_or("unknown", Operation::name),
        part.pe,
        record.thread,
        Micros(call.end - call.begin),
    ))
}

/// A time in ns, written in microseconds.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, (self.0 % 1000).abs())
    }
}

/// A text as a string of JSON.
struct Text<'a>(&'a str);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// The calls that have satisfied waits, and the waits. `calls` are in the order of their beginnings.
fn flows<'a, 'c>(calls: &'c [Call<'a>]) -> Vec<(&'c Call<'a>, &'c Call<'a>)> {
    let is = |call: &&Call<'_>, kinds: &[Kind]| {
        Kind::from_number(call.record.kind).is_some_and(|kind| kinds.contains(&kind))
    };
    // The memory that PEs wait for, by its first byte: the longest range that begins there, and the updates of it.
    let mut waited: HashMap<Pe, BTreeMap<u64, (u64, Vec<&Call<'_>>)>> = HashMap::new();
    let mut longest = 0;
    let waits = || calls.iter().filter(|call| is(call, &[Kind::Wait]));
    for wait in waits() {
        let ranges = waited.entry(wait.part.pe).or_default();
        let range = ranges.entry(wait.record.offset).or_default();
        range.0 = range.0.max(wait.record.width.into());
        longest = range.0.max(longest);
    }
    for update in calls
        .iter()
        .filter(|call| is(call, &[Kind::Set, Kind::Update]))
    {
        let Some(ranges) = waited.get_mut(&update.record.peer) else {
            continue;
        };
        let start = update.record.offset;
        let end = start.saturating_add(update.record.width.into());
        for (first, (width, updates)) in ranges.range_mut(start.saturating_sub(longest)..end) {
            if first.saturating_add(*width) > start {
                updates.push(update);
            }
        }
    }
    let satisfies = |wait: &'c Call<'a>| {
        let (_, updates) = waited.get(&wait.part.pe)?.get(&wait.record.offset)?;
        let before = updates.partition_point(|update| update.begin <= wait.end);
        let updates = &updates[..before];
        let exact =
            updates.iter().rev().take(COMPARED).find(|update| {
                is(update, &[Kind::Set]) && update.record.value == wait.record.value
            });
        exact.or(updates.last()).copied()
    };
    let found = waits().filter_map(|wait| Some((satisfies(wait)?, wait)));
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_pe_has_the_clock_of_its_host() {
        let scale = |last| Scale {
            first: (0, 0),
            last,
        };
        let killed = |pe, host| PartFile {
            host,
            scale: scale((10, 9)),
            closed: false,
            ..PartFile::of_test(pe)
        };
        let mut parts = [PartFile::of_test(0), killed(1, 0), killed(2, 1)];
        parts[0].scale = scale((5000, 1000));
        share_scales(&mut parts);
        let ns: Vec<i64> = parts.iter().map(|part| part.scale.ns(50_000)).collect();
        assert_eq!(ns, [10_000, 10_000, 45_000]);
    }

    /// A wait is satisfied by the last update with the value that it has seen, else by the last update before its end.
    #[test]
    fn an_arrow_comes_from_the_update_that_the_wait_has_seen() {
        let parts = [0, 1].map(PartFile::of_test);
        let record = |(pe, kind, value, _): (usize, Kind, u64, i64)| Record {
            kind: kind as u8,
            peer: 1 - pe as Pe,
            offset: 64,
            width: 8,
            value,
            ..Record::default()
        };
        let made = [
            (0, Kind::Set, 1, 10),
            (0, Kind::Set, 2, 20),
            (1, Kind::Wait, 1, 25),
            (0, Kind::Update, 0, 30),
            (1, Kind::Wait, 9, 35),
            (0, Kind::Set, 9, 60),
        ];
        let records = made.map(record);
        let call = |(&(pe, _, _, begin), record)| Call {
            part: &parts[pe],
            record,
            begin,
            end: begin + 5,
        };
        let calls: Vec<Call<'_>> = made.iter().zip(&records).map(call).collect();
        let found = flows(&calls);
        let times: Vec<_> = found
            .iter()
            .map(|(from, to)| (from.begin, to.begin))
            .collect();
        assert_eq!(times, [(10, 25), (30, 35)]);
    }

    #[test]
    fn texts_and_times_are_json() {
        assert_eq!(Text("a\"b\\c\n").to_string(), r#""a\"b\\c\u000a""#);
        assert_eq!(Micros(1_234_567).to_string(), "1234.567");
    }
}
