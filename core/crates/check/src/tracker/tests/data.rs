//! Puts, gets, loads and stores, ordered and unordered.

use super::*;
use crate::delay::Random;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn a_barrier_completes_puts() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    job.barrier();
    b.load(DATA, 64);
    a.get(1, DATA, 64);
    job.clean();
}

#[test]
fn without_a_barrier_data_is_read_early() {
    for reader_first in [false, true] {
        job!(job: a, b);
        if reader_first {
            b.load(DATA, 64);
            a.put(1, DATA, 64);
            job.one(0, Problem::WriteEarly);
        } else {
            a.put(1, DATA, 64);
            b.load(DATA, 64);
            job.one(1, Problem::ReadEarly);
        }
    }
}

#[test]
fn sync_does_not_complete_puts() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    job.sync();
    b.load(DATA, 64);
    let text = job.one(1, Problem::ReadEarly);
    assert!(text.contains("met in sync"), "{text}");
    assert!(text.contains("remedy: barrier instead of sync"), "{text}");
}

#[test]
fn quiet_before_sync_completes_puts() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.quiet();
    job.sync();
    b.load(DATA, 64);
    job.clean();
}

#[test]
fn fence_before_sync_completes_nothing() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    job.sync();
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn a_flag_after_a_fence_brings_the_data() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    a.tells(b, FLAG);
    b.load(DATA, 64);
    b.store(DATA, 64);
    job.clean();
}

#[test]
fn a_flag_without_a_fence_brings_nothing() {
    for wait_first in [false, true] {
        job!(job: a, b);
        if wait_first {
            b.wait_begins(FLAG, Cmp::Eq, 1);
        }
        a.put(1, DATA, 64);
        a.p(1, FLAG, 1);
        match wait_first {
            true => b.wait_over(FLAG, Cmp::Eq, 1),
            false => b.wait(FLAG, Cmp::Eq, 1),
        }
        b.load(DATA, 64);
        let text = job.one(1, Problem::ReadEarly);
        assert!(
            text.contains("the put comes after the p, or there is no fence"),
            "{text}"
        );
        assert!(
            text.contains("remedy: put, fence, p, in this order; or put_signal"),
            "{text}"
        );
    }
}

#[test]
fn a_fence_covers_only_what_came_before_it() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    a.put(1, MORE, 64);
    a.tells(b, FLAG);
    b.load(DATA, 64);
    job.clean();
    b.load(MORE, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn a_flag_does_not_cover_what_comes_after_it() {
    job!(job: a, b);
    a.fence();
    a.p(1, FLAG, 1);
    a.put(1, DATA, 64);
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn put_nbi_needs_quiet_or_a_fence() {
    for order in ["quiet", "fence", "nothing"] {
        job!(job: a, b);
        a.put_nbi_from(MORE, 1, DATA, 64);
        match order {
            "quiet" => a.quiet(),
            "fence" => a.fence(),
            _ => {}
        }
        a.tells(b, FLAG);
        b.load(DATA, 64);
        match order {
            "nothing" => drop(job.one(1, Problem::ReadEarly)),
            _ => job.clean(),
        }
    }
}

#[test]
fn a_fence_is_worth_nothing_for_another_pes_memory() {
    for quiet in [false, true] {
        job!(job: a, b, c);
        a.put(2, DATA, 64);
        a.quiet_or_fence(quiet);
        a.tells(b, FLAG);
        b.get(2, DATA, 64);
        if quiet {
            job.clean();
        } else {
            let text = job.one(1, Problem::ReadEarly);
            assert!(text.contains("on PE 1 and the data on PE 2"), "{text}");
            assert!(
                text.contains("remedy: quiet between the put and the p"),
                "{text}"
            );
        }
        let _ = c;
    }
}

#[test]
fn fences_arrive_through_the_owner() {
    // PE 1 has seen that the data is there, and says so to PE 2, which gets it from PE 1.
    job!(job: a, b, c);
    a.put(1, DATA, 64);
    a.fence();
    a.tells(b, FLAG);
    b.tells(c, FLAG);
    c.get(1, DATA, 64);
    job.clean();
}

#[test]
fn what_the_owner_learns_later_does_not_count() {
    // PE 2 hears of PE 0 before PE 1 has seen the data.
    job!(job: a, b, c);
    b.p(2, OTHER, 1);
    a.put(1, DATA, 64);
    a.fence();
    a.p(1, FLAG, 1);
    a.p(2, FLAG, 1);
    b.wait(FLAG, Cmp::Eq, 1);
    c.wait(OTHER, Cmp::Eq, 1);
    c.wait(FLAG, Cmp::Eq, 1);
    c.get(1, DATA, 64);
    job.one(2, Problem::ReadEarly);
}

#[test]
fn a_word_of_another_pe_tells_that_puts_to_it_have_arrived() {
    // PE 2 fetches the flag on PE 1, and tells PE 1 and PE 3.
    job!(job: a, b, c, d);
    a.put(1, DATA, 64);
    a.atomic(1, FLAG, Effect::Set(1));
    assert_eq!(c.atomic_fetch(1, FLAG), 1);
    c.get(1, DATA, 64);
    c.p(3, FLAG, 1);
    c.p(1, OTHER, 1);
    d.wait(FLAG, Cmp::Eq, 1);
    d.get(1, DATA, 64);
    b.wait(OTHER, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.clean();
}

#[test]
fn data_is_overwritten_before_it_was_read() {
    for acknowledged in [false, true] {
        job!(job: a, b);
        a.put_signal(1, DATA, 64, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Ge, 1);
        b.load(DATA, 64);
        if acknowledged {
            b.tells(a, ACK);
        }
        a.put_signal(1, DATA, 64, FLAG, Effect::Set(2));
        job.clean_if(acknowledged, 0, Problem::WriteEarly);
    }
}

#[test]
fn an_answer_covers_what_was_read_before_it_only() {
    job!(job: a, b);
    a.put_signal(1, DATA, 64, FLAG, Effect::Set(1));
    b.wait(FLAG, Cmp::Ge, 1);
    b.p(0, ACK, 1);
    b.load(DATA, 64);
    a.wait(ACK, Cmp::Ge, 1);
    a.put(1, DATA, 64);
    job.one(0, Problem::WriteEarly);
}

#[test]
fn a_get_is_over_on_return_and_get_nbi_is_not() {
    for (nbi, quiet) in [(false, false), (true, false), (true, true)] {
        job!(job: a, b);
        a.store(DATA, 64);
        a.tells(b, FLAG);
        if nbi {
            b.get_nbi(0, DATA, 64)
        } else {
            b.get(0, DATA, 64)
        }
        if quiet {
            b.quiet();
        }
        b.fence();
        b.tells(a, ACK);
        a.store(DATA, 64);
        if nbi && !quiet {
            let text = job.one(0, Problem::WriteEarly);
            assert!(text.contains("no quiet"), "{text}");
        } else {
            job.clean();
        }
    }
}

#[test]
fn two_pes_write_to_one_place() {
    job!(job: a, b, _);
    a.put(2, DATA, 64);
    b.put(2, DATA + 32, 64);
    job.one(1, Problem::WriteWrite);
}

#[test]
fn two_pes_write_to_one_place_one_after_the_other() {
    for quiet in [true, false] {
        job!(job: a, b, _);
        a.put(2, DATA, 64);
        a.quiet_or_fence(quiet);
        a.signal(1, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Eq, 1);
        b.put(2, DATA, 64);
        job.clean_if(quiet, 1, Problem::WriteWrite);
    }
}

#[test]
fn an_own_put_is_read_back() {
    for quiet in [false, true] {
        job!(job: a, _);
        a.put(1, DATA, 64);
        a.quiet_or_fence(quiet);
        a.get(1, DATA, 8);
        job.clean_if(quiet, 0, Problem::ReadBack);
    }
}

#[test]
fn an_own_put_has_arrived_when_its_receiver_says_so() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    a.tells(b, FLAG);
    b.tells(a, ACK);
    a.get(1, DATA, 64);
    job.clean();
}

#[test]
fn a_put_to_oneself_needs_quiet() {
    for quiet in [false, true] {
        job!(job: a);
        a.put(0, DATA, 64);
        if quiet {
            a.quiet();
        }
        a.load(DATA, 64);
        job.clean_if(quiet, 0, Problem::ReadBack);
    }
}

#[test]
fn a_pe_signals_itself() {
    job!(job: a);
    a.put(0, DATA, 64);
    a.fence();
    a.tells(a, FLAG);
    a.load(DATA, 64);
    a.reset(FLAG, 0);
    a.put(0, DATA, 64);
    a.signal(0, FLAG, Effect::Set(1));
    a.wait(FLAG, Cmp::Eq, 1);
    a.load(DATA, 64);
    job.clean();
    // The flag is no fence.
    a.put(0, MORE, 64);
    a.p(0, FLAG, 2);
    a.wait(FLAG, Cmp::Eq, 2);
    a.load(MORE, 64);
    job.one(0, Problem::ReadBack);
}

#[test]
fn a_source_is_written_while_it_is_put() {
    job!(job: a, b, _);
    a.put_from(DATA, 1, MORE, 64);
    b.put(0, DATA, 64);
    job.one(1, Problem::WriteEarly);
}

#[test]
fn a_source_of_put_nbi_is_read_until_quiet() {
    for quiet in [false, true] {
        job!(job: a, b);
        a.put_nbi_from(DATA, 1, MORE, 64);
        if quiet {
            a.quiet();
        }
        a.signal(1, FLAG, Effect::Set(1));
        b.wait(FLAG, Cmp::Eq, 1);
        b.put(0, DATA, 64);
        job.clean_if(quiet, 1, Problem::WriteEarly);
    }
}

#[test]
fn bytes_of_one_word_are_apart() {
    job!(job: a, b, c);
    a.put(2, DATA, 3);
    b.put(2, DATA + 3, 5);
    a.put(2, DATA + 16, 4);
    b.put(2, DATA + 20, 1);
    job.clean();
    c.load(DATA + 21, 3);
    job.clean();
    c.load(DATA + 20, 1);
    job.one(2, Problem::ReadEarly);
}

#[test]
fn atomic_operations_do_not_conflict() {
    job!(job: a, b, c);
    a.atomic(2, FLAG, Effect::Add(1));
    b.fetch_add(2, FLAG, 1);
    c.atomic_fetch(2, FLAG);
    c.compare_swap(2, FLAG, 7, 8);
    a.swap(2, FLAG, 3);
    b.atomic(2, FLAG, Effect::Set(1));
    job.clean();
}

#[test]
fn atomic_and_plain_operations_do() {
    for (n, plain) in [
        |b: At<'_>| b.get(2, FLAG, 8),
        |b: At<'_>| b.p(2, FLAG, 1),
        |b: At<'_>| b.put(2, FLAG - 64, 128),
    ]
    .into_iter()
    .enumerate()
    {
        job!(job: a, b, _);
        a.atomic(2, FLAG, Effect::Add(1));
        plain(b);
        let text = job.one(1, Problem::Mixed);
        assert!(text.contains(["get", "p ", "put"][n]), "{text}");
    }
}

#[test]
fn reads_do_not_conflict() {
    job!(job: a, b, c);
    a.get(2, DATA, 64);
    b.get_nbi(2, DATA, 64);
    c.load(DATA, 64);
    a.atomic_fetch(2, DATA);
    c.put_from(DATA, 0, MORE, 64);
    job.clean();
}

#[test]
fn long_ranges_are_checked_to_the_last_byte() {
    job!(job: a, b);
    let end = DATA + 5 + 10_000;
    a.put(1, DATA + 5, 10_000);
    b.load(DATA, 5);
    b.load(end, 100);
    job.clean();
    b.load(end - 1, 500);
    let text = job.one(1, Problem::ReadEarly);
    assert!(text.contains("PE 0 writes 1 byte:"), "{text}");
}

#[test]
fn long_ranges_forget_nothing_in_the_middle() {
    job!(job: a, b);
    a.put(1, DATA + 4000, 1);
    b.load(DATA, 8000);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn an_own_put_is_overwritten_by_a_store() {
    for quiet in [false, true] {
        job!(job: a);
        a.put(0, DATA, 64);
        if quiet {
            a.quiet();
        }
        a.store(DATA + 8, 8);
        match quiet {
            true => job.clean(),
            false => {
                let text = job.one(0, Problem::TwoPuts);
                assert!(
                    text.contains("quiet between the put and the store"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn an_own_signal_is_read_back_plainly() {
    for atomically in [false, true] {
        job!(job: a, _);
        a.signal(1, FLAG, Effect::Set(1));
        if atomically {
            a.atomic_fetch(1, FLAG);
        }
        a.get(1, FLAG, 8);
        job.clean_if(atomically, 0, Problem::ReadBack);
    }
}

/// Words that look like the one before are not judged anew.
#[test]
fn a_long_access_leaves_what_many_short_ones_do() {
    const WORDS: u64 = 512;
    let mut compared = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let jobs = [Job::new(2), Job::new(2)];
        for _ in 0..6 {
            let (pe, owner) = (random.next() % 2, random.next() % 2);
            let kind = [Kind::Load, Kind::Put, Kind::GetNbi, Kind::AtomicFetch];
            let kind = kind[(random.next() % 4) as usize];
            let start = random.next() % (WORDS * 8);
            let bytes = 1 + random.next() % 64;
            let (whole, barrier) = (random.next() & 1 == 0, random.next().is_multiple_of(3));
            for job in &jobs {
                let tracker = &job.trackers[pe as usize];
                match whole {
                    true => tracker.access(kind, owner as Pe, DATA, WORDS * 8, 1 + pe as u16),
                    false => tracker.access(kind, owner as Pe, start, bytes, 3 + pe as u16),
                }
                if barrier {
                    job.barrier();
                }
            }
        }
        let kind = [Kind::Put, Kind::Get, Kind::GetNbi][(random.next() % 3) as usize];
        let (start, end) = (random.next() % 16, WORDS * 8 - random.next() % 16);
        let [long, short] = &jobs;
        long.trackers[0].access(kind, 1, start, end - start, 9);
        let mut at = start;
        while at < end {
            let next = (at / 8 * 8 + 8).min(end);
            short.trackers[0].access(kind, 1, at, next - at, 9);
            at = next;
        }
        let all = jobs.iter().flat_map(|job| &job.trackers);
        if all
            .clone()
            .any(|tracker| tracker.shadow.evicted.load(Relaxed))
        {
            continue;
        }
        compared += 1;
        let cells = |job: &Job, word| -> Vec<_> { job.trackers[0].shadow.word(1, word).collect() };
        for word in 0..WORDS {
            assert_eq!(
                cells(long, word),
                cells(short, word),
                "seed {seed}, word {word}"
            );
        }
        assert_eq!(long.found(), short.found(), "seed {seed}");
    }
    assert!(compared > 100, "{compared}");
}
