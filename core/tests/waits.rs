//! Waits and tests for every comparison, type and form, on 1 to 8 PEs, and their selection of elements against a plain model.

use nvshmemrs::{Cmp, InitAttr, Result, Runtime, SignalOp, SymArray, WaitElement, local};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::{Duration, Instant};

const SIZES: [i32; 5] = [1, 2, 3, 4, 8];

/// The meaning of a comparison, in other terms than the library's.
fn holds<T: PartialOrd>(cmp: Cmp, left: T, right: T) -> bool {
    use Ordering::{Equal, Greater, Less};
    match (cmp, left.partial_cmp(&right)) {
        (Cmp::Eq, order) => order == Some(Equal),
        (Cmp::Ne, order) => order != Some(Equal),
        (Cmp::Gt, order) => order == Some(Greater),
        (Cmp::Lt, order) => order == Some(Less),
        (Cmp::Ge, order) => matches!(order, Some(Greater | Equal)),
        (Cmp::Le, order) => matches!(order, Some(Less | Equal)),
    }
}

/// The indices that hold, by the model.
fn model<T: PartialOrd + Copy>(
    elements: &[T],
    status: Option<&[i32]>,
    cmp: Cmp,
    values: &[T],
) -> Vec<usize> {
    (0..elements.len())
        .filter(|&index| status.is_none_or(|status| status[index] == 0))
        .filter(|&index| holds(cmp, elements[index], values[index]))
        .collect()
}

/// Compares every form with the model. Waits are called where they can end.
fn forms<T: WaitElement + Debug>(
    rt: &Runtime,
    array: &SymArray<T>,
    status: Option<&[i32]>,
    cmp: Cmp,
    values: &[T],
) -> Result<()> {
    let elements = array.to_vec()?[..values.len()].to_vec();
    let ivars = array.slice(..values.len())?;
    let set = (0..values.len())
        .filter(|&index| status.is_none_or(|status| status[index] == 0))
        .count();
    let check = |holding: &[usize], vector: bool, value: Option<T>| -> Result<()> {
        let what =
            format!("{cmp:?} of {elements:?} to {values:?}, status {status:?}, vector {vector}");
        let (all, any, some) = match value {
            Some(value) => (
                rt.test_all(&ivars, status, cmp, value)?,
                rt.test_any(&ivars, status, cmp, value)?,
                rt.test_some(&ivars, status, cmp, value)?,
            ),
            None => (
                rt.test_all_vector(&ivars, status, cmp, values)?,
                rt.test_any_vector(&ivars, status, cmp, values)?,
                rt.test_some_vector(&ivars, status, cmp, values)?,
            ),
        };
        assert_eq!(all, holding.len() == set, "test_all: {what}");
        let one_of = |any: Option<usize>| match any {
            Some(index) => holding.contains(&index),
            None => holding.is_empty(),
        };
        assert!(one_of(any), "test_any: {any:?} of {what}");
        assert_eq!(some, holding, "test_some: {what}");
        if holding.len() == set {
            match value {
                Some(value) => rt.wait_until_all(&ivars, status, cmp, value)?,
                None => rt.wait_until_all_vector(&ivars, status, cmp, values)?,
            }
        }
        if set == 0 || !holding.is_empty() {
            let (any, some) = match value {
                Some(value) => (
                    rt.wait_until_any(&ivars, status, cmp, value)?,
                    rt.wait_until_some(&ivars, status, cmp, value)?,
                ),
                None => (
                    rt.wait_until_any_vector(&ivars, status, cmp, values)?,
                    rt.wait_until_some_vector(&ivars, status, cmp, values)?,
                ),
            };
            assert!(one_of(any), "wait_until_any: {any:?} of {what}");
            assert_eq!(some, holding, "wait_until_some: {what}");
        }
        // Every call of a series gives another index, until all have come.
        for waits in [false, true] {
            let mut series = Vec::new();
            for _ in holding {
                series.extend(match (waits, value) {
                    (false, Some(value)) => rt.test_any(&ivars, status, cmp, value)?,
                    (false, None) => rt.test_any_vector(&ivars, status, cmp, values)?,
                    (true, Some(value)) => rt.wait_until_any(&ivars, status, cmp, value)?,
                    (true, None) => rt.wait_until_any_vector(&ivars, status, cmp, values)?,
                });
            }
            series.sort_unstable();
            assert_eq!(series, holding, "waits {waits}: {what}");
        }
        Ok(())
    };
    check(&model(&elements, status, cmp, values), true, None)?;
    if let Some(&value) = values.first() {
        let same = vec![value; values.len()];
        check(&model(&elements, status, cmp, &same), false, Some(value))?;
        for (index, &element) in elements.iter().enumerate() {
            let expected = holds(cmp, element, value);
            assert_eq!(
                rt.test(array.at(index)?, cmp, value)?,
                expected,
                "test: {element:?} {cmp:?} {value:?}"
            );
            if expected {
                rt.wait_until(array.at(index)?, cmp, value)?;
            }
        }
    }
    Ok(())
}

fn every_form<T: WaitElement + Debug>(rt: &Runtime, samples: [T; 4]) -> Result<()> {
    let array = rt.array::<T>(4)?;
    array.write(0, &samples)?;
    let [a, b, c, d] = samples;
    for cmp in Cmp::ALL {
        for values in [[a, b, c, d], [d, c, b, a], [b, b, b, b], [c, a, d, b]] {
            for status in [
                None,
                Some([0; 4]),
                Some([1, 0, -1, 0]),
                Some([0, 7, 0, i32::MIN]),
                Some([1; 4]),
            ] {
                forms(
                    rt,
                    &array,
                    status.as_ref().map(|status| &status[..]),
                    cmp,
                    &values,
                )?;
            }
        }
        forms(rt, &array, None, cmp, &[])?;
        forms(rt, &array, Some(&[]), cmp, &[])?;
    }
    rt.free_array(array)
}

#[test]
fn every_comparison_type_and_form() {
    for n in SIZES {
        local::run(n, |rt| {
            every_form(&rt, [i8::MIN, -1, 0, i8::MAX])?;
            every_form(&rt, [i16::MIN, -1, 0, i16::MAX])?;
            every_form(&rt, [i32::MIN, -1, 0, i32::MAX])?;
            every_form(&rt, [i64::MIN, -1, 0, i64::MAX])?;
            every_form(&rt, [0u8, 1, 128, u8::MAX])?;
            every_form(&rt, [0u16, 1, 1 << 15, u16::MAX])?;
            every_form(&rt, [0u32, 1, 1 << 31, u32::MAX])?;
            every_form(&rt, [0u64, 1, 1 << 63, u64::MAX])?;
            every_form(&rt, [f32::NEG_INFINITY, -0.0, 0.0, f32::NAN])?;
            every_form(&rt, [f64::NEG_INFINITY, -1e-300, f64::MAX, f64::NAN])?;
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn the_selection_is_that_of_the_model() {
    local::run(1, |rt| {
        let array = rt.array::<i16>(40)?;
        let one = (
            -2i16..3,
            prop_oneof![3 => Just(0), 1 => any::<i32>()],
            -2i16..3,
        );
        let case = (prop::collection::vec(one, 0..40), 0..6usize, any::<bool>());
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::with_cases(2000)
        });
        let outcome = runner.run(&case, |(set, cmp, with_status)| {
            let elements: Vec<i16> = set.iter().map(|one| one.0).collect();
            let status: Vec<i32> = set.iter().map(|one| one.1).collect();
            let values: Vec<i16> = set.iter().map(|one| one.2).collect();
            array.write(0, &elements).unwrap();
            let status = with_status.then_some(&status[..]);
            forms(&rt, &array, status, Cmp::ALL[cmp], &values).unwrap();
            Ok(())
        });
        outcome.unwrap();
        rt.finalize()
    })
    .unwrap();
}

/// More series at once than a thread remembers, over arrays of many lengths, by two threads and on a stream: each comes to all indices that
/// hold, also where the calls of one form come between those of another one.
#[test]
fn series_in_turn_come_to_every_index() {
    const ARRAYS: usize = 20;
    const ROUNDS: usize = 3000;
    fn rounds(rt: &Runtime, arrays: &[(u64, usize)]) -> Result<()> {
        let mut missing: Vec<[Vec<bool>; 4]> = arrays
            .iter()
            .map(|&(_, len)| [const { Vec::new() }; 4].map(|_: Vec<bool>| vec![true; len]))
            .collect();
        for round in 0..ROUNDS {
            for (&(start, len), missing) in arrays.iter().zip(&mut missing) {
                let ivars = rt.elements::<i32>("ivars", start, len)?;
                let ones = vec![1; len];
                let found = [
                    rt.test_any(&ivars, None, Cmp::Eq, 1)?,
                    rt.test_any_vector(&ivars, None, Cmp::Ge, &ones)?,
                    rt.wait_until_any(&ivars, None, Cmp::Eq, 1)?,
                    rt.wait_until_any_vector(&ivars, Some(&vec![0; len]), Cmp::Ne, &vec![0; len])?,
                ];
                for (missing, found) in missing.iter_mut().zip(found) {
                    missing[found.expect("all hold")] = false;
                }
            }
            if !missing.iter().flatten().flatten().any(|&missing| missing) {
                return Ok(());
            }
            assert!(round < ROUNDS - 1, "not all have come: {missing:?}");
        }
        Ok(())
    }
    local::run(1, |rt| {
        let arrays = (0..ARRAYS)
            .map(|at| rt.array::<i32>(1 + at % 7))
            .collect::<Result<Vec<_>>>()?;
        let mut places = Vec::new();
        for array in &arrays {
            array.write(0, &vec![1; array.len()])?;
            places.push((array.as_ptr() as u64, array.len()));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| rounds(&rt, &places).unwrap());
            rounds(&rt, &places)
        })?;
        let stream = rt.stream()?;
        let queued = places.clone();
        stream.run(move |rt| rounds(rt, &queued))?;
        drop(stream);
        rt.finalize()
    })
    .unwrap();
}

/// Each PE waits for writes of its left neighbour, in every way of writing.
fn woken<T: WaitElement + Debug>(rt: &Runtime, start: T, end: T) -> Result<()> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let right = (me + 1) % n;
    let array = rt.array::<T>(5)?;
    for form in 0..7 {
        array.write(0, &[start; 5])?;
        rt.barrier_all()?;
        // Half of the waits begin before the value comes.
        if (me + form) % 2 == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
        if form % 2 == 0 {
            rt.p(array.at(3)?, end, right)?;
        } else {
            rt.put(array.slice(3..4)?, &[end], right)?;
        }
        let (ivars, last) = (array.all(), array.slice(3..)?);
        let mut values = [end; 5];
        values[4] = start;
        match form {
            0 => rt.wait_until(array.at(3)?, Cmp::Eq, end)?,
            1 => rt.wait_until_all(&last, Some(&[0, 1]), Cmp::Ge, end)?,
            2 => assert_eq!(rt.wait_until_any(&ivars, None, Cmp::Gt, start)?, Some(3)),
            3 => assert_eq!(
                rt.wait_until_some(&ivars, Some(&[0, 1, 0, 0, 0]), Cmp::Ne, start)?,
                [3]
            ),
            4 => rt.wait_until_all_vector(&last, None, Cmp::Eq, &values[3..])?,
            5 => assert_eq!(
                rt.wait_until_any_vector(&ivars, Some(&[0, 0, 0, 0, 9]), Cmp::Eq, &values)?,
                Some(3)
            ),
            _ => assert_eq!(
                rt.wait_until_some_vector(&ivars, Some(&[0, 0, 0, 0, 9]), Cmp::Eq, &values)?,
                [3]
            ),
        }
        assert_eq!(array.load(3)?, end);
        // A put orders nothing but itself: a copy of several elements needs a barrier first.
        rt.barrier_all()?;
        assert_eq!(array.to_vec()?, [start, start, start, end, start]);
    }
    rt.free_array(array)
}

#[test]
fn a_value_that_comes_ends_the_wait() {
    for n in SIZES {
        local::run(n, |rt| {
            woken(&rt, -5i8, 3)?;
            woken(&rt, -5i16, 3)?;
            woken(&rt, -5i32, 3)?;
            woken(&rt, i64::MIN, -3)?;
            woken(&rt, 0u8, 255)?;
            woken(&rt, 0u16, 1 << 15)?;
            woken(&rt, 0u32, 1 << 31)?;
            woken(&rt, 0u64, 1 << 63)?;
            woken(&rt, -1.5f32, 0.0)?;
            woken(&rt, f64::MIN, 1e-300)?;
            rt.finalize()
        })
        .unwrap();
    }
}

#[test]
fn atomics_and_signals_end_waits_and_bring_the_data() {
    local::run(3, |rt| {
        let right = (rt.my_pe() + 1) % rt.n_pes();
        let data = rt.array::<i64>(100)?;
        let (word, wide) = (rt.array::<i32>(4)?, rt.array::<u64>(4)?);
        for round in 1..=300 {
            rt.put(data.all(), &[i64::from(round); 100], right)?;
            match round % 4 {
                0 => {
                    rt.atomic_inc(word.at(2)?, right)?;
                    rt.atomic_add(wide.at(2)?, 1, right)?;
                }
                1 => {
                    rt.atomic_set(word.at(2)?, round, right)?;
                    rt.signal_op(wide.at(2)?, 1, SignalOp::Add, right)?;
                }
                2 => {
                    rt.atomic_swap(word.at(2)?, round, right)?;
                    rt.signal_op(wide.at(2)?, round as u64, SignalOp::Set, right)?;
                }
                _ => {
                    rt.atomic_compare_swap(word.at(2)?, round - 1, round, right)?;
                    rt.atomic_set(wide.at(2)?, round as u64, right)?;
                }
            }
            assert_eq!(
                rt.wait_until_any(&word.all(), None, Cmp::Ge, round)?,
                Some(2)
            );
            assert!(
                data.to_vec()?
                    .iter()
                    .all(|&value| value == i64::from(round))
            );
            rt.wait_until(wide.at(2)?, Cmp::Ge, round as u64)?;
            rt.barrier_all()?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn elements_may_hold_one_after_the_other() {
    local::run(2, |rt| {
        let ivars = rt.array::<u8>(100)?;
        if rt.my_pe() == 0 {
            for index in (0..100).rev() {
                if index % 25 == 0 {
                    std::thread::sleep(Duration::from_millis(3));
                }
                rt.p(ivars.at(index)?, 1, 1)?;
            }
        } else {
            // Takes out all arrived numbers until nothing is left, and misses none.
            let mut status = [0; 100];
            let mut left = 100;
            while left > 0 {
                let some = rt.wait_until_some(&ivars.all(), Some(&status), Cmp::Eq, 1)?;
                assert!(!some.is_empty() && some.is_sorted());
                left -= some.len();
                for index in some {
                    assert_eq!(std::mem::replace(&mut status[index], 1), 0);
                }
            }
            assert_eq!(
                rt.wait_until_any(&ivars.all(), Some(&status), Cmp::Eq, 1)?,
                None
            );
            rt.wait_until_all(&ivars.all(), None, Cmp::Eq, 1)?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_deadline_names_elements_and_values() {
    let limit = Duration::from_millis(60);
    let attr = InitAttr {
        timeout: Some(limit),
        ..Default::default()
    };
    local::run_with(1, &attr, |rt| {
        let ivars = rt.array::<i32>(5)?;
        ivars.write(0, &[9, 9, -3, 9, -4])?;
        let floats = rt.array::<f64>(1)?;
        floats.store(0, -0.5)?;
        let small = rt.array::<i8>(3)?;
        small.write(0, &[-7; 3])?;
        let at = |offset: u64| format!("at byte {offset:#x} of its symmetric heap");
        let start = at(ivars.all().range().offset());
        let fourth = at(ivars.at(4)?.offset());
        let tail = at(ivars.slice(2..)?.range().offset());
        let all = ivars.all();
        let cases = [
            (
                "wait_until",
                rt.wait_until(ivars.at(4)?, Cmp::Ge, -2),
                format!("waits for the int32 element {fourth} to be >= -2, sees -4"),
            ),
            (
                "wait_until",
                rt.wait_until(floats.at(0)?, Cmp::Gt, 0.25),
                format!("waits for the float64 element {} to be > 0.25, sees -0.5", at(floats.at(0)?.offset())),
            ),
            (
                "wait_until_all",
                rt.wait_until_all(&all, None, Cmp::Eq, 9),
                format!(
                    "waits for all of the 5 int32 elements {start}; the first that does not hold yet, element 2, is to be == 9, sees -3"
                ),
            ),
            (
                "wait_until_all_vector",
                rt.wait_until_all_vector(&all, Some(&[0, 0, 1, 0, 0]), Cmp::Eq, &[9, 9, 9, 9, -5]),
                format!(
                    "waits for all of the 5 int32 elements {start}; the first that does not hold yet, element 4, is to be == -5, sees -4"
                ),
            ),
            (
                "wait_until_any",
                rt.wait_until_any(&ivars.slice(2..)?, Some(&[1, 0, 0]), Cmp::Lt, -4).map(drop),
                format!(
                    "waits for any of the 3 int32 elements {tail}; the first that does not hold yet, element 1, is to be < -4, sees 9"
                ),
            ),
            (
                "wait_until_all",
                rt.wait_until_all(&ivars.slice(4..)?, None, Cmp::Ge, -2),
                format!("waits for the int32 element {fourth} to be >= -2, sees -4"),
            ),
            (
                "wait_until_some_vector",
                rt.wait_until_some_vector(&small.all(), None, Cmp::Gt, &[-7, 0, 0]).map(drop),
                format!(
                    "waits for any of the 3 int8 elements {}; the first that does not hold yet, element 0, is to be > -7, sees -7",
                    at(small.all().range().offset())
                ),
            ),
        ];
        for (operation, result, expected) in cases {
            let error = result.unwrap_err();
            assert_eq!(error.status(), 16);
            let text = error.to_string();
            assert!(text.starts_with(&format!("`{operation}` of PE 0 gave up after ")), "{text}");
            assert!(text.contains(&expected), "{text}\nlacks\n{expected}");
            assert!(text.contains("the limit that the timeout given to init sets"), "{text}");
        }
        let start = Instant::now();
        assert!(rt.wait_until_all(&all, None, Cmp::Lt, 0).is_err());
        assert!(start.elapsed() >= limit);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn the_board_shows_the_element_that_is_missing() {
    local::run(2, |rt| {
        let ivars = rt.array::<i16>(6)?;
        if rt.my_pe() == 1 {
            rt.wait_until_all_vector(&ivars.all(), None, Cmp::Ge, &[0, 0, 0, -1, 5, 0])?;
        } else {
            let start = Instant::now();
            let wait = loop {
                let waits = rt.board().waits();
                if let Some(wait) = waits
                    .iter()
                    .find(|wait| wait.actual == "0" && wait.expected == ">= 5")
                {
                    break wait.clone();
                }
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "the board shows {waits:?}"
                );
                std::thread::sleep(Duration::from_millis(2));
            };
            assert_eq!(
                (wait.pe, wait.operation.as_str()),
                (1, "wait_until_all_vector")
            );
            assert_eq!(wait.team, None);
            assert!(
                wait.target.contains("all of the 6 int16 elements")
                    && wait.target.contains("element 4, is to be >= 5"),
                "{wait:?}"
            );
            rt.p(ivars.at(4)?, 5, 1)?;
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn wrong_arguments_name_argument_and_limit() {
    local::run(1, |rt| {
        let ivars = rt.array::<u16>(4)?;
        let all = ivars.all();
        for error in [
            rt.wait_until_all(&all, Some(&[0; 3]), Cmp::Eq, 0)
                .unwrap_err(),
            rt.test_any(&all, Some(&[0; 5]), Cmp::Eq, 0).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                text.contains("`status`")
                    && text.contains("a slice of 4 elements, as many as `ivars` has"),
                "{text}"
            );
        }
        let error = rt.test_some_vector(&all, None, Cmp::Eq, &[1]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("argument `values` is a slice of 1 element;"),
            "{error}"
        );

        // As a C caller passes addresses.
        let base = ivars.as_ptr() as u64;
        assert_eq!(rt.elements::<u16>("ivars", base, 4)?.len(), 4);
        assert_eq!(rt.elements::<u16>("ivars", 0, 0)?.len(), 0);
        let unaligned = rt.elements::<u32>("ivars", base + 2, 1).unwrap_err();
        assert!(
            unaligned.to_string().contains("multiple of 4"),
            "{unaligned}"
        );
        for count in [5, usize::MAX, usize::MAX / 2 + 1] {
            let error = rt.elements::<u16>("ivars", base, count).unwrap_err();
            assert_eq!(error.status(), 13, "{error}");
        }
        let local = [0u16; 4];
        let error = rt
            .elements::<u16>("ivars", local.as_ptr() as u64, 4)
            .unwrap_err();
        assert_eq!(error.status(), 4, "{error}");
        rt.finalize()
    })
    .unwrap();
}
