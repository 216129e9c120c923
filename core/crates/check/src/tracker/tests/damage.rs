//! Tables that another PE has written over: results may be wrong, but calls end, and stay within the area.

use super::*;
use crate::delay::Random;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number of the kind that breaks things.
fn wild(random: &mut Random) -> u64 {
    match random.next() % 4 {
        0 => u64::MAX - random.next() % 8,
        1 => random.next() % 1024,
        2 => 1 << (random.next() % 64),
        _ => random.next(),
    }
}

fn spoil(random: &mut Random, words: &[AtomicU64]) {
    for word in words {
        if random.next().is_multiple_of(3) {
            word.store(wild(random), Relaxed);
        }
    }
}

/// Writes over the tables that the two PEs of a job use; the checker stays on.
fn spoil_all(job: &Job, random: &mut Random) {
    let area = &job.trackers[0].area;
    for pe in 0..2 {
        // Not the word that turns the checker off.
        let (before, after) = area.head(pe).split_at(5);
        spoil(random, before);
        spoil(random, &after[1..]);
        for offset in [DATA, MORE, FLAG, OTHER, ACK] {
            let word = offset / 8;
            spoil(random, area.cells(pe, word, 1).as_flattened());
            let (first, line) = area.line(pe, word);
            for number in first..first + line.len() as u64 {
                spoil(random, area.sync(number));
            }
            spoil(random, line);
            spoil(random, std::slice::from_ref(area.bit(pe, word).0));
        }
        for tag in 0..64 {
            spoil(random, area.moment(pe, tag));
            spoil(random, area.version(pe, tag));
        }
        for epoch in 0..2 {
            spoil(random, area.meeting(1, pe, epoch));
        }
        for writer in 0..2 {
            spoil(random, std::slice::from_ref(area.arrival(pe, writer)));
        }
    }
}

#[test]
fn tables_that_were_written_over_lead_nobody_out_of_the_area() {
    let mut random = Random::new(7);
    for _ in 0..40 {
        job!(job: a, b);
        for at in [a, b] {
            at.allocated(0, 16384);
        }
        for _ in 0..8 {
            a.put(1, DATA, 4096);
            a.put_signal(1, MORE, 64, FLAG, Effect::Set(1));
            a.atomic(1, OTHER, Effect::Add(1));
            b.wait_begins(FLAG, Cmp::Eq, job.word(1, FLAG));
            spoil_all(&job, &mut random);
            b.wait_over(FLAG, Cmp::Ge, 0);
            b.atomic_fetch(1, OTHER);
            b.fetch_add(0, ACK, 1);
            a.get(1, DATA, 4096);
            b.load(MORE, 64);
            a.p(1, FLAG, 2);
            spoil_all(&job, &mut random);
            job.barrier();
            b.fence();
            a.test(ACK, Cmp::Ge, 0);
            b.free(DATA, 4096);
        }
        for tracker in &job.trackers {
            tracker.job_findings();
            tracker.summary();
        }
    }
}

#[test]
fn a_signal_that_tells_of_data_outside_the_heap_is_not_believed() {
    for data in [
        (u64::MAX - 7, 64),
        (1 << 60, 1 << 62),
        (0, u64::MAX),
        (1 << 40, 8),
    ] {
        job!(job: a, b);
        a.put(1, DATA, 64);
        let stamp = a.tracker().release_signal(1, FLAG, data.0, data.1);
        a.tracker().access(Kind::Atomic, 1, FLAG, 8, 1);
        a.tracker().delivered(1, FLAG, 8, stamp);
        b.wait(FLAG, Cmp::Eq, 0);
        b.load(DATA, 64);
        job.one(1, Problem::ReadEarly);
    }
}

#[test]
fn the_name_of_a_site_cannot_speak_to_the_terminal() {
    let job = Job::new(2);
    let area = &job.trackers[0].area;
    area.set_name(1, 9, "put at \u{1b}[2Jx.c:1\n");
    assert_eq!(area.name(1, 9).unwrap(), "put at ?[2Jx.c:1?");
}
