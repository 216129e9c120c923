//! Snapshots of a running job from Rust, Python, C++ and Ruby, of a job that makes progress and of a job that hangs; and processes that cannot
//! be attached to. `inspect/generator/tests/drift.rs` compares the committed bindings.

use nvshmemrs_inspect::{InspectError, Snapshot, Stage, State, attach};
use nvshmemrs_tests::nobody::Nobody;
use nvshmemrs_tests::{
    HANG, Output, Running, bin, bin_dir, compile_c, info, interpreter, job, kill, launcher,
    library, program, run, spawn, workspace,
};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long PEs may take to answer here, where others build and test.
const PATIENCE: f64 = 20.0;

/// A job of `programs/inspected.c`.
struct Inspected {
    running: Running,
    folder: TempDir,
}

impl Inspected {
    /// Three PEs that wait outside of nvshmemrs, with more variables than the usual ones.
    #[track_caller]
    fn start(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = ["live", "late"].map(|name| folder.path().join(name));
        for file in &files {
            fs::write(file, "").expect("a file");
        }
        let mut command = launcher(3, &["--grace", "0.2", "--heap", "64m"]);
        command
            .arg(compile_c(&program("inspected.c")))
            .args(&files)
            .env("NVSHMEMRS_TRACK", "1")
            .env("NVSHMEMRS_TRAFFIC", "1")
            .env("NVSHMEMRS_STOP_TIMEOUT", "0")
            .envs(variables.iter().copied())
            .stdin(Stdio::null());
        let mut running = spawn(&mut command);
        running.until("three PEs that are ready", |job| {
            (job.stdout().matches(" is ready").count() == 3).then_some(())
        });
        Self { running, folder }
    }

    fn pid(&self) -> u32 {
        self.running.pid()
    }

    fn end(self) {
        self.running.signal(Signal::TERM);
        self.running.wait(HANG);
    }

    /// The job as it is now.
    #[track_caller]
    fn look(&self) -> Snapshot {
        let job = attach(self.pid()).expect("a job");
        job.snapshot(PATIENCE).expect("a snapshot")
    }

    /// Lets all PEs but PE 1 come to a barrier; gives a look at the job when they wait there.
    #[track_caller]
    fn hang(&mut self) -> Snapshot {
        fs::remove_file(self.folder.path().join("live")).expect("the file");
        let job = attach(self.pid()).expect("a job");
        self.running.until("two PEs that wait", |_| {
            let seen = job.snapshot(PATIENCE).expect("a snapshot");
            (seen.waits.len() == 2).then_some(seen)
        })
    }
}

/// The line of `inspected.c` with a comment.
fn line(what: &str) -> usize {
    let text = fs::read_to_string(program("inspected.c")).expect("the program");
    let mark = format!("/* line: {what} */");
    let found = text.lines().position(|line| line.ends_with(&mark));
    found.expect("a line with the comment") + 1
}

/// Checks that a place is that of an operation at the line with a comment.
#[track_caller]
fn assert_place(place: Option<&String>, operation: &str, what: &str) {
    let place = place.expect("a place");
    let end = format!("inspected.c:{} (main)", line(what));
    let right = place.starts_with(&format!("{operation} at ")) && place.ends_with(&end);
    assert!(right, "{place} is not {operation} at {end}");
}

fn numbers<T: ToString>(values: &[T]) -> String {
    let texts: Vec<String> = values.iter().map(T::to_string).collect();
    texts.join(",")
}

/// The output of `tests/programs/inspect/text.*` for a job, of which the process `other` is no PE.
#[track_caller]
fn text(seen: &Snapshot, other: u32) -> String {
    let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
    let culprits = numbers(&seen.culprits);
    let mut lines = vec![format!(
        "{} of {}, culprits {culprits}",
        name(&seen.stage),
        seen.n_pes
    )];
    for pe in &seen.pes {
        let details = pe.details.as_ref().expect("a PE that has answered");
        assert!(details.fresh && pe.silence.is_empty(), "{}", pe.silence);
        let (state, heap) = (name(&pe.state), &details.heap);
        let waits_for = numbers(&pe.waits_for);
        lines.push(format!("PE {} is {state} and waits for {waits_for}", pe.pe));
        lines.push(format!(
            "library {}, heap {} {} {} {}",
            details.library, heap.memory, heap.bytes, heap.used_bytes, heap.allocations
        ));
        for one in &details.allocations {
            let place = one.place.as_deref().expect("a place");
            lines.push(format!("allocation {} {} {place}", one.offset, one.bytes));
        }
        for one in &details.streams {
            let place = one.place.as_deref().expect("a place");
            lines.push(format!("stream {} {} {place}", one.submitted, one.done));
        }
        let set = details
            .settings
            .iter()
            .filter(|one| one.source != "default");
        lines.extend(set.map(|one| format!("setting {} {}", one.name, one.source)));
        if let Some(checker) = &details.checker {
            lines.push(format!("findings {}", checker.found));
            lines.extend(checker.reports.iter().cloned());
        }
        for one in details.traffic.as_ref().expect("traffic is counted") {
            lines.push(format!(
                "traffic {} {} {} {} {} {} {}",
                one.pe, one.puts, one.put_bytes, one.gets, one.get_bytes, one.atomics, one.signals
            ));
        }
    }
    for team in &seen.teams {
        let place = team.place.as_deref().unwrap_or_default();
        let (members, collectives) = (numbers(&team.members), numbers(&team.collectives));
        lines.push(format!(
            "team {} {} {members} {collectives} {place}",
            team.number, team.name
        ));
    }
    for wait in &seen.waits {
        let team = wait.team.as_deref().unwrap_or_default();
        let limit = wait.gives_up_in.and(wait.limit.as_deref());
        let limit = limit.unwrap_or("never");
        lines.push(format!(
            "wait of {} in {} on {team} {} for {}, {limit}",
            wait.pe,
            wait.operation,
            wait.epoch,
            numbers(&wait.waits_for)
        ));
    }
    let last = format!("process {other} is not a PE of an nvshmemrs job right now\n");
    lines.join("\n") + "\n" + &last
}

fn python() -> Command {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    let mut command = job::clean(python);
    command
        .env("NVSHMEMRS_LIBRARY", library())
        .env("PYTHONPATH", workspace().join("bindings/python/src"));
    command
}

/// A program, with the static library that has cxx's runtime in it.
#[track_caller]
fn cpp(source: &Path, folder: &Path) -> PathBuf {
    let built = folder.join(source.file_stem().expect("a name"));
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .arg("-I")
        .arg(workspace().join("bindings/cpp/include"))
        .arg(source)
        .arg(bin("libnvshmemrs_inspect_cpp.a"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&built);
    run(&mut compiler, 5 * HANG).assert_success();
    built
}

/// The programs that print a snapshot, by language.
fn programs(folder: &Path) -> Vec<(&'static str, Command)> {
    let source = |name: &str| workspace().join("tests/programs/inspect").join(name);
    let (mut python, mut ruby) = (python(), ruby(folder));
    python.arg(source("text.py"));
    ruby.arg(source("text.rb"));
    let cpp = cpp(&source("text.cpp"), folder);
    vec![("Python", python), ("Ruby", ruby), ("C++", job::clean(cpp))]
}

/// Ruby, with bindings that the generator has made in `folder`.
#[track_caller]
fn ruby(folder: &Path) -> Command {
    let mut generator = job::clean(bin("nvshmemrs-inspect-generator"));
    generator.env("NVSHMEMRS_BIN_DIR", bin_dir());
    run(generator.arg("ruby").arg(folder), HANG).assert_success();
    let mut ruby = job::clean("ruby");
    ruby.arg("-I").arg(folder).env("LD_LIBRARY_PATH", bin_dir());
    ruby
}

/// Has a program look at a job.
#[track_caller]
fn look(program: &Command, pid: u32, other: u32) -> Output {
    let mut command = job::clean(program.get_program());
    command.args(program.get_args()).envs(variables(program));
    run(command.args([pid.to_string(), other.to_string()]), HANG)
}

/// The variables that a command sets.
fn variables(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let variables = command.get_envs();
    variables.filter_map(|(name, value)| Some((name, value?)))
}

#[test]
fn every_language_sees_the_same_of_a_job_that_goes_on_and_of_one_that_hangs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let programs = programs(folder.path());
    let mut inspected = Inspected::start(&[]);
    let compare = |pid: u32, seen: &Snapshot| compare(&programs, pid, seen);

    let live = inspected.look();
    assert_eq!((live.stage, live.n_pes), (Stage::Running, 3));
    let moves = live.culprits.is_empty() && live.waits.is_empty();
    assert!(moves, "{live:?}");
    details_are_right(&live);
    compare(inspected.pid(), &live);

    let hanging = inspected.hang();
    assert_eq!(hanging.culprits, [1]);
    assert_eq!(hanging.pes[0].waits_for, [1]);
    assert!(hanging.pes[1].waits_for.is_empty());
    assert!(hanging.summary[0].starts_with("PEs 0 and 2 wait in barrier on WORLD for PE 1"));
    details_are_right(&hanging);
    // A PE's process leads to its job, too.
    compare(hanging.pes[2].pid, &hanging);
    exporter_shows(inspected.pid());
    the_page_is_right(inspected.pid(), folder.path());
    a_stopped_pe_is_seen(&hanging);
    the_end_is_seen(inspected, hanging.pes[2].pid);
    findings_are_seen(&programs);
}

/// Every language prints the same of a job as Rust.
#[track_caller]
fn compare(programs: &[(&'static str, Command)], pid: u32, seen: &Snapshot) {
    let me = std::process::id();
    let expected = text(seen, me);
    for (language, program) in programs {
        let output = look(program, pid, me).succeeded();
        assert_eq!(output.stdout, expected, "{language}");
    }
}

/// The checker finds the bug of the program on every PE.
#[track_caller]
fn findings_are_seen(programs: &[(&'static str, Command)]) {
    // With some seeds it delivers the puts in time, and has nothing to find.
    let settings = [("NVSHMEMRS_CHECK", "1"), ("NVSHMEMRS_CHECK_SEED", "1")];
    let checked = Inspected::start(&settings);
    let seen = checked.look();
    let place = format!("inspected.c:{} (main)", line("puts"));
    for pe in &seen.pes {
        let details = pe.details.as_ref().expect("a PE that has answered");
        let checker = details.checker.as_ref().expect("a job that is checked");
        let [report] = &checker.reports[..] else {
            panic!("one report: {checker:?}");
        };
        // Each PE has a finding of its own, whichever PE has reported the problem.
        assert_eq!(checker.found, 1, "{checker:?}");
        for part in ["two puts to one place without a fence between them", &place] {
            assert!(report.contains(part), "{part}: {report}");
        }
    }
    compare(programs, checked.pid(), &seen);
    checked.end();
}

/// The allocations, streams and traffic of `inspected.c`, on every PE.
#[track_caller]
fn details_are_right(seen: &Snapshot) {
    for pe in &seen.pes {
        let details = pe.details.as_ref().expect("a PE that has answered");
        assert!(details.fresh && details.tracked, "{details:?}");
        assert!(details.checker.is_none(), "{details:?}");
        assert_eq!(details.library, nvshmemrs_inspect::library_version());
        let heap = &details.heap;
        assert_eq!((heap.bytes, heap.used_bytes), (66 << 20, 4032 + 64));
        assert_eq!((heap.allocations, heap.released), (2, 0));
        let [first, second] = &details.allocations[..] else {
            panic!("two allocations: {:?}", details.allocations);
        };
        assert_eq!((first.offset, first.bytes), (0, 4000));
        assert_eq!((second.offset, second.bytes), (4032, 64));
        assert_place(first.place.as_ref(), "malloc", "malloc");
        assert_place(second.place.as_ref(), "calloc", "calloc");
        let [stream] = &details.streams[..] else {
            panic!("one stream: {:?}", details.streams);
        };
        assert_eq!((stream.submitted, stream.done), (1, 1));
        assert_place(stream.place.as_ref(), "stream_new", "stream");
        let [moved] = &details.traffic.as_ref().expect("traffic is counted")[..] else {
            panic!("one target: {:?}", details.traffic);
        };
        assert_eq!(moved.pe, (pe.pe + 1) % 3);
        // Three of 100 bytes, one strided one, one with a signal, one on the stream.
        assert_eq!((moved.puts, moved.put_bytes), (6, 300 + 40 + 10 + 1));
        assert_eq!((moved.gets, moved.get_bytes), (1, 16));
        assert_eq!((moved.atomics, moved.signals), (1, 2));
        let setting = |name: &str| {
            let found = details.settings.iter().find(|one| one.name == name);
            let found = found.expect("a setting");
            format!("{} by {}", found.value, found.source)
        };
        assert_eq!(setting("NVSHMEMRS_TRAFFIC"), "1 by environment");
        assert_eq!(setting("NVSHMEMRS_TIMEOUT"), "0 by default");
        let secret = setting("NVSHMEMRS_UNIQUE_ID");
        assert!(secret.starts_with("(not shown"), "{secret}");
    }
    let made = seen.teams.iter().find(|team| team.place.is_some());
    let made = made.expect("the team that the program has made");
    assert_eq!(made.members, [2, 1, 0]);
    assert_eq!(made.collectives, [2, 2, 2]);
    assert_place(made.place.as_ref(), "team_split_strided", "team");
    let world = seen.teams.iter().find(|team| team.name == "WORLD");
    assert_eq!(world.expect("WORLD").members, [0, 1, 2]);
}

/// The programs of `docs/inspect.md` in the languages that are tested, at the job that hangs.
#[track_caller]
fn the_page_is_right(pid: u32, folder: &Path) {
    let page = fs::read_to_string(workspace().join("docs/inspect.md")).expect("the page");
    let snippet = |language: &str| {
        let start = format!("```{language}\n");
        let (_, rest) = page.split_once(&start).expect("a snippet");
        let (text, _) = rest.split_once("```").expect("its end");
        assert!(text.contains("4711"), "{text}");
        text.to_string()
    };
    let here = |language: &str| snippet(language).replace("4711", &pid.to_string());
    let (mut python, mut ruby) = (python(), ruby(folder));
    python.args(["-c", &here("python")]);
    ruby.args(["-e", &here("ruby")]);
    let text = here("cpp");
    let (include, statements) = text.split_once("\n\n").expect("an #include before a gap");
    let source = folder.join("page.cpp");
    let program = format!("{include}\n#include <iostream>\nint main() {{\n{statements}}}\n");
    fs::write(&source, program).expect("a source file");
    let cpp = job::clean(cpp(&source, folder));
    for mut program in [python, ruby, cpp] {
        let output = run(program.stdin(Stdio::null()), HANG).succeeded();
        output.assert_stdout("PEs 0 and 2 wait in barrier on WORLD for PE 1");
    }
    // Of Rust's the compiler sees the copy in the package's documentation.
    let file = workspace().join("inspect/src/lib.rs");
    let compiled = fs::read_to_string(file).expect("the package");
    for line in snippet("rust").lines() {
        let same = format!("//! {line}\n");
        assert!(compiled.contains(&same), "{line} is not in the package");
    }
}

/// The example shows the job as Prometheus reads it, in 50 lines.
#[track_caller]
fn exporter_shows(pid: u32) {
    let file = workspace().join("examples/python/exporter.py");
    let text = fs::read_to_string(&file).expect("the example");
    assert!(text.lines().count() <= 50, "{}", text.lines().count());
    let mut command = python();
    command.arg(file).args([&pid.to_string(), "0"]);
    let mut running = spawn(&mut command);
    let address = running.until("the exporter's address", |exporter| {
        let text = exporter.stdout();
        let rest = text.strip_prefix("http://")?;
        Some(rest.split_once("/metrics\n")?.0.to_string())
    });
    let mut stream = TcpStream::connect(address).expect("the exporter listens");
    stream.set_read_timeout(Some(HANG)).expect("a timeout");
    let request = b"GET /metrics HTTP/1.0\r\n\r\n";
    stream.write_all(request).expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    running.signal(Signal::TERM);
    running.wait(HANG);
    for expected in [
        "\nnvshmemrs_pes 3\n",
        "\nnvshmemrs_pe_holds_others_up{pe=\"1\"} 1\n",
        "\nnvshmemrs_pe_holds_others_up{pe=\"2\"} 0\n",
        "\nnvshmemrs_heap_used_bytes{pe=\"0\"} 4096\n",
        "\nnvshmemrs_put_bytes_total{pe=\"2\",target=\"0\"} 351\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    let waits = text.split_once("nvshmemrs_pe_waits_seconds{pe=\"0\"} ");
    let waits = waits.and_then(|(_, rest)| rest.split_once('\n')?.0.parse::<f64>().ok());
    assert!(waits.is_some_and(|seconds| seconds > 0.0), "{text}");
}

/// A stopped PE does not answer: the snapshot has its last answer.
#[track_caller]
fn a_stopped_pe_is_seen(seen: &Snapshot) {
    let pid = seen.pes[2].pid;
    let job = attach(pid).expect("a job");
    job.snapshot(PATIENCE).expect("a snapshot");
    kill(pid, Signal::STOP);
    let stops = |seen: &Snapshot| seen.pes[2].doing.contains("stopped by SIGSTOP");
    let start = Instant::now();
    while !stops(&job.snapshot(0.0).expect("a snapshot")) {
        assert!(start.elapsed() < HANG, "process {pid} does not stop");
        std::thread::yield_now();
    }
    let stopped = job.snapshot(0.3).expect("a snapshot");
    // While one thread waits for answers, calls that need none return in others.
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| job.snapshot(HANG.as_secs_f64()));
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(job.n_pes(), 3);
        assert!(job.report().contains("stopped by SIGSTOP"));
        assert!(!waits.is_finished(), "PE 2 cannot have answered");
        kill(pid, Signal::CONT);
        let seen = waits.join().expect("a thread").expect("a snapshot");
        assert!(seen.pes[2].silence.is_empty(), "{}", seen.pes[2].silence);
    });
    assert!(stopped.took >= 0.3, "{}", stopped.took);
    let silent = &stopped.pes[2];
    let no_answer = silent.silence.contains("not answered within 0.3 s");
    assert!(no_answer && stops(&stopped), "{silent:?}");
    let details = silent.details.as_ref().expect("its last answer");
    assert!(!details.fresh && details.age > 0.2, "{details:?}");
    let again = job.snapshot(PATIENCE).expect("a snapshot");
    let details = again.pes[2].details.as_ref();
    assert!(details.is_some_and(|details| details.fresh));
}

/// A PE dies, and with it the job: a process that has attached sees both.
#[track_caller]
fn the_end_is_seen(mut inspected: Inspected, victim: u32) {
    let pid = inspected.pid();
    let job = attach(pid).expect("a job");
    job.snapshot(PATIENCE).expect("a snapshot");
    kill(victim, Signal::KILL);
    let dead = inspected.running.until("a PE that is dead", |_| {
        let seen = job.snapshot(0.1).expect("a snapshot");
        (seen.pes[2].state == State::Dead).then_some(seen)
    });
    let silence = &dead.pes[2].silence;
    assert!(silence.contains("it is dead"), "{silence}");
    inspected.running.wait(HANG);
    let over = job.snapshot(0.0).expect("a snapshot");
    assert_eq!(over.stage, Stage::Over, "{over:?}");
    let last = over.pes[0].details.as_ref().expect("its last answer");
    assert_eq!(last.heap.allocations, 2);
    // The job exists for attached processes only; nobody else finds it.
    let error = attach(pid).expect_err("a process that is gone");
    assert!(matches!(error, InspectError::NoProcess(_)), "{error}");
}

/// A process with memory that looks like that of a job of another version.
#[track_caller]
fn job_of_version(version: u32) -> Running {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create("nvshmemrs-job", flags).expect("a memfd");
    rustix::fs::ftruncate(&memory, 1 << 20).expect("a length");
    let file = File::from(memory);
    let start = [*b"nvshmRS\x01", u64::from(version).to_le_bytes()];
    file.write_all_at(start.as_flattened(), 0)
        .expect("to write");
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).expect("seals");
    spawn(Command::new("sleep").arg("60").stdin(file))
}

#[test]
fn other_processes_and_jobs_are_refused() {
    for pid in [u32::MAX / 2, 0] {
        let none = attach(pid).expect_err("no process has this number");
        assert!(matches!(none, InspectError::NoProcess(_)), "{none}");
    }

    let other = job_of_version(99);
    let error = attach(other.pid()).expect_err("another version");
    assert!(matches!(error, InspectError::OtherVersion(_)), "{error}");
    let both = format!(
        "has layout version 99, but this is nvshmemrs {}, which reads layout version ",
        nvshmemrs_inspect::library_version()
    );
    assert!(error.to_string().contains(&both), "{error}");
    let output = info(&["--job", &other.pid().to_string()]);
    assert!(!output.status.success(), "{}", output.describe());
    output.assert_stderr(&both);
    other.signal(Signal::KILL);
    other.wait(HANG);

    if let Some(nobody) = Nobody::new() {
        let inspected = Inspected::start(&[]);
        let mut info = Command::new(bin("nvshmemrs-info"));
        info.args(["--job", &inspected.pid().to_string()]);
        let output = run(&mut nobody.runs(&info), HANG);
        assert!(!output.status.success(), "{}", output.describe());
        output.assert_stderr("belongs to another user: only the user who has started a job");
        let mut list = Command::new(bin("nvshmemrs-info"));
        let output = run(&mut nobody.runs(list.arg("--jobs")), HANG).succeeded();
        let start = format!("{} ", inspected.pid());
        let line = output.stdout.lines().find(|line| line.starts_with(&start));
        let hidden = line.is_some_and(|line| line.contains("(only this user and an administrator"));
        assert!(hidden, "{}", output.describe());
        inspected.end();
    }
}

/// The list, and the program at a terminal: it shows the job, and goes on when the job has ended.
#[test]
fn the_jobs_of_this_machine_are_listed_and_shown() {
    let inspected = Inspected::start(&[]);
    let output = info(&["--jobs", "--json"]).succeeded();
    let listing: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let jobs = listing["jobs"].as_array().expect("jobs");
    let mut own = jobs.iter().filter(|job| job["pid"] == inspected.pid());
    let (Some(job), None) = (own.next(), own.next()) else {
        panic!("one job: {listing}");
    };
    assert!(job["n_pes"] == 3 && job["forming"] == false, "{listing}");
    assert_eq!(job["pes"].as_array().map(Vec::len), Some(3), "{listing}");
    let command = job["command"].as_str().unwrap_or_default();
    assert!(command.contains("inspected"), "{listing}");

    let (reader, mut keys) = std::io::pipe().expect("a pipe");
    let mut top = Command::new("script");
    let (program, pid) = (bin("nvshmemrs-top"), inspected.pid());
    let line = format!("stty cols 120 rows 30; {} {pid}", program.display());
    top.args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(reader);
    let mut top = spawn(&mut top);
    let shows = |top: &mut Running, word: &str| {
        top.until_stdout(&[word]);
    };
    // Single words: the program skips blanks that stand on the screen already.
    shows(&mut top, "DOING");
    keys.write_all(b"t").expect("a terminal");
    shows(&mut top, "operations");
    keys.write_all(b"h").expect("a terminal");
    shows(&mut top, "MADE");
    shows(&mut top, "inspected.c:");
    inspected.end();
    shows(&mut top, "ended");
    keys.write_all(b"q").expect("a terminal");
    top.wait(HANG).assert_success();

    let mut top = Command::new(bin("nvshmemrs-top"));
    run(&mut top, HANG)
        .assert_code(1)
        .assert_stderr("must be a terminal");
}

#[test]
fn a_pe_looks_into_its_own_job_and_keeps_its_place() {
    let mut command = launcher(2, &[]);
    let python = python();
    command
        .arg(python.get_program())
        .arg(workspace().join("tests/programs/inspect/own.py"))
        .envs(variables(&python))
        .stdin(Stdio::null());
    let output = run(&mut command, HANG).succeeded();
    output.assert_each(0..2, |pe| format!("PE {pe} has looked\n"));
}
