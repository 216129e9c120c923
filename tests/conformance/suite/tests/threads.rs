//! The table-driven suite with PEs as threads.

use nvshmemrs::{Pe, local};
use nvshmemrs_suite::{NAMES, Sizes, Tally};
use std::sync::Mutex;
use std::time::Instant;

/// Runs the suite with `n` PEs; every scenario must have been checked.
fn threads(n: Pe, sizes: Sizes) {
    let start = Instant::now();
    let all = Mutex::new(Tally::new());
    local::run(n, |rt| {
        let tally = nvshmemrs_suite::run(&rt, sizes)?;
        rt.finalize()?;
        let mut all = all.lock().expect("no PE has panicked");
        for (name, checks) in tally {
            *all.entry(name).or_default() += checks;
        }
        Ok(())
    })
    .unwrap();
    let all = all.into_inner().expect("no PE has panicked");
    for name in NAMES {
        assert!(
            all.contains_key(name),
            "{name} was never checked with {n} PEs"
        );
    }
    let checks: u64 = all.values().sum();
    println!(
        "{n} PEs as threads: {checks} checks in {:.1?}",
        start.elapsed()
    );
}

#[test]
fn one_pe() {
    threads(1, Sizes::All);
}

#[test]
fn two_pes() {
    threads(2, Sizes::All);
}

#[test]
fn three_pes() {
    threads(3, Sizes::All);
}

#[test]
fn four_pes() {
    threads(4, Sizes::All);
}

/// More teams of every shape; four PEs have all sizes.
#[test]
fn eight_pes() {
    threads(8, Sizes::Few);
}
