//! Atomic memory operations of 1 to 8 PEs at once: no update is lost, data comes before its flag, and wrong arguments write nothing.
//! `tests/conformance/suite` has every operation on every type.

use nvshmemrs::{AtomicInteger, Error, Result, Runtime, SymElement, local};
use std::fmt::Debug;

const SIZES: [i32; 5] = [1, 2, 3, 4, 8];

#[test]
fn a_nan_travels_unchanged_and_spreads() {
    local::run(1, |rt| {
        let array = rt.array::<f64>(1)?;
        let place = array.at(0)?;
        let payload = f64::from_bits(0x7ff8_0000_0000_1234);
        rt.atomic_set(place, payload, 0)?;
        assert_eq!(rt.atomic_fetch(place, 0)?.to_bits(), payload.to_bits());
        assert_eq!(
            rt.atomic_swap(place, payload, 0)?.to_bits(),
            payload.to_bits()
        );
        rt.atomic_add(place, 1.0, 0)?;
        assert!(rt.atomic_fetch_add(place, -1.0, 0)?.is_nan());
        rt.finalize()
    })
    .unwrap();
}

/// All PEs at once on elements of the last PE.
fn together<T: AtomicInteger + Ord + Debug>(rt: &Runtime, number: impl Fn(i64) -> T) -> Result<()> {
    const ROUNDS: i64 = 400;
    let (me, n, last) = (i64::from(rt.my_pe()), i64::from(rt.n_pes()), rt.n_pes() - 1);
    let array = rt.array::<T>(8)?;
    // Every ticket is drawn once: each PE notes its own, and the notes are put together.
    let tickets = rt.array::<i32>((2 * ROUNDS * n) as usize)?;
    let note = |ticket: T| rt.atomic_inc(tickets.at(ticket.to_bits() as usize)?, last);
    for _ in 0..ROUNDS {
        note(rt.atomic_fetch_inc(array.at(0)?, last)?)?;
        note(rt.atomic_fetch_add(array.at(0)?, number(1), last)?)?;
        rt.atomic_inc(array.at(1)?, last)?;
        rt.atomic_add(array.at(2)?, number(-3), last)?;
        let mut old = rt.atomic_fetch(array.at(3)?, last)?;
        loop {
            let next = number(old.to_bits() as i64 + 1);
            match rt.atomic_compare_swap(array.at(3)?, old, next, last)? {
                seen if seen == old => break,
                seen => old = seen,
            }
        }
        // An odd number of times: one bit of each PE ends up set.
        let bit = number(1 << me);
        rt.atomic_xor(array.at(4)?, bit, last)?;
        rt.atomic_fetch_or(array.at(5)?, bit, last)?;
        assert_ne!(
            rt.atomic_fetch(array.at(5)?, last)?.to_bits() & (1 << me),
            0
        );
        rt.atomic_fetch_and(array.at(5)?, number(!(1 << me)), last)?;
    }
    rt.atomic_fetch_xor(array.at(4)?, number(1 << me), last)?;
    rt.atomic_or(array.at(5)?, number(1 << me), last)?;
    // A token that travels: a PE that takes a number out puts its own in.
    let token = rt.atomic_swap(array.at(6)?, number(me + 1), last)?;
    rt.barrier_all()?;
    let at = |index: usize| rt.g(array.at(index)?, last);
    assert_eq!(at(0)?, number(2 * ROUNDS * n));
    assert_eq!(at(1)?, number(ROUNDS * n));
    assert_eq!(at(2)?, number(-3 * ROUNDS * n));
    assert_eq!(at(3)?, number(ROUNDS * n));
    assert_eq!(at(4)?, number((1 << n) - 1));
    assert_eq!(at(5)?, number((1 << n) - 1));
    assert_eq!(at(7)?, number(0));
    if rt.my_pe() == last {
        assert!(tickets.to_vec()?.iter().all(|&drawn| drawn == 1));
    }
    // The numbers taken out and the number left are the first value and one of each PE.
    let held = rt.array::<i64>(n as usize + 1)?;
    rt.p(held.at(me as usize)?, token.to_bits() as i64, last)?;
    rt.barrier_all()?;
    if rt.my_pe() == last {
        held.store(n as usize, at(6)?.to_bits() as i64)?;
        let mut all = held.to_vec()?;
        all.sort_unstable();
        assert_eq!(all, (0..=n).collect::<Vec<i64>>());
    }
    rt.free_array(held)?;
    rt.free_array(tickets)?;
    rt.free_array(array)
}

#[test]
fn no_update_is_lost() {
    for n in SIZES {
        local::run(n, |rt| {
            together(&rt, |number| number as i32)?;
            together(&rt, |number| number as u32)?;
            together(&rt, |number| number)?;
            together(&rt, |number| number as u64)?;
            // Small whole numbers add exactly, in any order.
            let (floats, doubles) = (rt.array::<f32>(3)?, rt.array::<f64>(3)?);
            for _ in 0..1000 {
                rt.atomic_add(floats.at(1)?, 1.0, 0)?;
                rt.atomic_fetch_add(doubles.at(1)?, 0.5, 0)?;
            }
            rt.barrier_all()?;
            if rt.my_pe() == 0 {
                assert_eq!(floats.to_vec()?, [0.0, 1000.0 * n as f32, 0.0]);
                assert_eq!(doubles.to_vec()?, [0.0, 500.0 * f64::from(n), 0.0]);
            }
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn who_reads_the_flag_sees_the_data() {
    local::run(2, |rt| {
        let data = rt.array::<u64>(64)?;
        let flag = rt.array::<i32>(2)?;
        let other = 1 - rt.my_pe();
        for round in 1..=2000 {
            rt.put(data.all(), &[round as u64; 64], other)?;
            match round % 3 {
                0 => rt.atomic_set(flag.at(0)?, round, other)?,
                1 => drop(rt.atomic_swap(flag.at(0)?, round, other)?),
                _ => rt.atomic_inc(flag.at(0)?, other)?,
            }
            while rt.atomic_fetch(flag.at(0)?, rt.my_pe())? < round {
                std::thread::yield_now();
            }
            let copy = data.to_vec()?;
            assert!(
                copy.iter().all(|&value| value == round as u64),
                "round {round}"
            );
            rt.atomic_inc(flag.at(1)?, other)?;
            while rt.atomic_fetch(flag.at(1)?, rt.my_pe())? < round {
                std::thread::yield_now();
            }
        }
        rt.finalize()
    })
    .unwrap();
}

/// Every operation, on an element of the operation's type.
fn all_on<T: AtomicInteger>(rt: &Runtime, to: SymElement<T>, value: T, pe: i32) -> Vec<Error> {
    let unit = [
        rt.atomic_set(to, value, pe),
        rt.atomic_inc(to, pe),
        rt.atomic_add(to, value, pe),
        rt.atomic_and(to, value, pe),
        rt.atomic_or(to, value, pe),
        rt.atomic_xor(to, value, pe),
    ];
    let old = [
        rt.atomic_fetch(to, pe),
        rt.atomic_swap(to, value, pe),
        rt.atomic_compare_swap(to, T::zeroed(), value, pe),
        rt.atomic_fetch_inc(to, pe),
        rt.atomic_fetch_add(to, value, pe),
        rt.atomic_fetch_and(to, value, pe),
        rt.atomic_fetch_or(to, value, pe),
        rt.atomic_fetch_xor(to, value, pe),
    ];
    let errors: Vec<Error> = unit
        .into_iter()
        .filter_map(Result::err)
        .chain(old.into_iter().filter_map(Result::err))
        .collect();
    assert_eq!(errors.len(), 14, "an operation was accepted");
    errors
}

#[test]
fn wrong_arguments_write_nothing() {
    local::run(2, |rt| {
        let n = rt.n_pes();
        let array = rt.array::<i64>(2)?;
        array.write(0, &[5, 6])?;
        rt.barrier_all()?;
        for pe in [-1, n, i32::MIN, i32::MAX] {
            for error in all_on(&rt, array.at(0)?, 9, pe) {
                assert!(
                    matches!(error, Error::PeRange { argument: "pe", pe: given, .. } if given == i64::from(pe)),
                    "{error}"
                );
            }
            assert!(rt.atomic_add(rt.element::<f32>("dest", array.as_ptr() as u64)?, 1.0, pe).is_err());
        }
        // A place of another runtime's larger heap.
        local::run_with(1, &nvshmemrs::InitAttr { heap_bytes: Some(1 << 30), ..Default::default() }, |large| {
            let far = large.array::<u8>(1 << 29)?;
            let place = large.array::<i64>(1)?;
            let small = local::Job::new(1, &nvshmemrs::InitAttr { heap_bytes: Some(1 << 16), ..Default::default() })?;
            let small = small.join(0)?;
            for error in all_on(&small, place.at(0)?, 9, 0) {
                assert!(error.to_string().contains("symmetric memory of this runtime"), "{error}");
            }
            small.finalize()?;
            drop(far);
            large.finalize()
        })?;
        rt.barrier_all()?;
        assert_eq!(array.to_vec()?, [5, 6]);

        // As a C caller passes addresses.
        let base = array.as_ptr() as u64;
        let unaligned = rt.element::<u64>("dest", base + 4).unwrap_err();
        assert!(unaligned.to_string().contains("multiple of 8"), "{unaligned}");
        assert!(rt.element::<u32>("dest", base + 4).is_ok());
        let unaligned = rt.element::<f32>("dest", base + 2).unwrap_err();
        assert!(unaligned.to_string().contains("multiple of 4"), "{unaligned}");
        assert_eq!(rt.element::<u32>("dest", base + 16).unwrap_err().status(), 13);
        assert_eq!(
            rt.element::<f64>("dest", base + 12).unwrap_err(),
            Error::OutOfBounds { argument: "dest", start: 12, bytes: 8, limit: 16 }
        );
        let local = 0u64;
        for address in [0, &raw const local as u64] {
            assert_eq!(rt.element::<u64>("dest", address).unwrap_err().status(), 4);
        }
        rt.finalize()
    })
    .unwrap();
}
