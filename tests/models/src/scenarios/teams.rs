//! Team numbers: agreed on by concurrent threads, and used again.

use super::super::job::{
    Error, Inner, MemberCall, Members, Numbers, Operation, Part, Pe, Team, TeamConfig, all,
    job_with,
};
use super::super::sync::{spawn, yield_now};
use std::sync::Arc;

const NONE_FREE: Numbers = Numbers { taken: 1, free: 0 };

/// Gives number 0 to a team of the caller alone, and meets there.
fn again_alone(pe: &Inner) {
    let claim = pe.teams.claim(0).expect("the number was given back");
    let base_epoch = claim.epoch();
    let alone = Members::of(vec![pe.my_pe]);
    let team = claim.into_team(&pe.control, &alone, 0, base_epoch, TeamConfig::default());
    for _ in 0..2 {
        let collective = pe
            .enter(team, Operation::Barrier)
            .expect("a new team is whole");
        collective
            .meet(MemberCall::plain(Operation::Barrier), &[])
            .expect("a new team meets");
    }
}

/// PE 0 destroys a team and uses its number at once, while PE 1 may still be in the team's last meeting.
pub(crate) fn a_number_is_used_again() {
    let mut pes = job_with(2, 0, NONE_FREE).into_iter();
    let (first, second) = (pes.next().unwrap(), pes.next().unwrap());
    let late = spawn(move || second.destroy_team(all(0)));
    first.destroy_team(all(0)).expect("all destroy the team");
    again_alone(&first);
    late.join().unwrap().expect("all destroyed the team");
}

/// PE 2 leaves a collective; PE 0, which has not come, destroys the team and uses its number again, while PE 1 still waits.
pub(crate) fn a_broken_number_is_used_again() {
    let mut pes = job_with(3, 0, NONE_FREE);
    Arc::get_mut(&mut pes[2])
        .expect("the job is not shared yet")
        .patience = Some(0);
    let threads: Vec<_> = pes[1..]
        .iter()
        .map(|pe| {
            let pe = Arc::clone(pe);
            spawn(move || {
                let collective = pe.enter(all(0), Operation::Barrier)?;
                collective.meet(MemberCall::plain(Operation::Barrier), &[])
            })
        })
        .collect();
    let first = &pes[0];
    let state = first.team(all(0)).expect("the team lives");
    while first.check_team(Operation::Check, state).is_ok() {
        yield_now();
    }
    first.destroy_team(all(0)).expect("a broken team goes");
    again_alone(first);
    for thread in threads {
        let result = thread.join().unwrap();
        assert!(
            matches!(
                result,
                Err(Error::TeamBroken { .. } | Error::Timeout { .. })
            ),
            "PE 0 never came: {result:?}"
        );
    }
}

fn meets(pe: &Inner, team: Team) {
    let collective = pe
        .enter(team, Operation::Barrier)
        .expect("a new team is whole");
    collective
        .meet(MemberCall::plain(Operation::Barrier), &[])
        .expect("a new team meets");
}

/// Two threads of each PE split two teams at the same time, with as many numbers left as they need: the teams are apart, and
/// each has one number.
pub(crate) fn splits_come_apart(n_pes: Pe) {
    let pes = job_with(n_pes, 0, Numbers { taken: 2, free: 2 });
    let split = |pe: &Inner, parent: u32| {
        let part = Part {
            start: 0,
            stride: 1,
            n_pes: pe.n_pes,
        };
        let collective = pe.enter(all(parent), Operation::TeamSplitStrided).unwrap();
        let call = MemberCall::plain(Operation::TeamSplitStrided);
        let team = pe.make_teams(&collective, call, Some(part), TeamConfig::default());
        let team = team
            .expect("numbers are left")
            .expect("this PE is a member");
        drop(collective);
        meets(pe, team);
        team.number() & 0xffff_ffff
    };
    let threads: Vec<_> = pes
        .iter()
        .flat_map(|pe| [0, 1].map(|parent| (Arc::clone(pe), parent)))
        .map(|(pe, parent)| spawn(move || split(&pe, parent)))
        .collect();
    let numbers: Vec<u64> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    for pair in numbers.chunks(2) {
        assert_eq!(pair, &numbers[..2], "the members have different numbers");
        assert_ne!(pair[0], pair[1], "two teams have one number");
    }
}

/// Teams made by unique ids, one right after the other.
pub(crate) fn ids_bring_members_together(n_pes: Pe, ids: u64) {
    let pes = job_with(n_pes, 0, Numbers { taken: 0, free: 6 });
    let body = move |pe: &Inner| {
        let make = |unique_id| {
            let config = TeamConfig {
                unique_id,
                num_contexts: 0,
            };
            // Another number each time, so that values left by an earlier team are wrong.
            let member = (pe.my_pe + unique_id as Pe) % n_pes;
            pe.team_init(config, n_pes, Ok(member)).expect("all come")
        };
        // No other meeting in between: a slow PE may still be leaving the slot that a fast one reads again.
        let teams: Vec<Team> = (1..=ids).map(make).collect();
        teams.into_iter().for_each(|team| meets(pe, team));
    };
    let others: Vec<_> = pes[1..]
        .iter()
        .map(|pe| {
            let pe = Arc::clone(pe);
            spawn(move || body(&pe))
        })
        .collect();
    body(&pes[0]);
    for other in others {
        other.join().unwrap();
    }
}
