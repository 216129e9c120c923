//! The checker's perturbation: held operations are delivered late and out of order as far as the standard allows, and no further.

use nvshmemrs::{Cmp, Error, InitAttr, Op, Result, Runtime, SignalOp, Team, UniqueId, local};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn checked(seed: u64) -> InitAttr {
    InitAttr {
        heap_bytes: Some(16 << 20),
        check: Some(true),
        check_seed: Some(seed),
        ..InitAttr::default()
    }
}

/// Runs a checked job. Findings of the checker are no errors here: most of these programs lack the order that it looks for.
fn run(n_pes: i32, seed: u64, body: impl Fn(&Runtime) -> Result<()> + Sync) {
    local::run_with(n_pes, &checked(seed), |rt| {
        body(&rt)?;
        match rt.finalize() {
            Err(Error::CheckFailed { .. }) => Ok(()),
            other => other,
        }
    })
    .unwrap();
}

/// How PE 0 sends data and a flag.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Send {
    Nothing,
    Fence,
    Quiet,
    Signal,
    PutSignal,
    Atomic,
    NbiQuiet,
}

/// How often PE 1 saw the flag, but not the data, in 64 rounds.
fn missed(send: Send, seed: u64) -> usize {
    const WORDS: usize = 16;
    let missed = Mutex::new(0);
    run(2, seed, |rt| {
        let data = rt.array::<u64>(64 * WORDS)?;
        let flags = rt.array::<u64>(64)?;
        for round in 0..64 {
            let (flag, part) = (
                flags.at(round)?,
                data.slice(round * WORDS..(round + 1) * WORDS)?,
            );
            let sent = [round as u64 + 1; WORDS];
            if rt.my_pe() == 0 {
                match send {
                    Send::PutSignal => {
                        rt.put_signal(part, &sent, flag, 1, SignalOp::Set, 1)?;
                    }
                    Send::NbiQuiet => rt.put_nbi(part, &sent, 1)?,
                    _ => rt.put(part, &sent, 1)?,
                }
                match send {
                    Send::Fence => rt.fence()?,
                    Send::Quiet | Send::NbiQuiet => rt.quiet()?,
                    _ => {}
                }
                match send {
                    Send::PutSignal => {}
                    Send::Signal => rt.signal_op(flag, 1, SignalOp::Set, 1)?,
                    Send::Atomic => rt.atomic_inc(flag, 1)?,
                    _ => rt.p(flag, 1, 1)?,
                }
            } else {
                rt.wait_until(flag, Cmp::Eq, 1)?;
                let mut seen = [0; WORDS];
                data.read(round * WORDS, &mut seen)?;
                *missed.lock().unwrap() += usize::from(seen != sent);
            }
            rt.sync(Team::WORLD)?;
        }
        Ok(())
    });
    missed.into_inner().unwrap()
}

#[test]
fn a_flag_overtakes_data_without_a_fence() {
    let seen: usize = (0..4).map(|seed| missed(Send::Nothing, seed)).sum();
    assert!(seen > 8, "{seen} of 256");
}

#[test]
fn nothing_overtakes_what_orders_it() {
    let ordered = [
        Send::Signal,
        Send::PutSignal,
        Send::Atomic,
        Send::Fence,
        Send::Quiet,
        Send::NbiQuiet,
    ];
    // ThreadSanitizer does not see the fences of the last three.
    let fences = std::env::var_os("LITMUS_WITHOUT_FENCES").is_none();
    for &send in &ordered[..if fences { 6 } else { 3 }] {
        for seed in 0..3 {
            assert_eq!(missed(send, seed), 0, "{send:?}, seed {seed}");
        }
    }
}

/// Which of 60 puts of a PE to itself have arrived right after the last one.
fn arrived(seed: u64) -> u64 {
    let arrived = Mutex::new(0);
    run(1, seed, |rt| {
        let words = rt.array::<u64>(60)?;
        for index in 0..60 {
            rt.p(words.at(index)?, 1, 0)?;
        }
        let seen = words.to_vec()?;
        let bits = seen.iter().enumerate();
        *arrived.lock().unwrap() = bits.fold(0, |bits, (index, word)| bits | word << index);
        rt.quiet()?;
        assert_eq!(words.to_vec()?, [1; 60]);
        Ok(())
    });
    arrived.into_inner().unwrap()
}

/// The outcome that a seed has when nothing disturbs: 5 times the same, since after a millisecond a thread delivers the rest.
fn usual(seed: u64) -> u64 {
    let mut counts = HashMap::new();
    for _ in 0..200 {
        let arrived = arrived(seed);
        let count = counts.entry(arrived).or_insert(0);
        *count += 1;
        if *count == 5 {
            return arrived;
        }
    }
    panic!("seed {seed} gives other choices every time: {counts:x?}");
}

#[test]
fn a_seed_gives_the_same_choices_every_time() {
    let patterns: Vec<u64> = (1..5).map(usual).collect();
    for (index, pattern) in patterns.iter().enumerate() {
        assert!(pattern.count_ones() > 5 && pattern.count_zeros() > 5);
        assert!(!patterns[..index].contains(pattern), "{patterns:x?}");
    }
}

#[test]
fn what_is_held_back_arrives_without_further_calls() {
    run(2, 7, |rt| {
        let flags = rt.array::<u64>(40)?;
        for round in 0..40 {
            rt.barrier_all()?;
            let start = Instant::now();
            if rt.my_pe() == 0 {
                rt.p(flags.at(round)?, 1, 1)?;
                std::thread::sleep(Duration::from_millis(30));
            } else {
                rt.wait_until(flags.at(round)?, Cmp::Eq, 1)?;
                // About 2 ms, on a machine that has nothing else to do.
                assert!(start.elapsed() < Duration::from_secs(2));
            }
        }
        Ok(())
    });
}

#[test]
fn what_is_held_back_is_bounded() {
    fn resident() -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages = text.split_whitespace().nth(1).unwrap();
        pages.parse::<u64>().unwrap() * 4096
    }
    run(1, 3, |rt| {
        let block = rt.array::<u8>(1 << 20)?;
        let source = vec![5; 1 << 20];
        rt.put(block.all(), &source, 0)?;
        rt.quiet()?;
        let before = resident();
        for _ in 0..200 {
            rt.put(block.all(), &source, 0)?;
            rt.fence()?;
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes for 200 MiB that were put");
        rt.quiet()?;
        assert_eq!(block.to_vec()?, source);
        Ok(())
    });
}

#[test]
fn everything_arrives_where_it_belongs() {
    for seed in 0..4 {
        run(3, seed, |rt| {
            let (me, n) = (rt.my_pe() as usize, 3);
            let table = rt.array::<u32>(3 * 1000)?;
            let sums = rt.array::<u64>(2)?;
            // Every length and place, to all PEs, in the caller's own row.
            let mut at = 0;
            for len in (1..40).chain([200]) {
                let part: Vec<u32> = (0..len).map(|i| (me * 1000 + at + i) as u32).collect();
                for pe in 0..n {
                    let to = table.slice(me * 1000 + at..me * 1000 + at + len)?;
                    rt.put(to, &part, pe)?;
                    rt.atomic_add(sums.at(0)?, len as u64, pe)?;
                    rt.signal_op(sums.at(1)?, 1, SignalOp::Add, pe)?;
                }
                at += len;
            }
            rt.barrier_all()?;
            let all = table.to_vec()?;
            for pe in 0..3 {
                for i in 0..at {
                    assert_eq!(all[pe * 1000 + i], (pe * 1000 + i) as u32);
                }
                assert!(
                    all[pe * 1000 + at..(pe + 1) * 1000]
                        .iter()
                        .all(|&word| word == 0)
                );
            }
            assert_eq!(sums.to_vec()?, [3 * at as u64, 3 * 40]);
            assert_eq!(
                rt.atomic_fetch(sums.at(0)?, (rt.my_pe() + 1) % 3)?,
                3 * at as u64
            );
            Ok(())
        });
    }
}

#[test]
fn a_pe_sees_its_own_updates_of_a_word_in_order() {
    run(2, 5, |rt| {
        let word = rt.array::<i64>(1)?;
        if rt.my_pe() == 0 {
            for round in 0..500 {
                rt.atomic_set(word.at(0)?, round, 1)?;
                rt.atomic_add(word.at(0)?, 2, 1)?;
                assert_eq!(rt.atomic_fetch_add(word.at(0)?, 1, 1)?, round + 2);
                rt.atomic_inc(word.at(0)?, 1)?;
                assert_eq!(rt.atomic_fetch(word.at(0)?, 1)?, round + 4);
            }
        }
        rt.barrier_all()
    });
}

#[test]
fn collectives_neither_wait_for_puts_nor_disturb_them() {
    run(4, 11, |rt| {
        let (source, dest) = (rt.array::<i64>(1000)?, rt.array::<i64>(1000)?);
        let other = rt.array::<i64>(1000)?;
        for round in 0..50 {
            source.write(0, &[round; 1000])?;
            rt.put(other.all(), &[round; 1000], (rt.my_pe() + 1) % 4)?;
            rt.reduce_array(Team::WORLD, &dest.all(), &source.all(), Op::Sum)?;
            assert_eq!(dest.to_vec()?, [4 * round; 1000]);
            rt.barrier_all()?;
            assert_eq!(other.to_vec()?, [round; 1000]);
            rt.barrier_all()?;
        }
        Ok(())
    });
}

#[test]
fn threads_and_streams_share_what_is_held_back() {
    run(2, 13, |rt| {
        let words = rt.array::<u64>(4000)?;
        let peer = 1 - rt.my_pe();
        let stream = rt.stream()?;
        for index in 0..1000 {
            let to = words.at(3000 + index)?;
            stream.submit(move |rt| rt.p(to, 4, peer))?;
        }
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let words = &words;
                scope.spawn(move || {
                    for index in 0..1000 {
                        rt.p(
                            words.at(1000 * thread + index).unwrap(),
                            thread as u64 + 1,
                            peer,
                        )
                        .unwrap();
                        if index % 100 == 0 {
                            rt.fence().unwrap();
                        }
                    }
                });
            }
        });
        stream.synchronize()?;
        rt.barrier_all()?;
        let seen = words.to_vec()?;
        assert!(
            seen.iter()
                .enumerate()
                .all(|(index, &word)| word == index as u64 / 1000 + 1)
        );
        Ok(())
    });
}

#[test]
fn nothing_is_lost_at_finalize() {
    for seed in 0..10 {
        let kept = Mutex::new(None);
        local::run_with(2, &checked(seed), |rt| {
            let words = rt.array::<u64>(50)?;
            rt.barrier_all()?;
            for index in 0..50 {
                rt.p(words.at(index)?, 9, 1 - rt.my_pe())?;
            }
            let mapping = rt.mapping();
            let address = words.as_ptr() as u64;
            rt.finalize()?;
            let me_is_0 = kept.lock().unwrap().is_none();
            if me_is_0 {
                // SAFETY: the mapping keeps the memory, and no PE uses it any more.
                let words = unsafe { std::slice::from_raw_parts(address as *const u64, 50) };
                *kept.lock().unwrap() = Some(words.to_vec());
            }
            drop(mapping);
            Ok(())
        })
        .unwrap();
        assert_eq!(kept.into_inner().unwrap(), Some(vec![9; 50]));
    }
}

/// Lets two PEs join one job with different attributes, and returns the results of PE 0 and PE 1.
fn join(attrs: [InitAttr; 2]) -> [Result<()>; 2] {
    let id = UniqueId::new().unwrap();
    let id = &id;
    std::thread::scope(|scope| {
        let pes = attrs.map(|attr| {
            let pe = i32::from(attr.timeout.is_some());
            scope.spawn(move || {
                let rt = Runtime::init_unique_id(id, pe, 2, &attr)?;
                rt.finalize()
            })
        });
        pes.map(|pe| pe.join().unwrap())
    })
}

/// The attributes of PE 1: `join` knows it by the deadline.
fn of_pe_1(attr: InitAttr) -> InitAttr {
    InitAttr {
        timeout: Some(Duration::from_secs(60)),
        ..attr
    }
}

#[test]
fn pes_agree_on_the_checker() {
    let off = InitAttr {
        heap_bytes: Some(16 << 20),
        check: Some(false),
        ..InitAttr::default()
    };
    let open = InitAttr {
        check_seed: None,
        ..checked(0)
    };
    assert_eq!(join([off.clone(), of_pe_1(off.clone())]), [Ok(()), Ok(())]);
    assert_eq!(join([checked(5), of_pe_1(checked(5))]), [Ok(()), Ok(())]);
    assert_eq!(join([checked(5), of_pe_1(open.clone())]), [Ok(()), Ok(())]);
    assert_eq!(
        join([open.clone(), of_pe_1(open.clone())]),
        [Ok(()), Ok(())]
    );
    let differ = [
        ([checked(5), of_pe_1(off.clone())], "NVSHMEMRS_CHECK "),
        ([off, of_pe_1(checked(5))], "NVSHMEMRS_CHECK "),
        ([checked(5), of_pe_1(checked(6))], "NVSHMEMRS_CHECK_SEED "),
    ];
    for (attrs, setting) in differ {
        for result in join(attrs) {
            let text = result.unwrap_err().to_string();
            assert!(text.contains(setting) && text.contains("PE 1"), "{text}");
        }
    }
}

#[test]
fn a_job_is_checked_that_is_not_too_large() {
    let error = local::Job::new(257, &checked(0)).unwrap_err().to_string();
    assert!(
        error.contains("256 PEs") && error.contains("257"),
        "{error}"
    );
}

#[test]
fn findings_make_finalize_fail_on_every_pe() {
    let results = Mutex::new(Vec::new());
    local::run_with(2, &checked(1), |rt| {
        let word = rt.array::<u64>(1)?;
        rt.barrier_all()?;
        if rt.my_pe() == 0 {
            rt.p(word.at(0)?, 1, 1)?;
            rt.g(word.at(0)?, 1)?;
        }
        let (found, reports) = rt.check_reports();
        assert_eq!(
            (found, reports.len()),
            match rt.my_pe() {
                0 => (1, 1),
                _ => (0, 0),
            }
        );
        assert!(
            reports.iter().all(|text| text.contains("check_delay.rs:")),
            "{reports:?}"
        );
        let (me, result) = (rt.my_pe(), rt.finalize());
        results.lock().unwrap().push((me, result));
        Ok(())
    })
    .unwrap();
    for (pe, result) in results.into_inner().unwrap() {
        match result {
            Err(Error::CheckFailed { found, own, me }) => {
                assert_eq!((found, own, me), (1, u64::from(pe == 0), pe));
            }
            other => panic!("{other:?}"),
        }
    }
}
