//! PEs that die, leave, fork, stop, come late or are interrupted, while the others wait for them.

mod matrix;
mod stops;

use nvshmemrs_tests::{Leftovers, Output, job};
use std::path::Path;
use std::time::Duration;

const TIMEOUT: i32 = 16;
const INTERRUPTED: i32 = 17;
const TEAM_BROKEN: i32 = 23;

/// Milliseconds from a death to the error, at most, as promised.
const NOTICED: f64 = 2000.0;
/// As [`NOTICED`], on a machine that has nothing else to do.
const NOTICED_IDLE: Duration = Duration::from_millis(200);
/// As [`NOTICED`]; beyond this other jobs are no excuse.
const NOTICED_NEVER: f64 = 10_000.0;

/// A test program, compiled once.
macro_rules! compiled {
    ($name:literal) => {{
        static PROGRAM: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
        PROGRAM.get_or_init(|| nvshmemrs_tests::compile_c(&nvshmemrs_tests::program($name)))
    }};
}
use compiled;

/// The parts of a line such as "barrier: status 16 after 0.5 s: text".
#[derive(Debug)]
struct Came {
    status: i32,
    after: f64,
    text: String,
}

/// The result of a call in `output`; `what` starts the line.
#[track_caller]
fn came(output: &Output, what: &str) -> Came {
    let parse = |line: &str| {
        let rest = line.strip_prefix(what)?.strip_prefix("status ")?;
        let (status, rest) = rest.split_once(" after ")?;
        let (after, text) = rest.split_once(": ")?;
        Some(Came {
            status: status.parse().ok()?,
            after: after.split(' ').next()?.parse().ok()?,
            text: text.to_string(),
        })
    };
    let found: Vec<Came> = output.stdout.lines().filter_map(parse).collect();
    match <[Came; 1]>::try_from(found) {
        Ok([came]) => came,
        Err(other) => panic!(
            "{} lines with {what:?}, not one\n{}",
            other.len(),
            output.describe()
        ),
    }
}

const KILLED: i32 = 128 + 9;

#[test]
fn a_forked_child_is_no_pe() {
    for how in ["exit", "_exit", "return"] {
        let before = Leftovers::now();
        let job = job::start(compiled!("fork.c"), 2, |_, command| {
            command.arg(how);
        });
        for (pe, output) in job::finish(job).iter().enumerate() {
            output
                .assert_success()
                .assert_stdout(&format!("PE {pe} goes on"));
            assert_eq!(output.stderr, "", "{}", output.describe());
        }
        before.assert_none_new();
    }
}

/// Runs a scenario of `programs/waits.c`.
#[track_caller]
fn waits(scenario: &str, n_pes: u32, timeout: Option<&str>) -> Vec<Output> {
    waits_with(scenario, n_pes, timeout, None)
}

/// The same for a scenario that takes a file.
fn waits_with(
    scenario: &str,
    n_pes: u32,
    timeout: Option<&str>,
    file: Option<&Path>,
) -> Vec<Output> {
    let job = job::start(compiled!("waits.c"), n_pes, |_, command| {
        command.arg(scenario).args(file);
        command.envs(timeout.map(|seconds| ("NVSHMEMRS_TIMEOUT", seconds)));
    });
    let outputs = job::finish(job);
    for output in &outputs {
        output.assert_success();
    }
    outputs
}

#[test]
fn a_deadline_names_who_is_missing() {
    let outputs = waits("never_comes", 3, Some("0.5"));
    let mut timeouts = 0;
    for output in &outputs[..2] {
        let first = came(output, "barrier: ");
        if first.status == TIMEOUT {
            timeouts += 1;
            assert!((0.5..10.0).contains(&first.after), "{first:?}");
            assert!(
                first.text.contains("waits for PE 2; PE 2 (pid ")
                    && first.text.contains("NVSHMEMRS_TIMEOUT"),
                "{first:?}"
            );
        } else {
            // The other one's deadline passed first, and broke the team.
            assert_eq!(first.status, TEAM_BROKEN, "{first:?}");
        }
    }
    assert!(timeouts > 0, "{}", outputs[0].describe());
    for output in &outputs {
        let again = came(output, "again: ");
        assert_eq!(again.status, TEAM_BROKEN, "{again:?}");
        assert!(
            again.text.contains("PE 0") || again.text.contains("PE 1"),
            "the PE that left is not named: {again:?}"
        );
        assert!(again.text.contains("WORLD"), "{again:?}");
        assert!(again.after < 0.4, "{again:?}");
        assert_eq!(came(output, "finalize: ").status, 0);
    }
}

#[test]
fn a_deadline_ends_signal_wait_and_spares_the_job() {
    for output in waits("no_signal", 2, Some("0.5")) {
        let wait = came(&output, "signal_wait: ");
        assert_eq!(wait.status, TIMEOUT, "{wait:?}");
        assert!((0.5..10.0).contains(&wait.after), "{wait:?}");
        assert!(
            wait.text.contains(">= 41") && wait.text.contains("sees 0"),
            "{wait:?}"
        );
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}

#[test]
fn a_deadline_ends_finalize() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let outputs = waits_with("late_finalize", 3, Some("0.5"), Some(file.path()));
    for output in &outputs[..2] {
        let finalize = came(output, "finalize: ");
        assert_eq!(finalize.status, TIMEOUT, "{finalize:?}");
        assert!(
            finalize.text.contains("PE 2 to call finalize"),
            "{finalize:?}"
        );
    }
    assert_eq!(came(&outputs[2], "finalize: ").status, 0);
}

#[test]
fn a_signal_handler_interrupts_signal_wait() {
    for output in waits("interrupted", 2, None) {
        let wait = came(&output, "signal_wait: ");
        assert_eq!(wait.status, INTERRUPTED, "{wait:?}");
        assert!((0.1..10.0).contains(&wait.after), "{wait:?}");
        assert!(wait.text.contains("`signal_wait` of PE"), "{wait:?}");
        // Until it is cleared, every wait ends so.
        let still = came(&output, "still: ");
        assert_eq!(still.status, INTERRUPTED, "{still:?}");
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}

#[test]
fn an_interrupted_collective_strands_nobody() {
    let outputs = waits("interrupted_barrier", 3, None);
    let first = came(&outputs[0], "barrier: ");
    assert_eq!(first.status, INTERRUPTED, "{first:?}");
    for output in &outputs[1..] {
        let broken = came(output, "barrier: ");
        assert_eq!(broken.status, TEAM_BROKEN, "{broken:?}");
        assert!(broken.text.contains("PE 0 left"), "{broken:?}");
    }
    for output in &outputs {
        assert_eq!(came(output, "finalize: ").status, 0);
    }
}

#[test]
fn the_interrupt_hook_ends_a_wait() {
    for output in waits("hook", 2, None) {
        let wait = came(&output, "signal_wait: ");
        assert_eq!(wait.status, INTERRUPTED, "{wait:?}");
        assert!((0.1..5.0).contains(&wait.after), "{wait:?}");
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}
