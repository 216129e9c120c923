//! PEs that die, leave, fork, stop, come late or are interrupted, while the others wait for them.

use nvshmemrs_tests::{HANG, Leftovers, Output, compile_c, job, program};
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

const PE_DIED: i32 = 15;
const TIMEOUT: i32 = 16;
const INTERRUPTED: i32 = 17;
const TEAM_BROKEN: i32 = 23;

/// Milliseconds from a death to the error. Promised are 2000, on a machine that has nothing else to do.
const NOTICED: f64 = 5000.0;

/// A test program, compiled once.
macro_rules! compiled {
    ($name:literal) => {{
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        PROGRAM.get_or_init(|| compile_c(&program($name)))
    }};
}

/// The parts of a line such as "barrier: status 16 after 0.5 s: text".
#[derive(Debug)]
struct Came {
    status: i32,
    after: f64,
    text: String,
}

/// What `output` says a call came to; `what` starts its line.
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

/// Runs `programs/fault.c` on four PEs, of which 1 to `victims` end in the way `how` says, with status `code`, while the
/// others are inside `operation`. Every other PE must learn of it.
#[track_caller]
fn fault(operation: &str, how: &str, victims: u32, code: i32) {
    let before = Leftovers::now();
    let moment = tempfile::NamedTempFile::new().expect("a temporary file");
    let job = job::start(compiled!("fault.c"), 4, |_, command| {
        command.args([operation, how, &victims.to_string()]);
        command.arg(moment.path());
    });
    let outputs = job::finish(job);
    let mut times = Vec::new();
    for (pe, output) in outputs.iter().enumerate() {
        if (1..=victims as usize).contains(&pe) {
            output.assert_code(code);
            continue;
        }
        output.assert_success();
        assert_eq!(output.stderr, "", "{}", output.describe());
        let came = came(output, "");
        assert_eq!(came.status, PE_DIED, "{}", output.describe());
        let named = (1..=victims).any(|victim| came.text.contains(&format!("PE {victim} (pid ")));
        assert!(named, "the PE that died is not named: {came:?}");
        assert!(came.text.contains("without finalize"), "{came:?}");
        assert!(
            came.text.contains(&format!("of PE {pe}")),
            "the caller is not named: {came:?}"
        );
        assert!(
            (0.0..NOTICED).contains(&came.after),
            "noticed after {} ms: {came:?}",
            came.after
        );
        times.push(came.after);
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!("{operation}, {victims} by {how}: noticed within {worst:.0} ms {times:?}");
    before.assert_none_new();
}

const KILLED: i32 = 128 + 9;

#[test]
fn killed_during_barrier_and_sync() {
    fault("barrier", "kill", 1, KILLED);
    fault("sync", "kill", 1, KILLED);
}

#[test]
fn killed_during_broadcast() {
    fault("broadcast_small", "kill", 1, KILLED);
    fault("broadcast_large", "kill", 1, KILLED);
}

#[test]
fn killed_during_reduce() {
    fault("reduce_small", "kill", 1, KILLED);
    fault("reduce_large", "kill", 1, KILLED);
}

#[test]
fn killed_during_malloc_and_free() {
    fault("malloc", "kill", 1, KILLED);
    fault("free", "kill", 1, KILLED);
}

#[test]
fn killed_during_signal_wait() {
    fault("signal_wait", "kill", 1, KILLED);
}

#[test]
fn killed_during_finalize() {
    fault("finalize", "kill", 1, KILLED);
}

#[test]
fn killed_in_the_middle_of_collectives() {
    for _ in 0..3 {
        fault("collectives", "kill", 1, KILLED);
    }
}

#[test]
fn killed_two_at_once() {
    fault("barrier", "kill", 2, KILLED);
    fault("collectives", "kill", 2, KILLED);
}

#[test]
fn gone_by_exit() {
    fault("barrier", "exit", 1, 0);
    fault("signal_wait", "exit", 1, 0);
    fault("finalize", "exit", 2, 0);
}

#[test]
fn gone_by_a_fault_or_abort() {
    fault("barrier", "segfault", 1, 128 + 11);
    fault("signal_wait", "abort", 1, 128 + 6);
}

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
    let job = job::start(compiled!("waits.c"), n_pes, |_, command| {
        command.arg(scenario);
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
                first.text.contains("waits for PE 2 ") && first.text.contains("NVSHMEMRS_TIMEOUT"),
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
            "who left is not named: {again:?}"
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
    let outputs = waits("late_finalize", 3, Some("0.5"));
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
        assert!(wait.text.contains("signal_wait of PE"), "{wait:?}");
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

#[test]
fn a_stopped_pe_is_not_dead() {
    let mut job = job::start(compiled!("waits.c"), 3, |_, command| {
        command.arg("steady");
    });
    job[1].until("line of PE 1", |pe| {
        pe.stdout().contains(" is pid ").then_some(())
    });
    thread::sleep(Duration::from_millis(300));
    job[1].signal(Signal::STOP);
    thread::sleep(Duration::from_secs(1));
    for pe in &mut job {
        assert!(
            !pe.stdout().contains("status"),
            "a PE gave up on a stopped one: {}",
            pe.stdout()
        );
    }
    job[1].signal(Signal::CONT);
    for pe in job {
        let output = pe.wait(HANG);
        output.assert_success();
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}
