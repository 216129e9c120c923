//! Operations that differ between PEs of several hosts.

use super::faults::TimedBarrier;
use super::{Pretended, run};
use crate::buffer::{LocalDest, NbiDest};
use crate::local::Job;
use crate::{Cmp, Error, InitAttr, Op, Pe, Request, Result, Runtime, SignalOp, Team};
use std::sync::atomic::Ordering::Release;
use std::time::Duration;

const HOSTS: [&[usize]; 3] = [&[0, 1], &[0, 0, 1, 1], &[0, 1, 2, 0, 1]];

#[test]
fn pes_of_a_host_share_memory_and_others_exchange_messages() {
    let pretended = Pretended::on(vec![0, 1, 0], false);
    let hub = pretended.hub.clone();
    run(pretended, &InitAttr::default(), |rt| {
        let array = rt.array::<u64>(4)?;
        let (address, me) = (array.as_ptr() as u64, rt.my_pe());
        for pe in 0..3 {
            let near = (pe == 1) == (me == 1);
            assert_eq!(rt.ptr(address, pe)?.is_some(), near, "{me} {pe}");
        }
        let near: &[Pe] = if me == 1 { &[1] } else { &[0, 2] };
        let members = |team| -> Result<Vec<Pe>> {
            let members = 0..rt.team_n_pes(team)?;
            members
                .map(|member| rt.team_translate_pe(team, member, Team::WORLD))
                .collect()
        };
        assert_eq!(members(Team::NODE)?, near);
        assert_eq!(members(Team::SHARED)?, near);
        let same: &[Pe] = if me == 2 { &[2] } else { &[0, 1] };
        assert_eq!(members(Team::SAME_MYPE_NODE)?, same);
        rt.barrier_all()?;
        if me == 0 {
            let sent = || hub.messages();
            let before = sent();
            rt.put(array.slice(0..1)?, &[1u64], 0)?;
            rt.put(array.slice(0..1)?, &[5u64], 2)?;
            rt.atomic_add(array.at(1)?, 6, 2)?;
            rt.quiet()?;
            // The others only wait; heartbeats are seldom.
            assert!(sent() - before <= 3, "{}", sent() - before);
            rt.put(array.slice(0..1)?, &[5u64], 1)?;
            rt.atomic_add(array.at(1)?, 6, 1)?;
            assert_eq!(rt.g(array.at(0)?, 1)?, 5);
            assert!(sent() - before >= 3);
        }
        rt.barrier_all()?;
        if me != 0 {
            assert_eq!(array.to_vec()?, [5, 6, 0, 0]);
        }
        rt.finalize()
    });
}

/// Sizes below and above the eager limit, next to each other, in all forms.
#[test]
fn what_is_large_arrives_and_nothing_beside_it_changes() {
    for hosts in HOSTS {
        let pretended = Pretended::on(hosts.to_vec(), true);
        run(pretended, &InitAttr::default(), |rt| {
            let (me, n) = (rt.my_pe(), rt.n_pes());
            let next = (me + 1) % n;
            for len in [1, 500, 5000, 100_000] {
                let array = rt.array::<u64>(len + 2)?;
                let flag = rt.array::<u64>(1)?;
                array.write(0, &vec![9; len + 2])?;
                rt.barrier_all()?;
                let data: Vec<u64> = (0..len as u64).map(|i| i * 7 + me as u64).collect();
                rt.put_signal(
                    array.slice(1..len + 1)?,
                    &data,
                    flag.at(0)?,
                    1,
                    SignalOp::Set,
                    next,
                )?;
                rt.signal_wait(flag.at(0)?, Cmp::Eq, 1)?;
                let before = (me + n - 1) % n;
                let all = array.to_vec()?;
                assert_eq!((all[0], all[len + 1]), (9, 9), "{len}");
                let expected = |i: usize| i as u64 * 7 + before as u64;
                assert!((0..len).all(|i| all[i + 1] == expected(i)), "{len}");
                let mut back = vec![0; len + 2];
                rt.get(&mut back, array.all(), next)?;
                assert_eq!(&back[1..=len], &data[..], "{len}");
                assert_eq!((back[0], back[len + 1]), (9, 9));
                rt.barrier_all()?;
            }
            rt.finalize()
        });
    }
}

#[test]
fn many_small_puts_travel_together_and_quiet_completes_them() {
    let pretended = Pretended::on(vec![0, 1], false);
    let hub = pretended.hub.clone();
    run(pretended, &InitAttr::default(), |rt| {
        const MANY: usize = 5000;
        let array = rt.array::<u64>(MANY)?;
        rt.barrier_all()?;
        let me = rt.my_pe();
        if me == 0 {
            let before = hub.messages();
            for index in 0..MANY {
                rt.put_nbi(array.slice(index..index + 1)?, &[index as u64 + 1], 1)?;
            }
            rt.quiet()?;
            let messages = hub.messages() - before;
            assert!(messages < MANY as u64 / 10, "{messages}");
            let mut seen = vec![0; MANY];
            rt.get(&mut seen, array.all(), 1)?;
            assert!((0..MANY).all(|index| seen[index] == index as u64 + 1));
        }
        rt.barrier_all()?;
        rt.finalize()
    });
}

/// PE 0 receives the requests of two others in one poll, after some time. Its answers are more than one message holds, and it has puts
/// of its own for both.
#[test]
fn answers_come_to_each_pe_that_has_asked() {
    const MANY: usize = 400;
    let pretended = Pretended::on(vec![0, 1, 2], false);
    let (hub, met) = (pretended.hub.clone(), std::sync::Barrier::new(3));
    run(pretended, &InitAttr::default(), |rt| {
        let (me, n) = (rt.my_pe() as usize, 3);
        let value = |pe: usize, index: usize| (pe * 10_000 + index) as u64;
        let mine: Vec<u64> = (0..MANY + 3).map(|index| value(me, index)).collect();
        let (source, dest) = (rt.array::<u64>(MANY + 3)?, rt.array::<u64>(4 * MANY)?);
        let (counts, put) = (rt.array::<u64>(n)?, rt.array::<u64>(n * MANY)?);
        source.write(0, &mine)?;
        rt.barrier_all()?;
        if me == 0 {
            hub.faults.stopped.store(1, Release);
        }
        met.wait();
        let (others, first) = if me == 0 {
            (1..3, 0)
        } else {
            (0..1, me * MANY)
        };
        for index in 0..MANY {
            for to in others.clone() {
                let place = put.slice(first + index..first + index + 1)?;
                rt.put_nbi(place, &mine[index..index + 1], to)?;
                rt.atomic_add(counts.at(me)?, 1, to)?;
            }
            if me > 0 {
                let place = dest.as_ptr().wrapping_add(4 * index);
                // SAFETY: the four words are in the heap, and nobody else uses them before quiet.
                let place = unsafe { NbiDest::until_quiet(LocalDest::from_raw(place.cast(), 32)) };
                rt.get_nbi(place, source.slice(index..index + 4)?, 0)?;
            }
        }
        met.wait();
        hub.faults.stopped.store(0, Release);
        if me > 0 {
            let old = rt.atomic_fetch_add(counts.at(me)?, 1000, 0)?;
            assert_eq!(old, MANY as u64);
        }
        rt.quiet()?;
        if me > 0 {
            let wanted = (0..MANY).flat_map(|index| (index..index + 4).map(|at| value(0, at)));
            assert!(dest.to_vec()?.into_iter().eq(wanted));
        }
        rt.barrier_all()?;
        let (counts, put) = (counts.to_vec()?, put.to_vec()?);
        for from in if me == 0 { 1..3 } else { 0..1 } {
            assert_eq!(counts[from] % 1000, MANY as u64);
            let came = &put[from * MANY..(from + 1) * MANY];
            assert!((0..MANY).all(|index| came[index] == value(from, index)));
        }
        rt.finalize()
    });
}

/// The bits of a sum do not depend on where the members are: for data that travels with a meeting, and for data of several rounds of gets.
#[test]
fn reductions_have_the_same_bits_as_on_one_host() {
    const LONGEST: usize = 350_000;
    let sum = |rt: &Runtime| -> Result<Vec<u32>> {
        let (source, dest) = (rt.array::<f32>(LONGEST)?, rt.array::<f32>(LONGEST)?);
        let value = |i: usize| (i as f32 + 0.1) * 1.7_f32.powi(rt.my_pe() * 5 - 7);
        let values: Vec<f32> = (0..LONGEST).map(value).collect();
        let mut bits = Vec::new();
        for len in [1, 300, 5001, LONGEST] {
            source.write(0, &values)?;
            let (to, from) = (dest.slice(0..len)?, source.slice(0..len)?);
            rt.reduce_array(Team::WORLD, &to, &from, Op::Sum)?;
            bits.extend(dest.to_vec()?[..len].iter().map(|x| x.to_bits()));
            // In place, and of each member a part.
            let part = dest.slice(0..len / 5)?;
            let all = source.slice(0..len / 5 * 5)?;
            rt.reducescatter_array(Team::WORLD, &part, &all, Op::Sum)?;
            let part = dest.to_vec()?[..len / 5].to_vec();
            rt.reduce_array(Team::WORLD, &from, &from, Op::Sum)?;
            let sums = source.to_vec()?[..len].to_vec();
            let mine = rt.my_pe() as usize * (len / 5);
            assert_eq!(part, sums[mine..][..part.len()]);
            bits.extend(sums.iter().map(|x| x.to_bits()));
        }
        Ok(bits)
    };
    let alone = std::sync::Mutex::new(Vec::new());
    let job = Job::new(5, &InitAttr::default()).unwrap();
    let job = job.on(None).unwrap();
    super::on_threads(&job, 5, |rt| {
        let bits = sum(&rt)?;
        *alone.lock().unwrap() = bits;
        rt.finalize()
    });
    for hosts in [vec![0, 1, 2, 0, 1], vec![0, 0, 0, 1, 1]] {
        run(Pretended::on(hosts, true), &InitAttr::default(), |rt| {
            assert!(sum(&rt)? == *alone.lock().unwrap(), "PE {}", rt.my_pe());
            rt.finalize()
        });
    }
}

/// An allocation that fails when there is something to free leaves the heaps of all hosts alike.
#[test]
fn heaps_stay_alike_after_an_allocation_that_failed() {
    run(
        Pretended::on(vec![0, 1], false),
        &InitAttr::default(),
        |rt| {
            let ask = |bytes: usize| rt.malloc(Ok(Request::bytes(bytes)));
            let wrong = 64 << rt.my_pe();
            for _ in 0..2 {
                let released = ask(64)?.unwrap();
                rt.release(released)?;
                // All bring the block to be freed, and no PE frees it.
                ask(wrong).unwrap_err();
                // This frees it, and takes its place.
                let kept = ask(64)?.unwrap();
                assert_eq!(kept, released);
                // Nothing is left of the failed request.
                let other = ask(64)?.unwrap();
                assert_ne!(other, kept, "PE {}", rt.my_pe());
                assert_eq!(rt.heap_stats().allocations, 2);
                rt.free(other)?;
                rt.free(kept)?;
            }
            rt.finalize()
        },
    );
}

/// The next allocation frees blocks that PEs of all hosts have released, also if one PE is late.
#[test]
fn what_all_hosts_have_released_is_freed() {
    for hosts in [vec![0, 1, 1], vec![1, 0, 0], vec![0, 1, 2, 1]] {
        run(Pretended::on(hosts, true), &InitAttr::default(), |rt| {
            let ask = || rt.malloc(Ok(Request::bytes(64)));
            for round in 0..100 {
                let released = ask()?.unwrap();
                if round % 25 == rt.my_pe() {
                    std::thread::sleep(Duration::from_millis(2));
                }
                rt.release(released)?;
                let next = ask()?.unwrap();
                assert_eq!(rt.heap_stats().allocations, 1, "round {round}");
                rt.free(next)?;
            }
            rt.finalize()
        });
    }
}

/// A PE that finalizes while others wait for it elsewhere is an error there, also if nobody else has come to finalize.
#[test]
fn a_pe_that_finalizes_early_is_named_on_other_hosts() {
    // A PE that is still in init may not see another one leave.
    let together = TimedBarrier::new(4);
    run(
        Pretended::on(vec![0, 1, 2, 2], false),
        &InitAttr::default(),
        |rt| {
            together.wait();
            if rt.my_pe() == 0 {
                let error = rt.finalize().unwrap_err();
                assert!(matches!(error, Error::PeDied { .. }), "{error}");
                return Ok(());
            }
            let error = rt.barrier_all().unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::PeDied { .. }), "{text}");
            // The first PE that notices leaves, which the others may notice.
            assert!(
                text.contains("has called finalize") || text.contains("left"),
                "{text}"
            );
            Ok(())
        },
    );
}
