//! The cost of tracking: `cargo test --release -p nvshmemrs --lib tracker::tests::speed -- --ignored --nocapture`.

use super::*;
use std::hint::black_box;

/// The time that this thread has run.
fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Prints the time of one call, the best of many rounds of `count`.
fn time(what: &str, count: u64, mut body: impl FnMut(u64)) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..30 {
        let start = now();
        (0..count).for_each(&mut body);
        best = best.min((now() - start) / count as f64);
    }
    println!("{what:<44} {best:>12.1} ns");
    best
}

#[test]
#[ignore = "prints times, asserts nothing"]
fn costs() {
    job!(job: a, b, _, _);
    let tracker = a.tracker();
    for at in [a, b] {
        at.allocated(0, 1 << 21);
    }
    let n = 20_000;
    let many = 1000;
    time("load of 8 bytes, the same", n, |_| {
        tracker.access(Kind::Load, 0, DATA, 8, 1);
    });
    time("load of 8 bytes, of 32 KiB", n, |i| {
        tracker.access(Kind::Load, 0, i % 4096 * 8, 8, 1);
    });
    time("load of 64 bytes", n, |i| {
        tracker.access(Kind::Load, 0, i % 512 * 64, 64, 1);
    });
    time("put of 8 bytes: access", n, |i| {
        tracker.access(Kind::Put, 1, i % 4096 * 8, 8, 2);
    });
    time("put of 8 bytes: access, release, delivered", n, |i| {
        let offset = i % 4096 * 8;
        tracker.access(Kind::Put, 1, offset, 8, 2);
        let stamp = tracker.release(1, offset, false);
        black_box(tracker.delivered(1, offset, 8, stamp));
    });
    time("the same, from symmetric memory", n, |i| {
        let offset = i % 4096 * 8;
        tracker.access(Kind::Load, 0, offset, 8, 2);
        tracker.access(Kind::Put, 1, offset, 8, 2);
        let stamp = tracker.release(1, offset, false);
        black_box(tracker.delivered(1, offset, 8, stamp));
    });
    time("fence", n, |_| tracker.fence());
    time("quiet", n, |_| tracker.quiet());
    time("signal", n, |_| a.signal(1, FLAG, Effect::Add(1)));
    time("fetch_add", n, |_| {
        a.fetch_add(1, OTHER, 1);
    });
    time("signal and wait, there and back", many, |i| {
        let value = i + 1;
        a.signal(1, FLAG, Effect::Set(value));
        b.wait(FLAG, Cmp::Eq, value);
        b.signal(0, FLAG, Effect::Set(value));
        a.wait(FLAG, Cmp::Eq, value);
    });
    time("barrier of 4 PEs, all of it", many, |_| job.barrier());
    let bytes = 2 << 20;
    let (source, mut dest) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    let copy = time("2 MiB: copy", 5, |_| {
        dest.copy_from_slice(black_box(&source));
        black_box(&mut dest);
    });
    for (what, kind) in [("put", Kind::Put), ("get", Kind::Get)] {
        let checked = time(&format!("2 MiB: {what}"), 5, |_| {
            tracker.access(kind, 1, 0, bytes as u64, 3);
            let stamp = tracker.release(1, 0, false);
            tracker.delivered(1, 0, bytes as u64, stamp);
            tracker.quiet();
        });
        println!("{:>57.1} copies", checked / copy);
    }
    job.barrier();
    let checked = time("2 MiB: load of another PE's put", 5, |_| {
        b.tracker().access(Kind::Load, 1, 0, bytes as u64, 4);
    });
    println!("{:>57.1} copies", checked / copy);
}
