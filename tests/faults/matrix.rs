//! Every operation that can wait, and every way in which a PE ends: all survivors return an error that names it.

use super::{KILLED, NOTICED, NOTICED_IDLE, NOTICED_NEVER, came, compiled};
use nvshmemrs_tests::hosts::{host, mpirun};
use nvshmemrs_tests::{HANG, Leftovers, Output, job, promise, spawn};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Statuses that survivors return.
const PE_DIED: i32 = 15;
const BOOTSTRAP: i32 = 18;
const PE_STOPPED: i32 = 26;
/// The exit status of a stopped PE when it continues.
const WENT_ON: i32 = 77;
/// Jobs at a time: they mostly wait.
const AT_A_TIME: usize = 6;

/// The operations of `programs/fault.c` that wait for other PEs to call them, or to write.
const OPERATIONS: [&str; 43] = [
    "barrier",
    "sync",
    "broadcast_small",
    "broadcast_large",
    "reduce_small",
    "reduce_large",
    "reducescatter_small",
    "reducescatter_large",
    "inscan_small",
    "inscan_large",
    "exscan_small",
    "exscan_large",
    "fcollect_small",
    "fcollect_large",
    "collect_small",
    "collect_large",
    "alltoall_small",
    "alltoall_large",
    "alltoalls_small",
    "alltoalls_large",
    "gather_small",
    "gather_large",
    "scatter_small",
    "scatter_large",
    "malloc",
    "free",
    "realloc",
    "buffer_register",
    "buffer_unregister",
    "team_split_strided",
    "team_split_2d",
    "team_init",
    "team_destroy",
    "signal_wait",
    "wait_until",
    "wait_until_all",
    "wait_until_all_vector",
    "wait_until_any",
    "wait_until_some",
    "stream_synchronize",
    "event_synchronize",
    "stream_fetch",
    "finalize",
];

/// Ways to end, and the exit status that they give.
const WAYS: [(&str, i32); 6] = [
    ("segfault", 128 + 11),
    ("exit", 0),
    ("exit3", 3),
    ("abort", 128 + 6),
    ("stop", WENT_ON),
    ("kill", KILLED),
];

/// One job: the PEs that die, how, and when.
#[derive(Clone, Copy, Debug)]
struct Fault {
    operation: &'static str,
    when: &'static str,
    how: &'static str,
    code: i32,
    victims: u32,
    n_pes: u32,
    /// How many PEs each host has, one host after the other; none for a job without mpirun.
    hosts: &'static [u32],
}

impl Fault {
    fn new(operation: &'static str, when: &'static str, way: (&'static str, i32)) -> Fault {
        Fault {
            operation,
            when,
            how: way.0,
            code: way.1,
            victims: 1,
            n_pes: 3,
            hosts: &[],
        }
    }

    /// The same under mpirun.
    fn on(self, hosts: &'static [u32]) -> Fault {
        Fault {
            n_pes: hosts.iter().sum(),
            hosts,
            ..self
        }
    }

    /// Whether there is anything to be in the middle of: a wait for a value, or the one finalize, is called once.
    fn repeats(operation: &str) -> bool {
        !operation.starts_with("wait_until") && !matches!(operation, "signal_wait" | "finalize")
    }

    /// The words of `programs/fault.c`; the victims write the moment of their end to the file.
    fn words(&self, moment: &Path) -> [OsString; 5] {
        let words = [self.operation, self.when, self.how].map(OsString::from);
        let [operation, when, how] = words;
        [
            operation,
            when,
            how,
            self.victims.to_string().into(),
            moment.into(),
        ]
    }

    fn is_victim(&self, pe: u32) -> bool {
        (1..=self.victims).contains(&pe)
    }

    /// In init the last PE only keeps the others waiting.
    fn is_absent(&self, pe: u32) -> bool {
        self.operation == "init" && pe == self.n_pes - 1
    }

    /// Checks the output of a survivor; returns the milliseconds until it knew.
    fn judge(&self, pe: u32, output: &Output) -> f64 {
        let describe = || format!("{self:?}, PE {pe}\n{}", output.describe());
        let came = came(output, &format!("PE {pe}: "));
        let expected = match (self.operation, self.how) {
            ("init", _) => BOOTSTRAP,
            (_, "stop") => PE_STOPPED,
            _ => PE_DIED,
        };
        assert_eq!(came.status, expected, "{}", describe());
        let named = (1..=self.victims).any(|victim| {
            came.text.contains(&format!("PE {victim} (pid "))
                || (self.operation == "init" && came.text.contains(&format!("PE {victim} ended")))
        });
        assert!(named, "the PE is not named: {}", describe());
        assert!(came.after >= 0.0, "before the end: {}", describe());
        came.after
    }

    /// Runs the job; the milliseconds until each survivor knew.
    fn run(self) -> Vec<f64> {
        let moment = tempfile::NamedTempFile::new().expect("a temporary file");
        if !self.hosts.is_empty() {
            return self.run_on_hosts(moment.path());
        }
        let job = job::start(compiled!("fault.c"), self.n_pes, |_, command| {
            command.args(self.words(moment.path()));
            // So that a stop is told as soon as a death, with time to spare.
            command.env("NVSHMEMRS_STOP_TIMEOUT", "0.5");
        });
        let mut victims = Vec::new();
        let mut times = Vec::new();
        for (pe, running) in (0..).zip(job) {
            if self.is_victim(pe) || self.is_absent(pe) {
                victims.push((pe, running));
                continue;
            }
            let output = running.wait(HANG);
            let describe = || format!("{self:?}, PE {pe}\n{}", output.describe());
            assert_eq!(output.code(), 0, "{}", describe());
            assert_eq!(output.stderr, "", "{}", describe());
            times.push(self.judge(pe, &output));
        }
        for (pe, running) in victims {
            if self.how == "stop" {
                running.signal(Signal::CONT);
            }
            if self.is_absent(pe) {
                running.signal(Signal::KILL);
                running.wait(HANG).assert_code(KILLED);
            } else {
                running.wait(HANG).assert_code(self.code);
            }
        }
        times
    }

    /// The same under mpirun, which would end the survivors before they have said anything, and must not.
    fn run_on_hosts(self, moment: &Path) -> Vec<f64> {
        let names = ["a", "b", "c"].into_iter();
        let hosts: Vec<_> = names
            .zip(self.hosts)
            .map(|(name, &n)| host(name, n))
            .collect();
        let program = compiled!("fault.c").into();
        let words: Vec<OsString> = [program].into_iter().chain(self.words(moment)).collect();
        let mut command = mpirun(&["--enable-recovery"], &hosts, &words);
        command.env("NVSHMEMRS_STOP_TIMEOUT", "0.5");
        // No error of a survivor comes from this limit.
        command.env("NVSHMEMRS_TIMEOUT", "600");
        let survivors = || (0..self.n_pes).filter(|&pe| !self.is_victim(pe));
        let checked =
            |text: &str| survivors().all(|pe| text.contains(&format!("PE {pe}: all checked\n")));
        let mut running = spawn(&mut command);
        let text = running.until("end of all survivors", |running| {
            let text = running.stdout();
            checked(&text).then_some(text)
        });
        if self.how == "stop" {
            for victim in 1..=self.victims {
                // Its own host knows its pid.
                let start = format!("PE {victim} (pid ");
                let places = text.split(&start).skip(1);
                let pid = |rest: &str| rest.split(')').next()?.parse().ok().and_then(Pid::from_raw);
                let pid = places.filter_map(pid).next().expect("its pid is said");
                kill_process(pid, Signal::CONT).expect("it is stopped");
            }
        }
        let output = running.wait(HANG);
        survivors().map(|pe| self.judge(pe, &output)).collect()
    }

    /// Milliseconds from the end of the victims to the errors, at most. Across hosts it takes the 4 s of silence and the machine's delays;
    /// this is only to be less than any other limit.
    fn promised(&self) -> f64 {
        match self.hosts {
            [] => NOTICED,
            _ => 60_000.0,
        }
    }

    /// As [`run`](Fault::run); the longest of the times.
    fn slowest(self) -> f64 {
        self.run().into_iter().fold(0.0, f64::max)
    }
}

/// Runs all jobs, some at a time, and prints the worst time. A death noticed later than promised may be late because of other jobs: the job
/// runs again, alone, unless it was later than other jobs can make it.
fn run_all(title: &str, faults: &[Fault]) {
    let before = Leftovers::now();
    let (next, worst) = (AtomicUsize::new(0), Mutex::new((0.0, None)));
    let (failed, late) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(&fault) = faults.get(next.fetch_add(1, Relaxed)) {
                    match std::panic::catch_unwind(|| fault.slowest()) {
                        Ok(slowest) if slowest > NOTICED_NEVER.max(fault.promised()) => {
                            let mut failed = failed.lock().expect("no panic under the lock");
                            failed.push(format!("{fault:?}: noticed after {slowest:.0} ms"));
                        }
                        Ok(slowest) if slowest > fault.promised() => {
                            let mut late = late.lock().expect("no panic under the lock");
                            late.push((fault, slowest));
                        }
                        Ok(slowest) => {
                            let mut worst = worst.lock().expect("no panic under the lock");
                            if slowest > worst.0 {
                                *worst = (slowest, Some(fault));
                            }
                        }
                        Err(panic) => {
                            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                            let mut failed = failed.lock().expect("no panic under the lock");
                            failed.push(format!("{fault:?}: {text}"));
                        }
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no panic under the lock");
    for (fault, among) in late.into_inner().expect("no panic under the lock") {
        let alone = fault.slowest();
        let text = format!(
            "{fault:?}: noticed after {among:.0} ms beside other jobs, after {alone:.0} ms alone; promised are {:.0} ms",
            fault.promised()
        );
        println!("{text}");
        if alone > fault.promised() {
            failed.push(text);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        faults.len(),
        failed.join("\n")
    );
    let (slowest, fault) = worst.into_inner().expect("no panic under the lock");
    println!(
        "{title}: {} jobs; noticed within {slowest:.0} ms ({fault:?})",
        faults.len()
    );
    before.assert_none_new();
}

#[test]
fn killed_before_every_operation() {
    let kill = WAYS[5];
    let faults: Vec<Fault> = OPERATIONS
        .iter()
        .map(|operation| Fault::new(operation, "before", kill))
        .collect();
    run_all("killed while the others wait", &faults);
}

#[test]
fn killed_within_every_operation() {
    let kill = WAYS[5];
    let faults: Vec<Fault> = OPERATIONS
        .iter()
        .filter(|operation| Fault::repeats(operation))
        .map(|operation| Fault::new(operation, "within", kill))
        .collect();
    run_all("killed in the middle", &faults);
}

#[test]
fn every_other_way_to_end() {
    // Every way with some operations, every operation with some way, before and within.
    let mut faults = Vec::new();
    for (index, &operation) in OPERATIONS.iter().enumerate() {
        faults.push(Fault::new(operation, "before", WAYS[index % 5]));
        if Fault::repeats(operation) {
            faults.push(Fault::new(operation, "within", WAYS[(index + 2) % 5]));
        }
    }
    run_all("by other ways", &faults);
}

#[test]
fn two_at_once() {
    let two = |operation, when, way| Fault {
        victims: 2,
        n_pes: 4,
        ..Fault::new(operation, when, way)
    };
    let faults: Vec<Fault> = WAYS
        .iter()
        .flat_map(|&way| {
            [
                two("barrier", "before", way),
                two("collectives", "within", way),
            ]
        })
        .collect();
    run_all("two at once", &faults);
}

/// Every operation under mpirun: PE 1 has a PE beside it on a host. Every second one also where it is alone there, which takes the others
/// 4 s of silence to notice.
#[test]
fn on_several_hosts() {
    let mut faults = Vec::new();
    for (index, &operation) in OPERATIONS.iter().enumerate() {
        faults.push(Fault::new(operation, "before", WAYS[index % 6]).on(&[1, 2]));
        if index % 2 == 0 && Fault::repeats(operation) {
            // Of a host with one PE nobody can say that it is stopped.
            let ways = WAYS.iter().filter(|way| way.0 != "stop");
            let way = ways.cycle().nth(index / 2).expect("a way");
            faults.push(Fault::new(operation, "within", *way).on(&[1, 1, 1]));
        }
    }
    let two = |when, way| Fault {
        victims: 2,
        ..Fault::new("collectives", when, way).on(&[2, 1, 1])
    };
    faults.extend([two("before", WAYS[5]), two("within", WAYS[5])]);
    run_all("on several hosts", &faults);
}

#[test]
fn while_the_job_comes_together() {
    let init = |way| Fault {
        n_pes: 4,
        ..Fault::new("init", "within", way)
    };
    // A PE that is stopped in init is missed when init's own limit has passed, which is another test's matter.
    let ways = WAYS.iter().filter(|way| way.0 != "stop");
    let faults: Vec<Fault> = ways.map(|&way| init(way)).collect();
    run_all("in init", &faults);
}

/// The median over nine jobs, one at a time.
fn half_noticed() -> Duration {
    let mut times: Vec<f64> = (0..9)
        .flat_map(|_| Fault::new("barrier", "before", ("kill", KILLED)).run())
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!(
        "a death was noticed within {:.0} to {:.0} ms, half of the times within {median:.0} ms",
        times[0],
        times[times.len() - 1],
    );
    assert!(median < NOTICED, "{times:?}");
    Duration::from_secs_f64(median / 1000.0)
}

#[test]
fn death_is_noticed_soon() {
    promise::kept(NOTICED_IDLE, half_noticed);
}
