//! `nvshmemrs.hpp` from Rust, through cxx: PEs that are threads do the same as a plain model, and a C++ exception is an error here.

use nvshmemrs_tests_cxx::bridge::{Pe, make_job};
use std::pin::Pin;
use std::thread;

/// Elements of each PE's array.
const SIZE: usize = 24;

/// Runs `body` as each PE of a job, and checks finalize afterwards.
fn on_pes(n_pes: i32, body: impl Fn(Pin<&mut Pe>) + Sync) {
    let job = make_job(n_pes).expect("a job");
    let (job, body) = (&job, &body);
    thread::scope(|threads| {
        for number in 0..n_pes {
            threads.spawn(move || {
                let mut pe = job.join(number, SIZE).expect("a PE");
                assert_eq!(pe.my_pe().expect("its number"), number);
                assert_eq!(pe.n_pes().expect("their number"), n_pes);
                body(pe.pin_mut());
                pe.pin_mut().free().expect("free");
                pe.pin_mut().finalize().expect("finalize");
                let again = pe.pin_mut().finalize().expect_err("there is no job");
                assert_text(&again, "this `runtime` is in no job");
            });
        }
    });
}

#[track_caller]
fn assert_text(error: &cxx::Exception, part: &str) {
    assert!(error.what().contains(part), "{error} has no {part:?}");
}

/// Numbers that every PE draws alike.
struct Draw(u64);

impl Draw {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005);
        self.0 = self.0.wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn values(&mut self, count: usize) -> Vec<i64> {
        (0..count).map(|_| self.below(1000) as i64 - 500).collect()
    }
}

/// One operation, by one PE or by all; `model` has the arrays of all PEs, and is updated to their expected contents.
fn step(pe: Pin<&mut Pe>, draw: &mut Draw, model: &mut [Vec<i64>]) {
    let me = pe.my_pe().expect("its number") as usize;
    let n = model.len();
    let (actor, target) = (draw.below(n), draw.below(n));
    let to = target as i32;
    let count = 1 + draw.below(SIZE / 3);
    // Two parts of the array that do not overlap.
    let first = draw.below(SIZE / 3);
    let second = SIZE / 3 + first;
    let values = draw.values(count);
    match draw.below(7) {
        0 => {
            if me == actor {
                pe.put(to, first, &values).expect("put");
            }
            model[target][first..][..count].copy_from_slice(&values);
        }
        1 => {
            if me == actor {
                pe.put_element(to, first, values[0]).expect("put of one");
            }
            model[target][first] = values[0];
        }
        2 => {
            if me == actor {
                let found = pe.get(to, second, count).expect("get");
                assert_eq!(found, model[target][second..][..count]);
            }
        }
        3 => {
            // All at once: the sum counts.
            pe.fetch_add(to, second, values[0]).expect("fetch_add");
            model[target][second] += values[0] * n as i64;
        }
        4 => {
            let sent = draw.below(1 << 20) as u64;
            if me == actor {
                pe.put_signal(to, first, &values, sent).expect("put_signal");
            }
            if me == target {
                pe.wait_signal(sent).expect("a signal");
                assert_eq!(pe.own()[first..][..count], values);
            }
            model[target][first..][..count].copy_from_slice(&values);
        }
        5 => {
            pe.broadcast(second, 0, count, actor as i32)
                .expect("broadcast");
            let given = model[actor][..count].to_vec();
            for row in model {
                row[second..][..count].copy_from_slice(&given);
            }
        }
        _ => {
            pe.sum(second, 0, count, count).expect("sum");
            for index in 0..count {
                let sum = model.iter().map(|row| row[index]).sum();
                model.iter_mut().for_each(|row| row[second + index] = sum);
            }
        }
    }
}

#[test]
fn what_threads_do_through_the_layer_is_what_a_model_does() {
    for n_pes in [1, 2, 3] {
        on_pes(n_pes, |mut pe| {
            let me = pe.my_pe().expect("its number") as usize;
            let mut model = vec![vec![0; SIZE]; n_pes as usize];
            let mut draw = Draw(n_pes as u64);
            for round in 0..200 {
                step(pe.as_mut(), &mut draw, &mut model);
                pe.barrier().expect("barrier");
                assert_eq!(pe.own(), model[me], "PE {me}, round {round}");
                // Nobody writes before all have looked.
                pe.barrier().expect("barrier");
            }
        });
    }
}

#[test]
fn what_the_layer_throws_is_an_error_with_its_text() {
    on_pes(3, |pe| {
        let error = pe.put(3, 0, &[1]).expect_err("there are PEs 0 to 2");
        assert_text(&error, "`pe`");
        let error = pe.put_element(0, SIZE, 1).expect_err("past the end");
        assert_text(&error, "argument `index` is 24; it must be less than 24");
        let error = pe.get(0, 20, 5).expect_err("past the end");
        assert_text(&error, "argument `array` has 24 elements");
        let error = pe.broadcast(12, 0, 4, 7).expect_err("no member 7");
        assert_text(&error, "`root`");

        // Ranges that do not fit on one PE: all hear of it, and none waits for ever.
        let last = pe.my_pe().expect("its number") == 2;
        let room = if last { 3 } else { 4 };
        let error = pe.sum(12, 0, 4, room).expect_err("no room on PE 2");
        let part = match last {
            true => "argument `dest` has 3 elements",
            false => "PE 2",
        };
        assert_text(&error, part);
        assert_eq!(pe.own(), [0; SIZE]);
        pe.barrier().expect("barrier");
    });
    let error = make_job(0).err().expect("a job without PEs");
    assert_text(&error, "`n_pes`");
}
