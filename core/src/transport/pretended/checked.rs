//! Checked jobs on several hosts: the trackers are on the host of PE 0, whose PEs run those of the others.

use super::Pretended;
use crate::local::Job;
use crate::transport::net::message;
use crate::{Cmp, Error, InitAttr, Op, Result, Runtime, SignalOp, Team};
use std::sync::Mutex;

/// The places of the PEs: each has a PE that sends and a PE that receives on another host, on either side.
const HOSTS: [&[usize]; 3] = [&[0, 1], &[0, 0, 1, 1], &[0, 1, 2, 1]];

fn checked(seed: u64) -> InitAttr {
    InitAttr {
        heap_bytes: Some(4 << 20),
        check: Some(true),
        check_seed: Some(seed),
        ..InitAttr::default()
    }
}

/// Runs a checked job on these hosts; returns the findings of each PE, and the result of finalize.
fn reports(
    hosts: &[usize],
    seed: u64,
    body: impl Fn(&Runtime) -> Result<()> + Sync,
) -> Vec<(Vec<String>, Result<()>)> {
    let all = Mutex::new(Vec::new());
    let pretended = Pretended::on(hosts.to_vec(), true);
    let n_pes = hosts.len() as i32;
    let job = Job::new(n_pes, &checked(seed)).unwrap();
    let job = job.on(Some(pretended)).unwrap();
    super::on_threads(&job, n_pes, |rt| {
        body(&rt)?;
        let (found, texts) = rt.check_reports();
        assert!(found >= texts.len() as u64);
        let me = rt.my_pe();
        let result = rt.finalize();
        all.lock().unwrap().push((me, (texts, result)));
        Ok(())
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by_key(|(pe, _)| *pe);
    all.into_iter().map(|(_, one)| one).collect()
}

/// Nothing is found on any PE.
#[track_caller]
fn accepted(hosts: &[usize], body: impl Fn(&Runtime) -> Result<()> + Sync) {
    for seed in 1..3 {
        for (texts, result) in reports(hosts, seed, &body) {
            assert_eq!(texts, [""; 0], "{hosts:?}, seed {seed}");
            result.unwrap();
        }
    }
}

/// This is found, by some PE, with these words; and finalize fails on all.
#[track_caller]
fn found(hosts: &[usize], words: &[&str], body: impl Fn(&Runtime) -> Result<()> + Sync) {
    for seed in 1..3 {
        let all = reports(hosts, seed, &body);
        let seen = all.iter().flat_map(|(texts, _)| texts);
        let fits = |text: &&String| words.iter().all(|words| text.contains(words));
        assert!(
            seen.into_iter().any(|text| fits(&text)),
            "{hosts:?}, seed {seed}: {all:?}"
        );
        for (pe, (_, result)) in all.iter().enumerate() {
            let Err(Error::CheckFailed { found, me, .. }) = result else {
                panic!("{hosts:?}, seed {seed}, PE {pe}: {result:?}");
            };
            assert!(*found > 0 && *me as usize == pe);
        }
    }
}

/// Each PE sends a block and a flag to the next one, in a way.
fn exchange(rt: &Runtime, rounds: u64, way: u32) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let next = (me + 1) % n;
    let data = rt.array::<u64>(32 * rounds as usize)?;
    let flags = rt.array::<u64>(rounds as usize)?;
    for round in 0..rounds as usize {
        let (part, flag) = (data.slice(round * 32..(round + 1) * 32)?, flags.at(round)?);
        let sent = [round as u64 + me as u64; 32];
        match way {
            0 => rt.put_signal(part, &sent, flag, 1, SignalOp::Set, next)?,
            1 => {
                rt.put(part, &sent, next)?;
                rt.fence()?;
                rt.p(flag, 1, next)?;
            }
            2 => {
                rt.put_nbi(part, &sent, next)?;
                rt.quiet()?;
                rt.atomic_inc(flag, next)?;
            }
            // Without a fence.
            _ => {
                rt.put(part, &sent, next)?;
                rt.p(flag, 1, next)?;
            }
        }
        rt.wait_until(flag, Cmp::Eq, 1)?;
        let mut seen = [0; 32];
        data.read(round * 32, &mut seen)?;
        let before = (me + n - 1) % n;
        if way < 3 {
            assert_eq!(seen, [round as u64 + before as u64; 32]);
        }
    }
    rt.barrier_all()
}

#[test]
fn order_across_hosts_is_seen() {
    for hosts in HOSTS {
        for way in 0..3 {
            accepted(hosts, |rt| exchange(rt, 6, way));
        }
    }
}

#[test]
fn a_missing_fence_is_found_across_hosts() {
    for hosts in HOSTS {
        let words = ["data is read that may not have arrived", "checked.rs:"];
        found(hosts, &words, |rt| exchange(rt, 6, 3));
    }
}

/// A call may come before its receiver has a tracker: the sender has joined the job sooner.
#[test]
fn a_call_before_the_tracker_waits_for_it() {
    let pretended = Pretended::on(vec![0, 1], false);
    let call = [message::Kind::Call as u64, 0];
    pretended.hub.forge(1, 0, &call, size_of_val(&call));
    let job = Job::new(2, &checked(1)).unwrap();
    let job = job.on(Some(pretended)).unwrap();
    super::on_threads(&job, 2, |rt| {
        exchange(&rt, 2, 0)?;
        rt.finalize()
    });
}

/// Both sites of two writers are named, on any hosts.
#[test]
fn two_writers_are_found_across_hosts() {
    for (hosts, writers) in [(HOSTS[1], [0, 2]), (HOSTS[1], [1, 3]), (HOSTS[1], [2, 3])] {
        for owner in 0..4 {
            found(hosts, &["two PEs write to one place"], |rt| {
                let words = rt.array::<u64>(8)?;
                if writers.contains(&rt.my_pe()) {
                    rt.put(words.all(), &[rt.my_pe() as u64; 8], owner)?;
                }
                rt.barrier_all()
            });
        }
    }
}

/// Order that passes through PEs of two hosts, words of both and a collective.
#[test]
fn order_is_passed_on_across_hosts() {
    for hosts in [HOSTS[1], HOSTS[2]] {
        accepted(hosts, |rt| {
            let (me, n) = (rt.my_pe(), rt.n_pes());
            let data = rt.array::<u64>(16)?;
            let flag = rt.array::<u64>(1)?;
            let (sum, mine) = (rt.array::<u64>(1)?, rt.array::<u64>(1)?);
            let counter = rt.array::<u64>(1)?;
            for round in 1..4_u64 {
                if me == 0 {
                    rt.put(data.all(), &[round; 16], 1)?;
                    rt.quiet()?;
                    rt.signal_op(flag.at(0)?, round, SignalOp::Set, 2)?;
                }
                if me == 2 {
                    rt.signal_wait(flag.at(0)?, Cmp::Eq, round)?;
                    let mut seen = [0; 16];
                    rt.get(&mut seen, data.all(), 1)?;
                    assert_eq!(seen, [round; 16]);
                }
                mine.store(0, 1)?;
                let (dtype, op) = (crate::Dtype::Uint64 as i32, Op::Sum as i32);
                rt.reduce(
                    Team::WORLD,
                    sum.all().range(),
                    mine.all().range(),
                    1,
                    dtype,
                    op,
                )?;
                assert_eq!(sum.load(0)?, n as u64);
            }
            rt.atomic_fetch_add(counter.at(0)?, 1, n - 1)?;
            rt.barrier_all()?;
            assert_eq!(rt.g(counter.at(0)?, n - 1)?, n as u64);
            rt.barrier_all()
        });
    }
}

/// Findings of a PE without its tracker go to the host of PE 0, too; and PEs of two hosts that call different collectives are named.
#[test]
fn findings_of_other_hosts_are_told() {
    found(HOSTS[0], &["two puts to one place without a fence"], |rt| {
        let words = rt.array::<u64>(4)?;
        if rt.my_pe() == 1 {
            // Two lines: on a busy machine the first put has been delivered, and then puts of one line are not compared.
            for value in 1..40_u64 {
                rt.put(words.all(), &[value; 4], 0)?;
                rt.put(words.all(), &[value + 40; 4], 0)?;
            }
        }
        rt.barrier_all()
    });
    for hosts in [HOSTS[0], HOSTS[1]] {
        let words = ["do not call the same collective", "sync at ", "checked.rs:"];
        found(hosts, &words, |rt| {
            let mismatch = match rt.my_pe() + 1 == rt.n_pes() {
                true => rt.sync(Team::WORLD),
                false => rt.barrier_all(),
            };
            assert!(
                matches!(mismatch, Err(Error::Mismatch { .. })),
                "{mismatch:?}"
            );
            Ok(())
        });
    }
}
