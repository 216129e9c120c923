//! One PE of the soak test, for `cargo xtask soak`: rounds of operations drawn by lot, each result checked, until the time is up. All PEs
//! draw the same from the seed, so a seed reproduces the operations.
//!
//! Arguments: SECONDS SEED FOLDER. Writes FOLDER/pe-N.json, also after a failure, which it reports with the seed and the round.

mod draw;
mod memory;
mod sample;
mod work;

use draw::Lot;
use memory::Memory;
use nvshmemrs::{Result, Runtime, Team};
use nvshmemrs_suite::Tally;
use nvshmemrs_tests::lock;
use sample::Sample;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use work::{Place, Work};

/// So often everything is given back, and the heap must be empty.
const EMPTY_EVERY: u64 = 50;
/// The interval at which a PE that holds no task samples its resources.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The arguments of the command line.
struct Arguments {
    time: Duration,
    seed: u64,
    folder: PathBuf,
}

impl Arguments {
    fn read() -> Option<Arguments> {
        let mut words = std::env::args().skip(1);
        let seconds: f64 = words.next()?.parse().ok()?;
        Some(Arguments {
            time: Duration::try_from_secs_f64(seconds).ok()?,
            seed: words.next()?.parse().ok()?,
            folder: words.next()?.into(),
        })
    }
}

/// How far a PE has come.
#[derive(Default)]
struct Progress {
    round: AtomicU64,
    tally: Mutex<Tally>,
    samples: Mutex<Vec<Sample>>,
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::read() else {
        eprintln!("soak: arguments: SECONDS SEED FOLDER");
        return ExitCode::from(2);
    };
    let rt = match Runtime::init() {
        Ok(rt) => rt,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (me, progress) = (rt.my_pe(), Progress::default());
    let ended = catch_unwind(AssertUnwindSafe(|| soak(rt, &arguments, &progress)));
    let written = write(&arguments.folder, me, &progress);
    let why = match ended {
        Ok(Ok(())) => match written {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => format!("cannot write to {}: {error}", arguments.folder.display()),
        },
        Ok(Err(error)) => error.to_string(),
        // Its text has been printed.
        Err(_) => "a check failed".to_string(),
    };
    eprintln!(
        "soak: PE {me}, round {} of seed {}: {why}",
        progress.round.load(Relaxed),
        arguments.seed
    );
    ExitCode::FAILURE
}

/// All rounds.
fn soak(rt: Runtime, arguments: &Arguments, progress: &Progress) -> Result<()> {
    let start = Instant::now();
    let (stop, stopped) = mpsc::channel();
    std::thread::scope(|scope| {
        let rt = &rt;
        scope.spawn(move || {
            sample::watch(&stopped, || {
                let sample = Sample::now(rt, start, progress.round.load(Relaxed), false);
                lock(&progress.samples).push(sample);
            });
        });
        // Dropped at the end, also by a panic.
        let _stop = stop;
        rounds(rt, arguments, start, progress)
    })?;
    rt.finalize()
}

fn rounds(rt: &Runtime, arguments: &Arguments, start: Instant, progress: &Progress) -> Result<()> {
    let go_on = rt.array::<u64>(1)?;
    let mut places = [Place::new(rt)?, Place::new(rt)?];
    let lasting = rt.heap_stats().allocations;
    let mut memory = Memory::new(arguments.seed, rt.my_pe());
    let mut work = Work {
        rt,
        own: Lot::of_pe(arguments.seed, rt.my_pe()),
        dropped: Vec::new(),
        round: 0,
    };
    let mut seen = None;
    for round in 0.. {
        work.round = round;
        progress.round.store(round, Relaxed);
        let mut tally = Tally::new();
        let mut lot = Lot::of_round(arguments.seed, round);
        match lot.below(20) {
            0..=8 => work::one_team(&mut work, &mut places[0], &mut lot, &mut tally)?,
            9 | 10 => work::two_threads(&mut work, &mut places, &mut lot, &mut tally)?,
            11..=13 => work::single_words(&mut work, &places[1], &mut lot, &mut tally)?,
            14 => work::additions(&mut work, &mut lot, &mut tally)?,
            _ => {
                for _ in 0..lot.between(1, 6) {
                    memory.step(rt, &mut lot, &mut tally)?;
                }
            }
        }
        // PE 0 has the clock.
        go_on.store(0, (start.elapsed() < arguments.time).into())?;
        rt.broadcast_array(Team::WORLD, &go_on.all(), &go_on.all(), 0)?;
        let over = go_on.load(0)? == 0;
        if over || round % EMPTY_EVERY == EMPTY_EVERY - 1 {
            work.dropped.clear();
            memory.empty(rt, lasting, &mut tally)?;
            rt.barrier_all()?;
            if over || seen.is_none_or(|seen: Instant| seen.elapsed() > LOOK_EVERY) {
                seen = Some(Instant::now());
                let sample = Sample::now(rt, start, round, true);
                lock(&progress.samples).push(sample);
            }
            // Nobody makes anything new before all have looked.
            rt.barrier_all()?;
        }
        let mut all = lock(&progress.tally);
        for (name, checks) in tally {
            *all.entry(name).or_default() += checks;
        }
        if over {
            break;
        }
    }
    Ok(())
}

/// Writes the counts of checks and the samples for `cargo xtask soak`.
fn write(folder: &Path, me: i32, progress: &Progress) -> std::io::Result<()> {
    let tally = lock(&progress.tally);
    let samples = lock(&progress.samples);
    let checks: Vec<String> = tally
        .iter()
        .map(|(name, count)| format!("\"{name}\":{count}"))
        .collect();
    let samples: Vec<String> = samples.iter().map(Sample::json).collect();
    let text = format!(
        "{{\"pe\":{me},\"rounds\":{},\"checks\":{{{}}},\"samples\":[\n{}\n]}}\n",
        progress.round.load(Relaxed) + 1,
        checks.join(","),
        samples.join(",\n")
    );
    std::fs::write(folder.join(format!("pe-{me}.json")), text)
}
