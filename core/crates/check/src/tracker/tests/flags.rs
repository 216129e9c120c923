//! Words that PEs synchronise by: flags, signals, counters, locks.

use super::*;

#[test]
fn a_flag_is_reset_and_used_again() {
    job!(job: a, b);
    for round in 0..5 {
        a.put(1, DATA, 64);
        a.fence();
        a.tells(b, FLAG);
        b.load(DATA, 64);
        b.reset(FLAG, 0);
        b.tells(a, ACK);
        a.reset(ACK, 0);
        job.clean();
        let _ = round;
    }
}

#[test]
fn a_flag_is_reset_too_late() {
    // The answer is sent before the flag is reset.
    job!(job: a, b);
    a.tells(b, FLAG);
    b.p(0, ACK, 1);
    b.reset(FLAG, 0);
    a.wait(ACK, Cmp::Eq, 1);
    a.p(1, FLAG, 1);
    job.one(0, Problem::WriteWrite);
}

#[test]
fn a_flag_is_reset_by_a_put_to_oneself() {
    for quiet in [true, false] {
        job!(job: a, b);
        a.tells(b, FLAG);
        b.p(1, FLAG, 0);
        if quiet {
            b.quiet();
        }
        b.tells(a, ACK);
        a.p(1, FLAG, 1);
        job.clean_if(quiet, 0, Problem::WriteWrite);
    }
}

#[test]
fn a_signal_is_used_again_with_growing_values() {
    job!(job: a, b);
    for round in 1..6 {
        a.put_signal(1, DATA, 64, FLAG, Effect::Set(round));
        b.wait(FLAG, Cmp::Ge, round);
        b.load(DATA, 64);
        b.signal(0, ACK, Effect::Set(round));
        a.wait(ACK, Cmp::Ge, round);
    }
    job.clean();
}

#[test]
fn double_buffers_need_answers_for_the_one_before() {
    for answers in [true, false] {
        job!(job: a, b);
        let buffer = |round: u64| DATA + round % 2 * 1024;
        for round in 1..6 {
            if round > 2 && answers {
                a.wait(ACK, Cmp::Ge, round - 2);
            }
            a.put(1, buffer(round), 1024);
            a.fence();
            a.p(1, FLAG, round);
            b.wait(FLAG, Cmp::Ge, round);
            b.load(buffer(round), 1024);
            b.p(0, ACK, round);
        }
        job.clean_if(answers, 0, Problem::WriteEarly);
    }
}

/// The producer is far ahead, but its puts have not arrived: seeing an early flag says nothing of later data.
#[test]
fn a_producer_that_runs_ahead_is_noticed() {
    type Send = fn(At<'_>, u64);
    let sends: [Send; 3] = [
        |a, round| {
            a.put(1, DATA, 64);
            a.signal(1, FLAG, Effect::Set(round));
        },
        |a, round| {
            a.put(1, DATA, 64);
            a.fence();
            a.p(1, FLAG, round);
        },
        |a, _| {
            a.put(1, DATA, 64);
            a.atomic(1, FLAG, Effect::Add(1));
        },
    ];
    for send in sends {
        job!(job: a, b);
        job.hold();
        b.wait_begins(FLAG, Cmp::Ge, 1);
        for round in 1..5 {
            send(a, round);
        }
        job.deliver(0, 2);
        b.wait_over(FLAG, Cmp::Ge, 1);
        b.load(DATA, 64);
        job.one(1, Problem::ReadEarly);
    }
}

#[test]
fn signals_wait_for_nobody_before_they_are_delivered() {
    // The same with signals, when the consumer comes late.
    job!(job: a, b);
    job.hold();
    for round in 1..5 {
        a.put(1, DATA, 64);
        a.signal(1, FLAG, Effect::Set(round));
    }
    job.deliver(0, 2);
    b.wait(FLAG, Cmp::Ge, 1);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn a_token_goes_round_a_ring() {
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    pes[0].put(2, DATA, 64);
    pes[0].quiet();
    for lap in 1..4 {
        for (pe, at) in pes.iter().enumerate() {
            let next = (pe as Pe + 1) % 4;
            if lap > 1 || pe > 0 {
                at.wait(FLAG, Cmp::Ge, lap - u64::from(pe == 0));
            }
            at.get(2, DATA, 64);
            if lap > 1 || pe > 0 {
                at.load(MORE, 64);
            }
            at.put(next, MORE, 64);
            at.signal(next, FLAG, Effect::Set(lap));
        }
    }
    job.clean();
}

#[test]
fn a_ring_does_not_carry_what_is_not_complete() {
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    pes[0].put(3, DATA, 64);
    pes[0].signal(1, FLAG, Effect::Set(1));
    for at in &pes[1..3] {
        at.wait(FLAG, Cmp::Eq, 1);
        at.signal(at.me + 1, FLAG, Effect::Set(1));
    }
    pes[3].wait(FLAG, Cmp::Eq, 1);
    pes[3].load(DATA, 64);
    let text = job.one(3, Problem::ReadEarly);
    assert!(text.contains("through another PE"), "{text}");
    assert!(text.contains("remedy: quiet on PE 0"), "{text}");
}

#[test]
fn a_counter_collects_what_all_have_done() {
    for n in [3, 8] {
        let job = Job::new(n);
        let zero = At { job: &job, me: 0 };
        for me in 1..n {
            let at = At { job: &job, me };
            at.put(0, DATA + 64 * me as u64, 64);
            at.atomic(0, FLAG, Effect::Add(1));
        }
        zero.wait(FLAG, Cmp::Ge, n as u64 - 1);
        zero.load(DATA, 64 * n as u64);
        zero.reset(FLAG, 0);
        job.clean();
        // One more comes without being counted.
        let last = At {
            job: &job,
            me: n - 1,
        };
        last.put(0, MORE, 64);
        zero.load(MORE, 64);
        job.one(0, Problem::ReadEarly);
    }
}

#[test]
fn signals_add_up() {
    job!(job: a, b, c);
    for at in [a, b] {
        at.put_signal(2, DATA + 64 * at.me as u64, 64, FLAG, Effect::Add(1));
    }
    c.wait(FLAG, Cmp::Eq, 2);
    c.load(DATA, 128);
    c.reset(FLAG, 0);
    job.clean();
}

#[test]
fn the_signal_of_put_signal_covers_its_own_data_only() {
    job!(job: a, b);
    a.put(1, MORE, 64);
    a.put_signal(1, DATA, 64, FLAG, Effect::Set(1));
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.clean();
    b.load(MORE, 64);
    job.one(1, Problem::ReadEarly);
}

/// The second put_signal says nothing of the first one's data, unless there is a fence.
#[test]
fn another_signal_is_seen() {
    for order in ["", "fence", "both"] {
        job!(job: a, b);
        if order == "both" {
            b.wait_begins(OTHER, Cmp::Eq, 1);
        }
        a.put_signal(1, DATA, 64, OTHER, Effect::Set(1));
        if order == "fence" {
            a.fence();
        }
        a.put_signal(1, MORE, 64, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Eq, 1);
        if order == "both" {
            b.wait_over(OTHER, Cmp::Eq, 1);
        }
        b.load(MORE, 64);
        job.clean();
        b.load(DATA, 64);
        if order.is_empty() {
            let text = job.one(1, Problem::ReadEarly);
            assert!(text.contains("not the signal of this put_signal"), "{text}");
        } else {
            job.clean();
        }
    }
}

/// More signals with data than are remembered, before anybody looks.
#[test]
fn many_signals_are_seen_at_once() {
    job!(job: a, b, c);
    for block in 0..40 {
        let at = if block % 2 == 0 { a } else { c };
        at.put_signal(1, DATA + 64 * block, 64, FLAG, Effect::Add(1));
    }
    b.wait(FLAG, Cmp::Ge, 40);
    b.load(DATA, 64 * 40);
    b.store(DATA, 64 * 40);
    job.clean();
}

#[test]
fn data_of_a_signal_is_passed_on_and_overwritten() {
    job!(job: a, b, c);
    for round in 1..6 {
        a.put_signal(1, DATA, 4096, FLAG, Effect::Set(round));
        b.wait(FLAG, Cmp::Ge, round);
        b.put_from(DATA, 2, DATA, 4096);
        b.signal(2, FLAG, Effect::Set(round));
        c.wait(FLAG, Cmp::Ge, round);
        c.load(DATA, 4096);
        c.get(1, DATA, 4096);
        c.signal(0, FLAG, Effect::Set(round));
        a.wait(FLAG, Cmp::Ge, round);
        a.get(1, DATA, 64);
    }
    job.clean();
}

#[test]
fn a_producer_of_put_signals_that_runs_ahead_is_noticed() {
    job!(job: a, b);
    job.hold();
    for round in 1..5 {
        a.put_signal(1, DATA, 64, FLAG, Effect::Set(round));
    }
    job.deliver(0, 2);
    b.wait(FLAG, Cmp::Ge, 1);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn signal_op_covers_all_puts_to_its_pe() {
    job!(job: a, b, _);
    a.put(1, DATA, 64);
    a.put(1, MORE, 64);
    a.put(2, DATA, 64);
    a.signal(1, FLAG, Effect::Set(1));
    a.put(1, MORE + 64, 64);
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    b.load(MORE, 64);
    job.clean();
    b.get(2, DATA, 64);
    b.load(MORE + 64, 64);
    assert_eq!(
        job.found(),
        [(1, Problem::ReadEarly), (1, Problem::ReadEarly)]
    );
}

#[test]
fn a_flag_may_be_put_and_added_to_by_turns() {
    job!(job: a, b, c);
    a.put(2, DATA, 64);
    a.fence();
    a.tells(c, FLAG);
    c.signal(1, FLAG, Effect::Set(1));
    b.wait(FLAG, Cmp::Ge, 1);
    b.put(2, MORE, 64);
    b.atomic(2, FLAG, Effect::Add(1));
    c.wait(FLAG, Cmp::Ge, 2);
    c.load(DATA, 64);
    c.load(MORE, 64);
    c.reset(FLAG, 0);
    job.clean();
}

#[test]
fn a_flag_at_the_end_of_a_put_covers_nothing_of_that_put() {
    job!(job: a, b);
    a.put(1, MORE, 64);
    a.fence();
    a.put(1, DATA, 128);
    b.wait_begins(DATA + 120, Cmp::Eq, 1);
    job.words.borrow_mut().insert((1, DATA + 120), 1);
    b.wait_over(DATA + 120, Cmp::Eq, 1);
    b.load(MORE, 64);
    b.load(DATA + 120, 8);
    job.clean();
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn a_flag_at_the_end_of_a_put_is_seen_again_and_again() {
    job!(job: a, b);
    for round in 1..4 {
        a.put(1, MORE, 64);
        a.fence();
        a.put(1, DATA + 64, 64);
        job.words.borrow_mut().insert((1, DATA + 120), round);
        b.wait(DATA + 120, Cmp::Ge, round);
        b.load(MORE, 64);
        b.p(0, ACK, round);
        a.wait(ACK, Cmp::Ge, round);
    }
    job.clean();
}

#[test]
fn a_lock_of_compare_swap_and_set() {
    for quiet in [true, false] {
        let job = Job::new(3);
        let pes: [At<'_>; 3] = job.pes();
        for at in [pes[0], pes[1], pes[0], pes[2]] {
            assert_eq!(at.compare_swap(1, FLAG, 0, 1), 0);
            assert_eq!(pes[2].compare_swap(1, FLAG, 0, 1), 1);
            at.get(2, DATA, 8);
            at.put(2, DATA, 8);
            if quiet {
                at.quiet();
            }
            at.atomic(1, FLAG, Effect::Set(0));
        }
        match quiet {
            true => job.clean(),
            false => assert!(job.found().contains(&(1, Problem::ReadEarly))),
        }
    }
}

#[test]
fn a_lock_of_swap() {
    let job = Job::new(2);
    let pes: [At<'_>; 2] = job.pes();
    for at in [pes[0], pes[1], pes[0]] {
        assert_eq!(at.swap(0, FLAG, 1), 0);
        at.put(1, DATA, 8);
        at.quiet();
        at.swap(0, FLAG, 0);
    }
    job.clean();
}

#[test]
fn tickets_of_fetch_add() {
    let job = Job::new(3);
    let pes: [At<'_>; 3] = job.pes();
    for at in [pes[0], pes[2], pes[1], pes[0]] {
        let ticket = at.fetch_add(0, FLAG, 1);
        while at.atomic_fetch(0, OTHER) != ticket {}
        at.get(1, DATA, 64);
        at.put(1, DATA, 64);
        at.quiet();
        at.fetch_add(0, OTHER, 1);
    }
    job.clean();
}

#[test]
fn a_queue_of_slots_claimed_by_fetch_add() {
    // Many producers claim slots on PE 0, which takes them one after the other.
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    let slot = |index: u64| DATA + index % 4 * 256;
    for at in &pes[1..] {
        let index = at.fetch_add(0, FLAG, 1);
        at.put(0, slot(index), 128);
        at.fence();
        at.p(0, slot(index) + 128, index + 1);
    }
    for index in 0..3 {
        pes[0].wait(slot(index) + 128, Cmp::Eq, index + 1);
        pes[0].load(slot(index), 128);
        pes[0].reset(slot(index) + 128, 0);
    }
    job.clean();
}

#[test]
fn a_slot_is_taken_twice() {
    job!(job: _, b, c);
    b.fetch_add(0, FLAG, 1);
    b.put(0, DATA, 128);
    c.fetch_add(0, FLAG, 1);
    c.put(0, DATA, 128);
    job.one(2, Problem::WriteWrite);
}

#[test]
fn an_update_keeps_what_came_before_it() {
    // PE 0 sets the word, PE 1 adds to it without looking, PE 2 sees the sum.
    job!(job: a, b, c);
    a.put(2, DATA, 64);
    a.signal(2, FLAG, Effect::Set(1));
    b.atomic(2, FLAG, Effect::Add(1));
    c.wait(FLAG, Cmp::Eq, 2);
    c.load(DATA, 64);
    job.clean();
}

#[test]
fn tests_and_any_learn_of_what_they_return_only() {
    job!(job: a, b, c);
    for (at, flag, data) in [(a, FLAG, DATA), (b, OTHER, MORE)] {
        at.put(2, data, 64);
        at.fence();
        at.p(2, flag, 1);
    }
    assert!(!c.test(OTHER, Cmp::Eq, 2));
    assert!(c.test(FLAG, Cmp::Eq, 1));
    c.load(DATA, 64);
    job.clean();
    c.load(MORE, 64);
    job.one(2, Problem::ReadEarly);
}

#[test]
fn a_stale_flag_says_nothing_new() {
    // The flag still holds from the round before.
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.signal(1, FLAG, Effect::Set(1));
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    b.signal(0, ACK, Effect::Set(1));
    a.wait(ACK, Cmp::Eq, 1);
    a.put(1, DATA, 64);
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn the_wrong_flag_is_waited_for() {
    job!(job: a, b, c);
    a.put(2, DATA, 64);
    a.signal(2, FLAG, Effect::Set(1));
    b.signal(2, OTHER, Effect::Set(1));
    c.wait(OTHER, Cmp::Eq, 1);
    c.load(DATA, 64);
    job.one(2, Problem::ReadEarly);
}

#[test]
fn a_wait_that_holds_at_once_sees_nothing() {
    job!(job: a, b);
    b.wait(FLAG, Cmp::Ge, 0);
    a.put(1, DATA, 64);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn polling_with_get_orders_nothing() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    a.p(1, FLAG, 1);
    b.load(FLAG, 8);
    b.load(DATA, 64);
    assert_eq!(
        job.found(),
        [(1, Problem::ReadEarly), (1, Problem::ReadEarly)]
    );
}

#[test]
fn words_beside_a_flag_are_other_words() {
    job!(job: a, b);
    let word = |at: At<'_>, to: Pe, offset: u64| {
        let site = at.here("p");
        at.issue(Kind::Put, to, offset, 4, Some(Effect::Set(1)), false, site);
    };
    a.put(1, DATA, 64);
    a.fence();
    word(a, 1, FLAG);
    word(a, 1, FLAG + 4);
    let site = b.here("wait_until");
    b.tracker().acquire(1, FLAG, 4, 1, site);
    b.load(FLAG, 4);
    b.load(DATA, 64);
    job.clean();
    b.load(FLAG + 4, 4);
    job.one(1, Problem::ReadEarly);
}
