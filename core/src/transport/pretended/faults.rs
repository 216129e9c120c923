//! PEs that die, or send malformed messages.

use super::{Pretended, run};
use crate::job::block::Control;
use crate::job::hosts::Hosts;
use crate::job::remote::{self, ControlChannel, RemoteHosts};
use crate::transport::net::message;
use crate::{Error, InitAttr, MemoryKind, Op, Pe, Result, Runtime, SymArray, Team, deadline};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// Threads that wait for each other, but not for ever: one of them may have panicked.
pub(super) struct TimedBarrier {
    threads: usize,
    come: AtomicUsize,
}

impl TimedBarrier {
    pub(super) fn new(threads: usize) -> TimedBarrier {
        TimedBarrier {
            threads,
            come: AtomicUsize::new(0),
        }
    }

    pub(super) fn wait(&self) {
        let round = self.come.fetch_add(1, SeqCst) / self.threads + 1;
        let until = Instant::now() + Duration::from_secs(100);
        while self.come.load(SeqCst) < round * self.threads {
            assert!(Instant::now() < until, "another PE has not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A PE that nothing is heard of any more is named everywhere, whether the network says so or not.
#[test]
fn a_pe_that_is_cut_off_is_named_on_every_host() {
    for says in [true, false] {
        let pretended = Pretended::on(vec![0, 0, 1, 2], false);
        let hub = pretended.hub.clone();
        let together = TimedBarrier::new(4);
        run(pretended, &InitAttr::default(), |rt| {
            let array = rt.array::<u64>(1)?;
            rt.barrier_all()?;
            together.wait();
            if rt.my_pe() == 2 {
                match says {
                    true => hub.lose(2),
                    false => hub.cut(2),
                }
            }
            together.wait();
            if rt.my_pe() == 2 {
                // It is still there, and does nothing: its messages are lost.
                together.wait();
                return Ok(());
            }
            let since = Instant::now();
            let error = match rt.my_pe() {
                0 => rt.barrier_all().unwrap_err(),
                1 => rt.g(array.at(0)?, 2).unwrap_err(),
                _ => rt
                    .wait_until(array.at(0)?, crate::Cmp::Eq, 5)
                    .map(drop)
                    .unwrap_err(),
            };
            assert!(matches!(error, Error::PeDied { pe: 2, .. }), "{error}");
            // The limit is 5 s on a machine that is not busy.
            assert!(since.elapsed() < Duration::from_secs(60));
            assert!(matches!(rt.quiet(), Ok(()) | Err(Error::PeDied { .. })));
            together.wait();
            Ok(())
        });
    }
}

/// A PE that is lost while the data of a collective is under way is named by every other member.
#[test]
fn a_pe_that_is_lost_in_a_large_collective_is_named_by_every_member() {
    type Call = fn(&Runtime, &[SymArray<i64>; 2], &[SymArray<f32>; 2]) -> Result<()>;
    let calls: [(&str, Call); 7] = [
        ("broadcast", |rt, [to, from], _| {
            let (to, from) = (to.slice(..)?.range(), from.slice(..)?.range());
            rt.broadcast(Team::WORLD, to, from, BYTES, 0)
        }),
        ("fcollect", |rt, [to, from], _| {
            let block = BYTES / 5 / 8 * 8;
            let dest = to.slice(0..block / 8 * 5)?.range();
            rt.fcollect(Team::WORLD, dest, from.slice(0..block / 8)?.range(), block)
        }),
        ("reduce of floats", |rt, _, [to, from]| {
            rt.reduce_array(Team::WORLD, &to.slice(..)?, &from.slice(..)?, Op::Sum)
        }),
        ("reduce of integers", |rt, [to, from], _| {
            rt.reduce_array(Team::WORLD, &to.slice(..)?, &from.slice(..)?, Op::Sum)
        }),
        ("alltoall", |rt, [to, from], _| {
            let all = BYTES / 5 / 8 * 5;
            let (to, from) = (to.slice(0..all)?, from.slice(0..all)?);
            rt.alltoall_array(Team::WORLD, &to, &from)
        }),
        ("gather", |rt, [to, from], _| {
            let block = BYTES / 5 / 8;
            let (to, from) = (to.slice(0..5 * block)?, from.slice(0..block)?);
            rt.gather_array(Team::WORLD, Some(&to), &from, 4)
        }),
        ("scatter", |rt, [to, from], _| {
            let block = BYTES / 5 / 8;
            let (to, from) = (to.slice(0..block)?, from.slice(0..5 * block)?);
            rt.scatter_array(Team::WORLD, &to, Some(&from), 4)
        }),
    ];
    const BYTES: usize = 1 << 20;
    let lose = |name: &str, call: Call| {
        let pretended = Pretended::on(vec![0, 0, 1, 1, 2], false);
        let hub = pretended.hub.clone();
        let together = TimedBarrier::new(5);
        let attr = InitAttr {
            heap_bytes: Some(8 << 20),
            ..InitAttr::default()
        };
        run(pretended, &attr, |rt| {
            let whole = [rt.array(BYTES / 8)?, rt.array(BYTES / 8)?];
            let floats = [rt.array(BYTES / 4)?, rt.array(BYTES / 4)?];
            rt.barrier_all()?;
            together.wait();
            // Bodies take longer than the other PE is there.
            let (above, late) = &hub.faults.late;
            above.store(16 << 10, Relaxed);
            late.store(500, Relaxed);
            together.wait();
            if rt.my_pe() == 4 {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(200));
                        hub.lose(4);
                    });
                    let soon = Duration::from_secs(3);
                    let error = crate::deadline::deadline(soon, || call(&rt, &whole, &floats));
                    error.unwrap_err();
                });
            } else {
                let error = call(&rt, &whole, &floats).unwrap_err();
                assert!(
                    matches!(error, Error::PeDied { pe: 4, .. }),
                    "{name}: {error}"
                );
            }
            together.wait();
            Ok(())
        });
    };
    std::thread::scope(|scope| {
        for (name, call) in calls {
            scope.spawn(move || lose(name, call));
        }
    });
}

#[test]
fn a_pe_that_leaves_is_named_on_every_host() {
    run(
        Pretended::on(vec![0, 1, 1], true),
        &InitAttr::default(),
        |rt| {
            let array = rt.array::<u64>(1)?;
            rt.barrier_all()?;
            if rt.my_pe() == 1 {
                rt.leave();
                return Ok(());
            }
            let error = rt.barrier_all().unwrap_err();
            assert!(matches!(error, Error::PeDied { pe: 1, .. }), "{error}");
            assert!(error.to_string().contains("left"), "{error}");
            drop(array);
            Ok(())
        },
    );
}

#[test]
fn a_deadline_names_who_is_missing_on_another_host_and_breaks_the_team_everywhere() {
    let together = TimedBarrier::new(3);
    run(
        Pretended::on(vec![0, 1, 1], true),
        &InitAttr::default(),
        |rt| {
            let split = rt.team_split_strided(Team::WORLD, 0, 1, 3, Ok(Default::default()))?;
            let team = split.expect("all are members");
            if rt.my_pe() == 2 {
                together.wait();
                let error = rt.barrier(team).unwrap_err();
                assert!(matches!(error, Error::TeamBroken { .. }), "{error}");
            } else {
                let soon = Duration::from_millis(300);
                let error = crate::deadline::deadline(soon, || rt.barrier(team)).unwrap_err();
                let text = error.to_string();
                assert!(
                    matches!(error, Error::Timeout { .. } | Error::TeamBroken { .. }),
                    "{text}"
                );
                if let Error::Timeout { .. } = error {
                    assert!(text.contains("PE 2"), "{text}");
                }
                together.wait();
            }
            rt.team_destroy(team)?;
            rt.barrier_all()?;
            rt.finalize()
        },
    );
}

/// A message that makes no sense is an error on both sides, names its sender, and changes nothing.
#[test]
fn a_message_that_makes_no_sense_names_its_sender() {
    let put = |offset: u64| vec![message::Kind::Put as u64 | 8 << 8, offset, u64::MAX];
    let messages: Vec<Vec<u64>> = vec![
        vec![0],
        vec![99],
        vec![message::Kind::Put as u64 | 800 << 8, 0, 1],
        put(u64::MAX - 3),
        put(1 << 40),
        vec![message::Kind::Atomic as u64 | 4 << 8, 8 << 8 | 4, 1, 0, 0],
        vec![message::Kind::Atomic as u64 | 8 << 8, 8 << 8 | 77, 1, 0, 0],
        vec![message::Kind::Signal as u64 | 8 << 8, 1, 5],
        vec![message::Kind::Signal as u64 | 12 << 8, 1, 9],
        vec![message::Kind::Get as u64, 1 << 30, 1],
        vec![message::Kind::PutLarge as u64, 8, 1, 0],
        vec![message::Kind::GetLarge as u64 | 1 << 58, 8, 1],
        vec![message::Kind::Done as u64 | 1 << 58],
        vec![message::Kind::Answer as u64 | 8 << 8, 1 << 50, 1],
        vec![message::Kind::Control as u64 | 8 << 8, 99],
    ];
    for words in messages {
        let together = TimedBarrier::new(2);
        let pretended = Pretended::on(vec![0, 1], false);
        let hub = pretended.hub.clone();
        run(pretended, &InitAttr::default(), |rt| {
            let array = rt.array::<u64>(8)?;
            array.write(0, &[3; 8])?;
            rt.barrier_all()?;
            if rt.my_pe() == 0 {
                hub.forge(0, 1, &words, words.len() * 8);
            }
            let since = Instant::now();
            let error = loop {
                match rt.barrier_all() {
                    Err(error) => break error,
                    Ok(()) => assert!(since.elapsed() < Duration::from_secs(20), "{words:?}"),
                }
            };
            let text = error.to_string();
            assert!(text.contains("sense"), "{words:?}: {text}");
            if rt.my_pe() == 1 {
                assert_eq!(array.to_vec()?, [3; 8], "{words:?}");
            }
            // A PE that leaves before the other PE knows the reason is named by that PE.
            together.wait();
            Ok(())
        });
    }
}

struct Nobody;

impl ControlChannel for Nobody {
    fn send(&self, _: Pe, _: &[u64]) {}
    fn flush_out(&self) {}
    fn progress(&self) {}
}

/// No control message changes the state that PEs of this host have published.
#[test]
fn control_messages_change_only_the_state_of_their_sender() {
    let ids = [1, 2, 1].map(|id| [id; 16]);
    let control = Control::create_on([1; 16], 3, 2 << 20, MemoryKind::Host, None).unwrap();
    let remote = RemoteHosts::new(Hosts::new(&ids, 0), Arc::new(Nobody));
    let mut draws = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: u64| {
        draws ^= draws << 13;
        draws ^= draws >> 7;
        draws ^= draws << 17;
        (draws >> 20) % below
    };
    let published = |pe: Pe| {
        let block = control.pe(pe);
        let words = [
            &block.process,
            &block.namespace,
            &block.progress,
            &block.beats,
        ];
        let mut all: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
        all.push(u64::from(block.state.load(Relaxed)));
        all.push(block.stopped.load(Relaxed));
        all.extend(block.host.iter().map(|word| word.load(Relaxed)));
        all.push(u64::from(block.bell.rings.load(Relaxed)));
        all
    };
    let mut opened = 0;
    for _ in 0..200_000 {
        let mut message = vec![draw(14)];
        for _ in 0..draw(12) {
            message.push(match draw(4) {
                0 => draw(8),
                1 => draw(4) << 40 | draw(16 << 10),
                2 => draw(1 << 20) << 32 | draw(5),
                _ => draw(1 << 44) << 20 | draw(1 << 20),
            });
        }
        opened += u32::from(remote::open(&control, &remote, 1, &message).is_some());
        // From a PE of the own host nothing is taken.
        assert!(remote::open(&control, &remote, 2, &message).is_none());
    }
    // Of a seat the words of one PE of another host, and only those of its seats; told on to hosts that there are.
    let offset = |word: *const u8| word as u64 - control.segment().base();
    let phase = |pe: Pe| &control.pe(pe).joins[0].phase;
    let seat = |pe: Pe, span: u64, at: *const u8| {
        let message = [12, pe as u64, span, 1 << 40 | offset(at), 7];
        remote::open(&control, &remote, 1, &message)
    };
    let at = |pe: Pe| std::ptr::from_ref(phase(pe)).cast::<u8>();
    assert!(seat(1, 2, at(1)).is_some());
    assert_eq!(phase(1).load(Relaxed), 7);
    let state = std::ptr::from_ref(&control.pe(1).state).cast();
    for (pe, span, at) in [
        (2, 2, at(2)),
        (1, 0, at(1)),
        (1, 3, at(1)),
        (1, 1, at(2)),
        (1, 1, state),
    ] {
        assert!(seat(pe, span, at).is_none(), "{pe} {span}");
    }
    assert_eq!([0, 2].map(|pe| phase(pe).load(Relaxed)), [0, 0]);
    // Another host has lost PE 0 of this one, after PE 1 had gone; or says something malformed of it.
    let gone =
        |state: u64, first: u64| remote::open(&control, &remote, 1, &[2, 0, state, first, 0]);
    assert!(gone(5, 2).is_some());
    assert!(gone(1, 2).is_none());
    assert!(opened > 100, "{opened} of the control messages made sense");
    for pe in [0, 2] {
        assert!(
            published(pe).iter().all(|word| *word == 0),
            "PE {pe}: {:?}",
            published(pe)
        );
    }
}

/// Written records are read; random bytes are read or refused, never beyond their end.
#[test]
fn records_of_any_bytes_are_read_within_their_bounds() {
    let mut draws = 1_u64;
    let mut draw = || {
        draws = draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        draws >> 33
    };
    let mut read = 0;
    for _ in 0..100_000 {
        let words: Vec<u64> = (0..draw() % 20)
            .map(|_| match draw() % 3 {
                0 => (draw() % 12) | ((draw() % 40) << 8),
                1 => draw() % 64,
                _ => draw() << 32 | draw(),
            })
            .collect();
        let mut rest = &words[..];
        while !rest.is_empty() {
            let before = rest.len();
            let Some(record) = message::read(&mut rest) else {
                break;
            };
            assert!(rest.len() < before && record.data.len() <= before * 8);
            read += 1;
        }
    }
    assert!(read > 1000, "{read}");
}

/// Of two PEs on its host the other one has not come to finalize, nor has that of the other host.
#[test]
fn finalize_that_ends_early_waits_for_nobody() {
    let pretended = Pretended::on(vec![0, 0, 1], false);
    let (hub, together) = (pretended.hub.clone(), TimedBarrier::new(3));
    run(pretended, &InitAttr::default(), |rt| {
        together.wait();
        if rt.my_pe() == 0 {
            let since = Instant::now();
            let result = deadline(Duration::from_millis(100), || rt.finalize());
            let error = result.expect_err("nobody else comes");
            assert!(matches!(error, Error::Timeout { .. }), "{error}");
            // PEs that have met in finalize wait for each other for 10 s and more.
            assert!(
                since.elapsed() < Duration::from_secs(8),
                "{:?}",
                since.elapsed()
            );
            let closed = hub.faults.closed.lock().unwrap().clone();
            assert_eq!(closed, [(0, Duration::ZERO)]);
        }
        together.wait();
        Ok(())
    });
}
