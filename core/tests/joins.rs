//! team_init, and collectives whose verdict must be the same on every member.

use nvshmemrs::{Error, InitAttr, Team, TeamConfig, local};
use std::time::Duration;

fn config(unique_id: u64) -> TeamConfig {
    TeamConfig {
        num_contexts: 0,
        unique_id,
    }
}

fn attr() -> InitAttr {
    InitAttr {
        timeout: Some(Duration::from_secs(10)),
        ..InitAttr::default()
    }
}

#[test]
fn a_wrong_argument_of_one_member_reaches_all() {
    local::run_with(3, &attr(), |rt| {
        let me = rt.my_pe();
        let wrong = rt
            .team_init(config(77), 3, if me == 2 { 3 } else { me })
            .unwrap_err();
        match me {
            2 => assert!(matches!(wrong, Error::PeRange { .. }), "{wrong}"),
            // The first that gave up, which may have done so because of PE 2.
            _ => assert!(matches!(wrong, Error::PeerArgument { .. }), "{wrong}"),
        }
        rt.barrier_all()?;
        let taken = rt.team_init(config(78), 3, me.min(1)).unwrap_err();
        assert!(
            taken.to_string().contains("`my_index` 1") || taken.status() == 24,
            "{taken}"
        );
        rt.barrier_all()?;
        // A fresh id works, in any order.
        let team = rt.team_init(config(79), 3, 2 - me)?;
        assert_eq!(rt.team_my_pe(team)?, 2 - me);
        assert_eq!(rt.team_translate_pe(team, 0, Team::WORLD)?, 2);
        rt.barrier(team)?;
        rt.team_destroy(team)?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn two_threads_of_a_pe_are_not_two_members() {
    local::run_with(1, &attr(), |rt| {
        // A job of one PE cannot have a team of two; a job of two can, but not of one PE's threads.
        assert!(rt.team_init(config(5), 2, 0).is_err());
        rt.finalize()
    })
    .unwrap();
    local::run_with(2, &attr(), |rt| {
        if rt.my_pe() == 0 {
            let errors = std::thread::scope(|scope| {
                let make = |index| {
                    scope.spawn({
                        let rt = &rt;
                        move || rt.team_init(config(6), 2, index).unwrap_err()
                    })
                };
                [make(0), make(1)].map(|thread| thread.join().unwrap())
            });
            for error in errors {
                assert!(matches!(error.status(), 14 | 24), "{error}");
            }
        }
        rt.barrier_all()?;
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn collect_into_arrays_of_different_length_is_a_mismatch_everywhere() {
    for len in [4usize, 4000] {
        local::run_with(2, &attr(), |rt| {
            let (dest, source) = (rt.array::<u8>(3 * len)?, rt.array::<u8>(len)?);
            source.write(0, &vec![7; len])?;
            let wanted = 2 * len + rt.my_pe() as usize;
            let error = rt
                .collect_array(Team::WORLD, &dest.slice(..wanted)?, &source.all())
                .unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
            assert!(dest.to_vec()?.iter().all(|&byte| byte == 0));
            rt.collect_array(Team::WORLD, &dest.slice(..2 * len)?, &source.all())?;
            assert!(dest.to_vec()?[..2 * len].iter().all(|&byte| byte == 7));
            rt.finalize()
        })
        .unwrap();
    }
}
