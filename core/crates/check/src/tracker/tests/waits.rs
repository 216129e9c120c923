//! Waits that can miss their value.

use super::*;

/// The value that PE 1 waits for is replaced before, while or after it waits.
fn missed(cmp: Cmp, value: u64, first: fn(At<'_>), second: fn(At<'_>)) -> Vec<Vec<(Pe, Problem)>> {
    (0..3)
        .map(|when| {
            job!(job: a, b, c);
            match when {
                0 => {
                    first(a);
                    second(c);
                    b.wait_begins(FLAG, cmp, value);
                }
                1 => {
                    b.wait_begins(FLAG, cmp, value);
                    first(a);
                    second(c);
                }
                _ => {
                    b.wait_begins(FLAG, cmp, value);
                    first(a);
                    if cmp.holds(job.word(1, FLAG), value) {
                        b.wait_over(FLAG, cmp, value);
                    }
                    second(c);
                }
            }
            job.found()
        })
        .collect()
}

#[test]
fn an_equal_that_is_passed_over() {
    let add = |at: At<'_>| at.signal(1, FLAG, Effect::Add(1));
    let found = missed(Cmp::Eq, 1, add, add);
    let by = |pe| vec![(pe, Problem::Missed)];
    assert_eq!(found, [by(1), by(2), by(2)]);
}

#[test]
fn at_least_is_not_passed_over() {
    let add = |at: At<'_>| at.signal(1, FLAG, Effect::Add(1));
    for found in missed(Cmp::Ge, 1, add, add) {
        assert_eq!(found, []);
    }
}

#[test]
fn the_last_value_is_not_missed() {
    let add = |at: At<'_>| at.signal(1, FLAG, Effect::Add(1));
    for found in missed(Cmp::Eq, 2, add, add) {
        assert_eq!(found, []);
    }
}

#[test]
fn set_and_set_again() {
    let one = |at: At<'_>| at.atomic(1, FLAG, Effect::Set(1));
    let two = |at: At<'_>| at.atomic(1, FLAG, Effect::Set(2));
    for (found, by) in missed(Cmp::Eq, 1, one, two).into_iter().zip([1, 2, 2]) {
        assert_eq!(found, [(by, Problem::Missed)]);
    }
    for found in missed(Cmp::Ne, 0, one, two) {
        assert_eq!(found, []);
    }
}

#[test]
fn a_mark_that_the_waiter_has_set_is_not_missed() {
    // As in the queue of a lock: the owner marks its word, the PE ahead takes the mark away, and the PE behind brings its number.
    job!(job: a, b, c);
    c.atomic(1, FLAG, Effect::Add(3));
    b.swap(1, FLAG, 0);
    b.atomic(1, FLAG, Effect::Set(8));
    a.atomic(1, FLAG, Effect::Set(0));
    b.wait(FLAG, Cmp::Eq, 0);
    b.wait_begins(FLAG, Cmp::Ne, 0);
    c.atomic(1, FLAG, Effect::Add(3));
    b.wait_over(FLAG, Cmp::Ne, 0);
    assert_eq!(job.found(), []);
}

#[test]
fn a_put_flag_is_replaced() {
    job!(job: a, b);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    a.p(1, FLAG, 1);
    b.wait_over(FLAG, Cmp::Eq, 1);
    a.p(1, FLAG, 2);
    let text = job.one(0, Problem::Missed);
    assert!(
        text.contains("PE 1 waits until it is == 1; 1 is, but PE 0 makes it 2"),
        "{text}"
    );
}

#[test]
fn put_flags_in_a_row_are_noticed_by_who_comes_late() {
    // Words that are only put are watched from the first wait for them on.
    job!(job: a, b);
    b.wait(FLAG, Cmp::Eq, 0);
    job.barrier();
    a.p(1, FLAG, 1);
    a.p(1, FLAG, 2);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    job.one(1, Problem::Missed);
}

#[test]
fn a_wait_that_was_lucky_is_not_forgotten_by_the_next_one() {
    job!(job: a, b, c);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    a.signal(1, FLAG, Effect::Add(1));
    b.wait_over(FLAG, Cmp::Eq, 1);
    b.wait_begins(FLAG, Cmp::Ge, 2);
    c.signal(1, FLAG, Effect::Add(1));
    b.wait_over(FLAG, Cmp::Ge, 2);
    let text = job.one(2, Problem::Missed);
    assert!(text.contains("waits until it is == 1"), "{text}");
}

#[test]
fn two_halves_of_a_word_are_waited_for() {
    job!(job: a, b);
    let wait = |offset| {
        b.tracker()
            .wait_begins(offset, Dtype::Uint32, Cmp::Eq, 1, 0)
    };
    wait(FLAG);
    wait(FLAG + 4);
    b.tracker().wait_ends(FLAG, true);
    b.tracker().wait_ends(FLAG + 4, false);
    let set = |offset, value| {
        let site = a.here("p");
        a.issue(
            Kind::Put,
            1,
            offset,
            4,
            Some(Effect::Set(value)),
            false,
            site,
        );
    };
    set(FLAG + 4, 1);
    set(FLAG + 4, 2);
    job.clean();
    set(FLAG, 1);
    set(FLAG, 2);
    job.one(0, Problem::Missed);
}

#[test]
fn an_answer_before_the_next_value() {
    job!(job: a, b);
    for round in 1..20 {
        a.signal(1, FLAG, Effect::Set(round));
        b.wait(FLAG, Cmp::Eq, round);
        b.signal(0, ACK, Effect::Add(1));
        a.wait(ACK, Cmp::Eq, round);
    }
    job.clean();
}

#[test]
fn a_barrier_before_the_next_value() {
    job!(job: a, b);
    for round in 1..20 {
        a.signal(1, FLAG, Effect::Add(1));
        b.wait(FLAG, Cmp::Eq, round);
        job.barrier();
    }
    job.clean();
}

#[test]
fn a_flag_that_its_owner_resets() {
    job!(job: a, b);
    for _ in 0..20 {
        a.signal(1, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Eq, 1);
        b.reset(FLAG, 0);
        b.signal(0, ACK, Effect::Set(1));
        a.wait(ACK, Cmp::Eq, 1);
        a.atomic(0, ACK, Effect::Set(0));
    }
    job.clean();
}

#[test]
fn a_flag_that_its_writer_takes_back_after_an_answer() {
    job!(job: a, b);
    for round in 1..10 {
        a.signal(1, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Eq, 1);
        b.signal(0, ACK, Effect::Set(2 * round - 1));
        a.wait(ACK, Cmp::Ge, 2 * round - 1);
        a.signal(1, FLAG, Effect::Set(0));
        b.wait(FLAG, Cmp::Eq, 0);
        b.signal(0, ACK, Effect::Set(2 * round));
        a.wait(ACK, Cmp::Ge, 2 * round);
    }
    job.clean();
}

#[test]
fn a_flag_that_its_writer_takes_back_too_early() {
    let pulse = |at: At<'_>| at.signal(1, FLAG, Effect::Set(1));
    let back = |at: At<'_>| at.signal(1, FLAG, Effect::Set(0));
    for (found, by) in missed(Cmp::Eq, 1, pulse, back).into_iter().zip([1, 2, 2]) {
        assert_eq!(found, [(by, Problem::Missed)]);
    }
}

#[test]
fn a_busy_mark_comes_and_goes() {
    job!(job: a, b);
    for round in 0..30 {
        b.wait(FLAG, Cmp::Eq, 0);
        a.signal(1, FLAG, Effect::Set(1));
        if round % 3 == 0 {
            b.wait_begins(FLAG, Cmp::Eq, 0);
        }
        a.signal(1, FLAG, Effect::Set(0));
        if round % 3 == 0 {
            b.wait_over(FLAG, Cmp::Eq, 0);
        }
    }
    job.clean();
}

#[test]
fn a_lock_is_waited_for_and_taken_by_another() {
    // Wait until it is free, then try: a late PE tries again.
    job!(job: a, b, c);
    for at in [a, c, a, c] {
        b.wait_begins(FLAG, Cmp::Eq, 0);
        assert_eq!(at.compare_swap(1, FLAG, 0, 1), 0);
        at.put(2, DATA, 8);
        at.quiet();
        at.atomic(1, FLAG, Effect::Set(0));
        b.wait_over(FLAG, Cmp::Eq, 0);
    }
    assert_eq!(b.compare_swap(1, FLAG, 0, 1), 0);
    b.get(2, DATA, 8);
    job.clean();
}

#[test]
fn a_dissemination_barrier() {
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    let word = |step: usize| FLAG + 8 * step as u64;
    for epoch in 1..5 {
        for at in pes {
            at.put(at.me ^ 1, DATA + epoch * 64, 64);
            at.quiet();
        }
        for step in 0..2 {
            for at in pes {
                at.signal((at.me + (1 << step)) % 4, word(step), Effect::Set(epoch));
            }
            for at in pes {
                at.wait(word(step), Cmp::Ge, epoch);
            }
        }
        for at in pes {
            at.load(DATA + epoch * 64, 64);
            at.get((at.me + 2) % 4, DATA + epoch * 64, 64);
        }
    }
    job.clean();
}

#[test]
fn waits_that_end_in_an_error_ask_for_nothing() {
    job!(job: a, b);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    b.tracker().wait_ends(FLAG, false);
    a.signal(1, FLAG, Effect::Set(1));
    a.signal(1, FLAG, Effect::Set(2));
    job.clean();
}

#[test]
fn values_are_compared_as_their_type_says() {
    job!(job: a, b);
    let minus = -1_i64 as u64;
    let wait = |offset, dtype, cmp, value| {
        b.tracker().wait_begins(offset, dtype, cmp, value, 0);
    };
    wait(FLAG, Dtype::Int64, Cmp::Lt, 0);
    a.signal(1, FLAG, Effect::Set(minus));
    wait(OTHER, Dtype::Double, Cmp::Gt, 0.5_f64.to_bits());
    a.signal(1, OTHER, Effect::Set(0.75_f64.to_bits()));
    job.clean();
    a.signal(1, OTHER, Effect::Set((-1.0_f64).to_bits()));
    let text = job.one(0, Problem::Missed);
    assert!(
        text.contains("> 0.5; 0.75 is, but PE 0 makes it -1"),
        "{text}"
    );
}
