//! How many messages collectives take as the hosts become more.

use super::{Pretended, run};
use crate::{InitAttr, Op, Request, Runtime, Team};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Barrier, Mutex};

const ROUNDS: u64 = 20;

/// Messages and bytes that each host sends in one of these operations.
fn per_host(
    hosts: usize,
    pes: usize,
    name: &str,
    each: impl Fn(&Runtime) -> crate::Result<()> + Sync,
) -> (f64, f64) {
    let all = (0..hosts * pes).map(|pe| pe / pes).collect();
    let pretended = Pretended::on(all, false);
    let hub = pretended.hub.clone();
    let seen = Mutex::new((0.0, 0.0));
    let attr = InitAttr {
        heap_bytes: Some(2 << 20),
        ..InitAttr::default()
    };
    let together = Barrier::new(hosts * pes);
    run(pretended, &attr, |rt| {
        // Nothing is under way while PE 0 counts.
        let count = || {
            together.wait();
            let count = (hub.messages.load(Relaxed), hub.bytes.load(Relaxed));
            together.wait();
            count
        };
        each(&rt)?;
        let before = count();
        for _ in 0..ROUNDS {
            each(&rt)?;
        }
        let after = count();
        if rt.my_pe() == 0 {
            let part =
                |after: u64, before: u64| (after - before) as f64 / ROUNDS as f64 / hosts as f64;
            *seen.lock().unwrap() = (part(after.0, before.0), part(after.1, before.1));
        }
        rt.finalize()
    });
    let seen = *seen.lock().unwrap();
    println!(
        "{name}, {hosts} hosts of {pes} PEs: {:.1} messages and {:.0} bytes per host",
        seen.0, seen.1
    );
    seen
}

/// A meeting takes log2(hosts) rounds, with a message per host in each.
#[test]
fn meetings_take_as_many_messages_per_host_as_there_are_rounds() {
    for (hosts, pes, rounds) in [(2, 2, 1.0), (5, 1, 3.0), (16, 2, 4.0), (64, 1, 6.0)] {
        let (barrier, _) = per_host(hosts, pes, "barrier", |rt| rt.barrier_all());
        // Letters that are written at the same moment leave in one message.
        let counts = |seen: f64, most: f64| seen <= most && seen > most * 0.9;
        assert!(counts(barrier, rounds), "{hosts}: {barrier}");
        let (sum, _) = per_host(hosts, pes, "malloc, sum of 1, free", |rt| {
            // To allocate takes two meetings.
            let address = rt.malloc(Ok(Request::bytes(64)))?.unwrap();
            let word = rt.elements::<i64>("word", address, 2)?;
            let (to, from) = (word.slice(0..1)?, word.slice(1..2)?);
            rt.reduce_array(Team::WORLD, &to, &from, Op::Sum)?;
            rt.free(address)
        });
        assert!(counts(sum, 4.0 * rounds), "{hosts}: {sum}");
    }
}
