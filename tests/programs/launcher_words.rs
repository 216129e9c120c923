//! Warnings where they are due and only there: unknown settings, a missing finalize, and the tools' help on their own options.

use nvshmemrs::config::unknown::is_known;
use nvshmemrs_tests::{
    HANG, Output, bin, compile_c, compile_c_text, launcher, program, run, spawn, workspace,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MISSPELT: &str = "a setting that nothing reads is in the environment: NVSHMEMRS_TIMOUT (did you mean NVSHMEMRS_TIMEOUT?)";

#[test]
fn a_misspelt_setting_is_named_once_before_the_pes_start() {
    let mut command = launcher(3, &[]);
    command.args(["sh", "-c", "echo started >&2"]);
    let output = run(
        command
            .env("NVSHMEMRS_TIMOUT", "5")
            .env("NVSHMEM_NVTX", "off"),
        HANG,
    )
    .succeeded();
    let expected = format!("nvshmemrs-run: {MISSPELT}\nstarted\nstarted\nstarted\n");
    assert_eq!(output.stderr, expected);

    command.env("NVSHMEM_PURPLE_ELEPHANT", "1");
    let output = run(&mut command, HANG);
    let what = "settings that nothing reads are in the environment: \
                NVSHMEMRS_TIMOUT (did you mean NVSHMEMRS_TIMEOUT?), NVSHMEM_PURPLE_ELEPHANT";
    assert_eq!(output.launcher_lines(), [what], "{}", output.describe());
}

#[test]
fn the_library_names_a_misspelt_setting_if_it_is_asked_to() {
    let finalize = compile_c(&program("finalize.c"));
    let told = |level: Option<&str>| {
        let mut command = launcher(2, &[]);
        command
            .arg(&finalize)
            .env("NVSHMEMRS_TIMOUT", "5")
            .env("NVSHMEM_NVTX", "off");
        command
            .env_remove("NVSHMEM_DEBUG")
            .envs(level.map(|level| ("NVSHMEM_DEBUG", level)));
        let output = run(&mut command, HANG).succeeded();
        let lines = output
            .stderr
            .lines()
            .filter(|line| line.starts_with("nvshmemrs [PE"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(None), [""; 0]);
    let lines = told(Some("WARN"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("nvshmemrs [PE 0, ") && lines[0].ends_with(MISSPELT),
        "{lines:?}"
    );
    let lines = told(Some("INFO"));
    let with = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(with(MISSPELT), 1, "{lines:?}");
    assert_eq!(with("PE 0, "), lines.len() / 2 + 1, "{lines:?}");
    assert_eq!(with("NVSHMEM_NVTX does nothing here: "), 1, "{lines:?}");
}

/// The variables that files under `folder` read.
fn read_by(folder: &Path, names: &mut BTreeSet<String>) {
    const READS: [&str; 7] = [
        "getenv(\"",
        "env::var(\"",
        "env::var_os(\"",
        "environ.get(\"",
        "environ[\"",
        "get(ENV, \"",
        "interpreter(\"",
    ];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder's entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                read_by(&path, names);
            }
            continue;
        }
        let source = name.rsplit('.').next();
        if !matches!(source, Some("rs" | "py" | "c" | "h" | "hpp" | "cpp" | "jl")) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is text");
        for read in READS {
            let found = text
                .split(read)
                .skip(1)
                .filter_map(|rest| rest.split('"').next());
            let ours = found.filter(|name| name.starts_with("NVSHMEM"));
            names.extend(ours.map(str::to_string));
        }
    }
}

#[test]
fn every_variable_that_the_project_reads_is_known() {
    let mut names = BTreeSet::new();
    read_by(&workspace(), &mut names);
    assert!(names.len() >= 8, "only {names:?}");
    let unknown: Vec<&String> = names.iter().filter(|name| !is_known(name)).collect();
    assert!(
        unknown.is_empty(),
        "not in core/crates/vocabulary/src/config: {unknown:?}"
    );
}

/// A program that joins and then does as `end` says.
fn joins(name: &str, end: &str) -> std::path::PathBuf {
    let check = fs::read_to_string(program("check.h")).expect("a header");
    let main = format!(
        "int main(void)\n{{\n    int32_t pe;\n    nvshmemrs_runtime_t runtime = join(&pe);\n    (void)runtime;\n    {end}\n    return 0;\n}}\n"
    );
    compile_c_text(name, &format!("{check}\n{main}"))
}

#[test]
fn a_job_that_ends_without_finalize_is_told() {
    let silent = joins("no-finalize", "");
    let execs = joins(
        "no-finalize-exec",
        "execlp(\"true\", \"true\", (char *)NULL);",
    );
    let line = |who: &str| {
        format!(
            "{who} ended with status 0 and did not call finalize, so operations that were not complete may be lost"
        )
    };
    for (n_pes, who) in [(1, "PE 0"), (3, "all 3 PEs")] {
        for program in [&silent, &execs] {
            let output = run(launcher(n_pes, &[]).arg(program), HANG).succeeded();
            assert_eq!(
                output.launcher_lines(),
                [line(who)],
                "{}",
                output.describe()
            );
        }
        let output = run(launcher(n_pes, &["--check"]).arg(&silent), HANG).succeeded();
        let lines = output.launcher_lines();
        assert_eq!(lines[0], line(who), "{}", output.describe());
        assert!(
            lines.len() == 2 && lines[1].starts_with("the checker found"),
            "{lines:?}"
        );
    }
    // A wrapper's program.
    let mut command = launcher(2, &[]);
    command.args(["sh", "-c", "\"$0\"; true"]).arg(&silent);
    let output = run(&mut command, HANG);
    assert_eq!(
        output.launcher_lines(),
        [line("all 2 PEs")],
        "{}",
        output.describe()
    );
}

#[test]
fn a_job_that_owes_no_finalize_is_silent() {
    let again = joins(
        "finalize-twice",
        "CHECK(nvshmemrs_finalize(runtime)); runtime = join(&pe); CHECK(nvshmemrs_finalize(runtime));",
    );
    let finalize = compile_c(&program("finalize.c"));
    for command in [Path::new("true"), &again, &finalize] {
        for n_pes in [1, 3] {
            let output = run(launcher(n_pes, &[]).arg(command), HANG).succeeded();
            assert_eq!(output.stderr, "", "{}", output.describe());
        }
    }
    // A PE that fails is told as such, and not as one that has not finalized.
    let fails = joins("no-finalize-fails", "return 3;");
    let output = run(launcher(2, &[]).arg(fails), HANG);
    output.assert_code(3);
    output.assert_no_stderr("did not call finalize");
}

#[test]
fn np_means_n() {
    for words in [["-np", "3"], ["--np", "3"], ["-n", "3"]] {
        let mut command = Command::new(bin("nvshmemrs-run"));
        command
            .args(words)
            .args(["--tag", "sh", "-c", "echo $0 of $NVSHMEMRS_N_PES", "-np"]);
        let output = run(&mut command, HANG).succeeded();
        let lines = output.sorted_lines();
        assert_eq!(lines, ["[0] -np of 3", "[1] -np of 3", "[2] -np of 3"]);
    }
}

const TOOLS: [&str; 4] = [
    "nvshmemrs-run",
    "nvshmemrs-info",
    "nvshmemrs-top",
    "nvshmemrs-perf",
];

/// A tool's output when it is called with these words.
fn said(tool: &str, words: &[&str]) -> String {
    let output = run(Command::new(bin(tool)).args(words), HANG).succeeded();
    assert_eq!(output.stderr, "");
    output.stdout
}

/// The options that `--help` lists.
fn options(tool: &str) -> BTreeSet<String> {
    let help = said(tool, &["--help"]);
    let lines = help
        .lines()
        .filter(|line| line.starts_with("  ") && line.trim().starts_with('-'));
    let words = lines
        .flat_map(|line| line.split([' ', ',']))
        .filter(|word| word.starts_with("--"));
    words
        .map(|word| word.trim_start_matches('-').to_string())
        .collect()
}

#[test]
fn completions_name_every_option() {
    for tool in TOOLS {
        let options = options(tool);
        assert!(
            options.len() >= 5 && options.contains("completions"),
            "{tool}: {options:?}"
        );
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let text = said(tool, &["--completions", shell]);
            let missing: Vec<&String> = options
                .iter()
                .filter(|option| !text.contains(*option))
                .collect();
            assert!(missing.is_empty(), "{tool}, {shell}: {missing:?}");
        }
        // The shell takes it.
        let script = tempfile::NamedTempFile::new().expect("a file");
        fs::write(script.path(), said(tool, &["--completions", "bash"])).expect("to write");
        run(Command::new("bash").arg("-n").arg(script.path()), HANG).assert_success();
    }
}

#[test]
fn manual_pages_name_every_option() {
    for tool in TOOLS {
        let page = said(tool, &["--man"]).replace("\\-", "-");
        for part in [".TH", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
            assert!(page.contains(part), "{tool}: no {part}\n{page}");
        }
        for option in options(tool) {
            assert!(
                page.contains(&format!("--{option}")),
                "{tool}: no --{option}\n{page}"
            );
        }
    }
    // They go alone.
    let output = run(
        Command::new(bin("nvshmemrs-run")).args(["--man", "-n", "2", "true"]),
        HANG,
    );
    output.assert_code(2).assert_stderr("--man");
}

// --- the CPUs of the PEs ----------------------------------------------------------------------------

/// Prints the CPUs that a PE may use, after its number.
const CPUS: &str = "echo $NVSHMEMRS_PE $(grep Cpus_allowed_list /proc/self/status | cut -f2)";

/// A job whose PEs print their CPUs; `before` is a command that starts the launcher.
fn cpus_job(before: &[&str], n_pes: usize, options: &[&str], then: &str) -> Command {
    let plain = launcher(n_pes as u32, &[options, &["--report-bindings"]].concat());
    let mut words = before.iter().map(OsStr::new);
    let mut command = match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(plain.get_program());
            command.args(plain.get_args());
            command
        }
        None => plain,
    };
    command.args(["sh", "-c", &format!("{CPUS}; {then}")]);
    command.stdin(Stdio::null());
    command
}

/// The CPUs of this process, as PEs that are not bound print them.
fn own_cpus() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").expect("a file of Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list:"));
    let list = line.and_then(|line| line.split('\t').nth(1));
    list.expect("the list of CPUs").to_owned()
}

fn assert_not_bound(output: &Output, n_pes: usize, cpus: &str, why: &str) {
    output.assert_success();
    let said = format!("PEs are not bound: {why}");
    assert_eq!(output.launcher_lines(), [said], "{}", output.describe());
    let lines = output.sorted_lines();
    let expected: Vec<String> = (0..n_pes).map(|pe| format!("{pe} {cpus}")).collect();
    assert_eq!(lines, expected, "{}", output.describe());
}

#[test]
fn pes_that_do_not_fit_or_shall_not_keep_the_cpus_of_the_launcher() {
    let cpus = own_cpus();
    let first = cpus.split([',', '-']).next().expect("there is a CPU");
    let on_one = ["taskset", "-c", first];
    let output = run(&mut cpus_job(&on_one, 2, &[], "true"), HANG);
    assert_not_bound(&output, 2, first, "2 PEs do not fit on 1 core");
    let output = run(&mut cpus_job(&[], 2, &["--bind-to", "none"], "true"), HANG);
    assert_not_bound(&output, 2, &cpus, "--bind-to none");
    let output = run(&mut cpus_job(&[], 1, &[], "true"), HANG);
    assert_not_bound(&output, 1, &cpus, "the job has one PE");
}

#[test]
fn pes_that_fit_have_cpus_of_their_own_and_a_second_job_is_not_bound() {
    let taken = "nvshmemrs-run: PEs are not bound: another job of this user has bound its PEs";
    let too_small = "nvshmemrs-run: PEs are not bound: 2 PEs do not fit on 1 core";
    let until = Instant::now() + HANG;
    loop {
        let mut job = spawn(&mut cpus_job(&[], 2, &[], "sleep 600"));
        job.until("the CPUs of both PEs", |job| {
            (job.stdout().lines().count() == 2).then_some(())
        });
        let (said, printed) = (job.stderr(), job.stdout());
        if said.contains(too_small) {
            return;
        }
        if said.contains(taken) {
            // Jobs of other tests end.
            assert!(
                Instant::now() < until,
                "another job binds its PEs all the time"
            );
            drop(job);
            std::thread::sleep(Duration::from_millis(100));
            continue;
        }
        assert_eq!(said.matches("is bound to CPU ").count(), 2, "{said}");
        let sets = ["0 ", "1 "].map(|pe| {
            let line = printed.lines().find_map(|line| line.strip_prefix(pe));
            line.expect(pe).to_owned()
        });
        assert_ne!(sets[0], sets[1]);
        for (pe, set) in sets.iter().enumerate() {
            // Of more CPUs the kernel's list has ranges.
            if !set.contains('-') {
                let line = format!("nvshmemrs-run: PE {pe} is bound to CPU {set}\n");
                assert!(said.contains(&line), "{said}");
            }
        }
        let second = run(&mut cpus_job(&[], 2, &[], "true"), HANG);
        let why = "another job of this user has bound its PEs";
        assert_not_bound(&second, 2, &own_cpus(), why);
        return;
    }
}
