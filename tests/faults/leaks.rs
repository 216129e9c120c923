//! Memory that is not freed is listed; destructors do not wait; nothing grows; nothing is left behind. Finalizers of Rust are in
//! `core/tests/finalizers.rs`, those of Python in `bindings/python/tests/test_leaks.py`.

use nvshmemrs_tests::{
    HANG, Leftovers, Output, alive, compile_c, compile_cxx, job, launcher, program, run, spawn,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A test program, compiled once.
macro_rules! compiled {
    ($compile:ident, $name:literal) => {{
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        PROGRAM.get_or_init(|| $compile(&program($name)))
    }};
}

// ---- memory that is not freed ------------------------------------------------------------------------------------------

/// Runs `programs/unfreed.c`.
#[track_caller]
fn unfreed(n_pes: u32, argument: &str, track: &str) -> Output {
    let mut command = launcher(n_pes, &[]);
    command.arg(compiled!(compile_c, "unfreed.c")).arg(argument);
    let output = run(command.env("NVSHMEMRS_TRACK", track), HANG).succeeded();
    assert_eq!(output.stdout.matches("done\n").count(), n_pes as usize);
    output
}

/// The lines of `unfreed.c` with a comment "line: WORD", as reports write them, by the word.
fn places() -> BTreeMap<String, String> {
    let text = fs::read_to_string(program("unfreed.c")).expect("the program's source");
    let mark = |(number, line): (usize, &str)| {
        let word = line.split("/* line: ").nth(1)?.split(' ').next()?;
        Some((word.to_string(), format!("unfreed.c:{}", number + 1)))
    };
    text.lines().enumerate().filter_map(mark).collect()
}

/// The blocks that finalize wrote: the PE, and the lines with single blanks.
#[track_caller]
fn blocks(output: &Output) -> Vec<(String, Vec<String>)> {
    let mut blocks: Vec<(String, Vec<String>)> = Vec::new();
    for line in output.stderr.lines() {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.strip_prefix("nvshmemrs track: ") {
            Some(title) => {
                let (who, title) = title.split_once(": ").expect("who, and a title");
                blocks.push((who.to_string(), vec![title.to_string()]));
            }
            None => match blocks.last_mut() {
                Some((_, lines)) => lines.push(words),
                None => panic!("not a block\n{}", output.describe()),
            },
        }
    }
    blocks
}

const ALL: &str = "not freed at finalize: 6 allocations, 1 registered buffer, 1 team, 1 stream, 1 event; 17656 bytes";

/// Starts and ends of the lines in which `unfreed.c` shows, with the largest first.
fn expected() -> Vec<(&'static str, String)> {
    let places = places();
    let at = |word: &str, function: &str| format!("{} ({function})", places[word]);
    [
        ("8192 bytes 1 registered buffer, offset 0x", "buffer"),
        ("8000 bytes 1 allocation, offset 0x", "calloc"),
        ("1100 bytes 3 allocations, offsets 0x0, 0x80, 0x", "malloc"),
        ("300 bytes 1 allocation, offset 0x", "realloc"),
        ("64 bytes 1 allocation, offset 0x", "align"),
        ("1 team, number 6 ", "team"),
        ("1 stream ", "stream"),
        ("1 event ", "event"),
        ("1 kept heap, no leak: it outlives finalize ", "kept"),
    ]
    .map(|(start, word)| {
        let function = if word == "malloc" { "allocate" } else { "main" };
        (start, at(word, function))
    })
    .into_iter()
    .chain([(
        "77 bytes 1 allocation, no leak: released",
        "not collected yet".to_string(),
    )])
    .collect()
}

#[test]
fn finalize_lists_what_is_not_freed_and_where_it_was_made() {
    let output = unfreed(3, "all", "1");
    let [(who, lines)] = &blocks(&output)[..] else {
        panic!("the PEs have the same list\n{}", output.describe());
    };
    assert_eq!((who.as_str(), lines[0].as_str()), ("PEs 0 to 2", ALL));
    let expected = expected();
    assert_eq!(lines.len(), 1 + expected.len(), "{}", output.describe());
    for (line, (start, end)) in lines[1..].iter().zip(expected) {
        assert!(
            line.starts_with(start) && line.ends_with(&end),
            "{line}\n{start} {end}"
        );
    }
    // Each PE can ask for it before.
    assert_eq!(output.stdout.matches(ALL).count(), 3);
}

#[test]
fn only_what_differs_from_pe_0_is_repeated() {
    let output = unfreed(4, "differ", "1");
    let [(first, all), (second, more)] = &blocks(&output)[..] else {
        panic!("two blocks\n{}", output.describe());
    };
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("PEs 0, 2 and 3", "PE 1")
    );
    assert_eq!(all[0], ALL);
    let title = ALL.replace("1 stream", "2 streams") + "; 10 lines as on PE 0, and";
    assert_eq!(more[0], title);
    assert_eq!(more.len(), 2, "{}", output.describe());
    assert!(more[1].starts_with("1 stream ") && more[1].contains(&places()["more"]));
}

#[test]
fn what_is_freed_or_released_is_no_leak() {
    let output = unfreed(2, "none", "1");
    let [(who, lines)] = &blocks(&output)[..] else {
        panic!("one block\n{}", output.describe());
    };
    assert_eq!(who, "PEs 0 and 1");
    assert_eq!(lines[0], "everything is freed");
    assert_eq!(lines.len(), 2, "{}", output.describe());
    assert!(lines[1].starts_with("77 bytes 1 allocation, no leak: released"));
}

#[test]
fn without_the_setting_nothing_is_listed() {
    for track in ["", "0"] {
        let output = unfreed(2, "all", track);
        assert_eq!(output.stderr, "", "{}", output.describe());
        output.assert_stdout("unfreed: status 3\n");
    }
    let mut command = launcher(1, &[]);
    command.arg(compiled!(compile_c, "unfreed.c"));
    let output = run(command.env("NVSHMEMRS_TRACK", "yes"), HANG);
    output.assert_code(5).assert_stderr("NVSHMEMRS_TRACK");
}

// ---- destructors -------------------------------------------------------------------------------------------------------

/// Runs a scenario of `programs/finalizers.cpp`, in which a destructor that waits hangs.
#[track_caller]
fn destructors(scenario: &str, n_pes: u32) {
    destructors_and_words(scenario, n_pes, "");
}

/// As [`destructors`], where the launcher says `words`.
#[track_caller]
fn destructors_and_words(scenario: &str, n_pes: u32, words: &str) {
    let before = Leftovers::now();
    let mut command = launcher(n_pes, &[]);
    command
        .arg(compiled!(compile_cxx, "finalizers.cpp"))
        .arg(scenario)
        .env("NVSHMEMRS_TIMEOUT", "30")
        .stdin(Stdio::null());
    let output = run(&mut command, HANG).succeeded();
    assert_eq!(output.stderr, words, "{}", output.describe());
    output.assert_each(0..n_pes, |pe| format!("{scenario} ok PE {pe}\n"));
    before.assert_none_new();
}

#[test]
fn destructors_run_on_one_pe_only() {
    destructors("asymmetric", 2);
    destructors("asymmetric", 4);
    destructors("threads", 3);
}

nvshmemrs_tests::cases! {
    fn destructors_run_while_the_stack_is_unwound => destructors("unwinding", 3);
    fn a_destroyed_stream_waits_for_nobody => destructors("streams", 3);
    fn objects_that_were_moved_from_own_nothing => destructors("moved", 2);
    fn rounds_of_init_and_finalize_of_two_threads => rounds("two threads", 10_000);
    fn rounds_of_init_and_finalize_of_two_processes => rounds("two processes", 10_000);
}

#[test]
fn destructors_run_after_finalize_and_at_exit() {
    destructors("after_finalize", 2);
    destructors("static", 2);
    let words = "nvshmemrs-run: all 2 PEs ended with status 0 and did not call finalize, \
                 so operations that were not complete may be lost\n";
    destructors_and_words("static_runtime", 2, words);
}

// ---- rounds ------------------------------------------------------------------------------------------------------------

/// The allowed growth from the warm state to the end: KiB, descriptors, threads, mappings. The allocator of the C library keeps
/// some pages back, and glues or splits mappings.
const GROWTH: [(&str, i64); 4] = [
    ("resident", 256),
    ("descriptors", 0),
    ("threads", 0),
    ("mappings", 4),
];

/// Rounds that are always run in full; of the others a tenth, unless `NVSHMEMRS_ROUNDS=full` asks for all, which takes about a minute on
/// an idle machine with two cores.
const CHEAP: [&str; 7] = [
    "init",
    "left handles",
    "memory",
    "releases",
    "teams",
    "events",
    "kept heaps",
];

/// Runs `programs/rounds.c`; none of its processes may grow after the first tenth of the rounds.
#[track_caller]
fn rounds(what: &str, rounds: u32) {
    let part = if env::var_os("NVSHMEMRS_ROUNDS").is_some_and(|word| word == "full")
        || CHEAP.contains(&what)
    {
        1
    } else {
        10
    };
    let rounds = rounds / part;
    let before = Leftovers::now();
    let mut command = job::clean(compiled!(compile_c, "rounds.c"));
    command.args([what, &rounds.to_string()]);
    // Threads that come and go would else spread over arenas by and by.
    let output = run(command.env("MALLOC_ARENA_MAX", "1"), 8 * HANG).succeeded();
    assert_eq!(output.stderr, "", "{}", output.describe());
    let processes = if what == "two processes" { 2 } else { 1 };
    assert_eq!(output.stdout.lines().count(), processes);
    print!("{}", output.stdout);
    for (name, most) in GROWTH {
        for line in output.stdout.lines() {
            let (warm, last) = pair(line, name);
            assert!(
                last - warm <= most,
                "{name} grew by {}, at most {most} are allowed: {line}",
                last - warm
            );
        }
    }
    before.assert_none_new();
}

/// The numbers in "NAME 12 -> 13".
#[track_caller]
fn pair(line: &str, name: &str) -> (i64, i64) {
    let parse = || {
        let (_, rest) = line.split_once(&format!("{name} "))?;
        let mut words = rest.split([' ', ',']);
        let warm = words.next()?.parse().ok()?;
        Some((warm, words.nth(1)?.parse().ok()?))
    };
    parse().unwrap_or_else(|| panic!("no {name} in {line}"))
}

#[test]
fn rounds_of_init_and_finalize() {
    rounds("init", 10_000);
    rounds("left handles", 10_000);
}

#[test]
fn rounds_of_malloc_and_free() {
    rounds("memory", 1_000_000);
    rounds("releases", 1_000_000);
}

#[test]
fn rounds_of_teams_streams_events_buffers() {
    rounds("teams", 100_000);
    rounds("streams", 100_000);
    rounds("events", 100_000);
    rounds("buffers", 100_000);
    rounds("kept heaps", 100_000);
}

// ---- nothing is left behind --------------------------------------------------------------------------------------------

#[test]
fn a_killed_launcher_takes_a_stopped_pe_with_it() {
    let before = Leftovers::now();
    let mut command = launcher(3, &[]);
    command
        .arg(compiled!(compile_c, "wait.c"))
        .arg("/nonexistent")
        .stdin(Stdio::null());
    let mut launcher = spawn(&mut command);
    let pids = launcher.until("line of each PE", |launcher| {
        let output = launcher.stdout();
        let pid = |line: &str| line.split(" is pid ").nth(1)?.trim().parse::<u32>().ok();
        let pids: Vec<u32> = output.lines().filter_map(pid).collect();
        (pids.len() == 3).then_some(pids)
    });
    run(
        Command::new("kill").args(["-STOP", &pids[1].to_string()]),
        HANG,
    )
    .assert_success();
    launcher.signal(Signal::KILL);
    launcher.wait(HANG).assert_code(137);
    let start = Instant::now();
    while pids.iter().any(|&pid| alive(pid)) {
        assert!(start.elapsed() < HANG, "still there: {pids:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    before.assert_none_new();
}

#[test]
fn pes_that_are_killed_while_they_join_leave_nothing() {
    for _ in 0..3 {
        let before = Leftovers::now();
        // PE 0 listens for a PE that never comes; PE 1 looks for a PE 0 that never comes.
        for pe in [0, 1] {
            let mut command =
                job::member(compiled!(compile_c, "finalize.c"), &job::unique_id(), pe, 3);
            let joining = spawn(&mut command);
            std::thread::sleep(Duration::from_millis(100));
            joining.signal(Signal::KILL);
            joining.wait(HANG).assert_code(137);
        }
        before.assert_none_new();
    }
}
