//! PEs that are stopped: for a short time, for good, and the whole job at once.

use super::{came, compiled};
use nvshmemrs_tests::{HANG, Running, job};
use rustix::process::Signal;
use std::thread;
use std::time::Duration;

const PE_STOPPED: i32 = 26;

/// Starts a scenario of `programs/waits.c` on three PEs, all of which have joined on return.
fn start(scenario: &str, limit: Option<&str>) -> Vec<Running> {
    let mut job = job::start(compiled!("waits.c"), 3, |_, command| {
        command.arg(scenario);
        command.envs(limit.map(|seconds| ("NVSHMEMRS_STOP_TIMEOUT", seconds)));
    });
    for pe in &mut job {
        pe.until("line of a PE", |pe| {
            pe.stdout().contains(" is pid ").then_some(())
        });
    }
    thread::sleep(Duration::from_millis(300));
    job
}

/// Every PE goes through finalize.
fn finish(job: Vec<Running>) {
    for pe in job {
        let output = pe.wait(HANG);
        output.assert_success();
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}

#[test]
fn a_stopped_pe_is_not_dead() {
    let mut job = start("steady", None);
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
    finish(job);
}

/// Stops the last PE until the others have given up waiting for it; they can wait for it again when it goes on.
fn stop_for_long(limit: Option<&str>, seconds: f64) {
    let mut job = start("stopped", limit);
    let last = job[2].pid();
    job[2].signal(Signal::STOP);
    for pe in &mut job[..2] {
        let line = pe.until("error", |pe| {
            let text = pe.stdout();
            let line = text
                .lines()
                .find(|line| line.starts_with("signal_wait: "))?;
            Some(line.to_string())
        });
        let status = format!("signal_wait: status {PE_STOPPED} after ");
        let named = format!("PE 2 (pid {last}) has been stopped (SIGSTOP or Ctrl-Z) for ");
        let remedy = format!("`kill -CONT {last}` lets it go on; NVSHMEMRS_STOP_TIMEOUT");
        for part in [&status, &named, &remedy] {
            assert!(line.contains(part.as_str()), "no {part:?} in {line}");
        }
        let after = line.strip_prefix(&status).and_then(|rest| {
            let (seconds, _) = rest.split_once(' ')?;
            seconds.parse::<f64>().ok()
        });
        let after = after.expect("a number of seconds");
        println!(
            "told {after} s after the wait began, 0.3 s before the stop; the limit is {seconds} s"
        );
        // Promised are 2 s from the stop, on a machine that has nothing else to do.
        assert!((seconds..seconds + 10.0).contains(&after), "{line}");
    }
    job[2].signal(Signal::CONT);
    finish(job);
}

#[test]
fn a_pe_that_is_stopped_for_long_is_named() {
    stop_for_long(None, 1.5);
    stop_for_long(Some("0.5"), 0.5);
}

#[test]
fn without_a_limit_a_stop_is_waited_out() {
    let mut job = start("stopped", Some("0"));
    job[2].signal(Signal::STOP);
    thread::sleep(Duration::from_secs(2));
    for pe in &mut job {
        let text = pe.stdout();
        assert!(!text.contains("signal_wait: status"), "{text}");
    }
    job[2].signal(Signal::CONT);
    finish(job);
}

#[test]
fn a_job_that_is_stopped_as_a_whole_is_not_hurt() {
    for scenario in ["steady", "stopped"] {
        let job = start(scenario, Some("0.6"));
        for round in 0..3 {
            for pe in &job {
                pe.signal(Signal::STOP);
            }
            thread::sleep(Duration::from_millis(1000));
            for pe in &job {
                pe.signal(Signal::CONT);
            }
            thread::sleep(Duration::from_millis(100 * round));
        }
        for pe in job {
            let output = pe.wait(HANG);
            output.assert_success();
            assert!(
                !output.stdout.contains(&format!("status {PE_STOPPED}")),
                "{}",
                output.describe()
            );
            assert_eq!(came(&output, "finalize: ").status, 0);
        }
    }
}
