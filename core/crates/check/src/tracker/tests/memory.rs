//! Blocks that come and go, tables that fill up, stores that nobody sees.

use super::*;
use crate::clocks;
use crate::tally::Seen;

#[test]
fn a_block_is_freed_and_nobody_can_have_used_what_was_put_there() {
    for free_first in [false, true] {
        job!(job: a, b);
        if free_first {
            b.free(DATA, 4096);
            a.put(1, DATA + 64, 64);
        } else {
            a.put(1, DATA + 64, 64);
            b.free(DATA, 4096);
        }
        a.free(DATA, 4096);
        // Only now is it known that the put was ordered before nothing.
        job.clean();
        job.all_freed();
        let text = job.one(if free_first { 0 } else { 1 }, Problem::FreeEarly);
        assert!(text.contains(" bytes: free at"), "{text}");
        assert!(text.contains("but PE 0 has called no fence"), "{text}");
    }
}

/// free begins with a barrier. The PE that has used the data put there need not be the block's owner.
#[test]
fn a_put_before_a_free_that_somebody_may_have_used() {
    type Step = for<'a> fn(At<'a>);
    let steps: [(&str, Step); 5] = [
        ("quiet", |a| a.quiet()),
        ("fence", |a| a.fence()),
        ("signal", |a| a.signal(1, FLAG, Effect::Add(1))),
        ("atomic", |a| a.atomic(2, FLAG, Effect::Add(1))),
        ("fetch", |a| assert_eq!(a.fetch_add(2, FLAG, 1), 0)),
    ];
    for (name, step) in steps {
        for free_first in [false, true] {
            job!(job: a, b, c);
            if free_first {
                b.free(DATA, 4096);
            }
            a.put(1, DATA + 64, 64);
            step(a);
            if !free_first {
                b.free(DATA, 4096);
            }
            a.free(DATA, 4096);
            c.free(DATA, 4096);
            job.all_freed();
            let texts: Vec<String> = job.trackers.iter().flat_map(Tracker::reports).collect();
            assert!(texts.is_empty(), "{name}: {texts:?}");
        }
    }
}

/// Conflicts of one place are one finding; the last of them says whether it is one.
#[test]
fn the_last_put_of_a_place_counts_at_a_free() {
    job!(job: a, b);
    for part in 0..2 {
        if part == 1 {
            a.quiet();
        }
        a.put(1, DATA + 64 * part, 64);
    }
    b.free(DATA, 4096);
    a.free(DATA, 4096);
    job.all_freed();
    job.one(1, Problem::FreeEarly);
}

/// A PE that has left one free may be in the next while another PE still judges the first.
#[test]
fn the_next_free_of_a_fast_pe_hides_nothing() {
    job!(job: a, b);
    a.put(1, DATA + 64, 64);
    b.free(DATA, 4096);
    a.free(DATA, 4096);
    a.quiet();
    a.tracker().all_freed();
    a.free(DATA + 8192, 64);
    b.tracker().all_freed();
    job.one(1, Problem::FreeEarly);
}

#[test]
fn a_put_signal_before_a_free() {
    job!(job: a, b);
    a.put_signal(1, DATA, 64, FLAG, Effect::Set(1));
    b.free(DATA, 4096);
    a.put_signal(1, DATA + 64, 64, FLAG, Effect::Set(2));
    a.free(DATA, 4096);
    job.all_freed();
    job.clean();
}

#[test]
fn a_barrier_before_the_free() {
    job!(job: a, b);
    a.put(1, DATA + 64, 64);
    job.barrier();
    b.free(DATA, 4096);
    a.free(DATA, 4096);
    job.all_freed();
    job.clean();
}

#[test]
fn reads_and_flags_before_a_free_do_no_harm() {
    for free_first in [false, true] {
        job!(job: a, b);
        b.wait(FLAG, Cmp::Eq, 0);
        let last = || {
            a.get(1, DATA, 64);
            a.atomic(1, OTHER, Effect::Add(1));
            a.p(1, FLAG, 7);
            a.atomic_fetch(1, OTHER);
        };
        if free_first {
            b.free(DATA, 16384);
            last();
        } else {
            last();
            b.free(DATA, 16384);
        }
        a.free(DATA, 16384);
        job.all_freed();
        job.clean();
    }
}

#[test]
fn own_puts_before_a_free_do_no_harm() {
    job!(job: a);
    a.put(0, DATA, 64);
    a.signal(0, FLAG, Effect::Set(1));
    a.free(DATA, 16384);
    job.all_freed();
    job.clean();
}

/// The waits in a block, and the changes of its words, say nothing of the words of the next block.
#[test]
fn a_new_block_knows_nothing_of_the_waits_and_changes_in_the_old_one() {
    job!(job: a, b, c);
    let block = |job: &Job| {
        for pe in 0..3 {
            At { job, me: pe }.allocated(DATA, 16384);
        }
        job.barrier();
    };
    let freed = |job: &Job| {
        job.barrier();
        for pe in 0..3 {
            let range = SymRange::new(DATA, 16384);
            job.trackers[pe].decommit(range);
        }
        job.words.borrow_mut().clear();
        job.barrier();
    };
    block(&job);
    // PE 2 brings 1 and takes it away again, which is fine: nobody waits any more.
    b.wait(FLAG, Cmp::Eq, 0);
    c.signal(1, FLAG, Effect::Set(1));
    c.signal(1, FLAG, Effect::Set(0));
    freed(&job);
    block(&job);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    a.signal(1, FLAG, Effect::Set(1));
    b.wait_over(FLAG, Cmp::Eq, 1);
    job.clean();
}

#[test]
fn a_new_block_knows_nothing_of_the_old_one() {
    job!(job: a, b);
    for at in [a, b] {
        at.allocated(DATA, 16384);
    }
    a.put(1, DATA, 8192);
    a.put_signal(1, DATA, 64, FLAG, Effect::Set(1));
    for at in [a, b] {
        at.free(DATA, 16384);
    }
    let before = job.found().len();
    for at in [a, b] {
        at.allocated(DATA, 16384);
    }
    b.load(DATA, 16384);
    assert_eq!(job.found().len(), before);
    assert!(!b.tracker().syncs.marked(1, FLAG / 8));
}

#[test]
fn neighbours_of_a_new_block_are_kept() {
    job!(job: a, b);
    a.put(1, 0, 3 << 16);
    b.wait(64 - 8, Cmp::Eq, 0);
    b.wait(64, Cmp::Eq, 0);
    b.allocated(64, (2 << 16) + 64);
    assert!(b.tracker().syncs.marked(1, 7) && !b.tracker().syncs.marked(1, 8));
    b.load(64, (2 << 16) + 64);
    job.clean();
    b.load(55, 1);
    b.load((2 << 16) + 128, 1);
    assert_eq!(job.found().len(), 2);
}

#[test]
fn texts_name_the_block() {
    job!(job: a, b);
    for at in [a, b] {
        at.allocated(0, 64);
        at.allocated(64, 4096);
    }
    a.put(1, 64 + 0x400, 64);
    b.load(64 + 0x400, 64);
    let text = job.one(1, Problem::ReadEarly);
    assert!(
        text.contains("on PE 1, from byte 0x400 on of the block of 4096 bytes of malloc at "),
        "{text}"
    );
}

#[test]
fn unseen_stores_through_a_pointer_may_be_flags() {
    for pointer in [true, false] {
        job!(job: a, b);
        if pointer {
            a.tracker().pointer_given(1);
        }
        a.put(1, DATA, 64);
        a.quiet();
        // A store of PE 0 that the checker has not seen.
        job.words.borrow_mut().insert((1, FLAG), 1);
        b.wait(FLAG, Cmp::Eq, 1);
        b.load(DATA, 64);
        job.clean_if(pointer, 1, Problem::ReadEarly);
    }
}

/// PE 0 stores to a flag on PE 1, and PE 1 looks at it, both without telling.
#[test]
fn order_that_nobody_sees_makes_no_reports() {
    for reports in [false, true] {
        job!(job: a, b, c);
        a.tracker().pointer_given(1);
        if reports {
            b.tracker().note(Seen::Accesses);
        }
        a.put(1, DATA, 64);
        a.put(2, DATA, 64);
        c.put(1, MORE, 64);
        a.quiet();
        b.load(DATA, 64);
        b.get(2, DATA, 64);
        if reports {
            assert_eq!(job.found().len(), 2);
            continue;
        }
        // And the other way round, by the same pointer.
        b.put(0, DATA, 64);
        b.quiet();
        a.load(DATA, 64);
        job.clean();
        // Nobody has a pointer to the memory of PE 2, nor PE 2 one to another's.
        b.load(MORE, 64);
        job.one(1, Problem::ReadEarly);
    }
}

#[test]
fn known_flags_are_still_exact_when_there_are_pointers() {
    job!(job: a, b, c);
    a.tracker().pointer_given(1);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    c.put(1, DATA, 64);
    c.p(1, FLAG, 1);
    b.wait_over(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn stores_through_a_pointer_that_are_seen() {
    job!(job: a, b);
    let store = |at: At<'_>, to: Pe, offset: u64| {
        let site = at.here("store");
        at.tracker().access(Kind::Store, to, offset, 8, site);
    };
    store(a, 1, DATA);
    store(a, 1, FLAG);
    b.wait(FLAG, Cmp::Eq, 0);
    b.load(DATA, 8);
    job.clean();
    store(a, 1, MORE);
    b.load(MORE, 8);
    job.one(1, Problem::ReadEarly);
}

/// More words than there are sync objects, more accesses than cells: despite lost records, no correct access is reported.
#[test]
fn full_tables_make_no_reports() {
    let job = Job::new(8);
    let n = 8;
    let words = 40_000_u64;
    for round in 0..2 {
        for index in 0..words {
            let me = ((index * 7 + round * 3) % n) as Pe;
            let owner = (index % n) as Pe;
            let at = At { job: &job, me };
            at.fetch_add(owner, 1024 + index * 8, 1);
        }
    }
    // Counters and flags that come late still work.
    let flag = |index: u64| (1 << 20) + index * 8;
    for index in 0..2000 {
        let (me, to) = ((index % n) as Pe, ((index + 1) % n) as Pe);
        let (at, other) = (At { job: &job, me }, At { job: &job, me: to });
        at.put(to, DATA, 64);
        at.fence();
        at.p(to, flag(index), 1);
        other.wait(flag(index), Cmp::Eq, 1);
        other.load(DATA, 64);
        other.reset(flag(index), 0);
        other.p(me, ACK, index + 1);
        at.wait(ACK, Cmp::Eq, index + 1);
        job.meet(&[me, to], "barrier", true);
        job.clean();
    }
    for index in 0..2000 {
        let owner = (index % n) as Pe;
        for me in 0..n as Pe {
            let at = At { job: &job, me };
            at.put(owner, DATA + 64 * (1 + me as u64), 64);
            at.atomic(owner, 1024 + index * 8, Effect::Add(1));
        }
        let at = At {
            job: &job,
            me: owner,
        };
        assert!(at.atomic_fetch(owner, 1024 + index * 8) >= n);
        at.load(DATA, 64 * (1 + n));
        job.barrier();
        job.clean();
    }
}

#[test]
fn old_history_makes_no_reports() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    a.fence();
    a.p(1, FLAG, 1);
    for _ in 0..40_000 {
        a.load(MORE, 8);
        a.put(1, MORE, 8);
        a.fence();
    }
    b.wait(FLAG, Cmp::Eq, 1);
    b.load(DATA, 64);
    job.clean();
}

#[test]
fn the_last_tag_ends_the_check() {
    job!(job: a, b);
    let tag = &a.tracker().area.head(0)[0];
    tag.store(clocks::LAST_TAG - 3, std::sync::atomic::Ordering::Relaxed);
    for _ in 0..10 {
        a.quiet();
    }
    a.put(1, DATA, 64);
    b.load(DATA, 64);
    b.wait(FLAG, Cmp::Eq, 0);
    job.barrier();
    job.clean();
    assert!(
        b.tracker()
            .summary()
            .unwrap()
            .contains("ended before the program did")
    );
}

#[test]
fn unwritten_cells_of_a_dead_pe_stop_nobody() {
    // PE 0 has issued a put and a signal, and is gone before they take effect.
    job!(job: a, b);
    job.hold();
    a.put(1, DATA, 64);
    a.signal(1, FLAG, Effect::Set(1));
    b.wait(FLAG, Cmp::Eq, 0);
    b.load(MORE, 64);
    job.clean();
    b.load(DATA, 64);
    job.one(1, Problem::ReadEarly);
}
