//! The synchronisation checker: it finds the bugs of each program of `tests/checker/planted`, names both places, and reports nothing else.
//! Of the corrected programs, and of the project's other programs, it reports nothing at all.

mod cost;
mod gpus;
mod hosts;
mod more;

use nvshmemrs_tests::compile::{compile_as, compile_c_text, compile_instrumented};
use nvshmemrs_tests::findings::{Header, findings};
use nvshmemrs_tests::{
    HANG, INTERPRETER, Output, interpreter, launcher, library, program, run, workspace,
};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Each program runs with these numbers of PEs, each with a seed of its own.
const RUNS: [(u32, &str); 3] = [(2, "1"), (3, "20"), (4, "300")];

/// Julia compiles as it goes, on every PE, and the machine may have few cores.
const SLOW: Duration = Duration::from_secs(900);

/// A job of `words` under the checker.
fn under_check<S: AsRef<OsStr>>(n_pes: u32, seed: &str, words: &[S]) -> Command {
    let mut command = launcher(n_pes, &["--check"]);
    command
        .args(words)
        .env("NVSHMEMRS_CHECK_SEED", seed)
        .env("NVSHMEMRS_LIBRARY", library())
        .stdin(Stdio::null());
    command
}

fn python() -> OsString {
    interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python")
}

/// How the last line of a job without findings begins.
const NOTHING: &str = "nvshmemrs-run: the checker found nothing (not watched: ";

/// These are the lines of the checker and the launcher in a job without findings.
#[track_caller]
fn assert_silence(lines: &[&str], output: &Output, n_pes: u32, seed: &str) {
    let pes = if n_pes == 1 { "PE" } else { "PEs" };
    let on = format!(
        "nvshmemrs check: on for {n_pes} {pes}, seed {seed} (NVSHMEMRS_CHECK_SEED={seed} repeats its choices)"
    );
    let [first, last] = lines else {
        panic!("{}", output.describe());
    };
    assert_eq!(*first, on, "{}", output.describe());
    assert!(last.starts_with(NOTHING), "{}", output.describe());
}

/// Neither the checker nor the program has written to standard error.
#[track_caller]
fn assert_silent(output: &Output, n_pes: u32, seed: &str) {
    output.assert_success();
    // Some programs make calls that the library must refuse.
    let refused = |line: &&str| line.contains(" failed with status ");
    let said = output.stderr.lines().filter(|line| !refused(line));
    assert_silence(&said.collect::<Vec<&str>>(), output, n_pes, seed);
}

/// The checker has written nothing to standard error; the program may have.
#[track_caller]
fn assert_checker_silent(output: &Output, n_pes: u32, seed: &str) {
    output.assert_success();
    let said = output.stderr.lines();
    let of_ours =
        |line: &&str| line.starts_with("nvshmemrs") && !line.contains(" failed with status ");
    let said: Vec<&str> = said.filter(of_ours).collect();
    assert_silence(&said, output, n_pes, seed);
}

/// A program of `tests/checker/planted`.
struct Program {
    source: PathBuf,
    header: Header,
}

impl Program {
    #[track_caller]
    fn new(name: &str) -> Program {
        let source = workspace().join("tests/checker/planted").join(name);
        let header = Header::of(&source);
        assert!(!header.expected.is_empty(), "{name} says nothing of a bug");
        Program { source, header }
    }

    /// The words that start it, as it is or mended.
    #[track_caller]
    fn words(&self, mended: bool) -> Vec<OsString> {
        let source = &self.source;
        let part = |part: Option<&OsStr>| part.expect("a name").to_string_lossy().into_owned();
        let (stem, language) = (part(source.file_stem()), part(source.extension()));
        let mut words: Vec<OsString> = match &*language {
            "py" => vec![python(), source.into()],
            "rs" => vec![rust_program(&stem).into()],
            "jl" => vec![julia(), "--startup-file=no".into(), source.into()],
            _ => {
                let name = format!(
                    "check-{stem}-{language}{}",
                    if mended { "-mended" } else { "" }
                );
                let mut options = vec!["-O1"];
                options.extend(mended.then_some("-DMENDED"));
                options.extend((language == "F90").then_some("-cpp"));
                let compile = match self.header.instrumented {
                    true => compile_instrumented,
                    false => compile_as,
                };
                return vec![compile(source, &name, &options).into()];
            }
        };
        words.extend(mended.then_some("mended".into()));
        words
    }

    /// How long a run may take.
    fn limit(&self) -> Duration {
        match self.source.extension() == Some(OsStr::new("jl")) {
            true => SLOW,
            false => HANG,
        }
    }

    /// Runs the command `words` with several numbers of PEs and seeds at once, and calls `look` with the output of each. A PE of an
    /// interpreter takes a second or more to start, so such programs have fewer runs.
    #[track_caller]
    fn runs(&self, words: &[OsString], look: impl Fn(u32, &str, &Output) + Sync) {
        let all = match self.source.extension().and_then(OsStr::to_str) {
            Some("jl") => &RUNS[..1],
            Some("py") => &RUNS[..2],
            _ => &RUNS[..],
        };
        std::thread::scope(|scope| {
            for &(n_pes, seed) in all {
                let n_pes = self.header.n_pes.unwrap_or(n_pes);
                let look = &look;
                scope.spawn(move || {
                    let output = run(&mut under_check(n_pes, seed, words), self.limit());
                    look(n_pes, seed, &output);
                });
            }
        });
    }

    /// The checker has found the bugs of the program's header, and nothing else. It has written the whole of a report for each problem, which
    /// as a rule is one, wherever it shows. Returns the number of problems, and of reports.
    #[track_caller]
    fn assert_found(&self, output: &Output) -> (usize, usize) {
        let found = findings(&output.stderr);
        for expected in &self.header.expected {
            let seen = found.iter().any(|finding| expected.is(finding));
            assert!(seen, "not found: {expected:?}\n{}", output.describe());
        }
        let known = || self.header.expected.iter().chain(&self.header.possible);
        for finding in &found {
            let wanted = known().any(|expected| expected.is(finding));
            assert!(wanted, "not there: {finding:?}\n{}", output.describe());
        }
        let count = self.header.problems.unwrap_or(1);
        let whole = found.iter().filter(|finding| finding.is_whole()).count();
        assert!(whole >= count, "{whole} of {count}\n{}", output.describe());
        (count, found.len())
    }

    /// Every run finds the bugs of the header, and nothing else.
    #[track_caller]
    fn is_seen_through(&self) {
        self.runs(&self.words(false), |_, _, output| {
            output.assert_code(1);
            let (count, found) = self.assert_found(output);
            let last = problems(count, found);
            assert!(
                last_line(output).starts_with(&last),
                "{last}\n{}",
                output.describe()
            );
        });
    }

    /// Mended, it works, and the checker is silent.
    #[track_caller]
    fn is_accepted_when_mended(&self) {
        self.runs(&self.words(true), |n_pes, seed, output| {
            assert_silent(output, n_pes, seed);
            let lines = output.sorted_lines();
            let done = |pe| format!("done PE {pe} of {n_pes}");
            let expected: Vec<String> = (0..n_pes).map(done).collect();
            assert_eq!(lines, expected, "{}", output.describe());
        });
    }
}

/// The binaries of this package are where cargo says.
#[track_caller]
fn rust_program(stem: &str) -> &'static str {
    match stem {
        "mailbox" => env!("CARGO_BIN_EXE_check-mailbox"),
        "ticket" => env!("CARGO_BIN_EXE_check-ticket"),
        "scatter" => env!("CARGO_BIN_EXE_check-scatter"),
        _ => panic!("tests/Cargo.toml has no program check-{stem}"),
    }
}

/// A test for each program with a bug, and a list of them all.
macro_rules! programs {
    ($($test:ident $name:literal)*) => {
        const PROGRAMS: &[&str] = &[$($name),*];

        mod seen_through { $(
            #[test]
            fn $test() {
                super::Program::new($name).is_seen_through();
            }
        )* }

        mod accepted_when_mended { $(
            #[test]
            fn $test() {
                super::Program::new($name).is_accepted_when_mended();
            }
        )* }
    };
}

programs! {
    announced "announced.py"
    barrier_forgotten "barrier_forgotten.py"
    broadcast_early "broadcast_early.c"
    broadcast_source "broadcast_source.c"
    column "column.c"
    contexts "contexts.c"
    counts_differ "counts_differ.c"
    double_buffer "double_buffer.c"
    event_early "event_early.c"
    exchange "exchange.py"
    fence_elsewhere "fence_elsewhere.c"
    filled_late "filled_late.c"
    first_of_two "first_of_two.c"
    flag_reset "flag_reset.cpp"
    forwarded "forwarded.c"
    free_early "free_early.c"
    free_pending "free_pending.c"
    freed_array "freed_array.py"
    freed_block "freed_block.c"
    gather_source "gather_source.c"
    get_early "get_early.c"
    gradients "gradients.py"
    halo_in_c "halo.c"
    halo_in_fortran "halo.F90"
    histogram "histogram.cpp"
    host_in_cxx "host.cpp"
    host_in_julia "host.jl"
    kernels "kernels.cpp"
    lapped_in_c "lapped.c"
    lapped_in_python "lapped.py"
    lock "lock.c"
    lock_forgotten "lock_forgotten.c"
    mailbox "mailbox.rs"
    mixed "mixed.c"
    numpy_bugs "numpy_bugs.py"
    on_stream "on_stream.py"
    other_collective "other_collective.c"
    owner_sent "owner_sent.c"
    overshoot "overshoot.c"
    polled "polled.c"
    prefetch "prefetch.F90"
    read_back "read_back.c"
    reduce_member "reduce_member.c"
    reduce_source "reduce_source.c"
    ring "ring.c"
    scatter "scatter.rs"
    scatter_late "scatter_late.c"
    scratch_array "scratch_array.py"
    scratch_random "scratch_random.py"
    signal_first "signal_first.c"
    source_overwritten "source_overwritten.c"
    source_reused "source_reused.c"
    spin "spin.c"
    status_late "status_late.c"
    status_twice "status_twice.c"
    stream "stream.c"
    stream_get "stream_get.c"
    stream_late "stream_late.c"
    stream_reduce "stream_reduce.c"
    stream_source "stream_source.cpp"
    streams_in_julia "streams.jl"
    streams_in_python "streams.py"
    task_queue "task_queue.cpp"
    ticket "ticket.rs"
    ticket_early "ticket_early.c"
    two_streams "two_streams.cpp"
    two_writers "two_writers.c"
    wrong_team "wrong_team.c"
}

#[test]
fn every_program_has_its_test() {
    let entries = fs::read_dir(workspace().join("tests/checker/planted")).expect("the programs");
    let files: BTreeSet<String> = entries
        .map(|entry| entry.expect("a program").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("job.") && name != "correct" && name != "__pycache__")
        .collect();
    let tested: BTreeSet<String> = PROGRAMS.iter().map(|name| name.to_string()).collect();
    assert_eq!(files, tested);
}

/// Runs a correct program, each of whose PEs prints one line that begins with `line`; the checker reports nothing.
#[track_caller]
fn nothing_is_said_of(words: &[OsString], n_pes: &[u32], line: &str) {
    for (&n_pes, seed) in n_pes.iter().zip(["5", "60"]) {
        let output = run(&mut under_check(n_pes, seed, words), SLOW);
        assert_silent(&output, n_pes, seed);
        let lines = output.stdout.lines().filter(|text| text.starts_with(line));
        assert_eq!(lines.count(), n_pes as usize, "{}", output.describe());
    }
}

fn conformance(file: &str) -> PathBuf {
    workspace().join("tests/conformance").join(file)
}

/// A conformance program in a compiled language, whose own loads and stores are seen.
#[track_caller]
fn instrumented(file: &str) -> Vec<OsString> {
    let name = format!("checked-{}", file.replace('.', "-"));
    vec![compile_instrumented(&conformance(file), &name, &[]).into()]
}

fn in_python(file: &str) -> Vec<OsString> {
    vec![python(), conformance(file).into()]
}

fn julia() -> OsString {
    interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia")
}

fn in_julia(file: &str, options: &[&str]) -> Vec<OsString> {
    let mut words = vec![julia(), "--startup-file=no".into()];
    words.extend(options.iter().map(OsString::from));
    words.push(conformance(file).into());
    words
}

macro_rules! correct {
    ($($test:ident: $words:expr, $n_pes:expr, $line:literal;)*) => { mod correct { $(
        #[test]
        fn $test() {
            use super::*;
            nothing_is_said_of(&$words, &$n_pes, $line);
        }
    )* } };
}

correct! {
    ring_in_c: instrumented("ring.c"), [2, 4], "ring ok PE";
    ring_in_python: in_python("ring.py"), [2, 4], "ring ok PE";
    ring_in_rust: [env!("CARGO_BIN_EXE_conformance").into(), "ring".into()], [2, 4], "ring ok PE";

    model_in_c: instrumented("model.c"), [2, 4], "model ok PE";
    model_in_cxx: instrumented("model.cpp"), [2, 4], "model ok PE";
    model_in_fortran: instrumented("model.f90"), [2, 4], "model ok PE";
    model_in_julia: in_julia("model.jl", &INTERPRETER), [3], "model ok PE";
    model_in_python: in_python("model.py"), [2, 4], "model ok PE";
    model_in_rust: [env!("CARGO_BIN_EXE_conformance").into(), "model".into()], [2, 4], "model ok PE";
}

#[test]
fn nothing_is_said_of_the_tutorial() {
    let tutorial = workspace().join("examples/python/tutorial.py");
    let output = run(&mut under_check(4, "7", &[python(), tutorial.into()]), SLOW);
    assert_silent(&output, 4, "7");
    output.assert_stdout("every check passed");
}

#[test]
fn nothing_is_said_of_the_landscape() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, map) = (
        workspace().join("examples/python/landscape.py"),
        folder.path().join("map"),
    );
    let export = [
        source.clone().into(),
        "--export".into(),
        map.clone().into_os_string(),
    ];
    run(
        Command::new(python())
            .args(export)
            .env("NVSHMEMRS_LIBRARY", library()),
        SLOW,
    )
    .assert_success();

    let words: Vec<OsString> = vec![
        python(),
        source.into(),
        "--steps".into(),
        "6".into(),
        "--no-plot".into(),
    ];
    let in_python = run(&mut under_check(3, "8", &words), SLOW);
    assert_checker_silent(&in_python, 3, "8");

    let options = ["-ffp-contract=off", "-O2"];
    let source = workspace().join("examples/c/landscape.c");
    let program = compile_instrumented(&source, "checked-landscape", &options);
    let in_c = run(
        &mut under_check(3, "9", &[program.into(), map.into_os_string(), "6".into()]),
        SLOW,
    );
    assert_checker_silent(&in_c, 3, "9");
    let fingerprint = |output: &Output| {
        let line = output
            .stdout
            .lines()
            .find(|line| line.starts_with("fingerprint: "));
        line.unwrap_or_else(|| panic!("{}", output.describe()))
            .to_string()
    };
    assert_eq!(fingerprint(&in_python), fingerprint(&in_c));
}

/// PEs that are threads: each thread's accesses are its own PE's.
#[test]
fn threads_of_one_process_are_told_apart() {
    let source = program("check_threads.c");
    let header = Header::of(&source);
    for (mended, options) in [(false, &[][..]), (true, &["-DMENDED"])] {
        let program = compile_instrumented(&source, &format!("check-threads-{mended}"), options);
        let mut command = nvshmemrs_tests::job::clean(program);
        command
            .env("NVSHMEMRS_CHECK", "1")
            .env("NVSHMEMRS_CHECK_SEED", "4");
        let output = run(&mut command, HANG).succeeded();
        let found = findings(&output.stderr);
        let expected = |finding| header.expected.iter().any(|expected| expected.is(finding));
        assert_eq!(found.is_empty(), mended, "{}", output.describe());
        assert!(found.iter().all(expected), "{}", output.describe());
        if mended {
            output
                .assert_stdout("PE 0 found 2\n")
                .assert_stdout("PE 1 found 1\n");
        }
    }
}

/// The report in `docs/checker.md` is the output of the checker.
#[test]
fn the_documentation_shows_a_real_report() {
    let page = fs::read_to_string(workspace().join("docs/checker.md")).expect("the page");
    let shown = page
        .split_once("```text\n$ nvshmemrs-run --check -n 2 -- ./forwarded\n")
        .and_then(|(_, rest)| rest.split_once("```"));
    let (shown, _) = shown.expect("a report in the page");
    let words = Program::new("forwarded.c").words(false);
    let folder = workspace().join("tests/checker/planted");
    let output = run(under_check(2, "1234", &words).current_dir(folder), HANG);
    assert_eq!(output.stderr, shown, "{}", output.describe());
}

/// The last line of a job with findings.
fn problems(problems: usize, reports: usize) -> String {
    let several = |count: usize, word: &str| {
        let s = if count == 1 { "" } else { "s" };
        format!("{count} {word}{s}")
    };
    let found = format!(
        "nvshmemrs-run: the checker found {}",
        several(problems, "problem")
    );
    match problems == reports {
        true => format!("{found} (not watched: "),
        false => format!("{found} ({}; not watched: ", several(reports, "report")),
    }
}

/// The last line of a job.
#[track_caller]
fn last_line(output: &Output) -> &str {
    output.stderr.lines().last().unwrap_or_default()
}

#[test]
fn silence_of_the_launcher_is_explained() {
    let did_not_run = "nvshmemrs-run: the checker did not run, or could not report it: no PE has joined a job with it";
    let output = run(&mut under_check(2, "1", &["true"]), HANG).succeeded();
    assert_eq!(last_line(&output), did_not_run, "{}", output.describe());
    let output = run(&mut under_check(2, "1", &["false"]), HANG);
    output.assert_code(1);
    assert_eq!(last_line(&output), did_not_run, "{}", output.describe());

    let text = "#include <nvshmemrs.h>\nint main(void) { nvshmemrs_runtime_t rt; return nvshmemrs_init(NULL, &rt) ? 1 : 3; }\n";
    let program = compile_c_text("check_fails_early", text);
    let output = run(&mut under_check(2, "1", &[program]), HANG);
    output.assert_code(3);
    let nothing = "nvshmemrs-run: the checker found nothing before the job failed (not watched: the program's own loads and stores)";
    assert_eq!(last_line(&output), nothing, "{}", output.describe());
}
