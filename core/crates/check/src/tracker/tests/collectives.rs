//! Meetings of teams.

use super::*;

#[test]
fn phases_between_barriers() {
    let job = Job::new(3);
    let pes: [At<'_>; 3] = job.pes();
    for _ in 0..3 {
        for at in pes {
            at.put((at.me + 1) % 3, DATA, 64);
        }
        job.barrier();
        for at in pes {
            at.load(DATA, 64);
            at.get((at.me + 1) % 3, DATA, 64);
        }
        job.barrier();
    }
    job.clean();
}

#[test]
fn a_phase_needs_a_barrier_at_both_ends() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    job.barrier();
    b.load(DATA, 64);
    a.put(1, DATA, 64);
    job.one(0, Problem::WriteEarly);
}

#[test]
fn who_is_no_member_learns_nothing() {
    job!(job: a, b, c);
    a.put(2, DATA, 64);
    job.meet(&[0, 1], "barrier", true);
    b.get(2, DATA, 64);
    job.clean();
    c.load(DATA, 64);
    job.one(2, Problem::ReadEarly);
}

#[test]
fn members_pass_on_what_others_completed() {
    job!(job: a, b, c, d);
    a.put(3, DATA, 64);
    job.meet(&[0, 1], "barrier", true);
    job.meet(&[1, 2], "sync", false);
    c.get(3, DATA, 64);
    job.meet(&[2, 3], "sync", false);
    d.load(DATA, 64);
    d.store(DATA, 64);
    job.clean();
    let _ = b;
}

#[test]
fn teams_of_two_halves() {
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    for round in 0..4 {
        for at in pes {
            at.put(at.me ^ 1, DATA, 64);
        }
        job.meet(&[0, 1], "barrier", true);
        job.meet(&[2, 3], "barrier", true);
        for at in pes {
            at.load(DATA, 64);
        }
        job.meet(&[0, 1], "sync", false);
        job.meet(&[2, 3], "sync", false);
        let _ = round;
    }
    job.clean();
    pes[0].get(2, DATA, 64);
    job.one(0, Problem::ReadEarly);
}

#[test]
fn collectives_order_what_is_over() {
    job!(job: a, b);
    a.store(DATA, 64);
    b.get_nbi(0, MORE, 64);
    job.meet(&[0, 1], "broadcast", false);
    b.get(0, DATA, 64);
    job.clean();
    // Nothing is completed.
    a.store(MORE, 64);
    job.one(0, Problem::WriteEarly);
}

#[test]
fn what_comes_after_a_meeting_is_not_ordered_by_it() {
    job!(job: a, b);
    job.barrier();
    a.store(DATA, 64);
    b.get(0, DATA, 64);
    job.one(1, Problem::ReadEarly);
}

#[test]
fn a_source_of_a_collective_is_written_by_another_pe() {
    job!(job: a, b);
    a.put(1, DATA, 64);
    let site = b.here("broadcast");
    b.tracker().access(Kind::Load, 1, DATA, 64, site);
    let text = job.one(1, Problem::ReadEarly);
    assert!(
        text.contains("nothing orders the broadcast of PE 1 and"),
        "{text}"
    );
}

#[test]
fn a_dest_of_a_collective_is_written_too_early() {
    // The root has returned, the other member perhaps has not.
    job!(job: a, b);
    job.meet(&[0, 1], "broadcast", false);
    let site = b.here("broadcast");
    b.tracker().access(Kind::Store, 1, DATA, 64, site);
    a.put(1, DATA, 64);
    job.one(0, Problem::WriteWrite);
}

#[test]
fn many_meetings_and_teams_share_slots() {
    let job = Job::new(3);
    let pes: [At<'_>; 3] = job.pes();
    for round in 0..100 {
        let (one, two) = (round % 3, (round + 1) % 3);
        pes[one].put(two as Pe, DATA, 64);
        job.meet(&[one as Pe, two as Pe], "barrier", true);
        pes[two].load(DATA, 64);
        job.barrier();
    }
    job.clean();
}
