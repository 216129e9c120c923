//! PEs that are stopped: for a short time, for good, and the whole job at once.

use super::{came, compiled};
use nvshmemrs_tests::{HANG, Running, info, job, promise};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempPath};

const PE_STOPPED: i32 = 26;

/// Starts a scenario of `programs/waits.c` on three PEs, all of which have joined on return.
fn start<S: AsRef<OsStr>>(words: &[S], limit: Option<&str>) -> Vec<Running> {
    let mut job = job::start(compiled!("waits.c"), 3, |_, command| {
        command.args(words);
        command.envs(limit.map(|seconds| ("NVSHMEMRS_STOP_TIMEOUT", seconds)));
    });
    for pe in &mut job {
        pe.until_stdout(&[" is pid "]);
    }
    job
}

/// As [`start`], of a scenario that goes on until the file is gone.
fn start_for_long(scenario: &str, limit: Option<&str>) -> (Vec<Running>, TempPath) {
    let file = NamedTempFile::new().expect("a temporary file");
    let file = file.into_temp_path();
    let job = start(&[OsStr::new(scenario), file.as_os_str()], limit);
    (job, file)
}

/// Starts the scenario in which all wait for the last PE, which sends its signals once the file is gone; all are at that on return.
fn start_waiting(limit: Option<&str>) -> (Vec<Running>, TempPath) {
    let (mut job, file) = start_for_long("stopped", limit);
    let pid = job[2].pid().to_string();
    job[0].until("signal_wait of two PEs", |_| {
        let shown = info(&["--job", &pid]).stdout;
        (shown.matches("in signal_wait for ").count() == 2).then_some(())
    });
    (job, file)
}

/// Every PE goes through finalize.
fn finish(job: Vec<Running>) {
    for pe in job {
        let output = pe.wait(HANG).succeeded();
        assert_eq!(came(&output, "finalize: ").status, 0);
    }
}

#[test]
fn a_stopped_pe_is_not_dead() {
    let mut job = start(&["steady"], None);
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

/// How much later than the limit the others have their errors at most.
const TOLD: Duration = Duration::from_millis(500);

/// Stops the last PE until the others have given up waiting for it; they can wait for it again when it goes on. Gives the time from
/// the stop until both had the error.
fn stop_until_told(limit: Option<&str>) -> Duration {
    let (mut job, file) = start_waiting(limit);
    let last = job[2].pid();
    let start = Instant::now();
    job[2].signal(Signal::STOP);
    let lines = [0, 1].map(|pe: usize| {
        job[pe].until("error", |pe| {
            let text = pe.stdout();
            let line = text
                .lines()
                .find(|line| line.starts_with("signal_wait: "))?;
            Some(line.to_string())
        })
    });
    let took = start.elapsed();
    let status = format!("signal_wait: status {PE_STOPPED} after ");
    let named = format!("PE 2 (pid {last}) has been stopped (SIGSTOP or Ctrl-Z) for ");
    let remedy = format!("`kill -CONT {last}` lets it go on; NVSHMEMRS_STOP_TIMEOUT");
    for (line, part) in lines
        .iter()
        .flat_map(|line| [(line, &status), (line, &named), (line, &remedy)])
    {
        assert!(line.contains(part.as_str()), "no {part:?} in {line}");
    }
    job[2].signal(Signal::CONT);
    file.close().expect("nobody else takes the file away");
    finish(job);
    took
}

#[test]
fn a_pe_that_is_stopped_for_long_is_named() {
    for (limit, time) in [(None, 1500), (Some("0.5"), 500)] {
        let time = Duration::from_millis(time);
        let took = promise::kept(time + TOLD, || {
            let took = stop_until_told(limit);
            assert!(took >= time, "after {took:?}, the limit is {time:?}");
            took
        });
        println!("told {took:.3?} after the stop; the limit is {time:?}");
    }
}

#[test]
fn without_a_limit_a_stop_is_waited_out() {
    let (mut job, file) = start_waiting(Some("0"));
    job[2].signal(Signal::STOP);
    thread::sleep(Duration::from_secs(2));
    for pe in &mut job {
        let text = pe.stdout();
        assert!(!text.contains("signal_wait: status"), "{text}");
    }
    job[2].signal(Signal::CONT);
    file.close().expect("nobody else takes the file away");
    finish(job);
}

#[test]
fn a_job_that_is_stopped_as_a_whole_is_not_hurt() {
    let limit = Some("0.6");
    for (job, file) in [start_for_long("steady", limit), start_waiting(limit)] {
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
        file.close().expect("nobody else takes the file away");
        for pe in job {
            let output = pe.wait(HANG).succeeded();
            output.assert_no_stdout(&format!("status {PE_STOPPED}"));
            assert_eq!(came(&output, "finalize: ").status, 0);
        }
    }
}
