//! The number of messages of operations for growing numbers of hosts. Only the wire is not the library's own: it is in memory and counts
//! all messages. PEs have no progress thread here, so heartbeats are not counted.
//!
//! `docs/perf/hosts-growth.md` has the output of the test.

use super::{Pretended, run};
use crate::{InitAttr, Op, Pe, Request, Result, Runtime, SymArray, Team, TeamConfig};
use std::collections::BTreeMap;
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
/// A `team_init` of two PEs, and a barrier.
const JOIN: &str = "team_init of two, and a barrier";
/// Bytes of marks that a message has before another one is begun.
const FULL: u64 = 1500;

/// The traffic of an operation: messages and bytes of a host on average, and of the host that sends most.
#[derive(Clone, Copy, Default)]
struct Sent {
    messages: f64,
    bytes: f64,
    most_messages: f64,
    most: f64,
}

/// Counts the traffic of hosts.
struct Counter {
    pretended: Pretended,
    pes: usize,
    together: Barrier,
    last: Mutex<Vec<[u64; 2]>>,
    seen: Mutex<BTreeMap<&'static str, Sent>>,
}

impl Counter {
    fn new(hosts: usize, pes: usize) -> Counter {
        let all = (0..hosts * pes).map(|pe| pe / pes).collect();
        Counter {
            pretended: Pretended::on(all, false).unattended(),
            pes,
            together: Barrier::new(hosts * pes),
            last: Mutex::new(vec![[0; 2]; hosts]),
            seen: Mutex::default(),
        }
    }

    /// The traffic since the last call, for an operation that was performed so many times. All PEs call it.
    fn count(&self, me: Pe, name: &'static str, times: u64) {
        // Nothing is under way while PE 0 counts.
        self.together.wait();
        if me == 0 {
            let mut last = self.last.lock().unwrap();
            let mut sums = Sent::default();
            for (host, before) in last.iter_mut().enumerate() {
                let of = |pe| self.pretended.hub.sent((host * self.pes + pe) as Pe);
                let add = |sum: [u64; 2], pe| [0, 1].map(|at| sum[at] + of(pe)[at]);
                let now = (0..self.pes).fold([0; 2], add);
                let [messages, bytes] =
                    [0, 1].map(|at| (now[at] - before[at]) as f64 / times as f64);
                *before = now;
                sums.messages += messages;
                sums.bytes += bytes;
                sums.most_messages = sums.most_messages.max(messages);
                sums.most = sums.most.max(bytes);
            }
            let hosts = last.len() as f64;
            sums.messages /= hosts;
            sums.bytes /= hosts;
            self.seen.lock().unwrap().insert(name, sums);
        }
        self.together.wait();
    }

    /// Runs `body` as each PE, and returns the counts.
    fn run(
        self,
        heap_bytes: u64,
        body: impl Fn(&Counter, Runtime) -> Result<()> + Sync,
    ) -> BTreeMap<&'static str, Sent> {
        let attr = InitAttr {
            heap_bytes: Some(heap_bytes),
            // Threads of a thousand hosts share the cores.
            init_timeout: Some(Duration::from_secs(3600)),
            ..InitAttr::default()
        };
        run(self.pretended.clone(), &attr, |rt| body(&self, rt));
        self.seen.into_inner().unwrap()
    }
}

/// The traffic of each host in each operation, by its name.
fn per_host(hosts: usize, pes: usize, times: u64) -> BTreeMap<&'static str, Sent> {
    Counter::new(hosts, pes).run(2 << 20, |counter, rt| {
        let me = rt.my_pe();
        counter.count(me, "init", 1);
        let word = rt.array::<i64>(2)?;
        let (to, from) = (word.slice(0..1)?, word.slice(1..2)?);
        rt.barrier_all()?;
        counter.count(me, "array", 1);
        let each = |name: &'static str, operation: &mut dyn FnMut() -> Result<()>| {
            for _ in 0..times {
                operation()?;
            }
            counter.count(me, name, times);
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
        counter.count(me, "splits", 1);
        // Two PEs that share nothing but a number. The others are in a barrier: waiting PEs make progress.
        if [0, n_pes - 1].contains(&me) {
            let config = TeamConfig {
                unique_id: 77,
                ..TeamConfig::default()
            };
            rt.team_init(config, 2, (me > 0).into())?;
        }
        rt.barrier_all()?;
        counter.count(me, JOIN, 1);
        drop(word);
        rt.barrier_all()?;
        counter.count(me, "rest", 1);
        rt.finalize()?;
        counter.count(me, "finalize", 1);
        Ok(())
    })
}

/// Counts, prints a row of the page for each operation, and fails if something takes more than log2(hosts) rounds of one message per host.
fn grow(all: &[(usize, usize, u64)]) {
    println!("| operation | hosts | PEs of each | rounds | messages per host | bytes per host |");
    println!("|---|---:|---:|---:|---:|---:|");
    for &(hosts, pes, times) in all {
        let seen = per_host(hosts, pes, times);
        let rounds = u64::from(hosts.next_power_of_two().trailing_zeros());
        for (name, meetings) in OPERATIONS {
            let Sent {
                messages, bytes, ..
            } = seen[name];
            let rounds = rounds * meetings;
            println!("| {name} | {hosts} | {pes} | {rounds} | {messages:.1} | {bytes:.0} |");
            // Long data goes in several messages.
            let most = rounds as f64 + bytes / FULL as f64;
            assert!(messages <= most, "{name} on {hosts} hosts: {messages}");
            assert!(messages > 0.0, "{name} on {hosts} hosts is not counted");
        }
        // Each of both forwards it three times, to as many hosts as there are rounds, and a host may forward the messages of both.
        let (most, rounds) = (seen[JOIN].most_messages, rounds as f64);
        println!("| {JOIN}, by one host | {hosts} | {pes} | {rounds} | {most:.0} | |");
        assert!(most <= 7.0 * rounds + 4.0, "{most} on {hosts} hosts");
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

/// Bytes of a broadcast or a reduction, and of the block of a member in the other collectives.
const WHOLE: usize = 256 << 10;
const BLOCK: usize = 16 << 10;

/// The traffic of each host in collectives of large data.
fn data_per_host(hosts: usize, pes: usize) -> BTreeMap<&'static str, Sent> {
    let all = hosts * pes * BLOCK;
    let heap = (4 * (all.max(WHOLE)) as u64 + (2 << 20)).next_power_of_two();
    Counter::new(hosts, pes).run(heap, |counter, rt| {
        let me = rt.my_pe();
        let (to, from) = (
            rt.array::<i64>(all.max(WHOLE) / 8)?,
            rt.array::<i64>(all.max(WHOLE) / 8)?,
        );
        let (floats_to, floats_from) = (rt.array::<f32>(WHOLE / 4)?, rt.array::<f32>(WHOLE / 4)?);
        let part = |array: &SymArray<i64>, bytes: usize| {
            array.slice(0..bytes / 8).map(|part| part.range())
        };
        let (to_all, from_all, block) = (part(&to, all)?, part(&from, all)?, part(&from, BLOCK)?);
        rt.barrier_all()?;
        counter.count(me, "arrays", 1);
        let whole = (part(&to, WHOLE)?, part(&from, WHOLE)?);
        rt.broadcast(Team::WORLD, whole.0, whole.1, WHOLE, 0)?;
        counter.count(me, "broadcast", 1);
        rt.fcollect(Team::WORLD, to_all, block, BLOCK)?;
        counter.count(me, "fcollect", 1);
        rt.collect(Team::WORLD, to_all, block, BLOCK)?;
        counter.count(me, "collect", 1);
        rt.alltoall(Team::WORLD, to_all, from_all, BLOCK)?;
        counter.count(me, "alltoall", 1);
        rt.gather(Team::WORLD, to_all, block, BLOCK, 0)?;
        counter.count(me, "gather", 1);
        rt.scatter(Team::WORLD, part(&to, BLOCK)?, from_all, BLOCK, 0)?;
        counter.count(me, "scatter", 1);
        rt.reduce_array(
            Team::WORLD,
            &floats_to.slice(..)?,
            &floats_from.slice(..)?,
            Op::Sum,
        )?;
        counter.count(me, "reduce", 1);
        let (to_whole, from_whole) = (to.slice(0..WHOLE / 8)?, from.slice(0..WHOLE / 8)?);
        rt.reduce_array(Team::WORLD, &to_whole, &from_whole, Op::Sum)?;
        counter.count(me, "reduce of integers", 1);
        let (to_part, from_all) = (to.slice(0..BLOCK / 8)?, from.slice(0..all / 8)?);
        rt.reducescatter_array(Team::WORLD, &to_part, &from_all, Op::Sum)?;
        counter.count(me, "reducescatter", 1);
        rt.finalize()
    })
}

/// Counts, prints a row of the page for each collective, and fails if a host sends more than the data that crosses to each other host once.
#[test]
fn data_of_collectives_crosses_to_each_host_once() {
    println!(
        "| collective | hosts | PEs of each | messages per host | bytes per host | most of one |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (hosts, pes) in [(2, 4), (4, 4), (8, 4), (16, 4)] {
        for (name, sent) in data_per_host(hosts, pes) {
            let others = hosts - 1;
            let data = match name {
                "broadcast" => WHOLE,
                "fcollect" | "collect" => pes * BLOCK * others,
                "gather" => pes * BLOCK,
                "scatter" => pes * BLOCK * others,
                // Each member has other data for each.
                "alltoall" => pes * pes * BLOCK * others,
                // A left fold needs the data of each member.
                "reducescatter" => pes * pes * BLOCK * others,
                // It needs the combined data of all members of a host.
                "reduce of integers" => 2 * WHOLE * others / hosts,
                "reduce" => (pes + 1) * WHOLE * others / hosts,
                _ => continue,
            };
            let Sent {
                messages,
                bytes,
                most,
                ..
            } = sent;
            println!("| {name} | {hosts} | {pes} | {messages:.1} | {bytes:.0} | {most:.0} |");
            // Beside the data there are the meetings, and the messages that announce data.
            let limit = data as f64 * 1.05 + 8192.0;
            assert!(most <= limit, "{name} on {hosts} hosts: {most} of {limit}");
        }
    }
}
