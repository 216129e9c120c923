//! The conformance programs: the same scenarios in every language, under `nvshmemrs-run`. `tests/conformance/scenarios.toml` lists the
//! scenarios. A program checks everything itself, and prints one line on each PE, with its scenarios, when all is well.

use nvshmemrs_tests::{
    HANG, INTERPRETER, Output, bin_dir, compile_c, compile_cxx, compile_fortran, interpreter,
    launcher, library, run, workspace,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Julia compiles as it goes, on every PE, and the machine may have few cores.
const SLOW: Duration = Duration::from_secs(900);

/// How many PEs a program runs with.
const MODEL: [u32; 4] = [1, 2, 3, 4];
/// Six PEs run it together, each in another language.
const EXCHANGE: [u32; 3] = [1, 2, 3];
/// Julia compiles every program anew, on every PE, which takes longer than all else; many PEs have it interpret them. With 3 PEs the checker
/// runs them (check.rs).
const COMPILED: [u32; 1] = [2];
const INTERPRETED: [u32; 1] = [4];
/// A mismatch takes two PEs; programs without one also run with one PE.
const MISUSE: [u32; 2] = [2, 3];
const MISUSE_ALONE: [u32; 3] = [1, 2, 3];

/// The languages, in the order of the page's columns, and the suffixes of their sources.
const LANGUAGES: [(&str, &str); 6] = [
    ("C", "c"),
    ("C++", "cpp"),
    ("Fortran", "f90"),
    ("Julia", "jl"),
    ("Python", "py"),
    ("Rust", "rs"),
];

/// One scenario of the list.
struct Scenario {
    program: String,
    shows: String,
}

/// The list, in its order.
#[track_caller]
fn scenarios() -> Vec<(String, Scenario)> {
    let file = workspace().join("tests/conformance/scenarios.toml");
    let text = fs::read_to_string(file).expect("the list of scenarios");
    let listed: toml::Table = text.parse().expect("the list is TOML");
    let word = |name: &str, key: &str| listed[name][key].as_str().expect("a text").to_string();
    let headings = text.lines();
    let names = headings.filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let scenario = |name: &str| Scenario {
        program: word(name, "program"),
        shows: word(name, "shows"),
    };
    names
        .map(|name| (name.to_string(), scenario(name)))
        .collect()
}

/// The scenarios that a program must run.
#[track_caller]
fn scenarios_of(program: &str) -> BTreeSet<String> {
    let all = scenarios().into_iter();
    let own = all.filter(|(_, scenario)| scenario.program == program);
    own.map(|(name, _)| name).collect()
}

/// Runs a program with each number of PEs; each PE must print its line once, with all its scenarios, and nothing else.
#[track_caller]
fn conforms(program: &str, language: &'static str, counts: &[u32], words: &[OsString]) {
    for &n_pes in counts {
        let languages = vec![language; n_pes as usize];
        let ran = job(program, &languages, words);
        assert_eq!(ran, scenarios_of(program), "{program} in {language}");
        the_page_shows(&ran, language, n_pes);
    }
}

/// Scenarios that have just run with so many PEs stand so in the page's table.
#[track_caller]
fn the_page_shows(ran: &BTreeSet<String>, column: &'static str, n_pes: u32) {
    let (_, [_, shown, _]) = page();
    let columns = LANGUAGES.map(|(language, _)| language);
    let mut columns = columns.into_iter().chain([ONE_JOB]);
    let place = columns.position(|name| name == column).expect("a column");
    for name in ran {
        let start = format!("| {name} | ");
        let row = shown.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("the page has no row for {name}"));
        // Before the first language there are the name and the purpose of the scenario.
        let cell = row.split('|').nth(place + 3).unwrap_or_default();
        assert!(
            cell.split(',')
                .any(|count| count.trim() == n_pes.to_string()),
            "{name} ran with {n_pes} PEs in {column}, and the page says {cell:?}: run `cargo xtask languages`"
        );
    }
}

/// Runs a job, and returns the scenarios that every PE ran; PE `i` must print `languages[i]` as its language.
#[track_caller]
fn job(program: &str, languages: &[&str], words: &[OsString]) -> BTreeSet<String> {
    let n_pes = languages.len() as u32;
    let mut command = launcher(n_pes, &[]);
    command
        .args(words)
        .env("NVSHMEMRS_LIBRARY", library())
        .stdin(Stdio::null());
    let lists_leaks = scenarios_of(program).contains("leaks");
    if lists_leaks {
        command.env("NVSHMEMRS_TRACK", "1");
    }
    let output = run(&mut command, SLOW).succeeded();
    assert_nothing_is_said(&output, lists_leaks);

    let lines = output.sorted_lines();
    assert_eq!(lines.len(), languages.len(), "{}", output.describe());
    let mut ran = BTreeSet::new();
    for (pe, (line, language)) in lines.iter().zip(languages).enumerate() {
        let expected = format!("{program} ok PE {pe} of {n_pes} ({language})");
        let Some(names) = line.strip_prefix(&expected) else {
            panic!("{line} is not {expected}: {}", output.describe());
        };
        // A program with one scenario has its name.
        let names = names.strip_prefix(": ").unwrap_or(program);
        let names: BTreeSet<String> = names.split(' ').map(String::from).collect();
        assert!(pe == 0 || names == ran, "{}", output.describe());
        ran = names;
    }
    ran
}

/// With the list of objects that are not freed, a PE prints that all are.
#[track_caller]
fn assert_nothing_is_said(output: &Output, lists_leaks: bool) {
    let fine = |line: &str| {
        let freed =
            line.starts_with("nvshmemrs track: PE") && line.ends_with("everything is freed");
        lists_leaks && (freed || line.contains("no leak: it outlives finalize"))
    };
    let others: Vec<&str> = output.stderr.lines().filter(|line| !fine(line)).collect();
    assert!(others.is_empty(), "{}", output.describe());
}

#[track_caller]
fn source(scenario: &str, extension: &str) -> PathBuf {
    let file = workspace().join(format!("tests/conformance/{scenario}.{extension}"));
    assert!(
        file.is_file(),
        "the conformance program {} is missing",
        file.display()
    );
    file
}

#[track_caller]
fn compiled(compile: fn(&Path) -> PathBuf, scenario: &str, extension: &str) -> Vec<OsString> {
    vec![compile(&source(scenario, extension)).into()]
}

fn python(scenario: &str) -> Vec<OsString> {
    let python = interpreter("NVSHMEMRS_PYTHON", ".venv/bin/python", "Python");
    vec![python, source(scenario, "py").into()]
}

fn julia(scenario: &str, options: &[&str]) -> Vec<OsString> {
    let julia = interpreter("NVSHMEMRS_JULIA", ".julia/bin/julia-nvshmemrs", "Julia");
    let mut words = vec![julia, "--startup-file=no".into()];
    words.extend(options.iter().map(OsString::from));
    words.push(source(scenario, "jl").into());
    words
}

fn rust(scenario: &str) -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_conformance").into(), scenario.into()]
}

/// A program in a language: its numbers of PEs, and the function that makes its command.
struct Run {
    program: &'static str,
    language: &'static str,
    counts: &'static [u32],
    words: fn() -> Vec<OsString>,
}

/// One test for each program in each language.
macro_rules! runs {
    ($($test:ident: $program:literal in $language:literal, $counts:expr, $words:expr;)*) => {
        const RUNS: &[Run] = &[ $( Run {
            program: $program,
            language: $language,
            counts: &$counts,
            words: || Vec::from($words),
        } ),* ];

        $(
            #[test]
            fn $test() {
                conforms($program, $language, &$counts, &$words);
            }
        )*
    };
}

runs! {
    model_in_c: "model" in "C", MODEL, compiled(compile_c, "model", "c");
    model_in_cxx: "model" in "C++", MODEL, compiled(compile_cxx, "model", "cpp");
    model_in_fortran: "model" in "Fortran", MODEL, compiled(compile_fortran, "model", "f90");
    model_in_julia: "model" in "Julia", COMPILED, julia("model", &[]);
    model_in_julia_interpreted: "model" in "Julia", INTERPRETED, julia("model", &INTERPRETER);
    model_in_python: "model" in "Python", MODEL, python("model");
    model_in_rust: "model" in "Rust", MODEL, rust("model");

    exchange_in_c: "exchange" in "C", EXCHANGE, compiled(compile_c, "exchange", "c");
    exchange_in_cxx: "exchange" in "C++", EXCHANGE, compiled(compile_cxx, "exchange", "cpp");
    exchange_in_fortran: "exchange" in "Fortran", EXCHANGE, compiled(compile_fortran, "exchange", "f90");
    exchange_in_julia: "exchange" in "Julia", COMPILED, julia("exchange", &INTERPRETER);
    exchange_in_python: "exchange" in "Python", EXCHANGE, python("exchange");
    exchange_in_rust: "exchange" in "Rust", EXCHANGE, rust("exchange");

    misuse_in_c: "misuse" in "C", MISUSE, compiled(compile_c, "misuse", "c");
    misuse_in_cxx: "misuse" in "C++", MISUSE, compiled(compile_cxx, "misuse", "cpp");
    misuse_in_fortran: "misuse" in "Fortran", MISUSE, compiled(compile_fortran, "misuse", "f90");
    misuse_in_julia: "misuse" in "Julia", MISUSE, julia("misuse", &[]);
    misuse_in_python: "misuse" in "Python", MISUSE_ALONE, python("misuse");
    misuse_in_rust: "misuse" in "Rust", MISUSE_ALONE, rust("misuse");
}

#[test]
fn ring_with_the_static_library() {
    let archive = library().with_extension("a");
    assert!(
        archive.is_file(),
        "{} is missing: `cargo xtask test` builds it",
        archive.display()
    );
    let folder = bin_dir().join("nvshmemrs-tests");
    fs::create_dir_all(&folder).expect("a folder for programs");
    let program = folder.join("ring-c-static");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-I").arg(workspace().join("include"));
    compiler.arg(source("ring", "c")).arg(archive);
    compiler
        .args(["-lm", "-ldl", "-pthread", "-o"])
        .arg(&program);
    run(&mut compiler, HANG).assert_success();

    let needed = run(Command::new("ldd").arg(&program), HANG).succeeded();
    needed.assert_no_stdout("nvshmem");
    for n_pes in 1..=4 {
        job("ring", &vec!["C"; n_pes], &[program.clone().into()]);
    }
}

/// The command that starts the six programs as one job: PE 0 in the first language, and so on.
#[track_caller]
fn six_languages(folder: &Path) -> Vec<OsString> {
    let commands = [
        compiled(compile_c, "exchange", "c"),
        compiled(compile_cxx, "exchange", "cpp"),
        compiled(compile_fortran, "exchange", "f90"),
        julia("exchange", &INTERPRETER),
        python("exchange"),
        rust("exchange"),
    ];
    let mut script = String::from("case $NVSHMEMRS_PE in\n");
    for (pe, words) in commands.iter().enumerate() {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("'{}'", word.to_str().expect("a path in UTF-8")))
            .collect();
        script += &format!("{pe}) exec {} ;;\n", words.join(" "));
    }
    script += "esac\n";
    let file = folder.join("six-languages.sh");
    fs::write(&file, script).expect("a script");
    vec!["sh".into(), file.into()]
}

#[track_caller]
fn run_in_six_languages() -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let languages = LANGUAGES.map(|(language, _)| language);
    job("exchange", &languages, &six_languages(folder.path()))
}

#[test]
fn pes_in_six_languages_are_one_job() {
    let ran = run_in_six_languages();
    assert_eq!(ran, scenarios_of("exchange"));
    the_page_shows(&ran, ONE_JOB, LANGUAGES.len() as u32);
}

/// Files of the folder that are no scenarios.
const BESIDE: [&str; 12] = [
    "README",
    "common",
    "conformance",
    "cxx",
    "fortran",
    "julia",
    "main",
    "operations",
    "ring",
    "scenarios",
    "suite",
    "suite_process",
];

/// All programs exist in all languages, and nothing else does.
#[test]
fn every_scenario_exists_in_every_language() {
    let folder = workspace().join("tests/conformance");
    let entries = fs::read_dir(&folder).expect("the conformance programs");
    let files: BTreeSet<(String, String)> = entries
        .map(|entry| entry.expect("a conformance program").path())
        .filter_map(|path| {
            let part = |part: Option<&std::ffi::OsStr>| Some(part?.to_string_lossy().into_owned());
            // A scenario in Rust may be a folder.
            let extension = match path.join("mod.rs").is_file() {
                true => Some("rs".to_string()),
                false => part(path.extension()),
            };
            Some((part(path.file_stem())?, extension?))
        })
        // Tests, headers, the starter of scenarios in Rust, the ring, the list, and the page about the folder.
        .filter(|(stem, _)| !BESIDE.contains(&stem.as_str()))
        .collect();
    let mut expected = BTreeSet::new();
    for (_, scenario) in scenarios() {
        for (language, extension) in LANGUAGES {
            let runs = |run: &&Run| run.program == scenario.program && run.language == language;
            let tested = RUNS.iter().find(runs).is_some();
            assert!(tested, "{} in {language} has no test", scenario.program);
            expected.insert((scenario.program.clone(), extension.to_string()));
        }
    }
    assert_eq!(files, expected);
}

/// With how many PEs a scenario ran in a language; `ONE_JOB` stands for all languages in one.
type Ran = BTreeMap<(String, &'static str), BTreeSet<u32>>;
const ONE_JOB: &str = "one job";

/// The page's table.
#[track_caller]
fn table(ran: &Ran) -> String {
    let mut table = String::from("| scenario | what it shows |");
    for (language, _) in LANGUAGES {
        table += &format!(" {language} |");
    }
    table += " all in one job |\n|---|---|";
    table += &"---|".repeat(LANGUAGES.len() + 1);
    table += "\n";
    for (name, scenario) in scenarios() {
        table += &format!("| {name} | {} |", scenario.shows);
        let columns = LANGUAGES.map(|(language, _)| language);
        for column in columns.into_iter().chain([ONE_JOB]) {
            let counts = ran.get(&(name.clone(), column));
            let counts = counts.map(|counts| counts.iter().map(u32::to_string).collect::<Vec<_>>());
            assert!(counts.is_some() || column == ONE_JOB, "{name}: {column}");
            table += &format!(" {} |", counts.unwrap_or_default().join(", "));
        }
        table += "\n";
    }
    table
}

/// The page before its table, the table, and the page behind it.
#[track_caller]
fn page() -> (PathBuf, [String; 3]) {
    let file = workspace().join("docs/languages.md");
    let text = fs::read_to_string(&file).expect("the page");
    let start = text.find("| scenario |").expect("the page has the table");
    let end = start
        + text[start..]
            .find("\n\n")
            .map_or(text.len() - start, |at| at + 1);
    let parts = [&text[..start], &text[start..end], &text[end..]];
    (file, parts.map(String::from))
}

/// The tests above compare their runs with the page. This test ensures that the page lists nothing else: no program, language or
/// number of PEs that no test runs.
#[test]
fn the_page_shows_nothing_that_no_test_runs() {
    let mut ran = Ran::new();
    let listed = |program: &str, column: &'static str, counts: &[u32], ran: &mut Ran| {
        for name in scenarios_of(program) {
            ran.entry((name, column)).or_default().extend(counts);
        }
    };
    for run in RUNS {
        listed(run.program, run.language, run.counts, &mut ran);
    }
    listed("exchange", ONE_JOB, &[LANGUAGES.len() as u32], &mut ran);
    let (_, [_, committed, _]) = page();
    assert_eq!(committed, table(&ran), "run `cargo xtask languages`");
}

/// Runs everything and writes the list of runs into the page.
#[test]
#[ignore = "`cargo xtask languages` runs it"]
fn write_the_page() {
    let mut ran = Ran::new();
    for run in RUNS {
        for &n_pes in run.counts {
            let languages = vec![run.language; n_pes as usize];
            for name in job(run.program, &languages, &(run.words)()) {
                ran.entry((name, run.language)).or_default().insert(n_pes);
            }
        }
    }
    for name in run_in_six_languages() {
        let all = LANGUAGES.len() as u32;
        ran.entry((name, ONE_JOB)).or_default().insert(all);
    }
    let (file, [before, _, behind]) = page();
    fs::write(file, before + &table(&ran) + &behind).expect("the page");
}
