//! The cost of a look into a job: the time of a snapshot of PEs that wait in a barrier, and of a put of 8 bytes in a job that a process
//! looks at all the time and in a job without observers.
//!
//! ```text
//! cargo build --release
//! cargo run --release -p nvshmemrs-inspect --example inspect_cost [PES [SNAPSHOTS [SECONDS]]]
//! ```
//!
//! Without arguments: 64 PEs, 500 snapshots, and 10 times half a second of puts, in turns with an observer and without.

use nvshmemrs::{Runtime, Team};
use nvshmemrs_inspect::{Job, Snapshot, attach};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a job may take to come together, and PEs to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two snapshots.
const PAUSE: Duration = Duration::from_millis(10);
/// Puts in one measurement.
const BATCH: u32 = 10_000;
/// Turns with an observer, and as many without.
const TURNS: usize = 10;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["wait"] => wait(),
        ["put", seconds] => put(seconds),
        numbers => measure(numbers),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("inspect_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A PE of the job that is looked at: the last one is busy elsewhere, and the others wait for it.
fn wait() -> Result<()> {
    let rt = Runtime::init()?;
    while rt.my_pe() + 1 == rt.n_pes() {
        thread::sleep(PATIENCE);
    }
    Ok(rt.barrier(Team::WORLD)?)
}

/// A PE of the job whose puts are timed: PE 0 puts, PE 1 waits.
fn put(seconds: &str) -> Result<()> {
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let rt = Runtime::init()?;
    let array = rt.array::<u64>(1)?;
    rt.barrier(Team::WORLD)?;
    if rt.my_pe() == 0 {
        println!("ready");
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < limit {
            let batch = Instant::now();
            for value in 0..u64::from(BATCH) {
                rt.put(array.all(), &[value], 1)?;
            }
            times.push(batch.elapsed().as_nanos() as f64 / f64::from(BATCH));
        }
        let times = sorted(times);
        println!("{} {}", times[0], middle(&times));
    }
    rt.barrier(Team::WORLD)?;
    drop(array);
    Ok(rt.finalize()?)
}

/// A job of this program's, which ends with this value.
struct Started(Child);

impl Started {
    fn new(n_pes: usize, role: &[&str]) -> Result<Self> {
        let me = std::env::current_exe()?;
        let folder = me.ancestors().nth(2).ok_or("no folder of programs")?;
        let mut launcher = Command::new(folder.join("nvshmemrs-run"));
        launcher
            .args(["-n", &n_pes.to_string(), "--heap", "2m", "--"])
            .arg(&me)
            .args(role);
        launcher.stdin(Stdio::null()).stdout(Stdio::piped());
        if role == ["wait"] {
            // It is ended by a signal, of which the launcher would tell.
            launcher.stderr(Stdio::null());
        }
        Ok(Started(launcher.spawn()?))
    }

    /// The job, as soon as its PEs are together.
    fn found(&self) -> Result<Job> {
        let start = Instant::now();
        loop {
            match Job::of_process(self.0.id()) {
                Ok(job) => return Ok(job),
                Err(why) if start.elapsed() > PATIENCE => return Err(why.into()),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

fn measure(numbers: &[&str]) -> Result<()> {
    let number = |index: usize, default: f64| match numbers.get(index) {
        Some(word) => word.parse::<f64>(),
        None => Ok(default),
    };
    let (n_pes, snapshots, seconds) = (number(0, 64.0)?, number(1, 500.0)?, number(2, 0.5)?);
    look(n_pes as usize, snapshots as usize)?;
    puts(seconds)
}

/// Times snapshots of a job whose PEs, but one, wait in a barrier.
fn look(n_pes: usize, snapshots: usize) -> Result<()> {
    let started = Started::new(n_pes, &["wait"])?;
    let start = Instant::now();
    // The first one also looks for the file of each PE, and may find PEs in init.
    let job = loop {
        let job = attach(started.0.id());
        let seen = job.as_ref().map(|job| job.snapshot(1.0));
        match seen {
            Ok(Ok(seen)) if seen.waits.len() + 1 == n_pes && answered(&seen) == n_pes => {
                break job?;
            }
            _ if start.elapsed() > PATIENCE => return Err("the job does not come together".into()),
            _ => thread::sleep(PAUSE),
        }
    };
    let mut times = Vec::new();
    let mut own = Duration::ZERO;
    for _ in 0..snapshots.max(1) {
        thread::sleep(PAUSE);
        let before = cpu_time();
        let seen = job.snapshot(PATIENCE.as_secs_f64())?;
        own += cpu_time() - before;
        if answered(&seen) != n_pes {
            return Err("a PE has not answered".into());
        }
        times.push(seen.took * 1e3);
    }
    let own = own.as_secs_f64() * 1e3 / times.len() as f64;
    let times = sorted(times);
    println!(
        "{} snapshots of {n_pes} PEs: fastest {:.2} ms, median {:.2} ms, 9 of 10 within {:.2} ms; {own:.2} ms of this process's CPU time each",
        times.len(),
        times[0],
        middle(&times),
        times[(times.len() * 9 / 10).min(times.len() - 1)],
    );
    Ok(())
}

/// How many PEs have told of themselves for this snapshot.
fn answered(seen: &Snapshot) -> usize {
    let told = seen.pes.iter().filter_map(|pe| pe.details.as_ref());
    told.filter(|details| details.fresh).count()
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Times puts, in turns with an observer and without.
fn puts(seconds: f64) -> Result<()> {
    let mut bests = [Vec::new(), Vec::new()];
    let mut medians = [Vec::new(), Vec::new()];
    for turn in 0..2 * TURNS {
        let observed = turn % 2;
        let (best, median) = put_times(seconds, observed == 1)?;
        bests[observed].push(best);
        medians[observed].push(median);
    }
    for (which, observed) in ["without", "with"].into_iter().zip(0..) {
        let best = sorted(std::mem::take(&mut bests[observed]))[0];
        let median = middle(&sorted(std::mem::take(&mut medians[observed])));
        println!("8-byte put {which} an observer: fastest {best:.2} ns, median {median:.2} ns");
    }
    Ok(())
}

/// The fastest put, and the median of all batches, in a job of two PEs.
fn put_times(seconds: f64, observed: bool) -> Result<(f64, f64)> {
    let mut started = Started::new(2, &["put", &seconds.to_string()])?;
    let output = started.0.stdout.take().ok_or("no output")?;
    let mut lines = BufReader::new(output).lines();
    while lines.next().ok_or("the job has ended")?? != "ready" {}
    let job = started.found()?;
    let over = AtomicBool::new(!observed);
    let line = thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Relaxed) {
                // The job may have ended meanwhile, which is no error.
                let _ = job.snapshot(0.1);
                thread::sleep(PAUSE);
            }
        });
        let line = lines.next();
        over.store(true, Relaxed);
        line
    });
    let line = line.ok_or("the job has ended")??;
    let (best, median) = line.split_once(' ').ok_or("no times")?;
    if !started.0.wait()?.success() {
        return Err("the job has failed".into());
    }
    Ok((best.parse()?, median.parse()?))
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

fn middle(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
