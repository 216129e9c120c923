//! Jobs of threads that end badly, again and again, leave no thread, no descriptor and no mapping in the process. A test program of its own,
//! because it counts objects of the whole process.

use nvshmemrs::{Result, Runtime, Team, local};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;
/// Threads that were let go may take a moment.
const SOON: Duration = Duration::from_secs(20);

/// Threads, descriptors, mappings of the job's memory.
fn held() -> [usize; 3] {
    let count = |folder: &str| fs::read_dir(folder).map_or(0, Iterator::count);
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let ours = maps.lines().filter(|line| line.contains("nvshmemrs"));
    [
        count("/proc/self/task"),
        count("/proc/self/fd"),
        ours.count(),
    ]
}

/// PE 1 ends in the way of the round while PE 0 waits for it; both have streams, with work that will never be done.
fn end_badly(rt: Runtime, round: usize) -> Result<()> {
    let array = rt.array::<u64>(100)?;
    let (stream, event) = (rt.stream()?, rt.event()?);
    stream.submit(|rt| rt.barrier(Team::NODE))?;
    event.record(&stream)?;
    rt.barrier(Team::WORLD)?;
    if rt.my_pe() == 0 {
        assert_eq!(rt.barrier(Team::WORLD).unwrap_err().status(), 15);
        return match round % 2 {
            0 => Ok(()),
            _ => rt.finalize(),
        };
    }
    match round % 4 {
        // Everything is dropped, in this order or the other way round.
        0 => drop((stream, event, array, rt)),
        1 => drop((rt, array, event, stream)),
        2 => std::panic::resume_unwind(Box::new("on purpose")),
        _ => {
            stream.stop();
            drop(rt);
        }
    }
    Ok(())
}

#[test]
fn jobs_that_end_badly_leave_nothing() {
    let mut before = None;
    for round in 0..ROUNDS {
        if round == 20 {
            thread::sleep(Duration::from_millis(100));
            before = Some(held());
        }
        let job = || local::run(2, |rt| end_badly(rt, round));
        let ended = catch_unwind(AssertUnwindSafe(job));
        assert_eq!(ended.is_err(), round % 4 == 2, "round {round}");
    }
    let (before, start) = (before.expect("more rounds than that"), Instant::now());
    let grown = |now: [usize; 3]| now.iter().zip(before).any(|(now, before)| *now > before);
    while grown(held()) && start.elapsed() < SOON {
        thread::sleep(Duration::from_millis(20));
    }
    let now = held();
    assert!(
        !grown(now),
        "threads, descriptors, mappings: {before:?} before, {now:?} after"
    );
    println!("{ROUNDS} rounds: threads, descriptors, mappings {before:?} -> {now:?}");
}
