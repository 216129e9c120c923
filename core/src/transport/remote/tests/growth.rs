//! How many messages operations take as the hosts become more. All of it is the library's own code but for the wire, which is in memory
//! and counts everything. PEs have no network thread here, so there are no signs of life among what is counted.
//!
//! `docs/perf/hosts-growth.md` has what the test prints.

use super::{Pretended, run};
use crate::{InitAttr, Op, Request, Runtime, Team};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

/// The operations, and how often the PEs meet in each.
const OPERATIONS: [(&str, u64); 7] = [
    ("init", 1),
    ("barrier", 1),
    ("sum of 1", 1),
    ("malloc", 2),
    ("free", 1),
    ("team split", 2),
    ("finalize", 1),
];
/// Bytes of marks that a message has before another one is begun.
const FULL: u64 = 1500;

/// Messages and bytes that each host sends in each operation, by its name.
fn per_host(hosts: usize, pes: usize, times: u64) -> BTreeMap<&'static str, (f64, f64)> {
    let all = (0..hosts * pes).map(|pe| pe / pes).collect();
    let pretended = Pretended::on(all, false).unattended();
    let hub = pretended.hub.clone();
    let seen = Mutex::new(BTreeMap::new());
    let attr = InitAttr {
        heap_bytes: Some(2 << 20),
        // Threads of a thousand hosts share the cores.
        init_timeout: Some(Duration::from_secs(3600)),
        ..InitAttr::default()
    };
    let together = Barrier::new(hosts * pes);
    let last = Mutex::new((0, 0));
    // Nothing is under way while PE 0 counts.
    let count = |me: i32, name: &'static str, times: u64| {
        together.wait();
        if me == 0 {
            let now = (hub.messages.load(Relaxed), hub.bytes.load(Relaxed));
            let before = std::mem::replace(&mut *last.lock().unwrap(), now);
            let part =
                |now: u64, before: u64| (now - before) as f64 / (times * hosts as u64) as f64;
            let counts = (part(now.0, before.0), part(now.1, before.1));
            seen.lock().unwrap().insert(name, counts);
        }
        together.wait();
    };
    run(pretended, &attr, |rt: Runtime| {
        let me = rt.my_pe();
        count(me, "init", 1);
        let word = rt.array::<i64>(2)?;
        let (to, from) = (word.slice(0..1)?, word.slice(1..2)?);
        rt.barrier_all()?;
        count(me, "array", 1);
        let each = |name: &'static str, operation: &mut dyn FnMut() -> crate::Result<()>| {
            for _ in 0..times {
                operation()?;
            }
            count(me, name, times);
            Ok::<(), crate::Error>(())
        };
        each("barrier", &mut || rt.barrier_all())?;
        each("sum of 1", &mut || {
            rt.reduce_array(Team::WORLD, &to, &from, Op::Sum)
        })?;
        let mut blocks = Vec::new();
        each("malloc", &mut || {
            blocks.push(rt.malloc(Ok(Request::bytes(64)))?.unwrap());
            Ok(())
        })?;
        each("free", &mut || rt.free(blocks.pop().unwrap()))?;
        let n_pes = rt.n_pes();
        each("team split", &mut || {
            rt.team_split_strided(Team::WORLD, 0, 1, n_pes, Ok(Default::default()))
                .map(drop)
        })?;
        drop(word);
        count(me, "rest", 1);
        rt.finalize()?;
        count(me, "finalize", 1);
        Ok(())
    });
    seen.into_inner().unwrap()
}

/// Counts, prints a row of the page for each operation, and fails if something takes more than log2(hosts) rounds of one message per host.
fn grow(all: &[(usize, usize, u64)]) {
    println!("| operation | hosts | PEs of each | rounds | messages per host | bytes per host |");
    println!("|---|---:|---:|---:|---:|---:|");
    for &(hosts, pes, times) in all {
        let seen = per_host(hosts, pes, times);
        let rounds = u64::from(hosts.next_power_of_two().trailing_zeros());
        for (name, meetings) in OPERATIONS {
            let (messages, bytes) = seen[name];
            let rounds = rounds * meetings;
            println!("| {name} | {hosts} | {pes} | {rounds} | {messages:.1} | {bytes:.0} |");
            // What is long goes in several messages.
            let most = rounds as f64 + bytes / FULL as f64;
            assert!(messages <= most, "{name} on {hosts} hosts: {messages}");
            assert!(messages > 0.0, "{name} on {hosts} hosts is not counted");
        }
    }
}

#[test]
fn operations_take_a_message_per_host_and_round() {
    grow(&[(2, 2, 8), (5, 1, 8), (16, 2, 4), (48, 1, 2)]);
}

/// It takes some minutes and 16 GiB of memory.
#[test]
#[ignore = "takes minutes and many GiB; docs/perf/hosts-growth.md has its output"]
fn up_to_1024_hosts() {
    let all: Vec<_> = (1..=10).map(|power| (1 << power, 1, 2)).collect();
    grow(&all);
}
