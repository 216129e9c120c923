//! The tests of `core/tests` on this transport, as they stand, and what only it has.
//!
//! Two of them ask for the address of another PE's memory, which there is none of here, and check that: `heap.rs` and `rma.rs`.
//! Left out are `register.rs`, `streams.rs`, `litmus.rs` and `planted_races.rs`, `check_delay.rs`, and what is about processes, the board
//! and the end of jobs, which is above the transports: `allocator.rs`, `finalizers.rs`, `hangs.rs`, `jobs.rs`, `joins.rs`,
//! `left_behind.rs`, `track.rs`.

#[path = "../../../tests/atomics.rs"]
mod atomics;
#[path = "../../../tests/collectives.rs"]
mod collectives;
#[path = "../../../tests/collectives_model.rs"]
mod collectives_model;
#[path = "../../../tests/heap.rs"]
mod heap;
#[path = "../../../tests/rma.rs"]
mod rma;
#[path = "../../../tests/strided.rs"]
mod strided;
#[path = "../../../tests/teams.rs"]
mod teams;
#[path = "../../../tests/waits.rs"]
mod waits;

/// Random cases on jobs that live long, as the models of the suite use them.
#[path = "../../../tests/common/pool.rs"]
mod pool;

use super::message::{of_atomic, to_atomic};
use super::service::Desk;
use super::{Atomic, Width};
use nvshmemrs::local::{self, Job};
use nvshmemrs::{Error, InitAttr, Op, Runtime, SignalOp, Team};
use std::sync::atomic::Ordering::Relaxed;

/// Runs `body` as each PE of a job.
fn run(job: &Job, n_pes: i32, body: impl Fn(Runtime) -> nvshmemrs::Result<()> + Sync) {
    std::thread::scope(|scope| {
        for pe in 0..n_pes {
            let body = &body;
            scope.spawn(move || body(job.join(pe).unwrap()).unwrap());
        }
    });
}

#[test]
fn each_operation_on_another_pe_is_a_message_and_none_on_oneself() {
    let job = Job::new(4, &InitAttr::default()).unwrap();
    let links = job
        .links()
        .expect("the job is made by a file of this folder");
    run(&job, 4, |rt| {
        let array = rt.array::<u64>(4)?;
        let (address, me) = (array.as_ptr() as u64, rt.my_pe());
        for pe in 0..4 {
            assert_eq!(rt.ptr(address, pe)?, (pe == me).then_some(address));
        }
        rt.barrier_all()?;
        if me == 0 {
            // The others only wait.
            let sent = || links.messages.load(Relaxed);
            let before = sent();
            rt.put(array.slice(0..1)?, &[1u64], 0)?;
            rt.atomic_add(array.at(1)?, 1, 0)?;
            rt.quiet()?;
            assert_eq!(sent(), before);
            for pe in 1..4 {
                let before = sent();
                rt.put(array.slice(0..1)?, &[5u64], pe)?;
                rt.atomic_add(array.at(1)?, 6, pe)?;
                assert!(sent() >= before + 2);
                // With the answer.
                assert_eq!(rt.g(array.at(0)?, pe)?, 5);
                assert!(sent() >= before + 4);
                let before = sent();
                rt.signal_op(array.at(2)?, 7, SignalOp::Set, pe)?;
                rt.quiet()?;
                assert!(sent() >= before + 3);
                let before = sent();
                rt.quiet()?;
                assert_eq!(sent(), before, "all is done");
            }
        }
        rt.barrier_all()?;
        if me != 0 {
            assert_eq!(array.to_vec()?, [5, 6, 7, 0]);
        }
        rt.finalize()
    });
}

#[test]
fn the_files_of_the_suite_get_it_too() {
    let plan = pool::Plan {
        setup: |rt| rt.array::<u64>(1),
        body: |rt, array, _: &u8| {
            let there = rt.ptr(array.as_ptr() as u64, (rt.my_pe() + 1) % 4).unwrap();
            assert_eq!(there, None);
        },
    };
    pool::check("messages", &[4], pool::share(1), plan, |_| {
        proptest::num::u8::ANY
    });
}

/// What a checked job holds back is delivered by messages.
#[test]
fn the_checker_goes_around_it() {
    let checked = InitAttr {
        check: Some(true),
        check_seed: Some(1),
        ..InitAttr::default()
    };
    local::run_with(4, &checked, |rt| {
        let array = rt.array::<u64>(3)?;
        let next = (rt.my_pe() + 1) % 4;
        for round in 1..20 {
            rt.put(array.slice(0..1)?, &[round], next)?;
            rt.put_signal(
                array.slice(1..2)?,
                &[round],
                array.at(2)?,
                round,
                SignalOp::Set,
                next,
            )?;
            rt.barrier_all()?;
            assert_eq!(array.to_vec()?, [round; 3]);
            rt.barrier_all()?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_pe_that_has_left_is_an_error() {
    let job = Job::new(2, &InitAttr::default()).unwrap();
    run(&job, 2, |rt| {
        let array = rt.array::<u64>(1)?;
        rt.barrier_all()?;
        if rt.my_pe() == 1 {
            rt.leave();
            return Ok(());
        }
        let error = loop {
            if let Err(error) = rt.g(array.at(0)?, 1) {
                break error;
            }
        };
        let text = error.to_string();
        assert!(text.contains("PE 1 takes no messages any more"), "{text}");
        assert!(rt.put(array.slice(0..1)?, &[1u64], 1).is_err());
        assert!(matches!(rt.barrier_all(), Err(Error::PeDied { pe: 1, .. })));
        Ok(())
    });
}

#[test]
fn who_waits_for_an_answer_hears_that_its_pe_is_gone() {
    let desk = Desk::new(3);
    let (_, of_1) = desk.ticket(1);
    let (ticket, of_2) = desk.ticket(2);
    desk.gone(1);
    assert!(of_1.recv().is_err());
    assert!(desk.ticket(1).1.recv().is_err());
    desk.answered(ticket, super::Data::zeroed(3));
    assert_eq!(of_2.recv().unwrap().get(), [0; 3]);
}

/// What an operation cannot say itself is said by the next meeting, on every PE.
#[test]
fn a_message_that_cannot_be_read_fails_the_next_meeting() {
    let job = Job::new(3, &InitAttr::default()).unwrap();
    let links = job
        .links()
        .expect("the job is made by a file of this folder");
    let sent = std::sync::Barrier::new(3);
    run(&job, 3, |rt| {
        let array = rt.array::<i64>(2)?;
        rt.barrier_all()?;
        if rt.my_pe() == 0 {
            links.to[1].send(vec![1, 2, 3]).unwrap();
            // The answer comes after it.
            rt.g(array.at(0)?, 1)?;
        }
        // None of the library's, which may notice.
        sent.wait();
        let sum = rt.reduce_array(
            Team::WORLD,
            &array.slice(1..2)?,
            &array.slice(0..1)?,
            Op::Sum,
        );
        let text = sum.unwrap_err().to_string();
        assert!(text.contains("cannot be read"), "{text}");
        assert!(rt.barrier_all().is_err(), "it stays");
        rt.finalize()
    });
}

#[test]
fn every_atomic_operation_travels() {
    let operations = [
        Atomic::Fetch,
        Atomic::Set(1),
        Atomic::Swap(2),
        Atomic::CompareSwap { cond: 3, value: 4 },
        Atomic::Add(5),
        Atomic::AddFloat(6),
        Atomic::And(7),
        Atomic::Or(8),
        Atomic::Xor(u64::MAX),
    ];
    for operation in operations {
        for width in [Width::Bits32, Width::Bits64] {
            let there = to_atomic(of_atomic(1 << 40, width, operation));
            assert_eq!(there, Some((1 << 40, width, operation)));
        }
    }
    assert_eq!(to_atomic([0, 5 << 8, 0, 0]), None);
    assert_eq!(to_atomic([0, 8 << 8 | 9, 0, 0]), None);
}
