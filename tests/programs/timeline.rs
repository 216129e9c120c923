//! The timeline of a job: the arguments of each call, the arrows, and the file that is left when a PE is killed or the disk is full.

use nvshmemrs_tests::hosts::{Host, mpirun};
use nvshmemrs_tests::{HANG, Output, compile_c, info, launcher, left_out, program, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder for a timeline, and the timeline.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.json");
    (folder, path)
}

fn traced() -> PathBuf {
    compile_c(&program("traced.c"))
}

/// Runs two PEs of `programs/traced.c`, which write a timeline.
#[track_caller]
fn job(path: &Path, way: &str) -> Output {
    let option = format!("--trace={}", path.display());
    let mut command = launcher(2, &[&option, "--grace", "0.2"]);
    command.arg(traced()).arg(way);
    run(&mut command, HANG)
}

/// The events of a timeline. Each must be of the trace event format.
struct Timeline(Vec<Value>);

impl Timeline {
    #[track_caller]
    fn read(path: &Path) -> Timeline {
        let text = fs::read_to_string(path).expect("a timeline");
        let whole: Value = serde_json::from_str(&text).expect("JSON");
        let events = whole["traceEvents"].as_array().expect("events").clone();
        for event in &events {
            let number = |name: &str| event[name].as_f64().unwrap_or(-1.0) >= 0.0;
            let right = match event["ph"].as_str() {
                Some("X") => ["ts", "dur", "pid", "tid"].into_iter().all(number),
                Some("s" | "f") => ["ts", "id", "pid", "tid"].into_iter().all(number),
                Some("M") => event["args"].is_object(),
                _ => false,
            };
            assert!(right && event["name"].is_string(), "{event}");
        }
        Timeline(events)
    }

    /// The calls of an operation by a PE.
    fn calls(&self, pe: u64, name: &str) -> Vec<&Value> {
        let is = |event: &&Value| event["ph"] == "X" && event["pid"] == pe && event["name"] == name;
        self.0.iter().filter(is).collect()
    }

    /// The only one.
    #[track_caller]
    fn call(&self, pe: u64, name: &str) -> &Value {
        let calls = self.calls(pe, name);
        assert_eq!(calls.len(), 1, "{name} of PE {pe}: {calls:?}");
        calls[0]
    }

    /// Checks that an arrow leads from the call of one PE to that of another: both ends lie in the slices.
    #[track_caller]
    fn assert_arrow(&self, from: &Value, to: &Value) {
        let ends = |phase: &str, call: &Value| -> Vec<&Value> {
            let lies = |event: &&Value| {
                event["ph"] == phase
                    && event["tid"] == call["tid"]
                    && event["pid"] == call["pid"]
                    && {
                        let (at, begin) = (micros(event, "ts"), micros(call, "ts"));
                        (begin..=begin + micros(call, "dur")).contains(&at)
                    }
            };
            let ids = self.0.iter().filter(lies).map(|event| &event["id"]);
            ids.collect()
        };
        let (starts, finishes) = (ends("s", from), ends("f", to));
        let met = starts.iter().any(|id| finishes.contains(id));
        assert!(met, "no arrow leads from {from} to {to}");
    }
}

fn micros(event: &Value, name: &str) -> f64 {
    event[name].as_f64().expect("a number")
}

/// Checks that a call was made at the line of `traced.c` with a comment.
#[track_caller]
fn assert_site(call: &Value, what: &str) {
    let text = fs::read_to_string(program("traced.c")).expect("the program");
    let mark = format!("/* line: {what} */");
    let line = text.lines().position(|line| line.ends_with(&mark));
    let line = line.expect("a line with the comment") + 1;
    let site = call["args"]["site"].as_str().unwrap_or_default();
    let right = site.ends_with(&format!("traced.c:{line} (main)"));
    assert!(right, "{call} is not at line {line}");
}

#[test]
fn each_call_has_its_times_its_line_and_its_peer() {
    let (folder, path) = place();
    let output = job(&path, "").succeeded();
    assert_eq!(output.stderr, "");
    let seen = Timeline::read(&path);

    let put = seen.call(0, "put_signal");
    assert_site(put, "put_signal");
    let args = &put["args"];
    assert_eq!(
        (&args["peer"], &args["bytes"], &args["value"]),
        (&1.into(), &1000.into(), &7.into())
    );
    let wait = seen.call(1, "signal_wait");
    assert_site(wait, "signal_wait");
    assert_eq!(wait["args"]["value"], 7);
    // PE 0 sleeps for 20 ms before it puts, and then the wait ends.
    assert!(micros(wait, "dur") > 10e3, "{wait}");
    let ends = micros(wait, "ts") + micros(wait, "dur");
    assert!(
        ends > micros(put, "ts") && ends < micros(put, "ts") + 5e6,
        "{put} {wait}"
    );
    seen.assert_arrow(put, wait);
    seen.assert_arrow(seen.call(0, "p"), seen.call(1, "wait_until_all"));
    assert_site(seen.call(1, "wait_until_all"), "wait_all");

    // The stream has a track of its own; its call is at the line where it was queued.
    let p = seen.call(0, "p");
    assert_site(p, "p");
    assert_ne!(p["tid"], put["tid"]);
    assert!(micros(seen.call(0, "stream_synchronize"), "dur") > 0.0);
    for pe in 0..2 {
        let barrier = seen.call(pe, "barrier");
        assert_site(barrier, "barrier");
        assert_eq!(barrier["args"]["team"], "WORLD");
        for name in ["init", "finalize", "malloc", "quiet"] {
            let calls = usize::from(name != "quiet" || pe == 0);
            assert!(seen.calls(pe, name).len() >= calls, "{name} of PE {pe}");
        }
    }
    assert_eq!(seen.call(0, "g")["args"]["peer"], 1);
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 1, "there is more than the timeline");
}

#[test]
fn a_killed_pe_leaves_a_readable_timeline() {
    let (_folder, path) = place();
    let output = job(&path, "killed");
    output.assert_code(137);
    let seen = Timeline::read(&path);
    seen.assert_arrow(seen.call(0, "put_signal"), seen.call(1, "signal_wait"));
    assert_site(seen.call(1, "barrier"), "barrier");
    assert!(seen.calls(1, "finalize").is_empty());
}

/// Without the launcher, which would do it, the user merges.
#[test]
fn nvshmemrs_info_merges_what_was_left() {
    let (folder, path) = place();
    let merge = |path: &Path| info(&["--merge-trace", &path.to_string_lossy()]);
    let none = merge(&path);
    none.assert_code(1).assert_stderr("no PE has left records");
    let mut command = Command::new("sh");
    let text = "for pe in 0 1; do NVSHMEMRS_PE=$pe \"$0\" killed & done; wait";
    command.args(["-c", text]).arg(traced());
    command
        .env("NVSHMEMRS_N_PES", "2")
        .env("NVSHMEMRS_TRACE", &path);
    command.env(
        "NVSHMEMRS_UNIQUE_ID",
        nvshmemrs::UniqueId::new().expect("an id").to_hex(),
    );
    run(&mut command, HANG);
    let parts = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(parts, 2);
    merge(&path).assert_success();
    let seen = Timeline::read(&path);
    seen.assert_arrow(seen.call(0, "put_signal"), seen.call(1, "signal_wait"));
}

/// One line says so, and the job goes on.
#[test]
fn a_timeline_that_cannot_be_written_does_not_end_the_job() {
    let (folder, _) = place();
    let output = job(&folder.path().join("missing/t.json"), "").succeeded();
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert!(
        matches!(lines[..], [line] if line.contains("No such file") && line.contains("goes on without a trace")),
        "{output:?}"
    );
    // The parts can be written, but the file cannot.
    let path = folder.path().join("a_folder");
    fs::create_dir_all(path.join("full")).expect("a folder");
    let output = job(&path, "").succeeded();
    let lines: Vec<&str> = output.stderr.lines().collect();
    let right = |line: &str| line.contains("cannot write") && line.contains("--merge-trace");
    assert!(matches!(lines[..], [line] if right(line)), "{output:?}");
}

/// A file system of 3 MB, less than the puts need; it goes with the value.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn new() -> SmallDisk {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"])
            .arg(folder.path());
        run(&mut mount, HANG).assert_success();
        SmallDisk(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// The job goes on, one line says so, and the recorded events can be merged elsewhere.
#[test]
fn a_full_disk_does_not_end_the_job() {
    if !rustix::process::geteuid().is_root() {
        left_out("mounting a small file system takes root");
        return;
    }
    let disk = SmallDisk::new();
    let output = job(&disk.0.path().join("t.json"), "many").succeeded();
    let lines: Vec<&str> = output.stderr.lines().collect();
    let right = |line: &str| line.contains("cannot write") && line.contains("No space left");
    assert!(matches!(lines[..], [line] if right(line)), "{output:?}");
    let (folder, path) = place();
    for pe in 0..2 {
        let part = format!("t.json.pe-{pe}");
        fs::copy(disk.0.path().join(&part), folder.path().join(&part)).expect("a part");
    }
    let output = info(&["--merge-trace", &path.to_string_lossy()]);
    output.assert_code(1).assert_stderr("lacks");
    let seen = Timeline::read(&path);
    assert!(seen.calls(0, "put").len() + seen.calls(1, "put").len() > 20_000);
}

/// This machine plays two hosts, which have one clock: the difference that barriers give must come close to 0.
#[test]
fn hosts_have_one_clock() {
    let (_folder, path) = place();
    let program: std::ffi::OsString = traced().into();
    let file = path.display().to_string();
    let env = [("NVSHMEMRS_TRACE", file.as_str())];
    let hosts = ["a", "b"].map(|name| Host {
        name,
        pes: 1,
        env: &env,
    });
    let mut command = mpirun(&[], &hosts, &[program]);
    run(&mut command, HANG).assert_success();
    let seen = Timeline::read(&path);
    seen.assert_arrow(seen.call(0, "put_signal"), seen.call(1, "signal_wait"));
    let text = fs::read_to_string(&path).expect("a timeline");
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let said = whole["otherData"]["host 1"]
        .as_str()
        .expect("the clock of host 1");
    let numbers: Vec<i64> = said
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    // The true difference lies within the bounds.
    assert!(
        matches!(numbers[..], [moved, error] if moved.abs() <= error + 100_000),
        "{said}"
    );
}
